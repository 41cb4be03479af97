package graph

// InReadingOrder returns nodes in the order in which a walk from the outputs meets them: all
// that a node reads comes before it, first what its first input needs. The order does not
// depend on that of the file, so that files that say the same in another order become the same
// program. Nodes that no output needs follow in the order of the file.
func InReadingOrder(nodes []*Node, outputs []*Value) []*Node {
	maker := map[*Value]int{}
	for i := range nodes {
		for _, out := range nodes[i].Out {
			maker[out] = i
		}
	}
	w := walk{nodes: nodes, maker: maker, begun: make([]bool, len(nodes))}
	for _, out := range outputs {
		w.from(out)
	}
	for i := range nodes {
		for _, out := range nodes[i].Out {
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
	nodes   []*Node
	maker   map[*Value]int
	begun   []bool
	ordered []*Node
}

// A visit is a node and the tensors that it reads and that were not visited yet.
type visit struct {
	node int
	left []*Value
}

// from appends the node that makes a tensor behind all that it needs. It keeps its own stack,
// as networks may be as deep as they have nodes.
func (w *walk) from(tensor *Value) {
	var stack []visit
	begin := func(tensor *Value) {
		if i, ok := w.maker[tensor]; ok && tensor.Given() && !w.begun[i] {
			w.begun[i] = true
			stack = append(stack, visit{i, reads(w.nodes[i], nil)})
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
func reads(n *Node, list []*Value) []*Value {
	list = append(list, n.In...)
	for _, name := range [...]string{"then_branch", "else_branch", "body"} {
		if a := n.Attr[name]; a != nil && a.Graph != nil {
			for _, inner := range a.Graph.Nodes {
				list = reads(inner, list)
			}
			list = append(list, a.Graph.Outputs...)
		}
	}
	return list
}
