package network

import (
	"fmt"

	"anesim/loader/network/internal/arrange"
	"anesim/loader/network/list"
)

// passes lists the passes over a list of layers, in order. They follow [list.Builder.Network],
// which removes unused layers and orders the host's stages around the engine's layers
// (list/order.go).
var passes = [...]struct {
	what string
	do   func(*list.Network)
}{
	{"naming tensors", (*list.Network).Rename},
	{"fusing layers", fuseLayers},
	{"storing constants", (*list.Network).Store},
	{"skewing slices", arrange.SkewSlices},
	{"arranging tensors", arrange.Rearrange},
	{"sharing columns", arrange.ShareColumns},
	{"tidying", (*list.Network).Tidy},
}

// runPasses runs the passes on the finished list. It checks the list after each pass, because a
// tensor that is read before it is produced would only show as wrong values.
func runPasses(b *list.Builder) (*list.Network, error) {
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
