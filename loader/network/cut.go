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
	return any && choose.Takes(n.Op) && ops.RowByRow(n.Node)
}

// onEngine reads a node with inputs whose size depends on values as layers of the engine, which
// have the largest shapes. Where no result mixes rows it is known how many of them are actual.
func (n *nodeReader) onEngine() error {
	apart := ops.RowByRow(n.Node)
	if apart {
		apart = n.bound() == nil
	}
	spreads, results := n.spreads, n.Results
	n.spreads, n.Results = nil, nil
	if err := n.atLargest(); err != nil {
		return err
	}
	for _, v := range n.In {
		if !apart && v.Least != nil {
			v.Mixed = true
		}
	}
	if !apart {
		return nil
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
	for i, x := range spreads {
		if !n.Asked(i) || x.Least == nil || !slices.Equal(n.Out[i].Dims, results[i].Dims) {
			continue
		}
		n.Out[i].Least = x.Least
		n.SetCut(n.Out[i].Name, &list.Cut{Dims: results[i].Dims, Inputs: names, Largest: largest, Shape: func(dims [][]int) ([]int, error) {
			return s.shapeOfResult(i, dims)
		}})
	}
	return nil
}
