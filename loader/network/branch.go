package network

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/choose"
)

// readConditional makes layers for an If node whose condition is computed when the network runs:
// the layers of both branches, and a selection between their results.
func (n *nodeReader) readConditional() error {
	c, err := n.AnyInput(0)
	if len(n.In) == 0 {
		return err // without a condition there is nothing to name
	}
	if err != nil {
		return errors.New(n.explainUndecided("condition", n.In[0]))
	}
	if graph.Elements(c.Dims) != 1 {
		return fmt.Errorf("condition has shape %v; want one element", c.Dims)
	}
	if why := n.computeBothBranches(c); why != nil {
		return fmt.Errorf("%s; cannot compute both branches: %v", n.explainUndecided("condition", n.In[0]), why)
	}
	return nil
}

// computeBothBranches adds the layers of both branches. Each result of the If node is c times the
// result of one branch, plus 1-c times that of the other, where c is the condition.
func (n *nodeReader) computeBothBranches(c choose.Operand) error {
	if err := n.node.Unstated; err != nil {
		return err
	}
	inner := &composer{n.Builder, n.reading}
	for _, side := range n.node.Sides {
		inner.readNodes(side.Nodes)
	}
	// One refused layer refuses the whole node: a stage of the host inside would run for a branch that is
	// not taken, and could fail there.
	for _, l := range n.Net.Layers {
		if l.Reason != "" {
			return fmt.Errorf("%s: %s", l.Name, l.Reason)
		}
	}
	n.First = len(n.Net.Layers)
	not, err := n.Complement(choose.Operand{Name: c.Name}.As(slices.Repeat([]int{1}, 4)...))
	if err != nil {
		return err
	}
	if err := n.node.Unsized; err != nil {
		return err
	}
	for i := range n.Out {
		var sides [2]choose.Operand
		for k, side := range n.node.Sides {
			of := side.Outputs[i]
			sides[k] = choose.Operand{Name: n.TensorOf(of.Name), Dims: of.Dims}
		}
		// Products, not a selection, because the engine has none. An infinity in the branch that is not
		// taken may therefore reach the result, as NaN.
		for k, mask := range [...]choose.Operand{{Name: c.Name, Dims: []int{1}}, {Name: not.Name, Dims: []int{1}}} {
			if sides[k], err = n.ApplyBinary(layer.Mul, sides[k], mask); err != nil {
				return err
			}
		}
		x, err := n.ApplyBinary(layer.Add, sides[0], sides[1])
		if err == nil {
			err = n.NameResult(i, x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
