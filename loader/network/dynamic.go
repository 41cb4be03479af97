package network

import (
	"fmt"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// Some results have a size that depends on values: the boxes that a NonMaxSuppression keeps,
// the places that a NonZero finds. The engine's programs have fixed shapes, so the host
// computes such a result and what reads it, each in the size that it has in this run.
//
// Reading a graph needs no more than bounds. The dims of such a tensor are the largest that
// it can have; least has the smallest. The elements of what is computed from these extents,
// such as the shape for a Reshape, have bounds as well, in between.

// spread is what is known of a result whose extents or elements depend on values.
type spread struct {
	least []int       // nil if the extents are always the same
	span  *graph.Span // nil if the elements have no known bounds
}

// dynamicAxis returns the axis of result i whose extent depends on the values that the node
// reads, -1 if there is none.
func (n *nodeReader) dynamicAxis(i int) int {
	switch n.Op {
	case "NonMaxSuppression":
		return 0
	case "NonZero":
		return 1
	case "Compress":
		if n.Attr["axis"] == nil {
			return 0
		}
		if axis, err := ops.Axis(len(n.Results[i].Dims), n.Int("axis", 0)); err == nil {
			return axis
		}
	case "Unique":
		if i == 2 {
			return -1
		}
		if i > 0 || n.Attr["axis"] == nil {
			return 0
		}
		if axis, err := ops.Axis(len(n.Results[i].Dims), n.Int("axis", 0)); err == nil {
			return axis
		}
	}
	return -1
}

// originates reports whether the operator gives results whose size depends on values.
func (n *nodeReader) originates() bool {
	return ops.Of(n.Op).Has(ops.Sizes) || n.cutsByValues()
}

// cutsByValues reports whether the node keeps a part of its first input whose size is computed
// and has no known bounds but that input's size.
func (n *nodeReader) cutsByValues() bool {
	computed := func(i int) bool {
		return n.Given(i) && n.Const(i) == nil && n.In[i].Span == nil
	}
	switch n.Op {
	case "Slice":
		return len(n.In) > 2 && (computed(1) || computed(2)) && !computed(3) && !computed(4)
	case "TopK":
		return computed(1)
	}
	return false
}

// dynamic reports whether the node reads or makes a tensor whose size depends on values, or
// reads elements that are made of such sizes.
func (n *nodeReader) dynamic() bool {
	return n.originates() || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Least != nil || v.Span != nil })
}

// host returns why the host computes the node if it does so because a size depends on values,
// and whether the node is a constant instead, as the extent of an axis that is always the same
// is. Where the host has no function for the node both are zero: the engine reads the operand
// in its largest shape, filled with zeros.
func (n *nodeReader) host() (why error, constant bool) {
	if !n.dynamic() || ops.Of(n.Op).Host() == nil || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Scale > 1 }) {
		return nil, false
	}
	if !slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Given() && v.Const == nil }) {
		return nil, false // constants, which fold refused for a reason of its own
	}
	if err := n.bound(); err != nil {
		n.spreads = nil
		return err, false
	}
	for i, s := range n.spreads {
		if e := graph.Elements(n.Results[i].Dims); e == 0 || e > mostStaged {
			n.spreads = nil
			return nil, false
		}
		constant = i == 0 && s.span != nil && slices.Equal(s.span.Low.Numbers, s.span.High.Numbers)
	}
	if constant && len(n.spreads) == 1 {
		return nil, n.become(n.spreads[0].span.Low) == nil
	}
	for i, out := range n.Out {
		if i < len(n.spreads) && n.spreads[i].least != nil && n.originates() {
			n.Note("%s: the size of %q depends on values; the time is that of the largest, %v", n.Label, out.Name, n.Results[i].Dims)
			break
		}
	}
	for _, v := range n.In {
		if v.Least != nil {
			return fmt.Errorf("the size of %q depends on values; the host does it", v.Name), false
		}
	}
	if n.originates() {
		return fmt.Errorf("the size of its result depends on values; the host does it"), false
	}
	return fmt.Errorf("it reads sizes that depend on values; the host does it"), false
}

// corners calls visit with the node reading its inputs at their bounds: first all of them at
// their largest, then every combination of least and largest, or, of many inputs, all of them
// at their least.
func (n *nodeReader) corners(visit func(at *graph.Node)) {
	const most = 4 // inputs whose combinations are tried
	sized := false
	var spans []*graph.Value
	for _, v := range n.In {
		sized = sized || v.Least != nil
		if v.Span != nil && !slices.Contains(spans, v) {
			spans = append(spans, v)
		}
	}
	last := 1<<(1+len(spans)) - 1
	for c := 0; c <= last; c++ {
		if len(spans) > most {
			c = last * min(c, 1)
		}
		if !sized && c&1 != 0 && c != last {
			continue
		}
		at := *n.Node
		at.In = make([]*graph.Value, len(n.In))
		for i, v := range n.In {
			w := *v
			if v.Least != nil && c&1 != 0 {
				w.Dims = v.Least
			}
			if v.Span != nil {
				if w.Const = v.Span.High; c>>(1+slices.Index(spans, v))&1 != 0 {
					w.Const = v.Span.Low
				}
			}
			at.In[i] = &w
		}
		visit(&at)
	}
}

// bound infers the largest shapes of the node's results, which are n.results then, and what
// else is known of them, n.spreads.
func (n *nodeReader) bound() error {
	var least, most []graph.Result
	var failed error // of the largest inputs
	loose := false   // whether nothing is known of the least extents
	n.corners(func(at *graph.Node) {
		switch made, err := ops.Infer(at); {
		case err != nil && most == nil && failed == nil && !loose:
			failed = err
		case err != nil:
			loose = true
		case most == nil:
			most, least = cloned(made), cloned(made)
		default:
			loose = !widen(least, most, made) || loose
		}
	})
	if most == nil && n.cutsByValues() {
		if d, err := n.Dims(0); err == nil {
			most, failed = n.largestCut(d), nil
			least = cloned(most)
		}
	}
	if most == nil {
		return failed
	}
	n.Results, n.spreads = most, make([]spread, len(most))
	for i := range most {
		switch axis := n.dynamicAxis(i); {
		case loose || failed != nil || n.cutsByValues():
			clear(least[i].Dims)
		case axis >= 0:
			least[i].Dims[axis] = 0
		}
		if !slices.Equal(least[i].Dims, most[i].Dims) {
			n.spreads[i].least = least[i].Dims
		}
	}
	n.boundElements()
	return nil
}

// largestCut are the results of a node that keeps a part of a tensor of dims d.
func (n *nodeReader) largestCut(d []int) []graph.Result {
	r := []graph.Result{{Dims: slices.Clone(d), Type: n.Type(0)}}
	if n.Op == "TopK" {
		r = append(r, graph.Result{Dims: slices.Clone(d), Type: graph.Int64})
	}
	return r
}

func cloned(list []graph.Result) []graph.Result {
	out := slices.Clone(list)
	for i := range out {
		out[i].Dims = slices.Clone(out[i].Dims)
	}
	return out
}

// widen makes least and most bounds of further results, and reports whether they are: not of
// results with another number of axes.
func widen(least, most, more []graph.Result) bool {
	if len(more) != len(most) {
		return false
	}
	for i, r := range more {
		if len(r.Dims) != len(most[i].Dims) {
			return false
		}
		for k, d := range r.Dims {
			least[i].Dims[k], most[i].Dims[k] = min(least[i].Dims[k], d), max(most[i].Dims[k], d)
		}
	}
	return true
}

// mostBounded is the most elements of a tensor whose elements' bounds are kept: shapes and
// sizes are far smaller.
const mostBounded = 256

// boundElements gives the result's elements bounds if they are made of sizes that depend on
// values by an operator whose result rises or falls with each of its operands.
func (n *nodeReader) boundElements() {
	r := n.Results[0]
	if len(n.Results) != 1 || n.spreads[0].least != nil || graph.Elements(r.Dims) > mostBounded || !n.monotone() {
		return
	}
	var s *graph.Span
	sound := true
	n.corners(func(at *graph.Node) {
		made, err := ops.Infer(at)
		if !sound || err != nil || !slices.Equal(made[0].Dims, r.Dims) {
			sound = false
			return
		}
		c, err := ops.Of(at.Op).Host()(at, made)
		if err != nil || len(c) != 1 {
			sound = false
			return
		}
		v, err := c[0].Values()
		switch {
		case err != nil || len(v) != graph.Elements(r.Dims) || slices.ContainsFunc(v, func(x float64) bool { return x != x }):
			sound = false
		case s == nil:
			low, high := *c[0], *c[0]
			low.Numbers, high.Numbers = slices.Clone(v), slices.Clone(v)
			low.Half, low.Source, high.Half, high.Source = nil, nil, nil, nil
			s = &graph.Span{Low: &low, High: &high}
		default:
			for i, x := range v {
				s.Low.Numbers[i], s.High.Numbers[i] = min(s.Low.Numbers[i], x), max(s.High.Numbers[i], x)
			}
		}
	})
	if sound {
		n.spreads[0].span = s
	}
}

// monotone reports whether bounds of the node's elements follow from those of its operands:
// these are constants or have bounds, and the operator rises or falls with each of them.
func (n *nodeReader) monotone() bool {
	switch n.Op {
	case "Shape", "Size":
		return true
	}
	first := 0 // operands that may have bounds; the others are constants
	switch op := ops.Of(n.Op); {
	case op.Has(ops.RisesAll):
		first = len(n.In)
	case op.Has(ops.Rises):
		first = 1
	default:
		return false
	}
	for i, v := range n.In {
		if v.Given() && v.Const == nil && (i >= first || v.Span == nil) {
			return false
		}
	}
	return true
}

// varies notes what is known of the node's results, which the host computes.
func (n *nodeReader) varies() {
	for i, s := range n.spreads {
		if !n.Asked(i) {
			continue
		}
		if s.least != nil {
			n.Out[i].Least = s.least
		}
		if s.span != nil {
			n.Out[i].Span = s.span
		}
	}
}

// atLargest reads the node as layers of the engine, to which its inputs have their largest
// shapes.
func (n *nodeReader) atLargest() error {
	m := n.attempt()
	m.Node = &graph.Node{}
	*m.Node = *n.Node
	m.In = slices.Clone(n.In)
	for i, v := range m.In {
		if v.Least == nil {
			continue
		}
		seen := m.values.seen(v)
		seen.Least, seen.Filled = nil, true
		m.In[i] = seen
	}
	err := m.layers()
	n.macs, n.What = m.macs, m.What
	if err == nil {
		n.Results = m.Results
		m.keep()
	}
	return err
}

// noteFilled says which layers of the engine read a tensor whose size depends on values.
func (r *graphReader) noteFilled() {
	for i := range r.list.Net.Layers {
		l := &r.list.Net.Layers[i]
		if l.Reason != "" {
			continue
		}
		for k, name := range l.Inputs {
			least := r.value(name).Least
			if least == nil || r.list.Net.Cuts[name] != nil || slices.Contains(l.Inputs[:k], name) {
				continue
			}
			axis, dims := 0, r.value(name).Dims
			for axis+1 < len(dims) && least[axis] == dims[axis] {
				axis++
			}
			what := "and are left out of results"
			if r.value(name).Mixed {
				what = "and count as values"
			}
			r.list.Note("layer %s: the engine reads %q with as many rows as there may be, %d along axis %d of %v; rows beyond the actual number are zeros, %s", l.Name, name, dims[axis], axis, dims, what)
		}
	}
}
