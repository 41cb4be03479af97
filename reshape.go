package anesim

import (
	"errors"
	"fmt"
	"slices"
)

// Reshaped is the network with a reshape before and behind a layer that looks at single
// pixels: it has them in h rows of w. Values and their order in memory stay. What it costs
// to lay the rows out anew for the layers on both sides is in the result of a run. The error
// is an *[OptionError].
func (m *Model) Reshaped(layer string, h, w int) (*Model, error) {
	bad := func(format string, args ...any) (*Model, error) {
		return nil, &OptionError{"Reshape", fmt.Sprintf(format, args...)}
	}
	if m.kind != KindNetwork {
		return bad("%s is a %v; only a layer of a network is reshaped", m.name, m.kind)
	}
	n := *m.net
	n.Layers = slices.Clone(n.Layers)
	for i := range n.Layers {
		l := &n.Layers[i]
		if l.Name != layer {
			continue
		}
		in := l.Lower.In
		switch {
		case l.Reason != "":
			return bad("layer %s is not modelled: %s", layer, l.Reason)
		case !pointwise(&l.Lower):
			return bad("layer %s looks beyond single pixels", layer)
		case h < 1 || w < 1 || h > in.H*in.W || h*w != in.H*in.W:
			return bad("layer %s has %dx%d pixels, not %dx%d", layer, in.H, in.W, h, w)
		}
		l.Lower = sized(l.Lower, h, w)
		l.Out = l.Lower.Out()
		return &Model{name: m.name, kind: KindNetwork, net: n.Arranged()}, nil
	}
	return bad("network %s has no layer %q", m.name, layer)
}

// ParseReshape reads "LAYER=HxW" for [Model.Reshaped].
func ParseReshape(text string) (layer string, h, w int, err error) {
	i := len(text) - 1
	for ; i >= 0 && text[i] != '='; i-- {
	}
	if i > 0 {
		if n, e := fmt.Sscanf(text[i+1:], "%dx%d", &h, &w); e == nil && n == 2 && text[i+1:] == fmt.Sprintf("%dx%d", h, w) {
			return text[:i], h, w, nil
		}
	}
	return "", 0, 0, errors.New("want LAYER=HxW, like conv1=1x784")
}
