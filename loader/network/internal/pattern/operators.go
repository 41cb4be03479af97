package pattern

import (
	"slices"

	"anesim/internal/network/graph"
)

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
	p := m.splitProduct(arg)
	if len(p.over) != 1 || len(p.under) > 0 || p.scale < small || shift < 0 {
		return nil
	}
	return newUnaryNode("ScaledLog", p.over[0], map[string]*graph.Attr{"scale": {Float: float32(p.scale)}, "shift": {Float: float32(shift)}})
}

// matchSoftmax matches exp(x - max)/sum over one axis, with or without the maximum.
func (m *matcher) matchSoftmax(out *graph.Value) *graph.Node {
	p := m.splitProduct(out)
	if p.scale != 1 || len(p.over) != 1 || len(p.under) != 1 {
		return nil
	}
	sum := m.matchProducer(p.under[0], "ReduceSum")
	if sum == nil || !m.isSame(sum.Input(0), p.over[0]) {
		return nil
	}
	axes, ok := m.readReducedAxes(sum)
	// Before version 13, a Softmax runs over all axes from axis on.
	if !ok || len(axes) != 1 || sum.Opset < 13 && axes[0] != -1 {
		return nil
	}
	// Both readers of the exponentials may have casts of their own.
	if m.matchProducer(sum.Input(0), "Exp") == nil {
		return nil
	}
	x := m.unaryOperand(p.over[0], "Exp")
	if x == nil {
		return nil
	}
	reached := len(m.visited)
	if s := m.matchProducer(x, "Sub"); s != nil && len(s.In) == 2 {
		if most := m.matchProducer(s.Input(1), "ReduceMax"); most != nil && m.isSame(most.Input(0), s.Input(0)) {
			if a, ok := m.readReducedAxes(most); ok && slices.Equal(a, axes) {
				x, reached = s.Input(0), len(m.visited)
			}
		}
	}
	m.visited = m.visited[:reached] // another difference is the softmax's input
	return newUnaryNode("Softmax", x, map[string]*graph.Attr{"axis": {Int: int64(axes[0])}})
}

// matchNorm matches d/sqrt(mean(d*d) + epsilon). It is a layer norm of x if d is x - mean(x),
// and an RMS norm of d otherwise. A scale and a bias after it stay separate nodes.
func (m *matcher) matchNorm(out *graph.Value) *graph.Node {
	d, under := m.splitRootQuotient(m.splitProduct(out))
	if under == nil {
		return nil
	}
	e, axes, epsilon := m.matchMeanSquare(under)
	if e == nil {
		return nil
	}
	a := map[string]*graph.Attr{"axes": graph.ListOf(axes...), "epsilon": {Float: float32(epsilon)}}
	reached := len(m.visited)
	// Both occurrences of d may be separate nodes, because some exporters compute x - mean(x) twice.
	if x, y := m.operandOfCentering(d, axes), m.operandOfCentering(e, axes); x != nil && y != nil && m.isSame(x, y) {
		return newUnaryNode("LayerNormalization", x, a)
	}
	// The nodes of the failed match stay in the graph.
	m.visited = m.visited[:reached]
	if !m.isSame(d, e) {
		return nil
	}
	return newUnaryNode("RMSNormalization", d, a)
}

// matchShiftedNorm matches x*r + (beta - mean(x)*r) with r = gamma/sqrt(variance(x) + epsilon), the
// form in which TensorFlow and Keras normalize with computed moments. Both gamma and beta may be
// absent.
func (m *matcher) matchShiftedNorm(out *graph.Value) *graph.Node {
	sum := m.matchProducer(out, "Add", "Sub")
	if sum == nil || len(sum.In) != 2 {
		return nil
	}
	reached := len(m.visited)
	for i := range sum.In {
		if n := m.matchNormOfSum(sum.Input(i), sum.Input(1-i), sum.Op == "Sub"); n != nil && (i == 0 || sum.Op == "Add") {
			return n
		}
		m.visited = m.visited[:reached]
	}
	return nil
}

// matchNormOfSum is matchShiftedNorm for the two summands x*r and beta - mean(x)*r. If negated is
// set, rest is mean(x)*r, which is subtracted.
func (m *matcher) matchNormOfSum(scaled, rest *graph.Value, negated bool) *graph.Node {
	beta, shift := &graph.Value{}, rest
	if !negated {
		if n := m.matchProducer(rest, "Sub"); n != nil && len(n.In) == 2 {
			beta, shift = n.Input(0), n.Input(1)
		} else if shift = m.unaryOperand(rest, "Neg"); shift == nil {
			return nil
		}
	}
	p, q := m.matchProducer(scaled, "Mul"), m.matchProducer(shift, "Mul")
	if p == nil || q == nil || len(p.In) != 2 || len(q.In) != 2 {
		return nil
	}
	for i := range 4 {
		x, r, mean := p.Input(i/2), p.Input(1-i/2), q.Input(i%2)
		if r != q.Input(1-i%2) {
			continue
		}
		factor := m.splitProduct(r)
		gamma, under := m.splitRootQuotient(factor)
		if under == nil {
			continue
		}
		if gamma == nil {
			gamma = &graph.Value{}
		}
		e, axes, epsilon := m.matchMeanSquare(under)
		if e == nil {
			continue
		}
		other := m.operandOfCentering(e, axes)
		if other == nil || !m.isSame(other, x) || !m.isMeanOf(mean, x, axes) {
			continue
		}
		return &graph.Node{Op: "LayerNormalization", In: []*graph.Value{x, gamma, beta}, Attr: map[string]*graph.Attr{"axes": graph.ListOf(axes...), "epsilon": {Float: float32(epsilon)}}}
	}
	return nil
}

// matchMeanSquare returns e, the axes and epsilon for a tensor that is mean(e*e) + epsilon. e is nil
// for any other tensor.
func (m *matcher) matchMeanSquare(tensor *graph.Value) (e *graph.Value, axes []int, epsilon float64) {
	v, epsilon, ok := m.splitSum(tensor)
	if !ok || epsilon < 0 {
		return nil, nil, 0
	}
	mean := m.matchProducer(v, "ReduceMean")
	if mean == nil {
		return nil, nil, 0
	}
	if axes, ok = m.readReducedAxes(mean); !ok {
		return nil, nil, 0
	}
	square := m.matchProducer(mean.Input(0), "Pow", "Mul")
	if square == nil || len(square.In) != 2 {
		return nil, nil, 0
	}
	if square.Op == "Mul" && !m.isSame(square.Input(1), square.Input(0)) {
		return nil, nil, 0
	}
	if two, ok := m.findScalar(square.Input(1)); square.Op == "Pow" && (!ok || two != 2) {
		return nil, nil, 0
	}
	return square.Input(0), axes, epsilon
}

// splitRootQuotient returns d and v for a product that is d/sqrt(v), in any form in which exporters
// write it. d is nil for the number 1. v is nil for any other product.
func (m *matcher) splitRootQuotient(p product) (d, v *graph.Value) {
	if p.scale != 1 || len(p.over) > 2 || len(p.under) > 1 || len(p.over)+len(p.under) > 2 {
		return nil, nil
	}
	if len(p.under) == 1 {
		if len(p.over) == 1 {
			d = p.over[0]
		}
		return d, m.findRadicand(p.under[0], 0.5)
	}
	for i, in := range p.over {
		if v := m.findRadicand(in, -0.5); v != nil {
			if len(p.over) == 2 {
				d = p.over[1-i]
			}
			return d, v
		}
	}
	return nil, nil
}

// findRadicand returns v for a tensor that is v to the given power, 0.5 or -0.5. It returns nil for
// any other tensor.
func (m *matcher) findRadicand(tensor *graph.Value, power float64) *graph.Value {
	op := "Sqrt"
	if power < 0 {
		op = "Rsqrt"
	}
	if v := m.unaryOperand(tensor, op); v != nil {
		return v
	}
	reached := len(m.visited)
	if n := m.matchProducer(tensor, "Pow"); n != nil && len(n.In) == 2 {
		if e, ok := m.findScalar(n.Input(1)); ok && e == power {
			return n.Input(0)
		}
	}
	m.visited = m.visited[:reached]
	return nil
}

// operandOfCentering returns x for a tensor that is x minus the mean of x over axes. It returns nil
// for any other tensor.
func (m *matcher) operandOfCentering(tensor *graph.Value, axes []int) *graph.Value {
	s := m.matchProducer(tensor, "Sub")
	if s == nil || len(s.In) != 2 || !m.isMeanOf(s.Input(1), s.Input(0), axes) {
		return nil
	}
	return s.Input(0)
}

// isMeanOf reports whether a tensor is the mean of x over axes.
func (m *matcher) isMeanOf(tensor, x *graph.Value, axes []int) bool {
	mean := m.matchProducer(tensor, "ReduceMean")
	if mean == nil || !m.isSame(mean.Input(0), x) {
		return false
	}
	a, ok := m.readReducedAxes(mean)
	return ok && slices.Equal(a, axes)
}
