package pattern

import (
	"math"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// A Match is nodes that together are one operator: what an exporter writes in pieces and
// the engine does with a table or a chain of its own.
type Match struct {
	Node   *graph.Node // the operator, in the place of its last piece
	Inside []int       // the other pieces, whose results nothing else reads
}

// Find finds the operators in pieces among nodes, by the index of their last piece. The
// last pieces are tried first, so that a pattern is found before one that is part of it.
func Find(nodes []*graph.Node, outputs []*graph.Value) (map[int]*Match, map[int]bool) {
	m := &matcher{nodes: nodes, maker: map[*graph.Value]int{}, readers: map[*graph.Value]int{}}
	for i := range nodes {
		for _, out := range nodes[i].Out {
			m.maker[out] = i
		}
		for _, in := range nodes[i].In {
			m.readers[in]++
		}
		m.branches(nodes[i])
	}
	for _, out := range outputs {
		m.readers[out]++
	}
	found, inside := map[int]*Match{}, map[int]bool{}
	for i := len(nodes) - 1; i >= 0; i-- {
		if inside[i] || len(nodes[i].Out) != 1 {
			continue
		}
		f := m.match(i)
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

// Taken are the nodes with each match in the place of its last piece.
func Taken(nodes []*graph.Node, found map[int]*Match, inside map[int]bool) []*graph.Node {
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

// branches counts what the branches of a node read of the tensors around them.
func (m *matcher) branches(node *graph.Node) {
	for _, a := range node.Attr {
		if a.Graph == nil {
			continue
		}
		for _, inner := range a.Graph.Nodes {
			for _, in := range inner.In {
				m.readers[in]++
			}
			m.branches(inner)
		}
		for _, out := range a.Graph.Outputs {
			m.readers[out]++
		}
	}
}

// A matcher walks from a result to what it is made of.
type matcher struct {
	nodes   []*graph.Node
	maker   map[*graph.Value]int // node of a tensor
	readers map[*graph.Value]int
	visited []int // nodes of the match at hand
}

// patterns are tried in this order: a norm before the one that its centred rows alone are.
var patterns = [...]func(m *matcher, out *graph.Value) *graph.Node{
	(*matcher).gelu, (*matcher).silu, (*matcher).hardSwish, (*matcher).hardSigmoid, (*matcher).softplus, (*matcher).scaledLog,
	(*matcher).softmax, (*matcher).norm,
}

// match is the operator whose last piece is node i, nil where there is none.
func (m *matcher) match(i int) *Match {
	for _, pattern := range patterns {
		m.visited = m.visited[:0]
		node := pattern(m, m.nodes[i].Out[0])
		if node == nil {
			continue
		}
		inside := slices.Clone(m.visited)
		slices.Sort(inside)
		inside = slices.DeleteFunc(slices.Compact(inside), func(k int) bool { return k == i })
		if len(inside) == 0 || !m.enclosed(i, inside) || m.readsItself(node, inside) {
			continue
		}
		node.Name, node.Out, node.Opset, node.Off = m.nodes[i].Name, m.nodes[i].Out, m.nodes[i].Opset, m.nodes[i].Off
		return &Match{node, inside}
	}
	return nil
}

// enclosed reports whether nothing but the match reads what is inside of it.
func (m *matcher) enclosed(last int, inside []int) bool {
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

// readsItself reports whether the operator reads a piece of it: in Sigmoid(s)*s, of which s is
// a sigmoid too, both are.
func (m *matcher) readsItself(node *graph.Node, inside []int) bool {
	return slices.ContainsFunc(node.In, func(v *graph.Value) bool {
		i, ok := m.maker[v]
		return ok && slices.Contains(inside, i)
	})
}

// made is the node of an operator that makes a tensor, nil where another does.
func (m *matcher) made(name *graph.Value, ops ...string) *graph.Node {
	i, ok := m.maker[name]
	if !ok || !slices.Contains(ops, m.nodes[i].Op) || len(m.nodes[i].In) == 0 || m.nodes[i].Domain != "" && m.nodes[i].Domain != "ai.onnx" {
		return nil
	}
	m.visited = append(m.visited, i)
	return m.nodes[i]
}

// constant is a tensor that the file states, nil for another.
func (m *matcher) constant(name *graph.Value) *graph.Const {
	for range 4 { // of nodes that leave values as they are
		if name == nil {
			return nil
		}
		if c := name.Const; c != nil {
			return c
		}
		i, ok := m.maker[name]
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
			name = x.In[0]
		default:
			return nil
		}
	}
	return nil
}

// number is a constant of one element that widens no shape.
func (m *matcher) number(name *graph.Value) (float64, bool) {
	c := m.constant(name)
	if c == nil || c.Absent() || len(c.Dims) > 1 || c.Elements() != 1 {
		return 0, false
	}
	v, err := c.Scalar()
	return v, err == nil
}

// near reports whether a constant is the one meant, as fp16 may have left it.
func near(v, want float64) bool { return math.Abs(v-want) <= 2e-3*math.Abs(want) }

// product takes a product apart: its constant factor and its other factors.
func (m *matcher) product(name *graph.Value) (float64, []*graph.Value) {
	return m.factors(name, 8)
}

func (m *matcher) factors(name *graph.Value, depth int) (float64, []*graph.Value) {
	if v, ok := m.number(name); ok {
		return v, nil
	}
	if m.readers[name] > 1 || depth == 0 {
		return 1, []*graph.Value{name}
	}
	n := m.made(name, "Mul", "Div", "Neg")
	switch {
	case n == nil:
		return 1, []*graph.Value{name}
	case n.Op == "Neg" && len(n.In) == 1:
		c, f := m.factors(n.In[0], depth-1)
		return -c, f
	case n.Op == "Mul" && len(n.In) == 2:
		c, f := m.factors(n.In[0], depth-1)
		d, g := m.factors(n.In[1], depth-1)
		return float64(c * d), append(f, g...)
	case n.Op == "Div" && len(n.In) == 2:
		if v, ok := m.number(n.In[1]); ok && v != 0 {
			c, f := m.factors(n.In[0], depth-1)
			return c / v, f
		}
	}
	m.visited = m.visited[:len(m.visited)-1] // a quotient of two tensors is a factor
	return 1, []*graph.Value{name}
}

// times reports whether a tensor is factor times x.
func (m *matcher) times(name *graph.Value, factor float64, x *graph.Value) bool {
	c, f := m.product(name)
	return near(c, factor) && len(f) == 1 && f[0] == x
}

// plus takes a sum with a number apart.
func (m *matcher) plus(name *graph.Value) (x *graph.Value, c float64, ok bool) {
	n := m.made(name, "Add", "Sub")
	if n == nil || len(n.In) != 2 {
		return nil, 0, false
	}
	if v, ok := m.number(n.In[1]); ok {
		if n.Op == "Sub" {
			v = -v
		}
		return n.In[0], v, true
	}
	if v, ok := m.number(n.In[0]); ok && n.Op == "Add" {
		return n.In[1], v, true
	}
	return nil, 0, false
}

// one is the only input of an operator's node that makes a tensor, nil where none does.
func (m *matcher) one(name *graph.Value, ops ...string) *graph.Value {
	if n := m.made(name, ops...); n != nil && len(n.In) == 1 {
		return n.In[0]
	}
	return nil
}

// power reports whether factors are x to the power e.
func (m *matcher) power(factors []*graph.Value, x *graph.Value, e float64) bool {
	sum := 0.0
	for _, f := range factors {
		if f == x {
			sum++
		} else if n := m.made(f, "Pow"); n != nil && len(n.In) == 2 && n.In[0] == x {
			v, _ := m.number(n.In[1])
			sum += v
		} else if n := m.made(f, "Mul"); n != nil && len(n.In) == 2 && n.In[0] == x && n.In[1] == x {
			sum += 2
		} else {
			return false
		}
	}
	return sum == e
}

// bounds are those of a clamp, and what it clamps.
func (m *matcher) bounds(name *graph.Value) (x *graph.Value, low, high float64, ok bool) {
	n := m.made(name, "Clip")
	if n == nil {
		return nil, 0, 0, false
	}
	for i, key := range [...]string{"min", "max"} {
		v := [...]*float64{&low, &high}[i]
		if a := n.Attr[key]; a != nil {
			*v = float64(a.Float)
		} else if len(n.In) <= 1+i {
			return nil, 0, 0, false
		} else if *v, ok = m.number(n.In[1+i]); !ok {
			return nil, 0, 0, false
		}
	}
	return n.In[0], low, high, true
}

// axes are those of a reduction that keeps them, of x.
func (m *matcher) axes(n *graph.Node) (axes []int, ok bool) {
	if a := n.Attr["keepdims"]; a != nil && a.Int == 0 {
		return nil, false
	}
	if a := n.Attr["axes"]; a != nil {
		for _, v := range a.Ints {
			axes = append(axes, int(v))
		}
	} else if len(n.In) == 2 {
		c := m.constant(n.In[1])
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

// fused is an operator of one input with attributes.
func fused(op string, x *graph.Value, attributes map[string]*graph.Attr) *graph.Node {
	return &graph.Node{Op: op, In: []*graph.Value{x}, Attr: attributes}
}
