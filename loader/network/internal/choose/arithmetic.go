package choose

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
)

// unaryRule returns the rule for an operator that applies op to each element of its only input.
func unaryRule(op layer.Op) rule {
	return func(n *Chooser) (Operand, error) {
		x, err := n.inputOperand(0)
		if r := n.In[0].Range; (op == layer.Sqrt || op == layer.Log) && (r == nil || r.Low < 0) && !n.noted["negative"] {
			n.noted["negative"] = true
			n.Note("%s and other roots and logarithms: the engine returns 0 for negative numbers, ONNX returns NaN", n.Label)
		}
		if err == nil {
			x, err = n.applyUnaryOp(op, x)
		}
		return x, err
	}
}

// binaryRule returns the rule for an operator that combines all its inputs with op, from left to
// right.
func binaryRule(op layer.Op) rule {
	return func(n *Chooser) (Operand, error) { return applyBinaryToInputs(n, op) }
}

// applyBinaryToInputs adds layers that apply op to the node's first two inputs, then to the result
// and the third input, and so on. If only the first input is a constant and op is commutative, the
// first two change places.
func applyBinaryToInputs(n *Chooser, op layer.Op) (Operand, error) {
	order := make([]int, len(n.In))
	for i := range order {
		order[i] = i
	}
	if n.Const(0) != nil && len(order) > 1 && n.Const(1) == nil && op != layer.Sub {
		order[0], order[1] = 1, 0
	}
	x, err := n.inputOperand(order[0])
	if op == layer.Sub && n.Const(0) != nil && err != nil {
		err = nil
	}
	if err != nil {
		return x, err
	}
	if n.Op != "Sum" && n.Op != "Mean" && n.Op != "Max" && n.Op != "Min" {
		order = order[:min(2, len(order))] // the check for what was not read refuses more
	}
	for _, i := range order[1:] {
		if c := n.Const(i); c != nil {
			x, err = n.applyConstantOperand(op, x, ops.Repeatable(n.Node, c))
		} else {
			var z Operand
			if z, err = n.inputOperand(i); err == nil {
				x, err = n.ApplyBinary(op, x, z)
			}
		}
		if err != nil {
			return x, err
		}
	}
	return x, nil
}

func addMeanLayers(n *Chooser) (Operand, error) {
	x, err := applyBinaryToInputs(n, layer.Add)
	if err == nil {
		x, err = n.multiplyByNumber(x, 1/float64(len(n.In)))
	}
	return x, err
}

func addNegationLayers(n *Chooser, x Operand) (Operand, error) {
	return n.multiplyByNumber(x, -1)
}

// addDivisionLayers adds layers that divide the first input by the second. A constant divisor
// becomes a multiplication by its reciprocals. Two tensors are divided by one layer if the result
// has the shape of the first; otherwise the first input is multiplied by the reciprocals of the
// second.
func addDivisionLayers(n *Chooser) (Operand, error) {
	if c := n.Const(1); c != nil && !c.Absent() {
		x, err := n.inputOperand(0)
		if err != nil {
			return Operand{}, err
		}
		v, err := c.Values()
		if err != nil {
			return Operand{}, err
		}
		by := make([]float64, len(v))
		for i := range v {
			// The reciprocals are computed in float64, so they are rounded to fp16 only once.
			by[i] = 1 / v[i]
		}
		return n.applyConstantOperand(layer.Mul, x, ops.Repeatable(n.Node, &graph.Const{Dims: c.Dims, Type: c.Type, Numbers: by}))
	}
	b, err := n.inputOperand(1)
	if err != nil {
		return Operand{}, err
	}
	if n.Const(0) == nil {
		x, err := n.inputOperand(0)
		if err != nil {
			return Operand{}, err
		}
		// A layer for quotients can repeat its divisor, but not its dividend.
		if out, _ := graph.Broadcast(x.Dims, b.Dims); slices.Equal(out, x.Dims) {
			return n.ApplyBinary(layer.RealDiv, x, b)
		}
	}
	if b, err = n.applyUnaryOp(layer.Inverse, b); err != nil {
		return Operand{}, err
	}
	if c := n.Const(0); c != nil {
		return n.applyConstantOperand(layer.Mul, b, c)
	}
	x, err := n.inputOperand(0)
	if err != nil {
		return Operand{}, err
	}
	return n.ApplyBinary(layer.Mul, x, b)
}

// addWhereLayers adds layers that select each element from one of two tensors. For a constant
// condition, it adds the products of each tensor with a mask of ones and zeros. For a computed
// condition, see [selectByComputedMask].
func addWhereLayers(n *Chooser) (Operand, error) {
	c := n.Const(0)
	if c == nil {
		return selectByComputedMask(n)
	}
	v, err := c.Values()
	if err != nil {
		return Operand{}, err
	}
	// The condition is known, so each side is multiplied by a constant mask, and exactly one of the two
	// terms of the sum is not zero.
	mask := func(side bool) *graph.Const {
		m := &graph.Const{Dims: c.Dims, Type: graph.Float, Numbers: make([]float64, len(v))}
		for i := range v {
			m.Numbers[i] = graph.Truth((v[i] != 0) == side)
		}
		return m
	}
	out := n.Results[0].Dims
	var sides [2]Operand
	for i := range sides {
		var x Operand
		if k := n.Const(1 + i); k != nil {
			x, err = storeSelectedValues(n, k, mask(i == 0), out, i)
		} else if x, err = n.inputOperand(1 + i); err == nil {
			x, err = n.applyConstantOperand(layer.Mul, x, mask(i == 0))
		}
		if err != nil {
			return Operand{}, err
		}
		sides[i] = x
	}
	x, err := n.ApplyBinary(layer.Add, sides[0], sides[1])
	if err == nil && !slices.Equal(x.Dims, out) {
		x, err = n.broadcastTo(x, out)
	}
	return x, err
}

// storeSelectedValues stores a constant with the values of c where mask is one, and zeros
// elsewhere. c and mask are broadcast to each other; the result must not have more elements than
// out, the shape of the node's result. side is 0 or 1 and becomes part of the constant's name.
func storeSelectedValues(n *Chooser, c, mask *graph.Const, out []int, side int) (Operand, error) {
	dims, err := graph.Broadcast(c.Dims, mask.Dims)
	if err != nil {
		return Operand{}, err
	}
	if c.Absent() {
		return Operand{}, errors.New("constant operand is in a file that was not read")
	}
	v, err := c.Values()
	if err != nil {
		return Operand{}, err
	}
	if graph.Elements(dims) > graph.Elements(out) {
		return Operand{}, graph.ErrBudget
	}
	selected := make([]float64, graph.Elements(dims))
	graph.Each(dims, graph.BroadcastStrides(mask.Dims, dims), 0, func(k, at int) { selected[k] = mask.Numbers[at] })
	graph.Each(dims, graph.BroadcastStrides(c.Dims, dims), 0, func(k, at int) {
		if selected[k] != 0 {
			selected[k] = v[at]
		}
	})
	return n.storeConstantTensor(fmt.Sprintf("%s side %d", n.ResultName(), side), dims, selected)
}
