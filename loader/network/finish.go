package network

import (
	"anesim/loader/network/arrange"
	"anesim/loader/network/fuse"
	"anesim/loader/network/list"
)

// finish fuses the layers of a network whose results are known, and puts tensors into the
// order that layers read them in.
func finish(b *list.Builder) *list.Network {
	n := b.List()
	fuse.Layers(n)
	n.Store()
	arrange.Rearrange(n)
	arrange.ShareColumns(n)
	n.Tidy()
	return n
}
