package network

import "anesim/loader/network/list"

// finish fuses the layers of a network whose results are known, and puts tensors into the
// order that layers read them in.
func finish(b *list.Builder) *list.Network {
	n := b.List()
	fuseLayers(n)
	n.Store()
	rearrange(n)
	shareColumns(n)
	n.Tidy()
	return n
}
