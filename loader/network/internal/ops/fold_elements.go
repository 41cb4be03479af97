package ops

import (
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// unaryFolder returns a Folder that applies f to each element of its input.
func unaryFolder(f func(float64) float64) Folder {
	return func(n *graph.Node, res []graph.Result) ([]*graph.Const, error) { return mapElements(n, res, f) }
}

// binaryFolder returns a Folder that applies f to the elements of the first two inputs at each
// position, then to the result and the third input, and so on.
func binaryFolder(f func(a, b float64) float64) Folder {
	return typedBinaryFolder(func(a, b float64, _ bool) float64 { return f(a, b) })
}

// comparisonFolder is like binaryFolder for a function that returns a bool, which becomes 0 or 1.
func comparisonFolder(f func(a, b float64) bool) Folder {
	return binaryFolder(func(a, b float64) float64 { return graph.Truth(f(a, b)) })
}

// typedBinaryFolder is like binaryFolder for a function that depends on the element type: integers
// is true if it is an integer type.
func typedBinaryFolder(f func(a, b float64, integers bool) float64) Folder {
	return func(n *graph.Node, res []graph.Result) ([]*graph.Const, error) { return combineElements(n, res, f) }
}

func divideValues(a, b float64, integers bool) float64 {
	if integers && b != 0 {
		return math.Trunc(a / b)
	}
	return a / b
}

// foldBitShift shifts unsigned integers by numbers of bits. Bits beyond the type are lost.
func foldBitShift(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	left := n.Text("direction", "") == "LEFT"
	return combineElements(n, res, func(a, b float64, _ bool) float64 {
		if bits := float64(res[0].Type.Bits()); b >= bits {
			return 0
		}
		if left {
			return math.Ldexp(a, int(b))
		}
		return math.Floor(math.Ldexp(a, -int(b)))
	})
}

// foldMod computes a modulo b. The result has the sign of b if the attribute fmod is 0, and the sign
// of a otherwise.
func foldMod(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	truncated := n.Int("fmod", 0) != 0
	return combineElements(n, res, func(a, b float64, _ bool) float64 {
		r := math.Mod(a, b)
		if !truncated && r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	})
}

// newResultConst returns a constant with the shape and type of res[0], whose elements are v rounded
// to that type. It modifies v.
func newResultConst(res []graph.Result, v []float64) []*graph.Const {
	r := res[0]
	for i := range v {
		v[i] = graph.Rounded(r.Type, v[i])
	}
	return []*graph.Const{{Dims: r.Dims, Type: r.Type, Numbers: v}}
}

func mapElements(n *graph.Node, res []graph.Result, f func(float64) float64) ([]*graph.Const, error) {
	v, err := n.Const(0).Values()
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return newResultConst(res, out), nil
}

func combineElements(n *graph.Node, res []graph.Result, f func(a, b float64, whole bool) float64) ([]*graph.Const, error) {
	dims := res[0].Dims
	var out []float64
	for i := range n.In {
		if i == 2 && !isVariadic(n.Op) {
			break // the check for what was not read refuses it
		}
		c := n.Const(i)
		if c == nil {
			return nil, fmt.Errorf("input %d is missing", i)
		}
		// Old operators align a second operand by an attribute, not by its last axes.
		if i == 1 && len(n.In) == 2 {
			c = Repeatable(n, c)
		}
		v, err := c.Values()
		if err != nil {
			return nil, err
		}
		integers := !c.Type.IsFloat()
		if i == 0 {
			out = make([]float64, graph.Elements(dims))
		}
		graph.Each(dims, graph.BroadcastStrides(c.Dims, dims), 0, func(k, at int) {
			if i == 0 {
				out[k] = v[at]
			} else {
				out[k] = f(out[k], v[at], integers)
			}
		})
	}
	return newResultConst(res, out), nil
}

func foldClip(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	low, high, err := ClipBounds(n)
	if err != nil {
		return nil, err
	}
	return mapElements(n, res, func(x float64) float64 { return min(max(x, low), high) })
}

// foldMean computes the mean of all inputs at each position.
func foldMean(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c, err := combineElements(n, res, func(a, b float64, _ bool) float64 { return a + b })
	if err != nil {
		return nil, err
	}
	for i := range c[0].Numbers {
		c[0].Numbers[i] /= float64(len(n.In))
	}
	return c, nil
}

func foldHardSigmoid(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	alpha, beta := float64(n.Float("alpha", 0.2)), float64(n.Float("beta", 0.5))
	return mapElements(n, res, func(x float64) float64 { return min(max(float64(alpha*x)+beta, 0), 1) })
}

func foldReduction(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c := n.Const(0)
	axes, err := ReducedAxes(n, len(c.Dims))
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
	// A reduction of no elements is its neutral element. A mean has none: 0/0.
	start := map[string]float64{"ReduceProd": 1, "ReduceMax": math.Inf(-1), "ReduceMin": math.Inf(1)}[n.Op]
	if count == 0 && n.Op == "ReduceMean" {
		start = math.NaN()
	}
	out := slices.Repeat([]float64{start}, graph.Elements(kept))
	for k, x := range v {
		at := broadcastOffset(k, c.Dims, kept)
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
			// The conversion forbids a fused multiply-add, which some processors have and others do not:
			// results must not depend on the machine.
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
	return newResultConst(res, out), nil
}

// Repeatable returns c, the constant second operand of the elementwise node n, in a shape that
// broadcasts by ONNX's current rules. Before version 7 of the operators, an attribute of n named
// the axis of the first operand with which c is aligned. For later versions, Repeatable returns c
// unchanged.
func Repeatable(n *graph.Node, c *graph.Const) *graph.Const {
	if len(c.Dims) == 0 || !usesLegacyBroadcast(n) {
		return c
	}
	first, _ := n.Dims(0)
	if d, err := legacyBroadcastShape(n, first, c.Dims); err == nil {
		return c.As(d)
	}
	return c
}

// ClipBounds returns the lower and upper bound of a Clip node. Bounds are attributes or, since
// version 11 of the operator, inputs. A missing bound is infinite. ClipBounds returns an error if a
// bound is computed when the network runs, or is not a single number.
func ClipBounds(n *graph.Node) (low, high float64, err error) {
	bound := [2]float64{math.Inf(-1), math.Inf(1)}
	for i, name := range [...]string{"min", "max"} {
		if a := n.Attribute(name); a != nil {
			bound[i] = float64(a.Float)
		}
		if !n.Given(1 + i) {
			continue
		}
		c := n.Const(1 + i)
		if c == nil {
			return 0, 0, fmt.Errorf("%s is computed; want a constant", name)
		}
		if bound[i], err = c.Scalar(); err != nil {
			return 0, 0, err
		}
	}
	return bound[0], bound[1], nil
}
