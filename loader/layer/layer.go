package layer

import (
	"cmp"

	"github.com/x448/float16"
)

// Axes is a set of axes.
type Axes uint8

// Axes of a tensor.
const (
	AxisC Axes = 1 << iota
	AxisH
	AxisW
)

// A SecondKind is where an elementwise operation or a matrix product has its second
// operand from.
type SecondKind uint8

// Second operands.
const (
	Runtime  SecondKind = iota // a second input
	Constant                   // Weights.Second
	Scalar                     // Weights.Second, one value
	Itself                     // the first input again: x + relu(x) with SecondReLU
)

// A Layer is one operation over fp16 tensors. The zero value of a field means it is not
// used; [Layer.Validate] says what an operation needs.
type Layer struct {
	Op Op
	In Shape // of the first input

	// Convolution.
	Cout   int
	Window Window
	Groups int // 1 or 0 is dense, In.C is depthwise
	// Dilation is how far the taps of the window stand apart, 0 as 1. Window is the
	// dilated one, Weights have the taps alone.
	Dilation int
	// Bias adds Weights.Bias to the result: of a convolution, a product with constant
	// weights, or a Mul with a constant a channel.
	Bias bool
	// Factor multiplies what a convolution or a matrix product sums, ahead of its bias and its
	// activation: a normal fp16 value, 0 for none. It is exact, where a factor in the weights
	// would round each of them.
	Factor float16.Float16
	// Activation is applied to the result of a convolution or a matrix product: 0 or
	// ReLU, which its descriptor does, or a table, which takes a descriptor of its own.
	Activation Op

	// Elementwise operations and matrix products.
	Second      SecondKind
	SecondShape Shape // of a runtime or constant operand: In, or 1 where it repeats
	SecondReLU  bool  // ReLU on the second operand
	Columns     int   // of a matrix product's result
	// TransposeX takes the left side of a product as K rows of M, TransposeY a right side
	// at run time as N rows of K. In is M x K all the same.
	TransposeX, TransposeY bool

	Axes    Axes    // of reductions, softmax and layer norm
	Epsilon float32 // of Rsqrt, Inverse and LayerNorm
	Alpha   float32 // of LeakyReLU and ELU
	Low     float32 // of Clip
	High    float32 // of Clip

	Parts []int // channels of each input of Concat, In.C their sum
	Begin Shape // of Slice, its first element
	Size  Shape // of Slice
	// Order is the axis that each of the result's C, H and W is of the input; zero
	// transposes C and W.
	Order [3]Axes
	Reps  Shape   // of Tile
	Fill  Fill    // of Pad
	Value float32 // of Pad with FillValue
	// OutputFirst has the result's buffer below the input's, as products have it.
	OutputFirst bool
	Release     Release
	Memories    Memories
}

// Depthwise reports whether every channel is convolved by itself, which the engines have
// a mode for.
func (l *Layer) IsDepthwise() bool {
	return l.Groups > 1 && l.Groups == l.In.C && l.Cout == l.In.C
}

// TapRows and TapColumns are the weights of a window, high and wide.
func (l *Layer) TapRows() int { return (l.Window.Kh-1)/max(1, l.Dilation) + 1 }

func (l *Layer) TapColumns() int { return (l.Window.Kw-1)/max(1, l.Dilation) + 1 }

// Memories are the bytes of a chip's memories that tasks have to fit; 0 as the M1's.
type Memories struct {
	L2   int // the scratchpad: MaxL2, and not more
	Lane int // the coefficients that an engine holds: MaxLane
}

// L2Bytes and LaneBytes are the bytes of the scratchpad and of an engine's coefficients.
func (l *Layer) L2Bytes() int { return cmp.Or(l.Memories.L2, MaxL2) }

func (l *Layer) LaneBytes() int { return cmp.Or(l.Memories.Lane, MaxLane) }

// LargestTile returns the bytes of the largest source tile that the layer's chip takes.
func (l *Layer) LargestTile() int { return LargestTile(l.L2Bytes()) }

// Conv is a dense convolution.
func Conv(in Shape, cout int, w Window) Layer {
	return Layer{Op: Convolution, In: in, Cout: cout, Window: w, Groups: 1}
}

// Depthwise is a convolution of each channel by itself.
func Depthwise(in Shape, w Window) Layer {
	return Layer{Op: Convolution, In: in, Cout: in.C, Window: w, Groups: in.C}
}

// Product is the product of an m x k input and a k x n matrix.
func Product(m, k, n int, rhs SecondKind) Layer {
	return Layer{Op: MatMul, In: Shape{1, 1, m, k}, Columns: n, Second: rhs}
}

// Unary is an activation.
func Unary(op Op, in Shape) Layer { return Layer{Op: op, In: in} }

// Binary is an elementwise operation on two inputs; an axis of second that is 1
// repeats.
func Binary(op Op, in, second Shape) Layer {
	return Layer{Op: op, In: in, SecondShape: second}
}

// Reduction is a reduction, a softmax or a layer norm over axes.
func Reduction(op Op, in Shape, axes Axes) Layer { return Layer{Op: op, In: in, Axes: axes} }

// Out is the shape of the result.
func (l *Layer) Out() Shape {
	s := l.In
	switch l.Op {
	case Deconvolution:
		w := &l.Window
		s.C = l.Cout
		s.H = (s.H-1)*w.Sy + w.Kh - w.Py - w.Qy
		s.W = (s.W-1)*w.Sx + w.Kw - w.Px - w.Qx
	case Convolution, Pool:
		w := &l.Window
		if l.Op == Convolution {
			s.C = l.Cout
		}
		s.H = (s.H+w.Py+w.Qy-w.Kh)/w.Sy + 1
		s.W = (s.W+w.Px+w.Qx-w.Kw)/w.Sx + 1
	case MatMul, Linear:
		s.W = l.Columns
	case ReduceSum, ReduceMean, ReduceMax, ReduceMin:
		if l.Axes&AxisC != 0 {
			s.C = 1
		}
		if l.Axes&AxisH != 0 {
			s.H = 1
		}
		if l.Axes&AxisW != 0 {
			s.W = 1
		}
	case Transpose:
		order, extent := l.Permutation(), map[Axes]int{AxisC: s.C, AxisH: s.H, AxisW: s.W}
		s.C, s.H, s.W = extent[order[0]], extent[order[1]], extent[order[2]]
	case Pad:
		s.H += l.Window.Py + l.Window.Qy
		s.W += l.Window.Px + l.Window.Qx
	case Tile:
		s = Shape{s.N * l.Reps.N, s.C * l.Reps.C, s.H * l.Reps.H, s.W * l.Reps.W}
	case Slice:
		s = l.Size
	}
	return s
}

// Permutation is the axis of the input that each of a transpose's C, H and W is.
func (l *Layer) Permutation() [3]Axes {
	if l.Order == [3]Axes{} {
		return [3]Axes{AxisW, AxisH, AxisC}
	}
	return l.Order
}

// A Fill is what stands around a padded tensor.
type Fill uint8

// Fills.
const (
	FillValue   Fill = iota // Layer.Value
	FillEdge                // the nearest row or column
	FillReflect             // the tensor mirrored at its first and last row or column
)

// A Release is the year of the compiler whose form a layer is written in.
type Release int

// The compilers whose programs are at hand; the zero value is the newest.
const (
	Newest      Release = 0
	Release2023 Release = 2023 // rows beyond the L2 stream in patches (13/18 of its oracles)
)

// Tabulated reports whether the layer's own descriptors cannot do its activation.
func (l *Layer) NeedsTable() bool { return l.Activation != 0 && l.Activation != ReLU }

// Followed reports whether the layer's activation is a task behind those of its operation:
// the planar engine has no tables, and a task that looks its result up in one has no ReLU.
func (l *Layer) NeedsActivationTask() bool {
	return l.Op > Linear && (l.NeedsTable() || l.Activation == ReLU && l.UsesOpTable() && l.Op != RealDiv)
}

// ByTable reports whether the operation itself is looked up in a table: a quotient multiplies
// by that of 1/x, the maximum and minimum with a number are tables.
func (l *Layer) UsesOpTable() bool {
	switch l.Op {
	case RealDiv:
		return l.Second == Runtime || l.Second == Itself
	case Max, Min:
		return l.Second == Scalar
	}
	return false
}

// Taps is how many weights a window has for each input channel.
func (l *Layer) Taps() int {
	return l.TapRows() * l.TapColumns()
}
