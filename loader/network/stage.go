package network

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// A Stage is a node that the host works out between two programs, as the vendor's framework
// has the CPU do what the engine has no form for: rows of a table by computed places, sorting,
// arithmetic on whole numbers. Its layer's Reason says why the engine does not do it.
//
// The sizes of some results depend on values: Elements, Bytes, Inputs and Outputs are
// those of the largest, and [Stage.Run] gives the actual ones.
type Stage struct {
	Elements uint64  // that it reads and makes
	Bytes    uint64  // of them in the file's types
	Inputs   [][]int // shapes of the layer's inputs
	Outputs  []Tensor

	name string
	node *graph.Node    // with its constants in memory, its other inputs at their largest
	from []origin       // of the node's inputs, in order
	most []graph.Result // its results at their largest
}

// An Array is numbers in a shape, the last axis first.
type Array struct {
	Dims    []int
	Numbers []float64
}

// Filled returns the array in a shape that has as many axes and nowhere less room, with zeros
// where a has no elements.
func (a Array) Filled(dims []int) (Array, error) {
	if err := a.check(a.Dims, dims); err != nil || slices.Equal(a.Dims, dims) {
		return a, err
	}
	out := Array{dims, make([]float64, graph.Elements(dims))}
	graph.Each(a.Dims, graph.Strides(dims), 0, func(i, at int) { out.Numbers[at] = a.Numbers[i] })
	return out, nil
}

// Cut returns the first elements of every axis, as many as dims says.
func (a Array) Cut(dims []int) (Array, error) {
	if err := a.check(dims, a.Dims); err != nil || slices.Equal(a.Dims, dims) {
		return a, err
	}
	out := Array{dims, make([]float64, graph.Elements(dims))}
	graph.Each(dims, graph.Strides(a.Dims), 0, func(i, at int) { out.Numbers[i] = a.Numbers[at] })
	return out, nil
}

// check makes sure that the array has its numbers and that large has room for small.
func (a Array) check(small, large []int) error {
	if len(a.Numbers) != graph.Elements(a.Dims) {
		return fmt.Errorf("%d numbers of shape %v", len(a.Numbers), a.Dims)
	}
	if len(small) != len(large) {
		return fmt.Errorf("shape %v has no room for %v", large, small)
	}
	for i, d := range small {
		if d > large[i] {
			return fmt.Errorf("shape %v has no room for %v", large, small)
		}
	}
	return nil
}

// An origin is where an operand of a stage comes from if it is no constant.
type origin struct {
	index  int  // among the layer's inputs, -1 for none
	filled bool // whether it is read in its largest shape
}

// detached is a copy of a node that keeps nothing of the file's graph, nor its constants.
func detached(n *graph.Node) *graph.Node {
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

// mostStaged is the most elements of a result that a stage works out.
const mostStaged = 1 << 26

// stage makes the node one that the host works out, nil where that has no function for it
// either. why is what keeps it from the engine.
func (n *nodeReader) stage(l *Layer) *Stage {
	if n.results == nil || ops.Of(n.Op).Fold == nil && (n.spreads == nil || ops.Of(n.Op).Sized == nil) {
		return nil
	}
	switch n.Op {
	case "Dropout": // what the engine refuses of it is training
		return nil
	case "Tan": // what stands between it and the engine is rounded, which its poles make large
		return nil
	}
	s := &Stage{name: n.name, node: detached(n.Node), most: n.results}
	for i, r := range n.results {
		if e := graph.Elements(r.Dims); e == 0 || e > mostStaged || r.Type.Width() == 0 {
			return nil
		}
		if !n.Asked(i) {
			continue
		}
		s.Outputs = append(s.Outputs, Tensor{Name: n.Out[i].Name, Dims: r.Dims, Type: r.Type.String()})
		s.count(graph.Elements(r.Dims), r.Type)
	}
	l.Inputs = nil
	for i, v := range n.In {
		in := origin{index: -1, filled: v.Filled}
		c := v.Const
		switch {
		case !v.Given():
		case c != nil:
			kept, err := c.Kept()
			if err != nil {
				return nil
			}
			s.node.In[i].Const = kept
		default:
			if _, ok := n.tensors[v.Name]; !ok {
				return nil
			}
			in.index = len(l.Inputs)
			l.Inputs = append(l.Inputs, v.Name)
			s.Inputs = append(s.Inputs, v.Dims)
		}
		s.from = append(s.from, in)
		if v.Given() && !(i == 0 && ops.Of(n.Op).Has(ops.Picks)) {
			s.count(graph.Elements(v.Dims), v.Type)
		}
	}
	if ops.Of(n.Op).Has(ops.Picks) { // as much of its table as it makes
		s.count(graph.Elements(n.results[0].Dims), n.results[0].Type)
	}
	return s
}

func (s *Stage) count(elements int, elem graph.Type) {
	s.Elements += uint64(elements)
	s.Bytes += uint64(elements) * uint64(max(1, elem.Width()))
}

// Run computes the stage on its layer's inputs, in order. The results are in the order of
// Outputs, each in the shape that it has for these inputs. Errors have the node's name.
func (s *Stage) Run(in []Array) ([]Array, error) {
	out, err := s.run(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return out, nil
}

func (s *Stage) run(in []Array) ([]Array, error) {
	node, err := s.at(in, nil)
	if err != nil {
		return nil, err
	}
	f := ops.Of(node.Op).Host()
	if f == nil {
		return nil, errors.New("the host has no function for it")
	}
	made, err := ops.Infer(node)
	if err != nil {
		return nil, err
	}
	for i, r := range made {
		if i < len(s.most) && graph.Elements(r.Dims) > graph.Elements(s.most[i].Dims) {
			return nil, fmt.Errorf("result %d has shape %v; its largest is %v", i, r.Dims, s.most[i].Dims)
		}
	}
	results, err := f(node, made)
	if err != nil {
		return nil, err
	}
	var out []Array
	for i, v := range s.node.Out {
		name := v.Name
		if name == "" || i >= len(s.most) {
			continue
		}
		if i >= len(results) || results[i] == nil {
			return nil, fmt.Errorf("%q is not worked out", name)
		}
		v, err := results[i].Values()
		if err != nil {
			return nil, err
		}
		if len(v) != graph.Elements(results[i].Dims) || len(v) > graph.Elements(s.most[i].Dims) {
			return nil, fmt.Errorf("%q has %d elements of shape %v; its largest shape is %v", name, len(v), results[i].Dims, s.most[i].Dims)
		}
		out = append(out, Array{results[i].Dims, v})
	}
	return out, nil
}

// at returns the stage's node with all inputs as constants, or, if shapes are given instead, in
// these.
func (s *Stage) at(in []Array, shapes [][]int) (*graph.Node, error) {
	n := *s.node
	n.In = make([]*graph.Value, len(s.node.In))
	for i, x := range s.from {
		v := *s.node.In[i]
		n.In[i] = &v
		switch {
		case !v.Given(), shapes != nil && v.Const != nil:
			continue
		case shapes != nil:
			if len(shapes[x.index]) != len(v.Dims) {
				return nil, fmt.Errorf("%q has shape %v; its largest is %v", v.Name, shapes[x.index], v.Dims)
			}
			v.Shape(shapes[x.index])
			continue
		case v.Const != nil && v.Const.Absent():
			return nil, fmt.Errorf("the values of %q stand in a file that was not read", v.Name)
		case v.Const == nil && (x.index >= len(in) || len(in[x.index].Numbers) != graph.Elements(in[x.index].Dims) || len(in[x.index].Numbers) > graph.Elements(v.Dims)):
			return nil, fmt.Errorf("%q has no values of shape %v", v.Name, v.Dims)
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

// stages orders layers so that the host's stages do not cut a program where they need not:
// those that rest on nothing the engine makes go ahead of all, those on whose results no
// layer of the engine rests behind all. All else keeps its order.
func (b *builder) stages() {
	n := &b.net
	if !slices.ContainsFunc(n.Layers, func(l Layer) bool { return l.Host != nil }) {
		return
	}
	const ahead, between, behind = 0, 1, 2
	place := make([]int, len(n.Layers))
	engine := map[string]bool{} // tensors that rest on the engine
	for i := range n.Layers {
		l := &n.Layers[i]
		place[i] = between
		if l.Host != nil && !slices.ContainsFunc(l.Inputs, func(in string) bool { return engine[in] }) {
			place[i] = ahead
			continue
		}
		for _, out := range append([]string{l.Output}, l.Others...) {
			engine[out] = true
		}
	}
	read := map[string]bool{} // tensors that a layer between reads
	for i := len(n.Layers) - 1; i >= 0; i-- {
		l := &n.Layers[i]
		if place[i] == between && l.Host != nil && !slices.ContainsFunc(append([]string{l.Output}, l.Others...), func(out string) bool { return read[out] }) {
			place[i] = behind
			continue
		}
		for _, in := range l.Inputs {
			read[in] = true
		}
	}
	var sorted []Layer
	for _, p := range [...]int{ahead, between, behind} {
		for i := range n.Layers {
			if place[i] == p {
				sorted = append(sorted, n.Layers[i])
			}
		}
	}
	n.Layers = sorted
}
