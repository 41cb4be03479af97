package layer

import "fmt"

// An Op is an operation that a layer computes.
type Op uint8

// The operations. Elementwise operations take In and a second operand, activations take only In.
const (
	Convolution Op = iota + 1
	MatMul         // [M,K] times [K,N]; In is {1,1,M,K}
	Linear         // MatMul with a constant right side, stored as weight[N][K]
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
	Transpose // permutes the axes by Order; swaps C and W without one
	Slice
	RealDiv // x / z, or the reciprocal of a constant
	Average // of x and z
	Pow     // x to the power z, for x above 0
	Abs
	Square
	Cube
	LeakyReLU // x, and Alpha x below 0
	PReLU     // x, and Weights.Second x below 0, with one value per channel
	ReLU6
	Clip // between Low and High
	ELU  // x, and Alpha (e^x - 1) below 0
	SELU
	HardSigmoid // x/6 + 1/2, limited to 0 to 1
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
	Tile       // repeats the tensor Reps times along each axis
	// Deconvolution is a transposed convolution: Window is the window of the convolution that
	// maps its result back to its input.
	Deconvolution
	Pad // adds rows and columns around a tensor: Window's Py, Qy, Px and Qx
)

// IsSingleTable reports whether o is an activation that needs a single table lookup and no other
// step, such as Tanh. The task that computes the input of such an activation can apply the table
// itself.
func (o Op) IsSingleTable() bool {
	switch o {
	case Sigmoid, Tanh, GELU, SiLU, Sqrt, LeakyReLU, ReLU6, Clip, ELU, SELU, HardSigmoid, Softplus, Softsign, Sign, Frac, Erf:
		return true
	}
	return false
}

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

// String returns the operation's name as the anesim command spells it, such as "leaky_relu".
func (o Op) String() string {
	if n, ok := opNames[o]; ok {
		return n
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// ParseOp returns the operation with the given name, as [Op.String] spells it. ok is false for an
// unknown name.
func ParseOp(name string) (op Op, ok bool) {
	for o, n := range opNames {
		if n == name {
			return o, true
		}
	}
	return 0, false
}

// TableCount returns the number of activation tables that the operation needs, at most 3. It is 0
// for ReLU and for operations other than activations.
func (o Op) TableCount() int {
	switch o {
	case ReLU, Abs, Square, Cube, PReLU:
		return 0
	case Atan, Sin, Cos:
		return 2
	case Ceil, Floor:
		return 3
	}
	if o.IsActivation() {
		return 1
	}
	return 0
}

// IsActivation reports whether o is a function of one input that is applied to each element
// separately, such as ReLU or Sin.
func (o Op) IsActivation() bool {
	return o >= ReLU && o <= Rsqrt || o >= Abs && o <= LogicalNot
}

// IsBinary reports whether o combines each element of its input with one of a second operand, as a
// sum does.
func (o Op) IsBinary() bool {
	switch o {
	case Add, Sub, Mul, Max, Min, RealDiv, Average, Pow:
		return true
	}
	return false
}

// ElementBits returns the size in bits of the elements that the operation reads and writes.
func (o Op) ElementBits() int {
	if o == LogicalNot {
		return 8
	}
	return 16
}

// acceptsActivation reports whether an activation may follow the operation in the same layer.
func (o Op) acceptsActivation() bool {
	switch o {
	case RealDiv, Average, Tile:
		return true
	}
	return o <= Min
}
