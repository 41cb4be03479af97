package network

import (
	"errors"
	"fmt"

	"anesim/loader/network/list"
	"anesim/loader/network/onnx"
)

// A hosted node is one that the host works out.
type hosted struct {
	name   string
	node   *onnx.Node
	opset  int64
	inputs []source // of the node's inputs, in order
	most   []result // its results at their largest
}

// A source is where an operand of a stage comes from: a constant, or the layer's input of an
// index, -1 for none.
type source struct {
	index    int
	constant *constant
	dims     []int
	elem     onnx.DataType
	filled   bool // whether it is read in its largest shape
}

// mostStaged is the most elements of a result that a stage works out.
const mostStaged = 1 << 26

// stage makes the node one that the host works out, nil where that has no function for it
// either. why is what keeps it from the engine.
func (n *nodeReader) stage(l *list.Layer) *list.Stage {
	if n.results == nil || n.folder() == nil && (n.spreads == nil || n.sizedFolder() == nil) {
		return nil
	}
	switch n.Op {
	case "Dropout": // what the engine refuses of it is training
		return nil
	case "Tan": // what stands between it and the engine is rounded, which its poles make large
		return nil
	}
	s, h := &list.Stage{}, &hosted{name: n.name, node: n.Node, opset: n.opset, most: n.results}
	for i, r := range n.results {
		if e := elements(r.dims); e == 0 || e > mostStaged || r.elem.Width() == 0 {
			return nil
		}
		if i >= len(n.Outputs) || n.Outputs[i] == "" {
			continue
		}
		s.Outputs = append(s.Outputs, list.Tensor{Name: n.Outputs[i], Dims: r.dims, Type: r.elem.String()})
		count(s, elements(r.dims), r.elem)
	}
	l.Inputs = nil
	for i, name := range n.Inputs {
		in := source{index: -1, dims: n.dims[name], elem: n.types[name], filled: n.filled[name]}
		c := n.constants[name]
		switch {
		case name == "":
		case c != nil:
			kept, err := c.kept()
			if err != nil {
				return nil
			}
			in.constant = kept
		default:
			if _, ok := n.Shapes[name]; !ok {
				return nil
			}
			in.index = len(l.Inputs)
			l.Inputs = append(l.Inputs, name)
			s.Inputs = append(s.Inputs, in.dims)
		}
		h.inputs = append(h.inputs, in)
		if name != "" && !(i == 0 && n.picks()) {
			count(s, elements(in.dims), in.elem)
		}
	}
	if n.picks() { // as much of its table as it makes
		count(s, elements(n.results[0].dims), n.results[0].elem)
	}
	s.Run = h.Run
	return s
}

// count adds a tensor that a stage reads or makes.
func count(s *list.Stage, elements int, elem onnx.DataType) {
	s.Elements += uint64(elements)
	s.Bytes += uint64(elements) * uint64(max(1, elem.Width()))
}

// picks reports whether the operator reads only what it picks of its first input.
func (n *nodeReader) picks() bool {
	switch n.Op {
	case "Gather", "GatherND", "GatherElements":
		return true
	}
	return false
}

// kept is the constant with its values in memory, once the file is closed: those with a
// fraction in fp16, as all that reaches the engine is. An absent one stays without.
func (c *constant) kept() (*constant, error) {
	switch {
	case c.tensor == nil, c.absent():
		return c, nil
	case c.elem.IsFloat():
		h, err := c.fp16()
		return &constant{dims: c.dims, elem: c.elem, half: h}, err
	}
	v, err := c.values()
	return &constant{dims: c.dims, elem: c.elem, numbers: v}, err
}

// Run is the stage's, see [list.Stage].
func (s *hosted) Run(in []list.Array) ([]list.Array, error) {
	out, err := s.run(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return out, nil
}

func (s *hosted) run(in []list.Array) ([]list.Array, error) {
	n, err := s.reader(in, nil)
	if err != nil {
		return nil, err
	}
	f := n.sizedFolder()
	if f == nil {
		return nil, errors.New("the host has no function for it")
	}
	if err := n.infer(); err != nil {
		return nil, err
	}
	for i, r := range n.results {
		if i < len(s.most) && elements(r.dims) > elements(s.most[i].dims) {
			return nil, fmt.Errorf("result %d has shape %v; its largest is %v", i, r.dims, s.most[i].dims)
		}
	}
	results, err := f(n)
	if err != nil {
		return nil, err
	}
	var out []list.Array
	for i, name := range s.node.Outputs {
		if name == "" || i >= len(s.most) {
			continue
		}
		if i >= len(results) || results[i] == nil {
			return nil, fmt.Errorf("%q is not worked out", name)
		}
		v, err := results[i].values()
		if err != nil {
			return nil, err
		}
		if len(v) != elements(results[i].dims) || len(v) > elements(s.most[i].dims) {
			return nil, fmt.Errorf("%q has %d elements of shape %v; its largest shape is %v", name, len(v), results[i].dims, s.most[i].dims)
		}
		out = append(out, list.Array{Dims: results[i].dims, Numbers: v})
	}
	return out, nil
}

// reader returns a reader of the stage's node to which all inputs are constants, or, where shapes
// are given instead, have these.
func (s *hosted) reader(in []list.Array, shapes [][]int) (*nodeReader, error) {
	r := &graphReader{
		Builder: list.NewBuilder(), opset: s.opset, constants: map[string]*constant{}, dims: map[string][]int{},
		types: map[string]onnx.DataType{}, budget: maxFolded,
	}
	for i, x := range s.inputs {
		name := s.node.Inputs[i]
		c := x.constant
		switch {
		case name == "":
			continue
		case shapes != nil:
			if r.types[name], r.dims[name] = x.elem, x.dims; c != nil {
				r.constants[name] = c
			} else if r.dims[name] = shapes[x.index]; len(shapes[x.index]) != len(x.dims) {
				return nil, fmt.Errorf("%q has shape %v; its largest is %v", name, shapes[x.index], x.dims)
			}
			continue
		case c != nil && c.absent():
			return nil, fmt.Errorf("the values of %q stand in a file that was not read", name)
		case c == nil && (x.index >= len(in) || len(in[x.index].Numbers) != elements(in[x.index].Dims) || len(in[x.index].Numbers) > elements(x.dims)):
			return nil, fmt.Errorf("%q has no values of shape %v", name, x.dims)
		case c == nil:
			a := in[x.index]
			if x.filled {
				var err error
				if a, err = a.Filled(x.dims); err != nil {
					return nil, fmt.Errorf("%q: %w", name, err)
				}
			}
			c = &constant{dims: a.Dims, elem: x.elem, numbers: a.Numbers}
		}
		r.constants[name], r.dims[name], r.types[name] = c, c.dims, c.elem
	}
	return &nodeReader{graphReader: r, Node: s.node, name: s.name}, nil
}
