package network

import (
	"math"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/onnx"
)

// A fusion is nodes that together are one operator: what an exporter writes in pieces and
// the engine does with a table or a chain of its own.
type fusion struct {
	node   onnx.Node // the operator, in the place of its last piece
	inside []int     // the other pieces, whose results nothing else reads
}

// fusions finds the operators in pieces among nodes, by the index of their last piece. The
// last pieces are tried first, so that a pattern is found before one that is part of it.
func (r *graphReader) fusions(nodes []onnx.Node, outputs []onnx.Value) (map[int]*fusion, map[int]bool) {
	m := &matcher{r: r, nodes: nodes, maker: map[string]int{}, readers: map[string]int{}}
	for i := range nodes {
		for _, out := range nodes[i].Outputs {
			m.maker[out] = i
		}
		for _, in := range nodes[i].Inputs {
			m.readers[in]++
		}
		m.branches(&nodes[i])
	}
	for _, out := range outputs {
		m.readers[out.Name]++
	}
	found, inside := map[int]*fusion{}, map[int]bool{}
	for i := len(nodes) - 1; i >= 0; i-- {
		if inside[i] || len(nodes[i].Outputs) != 1 {
			continue
		}
		f := m.match(i)
		if f == nil || slices.ContainsFunc(f.inside, func(k int) bool { return inside[k] || found[k] != nil }) {
			continue
		}
		found[i] = f
		for _, k := range f.inside {
			inside[k] = true
		}
	}
	return found, inside
}

// branches counts what the branches of a node read of the tensors around them.
func (m *matcher) branches(node *onnx.Node) {
	for _, a := range node.Attributes {
		if a.Graph == nil {
			continue
		}
		for i := range a.Graph.Nodes {
			for _, in := range a.Graph.Nodes[i].Inputs {
				m.readers[in]++
			}
			m.branches(&a.Graph.Nodes[i])
		}
		for _, out := range a.Graph.Outputs {
			m.readers[out.Name]++
		}
	}
}

// A matcher walks from a result to what it is made of.
type matcher struct {
	r       *graphReader
	nodes   []onnx.Node
	maker   map[string]int // node of a tensor
	readers map[string]int
	visited []int // nodes of the match at hand
}

// patterns are tried in this order: a norm before the one that its centred rows alone are.
var patterns = [...]func(m *matcher, out string) *onnx.Node{
	(*matcher).gelu, (*matcher).silu, (*matcher).hardSwish, (*matcher).hardSigmoid, (*matcher).softplus, (*matcher).scaledLog,
	(*matcher).softmax, (*matcher).norm,
}

// match is the operator whose last piece is node i, nil where there is none.
func (m *matcher) match(i int) *fusion {
	for _, pattern := range patterns {
		m.visited = m.visited[:0]
		node := pattern(m, m.nodes[i].Outputs[0])
		if node == nil {
			continue
		}
		inside := slices.Clone(m.visited)
		slices.Sort(inside)
		inside = slices.DeleteFunc(slices.Compact(inside), func(k int) bool { return k == i })
		if len(inside) == 0 || !m.enclosed(i, inside) {
			continue
		}
		node.Name, node.Outputs, node.Off = m.nodes[i].Name, m.nodes[i].Outputs, m.nodes[i].Off
		return &fusion{*node, inside}
	}
	return nil
}

// enclosed reports whether nothing but the match reads what is inside of it.
func (m *matcher) enclosed(last int, inside []int) bool {
	reads := map[string]int{}
	for _, k := range append(slices.Clone(inside), last) {
		for _, in := range m.nodes[k].Inputs {
			reads[in]++
		}
	}
	for _, k := range inside {
		for _, out := range m.nodes[k].Outputs {
			if reads[out] != m.readers[out] {
				return false
			}
		}
	}
	return true
}

// made is the node of an operator that makes a tensor, nil where another does.
func (m *matcher) made(name string, ops ...string) *onnx.Node {
	i, ok := m.maker[name]
	if !ok || !slices.Contains(ops, m.nodes[i].Op) || len(m.nodes[i].Inputs) == 0 || m.nodes[i].Domain != "" && m.nodes[i].Domain != "ai.onnx" {
		return nil
	}
	m.visited = append(m.visited, i)
	return &m.nodes[i]
}

// constant is a tensor that the file states, nil for another.
func (m *matcher) constant(name string) *graph.Const {
	for range 4 { // of nodes that leave values as they are
		if c := m.r.constants[name]; c != nil {
			return c
		}
		i, ok := m.maker[name]
		if !ok {
			return nil
		}
		switch x := &m.nodes[i]; {
		case x.Op == "Constant":
			c, err := (&nodeReader{graphReader: m.r, Node: x}).literal()
			if err != nil {
				return nil
			}
			return c
		case (x.Op == "Identity" || x.Op == "Cast") && len(x.Inputs) == 1:
			name = x.Inputs[0]
		default:
			return nil
		}
	}
	return nil
}

// number is a constant of one element that widens no shape.
func (m *matcher) number(name string) (float64, bool) {
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
func (m *matcher) product(name string) (float64, []string) {
	return m.factors(name, 8)
}

func (m *matcher) factors(name string, depth int) (float64, []string) {
	if v, ok := m.number(name); ok {
		return v, nil
	}
	if m.readers[name] > 1 || depth == 0 {
		return 1, []string{name}
	}
	n := m.made(name, "Mul", "Div", "Neg")
	switch {
	case n == nil:
		return 1, []string{name}
	case n.Op == "Neg" && len(n.Inputs) == 1:
		c, f := m.factors(n.Inputs[0], depth-1)
		return -c, f
	case n.Op == "Mul" && len(n.Inputs) == 2:
		c, f := m.factors(n.Inputs[0], depth-1)
		d, g := m.factors(n.Inputs[1], depth-1)
		return float64(c * d), append(f, g...)
	case n.Op == "Div" && len(n.Inputs) == 2:
		if v, ok := m.number(n.Inputs[1]); ok && v != 0 {
			c, f := m.factors(n.Inputs[0], depth-1)
			return c / v, f
		}
	}
	m.visited = m.visited[:len(m.visited)-1] // a quotient of two tensors is a factor
	return 1, []string{name}
}

// times reports whether a tensor is factor times x.
func (m *matcher) times(name string, factor float64, x string) bool {
	c, f := m.product(name)
	return near(c, factor) && len(f) == 1 && f[0] == x
}

// plus takes a sum with a number apart.
func (m *matcher) plus(name string) (x string, c float64, ok bool) {
	n := m.made(name, "Add", "Sub")
	if n == nil || len(n.Inputs) != 2 {
		return "", 0, false
	}
	if v, ok := m.number(n.Inputs[1]); ok {
		if n.Op == "Sub" {
			v = -v
		}
		return n.Inputs[0], v, true
	}
	if v, ok := m.number(n.Inputs[0]); ok && n.Op == "Add" {
		return n.Inputs[1], v, true
	}
	return "", 0, false
}

// one is the only input of an operator's node that makes a tensor, "" where none does.
func (m *matcher) one(name string, ops ...string) string {
	if n := m.made(name, ops...); n != nil && len(n.Inputs) == 1 {
		return n.Inputs[0]
	}
	return ""
}

// power reports whether factors are x to the power e.
func (m *matcher) power(factors []string, x string, e float64) bool {
	sum := 0.0
	for _, f := range factors {
		if f == x {
			sum++
		} else if n := m.made(f, "Pow"); n != nil && len(n.Inputs) == 2 && n.Inputs[0] == x {
			v, _ := m.number(n.Inputs[1])
			sum += v
		} else if n := m.made(f, "Mul"); n != nil && len(n.Inputs) == 2 && n.Inputs[0] == x && n.Inputs[1] == x {
			sum += 2
		} else {
			return false
		}
	}
	return sum == e
}

// bounds are those of a clamp, and what it clamps.
func (m *matcher) bounds(name string) (x string, low, high float64, ok bool) {
	n := m.made(name, "Clip")
	if n == nil {
		return "", 0, 0, false
	}
	for i, key := range [...]string{"min", "max"} {
		v := [...]*float64{&low, &high}[i]
		if a := n.Attributes[key]; a != nil {
			*v = float64(a.Float)
		} else if len(n.Inputs) <= 1+i {
			return "", 0, 0, false
		} else if *v, ok = m.number(n.Inputs[1+i]); !ok {
			return "", 0, 0, false
		}
	}
	return n.Inputs[0], low, high, true
}

// axes are those of a reduction that keeps them, of x.
func (m *matcher) axes(n *onnx.Node) (axes []int, ok bool) {
	if a := n.Attributes["keepdims"]; a != nil && a.Int == 0 {
		return nil, false
	}
	if a := n.Attributes["axes"]; a != nil {
		for _, v := range a.Ints {
			axes = append(axes, int(v))
		}
	} else if len(n.Inputs) == 2 {
		c := m.constant(n.Inputs[1])
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
func fused(op, x string, attributes map[string]*onnx.Attribute) *onnx.Node {
	return &onnx.Node{Op: op, Inputs: []string{x}, Attributes: attributes}
}

func listed(axes []int) *onnx.Attribute {
	a := &onnx.Attribute{}
	for _, v := range axes {
		a.Ints = append(a.Ints, int64(v))
	}
	return a
}
