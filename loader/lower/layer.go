package lower

import (
	"cmp"
	"fmt"
)

// An Op is what a layer computes.
type Op uint8

// The operations. Elementwise ones take In and Second, activations In alone.
const (
	Convolution Op = iota + 1
	MatMul         // [M,K] times [K,N]; In is {1,1,M,K}
	Linear         // MatMul with a constant right side, kept as weight[N][K]
	Add
	Sub
	Mul
	Max
	Min
	ReLU
	Sigmoid
	Tanh
	GELU
	SiLU
	Exp
	Sqrt
	Rsqrt // 1/sqrt(x + Epsilon)
	ReduceSum
	ReduceMean
	ReduceMax
	ReduceMin
	Softmax
	LayerNorm
	Pool
	Concat    // along C
	Transpose // Order says which axes; C and W without
	Slice
	RealDiv // x / z, or the reciprocal of a constant
	Average // of x and z
	Pow     // x to the power z, of x above 0
	Abs
	Square
	Cube
	LeakyReLU // Alpha x below 0
	PReLU     // Weights.Second x below 0, one value a channel
	ReLU6
	Clip // between Low and High
	ELU  // Alpha (e^x - 1) below 0
	SELU
	HardSigmoid // x/6 + 1/2 between 0 and 1
	HardSwish   // x times HardSigmoid
	Softplus
	Softsign
	Sign
	Ceil
	Floor
	Frac
	Log
	Inverse
	Sin
	Cos
	Atan
	Erf
	LogicalNot // of 8-bit elements
	Tile       // Reps times along each axis
	// Deconvolution is a transposed convolution: Window is that of the convolution whose
	// input it makes.
	Deconvolution
	Pad // rows and columns around a tensor: Window's Py, Qy, Px and Qx
)

var opNames = map[Op]string{
	Convolution: "conv", MatMul: "matmul", Linear: "linear", Add: "add", Sub: "sub", Mul: "mul",
	Max: "max", Min: "min", ReLU: "relu", Sigmoid: "sigmoid", Tanh: "tanh", GELU: "gelu",
	SiLU: "silu", Exp: "exp", Sqrt: "sqrt", Rsqrt: "rsqrt", ReduceSum: "reduce_sum",
	ReduceMean: "reduce_mean", ReduceMax: "reduce_max", ReduceMin: "reduce_min", Softmax: "softmax",
	LayerNorm: "layernorm", Pool: "pool", Concat: "concat", Transpose: "transpose", Slice: "slice",
	RealDiv: "real_div", Average: "average", Pow: "pow", Abs: "abs", Square: "square", Cube: "cube",
	LeakyReLU: "leaky_relu", PReLU: "prelu", ReLU6: "relu6", Clip: "clip", ELU: "elu", SELU: "selu",
	HardSigmoid: "hard_sigmoid", HardSwish: "hard_swish", Softplus: "softplus", Softsign: "softsign",
	Sign: "sign", Ceil: "ceil", Floor: "floor", Frac: "frac", Log: "log", Inverse: "inverse",
	Sin: "sin", Cos: "cos", Atan: "atan", Erf: "erf", LogicalNot: "logical_not", Tile: "tile", Deconvolution: "deconv", Pad: "pad",
}

// String is the operation's name as the command spells it.
func (o Op) String() string {
	if n, ok := opNames[o]; ok {
		return n
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// ParseOp finds an operation by its name.
func ParseOp(name string) (Op, bool) {
	for o, n := range opNames {
		if n == name {
			return o, true
		}
	}
	return 0, false
}

// A Shape is the extent of a tensor in elements.
type Shape struct{ N, C, H, W int }

// Elements is the number of elements.
func (s Shape) Elements() int { return s.N * s.C * s.H * s.W }

// Gapless reports whether rows fill whole units of 64 bytes: a tensor then has no gaps in
// memory, and is the same in rows of any length that fills them too.
func (s Shape) Gapless() bool { return s.W*elementBytes%rowUnit == 0 }

// rowUnit is what rows in memory begin at multiples of.
const rowUnit = 64

// A Window is how a convolution walks its source.
type Window struct {
	Kh, Kw int // taps
	Sy, Sx int // strides
	Py, Px int // zeros before the first row and column
	// Qy, Qx are the zeros after the last: the output's extent implies them, so they
	// may differ from Py and Px.
	Qy, Qx int
}

// Valid is a k x k window without padding.
func Valid(k, stride int) Window { return Window{Kh: k, Kw: k, Sy: stride, Sx: stride} }

// Same is a k x k window whose output has ceil(in/stride) rows and columns; the odd zero
// comes after (both examples of a 3x3 window of stride 2).
func Same(k, stride int, in Shape) Window {
	w := Valid(k, stride)
	w.Py, w.Qy = same(k, stride, in.H)
	w.Px, w.Qx = same(k, stride, in.W)
	return w
}

// SamePad is the padding before and after an axis that leaves ceil(in/stride) outputs.
func SamePad(k, stride, in int) (before, after int) { return same(k, stride, in) }

// Dilated is the window with taps d rows and columns apart.
func (w Window) Dilated(d int) Window {
	w.Kh, w.Kw = (w.Kh-1)*d+1, (w.Kw-1)*d+1
	return w
}

func same(k, stride, in int) (before, after int) {
	out := (in + stride - 1) / stride
	total := max(0, (out-1)*stride+k-in)
	return total / 2, total - total/2
}

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

// Memories are the bytes of a chip's memories that tasks have to fit; 0 as the M1's.
type Memories struct {
	L2   int // the scratchpad: MaxL2, and not more
	Lane int // the coefficients that an engine holds: MaxLane
}

// l2 and lane are the bytes of the scratchpad and of an engine's coefficients.
func (l *Layer) l2() int   { return cmp.Or(l.Memories.L2, MaxL2) }
func (l *Layer) lane() int { return cmp.Or(l.Memories.Lane, MaxLane) }

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
		order, extent := l.order(), map[Axes]int{AxisC: s.C, AxisH: s.H, AxisW: s.W}
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

// order is the axis of the input that each of a transpose's C, H and W is.
func (l *Layer) order() [3]Axes {
	if l.Order == [3]Axes{} {
		return [3]Axes{AxisW, AxisH, AxisC}
	}
	return l.Order
}
