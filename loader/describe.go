package loader

import (
	"fmt"
	"iter"
	"strings"

	"anesim/hw/regs"
)

// A Description says in words what a descriptor computes, from where and to where. It
// says what the registers say; what a register's bits do not tell is left out.
type Description struct {
	Operation string   // 3x3 convolution with bias, then ReLU
	Sources   []string // 64 channels of 8x8, input x (b4)
	Weights   string   // 4,608 bytes ..., empty where it reads no coefficients
	Result    string   // 128 channels of 8x8, the L2 at 0x400
}

// Lines are the description's parts behind the operation, each with its label.
func (d *Description) Lines() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, s := range d.Sources {
			if !yield("reads", s) {
				return
			}
		}
		if d.Weights != "" && !yield("weights", d.Weights) {
			return
		}
		yield("writes", d.Result)
	}
}

// String is the description as one sentence.
func (d Description) String() string {
	s := d.Operation + "; reads " + strings.Join(d.Sources, " and ")
	if d.Weights != "" {
		s += "; weights: " + d.Weights
	}
	return s + "; writes " + d.Result
}

// Describe says what each descriptor of the program computes, in their order. A
// descriptor takes what it does not write from those before it. The walk ends after the
// first error, a *FormatError.
func (p *Program) Describe() iter.Seq2[*Description, error] {
	return func(yield func(*Description, error) bool) {
		var ops regs.Operands
		for s, err := range p.States() {
			if err != nil {
				yield(nil, p.streamError(err))
				return
			}
			ops.Resolve(&s.Groups)
			if !yield(p.describe(&s.Header, &s.Groups, &ops), nil) {
				return
			}
		}
	}
}

func (p *Program) describe(h *regs.Header, g *regs.Groups, o *regs.Operands) *Description {
	b := h.Bases
	d := &Description{Operation: operation(g, o), Weights: p.coefficients(h, g)}
	d.Sources = append(d.Sources, p.operand(&o.Source1, b.RBE0(), b.RBase0(), Input))
	if o.Source2.Used || o.Source2.DRAM {
		d.Sources = append(d.Sources, p.operand(&o.Source2, b.RBE1(), b.RBase1(), Input))
	}
	d.Result = p.operand(&o.Result, b.WBE(), b.WBase(), Output)
	return d
}

// operand is a tensor's shape and where it stands.
func (p *Program) operand(o *regs.Operand, named bool, bar uint32, d Direction) string {
	s := o.Shape
	if o.Transposed {
		s.Channels, s.Width = s.Width, s.Channels
	}
	text := extents(s)
	if o.Element == 1 {
		text += " of 8 bits"
	}
	if !o.DRAM {
		return fmt.Sprintf("%s, the L2 at %s", text, hexadecimal(uint64(o.Tile.Base)))
	}
	return text + ", " + p.place(named, bar, d, o.Base)
}

// extents spells a shape.
func extents(s regs.Shape) string {
	text := count(s.Channels, "channel")
	if s.Height > 1 || s.Width > 1 {
		text += fmt.Sprintf(" of %dx%d", s.Height, s.Width)
	}
	if n := s.Planes(); n > 1 {
		text += fmt.Sprintf(" and depth %d", n)
	}
	if s.Groups > 1 {
		text = fmt.Sprintf("%d groups of %s", s.Groups, text)
	}
	return text
}

// place names memory behind a buffer: a port, the constants, the scratch memory.
func (p *Program) place(named bool, bar uint32, d Direction, base uint32) string {
	text := "memory that no buffer names"
	if named {
		text = fmt.Sprintf("buffer b%d", bar)
		switch bar {
		case regs.BARWeights:
			text = "the constants (b1)"
		case regs.BARScratch:
			text = "the scratch memory (b3)"
		}
		for i := range p.Ports {
			q := &p.Ports[i]
			if q.BAR != int(bar) || bar <= regs.BARScratch {
				continue
			}
			text = fmt.Sprintf("%v %s", q.Direction, printable(q.Name))
			if b := fmt.Sprintf("b%d", bar); q.Name != b {
				text += " (" + b + ")"
			}
			if q.Direction == d {
				break
			}
		}
	}
	if base != 0 {
		text += fmt.Sprintf(" from byte %#x on", base)
	}
	return text
}

// coefficients says what the kernel DMA brings, empty where it brings nothing.
func (p *Program) coefficients(h *regs.Header, g *regs.Groups) string {
	k := &g.KernelDMASrc
	var lanes int
	var total, least, most uint64
	var first uint32
	shared := true
	for i, c := range k.CoeffDMAConfig {
		n, at := uint64(k.CoeffBfrSize[i].Bytes()), k.CoeffBaseAddr[i].Bytes()
		if !c.En() || n == 0 {
			continue
		}
		if lanes == 0 {
			least, first = n, at
		}
		shared = shared && at == first
		lanes++
		total += n
		least, most = min(least, n), max(most, n)
	}
	if lanes == 0 {
		return ""
	}
	where := p.place(h.KernelBases.KBE0(), h.KernelBases.KBase0(), Input, first)
	switch {
	case lanes == 1:
		return fmt.Sprintf("%s for one engine, %s", count(int(total), "byte"), where)
	case shared && least == most:
		return fmt.Sprintf("%s, the same for all %d engines, %s", count(int(most), "byte"), lanes, where)
	case least == most:
		return fmt.Sprintf("%s, %d for each of %d engines, %s", count(int(total), "byte"), most, lanes, where)
	}
	return fmt.Sprintf("%s, %d to %d for each of %d engines, %s", count(int(total), "byte"), least, most, lanes, where)
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func hexadecimal(n uint64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", n)
}
