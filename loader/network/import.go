package network

import (
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/onnx"
)

// imported is a graph of the file.
func (r *graphReader) imported(g *onnx.Graph) *graph.Graph {
	out := &graph.Graph{Consts: make(map[string]*graph.Const, len(g.Constants))}
	for name, t := range g.Constants {
		out.Consts[name] = stored(t)
		out.Consts[name].Packing = r.packings[t]
	}
	for i := range g.Nodes {
		out.Nodes = append(out.Nodes, r.importedNode(&g.Nodes[i]))
	}
	for _, v := range g.Outputs {
		out.Outputs = append(out.Outputs, r.value(v.Name))
	}
	return out
}

// importedNode is a node of the file, with the graphs of its branches.
func (r *graphReader) importedNode(n *onnx.Node) *graph.Node {
	out := &graph.Node{Name: n.Name, Op: n.Op, Domain: n.Domain, Opset: r.opset, Off: n.Off}
	for _, name := range n.Inputs {
		out.In = append(out.In, r.value(name))
	}
	for _, name := range n.Outputs {
		out.Out = append(out.Out, r.value(name))
	}
	if n.Attributes != nil {
		out.Attr = make(map[string]*graph.Attr, len(n.Attributes))
	}
	for name, a := range n.Attributes {
		x := &graph.Attr{Int: a.Int, Float: a.Float, Text: a.Text, Ints: a.Ints, Floats: a.Floats, Texts: a.Strings}
		if a.Tensor != nil {
			x.Const = stored(a.Tensor)
		}
		if a.Graph != nil {
			x.Graph = r.imported(a.Graph)
		}
		out.Attr[name] = x
	}
	return out
}

// statedResult is what the file states of a tensor, nil if that has no sizes.
func statedResult(v onnx.Value) *graph.Result {
	if v.Dims == nil {
		return nil
	}
	dims := []int{}
	for _, d := range v.Dims {
		if d.Size < 1 || d.Size > list.MaxExtent {
			return nil
		}
		dims = append(dims, int(d.Size))
	}
	return &graph.Result{Dims: dims, Type: v.Type}
}
