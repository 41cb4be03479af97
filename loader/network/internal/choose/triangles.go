package choose

import (
	"cmp"
	"errors"
	"fmt"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/list"
)

// addCumSumLayers adds layers that compute cumulative sums along an axis of x: they multiply x by a
// triangular matrix of ones.
func addCumSumLayers(n *Chooser, x Operand) (Operand, error) {
	c := n.Const(1)
	if c == nil {
		return Operand{}, errors.New("axis is missing or computed; want a constant")
	}
	v, err := c.Ints()
	if err != nil || len(v) != 1 {
		return Operand{}, cmp.Or(err, fmt.Errorf("axis has %d values; want 1", len(v)))
	}
	axis, err := ops.Axis(len(x.Dims), v[0])
	if err != nil {
		return Operand{}, err
	}
	inclusive, reverse := n.Int("exclusive", 0) == 0, n.Int("reverse", 0) != 0
	return n.multiplyAxisByMatrix(x, axis, x.Dims[axis], func(o, i int) float64 {
		if reverse {
			o, i = i, o
		}
		return graph.Truth(i < o || inclusive && i == o)
	})
}

// addTriluLayers adds layers that keep the upper or lower triangle of each matrix and set all other
// elements to zero. They multiply x by a constant mask of ones and zeros.
func addTriluLayers(n *Chooser, x Operand) (Operand, error) {
	k, rank := 0, len(x.Dims)
	if n.Given(1) {
		c := n.Const(1)
		if c == nil {
			return Operand{}, errors.New("diagonal is computed; want a constant")
		}
		v, err := c.Scalar()
		if err != nil {
			return Operand{}, err
		}
		k = int(max(-list.MaxExtent, min(list.MaxExtent, v)))
	}
	if rank < 2 {
		return Operand{}, fmt.Errorf("input has shape %v; want at least 2 axes", x.Dims)
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
	return n.applyConstantOperand(layer.Mul, x, mask)
}
