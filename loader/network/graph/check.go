package graph

import "fmt"

// An OrderError reports a node that reads a tensor that is neither known nor produced by an
// earlier node.
type OrderError struct{ Node, Tensor string }

func (e *OrderError) Error() string {
	return fmt.Sprintf("node %q reads %q, which no earlier node produces", e.Node, e.Tensor)
}

// Check reports an [OrderError] for the first node that reads anything but inputs, constants
// and results of earlier nodes. A file may contain such nodes. A pass must not add any.
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
