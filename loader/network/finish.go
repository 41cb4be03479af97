package network

import (
	"fmt"

	"anesim/loader/network/arrange"
	"anesim/loader/network/list"
)

// passes are what is done to the list of layers that a file becomes, in order, behind what
// [list.Builder.Network] does: it leaves out layers that nothing reads and orders the host's
// stages around the engine's layers (list/order.go).
var passes = [...]struct {
	what string
	do   func(*list.Network)
}{
	{"naming tensors", (*list.Network).Rename},
	{"fusing layers", fuse},
	{"storing constants", (*list.Network).Store},
	{"arranging tensors", arrange.Rearrange},
	{"sharing columns", arrange.ShareColumns},
	{"tidying", (*list.Network).Tidy},
}

// finish does the passes on what was strung together. It checks the list after each of them,
// since a tensor that is read before it is made would only show as wrong values.
func finish(b *list.Builder) (*list.Network, error) {
	n := b.Network()
	if err := n.Check(); err != nil {
		return nil, fmt.Errorf("reading layers: %w", err)
	}
	for _, p := range passes {
		p.do(n)
		if err := n.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.what, err)
		}
	}
	return n, nil
}
