package pattern

import (
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// matchGELU matches x/2 * (1 + erf(x/sqrt(2))), or the same with tanh(sqrt(2/pi)*(x +
// 0.044715*x^3)) instead of erf. Factors may be in any order.
func (m *matcher) matchGELU(out *graph.Value) *graph.Node {
	c, f := m.splitProduct(out)
	if len(f) != 2 || !isNearlyEqual(c, 0.5) {
		return nil
	}
	for i, x := range f {
		t, one, ok := m.splitSum(f[1-i])
		if !ok || one != 1 {
			continue
		}
		if arg := m.unaryOperand(t, "Erf"); arg != nil && m.isMultipleOf(arg, math.Sqrt2/2, x) {
			return newUnaryNode("Gelu", x, nil)
		}
		if arg := m.unaryOperand(t, "Tanh"); arg != nil && m.isGELUTanhArgument(arg, x) {
			return newUnaryNode("Gelu", x, map[string]*graph.Attr{"approximate": {Text: "tanh"}})
		}
	}
	return nil
}

// isGELUTanhArgument reports whether a tensor is sqrt(2/pi)*(x + 0.044715*x^3), or the same with x
// factored out.
func (m *matcher) isGELUTanhArgument(tensor, x *graph.Value) bool {
	const third = 0.044715
	c, f := m.splitProduct(tensor)
	if !isNearlyEqual(c, math.Sqrt(2/math.Pi)) {
		return false
	}
	// Exporters write one of two forms: c*(x + a*x^3), or c*x*(1 + a*x^2).
	if len(f) == 1 {
		sum := m.matchProducer(f[0], "Add")
		if sum == nil || len(sum.In) != 2 {
			return false
		}
		for i, in := range sum.AllInputs() {
			if in != x {
				continue
			}
			c, f := m.splitProduct(sum.Input(1 - i))
			return isNearlyEqual(c, third) && m.isPowerOf(f, x, 3)
		}
		return false
	}
	if len(f) != 2 || !slices.Contains(f, x) {
		return false
	}
	other := f[0]
	if other == x {
		other = f[1]
	}
	t, one, ok := m.splitSum(other)
	if !ok || one != 1 {
		return false
	}
	c, f = m.splitProduct(t)
	return isNearlyEqual(c, third) && m.isPowerOf(f, x, 2)
}

// matchSiLU matches x*sigmoid(x), x*sigmoid(a*x) or x/(1 + exp(-x)).
func (m *matcher) matchSiLU(out *graph.Value) *graph.Node {
	if d := m.matchProducer(out, "Div"); d != nil && len(d.In) == 2 {
		if t, one, ok := m.splitSum(d.Input(1)); ok && one == 1 {
			if arg := m.unaryOperand(t, "Exp"); arg != nil && m.isMultipleOf(arg, -1, d.Input(0)) {
				return newUnaryNode("Swish", d.Input(0), nil)
			}
		}
		return nil
	}
	c, f := m.splitProduct(out)
	if c != 1 || len(f) != 2 {
		return nil
	}
	for i, x := range f {
		arg := m.unaryOperand(f[1-i], "Sigmoid")
		if arg == nil {
			continue
		}
		if arg == x {
			return newUnaryNode("Swish", x, nil)
		}
		if a, g := m.splitProduct(arg); len(g) == 1 && g[0] == x {
			return newUnaryNode("QuickGelu", x, map[string]*graph.Attr{"alpha": {Float: float32(a)}})
		}
	}
	return nil
}

// matchHardSwish matches x*clip(x + 3, 0, 6)/6, or x times the equal hard sigmoid.
func (m *matcher) matchHardSwish(out *graph.Value) *graph.Node {
	c, f := m.splitProduct(out)
	if len(f) != 2 {
		return nil
	}
	for i, x := range f {
		if isNearlyEqual(c, 1./6) && m.relu6Operand(f[1-i]) == x {
			return newUnaryNode("HardSwish", x, nil)
		}
		if n := m.matchProducer(f[1-i], "HardSigmoid"); n != nil && c == 1 && n.Input(0) == x &&
			isNearlyEqual(float64(floatAttrOr(n, "alpha", 0.2)), 1./6) && floatAttrOr(n, "beta", 0.5) == 0.5 {
			return newUnaryNode("HardSwish", x, nil)
		}
	}
	return nil
}

func floatAttrOr(n *graph.Node, name string, fallback float32) float32 {
	if a := n.Attribute(name); a != nil {
		return a.Float
	}
	return fallback
}

// relu6Operand returns the x of clip(x + 3, 0, 6), or nil if the tensor has another form.
func (m *matcher) relu6Operand(tensor *graph.Value) *graph.Value {
	t, low, high, ok := m.matchClip(tensor)
	if !ok || low != 0 || high != 6 {
		return nil
	}
	x, three, ok := m.splitSum(t)
	if !ok || three != 3 {
		return nil
	}
	return x
}

// matchHardSigmoid matches clip(x + 3, 0, 6)/6.
func (m *matcher) matchHardSigmoid(out *graph.Value) *graph.Node {
	c, f := m.splitProduct(out)
	if len(f) != 1 || !isNearlyEqual(c, 1./6) {
		return nil
	}
	if x := m.relu6Operand(f[0]); x != nil {
		return newUnaryNode("HardSigmoid", x, map[string]*graph.Attr{"alpha": {Float: 1. / 6}, "beta": {Float: 0.5}})
	}
	return nil
}

// matchSoftplus matches log(1 + exp(x)).
func (m *matcher) matchSoftplus(out *graph.Value) *graph.Node {
	t, one, ok := m.splitSum(m.unaryOperand(out, "Log"))
	if !ok || one != 1 {
		return nil
	}
	if x := m.unaryOperand(t, "Exp"); x != nil {
		return newUnaryNode("Softplus", x, nil)
	}
	return nil
}

// matchScaledLog matches log(c*x + a) for a factor c of at least 64. Exporters write such a factor
// before the logarithm of a spectrum, and c*x can exceed fp16.
func (m *matcher) matchScaledLog(out *graph.Value) *graph.Node {
	const small = 64
	arg := m.unaryOperand(out, "Log")
	if arg == nil {
		return nil
	}
	shift := 0.0
	if x, a, ok := m.splitSum(arg); ok {
		arg, shift = x, a
	}
	c, f := m.splitProduct(arg)
	if len(f) != 1 || c < small || shift < 0 {
		return nil
	}
	return newUnaryNode("ScaledLog", f[0], map[string]*graph.Attr{"scale": {Float: float32(c)}, "shift": {Float: float32(shift)}})
}

// matchSoftmax matches exp(x - max)/sum over one axis, with or without the maximum.
func (m *matcher) matchSoftmax(out *graph.Value) *graph.Node {
	d := m.matchProducer(out, "Div")
	if d == nil || len(d.In) != 2 {
		return nil
	}
	sum := m.matchProducer(d.Input(1), "ReduceSum")
	if sum == nil || sum.Input(0) != d.Input(0) {
		return nil
	}
	axes, ok := m.readReducedAxes(sum)
	// Before version 13, a Softmax runs over all axes from axis on.
	if !ok || len(axes) != 1 || sum.Opset < 13 && axes[0] != -1 {
		return nil
	}
	x := m.unaryOperand(d.Input(0), "Exp")
	if x == nil {
		return nil
	}
	if s := m.matchProducer(x, "Sub"); s != nil && len(s.In) == 2 {
		if most := m.matchProducer(s.Input(1), "ReduceMax"); most != nil && most.Input(0) == s.Input(0) {
			if a, ok := m.readReducedAxes(most); ok && slices.Equal(a, axes) {
				x = s.Input(0)
			}
		}
		if x != s.Input(0) { // another difference is the softmax's input
			m.visited = slices.DeleteFunc(m.visited, func(k int) bool { return slices.Contains(m.nodes[k].Out, x) || m.nodes[k].Op == "ReduceMax" })
		}
	}
	return newUnaryNode("Softmax", x, map[string]*graph.Attr{"axis": {Int: int64(axes[0])}})
}

// matchNorm matches d/sqrt(mean(d*d) + epsilon). It is a layer norm of x if d is x - mean(x),
// and an RMS norm of d otherwise. A scale and a bias after it stay separate nodes.
func (m *matcher) matchNorm(out *graph.Value) *graph.Node {
	d, under := m.splitRootQuotient(out)
	if d == nil {
		return nil
	}
	v, epsilon, ok := m.splitSum(under)
	if !ok || epsilon < 0 {
		return nil
	}
	mean := m.matchProducer(v, "ReduceMean")
	if mean == nil {
		return nil
	}
	axes, ok := m.readReducedAxes(mean)
	if !ok {
		return nil
	}
	square := m.matchProducer(mean.Input(0), "Pow", "Mul")
	if square == nil || len(square.In) != 2 {
		return nil
	}
	e := square.Input(0)
	if square.Op == "Mul" && square.Input(1) != e {
		return nil
	}
	if two, ok := m.findScalar(square.Input(1)); square.Op == "Pow" && (!ok || two != 2) {
		return nil
	}
	a := map[string]*graph.Attr{"axes": graph.ListOf(axes...), "epsilon": {Float: float32(epsilon)}}
	reached := len(m.visited)
	// Both occurrences of d may be separate nodes, because some exporters compute x - mean(x) twice.
	if x := m.operandOfCentering(d, axes); x != nil && (d == e || m.operandOfCentering(e, axes) == x) {
		return newUnaryNode("LayerNormalization", x, a)
	}
	// The nodes of the failed match stay in the graph.
	m.visited = m.visited[:reached]
	if d != e {
		return nil
	}
	return newUnaryNode("RMSNormalization", d, a)
}

// splitRootQuotient returns d and v for a tensor that is d/sqrt(v), in any form in which exporters
// write it. It returns nil for any other tensor.
func (m *matcher) splitRootQuotient(out *graph.Value) (d, v *graph.Value) {
	if n := m.matchProducer(out, "Div"); n != nil && len(n.In) == 2 {
		return n.Input(0), m.findRadicand(n.Input(1), 0.5)
	}
	n := m.matchProducer(out, "Mul")
	if n == nil || len(n.In) != 2 {
		return nil, nil
	}
	for i, in := range n.AllInputs() {
		v := m.findRadicand(in, -0.5)
		if r := m.unaryOperand(in, "Reciprocal"); r != nil {
			v = m.findRadicand(r, 0.5)
		} else if r := m.matchProducer(in, "Div"); v == nil && r != nil {
			if one, ok := m.findScalar(r.Input(0)); ok && one == 1 {
				v = m.findRadicand(r.Input(1), 0.5)
			} else {
				m.visited = m.visited[:len(m.visited)-1]
			}
		}
		if v != nil {
			return n.Input(1 - i), v
		}
	}
	return nil, nil
}

// findRadicand returns v for a tensor that is v to the given power, 0.5 or -0.5. It returns nil for
// any other tensor.
func (m *matcher) findRadicand(tensor *graph.Value, power float64) *graph.Value {
	if power > 0 {
		if v := m.unaryOperand(tensor, "Sqrt"); v != nil {
			return v
		}
	} else if v := m.unaryOperand(tensor, "Rsqrt"); v != nil {
		return v
	}
	if n := m.matchProducer(tensor, "Pow"); n != nil && len(n.In) == 2 {
		if e, ok := m.findScalar(n.Input(1)); ok && e == power {
			return n.Input(0)
		}
	}
	return nil
}

// operandOfCentering returns x for a tensor that is x minus the mean of x over axes. It returns nil
// for any other tensor.
func (m *matcher) operandOfCentering(tensor *graph.Value, axes []int) *graph.Value {
	s := m.matchProducer(tensor, "Sub")
	if s == nil || len(s.In) != 2 {
		return nil
	}
	mean := m.matchProducer(s.Input(1), "ReduceMean")
	if mean == nil || mean.Input(0) != s.Input(0) {
		return nil
	}
	if a, ok := m.readReducedAxes(mean); !ok || !slices.Equal(a, axes) {
		return nil
	}
	return s.Input(0)
}
