package layer

import (
	"fmt"

	"anesim/hw/evidence"
)

// Rests says what of a layer's lowering no program shows, "" where programs show it all:
// its values and its time follow an arithmetic equivalent.
func (l *Layer) Caveat() string {
	w := &l.Window
	switch {
	case l.Op == Pool:
		return "no program shows a pooling window: a maximum over one is maxima of shifted rows, its columns made rows on the way"
	case l.Op == Pad:
		return "no program shows padding by itself: rows are copied and broadcast to their places, and columns as rows"
	case l.Op == Deconvolution:
		return "no program shows a transposed convolution: it is a convolution for each phase of its strides"
	case l.Op == Convolution && max(w.Sy, w.Sx) > MaxStride:
		return "no program shows a stride above 3: rows are taken from a convolution without it"
	case l.Op == Convolution && l.Dilation > 1:
		return "no program shows a dilated window: its taps stand apart with zeros between them"
	case l.Op == Convolution && (w.Py >= w.Kh || w.Px >= w.Kw):
		return "a window padded by itself is one with taps of zero weight here, whose sums may round otherwise than those without the padding; it is a depthwise task ahead of it in the one program"
	case l.Op == Convolution && l.Activation.IsSingleTable():
		return "a convolution's table stands ahead of the weights in every lane: programs show its bytes there, not their place"
	case l.Op == ReduceMin:
		return "no program shows a minimum over axes: it is the maximum of negatives"
	case l.Op <= ReduceMin && l.Op >= ReduceSum && (l.Axes == AxisC|AxisH || l.Axes == AxisC|AxisW):
		return "no program shows a reduction over C and one of H and W: strides and two reductions make it"
	case l.Op == Softmax && l.Axes&(l.Axes-1) != 0:
		return "no program shows a softmax over several axes: a maximum, a difference, powers, a sum and a quotient make it"
	case l.Op == LayerNorm && (l.Axes == AxisH || l.Axes == AxisC|AxisH || l.Axes == AxisC|AxisW):
		return "no program shows a layer norm over these axes: they change places before it and after it"
	case l.Op == PReLU, l.Op == Sin, l.Op == Cos, l.Op == Cube, l.Op == HardSwish, l.Op == Floor, l.Op == Average:
		return "no program shows this operation: tasks that programs show make it together"
	case l.Op == Mul && l.Bias:
		return "no program shows a factor and an addend a channel in one task: programs show each by itself"
	case (l.Op == Max || l.Op == Min) && l.Second == Constant:
		return "no program shows a maximum or minimum with a constant a channel: the constants are a tensor of one pixel"
	case l.TransposeX || l.TransposeY:
		return "the tasks of products with a side turned are not those of the compiler, which prepares it in the L2"
	}
	return ""
}

// Evidence is what the lowering of an operation in its usual forms rests on: bytes where
// texts of the vendor's compiler come out the same (testdata/identity.md), else inferred.
func (o Op) Evidence() evidence.Kind {
	switch o {
	case Pool, Deconvolution, Pad, ReduceMin, PReLU, Sin, Cos, Cube, HardSwish, Floor, Average,
		ELU, HardSigmoid, Softplus, Softsign, Frac, Erf:
		return evidence.Inferred
	}
	return evidence.Bytes
}

// Limits are what an operation takes at most, beside the extents of its tensors.
func (o Op) Limits() string {
	switch o {
	case Convolution, Deconvolution, Pool:
		return fmt.Sprintf("up to %d taps and %d zeros a side, one window's rows within %d bytes of the L2", MaxKernel, MaxPad, MaxTile)
	case MatMul, Linear:
		return fmt.Sprintf("a row and its transpose within %d bytes of the L2", MaxTile)
	case ReduceSum, ReduceMean, ReduceMax, ReduceMin, LayerNorm:
		return fmt.Sprintf("what is reduced together within %d bytes of the L2", MaxTile)
	case Softmax:
		return fmt.Sprintf("three tiles of a row within %d bytes of the L2", MaxTile)
	case Concat:
		return "up to 27 inputs"
	case LogicalNot:
		return "elements of 8 bits from 0 to 127: whether their highest bit is a sign no program shows"
	}
	return fmt.Sprintf("a row of all channels within %d bytes of the L2", MaxTile)
}
