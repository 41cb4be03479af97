package network

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/ops"
)

// Truth values are ones and zeros in fp16. A comparison is the sign of a difference, which
// the table has exactly and which is zero for equal values alone.

// whole is an input as a tensor whose elements may be truth values or whole numbers: those
// of the network's inputs are given as fp16, exact up to 2048, and all others are made by
// what is here or are views.
func (n *nodeReader) whole(i int) (operand, error) {
	d, err := n.Dims(i)
	if err != nil {
		return operand{}, err
	}
	name := n.In[i].Name
	if t := n.value(name).Type; n.value(name).Const != nil || t == 0 || t.IsFloat() {
		return n.in(i)
	}
	if _, err := shapeOf(d); err != nil {
		return operand{}, err
	}
	if _, ok := n.Shape(name); !ok {
		return operand{}, fmt.Errorf("%q is not computed", name)
	}
	if n.value(name).Type != graph.Bool && !n.told[name] && slices.ContainsFunc(n.Inputs(), func(in list.Tensor) bool { return in.Name == name }) {
		n.told[name] = true
		n.Note("input %q has elements of %v, which the engine is given as fp16: whole numbers are exact up to 2048", name, n.value(name).Type)
	}
	return operand{name, d}, nil
}

// finite is an input's constant with infinities, and what fp16 has no number for, at its
// ends: where it is not chosen it is multiplied by zero.
func (n *nodeReader) finite(i int) *graph.Const {
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
func (n *nodeReader) oneWhere(x operand) (operand, error) {
	x, err := n.unary(layer.Sign, x)
	if err != nil {
		return x, err
	}
	return n.unary(layer.ReLU, x)
}

// negated is 1 - x.
func (n *nodeReader) negated(x operand) (operand, error) {
	x, err := n.scaled(x, -1)
	if err != nil {
		return x, err
	}
	return n.shifted(x, 1)
}

// difference is the first input less the second, or the other way round.
func (n *nodeReader) difference(swapped bool) (operand, error) {
	var side [2]operand
	for i := range side {
		if n.Const(i) == nil {
			// Two of them may be one value in fp16, which a comparison would take for equal.
			if t := n.Type(i); t == graph.Int64 || t == graph.Int32 || t == graph.Uint32 || t == graph.Uint64 {
				return operand{}, fmt.Errorf("whole numbers of %v, of which fp16 has not all", t)
			}
			var err error
			if side[i], err = n.whole(i); err != nil {
				return operand{}, err
			}
		}
	}
	a, b := 0, 1
	if swapped {
		a, b = 1, 0
	}
	switch ca, cb := n.Const(a), n.Const(b); {
	case ca != nil && cb != nil:
		return operand{}, errBudget
	case cb != nil:
		return n.withConstant(layer.Sub, side[a], ops.Repeatable(n.Node, cb))
	case ca != nil: // a - b as -b + a
		x, err := n.scaled(side[b], -1)
		if err != nil {
			return x, err
		}
		return n.withConstant(layer.Add, x, ops.Repeatable(n.Node, ca))
	}
	return n.binary(layer.Sub, side[a], side[b])
}

// compare is a comparison of the first input with the second: whether their difference,
// one way or the other, is above 0, or whether it is not.
func compare(swapped, not bool) chooser {
	return func(n *nodeReader) (operand, error) {
		x, err := n.difference(swapped)
		if err == nil {
			x, err = n.oneWhere(x)
		}
		if err == nil && not {
			x, err = n.negated(x)
		}
		return x, err
	}
}

// equal is 1 less the size of the difference's sign.
func equal(n *nodeReader) (operand, error) {
	x, err := n.difference(false)
	if err == nil {
		x, err = n.differs(x)
	}
	if err == nil {
		x, err = n.negated(x)
	}
	return x, err
}

// differs is 1 where x is not 0.
func (n *nodeReader) differs(x operand) (operand, error) {
	x, err := n.unary(layer.Sign, x)
	if err != nil {
		return x, err
	}
	return n.unary(layer.Abs, x)
}

// logic joins two truth values by an operation on their ones and zeros.
func logic(op layer.Op) chooser {
	return func(n *nodeReader) (operand, error) {
		if op == layer.Sub { // exclusive or: they differ
			x, err := n.difference(false)
			if err == nil {
				x, err = n.unary(layer.Abs, x)
			}
			return x, err
		}
		a, b := 0, 1
		if n.Const(0) != nil {
			a, b = 1, 0
		}
		x, err := n.whole(a)
		if err != nil {
			return operand{}, err
		}
		if c := n.Const(b); c != nil {
			return n.withConstant(op, x, ops.Repeatable(n.Node, c))
		}
		z, err := n.whole(b)
		if err == nil {
			x, err = n.binary(op, x, z)
		}
		return x, err
	}
}

func not(n *nodeReader) (operand, error) {
	x, err := n.whole(0)
	if err == nil {
		x, err = n.negated(x)
	}
	return x, err
}

// selected takes elements of two tensors by computed truth values: one times them, the other
// times what they are not. Values that are infinite, or no numbers, where they are not
// chosen spoil the sum, as zero times them is no number.
func selected(n *nodeReader) (operand, error) {
	c, err := n.whole(0)
	if err != nil {
		return operand{}, err
	}
	not, err := n.negated(c)
	if err != nil {
		return operand{}, err
	}
	var sides [2]operand
	for i, mask := range [...]operand{c, not} {
		if k := n.finite(1 + i); k != nil {
			sides[i], err = n.withConstant(layer.Mul, mask, ops.Repeatable(n.Node, k))
		} else if sides[i], err = n.in(1 + i); err == nil {
			sides[i], err = n.binary(layer.Mul, sides[i], mask)
		}
		if err != nil {
			return operand{}, err
		}
	}
	x, err := n.binary(layer.Add, sides[0], sides[1])
	if out := n.results[0].Dims; err == nil && !slices.Equal(x.dims, out) {
		x, err = n.expanded(x, out)
	}
	return x, err
}

// cast changes nothing between types with a fraction, all of which are fp16 to the engine,
// and nothing of truth values. A truth value of a number is whether it is not 0.
func cast(n *nodeReader) (operand, error) {
	from, to := n.Type(0), n.results[0].Type
	whole := from != 0 && !from.IsFloat()
	switch {
	case !whole && to != 0 && !to.IsFloat() && to != graph.Bool:
		return operand{}, fmt.Errorf("elements of %v become %v; the engine computes fp16", from, to)
	case to == graph.Bool && from != graph.Bool:
		x, err := n.whole(0)
		if err == nil {
			x, err = n.differs(x)
		}
		return x, err
	case whole:
		x, err := n.whole(0)
		return x.as(n.results[0].Dims...), err
	}
	return view(n)
}

// both reads the nodes of both sides of a computed condition, and selects.
func (n *nodeReader) both() error {
	c, err := n.whole(0)
	if err != nil {
		return errors.New(n.undecided())
	}
	if graph.Elements(c.dims) != 1 {
		return errors.New("its condition is more than one value")
	}
	if why := n.bothSides(c); why != nil {
		return fmt.Errorf("%s; both sides and a choice do not go either: %v", n.undecided(), why)
	}
	return nil
}

// undecided says why a branch is open, and what may decide it.
func (n *nodeReader) undecided() string {
	for _, in := range n.Inputs() {
		if in.Shape.Elements() == 1 && in.Type != "" && in.Type[0] != 'f' {
			return fmt.Sprintf("its condition is computed; a value of input %q may decide it: --dim %[1]s=VALUE", in.Name)
		}
	}
	return "its condition is computed, not a constant; the host decides"
}

func (n *nodeReader) bothSides(c operand) error {
	var graphs [2]*graph.Graph
	for i, side := range [...]string{"then_branch", "else_branch"} {
		a := n.Attr[side]
		if a == nil || a.Graph == nil || len(a.Graph.Outputs) < len(n.Out) || n.depth > 8 {
			return errors.New("it has no such branch")
		}
		graphs[i] = a.Graph
		var own []string
		for _, x := range a.Graph.Nodes {
			own = append(own, names(x.Out)...)
		}
		for name := range a.Graph.Consts {
			own = append(own, name)
		}
		for _, name := range own {
			if name != "" && n.taken[name] {
				return fmt.Errorf("%q is made on both sides, or elsewhere too", name)
			}
			n.taken[name] = true
		}
	}
	n.depth++
	for _, g := range graphs {
		n.declare(g)
		n.nodes(g.Nodes)
	}
	n.depth--
	for _, l := range n.Net.Layers {
		if l.Reason != "" {
			return fmt.Errorf("%s: %s", l.Name, l.Reason)
		}
	}
	n.first = len(n.Net.Layers)
	not, err := n.negated(operand{c.name, nil}.as(slices.Repeat([]int{1}, 4)...))
	if err != nil {
		return err
	}
	n.results = nil
	for i := range n.Out {
		var sides [2]operand
		for k, g := range graphs {
			name := g.Outputs[i].Name
			if t := n.value(name).Type; n.value(name).Const != nil || t != 0 && !t.IsFloat() || n.value(name).Dims == nil {
				return fmt.Errorf("%q is a constant or no fp16", name)
			}
			sides[k] = operand{n.TensorOf(name), n.value(name).Dims}
		}
		if !slices.Equal(sides[0].dims, sides[1].dims) {
			return fmt.Errorf("%v on one side, %v on the other", sides[0].dims, sides[1].dims)
		}
		n.results = append(n.results, graph.Result{Dims: sides[0].dims, Type: n.value(graphs[0].Outputs[i].Name).Type})
		for k, mask := range [...]operand{{c.name, []int{1}}, {not.name, []int{1}}} {
			if sides[k], err = n.binary(layer.Mul, sides[k], mask); err != nil {
				return err
			}
		}
		x, err := n.binary(layer.Add, sides[0], sides[1])
		if err == nil {
			err = n.result(i, x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
