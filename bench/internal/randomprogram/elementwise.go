package randomprogram

import (
	"math"

	"anesim/loader/network/onnx"
)

// mapElements returns a function that applies f to each element.
func mapElements(f func(v float64) float64) func(in [][]float64) [][]float64 {
	return func(in [][]float64) [][]float64 {
		out := make([]float64, len(in[0]))
		for i, v := range in[0] {
			out[i] = f(v)
		}
		return [][]float64{out}
	}
}

// same returns the result of an operation that keeps the type and the shape of value v.
func (g *generator) same(v int) []result { return []result{{g.Values[v].Type, g.Values[v].Dims}} }

// positive returns a value with the shape of x and elements from low to about 10, or -1.
func (g *generator) positive(x int, low float64) int {
	op, f := "abs", math.Abs
	if g.coin() {
		op, f = "square", func(v float64) float64 { return v * v }
	}
	y := g.emit(op, []int{x}, g.same(x), op == "abs", []string{g.use("x", x)}, mapElements(f))
	if y == nil {
		return -1
	}
	z := g.emit("add", y, g.same(x), true, []string{g.use("x", y[0]), g.number("y", low)}, mapElements(func(v float64) float64 { return v + low }))
	if z == nil {
		return -1
	}
	return z[0]
}

func sigmoid(v float64) float64  { return 1 / (1 + math.Exp(-v)) }
func softplus(v float64) float64 { return math.Log1p(math.Exp(-math.Abs(v))) + max(v, 0) }

var smooth = map[string]func(v float64) float64{
	"sigmoid": sigmoid, "tanh": math.Tanh, "silu": func(v float64) float64 { return v * sigmoid(v) },
	"softplus": softplus, "softsign": func(v float64) float64 { return v / (1 + math.Abs(v)) }, "erf": math.Erf, "sin": math.Sin, "cos": math.Cos,
	"atan": math.Atan, "square": func(v float64) float64 { return v * v },
	"relu": func(v float64) float64 { return max(v, 0) }, "relu6": func(v float64) float64 { return min(6, max(v, 0)) },
	"abs": math.Abs, "identity": func(v float64) float64 { return v },
}

var keepsExact = map[string]bool{"relu": true, "relu6": true, "abs": true, "identity": true, "square": true}

var bounded = map[string]func(v float64) float64{ // for arguments of small magnitude
	"exp": math.Exp, "exp2": math.Exp2, "sinh": math.Sinh, "cosh": math.Cosh,
}

var narrow = map[string]func(v float64) float64{ // for arguments from -0.7 to 0.7
	"asin": math.Asin, "acos": math.Acos, "atanh": math.Atanh,
}

// choose returns one of the names.
func (g *generator) choose(names ...string) string { return names[g.IntN(len(names))] }

func (g *generator) unary() {
	x := g.pickFloat(0, 5)
	if x < 0 {
		return
	}
	var op string
	var f func(v float64) float64
	switch g.IntN(6) {
	case 0:
		op = g.choose("exp", "exp2", "sinh", "cosh")
		f = bounded[op]
		if highest(g.Values[x].data) > 3.5 {
			return
		}
	case 1:
		op = g.choose("asin", "acos", "atanh")
		f = narrow[op]
		y := g.emit("clip", []int{x}, g.same(x), true, []string{g.use("x", x), g.number("alpha", -0.625), g.number("beta", 0.5)}, mapElements(func(v float64) float64 { return min(0.5, max(-0.625, v)) }))
		if y == nil {
			return
		}
		x = y[0]
	case 2:
		if x = g.positive(x, 0.5); x < 0 {
			return
		}
		op = g.choose("sqrt", "log", "rsqrt", "inverse")
		eps := map[string]float64{"log": 1e-45, "rsqrt": 1e-12, "inverse": 1e-4}[op]
		args := []string{g.use("x", x)}
		if op != "sqrt" && g.coin() {
			eps = 0.25
			args = append(args, g.number("epsilon", eps))
		}
		f = map[string]func(v float64) float64{
			"sqrt": math.Sqrt, "log": func(v float64) float64 { return math.Log(v + eps) },
			"rsqrt": func(v float64) float64 { return 1 / math.Sqrt(v+eps) }, "inverse": func(v float64) float64 { return 1 / (v + eps) },
		}[op]
		g.emit(op, []int{x}, g.same(x), false, args, mapElements(f))
		return
	default:
		op = g.choose("sigmoid", "tanh", "silu", "softplus", "softsign", "erf", "sin", "cos", "atan", "square", "relu", "relu6", "abs", "identity")
		if op == "softplus" && highest(g.Values[x].data) > softplusMost {
			op = "sigmoid"
		}
		f = smooth[op]
	}
	g.emit(op, []int{x}, g.same(x), keepsExact[op], []string{g.use("x", x)}, mapElements(f))
}

// softplusMost is the largest magnitude that softplus is computed of. The engine's result is 0 from 10.40625
// on (see TestSoftplusEnds in bench/internal/agreement), where that of the definition is not.
const softplusMost = 10

// highest returns the largest magnitude.
func highest(v []float64) (most float64) {
	for _, x := range v {
		most = max(most, math.Abs(x))
	}
	return most
}

// eighth returns a random multiple of 1/8 from low to high.
func (g *generator) eighth(low, high float64) float64 {
	return low + float64(g.IntN(int((high-low)*8)+1))/8
}

// activation emits an operation with parameters.
func (g *generator) activation() {
	x := g.pickFloat(0, 5)
	if x < 0 {
		return
	}
	a, b := g.eighth(0.25, 2), g.eighth(0.25, 2)
	if g.coin() {
		a = -a
	}
	args := []string{g.use("x", x)}
	alpha := func(fallback float64) {
		if g.IntN(3) == 0 {
			a = fallback
		} else {
			args = append(args, g.number("alpha", a))
		}
	}
	beta := func(fallback float64) {
		if g.IntN(3) == 0 {
			b = fallback
		} else {
			args = append(args, g.number("beta", b))
		}
	}
	var f func(v float64) float64
	op := g.choose("leaky_relu", "elu", "clip", "clamped_relu", "sigmoid_hard", "linear_activation", "scaled_tanh", "threshold", "thresholded_relu", "gelu", "prelu", "softplus", "cast")
	exact := false
	switch op {
	case "leaky_relu":
		alpha(0.01)
		exact = true
		f = func(v float64) float64 {
			if v < 0 {
				return a * v
			}
			return v
		}
	case "elu":
		alpha(1)
		f = func(v float64) float64 {
			if v < 0 {
				return a * math.Expm1(v)
			}
			return v
		}
	case "clip":
		exact = true
		a = -math.Abs(a)
		args = append(args, g.number("alpha", a), g.number("beta", b))
		f = func(v float64) float64 { return min(b, max(a, v)) }
	case "clamped_relu":
		exact = true
		args = append(args, g.number("alpha", a), g.number("beta", b))
		f = func(v float64) float64 {
			if v < 0 {
				v *= a
			}
			return min(b, v)
		}
	case "sigmoid_hard":
		alpha(0.2)
		beta(0.5)
		f = func(v float64) float64 { return min(1, max(0, a*v+b)) }
	case "linear_activation":
		exact = true
		alpha(1)
		beta(0)
		f = func(v float64) float64 { return a*v + b }
	case "scaled_tanh":
		alpha(1)
		beta(1)
		f = func(v float64) float64 { return a * math.Tanh(b*v) }
	case "threshold":
		exact = true
		args = append(args, g.number("alpha", a))
		f = func(v float64) float64 { return max(v, a) }
	case "thresholded_relu":
		if exact = g.Values[x].exact; !exact {
			return
		}
		alpha(1)
		f = func(v float64) float64 {
			if v >= a {
				return v
			}
			return 0
		}
	case "gelu":
		mode := g.choose("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION")
		args = append(args, g.unless(mode == "EXACT", func() string { return g.text("mode", mode) }))
		f = map[string]func(v float64) float64{
			"EXACT":                 func(v float64) float64 { return v * (1 + math.Erf(v/math.Sqrt2)) / 2 },
			"TANH_APPROXIMATION":    func(v float64) float64 { return v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v))) / 2 },
			"SIGMOID_APPROXIMATION": func(v float64) float64 { return v * sigmoid(1.702*v) },
		}[mode]
	case "prelu":
		d := g.Values[x].Dims
		if len(d) < 3 {
			return
		}
		slopes := g.numbers(d[1:2])
		s := g.constant(g.float, []int{d[1]}, slopes)
		inner := onnx.Elements(d[2:])
		g.emit(op, []int{x, s}, g.same(x), true, append(args, g.use("alpha", s)), func(in [][]float64) [][]float64 {
			out := make([]float64, len(in[0]))
			for i, v := range in[0] {
				if out[i] = v; v < 0 {
					out[i] = v * slopes[i/inner%d[1]]
				}
			}
			return [][]float64{out}
		})
		return
	case "softplus":
		if highest(g.Values[x].data) > softplusMost {
			return
		}
		f = softplus
	case "cast":
		exact = true
		g.emit(op, []int{x}, []result{{g.float, g.Values[x].Dims}}, true, append(args, g.text("dtype", typeNames[g.float])), mapElements(func(v float64) float64 { return v }))
		return
	}
	g.emit(op, []int{x}, g.same(x), exact, args, mapElements(f))
}

// discontinuous emits an operation whose results jump, of an exact value.
func (g *generator) discontinuous() {
	x := g.pick(func(v *Value) bool { return v.Type.IsFloat() && v.exact })
	if x < 0 {
		return
	}
	op := g.choose("floor", "ceil", "round", "sign", "cast", "mod", "floor_div")
	f := map[string]func(v float64) float64{"floor": math.Floor, "ceil": math.Ceil, "round": math.RoundToEven, "sign": func(v float64) float64 {
		switch {
		case v < 0:
			return -1
		case v > 0:
			return 1
		}
		return 0
	}, "cast": math.Trunc}[op]
	args := []string{g.use("x", x)}
	switch op {
	case "cast":
		if t := g.choose("int32", "bool"); t == "bool" {
			g.emit(op, []int{x}, []result{{onnx.Bool, g.Values[x].Dims}}, true, append(args, g.text("dtype", "bool")), mapElements(func(v float64) float64 {
				if v != 0 {
					return 1
				}
				return 0
			}))
		} else if y := g.emit(op, []int{x}, []result{{onnx.Int32, g.Values[x].Dims}}, true, append(args, g.text("dtype", "int32")), mapElements(f)); y != nil && g.coin() {
			g.emit(op, y, []result{{g.float, g.Values[x].Dims}}, true, []string{g.use("x", y[0]), g.text("dtype", typeNames[g.float])}, mapElements(func(v float64) float64 { return v }))
		}
		return
	case "mod", "floor_div":
		by := g.chooseNumber(-2, 2, 0.5, 4, -1)
		f = func(v float64) float64 { return math.Floor(v / by) }
		if op == "mod" {
			f = func(v float64) float64 { return v - by*math.Floor(v/by) }
		}
		args = append(args, g.number("y", by))
	}
	g.emit(op, []int{x}, g.same(x), true, args, mapElements(f))
}

// chooseNumber returns one of the numbers.
func (g *generator) chooseNumber(v ...float64) float64 { return v[g.IntN(len(v))] }

// broadcastDims returns the shape of an operation on shapes a and b, or nil.
func broadcastDims(a, b []int) []int {
	n := max(len(a), len(b))
	out := make([]int, n)
	for i := range n {
		p, q := 1, 1
		if k := len(a) - n + i; k >= 0 {
			p = a[k]
		}
		if k := len(b) - n + i; k >= 0 {
			q = b[k]
		}
		if p != q && p != 1 && q != 1 {
			return nil
		}
		out[i] = max(p, q)
	}
	return out
}

// pair applies f to each pair of elements of shapes a and b, which broadcast to out.
func pair(a, b, out []int, f func(x, y float64) float64) func(in [][]float64) [][]float64 {
	return func(in [][]float64) [][]float64 {
		r := make([]float64, 0, onnx.Elements(out))
		visit(out, func(at []int) {
			r = append(r, f(in[0][offset(a, at)], in[1][offset(b, at)]))
		})
		return [][]float64{r}
	}
}

// visit calls f with each index of a shape in row-major order.
func visit(dims []int, f func(at []int)) {
	at := make([]int, len(dims))
	for range onnx.Elements(dims) {
		f(at)
		for i := len(dims) - 1; i >= 0; i-- {
			if at[i]++; at[i] < dims[i] {
				break
			}
			at[i] = 0
		}
	}
}

// offset returns the position of the element at an index, of which it uses the last axes. An axis
// of one element has index 0.
func offset(dims, at []int) int {
	o := 0
	for i, d := range dims {
		k := at[len(at)-len(dims)+i]
		if d == 1 {
			k = 0
		}
		o = o*d + k
	}
	return o
}

// partner returns a value that broadcasts with x: another one, x itself, or a new constant.
func (g *generator) partner(x int) int {
	d := g.Values[x].Dims
	if g.IntN(3) == 0 {
		if y := g.pick(func(v *Value) bool { return v.Type == g.Values[x].Type && broadcastDims(d, v.Dims) != nil }); y >= 0 {
			return y
		}
	}
	var dims []int
	for _, e := range d[g.IntN(len(d)+1):] {
		if g.IntN(3) == 0 {
			e = 1
		}
		dims = append(dims, e)
	}
	if g.IntN(8) == 0 && len(d) < 5 {
		dims = append([]int{1 + g.IntN(2)}, d...)
	}
	if dims == nil {
		dims = []int{1}
		if len(d) == 0 || g.coin() {
			return g.constant(g.float, nil, []float64{g.eighth(-2, 2)})
		}
	}
	return g.constant(g.float, dims, g.numbers(dims))
}

var pairs = map[string]func(x, y float64) float64{
	"add": func(x, y float64) float64 { return x + y }, "sub": func(x, y float64) float64 { return x - y }, "mul": func(x, y float64) float64 { return x * y },
	"maximum": func(x, y float64) float64 { return max(x, y) }, "minimum": func(x, y float64) float64 { return min(x, y) },
	"real_div": func(x, y float64) float64 { return x / y }, "pow": math.Pow,
}

func (g *generator) binary() {
	x := g.pickFloat(0, 5)
	if x < 0 {
		return
	}
	y := g.partner(x)
	op := g.choose("add", "sub", "mul", "maximum", "minimum", "real_div", "pow")
	switch {
	case op == "real_div":
		if y = g.positive(y, 0.5); y < 0 {
			return
		}
	case op == "pow":
		if x = g.positive(x, 0.25); x < 0 {
			return
		}
		y = g.constant(g.float, nil, []float64{g.chooseNumber(2, 0.5, -1, 3, -0.5, 1.5)})
	case g.coin() && len(g.Values[y].Dims) > 0:
		x, y = y, x
	}
	if !g.Values[y].Type.IsFloat() {
		return
	}
	out := broadcastDims(g.Values[x].Dims, g.Values[y].Dims)
	exact := op != "real_div" && op != "pow"
	g.emit(op, []int{x, y}, []result{{g.float, out}}, exact, []string{g.use("x", x), g.use("y", y)}, pair(g.Values[x].Dims, g.Values[y].Dims, out, pairs[op]))
}

// compare emits a comparison of exact values, and often an operation that reads the result.
func (g *generator) compare() {
	x := g.pick(func(v *Value) bool { return v.Type.IsFloat() && v.exact })
	if x < 0 {
		return
	}
	y := g.partner(x)
	if !g.Values[y].exact || !g.Values[y].Type.IsFloat() {
		return
	}
	out := broadcastDims(g.Values[x].Dims, g.Values[y].Dims)
	op := g.choose("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
	if len(g.Values[y].Dims) > 0 && g.coin() {
		x, y = y, x
	}
	test := map[string]func(x, y float64) bool{
		"less": func(x, y float64) bool { return x < y }, "less_equal": func(x, y float64) bool { return x <= y }, "greater": func(x, y float64) bool { return x > y },
		"greater_equal": func(x, y float64) bool { return x >= y }, "equal": func(x, y float64) bool { return x == y }, "not_equal": func(x, y float64) bool { return x != y },
	}[op]
	r := g.emit(op, []int{x, y}, []result{{onnx.Bool, out}}, true, []string{g.use("x", x), g.use("y", y)}, pair(g.Values[x].Dims, g.Values[y].Dims, out, func(x, y float64) float64 {
		if test(x, y) {
			return 1
		}
		return 0
	}))
	if r == nil || g.IntN(4) == 0 {
		return
	}
	other := g.pick(func(v *Value) bool { return v.Type == onnx.Bool && broadcastDims(out, v.Dims) != nil })
	switch g.IntN(4) {
	case 0:
		g.emit("logical_not", r, []result{{onnx.Bool, out}}, true, []string{g.use("x", r[0])}, mapElements(func(v float64) float64 { return 1 - v }))
	case 1:
		g.emit("cast", r, []result{{g.float, out}}, true, []string{g.use("x", r[0]), g.text("dtype", typeNames[g.float])}, mapElements(func(v float64) float64 { return v }))
	case 2:
		if other < 0 {
			return
		}
		op := g.choose("logical_and", "logical_or", "logical_xor")
		both := broadcastDims(out, g.Values[other].Dims)
		g.emit(op, []int{r[0], other}, []result{{onnx.Bool, both}}, true, []string{g.use("x", r[0]), g.use("y", other)}, pair(out, g.Values[other].Dims, both, func(x, y float64) float64 {
			return map[string]float64{"logical_and": x * y, "logical_or": max(x, y), "logical_xor": math.Abs(x - y)}[op]
		}))
	case 3:
		a := g.constant(g.float, out, g.numbers(out))
		b := g.partner(a)
		if !g.Values[b].Type.IsFloat() || len(broadcastDims(out, g.Values[b].Dims)) != len(out) || onnx.Elements(broadcastDims(out, g.Values[b].Dims)) != onnx.Elements(out) {
			return
		}
		db := g.Values[b].Dims
		ka, kb := "a", "b"
		if g.coin() {
			ka, kb = kb, ka
		}
		g.emit("select", []int{r[0], a, b}, []result{{g.float, out}}, true, []string{g.use("cond", r[0]), g.use(ka, a), g.use(kb, b)}, func(in [][]float64) [][]float64 {
			var v []float64
			visit(out, func(at []int) {
				p, q := in[1][offset(out, at)], in[2][offset(db, at)]
				if (in[0][offset(out, at)] != 0) != (ka == "a") {
					p = q
				}
				v = append(v, p)
			})
			return [][]float64{v}
		})
	}
}
