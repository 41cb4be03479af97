package network

import "anesim/loader/network/list"

// ReadYAML reads a network from its list of layers. Errors are a *[list.FormatError].
func ReadYAML(data []byte) (*list.Network, error) {
	b, err := stringYAML(data)
	if err != nil {
		return nil, err
	}
	return finish(b), nil
}

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
