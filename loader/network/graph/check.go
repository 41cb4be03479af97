package graph

import "fmt"

// An OrderError is nodes of which one reads what is neither known nor made by a node before it.
type OrderError struct{ Node, Tensor string }

func (e *OrderError) Error() string {
	return fmt.Sprintf("node %q reads %q, which no node before it makes", e.Node, e.Tensor)
}

// Check makes sure that every node reads inputs, constants and what nodes before it make.
// Errors are a *[OrderError]. A file may have nodes that do not; a pass leaves none where there
// were none.
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
