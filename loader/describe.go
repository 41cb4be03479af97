package loader

import (
	"fmt"
	"strings"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// A Description says in words what a descriptor computes, from where and to where. It
// says what the registers say; what a register's bits do not tell is left out.
type Description struct {
	Operation string   // 3x3 convolution with bias, then ReLU
	Shape     string   // 64x8x8 to 128x8x8: channels, height, width
	Sources   []string // input x (b4); the L2 at 0x400
	Result    string   // output y (b5)
}

// String is the description as one sentence.
func (d Description) String() string {
	return fmt.Sprintf("%s, %s; from %s to %s", d.Operation, d.Shape, strings.Join(d.Sources, " and "), d.Result)
}

// Describe says what each descriptor of the program computes, in their order. A
// descriptor takes what it does not write from those before it.
func (p *Program) Describe() ([]Description, error) {
	var file regs.File
	var g regs.Groups
	var out []Description
	for d, err := range p.Descriptors() {
		if err != nil {
			return nil, p.streamError(err)
		}
		if err := d.Apply(&file); err != nil {
			return nil, wrap(p.textOff+uint64(d.Offset), err, "descriptor %d", d.Index)
		}
		file.Snapshot(&g)
		out = append(out, p.describe(&d.Header, &g))
	}
	return out, nil
}

func (p *Program) describe(h *regs.Header, g *regs.Groups) Description {
	c := &g.Common
	in, out := g.InShape(), g.OutShape()
	if g.ResultTransposed() {
		out.Channels, out.Width = out.Width, out.Channels
	}
	d := Description{Shape: extents(in)}
	if to := extents(out); to != d.Shape {
		d.Shape += " to " + to
	}
	if n := c.GroupConvCfg.NumGroups(); n > 1 {
		d.Shape += fmt.Sprintf(", %d groups", n)
	}
	if g.Planar() {
		d.Operation = planarOperation(g)
	} else {
		d.Operation = engineOperation(g)
	}
	if g.ResultTransposed() {
		d.Operation += ", the result transposed"
	}
	l := &g.L2
	d.Sources = append(d.Sources, p.operand(g.Source1On(), h.Bases.RBE0(), h.Bases.RBase0(), Input, g.TileDMASrc.Src1Base, l.Src1Base))
	if two := g.Planar() && (c.Cfg.PlanarForm() == regs.FormTwoSources || c.Cfg.PlanarForm() == regs.FormBiasScale || c.Cfg.PlanarForm() == regs.FormTwoReduced); two || g.Source2On() {
		d.Sources = append(d.Sources, p.operand(g.Source2On(), h.Bases.RBE1(), h.Bases.RBase1(), Input, g.TileDMASrc.Src2Base, l.Src2Base))
	}
	d.Result = p.operand(g.DestinationOn(), h.Bases.WBE(), h.Bases.WBase(), Output, g.TileDMADst.DstBase, l.ResultBase)
	return d
}

// extents spells channels, height and width.
func extents(s regs.Shape) string { return fmt.Sprintf("%dx%dx%d", s.Channels, s.Height, s.Width) }

// operand is where a surface stands: a port or buffer in memory, or the L2.
func (p *Program) operand(on, named bool, bar uint32, d Direction, base regs.DMAWord, tile regs.L2Word) string {
	if !on {
		return fmt.Sprintf("the L2 at %#x", tile.Bytes())
	}
	text := "memory that no buffer names"
	if named {
		text = fmt.Sprintf("buffer b%d", bar)
		switch bar {
		case regs.BARWeights:
			text = "the constants"
		case regs.BARScratch:
			text = "the scratch memory"
		}
		for i := range p.Ports {
			if q := &p.Ports[i]; q.BAR == int(bar) && bar > regs.BARScratch {
				text = fmt.Sprintf("%v %s", q.Direction, printable(q.Name))
				if q.Direction == d {
					break
				}
			}
		}
	}
	if n := base.Bytes(); n != 0 {
		text += fmt.Sprintf(" at %#x", n)
	}
	return text
}

func engineOperation(g *regs.Groups) string {
	c, m := &g.Common, g.NE.MACCfg
	var text string
	switch m.OpMode() {
	case regs.MultiplyAccumulate:
		text = convolutionName(c)
		if m.BiasMode() {
			text += " with bias"
		}
		if v := c.ConvCfg; v.Sx() > 1 || v.Sy() > 1 {
			text += fmt.Sprintf(", stride %dx%d", v.Sy(), v.Sx())
		}
		if v := c.ConvCfg; v.Px() > 0 || v.Py() > 0 {
			text += fmt.Sprintf(", padding %dx%d", v.Py(), v.Px())
		}
	case regs.PassThrough:
		if m.NonlinearMode() == regs.NoActivation {
			return "copy"
		}
		return activationName(m.NonlinearMode())
	case regs.ChannelMaximum:
		text = "maximum over the channels"
	case regs.MantissaTable:
		text = "activation table on mantissas (reciprocal or reciprocal root)"
		return text
	default:
		text = fmt.Sprintf("operation %d of the MAC engines, whose meaning is not known", uint32(m.OpMode()))
	}
	if n := m.NonlinearMode(); n != regs.NoActivation {
		text += ", then " + activationName(n)
	}
	return text
}

func convolutionName(c *regs.Common) string {
	v := c.ConvCfg
	window := fmt.Sprintf("%dx%d convolution", v.Kh(), v.Kw())
	switch u := c.GroupConvCfg; {
	case u.UnicastEn() && u.UnicastCin() == 1:
		return window + " of each channel by itself"
	case c.Cfg.Transpose() && v.Kh() == 1 && v.Kw() == 1:
		return "matrix product"
	case u.NumGroups() > 1:
		return window + " of groups"
	}
	return window
}

func activationName(n regs.Nonlinear) string {
	switch n {
	case regs.ReLU:
		return "ReLU"
	case regs.ActivationTable:
		return "activation table"
	}
	return fmt.Sprintf("activation %d, whose meaning is not known", uint32(n))
}

func planarOperation(g *regs.Groups) string {
	form, op := g.Common.Cfg.PlanarForm(), g.PE.Cfg.OpMode()
	bias, scale := float16.Frombits(uint16(g.PE.BiasScale.Bias())), float16.Frombits(uint16(g.PE.BiasScale.Scale()))
	var text string
	switch form {
	case regs.FormConstant:
		switch {
		case bias == 0 && scale == one:
			text = "copy by the planar engine"
		case bias == 0:
			text = fmt.Sprintf("multiplication by %v", scale)
		case scale == one:
			text = fmt.Sprintf("addition of %v", bias)
		default:
			text = fmt.Sprintf("multiplication by %v and addition of %v", scale, bias)
		}
	case regs.FormTwoSources:
		text = map[regs.PlanarOp]string{
			regs.PlanarAdd: "sum of two sources", regs.PlanarMul: "product of two sources",
			regs.PlanarMax: "maximum of two sources", regs.PlanarMin: "minimum of two sources",
			regs.PlanarSumSquare: "square of the sum of two sources",
		}[op]
		if op == regs.PlanarAdd && g.PE.Cfg.SecSrc() == 3 {
			text = "difference of two sources"
		}
	case regs.FormBiasScale:
		text = "multiplication and addition of constants a channel"
	case regs.FormReduction, regs.FormTwoReduced:
		text = "reduction"
		if uint32(g.PE.Cfg)>>1&1 != 0 {
			text = "maximum reduction"
		} else if op == regs.PlanarAdd {
			text = "sum reduction"
			if f := uint32(g.PE.FinalScale); f != singleBits && f != 0 {
				text = "mean reduction"
			}
		}
		if form == regs.FormTwoReduced {
			text += " of two sources combined"
		}
	}
	if text == "" {
		text = fmt.Sprintf("planar operation %v in form %v", op, form)
	}
	if g.PE.Cfg.ReluEn() {
		text += ", then ReLU"
	}
	return text
}

// one is 1.0 in fp16, singleBits in fp32.
const (
	one        float16.Float16 = 0x3c00
	singleBits uint32          = 0x3f800000
)
