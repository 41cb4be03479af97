package onnx

import "anesim/loader/network/graph"

// Import converts the model to a graph. It does not read the values of constants. packings
// describes the constants that the file stores in packed form; it may be nil.
func (m *Model) Import(packings map[*Tensor]*graph.Packing) *graph.Model {
	x := &importer{opset: m.Opsets[""], packings: packings, values: map[string]*graph.Value{}}
	g := &graph.Model{Graph: *x.importGraph(&m.Graph), Name: m.Name, Inputs: m.Inputs, Results: m.Outputs, Values: x.values}
	for name, v := range m.Known {
		x.findOrAddValue(name).Stated = v.Sizes()
	}
	return g
}

// An importer collects the tensors of a model, including all its branches.
type importer struct {
	opset    int64
	packings map[*Tensor]*graph.Packing
	values   map[string]*graph.Value
}

// findOrAddValue returns the tensor with the given name, which the first call for that name
// creates. Each call with an empty name returns a new tensor, because unnamed tensors are not the
// same.
func (x *importer) findOrAddValue(name string) *graph.Value {
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

func (x *importer) findOrAddValues(names []string) (values []*graph.Value) {
	for _, name := range names {
		values = append(values, x.findOrAddValue(name))
	}
	return values
}

func (x *importer) importGraph(g *Graph) *graph.Graph {
	out := &graph.Graph{Consts: make(map[string]*graph.Const, len(g.Constants))}
	for name, t := range g.Constants {
		out.Consts[name] = t.toConst()
		out.Consts[name].Packing = x.packings[t]
	}
	for i := range g.Nodes {
		out.Nodes = append(out.Nodes, x.importNode(&g.Nodes[i]))
	}
	for _, v := range g.Outputs {
		out.Outputs = append(out.Outputs, x.findOrAddValue(v.Name))
	}
	return out
}

// importNode converts n to a node of a graph, together with the graphs of its branches.
func (x *importer) importNode(n *Node) *graph.Node {
	out := &graph.Node{Name: n.Name, Op: n.Op, Domain: n.Domain, In: x.findOrAddValues(n.Inputs), Out: x.findOrAddValues(n.Outputs), Opset: x.opset, Off: n.Off}
	if n.Attributes != nil {
		out.Attr = make(map[string]*graph.Attr, len(n.Attributes))
	}
	for name, a := range n.Attributes {
		b := &graph.Attr{Int: a.Int, Float: a.Float, Text: a.Text, Ints: a.Ints, Floats: a.Floats, Texts: a.Strings}
		if a.Tensor != nil {
			b.Const = a.Tensor.toConst()
		}
		if a.Graph != nil {
			b.Graph = x.importGraph(a.Graph)
		}
		out.Attr[name] = b
	}
	return out
}

// toConst returns t as a constant of a graph. The values stay in the file until they are needed.
func (t *Tensor) toConst() *graph.Const {
	dims := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = int(d)
	}
	return &graph.Const{Dims: dims, Type: t.Type, Source: t}
}
