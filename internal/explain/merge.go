package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"anesim"
	"anesim/internal/report"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/regroup"
)

// A neighbors finds layers that can be merged with each other.
type neighbors struct {
	n      *list.Network
	at     map[string]int   // index of each layer by name
	beside map[string][]int // layers that can be merged, by the key of [regroup.MergeKey]
	reader map[string]int   // only reader of each tensor, -1 if there are several
	lane   int              // bytes of weights that an engine holds
	tried  map[string]bool
}

func findNeighbors(n *list.Network, lane int) *neighbors {
	b := &neighbors{n: n, lane: lane, at: make(map[string]int, len(n.Layers)), beside: map[string][]int{}, reader: map[string]int{}, tried: map[string]bool{}}
	for i := len(n.Layers) - 1; i >= 0; i-- {
		b.at[n.Layers[i].Name] = i
	}
	readers := countReaders(n)
	for i := range n.Layers {
		l := &n.Layers[i]
		if b.at[l.Name] != i || strings.Contains(l.Name, ",") {
			continue // no flag can identify the layer
		}
		if key := regroup.MergeKey(l); key != "" {
			b.beside[key] = append(b.beside[key], i)
		}
		for _, in := range l.Inputs {
			b.reader[in] = i
			if readers[in] > 1 {
				b.reader[in] = -1
			}
		}
	}
	return b
}

// A regrouping is a change to all identical layers at once.
type regrouping struct {
	flag, change, needs, results string
	list                         []Regroup
}

// listRegroupings returns the ways to merge or split the named layers, which are identical. It
// omits ways that an earlier call returned.
func (b *neighbors) listRegroupings(names []string) (list []regrouping) {
	for _, find := range [...]func([]string) regrouping{b.proposeParallelMerges, b.proposeConsecutiveMerges, b.proposeConvSplits} {
		if r := find(names); len(r.list) > 0 && !b.tried[r.flag+r.list[0].String()] {
			b.tried[r.flag+r.list[0].String()] = true
			list = append(list, r)
		}
	}
	return list
}

// proposeParallelMerges returns the change that merges each named layer with the other layers that
// read the same input. The list in the change is empty if no layer has such neighbors.
func (b *neighbors) proposeParallelMerges(names []string) regrouping {
	r := regrouping{flag: "--merge", needs: "their weights concatenated, and slices of the result in their place", results: "the same"}
	done := map[int]bool{}
	for _, name := range names {
		all := b.beside[regroup.MergeKey(&b.n.Layers[b.at[name]])]
		if len(all) < 2 || done[all[0]] {
			continue
		}
		done[all[0]] = true
		var g Regroup
		channels := 0
		for _, i := range all {
			l := &b.n.Layers[i]
			g.Layers = append(g.Layers, l.Name)
			channels += max(l.Lower.Cout, l.Lower.Columns)
		}
		if r.list = append(r.list, g); len(r.list) == 1 {
			r.change = fmt.Sprintf("merge into one of %d channels with %s", channels, abbreviateNames(removeName(g.Layers, name)))
		}
	}
	return r
}

// proposeConsecutiveMerges returns the change that merges each named layer with the next layer, if no
// other layer reads the tensor between them.
func (b *neighbors) proposeConsecutiveMerges(names []string) regrouping {
	r := regrouping{
		flag: "--merge", needs: "the product of their weights, in the place of both",
		results: "the same in exact arithmetic: the product of the weights is rounded, but the values between the layers no longer are",
	}
	taken := map[int]bool{}
	for _, name := range names {
		i := b.at[name]
		k, ok := b.reader[b.n.Layers[i].Output]
		if !ok || k < 0 || taken[i] || taken[k] || !regroup.CanCompose(&b.n.Layers[i], &b.n.Layers[k]) {
			continue
		}
		taken[i], taken[k] = true, true
		if r.list = append(r.list, Regroup{Layers: []string{name, b.n.Layers[k].Name}}); len(r.list) == 1 {
			r.change = fmt.Sprintf("merge it with %s, the layer after it", b.n.Layers[k].Name)
		}
	}
	return r
}

// proposeConvSplits returns the change that splits each named convolution whose weights do not fit in
// an engine's kernel memory. The weights of each part of the split fit.
func (b *neighbors) proposeConvSplits(names []string) regrouping {
	r := regrouping{flag: "--split", needs: "a concatenation of the parts after them", results: "the same"}
	for _, name := range names {
		l := &b.n.Layers[b.at[name]]
		if !regroup.CanSplit(l) || strings.Contains(name, ",") || b.n.Layers[b.at[name]].Name != name {
			continue
		}
		n := countSplitParts(&l.Lower, b.lane)
		if n < 2 || (n-1)*channelGroup >= l.Lower.Cout {
			return r
		}
		if r.list = append(r.list, Regroup{[]string{name}, n}); len(r.list) == 1 {
			r.change = fmt.Sprintf("split its %d channels in %d parts, so that an engine holds the weights of each", l.Lower.Cout, n)
		}
	}
	return r
}

// countSplitParts returns the number of parts into which layer l must be split so that the weights of a
// part take at most lane bytes per engine.
func countSplitParts(l *layer.Layer, lane int) int {
	const fp16Bytes = 2
	each := (l.Cout + channelGroup - 1) / channelGroup * l.In.C * l.Taps() * fp16Bytes
	return (each + lane - 1) / lane
}

func removeName(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}

// abbreviateNames returns one or two names as a phrase. For more names it returns the first and the
// number of the others, such as "conv1 and 3 more".
func abbreviateNames(names []string) string {
	switch len(names) {
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// tryRegrouping times the network with each way to merge or split the named layers, which are
// identical, and records the changes that save cycles.
func (x *explainer) tryRegrouping(ctx context.Context, b *neighbors, names []string) error {
	for _, r := range b.listRegroupings(names) {
		x.doc.Tried.All++
		m, err := x.buildChangedNetwork(func() (*anesim.Model, error) { return regroupModel(x.model, r.list, false) })
		if err == nil && m.Network().MACs() > x.model.Network().MACs() {
			x.recordUseless(&Change{Part: names[0], Alike: len(r.list), Change: r.change}) // the layer between is narrower than its neighbors
			continue
		}
		var res *anesim.Result
		if err == nil {
			res, err = x.timeModel(ctx, m, x.options)
		}
		if err != nil {
			if err := x.recordFailure(ctx, err); err != nil {
				return err
			}
			continue
		}
		flags := x.formatResidencyFlag()
		for _, g := range r.list {
			flags = append(flags, r.flag, g.String())
		}
		x.addNetworkChange(res, Change{
			Part: names[0], Alike: len(r.list), Kind: "rewrite", Change: r.change, Needs: r.needs, Results: r.results,
			Command: x.formatFileCommand("model", flags...),
		})
	}
	return nil
}

// addNetworkChange records change c, whose run has the result res, if it saves cycles. It rejects a
// change that needs more dispatches, because one more dispatch costs the host more time than the
// change saves.
func (x *explainer) addNetworkChange(res *anesim.Result, c Change) {
	if len(res.Programs) > len(x.base.Programs) || len(res.Missing()) > len(x.base.Missing()) || len(res.Report.Faults) > 0 {
		x.recordUseless(&c)
		return
	}
	c.Before, c.After, c.CommandBefore = x.doc.Now, report.CostOf(res.Report), x.formatFileCommand("model", x.formatResidencyFlag()...)
	x.addChange(c, 1)
}
