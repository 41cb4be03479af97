package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A Planar describes a task of the planar engine, which computes elementwise operations and
// reductions of one or two sources. It does not hold the addresses of its operands.
type Planar struct {
	Form          regs.PlanarForm
	In            regs.Shape    // shape of the first source, and of the result unless the task reduces or has a window
	Window        *layer.Window // of form FormConstant and operation Largest; nil for one element
	Op            Operation
	First, Second SourceView
	Transposed    bool   // exchange channels and columns of the result
	Depth         int    // 0 means 1
	Bias          uint16 // fp16, added before scaling
	Scale         Factor
	Mean          int    // number of values that a mean is taken over; 0 leaves sums
	Root          bool   // compute 1/sqrt of the result plus Addend
	Addend        uint16 // fp16, added before the root, or to a mean without one
	AfterScale    Factor // multiplies the result after Scale; the compiler scales products with it
	Reciprocal    bool
	Absolute      bool
	ReLU          bool // applied to the result
	SecondReLU    bool // applied to the second source
	// Previous and Next record that the neighboring tasks run on the planar engine too.
	Previous, Next bool
}

// An Operation says how a planar task combines its sources, such as by adding them.
type Operation uint8

// The operations. Those of a reduction apply to the reduced values.
const (
	OneSource         Operation = iota // copies one source, or sums it in a reduction
	Sum                                // of two sources
	Difference                         // of two sources
	Product                            // of two sources
	Larger                             // of two sources
	Smaller                            // of two sources
	Squares                            // sums the squares of one source
	SquaredDifference                  // squared difference of the second source and the first; a reduction sums them
	Largest                            // finds the maximum of one source
)

// A SourceView describes how a planar task reads a source: repeated along some axes or transposed.
// The zero value reads the source as it is.
type SourceView struct {
	Repeat     RepeatAxes // axes along which the source repeats
	Transposed bool       // exchange channels and columns
}

// RepeatAxes holds a set of axes along which a source of extent 1 is repeated, to match the extent
// of the result.
type RepeatAxes uint8

// Axes of a source.
const (
	C RepeatAxes = 1 << iota
	H
	W
	D
)

// If returns a if cond is true, and otherwise the empty set.
func (a RepeatAxes) If(cond bool) RepeatAxes {
	if cond {
		return a
	}
	return 0
}

// A Factor is an fp16 number by which a result is multiplied. The zero Factor means 1; use
// [NewFactor] for other factors, including 0.
type Factor struct {
	bits  uint16
	isSet bool
}

// NewFactor returns the factor whose fp16 bits are half.
func NewFactor(half uint16) Factor { return Factor{half, true} }

// fp16Bits returns the fp16 bits of f, which are those of 1 for the zero value.
func (f Factor) fp16Bits() uint16 {
	if f.isSet {
		return f.bits
	}
	return HalfOne
}

// Task returns a new task that computes p. The caller must set its sources and its result.
func (p Planar) Task() *Task {
	out := p.In
	if w := p.Window; w != nil {
		out.Height, out.Width = (out.Height+w.Py+w.Qy-w.Kh)/w.Sy+1, (out.Width+w.Px+w.Qx-w.Kw)/w.Sx+1
	}
	t := newPlanarTask(p.Form, p.In, out)
	pe := &t.g.PE
	cfg := pe.Cfg.WithReluEn(p.ReLU).WithAbsolute(p.Absolute).WithReciprocal(p.Reciprocal).WithRsqrt(p.Root)
	switch p.Op {
	case Sum:
		cfg = cfg.WithSecSrc(2)
	case Difference:
		cfg = cfg.WithSecSrc(3) // an addition with the sign of the second source inverted
	case Product:
		cfg = cfg.WithSecSrc(2).WithOpMode(regs.PlanarMul)
	case Larger:
		cfg = cfg.WithSecSrc(2).WithOpMode(regs.PlanarMax)
	case Smaller:
		cfg = cfg.WithSecSrc(2).WithOpMode(regs.PlanarMin)
	case Squares:
		cfg = cfg.WithOpMode(regs.PlanarSumSquare)
	case SquaredDifference:
		cfg = cfg.WithOpMode(regs.PlanarSumSquare).WithFirstSrc(true).WithSecSrc(2)
	case Largest:
		// The padding mode is that of a maximum on every task seen.
		cfg = cfg.WithMaximum(true)
		t.g.L2.Cfg = t.g.L2.Cfg.WithPaddingMode(maximumPadding)
	}
	pe.Cfg = cfg
	pe.BiasScale = pe.BiasScale.WithScale(p.Scale.fp16Bits()).WithBias(p.Bias)
	if p.Mean > 0 {
		pe.FinalScale = pe.FinalScale.WithFinalScale(reciprocalBits(p.Mean))
	}
	pe.PreScale = pe.PreScale.WithPreScale(p.Addend).WithScale(p.AfterScale.fp16Bits())
	if p.SecondReLU {
		t.g.L2.Cfg = t.g.L2.Cfg.WithInputReLU2(true)
	}
	if w := p.Window; w != nil {
		c := &t.g.Common
		c.ConvCfg = c.ConvCfg.WithKh(uint32(w.Kh)).WithKw(uint32(w.Kw)).WithSy(uint32(w.Sy)).WithSx(uint32(w.Sx)).WithPy(uint32(w.Py)).WithPx(uint32(w.Px))
	}
	if p.Depth > 1 {
		t.setDepth(p.Depth)
	}
	a, b := p.First.Repeat, p.Second.Repeat
	t.g.Common.PlanarOperands = regs.PlanarOperands{}.
		WithSrc1BroadcastC(a&C != 0).WithSrc1BroadcastH(a&H != 0).WithSrc1BroadcastW(a&W != 0).WithSrc1BroadcastD(a&D != 0).
		WithSrc2BroadcastC(b&C != 0).WithSrc2BroadcastH(b&H != 0).WithSrc2BroadcastW(b&W != 0).WithSrc2BroadcastD(b&D != 0).
		WithSrc1Transpose(p.First.Transposed).WithSrc2Transpose(p.Second.Transposed).WithResultTranspose(p.Transposed)
	return t.MarkPlanarNeighbours(p.Previous, p.Next)
}
