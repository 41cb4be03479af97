package onnx

import (
	"fmt"
	"maps"
	"slices"

	"anesim/internal/network/graph"
)

// Import converts the model to a graph. It does not read the values of constants. packings
// describes the constants that the file stores in packed form; it may be nil.
func (m *Model) Import(packings map[*Tensor]*graph.Packing) *graph.Model {
	x := &importer{opset: m.Opsets[""], packings: packings, values: map[string]*graph.Value{}, taken: map[string]bool{}, last: map[string]int{}}
	g := &graph.Model{Graph: *x.importGraph(&m.Graph), Name: m.Name, Inputs: m.Inputs, Results: m.Outputs, Values: x.values}
	for name, v := range m.Known {
		x.findOrAddValue(name).Stated = v.Sizes()
	}
	for _, v := range m.Outputs {
		if len(v.Dims) > 0 {
			x.findOrAddValue(v.Name).Stated = v.Sizes()
		}
	}
	return g
}

// An importer collects the tensors of a model, including all its branches.
type importer struct {
	opset    int64
	packings map[*Tensor]*graph.Packing
	values   map[string]*graph.Value
	taken    map[string]bool // names of the tensors of all graphs so far
	last     map[string]int  // last number that made a name different from others, by the name
	// scopes has, for the graph being imported and each graph around it, the innermost last, the
	// name in values of each tensor that the graph defines.
	scopes []map[string]string
}

// enterScope adds the scope of the graph g. Tensors of different branches may have the same name
// in a file. A tensor whose name another graph defines gets a new one.
func (x *importer) enterScope(g *Graph) {
	scope := map[string]string{}
	define := func(name string) {
		if _, known := scope[name]; known || name == "" {
			return
		}
		fresh := name
		for i := max(2, x.last[name]+1); x.taken[fresh]; i++ {
			fresh, x.last[name] = fmt.Sprintf("%s/%d", name, i), i
		}
		x.taken[fresh] = true
		scope[name] = fresh
	}
	for _, v := range g.Inputs {
		define(v.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(g.Constants)) {
		define(name)
	}
	for i := range g.Nodes {
		for _, name := range g.Nodes[i].Outputs {
			define(name)
		}
	}
	x.scopes = append(x.scopes, scope)
}

// findOrAddValue returns the tensor that the graph being imported calls by the given name. The
// first call for a tensor creates it. Each call with an empty name returns a new tensor, because
// unnamed tensors are not the same.
func (x *importer) findOrAddValue(name string) *graph.Value {
	if name == "" {
		return &graph.Value{}
	}
	for _, scope := range slices.Backward(x.scopes) {
		if own, ok := scope[name]; ok {
			name = own
			break
		}
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
	x.enterScope(g)
	defer func() { x.scopes = x.scopes[:len(x.scopes)-1] }()
	out := &graph.Graph{Consts: make(map[string]*graph.Const, len(g.Constants))}
	for name, t := range g.Constants {
		c := t.toConst()
		c.Packing = x.packings[t]
		out.Consts[x.scopes[len(x.scopes)-1][name]] = c
	}
	if len(x.scopes) > 1 { // the inputs of a whole model are ports
		for _, v := range g.Inputs {
			out.Inputs = append(out.Inputs, x.findOrAddValue(v.Name))
		}
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
	for _, name := range slices.Sorted(maps.Keys(n.Attributes)) { // in this order names are made
		a := n.Attributes[name]
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
