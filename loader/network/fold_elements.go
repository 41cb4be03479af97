package network

import (
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/graph"
)

var scalarFunctions = map[string]func(float64) float64{
	"Neg": func(x float64) float64 { return -x }, "Abs": math.Abs, "Sqrt": math.Sqrt, "Exp": math.Exp, "Log": math.Log,
	"Floor": math.Floor, "Ceil": math.Ceil, "Round": math.RoundToEven, "Sin": math.Sin, "Cos": math.Cos,
	"Reciprocal": func(x float64) float64 { return 1 / x }, "Not": func(x float64) float64 { return graph.Truth(x == 0) },
	"Relu": func(x float64) float64 { return max(0, x) }, "Sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	"Tanh": math.Tanh, "Erf": math.Erf, "Tan": math.Tan, "Asin": math.Asin, "Acos": math.Acos, "Atan": math.Atan,
	"Sinh": math.Sinh, "Cosh": math.Cosh, "Asinh": math.Asinh, "Acosh": math.Acosh, "Atanh": math.Atanh,
	"Sign":       func(x float64) float64 { return graph.Truth(x > 0) - graph.Truth(x < 0) },
	"BitwiseNot": func(x float64) float64 { return float64(^int64(x)) },
}

// pairFunctions are those of two operands; whether they are integers is the third.
var pairFunctions = map[string]func(a, b float64, whole bool) float64{
	"Add": func(a, b float64, _ bool) float64 { return a + b }, "Sub": func(a, b float64, _ bool) float64 { return a - b },
	"Mul": func(a, b float64, _ bool) float64 { return a * b }, "Sum": func(a, b float64, _ bool) float64 { return a + b },
	"Max": func(a, b float64, _ bool) float64 { return max(a, b) }, "Min": func(a, b float64, _ bool) float64 { return min(a, b) },
	"Pow": func(a, b float64, _ bool) float64 { return math.Pow(a, b) },
	"Div": func(a, b float64, whole bool) float64 {
		if whole && b != 0 {
			return math.Trunc(a / b)
		}
		return a / b
	},
	"Mod": func(a, b float64, whole bool) float64 {
		if r := math.Mod(a, b); whole && r != 0 && (r < 0) != (b < 0) {
			return r + b
		} else {
			return r
		}
	},
	"BitwiseAnd":     func(a, b float64, _ bool) float64 { return float64(int64(a) & int64(b)) },
	"BitwiseOr":      func(a, b float64, _ bool) float64 { return float64(int64(a) | int64(b)) },
	"BitwiseXor":     func(a, b float64, _ bool) float64 { return float64(int64(a) ^ int64(b)) },
	"Equal":          func(a, b float64, _ bool) float64 { return graph.Truth(a == b) },
	"Less":           func(a, b float64, _ bool) float64 { return graph.Truth(a < b) },
	"Greater":        func(a, b float64, _ bool) float64 { return graph.Truth(a > b) },
	"LessOrEqual":    func(a, b float64, _ bool) float64 { return graph.Truth(a <= b) },
	"GreaterOrEqual": func(a, b float64, _ bool) float64 { return graph.Truth(a >= b) },
	"And":            func(a, b float64, _ bool) float64 { return graph.Truth(a != 0 && b != 0) },
	"Or":             func(a, b float64, _ bool) float64 { return graph.Truth(a != 0 || b != 0) },
	"Xor":            func(a, b float64, _ bool) float64 { return graph.Truth((a != 0) != (b != 0)) },
}

// made is a constant of the node's first output.
func (n *nodeReader) made(v []float64) []*graph.Const {
	r := n.results[0]
	for i := range v {
		v[i] = graph.Rounded(r.Type, v[i])
	}
	return []*graph.Const{{Dims: r.Dims, Type: r.Type, Numbers: v}}
}

func (n *nodeReader) map1(f func(float64) float64) ([]*graph.Const, error) {
	v, err := n.Const(0).Values()
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return n.made(out), nil
}

func (n *nodeReader) mapAll(f func(a, b float64, whole bool) float64) ([]*graph.Const, error) {
	dims := n.results[0].Dims
	var out []float64
	for i := range n.In {
		c := n.Const(i)
		if c == nil {
			return nil, fmt.Errorf("input %d is missing", i)
		}
		if i == 1 && len(n.In) == 2 {
			c = n.repeatable(c)
		}
		v, err := c.Values()
		if err != nil {
			return nil, err
		}
		integers := !c.Type.IsFloat()
		if i == 0 {
			out = make([]float64, graph.Elements(dims))
		}
		graph.Each(dims, graph.Repeated(c.Dims, dims), 0, func(k, at int) {
			if i == 0 {
				out[k] = v[at]
			} else {
				out[k] = f(out[k], v[at], integers)
			}
		})
	}
	return n.made(out), nil
}

func foldClip(n *nodeReader) ([]*graph.Const, error) {
	low, high, err := n.clipBounds()
	if err != nil {
		return nil, err
	}
	return n.map1(func(x float64) float64 { return min(max(x, low), high) })
}

// foldMean is the mean of all inputs, element by element.
func foldMean(n *nodeReader) ([]*graph.Const, error) {
	c, err := n.mapAll(func(a, b float64, _ bool) float64 { return a + b })
	if err != nil {
		return nil, err
	}
	for i := range c[0].Numbers {
		c[0].Numbers[i] /= float64(len(n.In))
	}
	return c, nil
}

func foldHardSigmoid(n *nodeReader) ([]*graph.Const, error) {
	alpha, beta := float64(n.Float("alpha", 0.2)), float64(n.Float("beta", 0.5))
	return n.map1(func(x float64) float64 { return min(max(float64(alpha*x)+beta, 0), 1) })
}

func foldReduce(n *nodeReader) ([]*graph.Const, error) {
	c := n.Const(0)
	axes, err := n.reducedAxes(len(c.Dims))
	if err != nil {
		return nil, err
	}
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	kept := slices.Clone(c.Dims)
	count := 1
	for i := range kept {
		if axes[i] {
			count *= kept[i]
			kept[i] = 1
		}
	}
	start := map[string]float64{"ReduceProd": 1, "ReduceMax": math.Inf(-1), "ReduceMin": math.Inf(1)}[n.Op]
	if count == 0 && n.Op == "ReduceMean" {
		start = math.NaN()
	}
	out := slices.Repeat([]float64{start}, graph.Elements(kept))
	for k, x := range v {
		at := place(k, c.Dims, kept)
		switch n.Op {
		case "ReduceProd":
			out[at] *= x
		case "ReduceMax":
			out[at] = max(out[at], x)
		case "ReduceMin":
			out[at] = min(out[at], x)
		case "ReduceMean":
			out[at] += x / float64(count)
		case "ReduceL1":
			out[at] += math.Abs(x)
		case "ReduceL2", "ReduceSumSquare":
			out[at] += float64(x * x)
		case "ReduceLogSumExp":
			out[at] += math.Exp(x)
		default:
			out[at] += x
		}
	}
	for k, x := range out {
		switch n.Op {
		case "ReduceL2":
			out[k] = math.Sqrt(x)
		case "ReduceLogSum", "ReduceLogSumExp":
			out[k] = math.Log(x)
		}
	}
	return n.made(out), nil
}
