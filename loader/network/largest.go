package network

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/choose"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/list"
)

// inferResultShape returns the shape of the node's result with the given index if its inputs have
// the shapes dims.
func (s *hostedNode) inferResultShape(index int, dims [][]int) ([]int, error) {
	n, err := s.bindInputs(nil, dims)
	var made []graph.Result
	if err == nil {
		made, err = ops.Infer(n)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.name, err)
	case index >= len(made):
		return nil, fmt.Errorf("%s: result index %d is out of range; the operator has %d results", s.name, index, len(made))
	}
	return made[index].Dims, nil
}

// canStayOnEngine reports whether engine layers produce all inputs of the node whose size varies,
// so that the engine can compute the node as well.
func (n *nodeReader) canStayOnEngine() bool {
	any := false
	for _, v := range n.In {
		if v.Span != nil || v.Least != nil && n.CutOf(v.Name) == nil {
			return false
		}
		any = any || v.Least != nil
	}
	return any && choose.Supports(n.Op) && ops.IsRowwise(n.Node)
}

// readAtLargestSize makes layers of a node that reads tensors whose size depends on values. The
// layers use the largest shapes. If no result mixes rows, the excess rows are cut off from the
// results when the network runs.
func (n *nodeReader) readAtLargestSize() error {
	m := newNodeReader(n.node.Largest, n.Builder, n.reading)
	err := m.readLayers()
	n.macs, n.What = m.macs, m.What
	if err != nil {
		return err
	}
	m.Keep()
	n.values = append(n.values, m.values...)
	for _, v := range n.In {
		// The node mixes rows, so the excess rows of its inputs would reach its results.
		if n.node.Spreads == nil && v.Least != nil {
			v.Mixed = true
		}
	}
	// The true shapes are inferred when the network runs, with the same rules as for a stage of the host.
	s := &hostedNode{name: n.Label, node: detachNode(n.Node)}
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
				return s.inferResultShape(i, dims)
			}})
		}
	}
	return nil
}

// notePaddedReads adds a note for each engine layer that reads a tensor whose size depends on
// values.
func (r *composer) notePaddedReads() {
	for i := range r.Net.Layers {
		l := &r.Net.Layers[i]
		if l.Reason != "" {
			continue
		}
		for k, name := range l.Inputs {
			least := r.findOrAddValue(name).Least
			if least == nil || r.Net.Cuts[name] != nil || slices.Contains(l.Inputs[:k], name) {
				continue
			}
			axis, dims := 0, r.findOrAddValue(name).Dims
			for axis+1 < len(dims) && least[axis] == dims[axis] {
				axis++
			}
			what := "and are left out of results"
			if r.findOrAddValue(name).Mixed {
				what = "and count as values"
			}
			r.Note("layer %s reads %q at its largest, %d along axis %d of %v; rows beyond the actual number are zeros, %s", l.Name, name, dims[axis], axis, dims, what)
		}
	}
}
