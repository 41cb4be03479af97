package explain

import (
	"errors"
	"fmt"
	"slices"

	"anesim"
	"anesim/loader/network/arrange"
)

// A Reshape gives a layer its pixels in H rows of W.
type Reshape struct {
	Layer string
	H, W  int
}

// String is the reshape as [ParseReshape] reads it.
func (r Reshape) String() string { return fmt.Sprintf("%s=%dx%d", r.Layer, r.H, r.W) }

// ReshapeLayers returns the network with a reshape before and after each of some layers, which
// look at single pixels. Values and their order in memory stay. What it costs to lay the rows
// out anew for the layers on both sides is in the result of a run; between two layers that
// have the same new rows it costs nothing. The error is an *[OptionError].
func ReshapeLayers(m *anesim.Model, list []Reshape) (*anesim.Model, error) {
	bad := func(format string, args ...any) (*anesim.Model, error) {
		return nil, &anesim.OptionError{Option: "Reshape", What: fmt.Sprintf(format, args...)}
	}
	if m.Kind() != anesim.KindNetwork {
		return bad("%s is a %v; only a layer of a network is reshaped", m.Name(), m.Kind())
	}
	n := *m.Network()
	n.Layers = slices.Clone(n.Layers)
	at := make(map[string]int, len(n.Layers))
	for i := len(n.Layers) - 1; i >= 0; i-- {
		at[n.Layers[i].Name] = i // the first of a name
	}
	for _, r := range list {
		i, ok := at[r.Layer]
		if !ok {
			return bad("network %s has no layer %q", m.Name(), r.Layer)
		}
		l := &n.Layers[i]
		in := l.Lower.In
		switch {
		case l.Reason != "":
			return bad("layer %s is not modelled: %s", r.Layer, l.Reason)
		case !pointwise(&l.Lower):
			return bad("layer %s looks beyond single pixels", r.Layer)
		case r.H < 1 || r.W < 1 || r.H > in.H*in.W || r.H*r.W != in.H*in.W:
			return bad("layer %s has %dx%d pixels, not %dx%d", r.Layer, in.H, in.W, r.H, r.W)
		}
		l.Lower = sized(l.Lower, r.H, r.W)
		l.Out = l.Lower.Out()
	}
	return anesim.FromNetwork(arrange.Rearranged(&n)), nil
}

// ParseReshape reads "LAYER=HxW" for [ReshapeLayers].
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
