package network

import (
	"fmt"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// host returns why the host computes the node if it does so because a size depends on values,
// and whether the node is a constant instead, as the extent of an axis that is always the same
// is. Where the host has no function for the node both are zero: the engine reads the operand
// in its largest shape, filled with zeros.
func (n *nodeReader) host() (why error, constant bool) {
	if !ops.Dynamic(n.Node) || ops.Of(n.Op).Host() == nil || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Scale > 1 }) {
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
		constant = i == 0 && s.Span != nil && slices.Equal(s.Span.Low.Numbers, s.Span.High.Numbers)
	}
	if constant && len(n.spreads) == 1 {
		return nil, n.become(n.spreads[0].Span.Low) == nil
	}
	for i, out := range n.Out {
		if i < len(n.spreads) && n.spreads[i].Least != nil && ops.Originates(n.Node) {
			n.Note("%s: the size of %q depends on values; the time is that of the largest, %v", n.Label, out.Name, n.Results[i].Dims)
			break
		}
	}
	for _, v := range n.In {
		if v.Least != nil {
			return fmt.Errorf("the size of %q depends on values; the host does it", v.Name), false
		}
	}
	if ops.Originates(n.Node) {
		return fmt.Errorf("the size of its result depends on values; the host does it"), false
	}
	return fmt.Errorf("it reads sizes that depend on values; the host does it"), false
}

// bound infers the largest shapes of the node's results, and what else is known of them.
func (n *nodeReader) bound() error {
	results, spreads, err := ops.Bound(n.Node)
	if err == nil {
		n.Results, n.spreads = results, spreads
	}
	return err
}

// varies notes what is known of the node's results, which the host computes.
func (n *nodeReader) varies() {
	for i, s := range n.spreads {
		if !n.Asked(i) {
			continue
		}
		if s.Least != nil {
			n.Out[i].Least = s.Least
		}
		if s.Span != nil {
			n.Out[i].Span = s.Span
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
