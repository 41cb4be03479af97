package list

import "fmt"

// An OrderError reports that a layer reads a tensor that no earlier layer produces. Such a list
// results from a bug in this program, not from an invalid file.
type OrderError struct{ Layer, Tensor string }

func (e *OrderError) Error() string {
	return fmt.Sprintf("layer %q reads %q, which no earlier layer produces", e.Layer, e.Tensor)
}

// Check returns an *[OrderError] for the first layer that reads a tensor other than an input, a
// constant or a result of an earlier layer. It returns nil if there is no such layer.
func (n *Network) Check() error {
	made := make(map[string]bool, len(n.Inputs)+len(n.Constants)+len(n.Layers))
	for i := range n.Inputs {
		made[n.Inputs[i].Name] = true
	}
	for name := range n.Constants {
		made[name] = true
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		for _, in := range l.Inputs {
			if !made[in] {
				return &OrderError{l.Name, in}
			}
		}
		made[l.Output] = true
		for _, out := range l.Others {
			made[out] = true
		}
	}
	return nil
}
