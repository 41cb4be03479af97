package explain

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim"
	"anesim/loader/network/list"
	"anesim/loader/network/regroup"
)

// A Regroup merges convolutions or products with constants into one, or splits one. Layers
// that are merged read one tensor, or each reads what the one before it makes for it alone.
type Regroup struct {
	Layers []string // several, or the one that is split
	Parts  int      // of the one at most: each but the last has a multiple of 16 channels
}

// String is the regroup as [ParseMerge] or [ParseSplit] reads it.
func (r Regroup) String() string {
	if len(r.Layers) == 1 {
		return r.Layers[0] + "=" + strconv.Itoa(r.Parts)
	}
	return strings.Join(r.Layers, ",")
}

// ParseMerge reads "A,B,..." for [RegroupLayers].
func ParseMerge(text string) (Regroup, error) {
	r := Regroup{Layers: strings.Split(text, ",")}
	if len(r.Layers) < 2 || slices.Contains(r.Layers, "") {
		return Regroup{}, errors.New("want LAYER,LAYER,..., like query,key,value")
	}
	return r, nil
}

// ParseSplit reads "LAYER=PARTS" for [RegroupLayers].
func ParseSplit(text string) (Regroup, error) {
	if i := strings.LastIndexByte(text, '='); i > 0 {
		if n, err := strconv.Atoi(text[i+1:]); err == nil && n > 1 && strconv.Itoa(n) == text[i+1:] {
			return Regroup{[]string{text[:i]}, n}, nil
		}
	}
	return Regroup{}, errors.New("want LAYER=PARTS, like conv1=2")
}

// RegroupLayers returns the network with layers merged and split:
//
//   - layers of one input side by side become one of all their output channels, whose result
//     is sliced: the same values;
//   - two layers one behind the other with nothing between, one of them of single pixels,
//     become one whose weights are the product of theirs: the same in exact arithmetic, but the
//     product is rounded to fp16 and what was between them is not;
//   - a convolution is split into parts of its output channels, which are put together behind
//     it: the same values.
//
// Weights that the file does not have are others' pseudo-random ones. The error is an
// *[OptionError].
func RegroupLayers(m *anesim.Model, list []Regroup) (*anesim.Model, error) {
	return regroupModel(m, list, true)
}

func regroupModel(m *anesim.Model, list []Regroup, weights bool) (*anesim.Model, error) {
	bad := func(format string, args ...any) (*anesim.Model, error) {
		return nil, &anesim.OptionError{Option: "Regroup", What: fmt.Sprintf(format, args...)}
	}
	if m.Kind() != anesim.KindNetwork {
		return bad("%s is a %v; only layers of a network are merged and split", m.Name(), m.Kind())
	}
	at := make(map[string]int, len(m.Network().Layers))
	for i := len(m.Network().Layers) - 1; i >= 0; i-- {
		at[m.Network().Layers[i].Name] = i // the first of a name
	}
	readers := readersOf(m.Network())
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
				return bad("layer %s is named twice", name)
			}
			taken[i] = true
			g.Layers = append(g.Layers, i)
		}
		slices.Sort(g.Layers)
		if why := regroups(m.Network(), g, readers); why != "" {
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

// readersOf counts who reads each tensor of a network, its results among them.
func readersOf(n *list.Network) map[string]int {
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

// regroups says why layers cannot be merged or split, "" where they can.
func regroups(n *list.Network, g regroup.Group, readers map[string]int) string {
	if len(g.Layers) == 0 {
		return "no layer is named"
	}
	first := &n.Layers[g.Layers[0]]
	if len(g.Layers) == 1 {
		switch {
		case !regroup.Splits(first):
			return "it is no dense convolution of one image with constant weights"
		case g.Parts < 2 || (g.Parts-1)*channelGroup >= first.Lower.Cout:
			return fmt.Sprintf("%d channels do not come to %d parts of multiples of %d", first.Lower.Cout, g.Parts, channelGroup)
		}
		return ""
	}
	second := &n.Layers[g.Layers[1]]
	if len(g.Layers) == 2 && regroup.MergesBehind(first, second) {
		if readers[first.Output] > 1 {
			return fmt.Sprintf("others read what %s makes", first.Name)
		}
		return ""
	}
	for _, i := range g.Layers[1:] {
		if key := regroup.Beside(first); key == "" || key != regroup.Beside(&n.Layers[i]) {
			return fmt.Sprintf("%s and %s are no convolutions or products of one input, window and activation, nor one behind the other without one", first.Name, n.Layers[i].Name)
		}
	}
	return ""
}
