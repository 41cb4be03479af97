package pattern

import (
	"math"
	"slices"

	"anesim/loader/network/graph"
)

// gelu is x/2 * (1 + erf(x/sqrt(2))), or with tanh(sqrt(2/pi)*(x + 0.044715*x^3)) in the
// place of erf, with the factors in any order.
func (m *matcher) gelu(out *graph.Value) *graph.Node {
	c, f := m.product(out)
	if len(f) != 2 || !near(c, 0.5) {
		return nil
	}
	for i, x := range f {
		t, one, ok := m.plus(f[1-i])
		if !ok || one != 1 {
			continue
		}
		if arg := m.one(t, "Erf"); arg != nil && m.times(arg, math.Sqrt2/2, x) {
			return fused("Gelu", x, nil)
		}
		if arg := m.one(t, "Tanh"); arg != nil && m.cubic(arg, x) {
			return fused("Gelu", x, map[string]*graph.Attr{"approximate": {Text: "tanh"}})
		}
	}
	return nil
}

// cubic reports whether a tensor is sqrt(2/pi)*(x + 0.044715*x^3), or x taken out of it.
func (m *matcher) cubic(name, x *graph.Value) bool {
	const third = 0.044715
	c, f := m.product(name)
	if !near(c, math.Sqrt(2/math.Pi)) {
		return false
	}
	if len(f) == 1 {
		sum := m.made(f[0], "Add")
		if sum == nil || len(sum.In) != 2 {
			return false
		}
		for i, in := range sum.In {
			if in != x {
				continue
			}
			c, f := m.product(sum.In[1-i])
			return near(c, third) && m.power(f, x, 3)
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
	t, one, ok := m.plus(other)
	if !ok || one != 1 {
		return false
	}
	c, f = m.product(t)
	return near(c, third) && m.power(f, x, 2)
}

// silu is x*sigmoid(x), x*sigmoid(a*x) or x/(1 + exp(-x)).
func (m *matcher) silu(out *graph.Value) *graph.Node {
	if d := m.made(out, "Div"); d != nil && len(d.In) == 2 {
		if t, one, ok := m.plus(d.In[1]); ok && one == 1 {
			if arg := m.one(t, "Exp"); arg != nil && m.times(arg, -1, d.In[0]) {
				return fused("Swish", d.In[0], nil)
			}
		}
		return nil
	}
	c, f := m.product(out)
	if c != 1 || len(f) != 2 {
		return nil
	}
	for i, x := range f {
		arg := m.one(f[1-i], "Sigmoid")
		if arg == nil {
			continue
		}
		if arg == x {
			return fused("Swish", x, nil)
		}
		if a, g := m.product(arg); len(g) == 1 && g[0] == x {
			return fused("QuickGelu", x, map[string]*graph.Attr{"alpha": {Float: float32(a)}})
		}
	}
	return nil
}

// hardSwish is x*clip(x + 3, 0, 6)/6, or x times the hard sigmoid that this is.
func (m *matcher) hardSwish(out *graph.Value) *graph.Node {
	c, f := m.product(out)
	if len(f) != 2 {
		return nil
	}
	for i, x := range f {
		if near(c, 1./6) && m.sixth(f[1-i]) == x {
			return fused("HardSwish", x, nil)
		}
		if n := m.made(f[1-i], "HardSigmoid"); n != nil && c == 1 && n.In[0] == x &&
			near(float64(floatOf(n, "alpha", 0.2)), 1./6) && floatOf(n, "beta", 0.5) == 0.5 {
			return fused("HardSwish", x, nil)
		}
	}
	return nil
}

func floatOf(n *graph.Node, name string, missing float32) float32 {
	if a := n.Attr[name]; a != nil {
		return a.Float
	}
	return missing
}

// sixth is the x of clip(x + 3, 0, 6), nil where a tensor is none.
func (m *matcher) sixth(name *graph.Value) *graph.Value {
	t, low, high, ok := m.bounds(name)
	if !ok || low != 0 || high != 6 {
		return nil
	}
	x, three, ok := m.plus(t)
	if !ok || three != 3 {
		return nil
	}
	return x
}

// hardSigmoid is clip(x + 3, 0, 6)/6.
func (m *matcher) hardSigmoid(out *graph.Value) *graph.Node {
	c, f := m.product(out)
	if len(f) != 1 || !near(c, 1./6) {
		return nil
	}
	if x := m.sixth(f[0]); x != nil {
		return fused("HardSigmoid", x, map[string]*graph.Attr{"alpha": {Float: 1. / 6}, "beta": {Float: 0.5}})
	}
	return nil
}

// softplus is log(1 + exp(x)).
func (m *matcher) softplus(out *graph.Value) *graph.Node {
	t, one, ok := m.plus(m.one(out, "Log"))
	if !ok || one != 1 {
		return nil
	}
	if x := m.one(t, "Exp"); x != nil {
		return fused("Softplus", x, nil)
	}
	return nil
}

// scaledLog is log(c*x + a) of a factor that takes x beyond fp16, as spectra are scaled
// before their logarithm.
func (m *matcher) scaledLog(out *graph.Value) *graph.Node {
	const small = 64
	arg := m.one(out, "Log")
	if arg == nil {
		return nil
	}
	shift := 0.0
	if x, a, ok := m.plus(arg); ok {
		arg, shift = x, a
	}
	c, f := m.product(arg)
	if len(f) != 1 || c < small || shift < 0 {
		return nil
	}
	return fused("ScaledLog", f[0], map[string]*graph.Attr{"scale": {Float: float32(c)}, "shift": {Float: float32(shift)}})
}

// softmax is exp(x - max)/sum of it over one axis, with the maximum or without.
func (m *matcher) softmax(out *graph.Value) *graph.Node {
	d := m.made(out, "Div")
	if d == nil || len(d.In) != 2 {
		return nil
	}
	sum := m.made(d.In[1], "ReduceSum")
	if sum == nil || sum.In[0] != d.In[0] {
		return nil
	}
	axes, ok := m.axes(sum)
	// Before version 13 a softmax is over all axes from one on.
	if !ok || len(axes) != 1 || sum.Opset < 13 && axes[0] != -1 {
		return nil
	}
	x := m.one(d.In[0], "Exp")
	if x == nil {
		return nil
	}
	if s := m.made(x, "Sub"); s != nil && len(s.In) == 2 {
		if most := m.made(s.In[1], "ReduceMax"); most != nil && most.In[0] == s.In[0] {
			if a, ok := m.axes(most); ok && slices.Equal(a, axes) {
				x = s.In[0]
			}
		}
		if x != s.In[0] { // another difference is the softmax's input
			m.visited = slices.DeleteFunc(m.visited, func(k int) bool { return slices.Contains(m.nodes[k].Out, x) || m.nodes[k].Op == "ReduceMax" })
		}
	}
	return fused("Softmax", x, map[string]*graph.Attr{"axis": {Int: int64(axes[0])}})
}

// norm is d/sqrt(mean of d*d + epsilon): of d = x - mean a layer norm of x, else the root
// mean square's of d. A scale and an addend behind it are nodes of their own.
func (m *matcher) norm(out *graph.Value) *graph.Node {
	d, under := m.rooted(out)
	if d == nil {
		return nil
	}
	v, epsilon, ok := m.plus(under)
	if !ok || epsilon < 0 {
		return nil
	}
	mean := m.made(v, "ReduceMean")
	if mean == nil {
		return nil
	}
	axes, ok := m.axes(mean)
	if !ok {
		return nil
	}
	square := m.made(mean.In[0], "Pow", "Mul")
	if square == nil || len(square.In) != 2 {
		return nil
	}
	e := square.In[0]
	if square.Op == "Mul" && square.In[1] != e {
		return nil
	}
	if two, ok := m.number(square.In[1]); square.Op == "Pow" && (!ok || two != 2) {
		return nil
	}
	a := map[string]*graph.Attr{"axes": graph.ListOf(axes...), "epsilon": {Float: float32(epsilon)}}
	reached := len(m.visited)
	if x := m.centred(d, axes); x != nil && (d == e || m.centred(e, axes) == x) {
		return fused("LayerNormalization", x, a)
	}
	m.visited = m.visited[:reached]
	if d != e {
		return nil
	}
	return fused("RMSNormalization", d, a)
}

// rooted takes d/sqrt(v) apart, with the root as it may be written.
func (m *matcher) rooted(out *graph.Value) (d, v *graph.Value) {
	if n := m.made(out, "Div"); n != nil && len(n.In) == 2 {
		return n.In[0], m.root(n.In[1], 0.5)
	}
	n := m.made(out, "Mul")
	if n == nil || len(n.In) != 2 {
		return nil, nil
	}
	for i, in := range n.In {
		v := m.root(in, -0.5)
		if r := m.one(in, "Reciprocal"); r != nil {
			v = m.root(r, 0.5)
		} else if r := m.made(in, "Div"); v == nil && r != nil {
			if one, ok := m.number(r.In[0]); ok && one == 1 {
				v = m.root(r.In[1], 0.5)
			} else {
				m.visited = m.visited[:len(m.visited)-1]
			}
		}
		if v != nil {
			return n.In[1-i], v
		}
	}
	return nil, nil
}

// root is what a tensor is the root of, or one over the root.
func (m *matcher) root(name *graph.Value, power float64) *graph.Value {
	if power > 0 {
		if v := m.one(name, "Sqrt"); v != nil {
			return v
		}
	} else if v := m.one(name, "Rsqrt"); v != nil {
		return v
	}
	if n := m.made(name, "Pow"); n != nil && len(n.In) == 2 {
		if e, ok := m.number(n.In[1]); ok && e == power {
			return n.In[0]
		}
	}
	return nil
}

// centred is the x of x minus its mean over axes, nil where a tensor is none.
func (m *matcher) centred(name *graph.Value, axes []int) *graph.Value {
	s := m.made(name, "Sub")
	if s == nil || len(s.In) != 2 {
		return nil
	}
	mean := m.made(s.In[1], "ReduceMean")
	if mean == nil || mean.In[0] != s.In[0] {
		return nil
	}
	if a, ok := m.axes(mean); !ok || !slices.Equal(a, axes) {
		return nil
	}
	return s.In[0]
}
