package layer

import (
	"cmp"

	"github.com/x448/float16"
)

// Axes is a set of the axes of a tensor.
type Axes uint8

// Axes of a tensor.
const (
	AxisC Axes = 1 << iota
	AxisH
	AxisW
)

// A SecondKind is the source of the second operand of an elementwise operation or a matmul.
type SecondKind uint8

// Sources of a second operand.
const (
	Runtime  SecondKind = iota // a second input
	Constant                   // Weights.Second, one value per channel
	Scalar                     // Weights.Second, a single value
	Itself                     // the first input again, as in x + relu(x) with SecondReLU
)

// A Layer is one operation over fp16 tensors. Fields that the operation does not use are zero;
// [Layer.Validate] checks the others.
type Layer struct {
	Op Op
	In Shape // shape of the first input

	// Convolution.
	Cout   int
	Window Window
	Groups int // 0 or 1 for a dense convolution, In.C for a depthwise one
	// Dilation is the distance between neighbouring taps of the window; 0 means 1. Window has the
	// extent of the dilated window, and Weights hold only its taps.
	Dilation int
	// Bias adds Weights.Bias to the result of a convolution, of a matmul with constant weights,
	// or of a Mul with one constant per channel.
	Bias bool
	// Factor multiplies the sums of a convolution or a matmul before its bias and its activation
	// are applied. It is a normal fp16 value, or 0 for none. The multiplication is exact, whereas
	// scaling the weights would round each of them.
	Factor float16.Float16
	// Activation is applied to the result of a convolution or a matmul. It is 0 for none, ReLU,
	// which the layer's own descriptor computes, or an operation with a table, which takes
	// another descriptor.
	Activation Op

	// Elementwise operations and matmuls.
	Second      SecondKind
	SecondShape Shape // shape of a runtime or constant operand; each extent is that of In, or 1 to repeat
	SecondReLU  bool  // ReLU on the second operand
	Columns     int   // columns of a matmul's result
	// TransposeX reads the left side of a matmul as K rows of M values, and TransposeY reads a
	// runtime right side as N rows of K values. In is M x K in either case.
	TransposeX, TransposeY bool

	Axes    Axes    // of reductions, softmax and layer norm
	Epsilon float32 // of Rsqrt, Inverse and LayerNorm
	Alpha   float32 // of LeakyReLU and ELU
	Low     float32 // of Clip
	High    float32 // of Clip

	Parts []int // channels of each input of Concat; their sum is In.C
	Begin Shape // first element of Slice
	Size  Shape // of Slice
	// Order lists the input axes that become the C, H and W of a Transpose's result. The zero
	// value swaps C and W.
	Order [3]Axes
	Reps  Shape   // of Tile
	Fill  Fill    // of Pad
	Value float32 // of Pad with FillValue
	// OutputFirst numbers the result's buffer below the input's, as the compiler does for
	// matmuls.
	OutputFirst bool
	Release     Release
	Memories    Memories
}

// IsDepthwise reports whether every output channel is computed from one input channel, for which
// the engine has a mode of its own.
func (l *Layer) IsDepthwise() bool {
	return l.Groups > 1 && l.Groups == l.In.C && l.Cout == l.In.C
}

// TapRows returns the number of rows of taps in the window, without the gaps of a dilation.
func (l *Layer) TapRows() int { return (l.Window.Kh-1)/max(1, l.Dilation) + 1 }

// TapColumns returns the number of columns of taps in the window, without the gaps of a dilation.
func (l *Layer) TapColumns() int { return (l.Window.Kw-1)/max(1, l.Dilation) + 1 }

// Memories holds the sizes in bytes of a chip's memories, which limit its tasks. A size of 0
// means that of the M1.
type Memories struct {
	L2   int // size of the L2, at most MaxL2; 0 means MaxL2
	Lane int // bytes of weights that one engine holds; 0 means MaxLane
}

// L2Bytes returns the size in bytes of the L2 of the layer's chip.
func (l *Layer) L2Bytes() int { return cmp.Or(l.Memories.L2, MaxL2) }

// LaneBytes returns how many bytes of weights one engine of the layer's chip holds.
func (l *Layer) LaneBytes() int { return cmp.Or(l.Memories.Lane, MaxLane) }

// LargestTile returns the size in bytes of the largest source tile in the L2 of the layer's chip.
func (l *Layer) LargestTile() int { return LargestTile(l.L2Bytes()) }

// Conv returns a dense convolution with cout output channels.
func Conv(in Shape, cout int, w Window) Layer {
	return Layer{Op: Convolution, In: in, Cout: cout, Window: w, Groups: 1}
}

// Depthwise returns a convolution of each channel on its own.
func Depthwise(in Shape, w Window) Layer {
	return Layer{Op: Convolution, In: in, Cout: in.C, Window: w, Groups: in.C}
}

// Product returns a matmul of an m x k input and a k x n right side. rhs says whether the right
// side is a second input or constant.
func Product(m, k, n int, rhs SecondKind) Layer {
	return Layer{Op: MatMul, In: Shape{1, 1, m, k}, Columns: n, Second: rhs}
}

// Unary returns a layer that applies op to each element of its input.
func Unary(op Op, in Shape) Layer { return Layer{Op: op, In: in} }

// Binary returns an elementwise operation on inputs of the shapes in and second. Axes of extent 1
// in second are broadcast.
func Binary(op Op, in, second Shape) Layer {
	return Layer{Op: op, In: in, SecondShape: second}
}

// Reduction returns a reduction, a softmax or a layer norm over the given axes.
func Reduction(op Op, in Shape, axes Axes) Layer { return Layer{Op: op, In: in, Axes: axes} }

// Out returns the shape of the result.
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

// Permutation returns the input axes that become the C, H and W of a transpose's result. It
// returns W, H and C if Order is zero.
func (l *Layer) Permutation() [3]Axes {
	if l.Order == [3]Axes{} {
		return [3]Axes{AxisW, AxisH, AxisC}
	}
	return l.Order
}

// A Fill selects the values around a padded tensor.
type Fill uint8

// Fills.
const (
	FillValue   Fill = iota // the constant Layer.Value
	FillEdge                // the nearest row or column of the tensor
	FillReflect             // the tensor mirrored at its first and last row or column
)

// A Release is the year of the compiler whose form of descriptors a layer is lowered to.
type Release int

// Compiler releases. Newest is the zero value.
const (
	Newest      Release = 0
	Release2023 Release = 2023 // streams rows that exceed the L2 in patches (seen in 13 of 18 oracle programs)
)

// NeedsTable reports whether the layer has an activation that needs a table, unlike ReLU.
func (l *Layer) NeedsTable() bool { return l.Activation != 0 && l.Activation != ReLU }

// NeedsActivationTask reports whether the activation of an elementwise or planar operation takes
// another task after those of the operation. The planar engine has no tables, and a task that
// looks up its result in a table has no ReLU. It reports false for convolutions and matmuls.
func (l *Layer) NeedsActivationTask() bool {
	return l.Op > Linear && (l.NeedsTable() || l.Activation == ReLU && l.UsesOpTable() && l.Op != RealDiv)
}

// UsesOpTable reports whether the operation itself is computed with a table. A quotient is a
// product with a table of 1/x, and the maximum or minimum with a number is a table.
func (l *Layer) UsesOpTable() bool {
	switch l.Op {
	case RealDiv:
		return l.Second == Runtime || l.Second == Itself
	case Max, Min:
		return l.Second == Scalar
	}
	return false
}

// Taps returns the number of weights that a window has per input channel.
func (l *Layer) Taps() int {
	return l.TapRows() * l.TapColumns()
}
