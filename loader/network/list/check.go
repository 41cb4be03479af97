package list

import "fmt"

// An OrderError is a list in which a layer reads what neither an input nor a constant nor a
// layer before it is: a fault of the pass that left it so.
type OrderError struct{ Layer, Tensor string }

func (e *OrderError) Error() string {
	return fmt.Sprintf("layer %q reads %q, which nothing before it makes", e.Layer, e.Tensor)
}

// Check makes sure that every layer reads inputs, constants and what layers before it make.
// Errors are a *[OrderError].
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
