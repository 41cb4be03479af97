package choose

import (
	"errors"
	"fmt"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/ops"
)

// cumulated is the sum of what stands before along an axis: a product with a triangle of
// ones.
func cumulated(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	c := n.Const(1)
	if c == nil {
		return Operand{}, errors.New("its axis is computed, not a constant")
	}
	v, err := c.Ints()
	if err != nil || len(v) != 1 {
		return Operand{}, errors.Join(err, fmt.Errorf("%d axes", len(v)))
	}
	axis, err := ops.Axis(len(x.Dims), v[0])
	if err != nil {
		return Operand{}, err
	}
	own, back := n.Int("exclusive", 0) == 0, n.Int("reverse", 0) != 0
	return n.along(x, axis, x.Dims[axis], func(o, i int) float64 {
		if back {
			o, i = i, o
		}
		return graph.Truth(i < o || own && i == o)
	})
}

// triangle keeps one side of matrices: a product with a triangle of ones.
func triangle(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	k, rank := 0, len(x.Dims)
	if n.Given(1) {
		c := n.Const(1)
		if c == nil {
			return Operand{}, errors.New("its diagonal is computed, not a constant")
		}
		v, err := c.Scalar()
		if err != nil {
			return Operand{}, err
		}
		k = int(max(-list.MaxExtent, min(list.MaxExtent, v)))
	}
	if rank < 2 {
		return Operand{}, fmt.Errorf("a triangle of %v", x.Dims)
	}
	rows, columns := x.Dims[rank-2], x.Dims[rank-1]
	if err := n.Spend(2 * numberBytes * rows * columns); err != nil {
		return Operand{}, err
	}
	upper := n.Int("upper", 1) != 0
	mask := &graph.Const{Dims: []int{rows, columns}, Type: graph.Float, Numbers: make([]float64, rows*columns)}
	for i := range rows {
		for j := range columns {
			mask.Numbers[i*columns+j] = graph.Truth(upper && j-i >= k || !upper && j-i <= k)
		}
	}
	return n.withConstant(layer.Mul, x, mask)
}
