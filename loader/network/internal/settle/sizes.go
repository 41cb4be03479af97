package settle

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// maxStaged is the largest number of elements that a result of a host stage may have.
const maxStaged = 1 << 25

// settleDynamicNode settles a node that reads or produces a tensor whose size depends on values,
// and reports whether it did. If the host has a function for the operator, it computes the node in
// the sizes of a run, unless the engine can continue with its own results. Otherwise, the engine
// reads the tensor at its largest size.
func (s *settler) settleDynamicNode(n *Node) (bool, error) {
	reads := slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Least != nil })
	done, err := s.settleHostedNode(n)
	if err != nil || n.Kind == Constant {
		return true, err
	}
	if !reads {
		return done, nil
	}
	if !done {
		return true, s.settleLargestNode(n)
	}
	if !ops.IsRowwise(n.Node) || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Span != nil }) {
		return true, nil
	}
	out := make([]*graph.Value, len(n.Out)) // the results of the host have the same names
	for i, v := range n.Out {
		out[i] = &graph.Value{Name: v.Name, Stated: v.Stated}
	}
	if m := s.newLargestNode(n, out); m.Err == nil && !shapesDiffer(out, n.Results) {
		for i, v := range n.Out {
			renameTensor([]*Node{m}, out[i], v)
		}
		n.Largest = m
	}
	return true, nil
}

// shapesDiffer reports whether a tensor in out has another shape than the element of results with
// the same index.
func shapesDiffer(out []*graph.Value, results []graph.Result) bool {
	for i, v := range out {
		if v.Given() && (i >= len(results) || !slices.Equal(v.Dims, results[i].Dims)) {
			return true
		}
	}
	return false
}

// settleHostedNode settles a node that the host computes because a size depends on values, and
// reports whether it did. A node whose result is always the same becomes a constant, such as the
// extent of an axis that does not vary.
func (s *settler) settleHostedNode(n *Node) (bool, error) {
	if !ops.IsDynamic(n.Node) || ops.Of(n.Op).Host() == nil || slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Scale > 1 }) {
		return false, nil
	}
	if !slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Given() && v.Const == nil }) {
		return false, nil // fold has refused these constants for another reason
	}
	results, spreads, err := ops.InferBounds(n.Node)
	if err != nil {
		return false, err
	}
	constant := false
	for i, x := range spreads {
		if e := graph.Elements(results[i].Dims); e == 0 || e > maxStaged {
			return false, nil
		}
		constant = i == 0 && x.Span != nil && slices.Equal(x.Span.Low.Numbers, x.Span.High.Numbers)
	}
	if constant && len(spreads) == 1 {
		return true, setConstantResults(n, spreads[0].Span.Low)
	}
	n.Results, n.Bound, n.Spreads = results, results, spreads
	n.Host = n.newHostReason()
	for i, out := range n.Out {
		if i < len(spreads) && spreads[i].Least != nil && ops.MakesDynamic(n.Node) {
			n.Notes = append(n.Notes, fmt.Sprintf("%s: size of %q depends on values; the time is for the largest, %v", n.Label, out.Name, results[i].Dims))
			break
		}
	}
	for i, x := range spreads {
		if !n.Asked(i) || !CanHost(n) || !graph.FitsEngine(results[i].Dims) {
			continue // a result that does not fit gets no bounds
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

// newHostReason returns an error that says why the host computes the node.
func (n *Node) newHostReason() error {
	for _, v := range n.In {
		if v.Least != nil {
			return fmt.Errorf("size of tensor %q depends on tensor values, so the host computes the node", v.Name)
		}
	}
	if ops.MakesDynamic(n.Node) {
		return errors.New("result size depends on tensor values, so the host computes the node")
	}
	return errors.New("node reads sizes that depend on tensor values, so the host computes it")
}

// settleLargestNode settles a node that the engine computes with its inputs at their largest sizes.
// If no result mixes rows, it also sets the least extents of the results.
func (s *settler) settleLargestNode(n *Node) error {
	if ops.IsRowwise(n.Node) {
		n.Bound, n.Spreads, _ = ops.InferBounds(n.Node)
	}
	n.Largest = s.newLargestNode(n, n.Out)
	if n.Largest.Err != nil {
		return n.Largest.Err
	}
	_ = inferResults(n) // for the host, in case the engine cannot run it
	for i, x := range n.Spreads {
		if n.Asked(i) && x.Least != nil && slices.Equal(n.Out[i].Dims, n.Bound[i].Dims) {
			n.Out[i].Least = x.Least
		}
	}
	return nil
}

// newLargestNode returns a copy of n that reads inputs at their largest sizes and produces the
// tensors out.
func (s *settler) newLargestNode(n *Node, out []*graph.Value) *Node {
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
	m.Err = s.settleEngineNode(m)
	if m.Err == nil && m.Body == nil {
		setShapes(m)
	}
	return m
}

// CanHost reports whether the host can compute n. It needs a function for the operator, and results
// that are neither empty nor too large. A function that rounds differently from the engine counts
// only if a size depends on values.
func CanHost(n *Node) bool {
	op := ops.Of(n.Op)
	if n.Results == nil || op.Fold == nil && (n.Host == nil || op.Sized == nil) {
		return false
	}
	switch n.Op {
	case "Dropout": // the engine only refuses training
		return false
	case "Tan": // its input is rounded to fp16, an error that grows near the poles
		return false
	}
	return !slices.ContainsFunc(n.Results, func(r graph.Result) bool {
		e := graph.Elements(r.Dims)
		return e == 0 || e > maxStaged || r.Type.Width() == 0
	})
}
