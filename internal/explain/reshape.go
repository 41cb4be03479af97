package explain

import (
	"fmt"
	"slices"

	"anesim"
	"anesim/loader/network/regroup"
)

// A Reshape gives a pointwise layer a new shape of H rows with W pixels each.
type Reshape struct {
	Layer string
	H, W  int
}

// String returns r in the form that [ParseReshape] accepts, such as "conv1=1x3136".
func (r Reshape) String() string { return fmt.Sprintf("%s=%dx%d", r.Layer, r.H, r.W) }

// ReshapeLayers returns a copy of the network m in which the layers in list have new heights and
// widths. These layers must be pointwise. The values and their order in memory do not change. A run
// of the copy includes the cost of rearranging rows between a reshaped layer and its neighbors. The
// error is an *[anesim.OptionError].
func ReshapeLayers(m *anesim.Model, list []Reshape) (*anesim.Model, error) {
	bad := func(format string, args ...any) (*anesim.Model, error) {
		return nil, &anesim.OptionError{Option: "Reshape", What: fmt.Sprintf(format, args...)}
	}
	if m.Kind() != anesim.KindNetwork {
		return bad("cannot reshape layers of %v %s; want a network", m.Kind(), m.Name())
	}
	n := *m.Network()
	// The model m is shared with the runs that the result is compared with.
	n.Layers = slices.Clone(n.Layers)
	at := make(map[string]int, len(n.Layers))
	for i := len(n.Layers) - 1; i >= 0; i-- {
		at[n.Layers[i].Name] = i // the first layer with a name counts
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
			return bad("layer %q is not modelled: %s", r.Layer, l.Reason)
		case !isPointwise(&l.Lower):
			return bad("cannot reshape layer %q; want a pointwise layer", r.Layer)
		case r.H < 1 || r.W < 1 || r.H > in.H*in.W || r.H*r.W != in.H*in.W:
			return bad("cannot reshape layer %q from %dx%d to %dx%d; want the same number of pixels", r.Layer, in.H, in.W, r.H, r.W)
		}
		l.Lower = withHeightAndWidth(l.Lower, r.H, r.W)
		l.Out = l.Lower.Out()
	}
	return anesim.FromNetwork(regroup.Rearranged(&n)), nil
}

// ParseReshape parses the name of a layer and its new height and width, in the form "LAYER=HxW". It
// returns an error if the text has another form.
func ParseReshape(text string) (layer string, h, w int, err error) {
	i := len(text) - 1
	for ; i >= 0 && text[i] != '='; i-- {
	}
	if i > 0 {
		if n, e := fmt.Sscanf(text[i+1:], "%dx%d", &h, &w); e == nil && n == 2 && text[i+1:] == fmt.Sprintf("%dx%d", h, w) {
			return text[:i], h, w, nil
		}
	}
	return "", 0, 0, fmt.Errorf("malformed reshape %q; want LAYER=HxW, such as conv1=1x784", text)
}
