package graph

// InReadingOrder sorts nodes so that each node comes after the nodes that produce its inputs. It
// walks from outputs back through the inputs of each node, so the result does not depend on the
// order of nodes in the file. Nodes that no output needs come last, in file order.
func InReadingOrder(nodes []*Node, outputs []*Value) []*Node {
	maker := map[*Value]int{}
	for i := range nodes {
		for _, out := range nodes[i].Out {
			maker[out] = i
		}
	}
	w := walker{nodes: nodes, maker: maker, begun: make([]bool, len(nodes))}
	for _, out := range outputs {
		w.visitProducer(out)
	}
	for i := range nodes {
		for _, out := range nodes[i].Out {
			w.visitProducer(out)
		}
	}
	if len(w.ordered) != len(nodes) {
		return nodes // a node without results, which the reader refuses
	}
	return w.ordered
}

// A walker visits nodes from results back to inputs, and collects them in ordered.
type walker struct {
	nodes   []*Node
	maker   map[*Value]int
	begun   []bool
	ordered []*Node
}

// A frame is a node on the stack and the tensors it reads that were not visited yet.
type frame struct {
	node   int
	unread []*Value
}

// visitProducer appends the node that produces a tensor, after all nodes on which that node
// depends, to w.ordered. It does not recurse, because a network can be as deep as it has nodes.
func (w *walker) visitProducer(tensor *Value) {
	var stack []frame
	begin := func(tensor *Value) {
		if i, ok := w.maker[tensor]; ok && tensor.Given() && !w.begun[i] {
			w.begun[i] = true
			stack = append(stack, frame{i, appendReadTensors(w.nodes[i], nil)})
		}
	}
	begin(tensor)
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.unread) == 0 {
			w.ordered = append(w.ordered, w.nodes[top.node])
			stack = stack[:len(stack)-1]
			continue
		}
		next := top.unread[0]
		top.unread = top.unread[1:]
		begin(next)
	}
}

// appendReadTensors appends the tensors that a node reads to list: its inputs and the inputs and
// outputs of its branches.
func appendReadTensors(n *Node, list []*Value) []*Value {
	list = append(list, n.In...)
	for _, name := range [...]string{"then_branch", "else_branch", "body"} {
		if a := n.Attr[name]; a != nil && a.Graph != nil {
			for _, inner := range a.Graph.Nodes {
				list = appendReadTensors(inner, list)
			}
			list = append(list, a.Graph.Outputs...)
		}
	}
	return list
}
