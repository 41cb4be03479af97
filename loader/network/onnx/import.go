package onnx

import "anesim/loader/network/graph"

// Import states the model as a graph. Packings are how the file holds some of its constants.
func (m *Model) Import(packings map[*Tensor]*graph.Packing) *graph.Model {
	x := &importer{opset: m.Opsets[""], packings: packings, values: map[string]*graph.Value{}}
	g := &graph.Model{Graph: *x.graph(&m.Graph), Name: m.Name, Inputs: m.Inputs, Results: m.Outputs, Values: x.values}
	for name, v := range m.Known {
		x.value(name).Stated = v.Sizes()
	}
	return g
}

// An importer has the tensors of a model, those of all its branches together.
type importer struct {
	opset    int64
	packings map[*Tensor]*graph.Packing
	values   map[string]*graph.Value
}

// value is the tensor of a name; one without a name is nobody else's.
func (x *importer) value(name string) *graph.Value {
	if name == "" {
		return &graph.Value{}
	}
	v := x.values[name]
	if v == nil {
		v = &graph.Value{Name: name}
		x.values[name] = v
	}
	return v
}

func (x *importer) list(names []string) (values []*graph.Value) {
	for _, name := range names {
		values = append(values, x.value(name))
	}
	return values
}

func (x *importer) graph(g *Graph) *graph.Graph {
	out := &graph.Graph{Consts: make(map[string]*graph.Const, len(g.Constants))}
	for name, t := range g.Constants {
		out.Consts[name] = t.stored()
		out.Consts[name].Packing = x.packings[t]
	}
	for i := range g.Nodes {
		out.Nodes = append(out.Nodes, x.node(&g.Nodes[i]))
	}
	for _, v := range g.Outputs {
		out.Outputs = append(out.Outputs, x.value(v.Name))
	}
	return out
}

// node is a node with the graphs of its branches.
func (x *importer) node(n *Node) *graph.Node {
	out := &graph.Node{Name: n.Name, Op: n.Op, Domain: n.Domain, In: x.list(n.Inputs), Out: x.list(n.Outputs), Opset: x.opset, Off: n.Off}
	if n.Attributes != nil {
		out.Attr = make(map[string]*graph.Attr, len(n.Attributes))
	}
	for name, a := range n.Attributes {
		b := &graph.Attr{Int: a.Int, Float: a.Float, Text: a.Text, Ints: a.Ints, Floats: a.Floats, Texts: a.Strings}
		if a.Tensor != nil {
			b.Const = a.Tensor.stored()
		}
		if a.Graph != nil {
			b.Graph = x.graph(a.Graph)
		}
		out.Attr[name] = b
	}
	return out
}

// stored is the tensor as a constant, whose values stay where they are.
func (t *Tensor) stored() *graph.Const {
	dims := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = int(d)
	}
	return &graph.Const{Dims: dims, Type: t.Type, Source: t}
}
