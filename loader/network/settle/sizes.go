package settle

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// MostStaged is the most elements of a result that the host works out.
const MaxStaged = 1 << 26

// sized settles a node that reads or makes a tensor whose size depends on values, and reports
// whether it did. Where the host has a function for the operator it computes the node, in the
// sizes of a run, unless the engine goes on with what it has computed itself. Where the host
// has none the engine reads the tensor at its largest.
func (s *settler) settleDynamic(n *Node) (bool, error) {
	reads := slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Least != nil })
	done, err := s.settleHosted(n)
	if err != nil || n.Kind == Constant {
		return true, err
	}
	if !reads {
		return done, nil
	}
	if !done {
		return true, s.settleAtLargest(n)
	}
	if !ops.IsRowwise(n.Node) || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Span != nil }) {
		return true, nil
	}
	out := make([]*graph.Value, len(n.Out)) // those of the host are the same
	for i, v := range n.Out {
		out[i] = &graph.Value{Name: v.Name, Stated: v.Stated}
	}
	if m := s.atLargest(n, out); m.Err == nil && !shapesDiffer(out, n.Results) {
		for i, v := range n.Out {
			rename([]*Node{m}, out[i], v)
		}
		n.Largest = m
	}
	return true, nil
}

// differs reports whether tensors have other shapes than results.
func shapesDiffer(out []*graph.Value, results []graph.Result) bool {
	for i, v := range out {
		if v.Given() && (i >= len(results) || !slices.Equal(v.Dims, results[i].Dims)) {
			return true
		}
	}
	return false
}

// hosted settles a node that the host computes because a size depends on values, and reports
// whether it does. The node is a constant instead where that is, as the extent of an axis that
// is always the same.
func (s *settler) settleHosted(n *Node) (bool, error) {
	if !ops.IsDynamic(n.Node) || ops.Of(n.Op).Host() == nil || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Scale > 1 }) {
		return false, nil
	}
	if !slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Given() && v.Const == nil }) {
		return false, nil // constants, which fold refused for a reason of its own
	}
	results, spreads, err := ops.InferBounds(n.Node)
	if err != nil {
		return false, err
	}
	constant := false
	for i, x := range spreads {
		if e := graph.Elements(results[i].Dims); e == 0 || e > MaxStaged {
			return false, nil
		}
		constant = i == 0 && x.Span != nil && slices.Equal(x.Span.Low.Numbers, x.Span.High.Numbers)
	}
	if constant && len(spreads) == 1 {
		return true, makeConstant(n, spreads[0].Span.Low)
	}
	n.Results, n.Bound, n.Spreads = results, results, spreads
	n.Host = n.hostReason()
	for i, out := range n.Out {
		if i < len(spreads) && spreads[i].Least != nil && ops.MakesDynamic(n.Node) {
			n.Notes = append(n.Notes, fmt.Sprintf("%s: the size of %q depends on values; the time is that of the largest, %v", n.Label, out.Name, results[i].Dims))
			break
		}
	}
	for i, x := range spreads {
		if !n.Asked(i) || !CanHost(n) || !graph.FitsEngine(results[i].Dims) {
			continue // a result that does not fit gets no extents
		}
		if x.Least != nil {
			n.Out[i].Least = x.Least
		}
		if x.Span != nil {
			n.Out[i].Span = x.Span
		}
	}
	return true, nil
}

// whyHosted says why the host computes the node.
func (n *Node) hostReason() error {
	for _, v := range n.In {
		if v.Least != nil {
			return fmt.Errorf("the size of %q depends on values; the host does it", v.Name)
		}
	}
	if ops.MakesDynamic(n.Node) {
		return errors.New("the size of its result depends on values; the host does it")
	}
	return errors.New("it reads sizes that depend on values; the host does it")
}

// atLargest settles a node that the engine computes, with its inputs at their largest. Where no
// result mixes rows it is known how many of them are actual.
func (s *settler) settleAtLargest(n *Node) error {
	if ops.IsRowwise(n.Node) {
		n.Bound, n.Spreads, _ = ops.InferBounds(n.Node)
	}
	n.Largest = s.atLargest(n, n.Out)
	if n.Largest.Err != nil {
		return n.Largest.Err
	}
	_ = inferResults(n) // for the host, where the engine does not do it
	for i, x := range n.Spreads {
		if n.Asked(i) && x.Least != nil && slices.Equal(n.Out[i].Dims, n.Bound[i].Dims) {
			n.Out[i].Least = x.Least
		}
	}
	return nil
}

// largest is the node with its inputs at their largest, which makes tensors out.
func (s *settler) atLargest(n *Node, out []*graph.Value) *Node {
	own := *n.Node
	own.In, own.Out = slices.Clone(n.In), out
	for i, v := range own.In {
		if v.Least != nil {
			seen := *v
			seen.Least, seen.Filled = nil, true
			own.In[i] = &seen
		}
	}
	m := &Node{Node: &own, Label: n.Label}
	m.Err = s.settleOpen(m)
	if m.Err == nil && m.Body == nil {
		setShapes(m)
	}
	return m
}

// Hosts reports whether the host has a function for the node. Of an operator that the engine
// rounds otherwise it has one for tensors whose size depends on values alone.
func CanHost(n *Node) bool {
	op := ops.Of(n.Op)
	if n.Results == nil || op.Fold == nil && (n.Host == nil || op.Sized == nil) {
		return false
	}
	switch n.Op {
	case "Dropout": // what the engine refuses of it is training
		return false
	case "Tan": // what stands between it and the engine is rounded, which its poles make large
		return false
	}
	return !slices.ContainsFunc(n.Results, func(r graph.Result) bool {
		e := graph.Elements(r.Dims)
		return e == 0 || e > MaxStaged || r.Type.Width() == 0
	})
}
