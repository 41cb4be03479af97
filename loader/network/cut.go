package network

import (
	"fmt"
	"slices"

	"anesim/loader/network/choose"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/ops"
)

// shapeOfResult returns the shape of a result for inputs of the shapes dims.
func (s *hosted) shapeOfResult(index int, dims [][]int) ([]int, error) {
	n, err := s.at(nil, dims)
	var made []graph.Result
	if err == nil {
		made, err = ops.Infer(n)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.name, err)
	case index >= len(made):
		return nil, fmt.Errorf("%s: no result %d", s.name, index)
	}
	return made[index].Dims, nil
}

// followsEngine reports whether all that varies among the node's inputs is from the engine, which
// then goes on with it.
func (n *nodeReader) followsEngine() bool {
	any := false
	for _, v := range n.In {
		if v.Span != nil || v.Least != nil && n.CutOf(v.Name) == nil {
			return false
		}
		any = any || v.Least != nil
	}
	return any && choose.Supports(n.Op) && ops.IsRowwise(n.Node)
}

// onEngine makes layers of a node with inputs whose size depends on values: to them these have
// their largest shapes. Where no result mixes rows it is known how many of them are actual.
func (n *nodeReader) onEngine() error {
	m := newNodeReader(n.node.Largest, n.Builder, n.reading)
	err := m.read()
	n.macs, n.What = m.macs, m.What
	if err != nil {
		return err
	}
	m.Keep()
	n.values = append(n.values, m.values...)
	for _, v := range n.In {
		if n.node.Spreads == nil && v.Least != nil {
			v.Mixed = true
		}
	}
	s := &hosted{name: n.Label, node: detached(n.Node)}
	var names []string
	var largest [][]int
	for i, v := range n.In {
		s.node.In[i].Const = v.Const
		in := origin{index: -1}
		if v.Const == nil && v.Given() {
			in.index = len(names)
			names, largest = append(names, v.Name), append(largest, v.Dims)
		}
		s.from = append(s.from, in)
	}
	for i, x := range n.node.Spreads {
		if d := n.node.Bound[i].Dims; n.Asked(i) && x.Least != nil && slices.Equal(n.Out[i].Dims, d) {
			n.SetCut(n.Out[i].Name, &list.Cut{Dims: d, Inputs: names, Largest: largest, Shape: func(dims [][]int) ([]int, error) {
				return s.shapeOfResult(i, dims)
			}})
		}
	}
	return nil
}

// noteFilled says which layers of the engine read a tensor whose size depends on values.
func (r *composer) noteFilled() {
	for i := range r.Net.Layers {
		l := &r.Net.Layers[i]
		if l.Reason != "" {
			continue
		}
		for k, name := range l.Inputs {
			least := r.value(name).Least
			if least == nil || r.Net.Cuts[name] != nil || slices.Contains(l.Inputs[:k], name) {
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
			r.Note("layer %s: the engine reads %q with as many rows as there may be, %d along axis %d of %v; rows beyond the actual number are zeros, %s", l.Name, name, dims[axis], axis, dims, what)
		}
	}
}
