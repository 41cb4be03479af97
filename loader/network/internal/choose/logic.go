package choose

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/list"
)

// Truth values are ones and zeros in fp16. Comparisons use the sign of a difference. The sign
// table is exact, and only equal values have a difference of zero.

// AnyInput returns input i of the node as an operand. Unlike most operators, it also accepts a
// computed input with an integer or bool type. If this is an integer input of the network, AnyInput
// adds a note that the engine receives it as fp16, which is exact for integers up to 2048.
//
// AnyInput returns an error if the shape of the input is unknown, if no engine layer produces it,
// or if it is a constant of an unsupported type.
func (n *Chooser) AnyInput(i int) (Operand, error) {
	d, err := n.Dims(i)
	if err != nil {
		return Operand{}, err
	}
	name := n.Node.Input(i).Name
	if t := n.In[i].Type; n.In[i].Const != nil || t == 0 || t.IsFloat() {
		return n.inputOperand(i)
	}
	if _, err := ShapeOf(d); err != nil {
		return Operand{}, err
	}
	if _, ok := n.Shape(name); !ok {
		return Operand{}, fmt.Errorf("no engine layer produces tensor %q", name)
	}
	if n.In[i].Type != graph.Bool && !n.noted[name] && slices.ContainsFunc(n.Inputs(), func(in list.Tensor) bool { return in.Name == name }) {
		n.noted[name] = true
		n.Note("input %q has elements of type %v; the engine receives them as fp16, which is exact for integers up to 2048", name, n.In[i].Type)
	}
	return Operand{name, d}, nil
}

// clampedInputConstant returns the constant in input i with all values clamped to the finite range
// of fp16, so that 0 times an element that is not selected is not NaN. It returns nil if the input
// is not a constant, and an unchanged constant if its values cannot be read.
func clampedInputConstant(n *Chooser, i int) *graph.Const {
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

// markPositiveElements adds layers that compute 1 where x is above 0, and 0 elsewhere.
func markPositiveElements(n *Chooser, x Operand) (Operand, error) {
	x, err := n.applyUnaryOp(layer.Sign, x)
	if err != nil {
		return x, err
	}
	return n.applyUnaryOp(layer.ReLU, x)
}

// Complement adds layers that compute 1 - x for each element of x. For truth values, which are ones
// and zeros, this is logical negation.
func (n *Chooser) Complement(x Operand) (Operand, error) {
	x, err := n.multiplyByNumber(x, -1)
	if err != nil {
		return x, err
	}
	return n.addNumber(x, 1)
}

// subtractInputs adds layers that subtract the node's second input from the first, or the first
// from the second if swapped is set. It returns an error for an integer type that fp16 does not
// represent exactly, because different values could then compare equal.
func subtractInputs(n *Chooser, swapped bool) (Operand, error) {
	var side [2]Operand
	for i := range side {
		if n.Const(i) == nil {
			// Different values may round to the same fp16 number, and would compare equal.
			if t := n.Type(i); t == graph.Int64 || t == graph.Int32 || t == graph.Uint32 || t == graph.Uint64 {
				return Operand{}, fmt.Errorf("operand %d has element type %v; want a type that fp16 represents exactly", i, t)
			}
			var err error
			if side[i], err = n.AnyInput(i); err != nil {
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
		return n.applyConstantOperand(layer.Sub, side[a], ops.Repeatable(n.Node, cb))
	case ca != nil: // compute a - b as -b + a
		x, err := n.multiplyByNumber(side[b], -1)
		if err != nil {
			return x, err
		}
		return n.applyConstantOperand(layer.Add, x, ops.Repeatable(n.Node, ca))
	}
	return n.ApplyBinary(layer.Sub, side[a], side[b])
}

// comparisonRule returns a rule that computes whether the node's first input is greater than the
// second. If swapped is set, the inputs change places; if not is set, the result is inverted.
func comparisonRule(swapped, not bool) rule {
	return func(n *Chooser) (Operand, error) {
		x, err := subtractInputs(n, swapped)
		if err == nil {
			x, err = markPositiveElements(n, x)
		}
		if err == nil && not {
			x, err = n.Complement(x)
		}
		return x, err
	}
}

// addEqualityLayers adds layers that compute 1 where the node's two inputs are equal, and 0
// elsewhere: one minus the magnitude of the sign of their difference.
func addEqualityLayers(n *Chooser) (Operand, error) {
	x, err := subtractInputs(n, false)
	if err == nil {
		x, err = markNonzeroElements(n, x)
	}
	if err == nil {
		x, err = n.Complement(x)
	}
	return x, err
}

// markNonzeroElements adds layers that compute 1 where x is not 0, and 0 elsewhere.
func markNonzeroElements(n *Chooser, x Operand) (Operand, error) {
	x, err := n.applyUnaryOp(layer.Sign, x)
	if err != nil {
		return x, err
	}
	return n.applyUnaryOp(layer.Abs, x)
}

// logicRule returns the rule for a logical operator whose inputs are ones and zeros. op is Mul for
// And, Max for Or, and Sub for Xor.
func logicRule(op layer.Op) rule {
	return func(n *Chooser) (Operand, error) {
		if op == layer.Sub { // Xor: the magnitude of the difference
			x, err := subtractInputs(n, false)
			if err == nil {
				x, err = n.applyUnaryOp(layer.Abs, x)
			}
			return x, err
		}
		a, b := 0, 1
		if n.Const(0) != nil {
			a, b = 1, 0
		}
		x, err := n.AnyInput(a)
		if err != nil {
			return Operand{}, err
		}
		if c := n.Const(b); c != nil {
			return n.applyConstantOperand(op, x, ops.Repeatable(n.Node, c))
		}
		z, err := n.AnyInput(b)
		if err == nil {
			x, err = n.ApplyBinary(op, x, z)
		}
		return x, err
	}
}

func addLogicalNotLayers(n *Chooser) (Operand, error) {
	x, err := n.AnyInput(0)
	if err == nil {
		x, err = n.Complement(x)
	}
	return x, err
}

// selectByComputedMask adds layers that compute a Where as a*c + b*(1-c), where the condition c is
// a tensor that is computed when the network runs. An infinity or NaN in a computed operand makes
// the result NaN even where that operand is not selected.
func selectByComputedMask(n *Chooser) (Operand, error) {
	c, err := n.AnyInput(0)
	if err != nil {
		return Operand{}, err
	}
	not, err := n.Complement(c)
	if err != nil {
		return Operand{}, err
	}
	var sides [2]Operand
	for i, mask := range [...]Operand{c, not} {
		if k := clampedInputConstant(n, 1+i); k != nil {
			sides[i], err = n.applyConstantOperand(layer.Mul, mask, ops.Repeatable(n.Node, k))
		} else if sides[i], err = n.inputOperand(1 + i); err == nil {
			sides[i], err = n.ApplyBinary(layer.Mul, sides[i], mask)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	x, err := n.ApplyBinary(layer.Add, sides[0], sides[1])
	if out := n.Results[0].Dims; err == nil && !slices.Equal(x.Dims, out) {
		x, err = n.broadcastTo(x, out)
	}
	return x, err
}

// addCastLayers adds layers that convert the node's input to another element type, if needed.
// Floating-point types are all fp16 on the engine, so such a cast returns its input, as does a cast
// from integers or truth values. A cast to truth values tests for nonzero elements. A cast from
// floating-point to integer types is refused.
func addCastLayers(n *Chooser) (Operand, error) {
	from, to := n.Type(0), n.Results[0].Type
	integer := from != 0 && !from.IsFloat()
	switch {
	case to.IsSmallFloat() && from != to:
		return Operand{}, fmt.Errorf("cannot cast to %v; the engine computes in fp16", to)
	case !integer && to != 0 && !to.IsFloat() && to != graph.Bool:
		return Operand{}, fmt.Errorf("cannot cast to %v; the engine computes in fp16", to)
	case to == graph.Bool && from != graph.Bool:
		x, err := n.AnyInput(0)
		if err == nil {
			x, err = markNonzeroElements(n, x)
		}
		return x, err
	case integer:
		if !to.IsFloat() && wraps(from, to) {
			return Operand{}, fmt.Errorf("cannot cast %v to %v; the engine does not wrap out-of-range integers", from, to)
		}
		x, err := n.AnyInput(0)
		return x.As(n.Results[0].Dims...), err
	}
	return viewInputAsResult(n)
}

// wraps reports whether an integer of type from that fp16 holds can be outside the range of the
// integer type to, so that a cast changes it.
func wraps(from, to graph.Type) bool {
	low, high := halfRange(from)
	least, most := halfRange(to)
	return low < least || high > most
}

// halfRange returns the smallest and the largest integer of type t that fp16 holds.
func halfRange(t graph.Type) (low, high float64) {
	const most = 65504
	switch t {
	case graph.Bool:
		return 0, 1
	case graph.Uint8:
		return 0, 255
	case graph.Int8:
		return -128, 127
	case graph.Int16, graph.Int4, graph.Uint4, graph.Int2, graph.Uint2:
		return t.Range()
	case graph.Uint16, graph.Uint32, graph.Uint64:
		return 0, most
	}
	return -most, most
}
