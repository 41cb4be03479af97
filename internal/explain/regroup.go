package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim"
	"anesim/loader/network/list"
	"anesim/loader/network/regroup"
)

// A Regroup names convolutions or matmuls to merge into one layer, or a single convolution to
// split. Merged layers must have constant weights. They must all read the same tensor, or form a
// pair in which only the second layer reads the result of the first.
type Regroup struct {
	Layers []string // layers to merge, or the one to split
	Parts  int      // number of parts of a split; all but the last have a multiple of 16 channels
}

// String returns r in the form that [ParseMerge] or [ParseSplit] accepts, such as "a,b" or "a=2".
func (r Regroup) String() string {
	if len(r.Layers) == 1 {
		return r.Layers[0] + "=" + strconv.Itoa(r.Parts)
	}
	return strings.Join(r.Layers, ",")
}

// ParseMerge parses the names of layers to merge, in the form "A,B,...". It returns an error if
// there are fewer than two.
func ParseMerge(text string) (Regroup, error) {
	r := Regroup{Layers: strings.Split(text, ",")}
	if len(r.Layers) < 2 || slices.Contains(r.Layers, "") {
		return Regroup{}, fmt.Errorf("malformed merge %q; want LAYER,LAYER,..., such as query,key,value", text)
	}
	return r, nil
}

// ParseSplit parses the name of a layer and the number of parts to split it into, in the form
// "LAYER=PARTS". It returns an error if either is missing or the number is not valid.
func ParseSplit(text string) (Regroup, error) {
	if i := strings.LastIndexByte(text, '='); i > 0 {
		if n, err := strconv.Atoi(text[i+1:]); err == nil && n > 1 && strconv.Itoa(n) == text[i+1:] {
			return Regroup{[]string{text[:i]}, n}, nil
		}
	}
	return Regroup{}, fmt.Errorf("malformed split %q; want LAYER=PARTS, such as conv1=2", text)
}

// RegroupLayers returns a copy of the network m with the layers in list merged or split:
//
//   - Layers with the same input become one layer with all their output channels, whose result is
//     sliced. The values are the same.
//   - Two consecutive layers without an activation between them become one layer. Its weights are
//     the product of theirs, rounded to fp16. One of two convolutions must have a 1x1 kernel. The
//     values are the same in exact arithmetic.
//   - A convolution is split by output channels, and its parts are concatenated. The values are
//     the same.
//
// If the file has no weights, merged and split layers get pseudo-random weights that differ from
// those of m. The error is an *[anesim.OptionError].
func RegroupLayers(m *anesim.Model, list []Regroup) (*anesim.Model, error) {
	return regroupModel(m, list, true)
}

func regroupModel(m *anesim.Model, list []Regroup, weights bool) (*anesim.Model, error) {
	bad := func(format string, args ...any) (*anesim.Model, error) {
		return nil, &anesim.OptionError{Option: "Regroup", What: fmt.Sprintf(format, args...)}
	}
	if m.Kind() != anesim.KindNetwork {
		return bad("cannot merge or split layers of %v %s; want a network", m.Kind(), m.Name())
	}
	at := make(map[string]int, len(m.Network().Layers))
	for i := len(m.Network().Layers) - 1; i >= 0; i-- {
		at[m.Network().Layers[i].Name] = i // the first layer with a name counts
	}
	readers := countReaders(m.Network())
	taken := map[int]bool{}
	var groups []regroup.Group
	for _, r := range list {
		g := regroup.Group{Parts: r.Parts}
		for _, name := range r.Layers {
			i, ok := at[name]
			switch {
			case !ok:
				return bad("network %s has no layer %q", m.Name(), name)
			case taken[i]:
				return bad("duplicate layer %q", name)
			}
			taken[i] = true
			g.Layers = append(g.Layers, i)
		}
		// The caller may name the layers in any order. A group keeps the order of the network.
		slices.Sort(g.Layers)
		if why := findRegroupObstacle(m.Network(), g, readers); why != "" {
			return bad("%v: %s", r, why)
		}
		groups = append(groups, g)
	}
	n, err := regroup.Apply(m.Network(), groups, weights)
	if err != nil {
		return bad("%v", err)
	}
	return anesim.FromNetwork(n), nil
}

// countReaders returns a map from the names of tensors to the number of layers that read them. An
// output of the network counts as one more reader.
func countReaders(n *list.Network) map[string]int {
	readers := make(map[string]int, len(n.Layers))
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			readers[in]++
		}
	}
	for _, out := range n.Outputs {
		readers[out]++
	}
	return readers
}

// findRegroupObstacle returns the reason why the layers of g cannot be merged or split as g says, or "" if
// they can.
func findRegroupObstacle(n *list.Network, g regroup.Group, readers map[string]int) string {
	if len(g.Layers) == 0 {
		return "missing layers; want at least one"
	}
	first := &n.Layers[g.Layers[0]]
	if len(g.Layers) == 1 {
		switch {
		case !regroup.CanSplit(first):
			return "unsupported layer; want a dense convolution of one image with constant weights"
		case g.Parts < 2 || (g.Parts-1)*channelGroup >= first.Lower.Cout:
			return fmt.Sprintf("cannot split %d channels into %d parts; want at least 2 parts, all but the last a multiple of %d channels", first.Lower.Cout, g.Parts, channelGroup)
		}
		return ""
	}
	second := &n.Layers[g.Layers[1]]
	if len(g.Layers) == 2 && regroup.CanCompose(first, second) {
		if readers[first.Output] > 1 {
			return fmt.Sprintf("cannot merge %s: other layers also read its output", first.Name)
		}
		return ""
	}
	for _, i := range g.Layers[1:] {
		if key := regroup.MergeKey(first); key == "" || key != regroup.MergeKey(&n.Layers[i]) {
			return fmt.Sprintf("cannot merge %s and %s; want convolutions or matmuls with the same input, kernel and activation, or consecutive ones without an activation", first.Name, n.Layers[i].Name)
		}
	}
	return ""
}
