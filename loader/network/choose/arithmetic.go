package choose

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// unaryOp is the rule of an operator that is one layer of one operand.
func unaryOp(op layer.Op) rule {
	return func(n *Chooser) (Operand, error) {
		x, err := n.in(0)
		if r := n.In[0].Range; (op == layer.Sqrt || op == layer.Log) && (r == nil || r.Low < 0) && !n.told["negative"] {
			n.told["negative"] = true
			n.Note("%s and other roots and logarithms: of negative numbers the engine gives 0, where ONNX has NaN", n.Label)
		}
		if err == nil {
			x, err = n.unary(op, x)
		}
		return x, err
	}
}

// binary folds inputs from the left.
func binary(op layer.Op) rule {
	return func(n *Chooser) (Operand, error) { return fromLeft(n, op) }
}

func fromLeft(n *Chooser, op layer.Op) (Operand, error) {
	order := make([]int, len(n.In))
	for i := range order {
		order[i] = i
	}
	if n.Const(0) != nil && len(order) > 1 && n.Const(1) == nil && op != layer.Sub {
		order[0], order[1] = 1, 0
	}
	x, err := n.in(order[0])
	if op == layer.Sub && n.Const(0) != nil && err != nil {
		err = nil
	}
	if err != nil {
		return x, err
	}
	for _, i := range order[1:] {
		if c := n.Const(i); c != nil {
			x, err = n.withConstant(op, x, ops.Repeatable(n.Node, c))
		} else {
			var z Operand
			if z, err = n.in(i); err == nil {
				x, err = n.Binary(op, x, z)
			}
		}
		if err != nil {
			return x, err
		}
	}
	return x, nil
}

func mean(n *Chooser) (Operand, error) {
	x, err := fromLeft(n, layer.Add)
	if err == nil {
		x, err = n.scaled(x, 1/float64(len(n.In)))
	}
	return x, err
}

func negate(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err == nil {
		x, err = n.scaled(x, -1)
	}
	return x, err
}

// divide multiplies by what one over a constant is, or by a root's reciprocal, or by a
// table of reciprocals.
func divide(n *Chooser) (Operand, error) {
	if c := n.Const(1); c != nil && !c.Absent() {
		x, err := n.in(0)
		if err != nil {
			return Operand{}, err
		}
		v, err := c.Values()
		if err != nil {
			return Operand{}, err
		}
		by := make([]float64, len(v))
		for i := range v {
			by[i] = 1 / v[i]
		}
		return n.withConstant(layer.Mul, x, ops.Repeatable(n.Node, &graph.Const{Dims: c.Dims, Type: c.Type, Numbers: by}))
	}
	b, err := n.in(1)
	if err != nil {
		return Operand{}, err
	}
	if n.Const(0) == nil {
		x, err := n.in(0)
		if err != nil {
			return Operand{}, err
		}
		if out, _ := graph.Broadcast(x.Dims, b.Dims); slices.Equal(out, x.Dims) {
			return n.Binary(layer.RealDiv, x, b)
		}
	}
	if b, err = n.unary(layer.Inverse, b); err != nil {
		return Operand{}, err
	}
	if c := n.Const(0); c != nil {
		return n.withConstant(layer.Mul, b, c)
	}
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	return n.Binary(layer.Mul, x, b)
}

// where takes elements of two tensors, by a constant condition as sums of products with ones
// and zeros.
func where(n *Chooser) (Operand, error) {
	c := n.Const(0)
	if c == nil {
		return selected(n)
	}
	v, err := c.Values()
	if err != nil {
		return Operand{}, err
	}
	mask := func(of bool) *graph.Const {
		m := &graph.Const{Dims: c.Dims, Type: graph.Float, Numbers: make([]float64, len(v))}
		for i := range v {
			m.Numbers[i] = graph.Truth((v[i] != 0) == of)
		}
		return m
	}
	out := n.Results[0].Dims
	var sides [2]Operand
	for i := range sides {
		var x Operand
		if k := n.Const(1 + i); k != nil {
			x, err = chosen(n, k, mask(i == 0), out, i)
		} else if x, err = n.in(1 + i); err == nil {
			x, err = n.withConstant(layer.Mul, x, mask(i == 0))
		}
		if err != nil {
			return Operand{}, err
		}
		sides[i] = x
	}
	x, err := n.Binary(layer.Add, sides[0], sides[1])
	if err == nil && !slices.Equal(x.Dims, out) {
		x, err = n.expanded(x, out)
	}
	return x, err
}

// chosen is a constant where mask is one, zero elsewhere, in memory.
func chosen(n *Chooser, c, mask *graph.Const, out []int, side int) (Operand, error) {
	dims, err := graph.Broadcast(c.Dims, mask.Dims)
	if err != nil || c.Absent() {
		return Operand{}, errors.Join(err, errors.New("no values to choose from"))
	}
	v, err := c.Values()
	if err != nil {
		return Operand{}, err
	}
	if graph.Elements(dims) > graph.Elements(out) {
		return Operand{}, graph.ErrBudget
	}
	chosen := make([]float64, graph.Elements(dims))
	graph.Each(dims, graph.BroadcastStrides(mask.Dims, dims), 0, func(k, at int) { chosen[k] = mask.Numbers[at] })
	graph.Each(dims, graph.BroadcastStrides(c.Dims, dims), 0, func(k, at int) {
		if chosen[k] != 0 {
			chosen[k] = v[at]
		}
	})
	return n.numbers(fmt.Sprintf("%s side %d", n.Label, side), dims, chosen)
}
