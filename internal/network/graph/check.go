package graph

import "fmt"

// An OrderError reports that a node reads a tensor that is not an input, a constant, or the result
// of an earlier node.
type OrderError struct{ Node, Tensor string }

func (e *OrderError) Error() string {
	return fmt.Sprintf("node %q reads %q, which no earlier node produces", e.Node, e.Tensor)
}

// Check returns an *[OrderError] for the first node that reads an unknown tensor, or nil. A tensor
// is known if an earlier node produces it, if it has a shape, or if it is a constant. A tensor also
// counts as known if its field Why gives the reason for an unknown shape.
func Check(nodes []*Node) error {
	made := make(map[*Value]bool, len(nodes))
	for _, n := range nodes {
		for _, v := range n.In {
			if v.Given() && !made[v] && v.Dims == nil && v.Const == nil && v.Why == "" {
				return &OrderError{n.Name, v.Name}
			}
		}
		for _, v := range n.Out {
			made[v] = true
		}
	}
	return nil
}
