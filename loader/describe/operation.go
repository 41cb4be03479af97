package describe

import (
	"fmt"
	"math"
	"strings"

	"github.com/x448/float16"

	"anesim/hw/regs"
)

// describeOperation returns the operation of a task in words, such as "3x3 convolution with
// bias, then ReLU".
func describeOperation(g *regs.Groups, o *regs.Operands) string {
	var parts []string
	if g.Planar() {
		parts = describePlanarOperation(g, o)
	} else {
		parts = describeEngineOperation(g)
	}
	if g.ResultTransposed() {
		parts = append(parts, "the result transposed")
	}
	return strings.Join(parts, ", ")
}

// describeEngineOperation returns the operation of a task of the MAC engines as a list of
// phrases, such as "1x1 convolution" and "then ReLU".
func describeEngineOperation(g *regs.Groups) []string {
	c, m := &g.Common, g.NE.MACCfg
	var parts []string
	switch m.OpMode() {
	case regs.MultiplyAccumulate:
		name := convolutionName(c)
		if m.BiasMode() {
			name += " with bias"
		}
		parts = append(parts, name)
		// Only what differs from the plain operation is said: most windows have stride 1 and no padding.
		if v := c.ConvCfg; v.Sx() > 1 || v.Sy() > 1 {
			parts = append(parts, fmt.Sprintf("stride %dx%d", v.Sy(), v.Sx()))
		}
		if v := c.ConvCfg; v.Px() > 0 || v.Py() > 0 {
			parts = append(parts, fmt.Sprintf("padding %dx%d", v.Py(), v.Px()))
		}
	case regs.PassThrough:
		if m.NonlinearMode() == regs.NoActivation {
			return []string{"copy"}
		}
		return []string{activationName(m.NonlinearMode())}
	case regs.ChannelMaximum:
		parts = append(parts, "maximum over the channels")
	case regs.ChannelProduct:
		parts = append(parts, "product over the channels")
	case regs.MantissaTable:
		return []string{"reciprocal or reciprocal square root by a table of mantissas"}
	default:
		parts = append(parts, fmt.Sprintf("operation %d of the MAC engines, whose meaning is not known", uint32(m.OpMode())))
	}
	if n := m.NonlinearMode(); n != regs.NoActivation {
		parts = append(parts, "then "+activationName(n))
	}
	return parts
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
		return fmt.Sprintf("%s in %d groups", window, u.NumGroups())
	}
	return window
}

func activationName(n regs.Nonlinear) string {
	switch n {
	case regs.ReLU:
		return "ReLU"
	case regs.ActivationTable:
		return "activation by table"
	}
	return fmt.Sprintf("activation %d, whose meaning is not known", uint32(n))
}

// describePlanarOperation returns the operation of a planar task as a list of phrases in
// the order of its stages. Package internal/datapath/planar documents the stages.
func describePlanarOperation(g *regs.Groups, o *regs.Operands) []string {
	form, pe := g.Common.Cfg.PlanarForm(), &g.PE
	what := planarSourceName(g)
	if what == "" {
		return []string{fmt.Sprintf("operation %v of the planar engine in form %v, whose meaning is not known", pe.Cfg.OpMode(), form)}
	}
	what = appendConstantNames(what, g)
	switch {
	case form.Reduces():
		// A planar reduction never sums over channels, so the phrase says "each channel": "the source"
		// would leave it open.
		over := "the " + what
		switch what {
		case "source":
			over = "each channel"
		case squareOfSource:
			over = "the squares of each channel"
		}
		what = reductionName(pe, o) + " of " + over
	case form == regs.FormConstant && pe.Cfg.Maximum():
		what = "maximum of " + windowName(g.Common.ConvCfg)
	case pe.Cfg.Absolute():
		what = strings.Replace(what, "source", "absolute value", 1)
	case what == "source":
		what = "copy by the planar engine"
	}
	parts := []string{what}
	if n := float16.Frombits(uint16(pe.PreScale.PreScale())); n != 0 {
		parts = append(parts, fmt.Sprintf("plus %v", n))
	}
	if n := float16.Frombits(uint16(pe.PreScale.Scale())); n != one && n != 0 {
		parts = append(parts, fmt.Sprintf("times %v", n))
	}
	for _, f := range [...]struct {
		on   bool
		name string
	}{
		{pe.Cfg.Reciprocal(), "then the reciprocal"}, {pe.Cfg.Rsqrt(), "then the reciprocal square root"}, {pe.Cfg.ReluEn(), "then ReLU"},
		{g.L2.Cfg.InputReLU(), "source 1 behind a ReLU"}, {g.L2.Cfg.InputReLU2(), "source 2 behind a ReLU"},
	} {
		if f.on {
			parts = append(parts, f.name)
		}
	}
	return parts
}

// windowName returns the windows of a planar task in words.
func windowName(w regs.ConvCfg) string {
	name := fmt.Sprintf("each %dx%d window", w.Kh(), w.Kw())
	if w.Sx() > 1 || w.Sy() > 1 {
		name += fmt.Sprintf(", stride %dx%d", w.Sy(), w.Sx())
	}
	if w.Px() > 0 || w.Py() > 0 {
		name += fmt.Sprintf(", padding %dx%d", w.Py(), w.Px())
	}
	return name
}

// planarSourceName returns a name for the operation of a planar task on its sources: "source" if it
// has one source that it does not square, or a phrase such as "sum of two sources". It returns "" if
// the meaning of the registers is not known.
func planarSourceName(g *regs.Groups) string {
	switch g.Common.Cfg.PlanarForm() {
	case regs.FormConstant, regs.FormReduction:
		if g.PE.Cfg.OpMode() == regs.PlanarSumSquare {
			return squareOfSource
		}
		return "source"
	case regs.FormTwoSources, regs.FormTwoReduced:
		return twoSourceName(g.PE.Cfg)
	case regs.FormBiasScale:
		sign := "plus"
		if g.PE.Cfg.SecSrc() == negated {
			sign = "less"
		}
		return "source 1 " + sign + " the first row of source 2, times its second row"
	}
	return ""
}

// squareOfSource names the operation of a planar task that squares its only source.
const squareOfSource = "square of the source"

// appendConstantNames appends the bias and the scale that a planar task applies to phrase, the name
// of its operation on the sources. If the task does nothing else with a single source, the returned
// phrase names only the constants.
func appendConstantNames(phrase string, g *regs.Groups) string {
	pe := &g.PE
	bias, scale := float16.Frombits(uint16(pe.BiasScale.Bias())), float16.Frombits(uint16(pe.BiasScale.Scale()))
	if g.Common.Cfg.PlanarForm() == regs.FormConstant && phrase == "source" && !pe.Cfg.Absolute() {
		switch {
		case bias != 0 && scale != one:
			return fmt.Sprintf("addition of %v, then multiplication by %v", bias, scale)
		case bias != 0:
			return fmt.Sprintf("addition of %v", bias)
		case scale != one:
			return fmt.Sprintf("multiplication by %v", scale)
		}
	}
	if bias != 0 {
		phrase += fmt.Sprintf(", plus %v", bias)
	}
	if scale != one {
		phrase += fmt.Sprintf(", times %v", scale)
	}
	return phrase
}

// negated is the value of the field PE.Cfg.SecSrc that negates source 2.
const negated = 3

// twoSourceName returns the name of the operation that c applies to two sources, or "" if its
// meaning is not known.
func twoSourceName(c regs.PECfg) string {
	sum := "sum of two sources"
	switch {
	case c.FirstSrc() && c.SecSrc() == negated:
		sum = "minus the sum of two sources"
	case c.SecSrc() == negated:
		sum = "difference of two sources"
	case c.FirstSrc():
		sum = "difference of two sources, source 2 less source 1"
	}
	switch c.OpMode() {
	case regs.PlanarAdd:
		return sum
	case regs.PlanarMul:
		return "product of two sources"
	case regs.PlanarMax:
		return "maximum of two sources"
	case regs.PlanarMin:
		return "minimum of two sources"
	case regs.PlanarSumSquare:
		return "square of the " + strings.TrimPrefix(sum, "minus the ")
	}
	return ""
}

// reductionName returns the name of a reduction, such as "maximum", "sum" or "mean".
func reductionName(pe *regs.PE, o *regs.Operands) string {
	op := pe.Cfg.OpMode()
	switch {
	case pe.Cfg.Maximum() || op == regs.PlanarMax:
		return "maximum"
	case op == regs.PlanarMin:
		return "minimum"
	}
	f := math.Float32frombits(pe.FinalScale.FinalScale())
	n := float32(o.In.Height*o.In.Width*o.In.Planes()) / float32(max(1, o.Out.Height*o.Out.Width*o.Out.Planes()))
	switch f {
	case 1:
		return "sum"
	case 1 / n:
		return "mean"
	}
	return fmt.Sprintf("%v times the sum", f)
}

// one is 1.0 in fp16.
const one float16.Float16 = 0x3c00
