package layer

import (
	"cmp"
	"strconv"

	"github.com/x448/float16"

	"anesim/hw/execycles"
)

// Axes is a set of the axes C, H and W of a tensor, with one bit for each.
type Axes uint8

// The axes of a tensor. Only a Transpose works along N, the batch, see [SwapBatch].
const (
	AxisC Axes = 1 << iota
	AxisH
	AxisW
	AxisN
)

// SwapBatch is the order of the axes of a Transpose that exchanges N and C. C becomes N because no
// other axis does.
var SwapBatch = [3]Axes{AxisN, AxisH, AxisW}

// A SecondKind says where the second operand of an elementwise operation or a matmul comes from.
type SecondKind uint8

// Sources of a second operand.
const (
	Runtime  SecondKind = iota // a second input
	Constant                   // Weights.Second, one value per channel
	Scalar                     // Weights.Second, a single value
	Itself                     // the first input again, as in x + relu(x) with SecondReLU
)

// A Layer describes one operation on fp16 tensors. Fields that the operation does not use are zero.
// [Layer.Validate] checks the fields.
type Layer struct {
	Op Op
	In Shape // shape of the first input

	// Convolution.
	Cout   int
	Window Window
	Groups int // 0 or 1 for a dense convolution, In.C for a depthwise one
	// Dilation is the distance between neighboring taps of the window; 0 means 1. Window has the
	// extent of the dilated window, and Weights hold only its taps.
	Dilation int
	// DenseRows says that only the columns of the taps are Dilation apart, and the rows are
	// adjacent, as in the phases of a dilated convolution.
	DenseRows bool
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

	Axes    Axes    // axes over which a reduction, softmax or layer norm works
	Epsilon float32 // addend before the root or reciprocal of Rsqrt, Inverse and LayerNorm
	Alpha   float32 // factor below 0 of LeakyReLU and ELU
	Low     float32 // lower bound of Clip
	High    float32 // upper bound of Clip

	Parts []int // channels of each input of Concat; their sum is In.C
	Begin Shape // first element of Slice
	Size  Shape // shape of Slice's result
	// Skew is how many columns each row of a Slice begins before the row above it: the relative
	// shift of attention with relative positions.
	Skew int
	// Order lists the input axes that become the C, H and W of a Transpose's result: C, H and W in
	// any order, or [SwapBatch]. The zero value swaps C and W.
	Order [3]Axes
	Reps  Shape   // numbers of copies of Tile along each axis
	Fill  Fill    // kind of values that Pad adds
	Value float32 // the value that Pad adds, for FillValue
	// OutputFirst numbers the result's buffer below the input's, as the compiler does for
	// matmuls.
	OutputFirst bool
	Release     Release
	Memories    Memories
	Target      execycles.Target // whose cycles the descriptors estimate; 0 means H13
}

// IsDepthwise reports whether l is a convolution with as many groups as input and output channels.
// Each output channel of such a layer reads a single input channel. The engine has a separate mode
// for it.
func (l *Layer) IsDepthwise() bool {
	return l.Groups > 1 && l.Groups == l.In.C && l.Cout == l.In.C
}

// HasConstantProduct reports whether l is a matmul by constant weights.
func (l *Layer) HasConstantProduct() bool {
	return l.Op == Linear || l.Op == MatMul && l.Second == Constant
}

// TapRows returns the number of rows of taps in the window. In a dilated window, it is less than
// Window.Kh, which includes the rows between taps.
func (l *Layer) TapRows() int { return (l.Window.Kh-1)/l.RowDilation() + 1 }

// RowDilation returns the distance between neighboring rows of taps.
func (l *Layer) RowDilation() int {
	if l.DenseRows {
		return 1
	}
	return max(1, l.Dilation)
}

// TapColumns returns the number of columns of taps in the window. In a dilated window, it is less
// than Window.Kw, which includes the columns between taps.
func (l *Layer) TapColumns() int { return (l.Window.Kw-1)/max(1, l.Dilation) + 1 }

// Memories holds the sizes of the memories of the chip that a layer is compiled for. A size of 0
// means the size on the M1.
type Memories struct {
	L2   int // size of L2, at most MaxL2; 0 means MaxL2
	Lane int // bytes of weights that one engine holds; 0 means MaxLane
}

// L2Bytes returns the size in bytes of L2, the engine's local memory, on the chip that the layer is
// compiled for.
func (l *Layer) L2Bytes() int { return cmp.Or(l.Memories.L2, MaxL2) }

// LaneBytes returns how many bytes of weights one MAC engine can hold on the chip that the layer is
// compiled for.
func (l *Layer) LaneBytes() int { return cmp.Or(l.Memories.Lane, MaxLane) }

// LargestTile returns the size in bytes of the largest source that L2 can hold as a whole, with
// room left for results, on the chip that the layer is compiled for.
func (l *Layer) LargestTile() int { return LargestTile(l.L2Bytes()) }

// Conv returns a convolution of input in with cout output channels, each of which reads all input
// channels.
func Conv(in Shape, cout int, w Window) Layer {
	return Layer{Op: Convolution, In: in, Cout: cout, Window: w, Groups: 1}
}

// Depthwise returns a convolution that applies window w to each channel of in separately.
func Depthwise(in Shape, w Window) Layer {
	return Layer{Op: Convolution, In: in, Cout: in.C, Window: w, Groups: in.C}
}

// Product returns a matmul of an m x k matrix by a k x n matrix. The first matrix is the input of
// the layer. rhs says where the second one comes from: Runtime for a second input, or Constant for
// the layer's weights.
func Product(m, k, n int, rhs SecondKind) Layer {
	return Layer{Op: MatMul, In: Shape{1, 1, m, k}, Columns: n, Second: rhs}
}

// Unary returns a layer that applies op, such as ReLU, to an input of shape in.
func Unary(op Op, in Shape) Layer { return Layer{Op: op, In: in} }

// Binary returns a layer that applies the elementwise operation op, such as Add, to two inputs with
// the shapes first and second. The result has the first shape. An axis of the second input with
// extent 1 is repeated to match the first input.
func Binary(op Op, first, second Shape) Layer {
	return Layer{Op: op, In: first, SecondShape: second}
}

// Reduction returns a layer that applies op over the given axes of an input of shape in. op is a
// reduction such as ReduceSum, Softmax or LayerNorm.
func Reduction(op Op, in Shape, axes Axes) Layer { return Layer{Op: op, In: in, Axes: axes} }

// Out returns the shape of the layer's result. If the layer has a window, its strides must be at
// least 1.
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
		// The division rounds down: rows that do not fill a last window are dropped, as in frameworks
		// unless they ask for ceil mode.
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
		// Only this order moves the batch, so it is no permutation of the three other axes.
		if l.Order == SwapBatch {
			s.N, s.C = s.C, s.N
			break
		}
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

// Permutation returns the axes of the input that a Transpose turns into axes C, H and W of the
// result, in that order. They are l.Order or, if that is zero, the default W, H, C.
func (l *Layer) Permutation() [3]Axes {
	if l.Order == [3]Axes{} {
		return [3]Axes{AxisW, AxisH, AxisC}
	}
	return l.Order
}

// A Fill says which values a Pad layer adds around a tensor.
type Fill uint8

// The values around a padded tensor.
const (
	FillValue   Fill = iota // the constant Layer.Value
	FillEdge                // the nearest row or column of the tensor
	FillReflect             // the tensor mirrored at its first and last row or column
)

// A Release is a release of Apple's compiler, given by its year. Layers are compiled to the
// descriptors that this release would write.
type Release int

// Compiler releases. Newest is the zero value: the compiler of macOS 26, of which most programs are.
// Release2026 is younger, but only three of its programs are known, all for the M1 and of one
// transformer, so it is not the default.
const (
	Newest      Release = 0
	Release2023 Release = 2023 // streams rows that exceed L2 in patches (seen in 13 of 18 oracle programs)
	Release2026 Release = 2026 // schedules layers over the channels of a row of pixels as one chain (3 of 3 programs)
)

// ReleasesOfNetworks returns the releases that a whole network can be compiled to. That of 2023 is known
// for single layers only.
func ReleasesOfNetworks() []Release { return []Release{Newest, Release2026} }

// String returns the year of the release, or "newest".
func (r Release) String() string {
	if r == Newest {
		return "newest"
	}
	return strconv.Itoa(int(r))
}

// NeedsTable reports whether the engine computes the layer's activation with a table, as it does
// every activation except ReLU. It returns false for a layer without an activation.
func (l *Layer) NeedsTable() bool { return l.Activation != 0 && l.Activation != ReLU }

// NeedsActivationTask reports whether the layer's activation needs a task of its own. Convolutions
// and matmuls never need one. Other operations need one for any activation with a table, because
// the planar engine has no tables. A maximum or minimum with a number also needs one for ReLU,
// because the operation itself uses a table.
func (l *Layer) NeedsActivationTask() bool {
	return l.Op > Linear && (l.NeedsTable() || l.Activation == ReLU && l.UsesOpTable() && l.Op != RealDiv)
}

// UsesOpTable reports whether the operation itself is computed with a table, regardless of its
// activation. This is true of a division by a tensor, which looks up 1/x and multiplies by it, and
// of a maximum or minimum with a number.
func (l *Layer) UsesOpTable() bool {
	switch l.Op {
	case RealDiv:
		return l.Second == Runtime || l.Second == Itself
	case Max, Min:
		return l.Second == Scalar
	}
	return false
}

// Taps returns the number of taps of the window, which is the number of weights for one input
// channel and one output channel. It does not count the gaps of a dilated window.
func (l *Layer) Taps() int {
	return l.TapRows() * l.TapColumns()
}
