package task

import "anesim/hw/regs"

// A Planar is what a task of the planar engine computes, without the places of its operands.
type Planar struct {
	Form          regs.PlanarForm
	In            regs.Shape // of the first source, and of the result where nothing is reduced
	Op            Operation
	First, Second SourceView
	Transposed    bool   // the result, channels and columns
	Depth         int    // 0 as 1
	Bias          uint16 // fp16, added before the scale
	Scale         Factor
	Mean          int  // how many values a result is the mean of; 0 leaves sums
	Root          bool // 1/sqrt of the result and Added
	Addend        uint16
	Reciprocal    bool
	Absolute      bool
	ReLU          bool // on the result
	SecondReLU    bool // on the second source
	// Previous and Next say that the neighbouring task runs on the planar engine too.
	Previous, Next bool
}

// An Operation is how a planar task takes its operands together.
type Operation uint8

// The operations. Those of a reduction apply to the values that are reduced.
const (
	OneSource         Operation = iota // one source as it is, or its sum
	Sum                                // of two
	Difference                         // of two
	Product                            // of two
	Larger                             // of two
	Smaller                            // of two
	Squares                            // summed
	SquaredDifference                  // of the second source and the first, summed
	Largest                            // of one source's
)

// Seen is how a task sees one of its sources.
type SourceView struct {
	Repeat     RepeatAxes // axes along which it repeats
	Transposed bool       // channels and columns
}

// Along is a set of axes along which a source repeats.
type RepeatAxes uint8

// Axes of a source.
const (
	C RepeatAxes = 1 << iota
	H
	W
	D
)

// If is the axes where a condition holds, none otherwise.
func (a RepeatAxes) If(cond bool) RepeatAxes {
	if cond {
		return a
	}
	return 0
}

// A Factor is what a result is multiplied by, 1 if none is given: 0 is a factor too.
type Factor struct {
	bits  uint16
	isSet bool
}

// By is a factor by its fp16 bits.
func NewFactor(half uint16) Factor { return Factor{half, true} }

// half is the factor's fp16 bits.
func (f Factor) halfBits() uint16 {
	if f.isSet {
		return f.bits
	}
	return HalfOne
}

// Task is the task, with everything but its operands.
func (p Planar) Task() *Task {
	t := newPlanarTask(p.Form, p.In, p.In)
	pe := &t.g.PE
	cfg := pe.Cfg.WithReluEn(p.ReLU).WithAbsolute(p.Absolute).WithReciprocal(p.Reciprocal).WithRsqrt(p.Root)
	switch p.Op {
	case Sum:
		cfg = cfg.WithSecSrc(2)
	case Difference:
		cfg = cfg.WithSecSrc(3) // an addition with the second sign turned
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
		// With the padding mode of a maximum, on every one seen.
		cfg = cfg.WithMaximum(true)
		t.g.L2.Cfg = t.g.L2.Cfg.WithPaddingMode(maximumPadding)
	}
	pe.Cfg = cfg
	pe.BiasScale = pe.BiasScale.WithScale(p.Scale.halfBits()).WithBias(p.Bias)
	if p.Mean > 0 {
		pe.FinalScale = pe.FinalScale.WithFinalScale(reciprocalBits(p.Mean))
	}
	if p.Root {
		pe.PreScale = pe.PreScale.WithPreScale(p.Addend)
	}
	if p.SecondReLU {
		t.g.L2.Cfg = t.g.L2.Cfg.WithInputReLU2(true)
	}
	if p.Depth > 1 {
		t.setDepth(p.Depth)
	}
	a, b := p.First.Repeat, p.Second.Repeat
	t.g.Common.PlanarOperands = regs.PlanarOperands(0).
		WithSrc1BroadcastC(a&C != 0).WithSrc1BroadcastH(a&H != 0).WithSrc1BroadcastW(a&W != 0).WithSrc1BroadcastD(a&D != 0).
		WithSrc2BroadcastC(b&C != 0).WithSrc2BroadcastH(b&H != 0).WithSrc2BroadcastW(b&W != 0).WithSrc2BroadcastD(b&D != 0).
		WithSrc1Transpose(p.First.Transposed).WithSrc2Transpose(p.Second.Transposed).WithResultTranspose(p.Transposed)
	return t.MarkPlanarNeighbours(p.Previous, p.Next)
}
