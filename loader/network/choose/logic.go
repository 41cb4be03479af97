package choose

import (
	"fmt"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/ops"
)

// Truth values are ones and zeros in fp16. A comparison is the sign of a difference, which
// the table has exactly and which is zero for equal values alone.

// Whole is an input as a tensor whose elements may be truth values or whole numbers: those
// of the network's inputs are given as fp16, exact up to 2048, and all others are made by
// what is here or are views.
func (n *Chooser) Whole(i int) (Operand, error) {
	d, err := n.Dims(i)
	if err != nil {
		return Operand{}, err
	}
	name := n.In[i].Name
	if t := n.In[i].Type; n.In[i].Const != nil || t == 0 || t.IsFloat() {
		return n.in(i)
	}
	if _, err := ShapeOf(d); err != nil {
		return Operand{}, err
	}
	if _, ok := n.Shape(name); !ok {
		return Operand{}, fmt.Errorf("%q is not computed", name)
	}
	if n.In[i].Type != graph.Bool && !n.told[name] && slices.ContainsFunc(n.Inputs(), func(in list.Tensor) bool { return in.Name == name }) {
		n.told[name] = true
		n.Note("input %q has elements of %v, which the engine is given as fp16: whole numbers are exact up to 2048", name, n.In[i].Type)
	}
	return Operand{name, d}, nil
}

// finite is an input's constant with infinities, and what fp16 has no number for, at its
// ends: where it is not chosen it is multiplied by zero.
func finite(n *Chooser, i int) *graph.Const {
	c := n.Const(i)
	if c == nil {
		return nil
	}
	v, err := c.Values()
	if err != nil {
		return c
	}
	const largest = 65504
	out := &graph.Const{Dims: c.Dims, Type: graph.Float, Numbers: make([]float64, len(v))}
	for k := range v {
		out.Numbers[k] = max(-largest, min(largest, v[k]))
	}
	return out
}

// oneWhere is 1 where x is above 0, else 0.
func oneWhere(n *Chooser, x Operand) (Operand, error) {
	x, err := n.unary(layer.Sign, x)
	if err != nil {
		return x, err
	}
	return n.unary(layer.ReLU, x)
}

// Negated is 1 - x.
func (n *Chooser) Negated(x Operand) (Operand, error) {
	x, err := n.scaled(x, -1)
	if err != nil {
		return x, err
	}
	return n.shifted(x, 1)
}

// difference is the first input less the second, or the other way round.
func difference(n *Chooser, swapped bool) (Operand, error) {
	var side [2]Operand
	for i := range side {
		if n.Const(i) == nil {
			// Two of them may be one value in fp16, which a comparison would take for equal.
			if t := n.Type(i); t == graph.Int64 || t == graph.Int32 || t == graph.Uint32 || t == graph.Uint64 {
				return Operand{}, fmt.Errorf("whole numbers of %v, of which fp16 has not all", t)
			}
			var err error
			if side[i], err = n.Whole(i); err != nil {
				return Operand{}, err
			}
		}
	}
	a, b := 0, 1
	if swapped {
		a, b = 1, 0
	}
	switch ca, cb := n.Const(a), n.Const(b); {
	case ca != nil && cb != nil:
		return Operand{}, graph.ErrBudget
	case cb != nil:
		return n.withConstant(layer.Sub, side[a], ops.Repeatable(n.Node, cb))
	case ca != nil: // a - b as -b + a
		x, err := n.scaled(side[b], -1)
		if err != nil {
			return x, err
		}
		return n.withConstant(layer.Add, x, ops.Repeatable(n.Node, ca))
	}
	return n.Binary(layer.Sub, side[a], side[b])
}

// compare is a comparison of the first input with the second: whether their difference,
// one way or the other, is above 0, or whether it is not.
func compare(swapped, not bool) rule {
	return func(n *Chooser) (Operand, error) {
		x, err := difference(n, swapped)
		if err == nil {
			x, err = oneWhere(n, x)
		}
		if err == nil && not {
			x, err = n.Negated(x)
		}
		return x, err
	}
}

// equal is 1 less the size of the difference's sign.
func equal(n *Chooser) (Operand, error) {
	x, err := difference(n, false)
	if err == nil {
		x, err = differs(n, x)
	}
	if err == nil {
		x, err = n.Negated(x)
	}
	return x, err
}

// differs is 1 where x is not 0.
func differs(n *Chooser, x Operand) (Operand, error) {
	x, err := n.unary(layer.Sign, x)
	if err != nil {
		return x, err
	}
	return n.unary(layer.Abs, x)
}

// logic joins two truth values by an operation on their ones and zeros.
func logic(op layer.Op) rule {
	return func(n *Chooser) (Operand, error) {
		if op == layer.Sub { // exclusive or: they differ
			x, err := difference(n, false)
			if err == nil {
				x, err = n.unary(layer.Abs, x)
			}
			return x, err
		}
		a, b := 0, 1
		if n.Const(0) != nil {
			a, b = 1, 0
		}
		x, err := n.Whole(a)
		if err != nil {
			return Operand{}, err
		}
		if c := n.Const(b); c != nil {
			return n.withConstant(op, x, ops.Repeatable(n.Node, c))
		}
		z, err := n.Whole(b)
		if err == nil {
			x, err = n.Binary(op, x, z)
		}
		return x, err
	}
}

func not(n *Chooser) (Operand, error) {
	x, err := n.Whole(0)
	if err == nil {
		x, err = n.Negated(x)
	}
	return x, err
}

// selected takes elements of two tensors by computed truth values: one times them, the other
// times what they are not. Values that are infinite, or no numbers, where they are not
// chosen spoil the sum, as zero times them is no number.
func selected(n *Chooser) (Operand, error) {
	c, err := n.Whole(0)
	if err != nil {
		return Operand{}, err
	}
	not, err := n.Negated(c)
	if err != nil {
		return Operand{}, err
	}
	var sides [2]Operand
	for i, mask := range [...]Operand{c, not} {
		if k := finite(n, 1+i); k != nil {
			sides[i], err = n.withConstant(layer.Mul, mask, ops.Repeatable(n.Node, k))
		} else if sides[i], err = n.in(1 + i); err == nil {
			sides[i], err = n.Binary(layer.Mul, sides[i], mask)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	x, err := n.Binary(layer.Add, sides[0], sides[1])
	if out := n.Results[0].Dims; err == nil && !slices.Equal(x.Dims, out) {
		x, err = n.expanded(x, out)
	}
	return x, err
}

// cast changes nothing between types with a fraction, all of which are fp16 to the engine,
// and nothing of truth values. A truth value of a number is whether it is not 0.
func cast(n *Chooser) (Operand, error) {
	from, to := n.Type(0), n.Results[0].Type
	whole := from != 0 && !from.IsFloat()
	switch {
	case !whole && to != 0 && !to.IsFloat() && to != graph.Bool:
		return Operand{}, fmt.Errorf("elements of %v become %v; the engine computes fp16", from, to)
	case to == graph.Bool && from != graph.Bool:
		x, err := n.Whole(0)
		if err == nil {
			x, err = differs(n, x)
		}
		return x, err
	case whole:
		x, err := n.Whole(0)
		return x.As(n.Results[0].Dims...), err
	}
	return view(n)
}
