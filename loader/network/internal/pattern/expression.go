package pattern

import (
	"math"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// Exporters spell one formula in many ways: a quotient for a product, a power for a square, factors
// in any order, casts around any part. The functions of this file read an expression as a product,
// as a line or as a polynomial, which are the same for all of its spellings.

// maxDepth is the number of nested nodes that an expression may have, and maxSteps the number of nodes
// that polynomials of one match read: nodes may share operands, so that a small graph has many paths.
const maxDepth, maxSteps = 8, 64

// isCopy reports whether node n copies its input: an Identity, or a Cast.
func isCopy(n *graph.Node) bool {
	return (n.Op == "Identity" || n.Op == "Cast") && len(n.In) == 1 && isStandard(n)
}

// skipCopies returns the tensor of which a tensor is a copy. Casts between types of floating-point
// numbers count as copies, because the engine computes all of them in fp16.
func (m *matcher) skipCopies(tensor *graph.Value) *graph.Value {
	for range maxDepth {
		i, ok := m.maker[tensor]
		if !ok || !isCopy(m.nodes[i]) {
			return tensor
		}
		if n := m.nodes[i]; n.Op == "Cast" && (!isEngineFloat(m.typeOf(tensor)) || !isEngineFloat(m.typeOf(n.In[0]))) {
			return tensor
		}
		tensor = m.nodes[i].In[0]
	}
	return tensor
}

// isEngineFloat reports whether t is a floating-point type whose numbers the engine rounds to fp16.
func isEngineFloat(t graph.Type) bool { return t.IsFloat() && !t.IsSmallFloat() }

// typeOf returns the element type of a tensor, or 0 if nothing within maxDepth nodes before it states the
// type. The matcher keeps it, because finding it may take a step for each path of that length.
func (m *matcher) typeOf(tensor *graph.Value) graph.Type {
	t, ok := m.types[tensor]
	if !ok {
		t = m.findType(tensor, maxDepth)
		m.types[tensor] = t
	}
	return t
}

// findType is typeOf for paths of at most depth nodes.
func (m *matcher) findType(tensor *graph.Value, depth int) graph.Type {
	switch c := m.findConstant(tensor); {
	case tensor.Type != 0:
		return tensor.Type
	case c != nil:
		return c.Type
	}
	i, ok := m.maker[tensor]
	if !ok || depth == 0 || !isStandard(m.nodes[i]) {
		return 0
	}
	n := m.nodes[i]
	switch n.Op {
	case "Cast":
		if to := n.Attr["to"]; to != nil {
			return graph.Type(to.Int)
		}
	case "Exp", "Log", "Erf", "Tanh", "Sigmoid", "Sqrt", "Reciprocal", "Softmax", "Conv", "LayerNormalization", "BatchNormalization":
		return graph.Float // or another type of floating-point numbers
	case "MatMul", "Gemm", "ReduceMean", "ReduceSum", "ReduceMax", "Transpose", "Reshape", "Slice", "Concat", "Split", "Squeeze", "Unsqueeze":
		return m.findType(n.In[0], depth-1)
	}
	if ops.Of(n.Op).Has(ops.Elementwise) && n.Op != "Where" {
		for _, in := range n.In {
			if t := m.findType(in, depth-1); t != 0 {
				return t
			}
		}
	}
	if s := tensor.Stated; s != nil {
		return s.Type
	}
	return 0
}

// isSame reports whether two tensors are one, or copies of one.
func (m *matcher) isSame(a, b *graph.Value) bool { return a == b || m.skipCopies(a) == m.skipCopies(b) }

// isNearlyEqual reports whether v equals want within the rounding error of fp16, 0.2 %.
func isNearlyEqual(v, want float64) bool { return math.Abs(v-want) <= 2e-3*math.Abs(want) }

// A product is scale times the tensors in over, divided by those in under.
type product struct {
	scale       float64
	over, under []*graph.Value
}

// splitProduct reads a tensor as a product. Factors that several nodes read are not split.
func (m *matcher) splitProduct(tensor *graph.Value) product {
	p := product{scale: 1}
	m.collectFactors(&p, tensor, false, maxDepth)
	return p
}

// collectFactors multiplies p by a tensor, or divides p by it if inverse is set. It splits at most depth
// nested products.
func (m *matcher) collectFactors(p *product, tensor *graph.Value, inverse bool, depth int) {
	if v, ok := m.findScalar(tensor); ok && (v != 0 || !inverse) {
		if inverse {
			v = 1 / v
		}
		p.scale *= v
		return
	}
	if reached := len(m.visited); depth == maxDepth || depth > 0 && !m.isShared(tensor) {
		n := m.matchProducer(tensor, "Mul", "Div", "Neg", "Reciprocal", "Pow")
		switch {
		case n == nil:
		case n.Op == "Neg" && len(n.In) == 1:
			p.scale = -p.scale
			m.collectFactors(p, n.Input(0), inverse, depth-1)
			return
		case n.Op == "Reciprocal" && len(n.In) == 1:
			m.collectFactors(p, n.Input(0), !inverse, depth-1)
			return
		case n.Op == "Pow" && len(n.In) == 2:
			if e, ok := m.findScalar(n.Input(1)); ok && e == -1 {
				m.collectFactors(p, n.Input(0), !inverse, depth-1)
				return
			}
		case (n.Op == "Mul" || n.Op == "Div") && len(n.In) == 2:
			m.collectFactors(p, n.Input(0), inverse, depth-1)
			m.collectFactors(p, n.Input(1), inverse != (n.Op == "Div"), depth-1)
			return
		}
		m.visited = m.visited[:reached]
	}
	if inverse {
		p.under = append(p.under, tensor)
	} else {
		p.over = append(p.over, tensor)
	}
}

// isShared reports whether several nodes read a tensor, or one of which it is a copy.
func (m *matcher) isShared(tensor *graph.Value) bool {
	for end := m.skipCopies(tensor); ; tensor = m.nodes[m.maker[tensor]].In[0] {
		if m.readers[tensor] > 1 || tensor == end {
			return m.readers[tensor] > 1
		}
	}
}

// A line is scale*x + shift. visited is the length of the list of visited nodes down to x.
type line struct {
	scale   float64
	x       *graph.Value
	shift   float64
	visited int
}

// readLines returns all lines that a tensor is: first of itself, then of the tensors from which sums and
// products with numbers compute it. The caller chooses one and drops the nodes visited for the rest.
func (m *matcher) readLines(tensor *graph.Value) []line {
	list := []line{{1, tensor, 0, len(m.visited)}}
	for range maxDepth {
		l := list[len(list)-1]
		n := m.matchProducer(l.x, "Add", "Sub", "Mul", "Div", "Neg")
		if n == nil {
			break
		}
		if n.Op == "Neg" && len(n.In) == 1 {
			list = append(list, line{-l.scale, n.Input(0), l.shift, len(m.visited)})
			continue
		}
		if len(n.In) != 2 {
			break
		}
		first, isFirst := m.findScalar(n.Input(0))
		second, isSecond := m.findScalar(n.Input(1))
		switch {
		case isFirst == isSecond:
			return list
		case n.Op == "Add" && isFirst:
			l.x, l.shift = n.Input(1), l.shift+float64(l.scale*first)
		case n.Op == "Add":
			l.x, l.shift = n.Input(0), l.shift+float64(l.scale*second)
		case n.Op == "Sub" && isFirst:
			l.x, l.scale, l.shift = n.Input(1), -l.scale, l.shift+float64(l.scale*first)
		case n.Op == "Sub":
			l.x, l.shift = n.Input(0), l.shift-float64(l.scale*second)
		case n.Op == "Mul" && isFirst:
			l.x, l.scale = n.Input(1), l.scale*first
		case n.Op == "Mul":
			l.x, l.scale = n.Input(0), l.scale*second
		case n.Op == "Div" && isSecond && second != 0:
			l.x, l.scale = n.Input(0), l.scale/second
		default:
			return list
		}
		l.visited = len(m.visited)
		list = append(list, l)
	}
	return list
}

// splitSum splits a tensor that is the sum of a tensor x and a number c. ok is false if it is no
// such sum.
func (m *matcher) splitSum(tensor *graph.Value) (x *graph.Value, c float64, ok bool) {
	reached := len(m.visited)
	if list := m.readLines(tensor); len(list) > 1 && list[1].scale == 1 && m.isSum(tensor) {
		m.visited = m.visited[:list[1].visited]
		return list[1].x, list[1].shift, true
	}
	m.visited = m.visited[:reached]
	return nil, 0, false
}

// isSum reports whether an Add or a Sub computes a tensor.
func (m *matcher) isSum(tensor *graph.Value) bool {
	i, ok := m.maker[m.skipCopies(tensor)]
	return ok && (m.nodes[i].Op == "Add" || m.nodes[i].Op == "Sub")
}

// splitLineOf returns x for a tensor that is scale*op(x) + shift, and the sign of the scale, which may
// be either. x is nil for any other tensor.
func (m *matcher) splitLineOf(tensor *graph.Value, op string, scale, shift float64) (x *graph.Value, sign float64) {
	reached := len(m.visited)
	for _, l := range m.readLines(tensor) {
		if math.Abs(l.scale) == scale && l.shift == shift {
			m.visited = m.visited[:l.visited]
			if x := m.unaryOperand(l.x, op); x != nil {
				return x, math.Copysign(1, l.scale)
			}
			break
		}
	}
	m.visited = m.visited[:reached]
	return nil, 0
}

// A polynomial holds the coefficients of 1, x, x² and x³.
type polynomial [4]float64

// readPolynomial reads a tensor as a polynomial of x. ok is false if it is none, or one of a higher
// degree.
func (m *matcher) readPolynomial(tensor, x *graph.Value) (p polynomial, ok bool) {
	if m.isSame(tensor, x) {
		return polynomial{0, 1}, true
	}
	if v, ok := m.findScalar(tensor); ok {
		return polynomial{v}, true
	}
	if m.steps--; m.steps < 0 {
		return p, false
	}
	n := m.matchProducer(tensor, "Add", "Sub", "Mul", "Div", "Neg", "Pow")
	if n == nil {
		return p, false
	}
	if p, ok = m.readPolynomial(n.Input(0), x); !ok || n.Op == "Neg" && len(n.In) == 1 {
		return p.times(polynomial{-1}), ok
	}
	if len(n.In) != 2 {
		return p, false
	}
	q, ok := m.readPolynomial(n.Input(1), x)
	if !ok {
		return p, false
	}
	isNumber := q[1] == 0 && q[2] == 0 && q[3] == 0
	switch n.Op {
	case "Add", "Sub":
		if n.Op == "Sub" {
			q = q.times(polynomial{-1})
		}
		for i := range p {
			p[i] += q[i]
		}
		return p, true
	case "Div":
		return p.times(polynomial{1 / q[0]}), isNumber && q[0] != 0
	case "Pow":
		y := polynomial{1}
		for range int(min(max(q[0], 0), 3)) {
			if y.degree()+p.degree() > 3 {
				return p, false
			}
			y = y.times(p)
		}
		return y, isNumber && slices.Contains([]float64{1, 2, 3}, q[0])
	}
	return p.times(q), n.Op == "Mul" && p.degree()+q.degree() <= 3
}

func (p polynomial) degree() int {
	for i := len(p) - 1; i > 0; i-- {
		if p[i] != 0 {
			return i
		}
	}
	return 0
}

// times returns the terms of p*q up to the third degree.
func (p polynomial) times(q polynomial) (y polynomial) {
	for i := range p {
		for k := range q[:len(q)-i] {
			y[i+k] += float64(p[i] * q[k])
		}
	}
	return y
}

// isNearly reports whether p is scale*q, within the rounding of fp16.
func (p polynomial) isNearly(scale float64, q polynomial) bool {
	for i := range p {
		if !isNearlyEqual(p[i], scale*q[i]) {
			return false
		}
	}
	return true
}
