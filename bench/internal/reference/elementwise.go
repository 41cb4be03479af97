package reference

import (
	"errors"
	"fmt"
	"math"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// elementwiseOperators has the operators whose result at an index depends only on the operands at
// that index, after broadcasting.
var elementwiseOperators = mergeOperatorTables(unaryOperators(), binaryOperators(), map[string]operator{
	"Sum":  {1, wrapSingleResult(newFoldOperator(func(a, b float64) float64 { return a + b }))},
	"Max":  {1, wrapSingleResult(newFoldOperator(func(a, b float64) float64 { return max(a, b) }))},
	"Min":  {1, wrapSingleResult(newFoldOperator(func(a, b float64) float64 { return min(a, b) }))},
	"Mean": {1, wrapSingleResult(computeMean)},

	"Div": {2, wrapSingleResult(computeDiv)}, "Mod": {2, wrapSingleResult(computeMod)}, "Pow": {2, wrapSingleResult(computePow)}, "BitShift": {2, wrapSingleResult(computeBitShift)},
	"PRelu": {2, wrapSingleResult(computePRelu)}, "Clip": {1, wrapSingleResult(computeClip)}, "Where": {3, wrapSingleResult(computeWhere)},
	"Cast": {1, wrapSingleResult(computeCast)}, "CastLike": {2, wrapSingleResult(computeCastLike)},
	"IsInf": {1, wrapSingleResult(computeIsInf)}, "IsNaN": {1, wrapSingleResult(computeIsNaN)},

	"LeakyRelu":       {1, wrapSingleResult(computeLeakyRelu)},
	"Elu":             {1, wrapSingleResult(computeElu)},
	"Selu":            {1, wrapSingleResult(computeSelu)},
	"Celu":            {1, wrapSingleResult(computeCelu)},
	"ThresholdedRelu": {1, wrapSingleResult(computeThresholdedRelu)},
	"HardSigmoid":     {1, wrapSingleResult(computeHardSigmoid)},
	"HardSwish":       {1, wrapSingleResult(computeHardSwish)},
	"Mish":            {1, wrapSingleResult(computeMish)},
	"Softsign":        {1, wrapSingleResult(computeSoftsign)},
	"Shrink":          {1, wrapSingleResult(computeShrink)},
	"Gelu":            {1, wrapSingleResult(computeGelu)},
	"Swish":           {1, wrapSingleResult(computeSwish)},
})

// mergeOperatorTables returns a table of operators with the entries of all the given tables.
func mergeOperatorTables(tables ...map[string]operator) map[string]operator {
	all := map[string]operator{}
	for _, t := range tables {
		for name, op := range t {
			all[name] = op
		}
	}
	return all
}

// unaryOperators returns the table of the operators that have one input and no attributes.
func unaryOperators() map[string]operator {
	table := map[string]operator{}
	for name, f := range map[string]func(float64) float64{
		"Identity": func(x float64) float64 { return x },
		"Abs":      math.Abs,
		"Neg":      func(x float64) float64 { return -x },
		"Sign":     sign,
		"Floor":    math.Floor, "Ceil": math.Ceil, "Round": math.RoundToEven,
		"Tan": math.Tan, "Asin": math.Asin, "Acos": math.Acos,
		"Sinh": math.Sinh, "Cosh": math.Cosh,
		"Asinh": math.Asinh, "Acosh": math.Acosh, "Atanh": math.Atanh,
		"Not":        func(x float64) float64 { return tensor.BoolToFloat(x == 0) },
		"BitwiseNot": func(x float64) float64 { return float64(^int64(x)) },
		"Relu":       relu,
	} {
		table[name] = operator{1, func(c *call) ([]*tensor.Tensor, error) { return []*tensor.Tensor{c.in[0].MapElements(f)}, nil }}
	}
	for name := range functions {
		table[name] = operator{1, wrapSingleResult(func(c *call) (*tensor.Tensor, error) { return c.in[0].MapElements(c.findElementaryFunction(name)), nil })}
	}
	delete(table, "HardSigmoid") // these have attributes
	delete(table, "Gelu")
	return table
}

// binaryOperators returns the table of the operators that have two inputs and no attributes.
func binaryOperators() map[string]operator {
	table := map[string]operator{}
	for name, f := range map[string]func(a, b float64) float64{
		"Add":        func(a, b float64) float64 { return a + b },
		"Sub":        func(a, b float64) float64 { return a - b },
		"Mul":        func(a, b float64) float64 { return a * b },
		"BitwiseAnd": func(a, b float64) float64 { return float64(int64(a) & int64(b)) },
		"BitwiseOr":  func(a, b float64) float64 { return float64(int64(a) | int64(b)) },
		"BitwiseXor": func(a, b float64) float64 { return float64(int64(a) ^ int64(b)) },
	} {
		table[name] = operator{2, wrapSingleResult(func(c *call) (*tensor.Tensor, error) { return c.combineInputs(c.in[0].Type, f) })}
	}
	for name, f := range map[string]func(a, b float64) bool{
		"Equal":          func(a, b float64) bool { return a == b },
		"Less":           func(a, b float64) bool { return a < b },
		"LessOrEqual":    func(a, b float64) bool { return a <= b },
		"Greater":        func(a, b float64) bool { return a > b },
		"GreaterOrEqual": func(a, b float64) bool { return a >= b },
		"And":            func(a, b float64) bool { return a != 0 && b != 0 },
		"Or":             func(a, b float64) bool { return a != 0 || b != 0 },
		"Xor":            func(a, b float64) bool { return (a != 0) != (b != 0) },
	} {
		table[name] = operator{2, wrapSingleResult(func(c *call) (*tensor.Tensor, error) {
			return c.combineInputs(onnx.Bool, func(a, b float64) float64 { return tensor.BoolToFloat(f(a, b)) })
		})}
	}
	return table
}

// combineInputs applies f to each pair of elements of the first two inputs, broadcast to a common
// shape, and returns the results as a tensor of type t. In operator sets before 7 the attributes
// broadcast and axis align the second input with the first.
func (c *call) combineInputs(t onnx.DataType, f func(a, b float64) float64) (*tensor.Tensor, error) {
	b := c.in[1]
	if axis := c.intAttribute("axis", -1); c.opset < 7 && c.flagAttribute("broadcast") && axis >= 0 {
		// Before version 7 the attribute axis aligns the first axis of b with an axis of a.
		dims := append([]int{}, b.Dims...)
		for len(dims)+axis < len(c.in[0].Dims) {
			dims = append(dims, 1)
		}
		var err error
		if b, err = b.Reshape(dims...); err != nil {
			return nil, err
		}
	}
	return tensor.Combine(t, c.in[0], b, f)
}

// newFoldOperator returns an operator that combines all its inputs with f from left to right. For
// three inputs it computes f(f(a, b), c).
func newFoldOperator(f func(a, b float64) float64) func(*call) (*tensor.Tensor, error) {
	return func(c *call) (*tensor.Tensor, error) {
		out := c.in[0].MapElements(func(x float64) float64 { return x })
		for i, t := range c.in[1:] {
			if t == nil {
				return nil, fmt.Errorf("missing input %d", i+1)
			}
			var err error
			if out, err = tensor.Combine(out.Type, out, t, f); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

func computeMean(c *call) (*tensor.Tensor, error) {
	sum, err := newFoldOperator(func(a, b float64) float64 { return a + b })(c)
	if err != nil {
		return nil, err
	}
	return sum.MapElements(func(x float64) float64 { return x / float64(len(c.in)) }), nil
}

var errDivisionByZero = errors.New("integer division by zero")

// computeDiv computes Div. Integer quotients are truncated toward zero, and an integer division by
// zero is an error.
func computeDiv(c *call) (*tensor.Tensor, error) {
	if c.in[0].Type.IsFloat() {
		if c.isConstant(1) { // the reciprocal of a constant is computed in advance, not looked up
			return c.combineInputs(c.in[0].Type, func(a, b float64) float64 { return a / b })
		}
		return c.combineInputs(c.in[0].Type, c.newDivideFunction())
	}
	if c.in[1].ContainsValue(0) {
		return nil, errDivisionByZero
	}
	return c.combineInputs(c.in[0].Type, func(a, b float64) float64 { return math.Trunc(a / b) })
}

// computeMod computes Mod. The remainder has the sign of the divisor or, if fmod is set, that of
// the dividend.
func computeMod(c *call) (*tensor.Tensor, error) {
	if !c.in[0].Type.IsFloat() && c.in[1].ContainsValue(0) {
		return nil, errDivisionByZero
	}
	if c.flagAttribute("fmod") {
		return c.combineInputs(c.in[0].Type, math.Mod)
	}
	return c.combineInputs(c.in[0].Type, func(a, b float64) float64 {
		r := math.Mod(a, b)
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	})
}

// computePow computes Pow. If Options.Function is set, the exponents 0.5 and -0.5 use its Sqrt and
// Rsqrt, and other negative exponents its Reciprocal.
func computePow(c *call) (*tensor.Tensor, error) {
	root, inverseRoot, reciprocal := c.findElementaryFunction("Sqrt"), c.findElementaryFunction("Rsqrt"), c.findElementaryFunction("Reciprocal")
	return c.combineInputs(c.in[0].Type, func(x, e float64) float64 {
		switch {
		case c.Function == nil || e > 0 && e == math.Trunc(e):
			return math.Pow(x, e)
		case e == 0.5:
			return root(x)
		case e == -0.5:
			return inverseRoot(x)
		case e < 0:
			return reciprocal(math.Pow(x, -e))
		}
		return math.Pow(x, e)
	})
}

func computeBitShift(c *call) (*tensor.Tensor, error) {
	switch direction := c.textAttribute("direction", ""); direction {
	case "LEFT":
		return c.combineInputs(c.in[0].Type, func(a, b float64) float64 {
			if b >= float64(8*c.in[0].Type.Width()) {
				return 0
			}
			return a * math.Exp2(b)
		})
	case "RIGHT":
		return c.combineInputs(c.in[0].Type, func(a, b float64) float64 { return math.Floor(a / math.Exp2(b)) })
	default:
		return nil, fmt.Errorf("unknown direction %q; want LEFT or RIGHT", direction)
	}
}

// computePRelu computes PRelu: it multiplies negative elements by their slopes, which are broadcast
// to the input. In operator sets before 7 a vector of slopes has one slope for each channel.
func computePRelu(c *call) (*tensor.Tensor, error) {
	x, slope := c.in[0], c.in[1]
	if c.opset < 7 && len(slope.Dims) == 1 && slope.Dims[0] > 1 && len(x.Dims) > 2 {
		dims := []int{slope.Dims[0]}
		for range x.Dims[2:] {
			dims = append(dims, 1)
		}
		var err error
		if slope, err = slope.Reshape(dims...); err != nil {
			return nil, err
		}
	}
	return tensor.Combine(x.Type, x, slope, func(a, b float64) float64 {
		if a < 0 {
			return a * b
		}
		return a
	})
}

// computeClip computes the operator Clip. The bounds are inputs since operator set 11 and
// attributes before. A missing bound is infinite.
func computeClip(c *call) (*tensor.Tensor, error) {
	bounds := [2]float64{c.floatAttribute("min", math.Inf(-1)), c.floatAttribute("max", math.Inf(1))}
	for i := range bounds {
		if t := c.inputTensor(1 + i); t != nil {
			if len(t.Data) != 1 {
				return nil, fmt.Errorf("input %d has shape %v; want a scalar bound", 1+i, t.Dims)
			}
			bounds[i] = t.Data[0]
		}
	}
	return c.in[0].MapElements(func(x float64) float64 { return min(max(x, bounds[0]), bounds[1]) }), nil
}

func computeWhere(c *call) (*tensor.Tensor, error) {
	dims, err := tensor.BroadcastDims(c.in[0].Dims, c.in[1].Dims, c.in[2].Dims)
	if err != nil {
		return nil, err
	}
	var in [3]*tensor.Tensor
	for i := range in {
		if in[i], err = c.in[i].BroadcastTo(dims); err != nil {
			return nil, err
		}
	}
	out := in[1].ZerosLike()
	for i, condition := range in[0].Data {
		out.Data[i] = in[2].Data[i]
		if condition != 0 {
			out.Data[i] = in[1].Data[i]
		}
	}
	return out, nil
}

func computeCast(c *call) (*tensor.Tensor, error) {
	return c.castInput(onnx.DataType(c.intAttribute("to", 0)))
}

func computeCastLike(c *call) (*tensor.Tensor, error) { return c.castInput(c.in[1].Type) }

// castInput returns the first input converted to type to. Results of type float16 and bfloat16 are
// rounded. Results of type float32 are rounded only if the input is float64, because all other
// values are kept in float64.
func (c *call) castInput(to onnx.DataType) (*tensor.Tensor, error) {
	if to.Width() == 0 {
		return nil, c.newUnsupportedError("cast to " + to.String())
	}
	x := c.in[0]
	f := func(v float64) float64 { return v }
	switch {
	case to == onnx.Float16:
		f = func(v float64) float64 { return tensor.RoundHalf("", v) }
	case to == onnx.BFloat16:
		f = tensor.RoundBFloat16
	case to.IsSmallFloat():
		f = func(v float64) float64 { return nearestNumber(to, v) }
	case to == onnx.Float && x.Type == onnx.Double:
		f = func(v float64) float64 { return tensor.RoundSingle("", v) }
	case to == onnx.Bool:
		f = func(v float64) float64 { return tensor.BoolToFloat(v != 0) }
	case !to.IsFloat():
		f = func(v float64) float64 { return tensor.WrapInteger(to, v) }
	}
	return x.MapElements(f).WithType(to), nil
}

// nearestNumber returns the finite number nearest to v among all codes of a type of at most 8 bits. Of two
// that are equally near, it has the even code.
func nearestNumber(to onnx.DataType, v float64) float64 {
	best, distance := math.NaN(), math.Inf(1)
	limited := max(-1e6, min(1e6, v))
	for code := range 1 << to.Bits() {
		if n := to.Decode(uint8(code)); !math.IsInf(n, 0) {
			if d := math.Abs(limited - n); d < distance || d == distance && code%2 == 0 {
				best, distance = n, d
			}
		}
	}
	return best
}

func computeIsInf(c *call) (*tensor.Tensor, error) {
	negative, positive := c.intAttribute("detect_negative", 1) != 0, c.intAttribute("detect_positive", 1) != 0
	return c.in[0].MapElements(func(x float64) float64 {
		return tensor.BoolToFloat(positive && math.IsInf(x, 1) || negative && math.IsInf(x, -1))
	}).WithType(onnx.Bool), nil
}

func computeIsNaN(c *call) (*tensor.Tensor, error) {
	return c.in[0].MapElements(func(x float64) float64 { return tensor.BoolToFloat(math.IsNaN(x)) }).WithType(onnx.Bool), nil
}

func sign(x float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	return tensor.BoolToFloat(x > 0) - tensor.BoolToFloat(x < 0)
}

func relu(x float64) float64 { return max(x, 0) }

func computeLeakyRelu(c *call) (*tensor.Tensor, error) {
	alpha := c.floatAttribute("alpha", 0.01)
	return c.in[0].MapElements(func(x float64) float64 {
		if x < 0 {
			return alpha * x
		}
		return x
	}), nil
}

func computeElu(c *call) (*tensor.Tensor, error) {
	alpha, expm1 := c.floatAttribute("alpha", 1), c.newExpm1Function()
	return c.in[0].MapElements(func(x float64) float64 {
		if x < 0 {
			return alpha * expm1(x)
		}
		return x
	}), nil
}

func computeSelu(c *call) (*tensor.Tensor, error) {
	alpha, gamma := c.floatAttribute("alpha", 1.67326319217681884765625), c.floatAttribute("gamma", 1.05070102214813232421875)
	expm1 := c.newExpm1Function()
	return c.in[0].MapElements(func(x float64) float64 {
		if x <= 0 {
			return gamma * alpha * expm1(x)
		}
		return gamma * x
	}), nil
}

func computeCelu(c *call) (*tensor.Tensor, error) {
	alpha, expm1 := c.floatAttribute("alpha", 1), c.newExpm1Function()
	return c.in[0].MapElements(func(x float64) float64 {
		return max(0, x) + min(0, alpha*expm1(x/alpha))
	}), nil
}

func computeThresholdedRelu(c *call) (*tensor.Tensor, error) {
	alpha := c.floatAttribute("alpha", 1)
	return c.in[0].MapElements(func(x float64) float64 {
		if x <= alpha {
			return 0
		}
		return x
	}), nil
}

func computeHardSigmoid(c *call) (*tensor.Tensor, error) {
	alpha, beta := c.floatAttribute("alpha", 0.2), c.floatAttribute("beta", 0.5)
	if float32(alpha) == 1./6 && beta == 0.5 {
		return c.in[0].MapElements(c.findElementaryFunction("HardSigmoid")), nil
	}
	return c.in[0].MapElements(func(x float64) float64 { return min(max(alpha*x+beta, 0), 1) }), nil
}

func computeHardSwish(c *call) (*tensor.Tensor, error) {
	gate := c.findElementaryFunction("HardSigmoid")
	return c.in[0].MapElements(func(x float64) float64 { return x * gate(x) }), nil
}

func computeMish(c *call) (*tensor.Tensor, error) {
	softplus, tanh := c.findElementaryFunction("Softplus"), c.findElementaryFunction("Tanh")
	return c.in[0].MapElements(func(x float64) float64 { return x * tanh(softplus(x)) }), nil
}

func computeSoftsign(c *call) (*tensor.Tensor, error) {
	quotient := c.newDivideFunction()
	return c.in[0].MapElements(func(x float64) float64 { return quotient(x, 1+math.Abs(x)) }), nil
}

func computeShrink(c *call) (*tensor.Tensor, error) {
	bias, lambda := c.floatAttribute("bias", 0), c.floatAttribute("lambd", 0.5)
	return c.in[0].MapElements(func(x float64) float64 {
		switch {
		case x < -lambda:
			return x + bias
		case x > lambda:
			return x - bias
		case math.IsNaN(x):
			return x
		}
		return 0
	}), nil
}

func computeGelu(c *call) (*tensor.Tensor, error) {
	switch form := c.textAttribute("approximate", "none"); form {
	case "none":
		return c.in[0].MapElements(c.findElementaryFunction("Gelu")), nil
	case "tanh":
		return c.in[0].MapElements(c.newFastGeluFunction()), nil
	default:
		return nil, c.newUnsupportedError(fmt.Sprintf("attribute approximate=%q", form))
	}
}

func computeSwish(c *call) (*tensor.Tensor, error) {
	return c.computeSwishWithAlpha(c.in[0], c.floatAttribute("alpha", 1)), nil
}

// computeSwishWithAlpha returns the tensor of x*sigmoid(alpha*x) for each element x.
func (r *interpreter) computeSwishWithAlpha(x *tensor.Tensor, alpha float64) *tensor.Tensor {
	if alpha == 1 {
		return x.MapElements(r.findElementaryFunction("SiLU"))
	}
	sigmoid := r.findElementaryFunction("Sigmoid")
	return x.MapElements(func(x float64) float64 { return x * sigmoid(alpha*x) })
}
