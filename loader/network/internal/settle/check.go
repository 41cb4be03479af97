package settle

import "anesim/internal/network/graph"

// checkNodeOrder returns a *[graph.OrderError] if a node, or a node of an expansion, reads a tensor
// that a later node produces.
func checkNodeOrder(list []*Node) error {
	later := map[*graph.Value]bool{}
	walkNodes(list, func(n *Node) error {
		for _, v := range n.Out {
			later[v] = v.Given() && v.Items == nil // nothing computes a sequence, only its tensors
		}
		return nil
	})
	return walkNodes(list, func(n *Node) error {
		for _, v := range n.In {
			if later[v] && v.Const == nil {
				return &graph.OrderError{Node: n.Label, Tensor: v.Name}
			}
		}
		for _, v := range n.Out {
			if n.Body == nil && n.Largest == nil || v.Dims == nil && v.Why != "" { // an expansion does not make the latter
				delete(later, v)
			}
		}
		return nil
	})
}

// walkNodes calls visit for each node in list and for all nodes that may replace it. It stops at
// the first error.
func walkNodes(list []*Node, visit func(n *Node) error) error {
	for _, n := range list {
		if err := visit(n); err != nil {
			return err
		}
		inner := [][]*Node{n.Pieces, n.Body}
		if n.Largest != nil {
			inner = append(inner, []*Node{n.Largest})
		}
		for _, side := range n.Sides {
			if side != nil {
				inner = append(inner, side.Nodes)
			}
		}
		for _, x := range inner {
			if err := walkNodes(x, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
