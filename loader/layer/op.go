package layer

import "fmt"

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

// Rides reports whether an activation is one table and nothing else, so that the task that makes
// its input may look it up: no scale or addend ahead of it, no mode and no task of its own.
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

// Tables is how many activation tables an operation takes: the first in Weights.Table,
// the others in Weights.Tables.
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

// Activates reports whether an operation is a function of one input.
func (o Op) IsActivation() bool {
	return o >= ReLU && o <= Rsqrt || o >= Abs && o <= LogicalNot
}

// joined reports whether an activation may follow in the same layer.
func (o Op) acceptsActivation() bool {
	switch o {
	case RealDiv, Average, Tile:
		return true
	}
	return o <= Min
}
