package pattern

import (
	"math"

	"anesim/internal/network/graph"
)

// tanhOfGELU is the argument of the hyperbolic tangent of GELU's approximation:
// sqrt(2/pi)*(x + 0.044715*x^3).
var tanhOfGELU = polynomial{1: math.Sqrt(2 / math.Pi), 3: 0.044715 * math.Sqrt(2/math.Pi)}

// matchGated matches x times a function of x between 0 and 1: GELU, SiLU and HardSwish.
func (m *matcher) matchGated(out *graph.Value) *graph.Node {
	p := m.splitProduct(out)
	reached := len(m.visited)
	switch {
	case len(p.over) == 2 && len(p.under) == 0:
		for i, x := range p.over {
			for _, match := range [...]func(x, gate *graph.Value, scale float64) *graph.Node{m.matchSwish, m.matchGELU, m.matchHardSwish} {
				if n := match(x, p.over[1-i], p.scale); n != nil {
					return n
				}
				m.visited = m.visited[:reached]
			}
		}
	case len(p.over) == 1 && len(p.under) == 1 && p.scale == 1: // x/(1 + exp(-x))
		if w, sign := m.splitLineOf(p.under[0], "Exp", 1, 1); w != nil && sign > 0 {
			return m.newSwishNode(p.over[0], w, -1)
		}
	}
	return nil
}

// matchSwish matches the gate sigmoid(a*x), or the sigmoid of twice GELU's argument of a tangent.
func (m *matcher) matchSwish(x, gate *graph.Value, scale float64) *graph.Node {
	w, factor := m.splitSigmoid(gate, scale)
	if w == nil {
		return nil
	}
	return m.newSwishNode(x, w, factor)
}

// newSwishNode returns the operator of x*sigmoid(factor*argument), or nil if argument has another form.
func (m *matcher) newSwishNode(x, argument *graph.Value, factor float64) *graph.Node {
	p, ok := m.readPolynomial(argument, x)
	p = p.times(polynomial{factor})
	switch {
	case !ok:
		return nil
	case p.isNearly(2, tanhOfGELU):
		return newUnaryNode("Gelu", x, map[string]*graph.Attr{"approximate": {Text: "tanh"}})
	case p == polynomial{0, 1}:
		return newUnaryNode("Swish", x, nil)
	case p == polynomial{0, p[1]} && p[1] != 0:
		return newUnaryNode("QuickGelu", x, map[string]*graph.Attr{"alpha": {Float: float32(p[1])}})
	}
	return nil
}

// splitSigmoid returns w and factor for a tensor that is sigmoid(factor*w)/scale. w is nil for any
// other tensor.
func (m *matcher) splitSigmoid(tensor *graph.Value, scale float64) (w *graph.Value, factor float64) {
	// Half of 1 + tanh(w).
	if w, sign := m.splitLineOf(tensor, "Tanh", 0.5/scale, 0.5/scale); w != nil {
		return w, 2 * sign
	}
	if scale != 1 {
		return nil, 0
	}
	if w := m.unaryOperand(tensor, "Sigmoid"); w != nil {
		return w, 1
	}
	if w, sign := m.splitLineOf(tensor, "Sigmoid", 1, 1); w != nil && sign < 0 { // 1 - sigmoid(w)
		return w, -1
	}
	p := m.splitProduct(tensor)
	if p.scale != 1 || len(p.under) != 1 || len(p.over) > 1 {
		return nil, 0
	}
	w, sign := m.splitLineOf(p.under[0], "Exp", 1, 1)
	if w == nil || sign < 0 {
		return nil, 0
	}
	if len(p.over) == 0 {
		return w, -1
	}
	if other := m.unaryOperand(p.over[0], "Exp"); other != nil && m.isSame(other, w) {
		return w, 1 // exp(w)/(1 + exp(w))
	}
	return nil, 0
}

// matchGELU matches the gate of a GELU, half of 1 + erf(x/sqrt(2)). That with a hyperbolic tangent is a
// sigmoid.
func (m *matcher) matchGELU(x, gate *graph.Value, scale float64) *graph.Node {
	w, sign := m.splitLineOf(gate, "Erf", 0.5/scale, 0.5/scale)
	if w == nil {
		return nil
	}
	if p, ok := m.readPolynomial(w, x); ok && p.isNearly(sign, polynomial{1: math.Sqrt2 / 2}) {
		return newUnaryNode("Gelu", x, nil)
	}
	return nil
}

// matchHardSwish matches the gate clip(x + 3, 0, 6)/6 in any form.
func (m *matcher) matchHardSwish(x, gate *graph.Value, scale float64) *graph.Node {
	c := m.splitClip(gate)
	if c.x == nil || !c.isUnit(scale) {
		return nil
	}
	if p, ok := m.readPolynomial(c.x, x); ok && p.times(polynomial{scale * c.slope}).plus(scale*c.shift).isNearly(1, hardSigmoid) {
		return newUnaryNode("HardSwish", x, nil)
	}
	return nil
}

// hardSigmoid is the line that a hard sigmoid limits to the range from 0 to 1.
var hardSigmoid = polynomial{0.5, 1. / 6}

// matchHardSigmoid matches clip(x + 3, 0, 6)/6 in any form.
func (m *matcher) matchHardSigmoid(out *graph.Value) *graph.Node {
	p := m.splitProduct(out)
	if len(p.over) != 1 || len(p.under) > 0 {
		return nil
	}
	c := m.splitClip(p.over[0])
	if c.x == nil || !c.isUnit(p.scale) {
		return nil
	}
	for _, l := range m.readLines(c.x) {
		at := polynomial{float64(l.shift*c.slope) + c.shift, l.scale * c.slope}
		if at.isNearly(1/p.scale, hardSigmoid) {
			m.visited = m.visited[:l.visited]
			return newUnaryNode("HardSigmoid", l.x, map[string]*graph.Attr{"alpha": {Float: 1. / 6}, "beta": {Float: 0.5}})
		}
	}
	return nil
}

// plus returns p + v.
func (p polynomial) plus(v float64) polynomial {
	p[0] += v
	return p
}

// A clip limits slope*x + shift to the range from low to high.
type clip struct {
	x                       *graph.Value
	slope, shift, low, high float64
	nodes                   int  // number of nodes that limit
	stated                  bool // one of them is a Clip
}

// isUnit reports whether scale times the range is that from 0 to 1.
func (c clip) isUnit(scale float64) bool { return c.low == 0 && isNearlyEqual(scale*c.high, 1) }

// splitClip reads a tensor as a clip of another, which several nodes may limit: a Relu, a Max and a Min,
// in any order. x is nil if nothing limits the tensor.
func (m *matcher) splitClip(tensor *graph.Value) clip {
	c := clip{x: tensor, slope: 1, low: math.Inf(-1), high: math.Inf(1)}
	for range maxDepth {
		reached := len(m.visited)
		low, high := math.Inf(-1), math.Inf(1)
		n := m.matchProducer(c.x, "Clip", "Relu", "Max", "Min", "HardSigmoid")
		if n == nil {
			break
		}
		x, ok := n.Input(0), true
		switch n.Op {
		case "HardSigmoid":
			low, high = 0, 1
			c.slope, c.shift = float64(n.Float("alpha", 0.2)), float64(n.Float("beta", 0.5))
		case "Relu":
			low, ok = 0, len(n.In) == 1
		case "Clip":
			low, high, ok = m.readClipBounds(n)
			c.stated = c.stated || ok
		default:
			if ok = len(n.In) == 2; !ok {
				break
			}
			v, isSecond := m.findScalar(n.Input(1))
			if !isSecond {
				x = n.Input(1)
				v, ok = m.findScalar(n.Input(0))
			}
			if low = v; n.Op == "Min" {
				low, high = math.Inf(-1), v
			}
		}
		if !ok || low > high {
			m.visited = m.visited[:reached]
			break
		}
		// The later limits hold for the range of the earlier.
		c.low, c.high = min(max(low, c.low), c.high), min(max(high, c.low), c.high)
		c.x = x
		if c.nodes++; n.Op == "HardSigmoid" {
			break // the line inside
		}
	}
	if c.nodes == 0 {
		c.x = nil
	}
	return c
}

// readClipBounds returns the bounds of a Clip. ok is false if one is computed.
func (m *matcher) readClipBounds(n *graph.Node) (low, high float64, ok bool) {
	low, high = math.Inf(-1), math.Inf(1)
	for i, key := range [...]string{"min", "max"} {
		v := [...]*float64{&low, &high}[i]
		if a := n.Attribute(key); a != nil {
			*v = float64(a.Float)
		} else if n.Given(1 + i) {
			if *v, ok = m.findScalar(n.Input(1 + i)); !ok {
				return 0, 0, false
			}
		}
	}
	return low, high, true
}

// matchClip matches a clip in two nodes, such as a Relu and a Min. Two Clips in a row stay as the file
// has them.
func (m *matcher) matchClip(out *graph.Value) *graph.Node {
	c := m.splitClip(out)
	if c.x == nil || c.nodes < 2 || c.stated || c.slope != 1 || c.shift != 0 || math.IsInf(c.low, 0) || math.IsInf(c.high, 0) {
		return nil
	}
	if t := m.typeOf(c.x); t != 0 && !isEngineFloat(t) {
		return nil
	}
	return newUnaryNode("Clip", c.x, map[string]*graph.Attr{"min": {Float: float32(c.low)}, "max": {Float: float32(c.high)}})
}

// matchSigmoid matches 1/(1 + exp(-x)), 0.5 + 0.5*tanh(x/2) and other forms of a sigmoid.
func (m *matcher) matchSigmoid(out *graph.Value) *graph.Node {
	if w, factor := m.splitSigmoid(out, 1); w != nil {
		if x := m.findMultiple(w, 1/factor); x != nil {
			return newUnaryNode("Sigmoid", x, nil)
		}
	}
	return nil
}

// findMultiple returns x for a tensor that is factor*x, where x is a tensor of the graph, or nil.
func (m *matcher) findMultiple(tensor *graph.Value, factor float64) *graph.Value {
	reached := len(m.visited)
	for _, l := range m.readLines(tensor) {
		if l.shift == 0 && l.scale == factor {
			m.visited = m.visited[:l.visited]
			return l.x
		}
	}
	m.visited = m.visited[:reached]
	return nil
}

// matchTanh matches 2*sigmoid(2*x) - 1 and (exp(2*x) - 1)/(exp(2*x) + 1).
func (m *matcher) matchTanh(out *graph.Value) *graph.Node {
	var x *graph.Value
	reached := len(m.visited)
	for _, l := range m.readLines(out) {
		if l.scale == 2 && l.shift == -1 {
			m.visited = m.visited[:l.visited]
			if w, factor := m.splitSigmoid(l.x, 1); w != nil {
				x = m.findMultiple(w, 2/factor)
			}
			break
		}
	}
	if x == nil {
		m.visited = m.visited[:reached]
		p := m.splitProduct(out)
		if p.scale != 1 || len(p.over) != 1 || len(p.under) != 1 {
			return nil
		}
		sum, _ := m.splitLineOf(p.under[0], "Exp", 1, 1)
		difference, sign := m.splitDifferenceOfExp(p.over[0])
		if sum == nil || difference == nil || !m.isSame(sum, difference) {
			return nil
		}
		x = m.findMultiple(sum, 2*sign)
	}
	if x == nil {
		return nil
	}
	return newUnaryNode("Tanh", x, nil)
}

// splitDifferenceOfExp returns w and 1 for a tensor that is exp(w) - 1, and w and -1 for 1 - exp(w). w
// is nil for any other tensor.
func (m *matcher) splitDifferenceOfExp(tensor *graph.Value) (w *graph.Value, sign float64) {
	for _, l := range m.readLines(tensor) {
		if math.Abs(l.scale) == 1 && l.shift == -l.scale {
			m.visited = m.visited[:l.visited]
			return m.unaryOperand(l.x, "Exp"), l.scale
		}
	}
	return nil, 0
}

// matchLeakyReLU matches max(x, a*x) for a slope a between 0 and 1.
func (m *matcher) matchLeakyReLU(out *graph.Value) *graph.Node {
	n := m.matchProducer(out, "Max")
	if n == nil || len(n.In) != 2 {
		return nil
	}
	reached := len(m.visited)
	for i, x := range n.AllInputs() {
		if p, ok := m.readPolynomial(n.Input(1-i), x); ok && p == (polynomial{0, p[1]}) && p[1] > 0 && p[1] < 1 {
			return newUnaryNode("LeakyRelu", x, map[string]*graph.Attr{"alpha": {Float: float32(p[1])}})
		}
		m.visited = m.visited[:reached]
	}
	return nil
}

// matchSoftplus matches log(1 + exp(x)).
func (m *matcher) matchSoftplus(out *graph.Value) *graph.Node {
	if u := m.unaryOperand(out, "Log"); u != nil {
		if x, sign := m.splitLineOf(u, "Exp", 1, 1); x != nil && sign > 0 {
			return newUnaryNode("Softplus", x, nil)
		}
	}
	return nil
}
