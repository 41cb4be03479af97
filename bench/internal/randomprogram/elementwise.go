package randomprogram

import (
	"math"

	"anesim/internal/network/onnx"
)

// newElementFunc returns a function that applies f to each element.
func newElementFunc(f func(v float64) float64) func(in [][]float64) [][]float64 {
	return func(in [][]float64) [][]float64 {
		out := make([]float64, len(in[0]))
		for i, v := range in[0] {
			out[i] = f(v)
		}
		return [][]float64{out}
	}
}

// resultLike returns the result of an operation that keeps the type and the shape of value v.
func (g *generator) resultLike(v int) []result { return []result{{g.Values[v].Type, g.Values[v].Dims}} }

// emitPositive returns a value with the shape of x and elements from low to about 10, or -1.
func (g *generator) emitPositive(x int, low float64) int {
	op, f := "abs", math.Abs
	if g.tossCoin() {
		op, f = "square", func(v float64) float64 { return v * v }
	}
	y := g.emit(op, []int{x}, g.resultLike(x), op == "abs", []string{g.formatValueArgument("x", x)}, newElementFunc(f))
	if y == nil {
		return -1
	}
	z := g.emit("add", y, g.resultLike(x), true, []string{g.formatValueArgument("x", y[0]), g.formatNumber("y", low)}, newElementFunc(func(v float64) float64 { return v + low }))
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

// chooseName returns one of the names.
func (g *generator) chooseName(names ...string) string { return names[g.IntN(len(names))] }

func (g *generator) emitUnary() {
	x := g.pickFloatValue(0, 5)
	if x < 0 {
		return
	}
	var op string
	var f func(v float64) float64
	switch g.IntN(6) {
	case 0:
		op = g.chooseName("exp", "exp2", "sinh", "cosh")
		f = bounded[op]
		// Beyond this, sinh and exp2 amplify a rounding of fp16 until no tolerance means anything.
		if largestMagnitude(g.Values[x].data) > 3.5 {
			return
		}
	case 1:
		op = g.chooseName("asin", "acos", "atanh")
		f = narrow[op]
		// These functions end at -1 and 1 with an infinite slope, so their argument is kept away from
		// there.
		y := g.emit("clip", []int{x}, g.resultLike(x), true, []string{g.formatValueArgument("x", x), g.formatNumber("alpha", -0.625), g.formatNumber("beta", 0.5)}, newElementFunc(func(v float64) float64 { return min(0.5, max(-0.625, v)) }))
		if y == nil {
			return
		}
		x = y[0]
	case 2:
		if x = g.emitPositive(x, 0.5); x < 0 {
			return
		}
		op = g.chooseName("sqrt", "log", "rsqrt", "inverse")
		eps := map[string]float64{"log": 1e-45, "rsqrt": 1e-12, "inverse": 1e-4}[op]
		args := []string{g.formatValueArgument("x", x)}
		if op != "sqrt" && g.tossCoin() {
			eps = 0.25
			args = append(args, g.formatNumber("epsilon", eps))
		}
		f = map[string]func(v float64) float64{
			"sqrt": math.Sqrt, "log": func(v float64) float64 { return math.Log(v + eps) },
			"rsqrt": func(v float64) float64 { return 1 / math.Sqrt(v+eps) }, "inverse": func(v float64) float64 { return 1 / (v + eps) },
		}[op]
		g.emit(op, []int{x}, g.resultLike(x), false, args, newElementFunc(f))
		return
	default:
		op = g.chooseName("sigmoid", "tanh", "silu", "softplus", "softsign", "erf", "sin", "cos", "atan", "square", "relu", "relu6", "abs", "identity")
		if op == "softplus" && largestMagnitude(g.Values[x].data) > softplusMost {
			op = "sigmoid"
		}
		f = smooth[op]
	}
	g.emit(op, []int{x}, g.resultLike(x), keepsExact[op], []string{g.formatValueArgument("x", x)}, newElementFunc(f))
}

// softplusMost is the largest magnitude that softplus is computed of. The engine's result is 0 from 10.40625
// on (see TestSoftplusEnds in bench/internal/agreement), where that of the definition is not.
const softplusMost = 10

// largestMagnitude returns the largest magnitude.
func largestMagnitude(v []float64) (most float64) {
	for _, x := range v {
		most = max(most, math.Abs(x))
	}
	return most
}

// chooseEighth returns a random multiple of 1/8 from low to high.
func (g *generator) chooseEighth(low, high float64) float64 {
	return low + float64(g.IntN(int((high-low)*8)+1))/8
}

// emitActivation emits an operation with parameters.
func (g *generator) emitActivation() {
	x := g.pickFloatValue(0, 5)
	if x < 0 {
		return
	}
	a, b := g.chooseEighth(0.25, 2), g.chooseEighth(0.25, 2)
	if g.tossCoin() {
		a = -a
	}
	args := []string{g.formatValueArgument("x", x)}
	// A missing argument has the default of MIL, which the definition then uses too.
	alpha := func(fallback float64) {
		if g.IntN(3) == 0 {
			a = fallback
		} else {
			args = append(args, g.formatNumber("alpha", a))
		}
	}
	beta := func(fallback float64) {
		if g.IntN(3) == 0 {
			b = fallback
		} else {
			args = append(args, g.formatNumber("beta", b))
		}
	}
	var f func(v float64) float64
	op := g.chooseName("leaky_relu", "elu", "clip", "clamped_relu", "sigmoid_hard", "linear_activation", "scaled_tanh", "threshold", "thresholded_relu", "gelu", "prelu", "softplus", "cast")
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
		args = append(args, g.formatNumber("alpha", a), g.formatNumber("beta", b))
		f = func(v float64) float64 { return min(b, max(a, v)) }
	case "clamped_relu":
		exact = true
		args = append(args, g.formatNumber("alpha", a), g.formatNumber("beta", b))
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
		args = append(args, g.formatNumber("alpha", a))
		f = func(v float64) float64 { return max(v, a) }
	case "thresholded_relu":
		// The result jumps at alpha: a rounding of the argument would be an error of its whole size.
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
		mode := g.chooseName("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION")
		args = append(args, g.omitDefault(mode == "EXACT", func() string { return g.formatText("mode", mode) }))
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
		slopes := g.chooseNumbers(d[1:2])
		s := g.addConstant(g.float, []int{d[1]}, slopes)
		inner := onnx.Elements(d[2:])
		g.emit(op, []int{x, s}, g.resultLike(x), true, append(args, g.formatValueArgument("alpha", s)), func(in [][]float64) [][]float64 {
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
		if largestMagnitude(g.Values[x].data) > softplusMost {
			return
		}
		f = softplus
	case "cast":
		exact = true
		g.emit(op, []int{x}, []result{{g.float, g.Values[x].Dims}}, true, append(args, g.formatText("dtype", typeNames[g.float])), newElementFunc(func(v float64) float64 { return v }))
		return
	}
	g.emit(op, []int{x}, g.resultLike(x), exact, args, newElementFunc(f))
}

// emitDiscontinuous emits an operation whose results jump, of an exact value.
func (g *generator) emitDiscontinuous() {
	x := g.pickValue(func(v *Value) bool { return v.Type.IsFloat() && v.exact })
	if x < 0 {
		return
	}
	// Only exact values have one right side of a jump.
	op := g.chooseName("floor", "ceil", "round", "sign", "cast", "mod", "floor_div")
	f := map[string]func(v float64) float64{"floor": math.Floor, "ceil": math.Ceil, "round": math.RoundToEven, "sign": func(v float64) float64 {
		switch {
		case v < 0:
			return -1
		case v > 0:
			return 1
		}
		return 0
	}, "cast": math.Trunc}[op]
	args := []string{g.formatValueArgument("x", x)}
	switch op {
	case "cast":
		if t := g.chooseName("int32", "bool"); t == "bool" {
			g.emit(op, []int{x}, []result{{onnx.Bool, g.Values[x].Dims}}, true, append(args, g.formatText("dtype", "bool")), newElementFunc(func(v float64) float64 {
				if v != 0 {
					return 1
				}
				return 0
			}))
		} else if y := g.emit(op, []int{x}, []result{{onnx.Int32, g.Values[x].Dims}}, true, append(args, g.formatText("dtype", "int32")), newElementFunc(f)); y != nil && g.tossCoin() {
			g.emit(op, y, []result{{g.float, g.Values[x].Dims}}, true, []string{g.formatValueArgument("x", y[0]), g.formatText("dtype", typeNames[g.float])}, newElementFunc(func(v float64) float64 { return v }))
		}
		return
	case "mod", "floor_div":
		by := g.chooseNumber(-2, 2, 0.5, 4, -1)
		// MIL rounds quotients down, also of negative numbers, and the remainder has the sign of the
		// divisor.
		f = func(v float64) float64 { return math.Floor(v / by) }
		if op == "mod" {
			f = func(v float64) float64 { return v - by*math.Floor(v/by) }
		}
		args = append(args, g.formatNumber("y", by))
	}
	g.emit(op, []int{x}, g.resultLike(x), true, args, newElementFunc(f))
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

// newBroadcastFunc applies f to each pair of elements of shapes a and b, which broadcast to out.
func newBroadcastFunc(a, b, out []int, f func(x, y float64) float64) func(in [][]float64) [][]float64 {
	return func(in [][]float64) [][]float64 {
		r := make([]float64, 0, onnx.Elements(out))
		forEachIndex(out, func(at []int) {
			r = append(r, f(in[0][elementPosition(a, at)], in[1][elementPosition(b, at)]))
		})
		return [][]float64{r}
	}
}

// forEachIndex calls f with each index of a shape in row-major order.
func forEachIndex(dims []int, f func(at []int)) {
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

// elementPosition returns the position of the element at an index, of which it uses the last axes. An axis
// of one element has index 0.
func elementPosition(dims, at []int) int {
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

// findPartner returns a value that broadcasts with x: another one, x itself, or a new constant.
func (g *generator) findPartner(x int) int {
	d := g.Values[x].Dims
	if g.IntN(3) == 0 {
		if y := g.pickValue(func(v *Value) bool { return v.Type == g.Values[x].Type && broadcastDims(d, v.Dims) != nil }); y >= 0 {
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
		if len(d) == 0 || g.tossCoin() {
			return g.addConstant(g.float, nil, []float64{g.chooseEighth(-2, 2)})
		}
	}
	return g.addConstant(g.float, dims, g.chooseNumbers(dims))
}

var pairs = map[string]func(x, y float64) float64{
	"add": func(x, y float64) float64 { return x + y }, "sub": func(x, y float64) float64 { return x - y }, "mul": func(x, y float64) float64 { return x * y },
	"maximum": func(x, y float64) float64 { return max(x, y) }, "minimum": func(x, y float64) float64 { return min(x, y) },
	"real_div": func(x, y float64) float64 { return x / y }, "pow": math.Pow,
}

func (g *generator) emitBinary() {
	x := g.pickFloatValue(0, 5)
	if x < 0 {
		return
	}
	y := g.findPartner(x)
	op := g.chooseName("add", "sub", "mul", "maximum", "minimum", "real_div", "pow")
	switch {
	case op == "real_div":
		if y = g.emitPositive(y, 0.5); y < 0 {
			return
		}
	case op == "pow":
		if x = g.emitPositive(x, 0.25); x < 0 {
			return
		}
		y = g.addConstant(g.float, nil, []float64{g.chooseNumber(2, 0.5, -1, 3, -0.5, 1.5)})
	case g.tossCoin() && len(g.Values[y].Dims) > 0:
		x, y = y, x
	}
	if !g.Values[y].Type.IsFloat() {
		return
	}
	out := broadcastDims(g.Values[x].Dims, g.Values[y].Dims)
	exact := op != "real_div" && op != "pow"
	g.emit(op, []int{x, y}, []result{{g.float, out}}, exact, []string{g.formatValueArgument("x", x), g.formatValueArgument("y", y)}, newBroadcastFunc(g.Values[x].Dims, g.Values[y].Dims, out, pairs[op]))
}

// emitComparison emits a comparison of exact values, and often an operation that reads the result.
func (g *generator) emitComparison() {
	x := g.pickValue(func(v *Value) bool { return v.Type.IsFloat() && v.exact })
	if x < 0 {
		return
	}
	y := g.findPartner(x)
	if !g.Values[y].exact || !g.Values[y].Type.IsFloat() {
		return
	}
	out := broadcastDims(g.Values[x].Dims, g.Values[y].Dims)
	op := g.chooseName("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
	// A scalar constant stays the second operand, as converters write it.
	if len(g.Values[y].Dims) > 0 && g.tossCoin() {
		x, y = y, x
	}
	test := map[string]func(x, y float64) bool{
		"less": func(x, y float64) bool { return x < y }, "less_equal": func(x, y float64) bool { return x <= y }, "greater": func(x, y float64) bool { return x > y },
		"greater_equal": func(x, y float64) bool { return x >= y }, "equal": func(x, y float64) bool { return x == y }, "not_equal": func(x, y float64) bool { return x != y },
	}[op]
	r := g.emit(op, []int{x, y}, []result{{onnx.Bool, out}}, true, []string{g.formatValueArgument("x", x), g.formatValueArgument("y", y)}, newBroadcastFunc(g.Values[x].Dims, g.Values[y].Dims, out, func(x, y float64) float64 {
		if test(x, y) {
			return 1
		}
		return 0
	}))
	if r == nil || g.IntN(4) == 0 {
		return
	}
	other := g.pickValue(func(v *Value) bool { return v.Type == onnx.Bool && broadcastDims(out, v.Dims) != nil })
	switch g.IntN(4) {
	case 0:
		g.emit("logical_not", r, []result{{onnx.Bool, out}}, true, []string{g.formatValueArgument("x", r[0])}, newElementFunc(func(v float64) float64 { return 1 - v }))
	case 1:
		g.emit("cast", r, []result{{g.float, out}}, true, []string{g.formatValueArgument("x", r[0]), g.formatText("dtype", typeNames[g.float])}, newElementFunc(func(v float64) float64 { return v }))
	case 2:
		if other < 0 {
			return
		}
		op := g.chooseName("logical_and", "logical_or", "logical_xor")
		both := broadcastDims(out, g.Values[other].Dims)
		g.emit(op, []int{r[0], other}, []result{{onnx.Bool, both}}, true, []string{g.formatValueArgument("x", r[0]), g.formatValueArgument("y", other)}, newBroadcastFunc(out, g.Values[other].Dims, both, func(x, y float64) float64 {
			return map[string]float64{"logical_and": x * y, "logical_or": max(x, y), "logical_xor": math.Abs(x - y)}[op]
		}))
	case 3:
		a := g.addConstant(g.float, out, g.chooseNumbers(out))
		b := g.findPartner(a)
		if !g.Values[b].Type.IsFloat() || len(broadcastDims(out, g.Values[b].Dims)) != len(out) || onnx.Elements(broadcastDims(out, g.Values[b].Dims)) != onnx.Elements(out) {
			return
		}
		db := g.Values[b].Dims
		ka, kb := "a", "b"
		if g.tossCoin() {
			ka, kb = kb, ka
		}
		g.emit("select", []int{r[0], a, b}, []result{{g.float, out}}, true, []string{g.formatValueArgument("cond", r[0]), g.formatValueArgument(ka, a), g.formatValueArgument(kb, b)}, func(in [][]float64) [][]float64 {
			var v []float64
			forEachIndex(out, func(at []int) {
				p, q := in[1][elementPosition(out, at)], in[2][elementPosition(db, at)]
				if (in[0][elementPosition(out, at)] != 0) != (ka == "a") {
					p = q
				}
				v = append(v, p)
			})
			return [][]float64{v}
		})
	}
}
