package pattern

import (
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// A Match is a group of nodes that together compute one operator, such as the five nodes of a
// GELU, and the node that replaces them.
type Match struct {
	Node   *graph.Node // the operator; it replaces the last node of the group
	Inside []int       // indices of the other nodes, whose results nothing else reads
}

// Find looks for groups of nodes that together compute one operator. It returns a map from the
// index of each group's last node to the match, and the set of the indices of all other nodes in
// matches. If one group is part of another, Find returns the larger group. No match removes a
// tensor in outputs.
func Find(nodes []*graph.Node, outputs []*graph.Value) (map[int]*Match, map[int]bool) {
	m := &matcher{nodes: nodes, maker: map[*graph.Value]int{}, readers: map[*graph.Value]int{}, types: map[*graph.Value]graph.Type{}}
	for i := range nodes {
		for _, out := range nodes[i].Out {
			m.maker[out] = i
		}
		for _, in := range nodes[i].In {
			m.readers[in]++
		}
		m.countBranchReads(nodes[i])
	}
	for _, out := range outputs {
		m.readers[out]++
	}
	found, inside := map[int]*Match{}, map[int]bool{}
	for i := len(nodes) - 1; i >= 0; i-- {
		if inside[i] || len(nodes[i].Out) != 1 {
			continue
		}
		f := m.matchEndingAt(i)
		if f == nil || slices.ContainsFunc(f.Inside, func(k int) bool { return inside[k] || found[k] != nil }) {
			continue
		}
		found[i] = f
		for _, k := range f.Inside {
			inside[k] = true
		}
	}
	return found, inside
}

// Replace returns a copy of nodes in which one node replaces each group that [Find] found, at the
// position of the group's last node. found and inside are the results of [Find] for nodes.
func Replace(nodes []*graph.Node, found map[int]*Match, inside map[int]bool) []*graph.Node {
	var list []*graph.Node
	for i, n := range nodes {
		if f := found[i]; f != nil {
			n = f.Node
		}
		if !inside[i] {
			list = append(list, n)
		}
	}
	return list
}

// countBranchReads adds the tensors that the branches of node read to m.readers.
func (m *matcher) countBranchReads(node *graph.Node) {
	for _, a := range node.Attr {
		if a.Graph == nil {
			continue
		}
		for _, inner := range a.Graph.Nodes {
			for _, in := range inner.In {
				m.readers[in]++
			}
			m.countBranchReads(inner)
		}
		for _, out := range a.Graph.Outputs {
			m.readers[out]++
		}
	}
}

// A matcher walks from a result back to the nodes that compute it.
type matcher struct {
	nodes   []*graph.Node
	maker   map[*graph.Value]int // index of the node that produces a tensor
	readers map[*graph.Value]int
	types   map[*graph.Value]graph.Type // element types that were asked for
	visited []int                       // indices of the nodes in the current match
	steps   int                         // nodes that the current match may still read in polynomials
}

// patterns lists the patterns in the order in which they are tried.
var patterns = [...]func(m *matcher, out *graph.Value) *graph.Node{
	(*matcher).matchGated, (*matcher).matchHardSigmoid, (*matcher).matchSigmoid, (*matcher).matchTanh, (*matcher).matchClip, (*matcher).matchLeakyReLU,
	(*matcher).matchSoftplus, (*matcher).matchScaledLog, (*matcher).matchSoftmax, (*matcher).matchNorm, (*matcher).matchShiftedNorm,
}

// matchEndingAt returns the match whose last node is node i, or nil if there is none.
func (m *matcher) matchEndingAt(i int) *Match {
	if isCopy(m.nodes[i]) { // it stays behind the operator, which may have another type
		return nil
	}
	for _, pattern := range patterns {
		m.visited, m.steps = m.visited[:0], maxSteps
		node := pattern(m, m.nodes[i].Out[0])
		if node == nil {
			continue
		}
		inside := slices.Clone(m.visited)
		slices.Sort(inside)
		inside = slices.DeleteFunc(slices.Compact(inside), func(k int) bool { return k == i })
		if len(inside) == 0 || !m.hidesInnerResults(i, inside) || m.readsInnerResult(node, inside) {
			continue
		}
		if slices.ContainsFunc(m.visited, func(k int) bool { return m.nodes[k].Unread() != nil }) {
			continue // the pattern would lose what the file says
		}
		node.Name, node.Out, node.Opset, node.Off = m.nodes[i].Name, m.nodes[i].Out, m.nodes[i].Opset, m.nodes[i].Off
		return &Match{node, inside}
	}
	return nil
}

// hidesInnerResults reports whether only nodes of a match read the results of its inner nodes.
// inside holds the indices of the inner nodes, and last is the index of the last node.
func (m *matcher) hidesInnerResults(last int, inside []int) bool {
	reads := map[*graph.Value]int{}
	for _, k := range append(slices.Clone(inside), last) {
		for _, in := range m.nodes[k].In {
			reads[in]++
		}
	}
	for _, k := range inside {
		for _, out := range m.nodes[k].Out {
			if reads[out] != m.readers[out] {
				return false
			}
		}
	}
	return true
}

// readsInnerResult reports whether node, the operator of a match, reads the result of a node inside
// the match. For example, both sigmoids of Sigmoid(s)*s are inside if s is a sigmoid.
func (m *matcher) readsInnerResult(node *graph.Node, inside []int) bool {
	return slices.ContainsFunc(node.In, func(v *graph.Value) bool {
		i, ok := m.maker[v]
		return ok && slices.Contains(inside, i)
	})
}

// matchProducer returns the node that produces a tensor, and adds it to the match, with the copies
// between it and the tensor. It returns nil if no node does, or if the node's operator is not one of
// ops.
func (m *matcher) matchProducer(tensor *graph.Value, ops ...string) *graph.Node {
	i, ok := m.maker[m.skipCopies(tensor)]
	if !ok || !slices.Contains(ops, m.nodes[i].Op) || len(m.nodes[i].In) == 0 || !isStandard(m.nodes[i]) {
		return nil
	}
	for k := m.maker[tensor]; k != i; k = m.maker[m.nodes[k].In[0]] {
		m.visit(k)
		m.nodes[k].AllInputs()
		m.nodes[k].AllAttributes()
	}
	m.visit(i)
	return m.nodes[i]
}

// visit adds node i to the match.
func (m *matcher) visit(i int) {
	if !slices.Contains(m.visited, i) {
		m.nodes[i].BeginReading()
	}
	m.visited = append(m.visited, i)
}

func isStandard(n *graph.Node) bool { return n.Domain == "" || n.Domain == "ai.onnx" }

// findConstant returns the constant that a tensor holds, looking through Identity and Cast. It
// returns nil if the tensor is not a constant.
func (m *matcher) findConstant(tensor *graph.Value) *graph.Const {
	for range 4 { // nodes that do not change values
		if tensor == nil {
			return nil
		}
		if c := tensor.Const; c != nil {
			return c
		}
		i, ok := m.maker[tensor]
		if !ok {
			return nil
		}
		switch x := m.nodes[i]; {
		case x.Op == "Constant":
			c, err := ops.Literal(x)
			if err != nil {
				return nil
			}
			return c
		case (x.Op == "Identity" || x.Op == "Cast") && len(x.In) == 1:
			tensor = x.Input(0)
		default:
			return nil
		}
	}
	return nil
}

// findScalar returns the only element of a constant tensor. It returns false if the tensor is
// computed or has several elements. An element with many axes may change the shape of what it is
// combined with; an operator whose result has another shape than the nodes of its match is not used.
func (m *matcher) findScalar(tensor *graph.Value) (float64, bool) {
	c := m.findConstant(tensor)
	if c == nil || c.Absent() || c.Elements() != 1 {
		return 0, false
	}
	v, err := c.Scalar()
	return v, err == nil
}

// unaryOperand returns the input of the node that produces a tensor. It returns nil if the node's
// operator is not one of ops or the node has several inputs.
func (m *matcher) unaryOperand(tensor *graph.Value, ops ...string) *graph.Value {
	if n := m.matchProducer(tensor, ops...); n != nil && len(n.In) == 1 {
		return n.Input(0)
	}
	return nil
}

// readReducedAxes returns the axes over which n, a reduction, works. ok is false if the reduction
// drops the reduced axes or does not name them as constants.
func (m *matcher) readReducedAxes(n *graph.Node) (axes []int, ok bool) {
	if a := n.Attribute("keepdims"); a != nil && a.Int == 0 {
		return nil, false
	}
	if a := n.Attribute("axes"); a != nil {
		for _, v := range a.Ints {
			axes = append(axes, int(v))
		}
	} else if len(n.In) == 2 {
		c := m.findConstant(n.Input(1))
		if c == nil {
			return nil, false
		}
		var err error
		if axes, err = c.Ints(); err != nil {
			return nil, false
		}
	}
	return slices.Clone(axes), len(axes) > 0
}

// newUnaryNode returns a node that applies the operator op, with the given attributes, to tensor x.
// The caller sets its result.
func newUnaryNode(op string, x *graph.Value, attributes map[string]*graph.Attr) *graph.Node {
	return &graph.Node{Op: op, In: []*graph.Value{x}, Attr: attributes}
}
