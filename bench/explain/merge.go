package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"anesim"
	"anesim/bench/report"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/regroup"
)

// neighbours are what stands beside and behind the layers of a network.
type neighbours struct {
	n      *list.Network
	at     map[string]int   // layers by name
	beside map[string][]int // those that can be one, by [regroup.Beside]
	reader map[string]int   // of a tensor that a layer makes and one reads; -1 of others
	lane   int              // bytes of coefficients that an engine holds
	tried  map[string]bool
}

func neighboursOf(n *list.Network, lane int) *neighbours {
	b := &neighbours{n: n, lane: lane, at: make(map[string]int, len(n.Layers)), beside: map[string][]int{}, reader: map[string]int{}, tried: map[string]bool{}}
	for i := len(n.Layers) - 1; i >= 0; i-- {
		b.at[n.Layers[i].Name] = i
	}
	readers := readersOf(n)
	for i := range n.Layers {
		l := &n.Layers[i]
		if b.at[l.Name] != i || strings.Contains(l.Name, ",") {
			continue // no flag can say which it is
		}
		if key := regroup.Beside(l); key != "" {
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

// A regrouping is a change to all layers of a kind at once.
type regrouping struct {
	flag, change, needs, results string
	list                         []Regroup
}

// regroupings are the ways to merge and to split layers that are alike, each of all of them.
func (b *neighbours) regroupings(names []string) (list []regrouping) {
	for _, find := range [...]func([]string) regrouping{b.sides, b.stacks, b.parts} {
		if r := find(names); len(r.list) > 0 && !b.tried[r.flag+r.list[0].String()] {
			b.tried[r.flag+r.list[0].String()] = true
			list = append(list, r)
		}
	}
	return list
}

// sides merges layers with those beside them.
func (b *neighbours) sides(names []string) regrouping {
	r := regrouping{flag: "--merge", needs: "their weights one behind the other, and slices of the result where they stood", results: "the same"}
	done := map[int]bool{}
	for _, name := range names {
		all := b.beside[regroup.Beside(&b.n.Layers[b.at[name]])]
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
			r.change = fmt.Sprintf("merge it with %s: one of %d channels", andMore(without(g.Layers, name)), channels)
		}
	}
	return r
}

// stacks merges layers with the one behind each.
func (b *neighbours) stacks(names []string) regrouping {
	r := regrouping{
		flag: "--merge", needs: "the product of their weights, in the place of both",
		results: "the same in exact arithmetic: the product of the weights is rounded, what was between the layers is not",
	}
	taken := map[int]bool{}
	for _, name := range names {
		i := b.at[name]
		k, ok := b.reader[b.n.Layers[i].Output]
		if !ok || k < 0 || taken[i] || taken[k] || !regroup.MergesBehind(&b.n.Layers[i], &b.n.Layers[k]) {
			continue
		}
		taken[i], taken[k] = true, true
		if r.list = append(r.list, Regroup{Layers: []string{name, b.n.Layers[k].Name}}); len(r.list) == 1 {
			r.change = fmt.Sprintf("merge it with %s behind it: one layer", b.n.Layers[k].Name)
		}
	}
	return r
}

// parts splits convolutions whose coefficients are more than an engine holds of a task, into
// as many parts as each fits.
func (b *neighbours) parts(names []string) regrouping {
	r := regrouping{flag: "--split", needs: "a concatenation of the parts behind them", results: "the same"}
	for _, name := range names {
		l := &b.n.Layers[b.at[name]]
		if !regroup.Splits(l) || strings.Contains(name, ",") || b.n.Layers[b.at[name]].Name != name {
			continue
		}
		n := partsOf(&l.Lower, b.lane)
		if n < 2 || (n-1)*channelGroup >= l.Lower.Cout {
			return r
		}
		if r.list = append(r.list, Regroup{[]string{name}, n}); len(r.list) == 1 {
			r.change = fmt.Sprintf("split its %d channels in %d parts, each of whose coefficients an engine holds", l.Lower.Cout, n)
		}
	}
	return r
}

// partsOf is in how many parts an engine that holds so many bytes has the coefficients of each.
func partsOf(l *layer.Layer, lane int) int {
	const fp16Bytes = 2
	each := (l.Cout + channelGroup - 1) / channelGroup * l.In.C * l.Taps() * fp16Bytes
	return (each + lane - 1) / lane
}

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}

// andMore is the first of some names and how many more there are.
func andMore(names []string) string {
	switch len(names) {
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// regrouped tries to merge and to split layers that are alike within the network: what is
// before and after is the whole network.
func (x *explainer) regrouped(ctx context.Context, b *neighbours, names []string) error {
	for _, r := range b.regroupings(names) {
		x.doc.Tried.All++
		m, err := regroupModel(x.model, r.list, false)
		if err == nil && m.Network().MACs() > x.model.Network().MACs() {
			x.doc.Tried.NotFaster++ // a layer between others that are wider
			continue
		}
		var res *anesim.Result
		if err == nil {
			res, err = x.timed(ctx, m, x.options)
		}
		if err != nil {
			if err := x.failed(ctx, err); err != nil {
				return err
			}
			continue
		}
		flags := x.residencyFlag()
		for _, g := range r.list {
			flags = append(flags, r.flag, g.String())
		}
		x.whole(res, Change{
			Part: names[0], Alike: len(r.list), Kind: "rewrite", Change: r.change, Needs: r.needs, Results: r.results,
			Command: x.fileCommand("model", flags...),
		})
	}
	return nil
}

// whole keeps a change to the network, where it gains and takes no more dispatches: one more
// takes the host longer than a change saves.
func (x *explainer) whole(res *anesim.Result, c Change) {
	if len(res.Programs) > len(x.base.Programs) || len(res.Missing()) > len(x.base.Missing()) || len(res.Report.Faults) > 0 {
		x.doc.Tried.NotFaster++
		return
	}
	c.Before, c.After, c.CommandBefore = x.doc.Now, report.CostOf(res.Report), x.fileCommand("model", x.residencyFlag()...)
	x.keep(c, 1)
}
