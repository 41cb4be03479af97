package network

import "anesim/loader/network/onnx"

// inReadingOrder returns nodes in the order in which a walk from the outputs meets them: all
// that a node reads comes before it, first what its first input needs. The order does not
// depend on that of the file, so that files that say the same in another order become the same
// program. Nodes that no output needs follow in the order of the file.
func inReadingOrder(nodes []onnx.Node, outputs []onnx.Value) []onnx.Node {
	maker := map[string]int{}
	for i := range nodes {
		for _, out := range nodes[i].Outputs {
			maker[out] = i
		}
	}
	w := walk{nodes: nodes, maker: maker, begun: make([]bool, len(nodes))}
	for _, out := range outputs {
		w.from(out.Name)
	}
	for i := range nodes {
		for _, out := range nodes[i].Outputs {
			w.from(out)
		}
	}
	if len(w.ordered) != len(nodes) {
		return nodes // a node without results, which reading refuses
	}
	return w.ordered
}

// A walk visits nodes against the direction of their tensors.
type walk struct {
	nodes   []onnx.Node
	maker   map[string]int
	begun   []bool
	ordered []onnx.Node
}

// A visit is a node and the tensors that it reads and that were not visited yet.
type visit struct {
	node int
	left []string
}

// from appends the node that makes a tensor behind all that it needs. It keeps its own stack,
// as networks may be as deep as they have nodes.
func (w *walk) from(tensor string) {
	var stack []visit
	begin := func(tensor string) {
		if i, ok := w.maker[tensor]; ok && tensor != "" && !w.begun[i] {
			w.begun[i] = true
			stack = append(stack, visit{i, reads(&w.nodes[i], nil)})
		}
	}
	begin(tensor)
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.left) == 0 {
			w.ordered = append(w.ordered, w.nodes[top.node])
			stack = stack[:len(stack)-1]
			continue
		}
		next := top.left[0]
		top.left = top.left[1:]
		begin(next)
	}
}

// reads appends the tensors that a node reads to list: its inputs, and those of the nodes in
// its branches.
func reads(n *onnx.Node, list []string) []string {
	list = append(list, n.Inputs...)
	for _, name := range [...]string{"then_branch", "else_branch", "body"} {
		if a := n.Attributes[name]; a != nil && a.Graph != nil {
			for i := range a.Graph.Nodes {
				list = reads(&a.Graph.Nodes[i], list)
			}
			for _, out := range a.Graph.Outputs {
				list = append(list, out.Name)
			}
		}
	}
	return list
}
