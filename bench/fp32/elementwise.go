package fp32

import (
	"fmt"
	"math"

	"anesim/loader/layer"
)

const (
	seluScale = 1.0507009873554805
	seluAlpha = 1.6732632423543772
)

// unaryFunction returns the function of one number that op computes with the parameters of the layer, or
// nil if op is not one.
func (c *call) unaryFunction(op layer.Op) func(float64) float64 {
	switch op {
	case layer.LeakyReLU:
		return func(x float64) float64 { return leakyReLU(x, float64(c.Alpha)*x) }
	case layer.ELU:
		return func(x float64) float64 { return leakyReLU(x, float64(c.Alpha)*math.Expm1(x)) }
	case layer.Clip:
		return func(x float64) float64 { return min(max(x, float64(c.Low)), float64(c.High)) }
	case layer.Rsqrt:
		return func(x float64) float64 { return 1 / math.Sqrt(x+float64(c.Epsilon)) }
	case layer.Inverse:
		return func(x float64) float64 { return 1 / (x + float64(c.Epsilon)) }
	}
	return functions[op]
}

// leakyReLU returns x, or below if x is negative.
func leakyReLU(x, below float64) float64 {
	if x < 0 {
		return below
	}
	return x
}

func logistic(x float64) float64    { return 1 / (1 + math.Exp(-x)) }
func hardSigmoid(x float64) float64 { return min(max(x/6+0.5, 0), 1) }

// functions holds the operations that have no parameter.
var functions = map[layer.Op]func(float64) float64{
	layer.ReLU:        func(x float64) float64 { return max(x, 0) },
	layer.Sigmoid:     logistic,
	layer.Tanh:        math.Tanh,
	layer.GELU:        func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
	layer.SiLU:        func(x float64) float64 { return x * logistic(x) },
	layer.Exp:         math.Exp,
	layer.Sqrt:        math.Sqrt,
	layer.Abs:         math.Abs,
	layer.Square:      func(x float64) float64 { return x * x },
	layer.Cube:        func(x float64) float64 { return x * x * x },
	layer.ReLU6:       func(x float64) float64 { return min(max(x, 0), 6) },
	layer.SELU:        func(x float64) float64 { return seluScale * leakyReLU(x, seluAlpha*math.Expm1(x)) },
	layer.HardSigmoid: hardSigmoid,
	layer.HardSwish:   func(x float64) float64 { return x * hardSigmoid(x) },
	layer.Softplus:    func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
	layer.Softsign:    func(x float64) float64 { return x / (1 + math.Abs(x)) },
	layer.Sign: func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	},
	layer.Ceil:       math.Ceil,
	layer.Floor:      math.Floor,
	layer.Frac:       func(x float64) float64 { return x - math.Trunc(x) },
	layer.Log:        math.Log,
	layer.Sin:        math.Sin,
	layer.Cos:        math.Cos,
	layer.Atan:       math.Atan,
	layer.Erf:        math.Erf,
	layer.LogicalNot: func(x float64) float64 { return max(0, 1-x) },
}

// binaryFunction returns the operation of two numbers that op computes.
func binaryFunction(op layer.Op) func(x, z float64) float64 {
	switch op {
	case layer.Add:
		return func(x, z float64) float64 { return x + z }
	case layer.Sub:
		return func(x, z float64) float64 { return x - z }
	case layer.Mul:
		return func(x, z float64) float64 { return x * z }
	case layer.Max:
		return func(x, z float64) float64 { return max(x, z) }
	case layer.Min:
		return func(x, z float64) float64 { return min(x, z) }
	case layer.RealDiv:
		return func(x, z float64) float64 { return x / z }
	case layer.Average:
		return func(x, z float64) float64 { return (x + z) / 2 }
	}
	return math.Pow
}

// computeElementwise computes an operation of two operands. An axis of extent 1 of the second one is repeated.
func (c *call) computeElementwise() ([]float32, error) {
	second, shape := c.in[0], c.In
	switch c.Second {
	case layer.Runtime:
		if len(c.in) < 2 {
			return nil, fmt.Errorf("found one input; want two")
		}
		second, shape = c.in[1], c.SecondShape
	case layer.Scalar, layer.Constant:
		second, shape = widen(c.weights.Second), layer.Shape{N: 1, C: len(c.weights.Second), H: 1, W: 1}
	}
	if len(second) != shape.Elements() || len(second) == 0 {
		return nil, fmt.Errorf("second operand has %d elements; want %d", len(second), shape.Elements())
	}
	f, e, in := binaryFunction(c.Op), extents(shape), extents(c.In)
	for i, n := range e {
		if n != 1 && n != in[i] {
			return nil, fmt.Errorf("second operand has shape %v; want %v, or 1 along an axis", shape, c.In)
		}
	}
	out := make([]float32, len(c.in[0]))
	forEach(c.In, func(i int, at index) {
		for k, n := range e {
			if n == 1 {
				at[k] = 0
			}
		}
		z := float64(second[elementNumber(shape, at)])
		if c.SecondReLU {
			z = max(z, 0)
		}
		// In float64 and then rounded, so that a quotient or a power is the nearest float32 on every
		// machine.
		out[i] = float32(f(float64(c.in[0][i]), z))
	})
	if c.Bias {
		bias := widen(c.weights.Bias)
		forEach(c.In, func(i int, at index) { out[i] += bias[at[1]] })
	}
	return out, nil
}

func (c *call) computePReLU() []float32 {
	alpha, out := widen(c.weights.Second), make([]float32, len(c.in[0]))
	forEach(c.In, func(i int, at index) {
		x := float64(c.in[0][i])
		out[i] = float32(leakyReLU(x, x*float64(alpha[at[1]])))
	})
	return out
}
