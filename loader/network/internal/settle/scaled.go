package settle

import (
	"slices"

	"anesim/internal/network/graph"
)

// settleScaledNode settles a node with an input that has a Scale, a power of two by which its
// stored values must be multiplied. A node that only moves elements, such as a Reshape, passes the
// Scale on to its result. A Mul multiplies its other input instead, and all other nodes multiply
// the input first. Nodes on integers multiply them as integers, which the host does, because fp16 may
// not hold the product. The result is false if the node itself is still to be settled.
func (s *settler) settleScaledNode(n *Node) (bool, error) {
	at := slices.IndexFunc(n.In, func(v *graph.Value) bool { return v.Scale > 1 })
	if at < 0 {
		return false, nil
	}
	by := n.In[at].Scale
	switch n.Op {
	case "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose":
		if at == 0 {
			n.Out[0].Scale = by
			return false, nil
		}
	}
	return true, s.expandNode(n, func(e *expansion) error {
		scaled := e.In[at]
		seen := *scaled // the stored values, without the factor
		seen.Scale = 0
		in := slices.Clone(e.AllInputs())
		for i := range in {
			if in[i] == scaled {
				in[i] = &seen
			}
		}
		k, factor := at, e.newScalarConstant(by)
		whole := scaled.Type != 0 && !scaled.Type.IsFloat() && e.Op != "Cast" && findExpander(e.Op) == nil
		// Multiplying the other factor, mostly a constant, costs nothing: it is folded.
		if e.Op == "Mul" && len(in) == 2 && in[0] != in[1] && !whole {
			k = 1 - at
		}
		x := e.emitFloatAlias(in[k])
		if whole {
			x, factor = in[k], e.newConstant(&graph.Const{Type: scaled.Type, Numbers: []float64{by}})
		}
		larger, err := e.emitNode(nil, "Mul", nil, x, factor)
		if err != nil {
			return err
		}
		if k == at {
			larger.Type = scaled.Type
		}
		for i := range in {
			if i == k || k == at && in[i] == &seen {
				in[i] = larger
			}
		}
		_, err = e.emitMultiResultNode(e.Out, e.Domain, e.Op, e.AllAttributes(), in...)
		return err
	})
}
