package ops

import (
	"math"

	"anesim/internal/network/graph"
)

// Ranges used in the table of operators.
var (
	unit     = &graph.Range{Low: 0, High: 1}
	signed   = &graph.Range{Low: -1, High: 1}
	positive = &graph.Range{Low: 0, High: math.Inf(1)}
)

// EvalComparison evaluates a comparison from the known range of its first input. For example, the
// result of a sigmoid is always above -1. The second input must be a constant with a single
// element. ok is false if the range does not decide the comparison, if the size of the first input
// depends on values, or if that input has more than 65,536 elements.
func EvalComparison(n *graph.Node) (result, ok bool) {
	const few = 1 << 16
	if len(n.In) != 2 || n.Const(1) == nil || n.Const(0) != nil {
		return false, false
	}
	x := n.In[0]
	v, err := n.Const(1).Scalar()
	if x.Range == nil || x.Least != nil || err != nil || x.Dims == nil || graph.Elements(x.Dims) > few {
		return false, false
	}
	low, high := x.Range.Low, x.Range.High
	switch n.Op {
	case "GreaterOrEqual":
		return low >= v, low >= v || high < v
	case "Greater":
		return low > v, low > v || high <= v
	case "LessOrEqual":
		return high <= v, high <= v || low > v
	case "Less":
		return high < v, high < v || low >= v
	}
	return false, false
}
