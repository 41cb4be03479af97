package reference

import (
	"errors"
	"fmt"
	"math"

	"anesim/loader/network/onnx"
)

// elementwise has the operators whose result at an index depends on the operands at that
// index alone, after broadcasting.
var elementwise = join(unaries(), binaries(), map[string]operator{
	"Sum":  {1, single(fold(func(a, b float64) float64 { return a + b }))},
	"Max":  {1, single(fold(func(a, b float64) float64 { return max(a, b) }))},
	"Min":  {1, single(fold(func(a, b float64) float64 { return min(a, b) }))},
	"Mean": {1, single(mean)},

	"Div": {2, single(divide)}, "Mod": {2, single(modulo)}, "Pow": {2, single(power)}, "BitShift": {2, single(shiftBits)},
	"PRelu": {2, single(prelu)}, "Clip": {1, single(clip)}, "Where": {3, single(where)},
	"Cast": {1, single(cast)}, "CastLike": {2, single(castLike)},
	"IsInf": {1, single(isInf)}, "IsNaN": {1, single(isNaN)},

	"LeakyRelu":       {1, single(leakyRelu)},
	"Elu":             {1, single(elu)},
	"Selu":            {1, single(selu)},
	"Celu":            {1, single(celu)},
	"ThresholdedRelu": {1, single(thresholdedRelu)},
	"HardSigmoid":     {1, single(hardSigmoid)},
	"HardSwish":       {1, single(hardSwish)},
	"Mish":            {1, single(mish)},
	"Softsign":        {1, single(softsign)},
	"Shrink":          {1, single(shrink)},
	"Gelu":            {1, single(gelu)},
	"Swish":           {1, single(swish)},
})

// join returns one table with the entries of several.
func join(tables ...map[string]operator) map[string]operator {
	all := map[string]operator{}
	for _, t := range tables {
		for name, op := range t {
			all[name] = op
		}
	}
	return all
}

// unaries returns the operators of one input without attributes.
func unaries() map[string]operator {
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
		"Not":        func(x float64) float64 { return truth(x == 0) },
		"BitwiseNot": func(x float64) float64 { return float64(^int64(x)) },
		"Relu":       relu,
	} {
		table[name] = operator{1, func(c *call) ([]*Tensor, error) { return []*Tensor{c.in[0].apply(f)}, nil }}
	}
	for name := range functions {
		table[name] = operator{1, single(func(c *call) (*Tensor, error) { return c.in[0].apply(c.function(name)), nil })}
	}
	delete(table, "HardSigmoid") // they have attributes
	delete(table, "Gelu")
	return table
}

// binaries returns the operators of two inputs without attributes.
func binaries() map[string]operator {
	table := map[string]operator{}
	for name, f := range map[string]func(a, b float64) float64{
		"Add":        func(a, b float64) float64 { return a + b },
		"Sub":        func(a, b float64) float64 { return a - b },
		"Mul":        func(a, b float64) float64 { return a * b },
		"BitwiseAnd": func(a, b float64) float64 { return float64(int64(a) & int64(b)) },
		"BitwiseOr":  func(a, b float64) float64 { return float64(int64(a) | int64(b)) },
		"BitwiseXor": func(a, b float64) float64 { return float64(int64(a) ^ int64(b)) },
	} {
		table[name] = operator{2, single(func(c *call) (*Tensor, error) { return c.combine(c.in[0].Type, f) })}
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
		table[name] = operator{2, single(func(c *call) (*Tensor, error) {
			return c.combine(onnx.Bool, func(a, b float64) float64 { return truth(f(a, b)) })
		})}
	}
	return table
}

// combine applies f to the first two inputs.
func (c *call) combine(t onnx.DataType, f func(a, b float64) float64) (*Tensor, error) {
	b := c.in[1]
	if axis := c.int("axis", -1); c.opset < 7 && c.flag("broadcast") && axis >= 0 {
		// Before version 7 an attribute said which axis of a the first of b is.
		dims := append([]int{}, b.Dims...)
		for len(dims)+axis < len(c.in[0].Dims) {
			dims = append(dims, 1)
		}
		var err error
		if b, err = b.reshape(dims...); err != nil {
			return nil, err
		}
	}
	return combine(t, c.in[0], b, f)
}

// combine returns f of the elements of a and b, broadcast to one shape.
func combine(t onnx.DataType, a, b *Tensor, f func(a, b float64) float64) (*Tensor, error) {
	dims, err := broadcastDims(a.Dims, b.Dims)
	if err != nil {
		return nil, err
	}
	if a, err = a.broadcast(dims); err != nil {
		return nil, err
	}
	if b, err = b.broadcast(dims); err != nil {
		return nil, err
	}
	out := a.like()
	out.Type = t
	for i, x := range a.Data {
		out.Data[i] = f(x, b.Data[i])
	}
	return out, nil
}

// add returns a + b.
func add(a, b *Tensor) (*Tensor, error) {
	return combine(a.Type, a, b, func(x, y float64) float64 { return x + y })
}

// fold returns an operator that applies f to any number of inputs, from the first on.
func fold(f func(a, b float64) float64) func(*call) (*Tensor, error) {
	return func(c *call) (*Tensor, error) {
		out := c.in[0].apply(func(x float64) float64 { return x })
		for i, t := range c.in[1:] {
			if t == nil {
				return nil, fmt.Errorf("input %d is missing", i+1)
			}
			var err error
			if out, err = combine(out.Type, out, t, f); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

func mean(c *call) (*Tensor, error) {
	sum, err := fold(func(a, b float64) float64 { return a + b })(c)
	if err != nil {
		return nil, err
	}
	return sum.apply(func(x float64) float64 { return x / float64(len(c.in)) }), nil
}

var errDivisionByZero = errors.New("division of an integer by zero")

// divide truncates quotients of integers toward zero.
func divide(c *call) (*Tensor, error) {
	if c.in[0].Type.IsFloat() {
		if c.isConstant(1) { // its reciprocal is no lookup
			return c.combine(c.in[0].Type, func(a, b float64) float64 { return a / b })
		}
		return c.combine(c.in[0].Type, c.quotient())
	}
	if c.in[1].contains(0) {
		return nil, errDivisionByZero
	}
	return c.combine(c.in[0].Type, func(a, b float64) float64 { return math.Trunc(a / b) })
}

func (t *Tensor) contains(v float64) bool {
	for _, x := range t.Data {
		if x == v {
			return true
		}
	}
	return false
}

// modulo has the sign of the divisor, or of the dividend if fmod is set.
func modulo(c *call) (*Tensor, error) {
	if !c.in[0].Type.IsFloat() && c.in[1].contains(0) {
		return nil, errDivisionByZero
	}
	if c.flag("fmod") {
		return c.combine(c.in[0].Type, math.Mod)
	}
	return c.combine(c.in[0].Type, func(a, b float64) float64 {
		r := math.Mod(a, b)
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	})
}

// power raises to powers. If elementary functions are replaced, roots and reciprocals are.
func power(c *call) (*Tensor, error) {
	root, inverseRoot, reciprocal := c.function("Sqrt"), c.function("Rsqrt"), c.function("Reciprocal")
	return c.combine(c.in[0].Type, func(x, e float64) float64 {
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

func shiftBits(c *call) (*Tensor, error) {
	switch direction := c.text("direction", ""); direction {
	case "LEFT":
		return c.combine(c.in[0].Type, func(a, b float64) float64 {
			if b >= float64(8*c.in[0].Type.Width()) {
				return 0
			}
			return a * math.Exp2(b)
		})
	case "RIGHT":
		return c.combine(c.in[0].Type, func(a, b float64) float64 { return math.Floor(a / math.Exp2(b)) })
	default:
		return nil, fmt.Errorf("direction is %q; want LEFT or RIGHT", direction)
	}
}

// prelu broadcasts the slopes to the input. Before version 7 a list of slopes was one for
// each channel.
func prelu(c *call) (*Tensor, error) {
	x, slope := c.in[0], c.in[1]
	if c.opset < 7 && len(slope.Dims) == 1 && slope.Dims[0] > 1 && len(x.Dims) > 2 {
		dims := []int{slope.Dims[0]}
		for range x.Dims[2:] {
			dims = append(dims, 1)
		}
		var err error
		if slope, err = slope.reshape(dims...); err != nil {
			return nil, err
		}
	}
	return combine(x.Type, x, slope, func(a, b float64) float64 {
		if a < 0 {
			return a * b
		}
		return a
	})
}

// clip has its bounds as inputs from version 11 on, and as attributes before.
func clip(c *call) (*Tensor, error) {
	bounds := [2]float64{c.float("min", math.Inf(-1)), c.float("max", math.Inf(1))}
	for i := range bounds {
		if t := c.input(1 + i); t != nil {
			if len(t.Data) != 1 {
				return nil, fmt.Errorf("bound of shape %v; want a scalar", t.Dims)
			}
			bounds[i] = t.Data[0]
		}
	}
	return c.in[0].apply(func(x float64) float64 { return min(max(x, bounds[0]), bounds[1]) }), nil
}

func where(c *call) (*Tensor, error) {
	dims, err := broadcastDims(c.in[0].Dims, c.in[1].Dims, c.in[2].Dims)
	if err != nil {
		return nil, err
	}
	var in [3]*Tensor
	for i := range in {
		if in[i], err = c.in[i].broadcast(dims); err != nil {
			return nil, err
		}
	}
	out := in[1].like()
	for i, condition := range in[0].Data {
		out.Data[i] = in[2].Data[i]
		if condition != 0 {
			out.Data[i] = in[1].Data[i]
		}
	}
	return out, nil
}

func cast(c *call) (*Tensor, error) { return c.convert(onnx.DataType(c.int("to", 0))) }

func castLike(c *call) (*Tensor, error) { return c.convert(c.in[1].Type) }

// convert casts the first input. Floats are rounded to their type, except that float64
// stands for float32 too unless the input is a float64 tensor.
func (c *call) convert(to onnx.DataType) (*Tensor, error) {
	if to.Width() == 0 {
		return nil, c.unsupported("to " + to.String())
	}
	x := c.in[0]
	f := func(v float64) float64 { return v }
	switch {
	case to == onnx.Float16:
		f = func(v float64) float64 { return RoundHalf("", v) }
	case to == onnx.BFloat16:
		f = roundBrain
	case to == onnx.Float && x.Type == onnx.Double:
		f = func(v float64) float64 { return RoundSingle("", v) }
	case to == onnx.Bool:
		f = func(v float64) float64 { return truth(v != 0) }
	case !to.IsFloat():
		f = func(v float64) float64 { return wrap(to, v) }
	}
	return x.apply(f).as(to), nil
}

func isInf(c *call) (*Tensor, error) {
	negative, positive := c.int("detect_negative", 1) != 0, c.int("detect_positive", 1) != 0
	return c.in[0].apply(func(x float64) float64 {
		return truth(positive && math.IsInf(x, 1) || negative && math.IsInf(x, -1))
	}).as(onnx.Bool), nil
}

func isNaN(c *call) (*Tensor, error) {
	return c.in[0].apply(func(x float64) float64 { return truth(math.IsNaN(x)) }).as(onnx.Bool), nil
}

func sign(x float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	return truth(x > 0) - truth(x < 0)
}

func relu(x float64) float64 { return max(x, 0) }

func leakyRelu(c *call) (*Tensor, error) {
	alpha := c.float("alpha", 0.01)
	return c.in[0].apply(func(x float64) float64 {
		if x < 0 {
			return alpha * x
		}
		return x
	}), nil
}

func elu(c *call) (*Tensor, error) {
	alpha, expm1 := c.float("alpha", 1), c.exponentLess1()
	return c.in[0].apply(func(x float64) float64 {
		if x < 0 {
			return alpha * expm1(x)
		}
		return x
	}), nil
}

func selu(c *call) (*Tensor, error) {
	alpha, gamma := c.float("alpha", 1.67326319217681884765625), c.float("gamma", 1.05070102214813232421875)
	expm1 := c.exponentLess1()
	return c.in[0].apply(func(x float64) float64 {
		if x <= 0 {
			return gamma * alpha * expm1(x)
		}
		return gamma * x
	}), nil
}

func celu(c *call) (*Tensor, error) {
	alpha, expm1 := c.float("alpha", 1), c.exponentLess1()
	return c.in[0].apply(func(x float64) float64 {
		return max(0, x) + min(0, alpha*expm1(x/alpha))
	}), nil
}

func thresholdedRelu(c *call) (*Tensor, error) {
	alpha := c.float("alpha", 1)
	return c.in[0].apply(func(x float64) float64 {
		if x <= alpha {
			return 0
		}
		return x
	}), nil
}

func hardSigmoid(c *call) (*Tensor, error) {
	alpha, beta := c.float("alpha", 0.2), c.float("beta", 0.5)
	if float32(alpha) == 1./6 && beta == 0.5 {
		return c.in[0].apply(c.function("HardSigmoid")), nil
	}
	return c.in[0].apply(func(x float64) float64 { return min(max(alpha*x+beta, 0), 1) }), nil
}

func hardSwish(c *call) (*Tensor, error) {
	gate := c.function("HardSigmoid")
	return c.in[0].apply(func(x float64) float64 { return x * gate(x) }), nil
}

func mish(c *call) (*Tensor, error) {
	softplus, tanh := c.function("Softplus"), c.function("Tanh")
	return c.in[0].apply(func(x float64) float64 { return x * tanh(softplus(x)) }), nil
}

func softsign(c *call) (*Tensor, error) {
	quotient := c.quotient()
	return c.in[0].apply(func(x float64) float64 { return quotient(x, 1+math.Abs(x)) }), nil
}

func shrink(c *call) (*Tensor, error) {
	bias, lambda := c.float("bias", 0), c.float("lambd", 0.5)
	return c.in[0].apply(func(x float64) float64 {
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

func gelu(c *call) (*Tensor, error) {
	switch form := c.text("approximate", "none"); form {
	case "none":
		return c.in[0].apply(c.function("Gelu")), nil
	case "tanh":
		return c.in[0].apply(c.fastGelu()), nil
	default:
		return nil, c.unsupported(fmt.Sprintf("approximate is %q", form))
	}
}

func swish(c *call) (*Tensor, error) {
	return c.gated(c.in[0], c.float("alpha", 1)), nil
}

// gated returns x*sigmoid(alpha*x).
func (c *call) gated(x *Tensor, alpha float64) *Tensor {
	if alpha == 1 {
		return x.apply(c.function("SiLU"))
	}
	sigmoid := c.function("Sigmoid")
	return x.apply(func(x float64) float64 { return x * sigmoid(alpha*x) })
}
