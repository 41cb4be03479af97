package layer

import (
	"fmt"

	"anesim/hw/evidence"
)

// Caveat returns a warning if the layer has a feature that no known program of the vendor's
// compiler shows, or one that its documents exclude; see [Layer.Legality]. The warning names the
// feature and says how it is compiled instead. Caveat returns "" if the layer has no such feature.
func (l *Layer) Caveat() string {
	legality, form := l.Legality(), l.describeUnknownForm()
	if legality != "" && form != "" {
		return legality + "; " + form
	}
	return legality + form
}

// describeUnknownForm returns the part of the warning of [Layer.Caveat] that is not about legality.
func (l *Layer) describeUnknownForm() string {
	w := &l.Window
	switch {
	// The first match is reported, so a case precedes those that it is a part of.
	case l.Op == Pool && (l.Dilation > 1 || max(w.Sy, w.Sx) > MaxStride):
		return "no program shows a pooling window with dilation or a stride above 3: it is lowered as maxima of shifted rows, so its time may be far off"
	case l.Op == Pool:
		return "no program shows a pooling window: it is lowered to two planar tasks, for rows and columns, as a cost dump of a later target counts them"
	case l.Op == Pad:
		return "no program shows padding on its own: rows are copied or broadcast to their places, and columns likewise as rows"
	case l.Op == Deconvolution:
		return "no program shows a transposed convolution: it is lowered as one convolution for each phase of its strides"
	case l.Op == Convolution && max(w.Sy, w.Sx) > MaxStride:
		return "no program shows a stride above 3: the convolution is computed without it, and rows are selected from the result"
	case l.Op == Convolution && l.Dilation > 1:
		return "no program shows a dilated window: it is lowered with zeros between the columns of its taps, as one convolution for each phase of its rows or with zeros between rows too"
	case l.Op == Convolution && (w.Py >= w.Kh || w.Px >= w.Kw):
		return "padding as large as the window is lowered as taps of zero weight; the only such program pads with a depthwise task instead"
	case l.Op == Convolution && l.Activation.IsSingleTable():
		return "the activation table of a convolution is assumed to come before the weights in each lane; programs show only that each lane holds it"
	case l.Op == ReduceMin:
		return "no program shows a minimum over axes: it is lowered as the maximum of the negated values"
	case l.Op <= ReduceMin && l.Op >= ReduceSum && (l.Axes == AxisC|AxisH || l.Axes == AxisC|AxisW):
		return "no program shows a reduction over C and one of H and W: it is lowered as two reductions with other strides"
	case l.Op == Softmax && l.Axes&(l.Axes-1) != 0:
		return "no program shows a softmax over several axes: it is lowered as a maximum, a difference, powers, a sum and a quotient"
	case l.Op == LayerNorm && (l.Axes == AxisH || l.Axes == AxisC|AxisH || l.Axes == AxisC|AxisW):
		return "no program shows a layer norm over these axes: the input is transposed before it and the result after it"
	case l.Op == PReLU, l.Op == Sin, l.Op == Cos, l.Op == Cube, l.Op == HardSwish, l.Op == Floor, l.Op == Average:
		return "no program shows this operation: it is lowered to several tasks that programs do show"
	case l.Op == Mul && l.Bias:
		return "no program shows a factor and an addend per channel in one task: programs show each on its own"
	case (l.Op == Max || l.Op == Min) && l.Second == Constant:
		return "no program shows a maximum or minimum with one constant per channel: the constants are lowered as a tensor of one pixel"
	case l.TransposeX || l.TransposeY:
		return "no program shows how the compiler transposes a side of a matmul: a table counts its tasks, and their registers are inferred"
	}
	return ""
}

// Evidence says how well the compiled form of operation o is known. It returns evidence.Bytes if
// the usual forms of the operation give the same bytes as Apple's compiler, and
// evidence.Inferred otherwise.
func (o Op) Evidence() evidence.Kind {
	switch o {
	case Pool, Deconvolution, Pad, ReduceMin, PReLU, Sin, Cos, Cube, HardSwish, Floor, Average,
		ELU, HardSigmoid, Softplus, Softsign, Frac, Erf:
		return evidence.Inferred
	}
	return evidence.Bytes
}

// Limits returns a phrase that states the size limits of operation o, such as "at most 27 inputs".
// It leaves out the limits on tensor shapes, which [Shape.Validate] checks.
func (o Op) Limits() string {
	switch o {
	case Convolution, Deconvolution, Pool:
		return fmt.Sprintf("at most %d taps and %d rows or columns of padding per side; the rows of one window take at most %.2f MB of L2", MaxKernel, MaxPad, MaxTile/1e6)
	case MatMul, Linear:
		return fmt.Sprintf("a row and its transpose take at most %.2f MB of L2", MaxTile/1e6)
	case ReduceSum, ReduceMean, ReduceMax, ReduceMin, LayerNorm:
		return fmt.Sprintf("the values of one reduction take at most %.2f MB of L2", MaxTile/1e6)
	case Softmax:
		return fmt.Sprintf("three tiles of a row take at most %.2f MB of L2", MaxTile/1e6)
	case Concat:
		return "at most 27 inputs"
	case LogicalNot:
		return "elements of 8 bits from 0 to 127, two in each fp16 element of a port; no program shows whether the highest bit is a sign"
	}
	return fmt.Sprintf("a row of all channels takes at most %.2f MB of L2", MaxTile/1e6)
}
