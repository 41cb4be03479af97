package network

import (
	"errors"
	"fmt"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/internal/settle"
	"anesim/loader/network/list"
)

// A hostedNode is a node that the host computes between programs of the engine.
type hostedNode struct {
	name string
	node *graph.Node    // with constants in memory and other inputs in their largest shapes
	from []origin       // sources of the node's inputs, in order
	most []graph.Result // results in their largest shapes
}

// An origin says where a stage gets an operand that is not a constant.
type origin struct {
	index  int  // index among the layer's inputs, or -1
	filled bool // whether it is padded to its largest shape
}

// detachNode returns a copy of n whose inputs hold neither constants nor references to the file's
// graph.
func detachNode(n *graph.Node) *graph.Node {
	d := *n
	d.In, d.Out = make([]*graph.Value, len(n.In)), make([]*graph.Value, len(n.Out))
	for i, v := range n.In {
		d.In[i] = &graph.Value{Name: v.Name, Dims: v.Dims, Type: v.Type}
	}
	for i, v := range n.Out {
		d.Out[i] = &graph.Value{Name: v.Name}
	}
	return &d
}

// newHostStage returns a stage in which the host computes the node, or nil if the host has no
// function for the operator. It returns an error if that function ignores something of the node. l
// is the layer that the stage replaces.
func (n *nodeReader) newHostStage(l *list.Layer) (*list.Stage, error) {
	if !settle.CanHost(n.node) {
		return nil, nil
	}
	s, h := &list.Stage{}, &hostedNode{name: n.Label, node: detachNode(n.Node), most: n.Results}
	for i, r := range n.Results {
		if !n.Asked(i) {
			continue
		}
		s.Outputs = append(s.Outputs, list.Tensor{Name: n.Out[i].Name, Dims: r.Dims, Type: r.Type.String()})
		addTensorTraffic(s, graph.Elements(r.Dims), r.Type)
	}
	l.Inputs = nil
	for i, v := range n.In {
		in := origin{index: -1, filled: v.Filled}
		c := v.Const
		switch {
		case !v.Given():
		case c != nil:
			kept, err := c.Detach()
			if err != nil {
				return nil, nil
			}
			h.node.In[i].Const = kept
		default:
			if _, ok := n.Shape(v.Name); !ok {
				return nil, nil
			}
			in.index = len(l.Inputs)
			l.Inputs = append(l.Inputs, v.Name)
			s.Inputs = append(s.Inputs, v.Dims)
		}
		h.from = append(h.from, in)
		// An embedding reads a few rows of its table, not all of it.
		if v.Given() && !(i == 0 && ops.Of(n.Op).Has(ops.Picks)) {
			addTensorTraffic(s, graph.Elements(v.Dims), v.Type)
		}
	}
	if ops.Of(n.Op).Has(ops.Picks) { // reads as much of its table as it writes
		addTensorTraffic(s, graph.Elements(n.Results[0].Dims), n.Results[0].Type)
	}
	if err := h.checkReads(s.Inputs); err != nil {
		return nil, err
	}
	s.Run = h.Run
	return s, nil
}

// maxTrial is the largest number of elements of the operands and results of a node that is tried
// while the file is read. Some functions compare all pairs.
const maxTrial = 1 << 13

// checkReads returns an *[graph.UnreadError] if the function of the host ignores an input or an
// attribute of the node. It computes a small node from zeros of the given shapes, because only a
// call shows the reads of the function. A larger node is refused when a run computes it.
func (s *hostedNode) checkReads(shapes [][]int) error {
	room := maxTrial
	for _, v := range s.node.In {
		room -= graph.Elements(v.Dims)
	}
	var in []list.Array
	for _, d := range shapes {
		if room < 0 {
			return nil
		}
		in = append(in, list.Array{Dims: d, Numbers: make([]float64, graph.Elements(d))})
	}
	for _, r := range s.most {
		room -= graph.Elements(r.Dims)
	}
	if room < 0 {
		return nil
	}
	var unread *graph.UnreadError
	if _, err := s.computeResults(in); errors.As(err, &unread) {
		return unread
	}
	return nil
}

// addTensorTraffic adds a tensor with the given number of elements of type elem to the amounts of
// data that stage s reads or writes.
func addTensorTraffic(s *list.Stage, elements int, elem graph.Type) {
	s.Elements += uint64(elements)
	s.Bytes += uint64(elements) * uint64(max(1, elem.Width()))
}

// Run computes the node for the inputs in, and returns its results. It is the Run function of a
// [list.Stage].
func (s *hostedNode) Run(in []list.Array) ([]list.Array, error) {
	out, err := s.computeResults(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return out, nil
}

// maxSort is the number of bytes that a stage may use to sort its input.
const maxSort = 1 << 30

func (s *hostedNode) computeResults(in []list.Array) ([]list.Array, error) {
	node, err := s.bindInputs(in, nil)
	if err != nil {
		return nil, err
	}
	f := ops.Of(node.Op).Host()
	if f == nil {
		return nil, fmt.Errorf("host does not implement operator %s", node.Operator())
	}
	// Shapes are known only now, so memory is bounded here a second time. A sort needs the most beyond its
	// results.
	if each := ops.SortBytes(node); each > 0 {
		if n := graph.Elements(node.In[0].Dims); n > maxSort/each {
			return nil, fmt.Errorf("cannot sort %d elements; want at most %d", n, maxSort/each)
		}
	}
	// The engine's tensors have the largest shapes that reading inferred. A larger result would not fit
	// the layer that reads it.
	made, err := ops.Infer(node)
	if err != nil {
		return nil, err
	}
	for i, r := range made {
		if i < len(s.most) && graph.Elements(r.Dims) > graph.Elements(s.most[i].Dims) {
			return nil, fmt.Errorf("result %d has shape %v; want at most %d elements", i, r.Dims, graph.Elements(s.most[i].Dims))
		}
	}
	var results []*graph.Const
	err = node.Apply(func() (err error) {
		results, err = f(node, made)
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []list.Array
	for i, v := range s.node.Out {
		name := v.Name
		if name == "" || i >= len(s.most) {
			continue
		}
		if i >= len(results) || results[i] == nil {
			return nil, fmt.Errorf("result %q was not computed", name)
		}
		v, err := results[i].Values()
		if err != nil {
			return nil, err
		}
		if len(v) != graph.Elements(results[i].Dims) || len(v) > graph.Elements(s.most[i].Dims) {
			return nil, fmt.Errorf("result %q has %d elements; want %d for shape %v, and at most %d", name, len(v), graph.Elements(results[i].Dims), results[i].Dims, graph.Elements(s.most[i].Dims))
		}
		out = append(out, list.Array{Dims: results[i].Dims, Numbers: v})
	}
	return out, nil
}

// bindInputs returns the stage's node with the arrays in as constant inputs. If shapes is given,
// the node has inputs of these shapes without values instead.
func (s *hostedNode) bindInputs(in []list.Array, shapes [][]int) (*graph.Node, error) {
	n := *s.node
	n.In = make([]*graph.Value, len(s.node.In))
	for i, x := range s.from {
		// Copies, because several runs of a network may use the stage at the same time.
		v := *s.node.In[i]
		n.In[i] = &v
		switch {
		case !v.Given(), shapes != nil && v.Const != nil:
			continue
		case shapes != nil:
			if len(shapes[x.index]) != len(v.Dims) {
				return nil, fmt.Errorf("input %q has shape %v; want %d axes", v.Name, shapes[x.index], len(v.Dims))
			}
			v.Shape(shapes[x.index])
			continue
		case v.Const != nil && v.Const.Absent():
			return nil, fmt.Errorf("values of input %q are in a file that was not read", v.Name)
		case v.Const == nil && x.index >= len(in):
			return nil, fmt.Errorf("input %q is missing", v.Name)
		case v.Const == nil && len(in[x.index].Numbers) != graph.Elements(in[x.index].Dims):
			return nil, fmt.Errorf("input %q has %d values; want %d for shape %v", v.Name, len(in[x.index].Numbers), graph.Elements(in[x.index].Dims), in[x.index].Dims)
		case v.Const == nil && len(in[x.index].Numbers) > graph.Elements(v.Dims):
			return nil, fmt.Errorf("input %q has shape %v; want at most %d elements", v.Name, in[x.index].Dims, graph.Elements(v.Dims))
		case v.Const == nil:
			a := in[x.index]
			if x.filled {
				var err error
				if a, err = a.Filled(v.Dims); err != nil {
					return nil, fmt.Errorf("%q: %w", v.Name, err)
				}
			}
			v.Set(&graph.Const{Dims: a.Dims, Type: v.Type, Numbers: a.Numbers})
		}
	}
	return &n, nil
}
