package randomgraph

import (
	"math"
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// chooseActivation returns the name of a random operator for addActivation. It often returns
// operators that follow most convolutions in real networks.
func chooseActivation(b *builder) string {
	op := pickRandom(b, "Relu", "Relu", "Relu", "LeakyRelu", "PRelu", "Sigmoid", "Sigmoid", "Tanh", "Erf", "HardSigmoid", "HardSwish",
		"Elu", "Selu", "Softplus", "Softsign", "Gelu", "Clip", "Clip", "Min", "Max", "Abs", "Neg", "Identity", "Dropout", "Sin", "Cos",
		"Celu", "Mish", "ThresholdedRelu", "Sum", "Mean")
	if b.randomBool(45) {
		op = pickRandom(b, "Relu", "Relu", "Clip", "Sigmoid", "Tanh")
	}
	return op
}

// addActivation adds an elementwise function of x alone to the graph, such as Relu, Sigmoid, Clip
// or Neg. It returns false if the function does not fit the range of x.
func addActivation(b *builder, x string) bool {
	v := b.findValue(x)
	op := chooseActivation(b)
	m := b.tensorMagnitude(x)
	switch op {
	case "Relu":
		v.Low, v.High = max(0, v.Low), max(0, v.High)
		b.addNode(op, []string{x}, v)
	case "LeakyRelu", "Elu":
		b.addNode(op, []string{x}, v.WithRange(-m, max(v.High, 0)), newFloatAttribute("alpha", pickRandom(b, float32(0.01), 0.01, 0.1, 0.25, 0.5, 1)))
	case "Celu":
		b.addNode(op, []string{x}, v.WithRange(-2, max(v.High, 0)), newFloatAttribute("alpha", pickRandom(b, float32(1), 0.5, 2)))
	case "Mish":
		b.addNode(op, []string{x}, v.WithRange(-0.4, max(v.High, 0)))
	case "ThresholdedRelu":
		if !v.Exact {
			return false // it jumps
		}
		v.Low, v.High = min(0, v.Low), max(0, v.High)
		b.addNode(op, []string{x}, v, newFloatAttribute("alpha", pickRandom(b, float32(1), 0.5, 2)))
	case "Sum", "Mean":
		return addVariadicOperator(b, op, x)
	case "PRelu":
		return addPRelu(b, x)
	case "Sigmoid":
		b.addNode(op, []string{x}, v.WithRange(0, 1))
	case "HardSigmoid":
		b.addNode(op, []string{x}, v.WithRange(0, 1), newFloatAttribute("alpha", pickRandom(b, float32(0.2), 0.2, 1.0/6, 0.5)), newFloatAttribute("beta", pickRandom(b, float32(0.5), 0.5, 0.25)))
	case "Tanh", "Erf", "Softsign", "Cos", "Sin":
		// Above 32 fp16 rounds the argument by up to 1/64, which moves the result by as much.
		if op == "Sin" && m > 32 {
			return false
		}
		b.addNode(op, []string{x}, v.WithRange(-1, 1))
	case "Gelu":
		addGelu(b, x)
	case "HardSwish":
		b.addNode(op, []string{x}, v.WithRange(-0.4, max(0, v.High)))
	case "Selu":
		b.addNode(op, []string{x}, v.WithRange(-2, 1.1*max(0, v.High)))
	case "Softplus":
		b.addNode(op, []string{x}, v.WithRange(0, max(0, v.High)+1))
	case "Clip", "Min", "Max":
		if op != "Clip" && b.randomBool(25) {
			return addVariadicOperator(b, op, x)
		}
		addClip(b, x, op)
	case "Abs":
		v.Low, v.High = 0, m
		b.addNode(op, []string{x}, v)
	case "Neg":
		v.Low, v.High = -v.High, -v.Low
		b.addNode(op, []string{x}, v)
	case "Dropout":
		addDropout(b, x)
	default:
		b.addNode(op, []string{x}, v)
	}
	return true
}

// addGelu adds a Gelu of x to the graph, in the domain com.microsoft or, from operator set 20 on,
// sometimes in the standard domain.
func addGelu(b *builder, x string) {
	v := b.findValue(x)
	out := v.WithRange(-0.2, max(0, v.High))
	if b.graph.Opset >= 20 && b.randomBool(50) {
		b.addNode("Gelu", []string{x}, out, newTextAttribute("approximate", pickRandom(b, "none", "tanh")))
		return
	}
	b.addNode("Gelu", []string{x}, out)
	b.graph.Nodes[len(b.graph.Nodes)-1].Domain = "com.microsoft"
}

// addDropout adds a Dropout of x, which inference ignores, to the graph. The ratio is an attribute
// before operator set 12 and an input since.
func addDropout(b *builder, x string) {
	in, a := []string{x}, []onnxgraph.Attribute(nil)
	switch {
	case b.graph.Opset < 12 && b.randomBool(50):
		a = append(a, newFloatAttribute("ratio", 0.25))
	case b.graph.Opset >= 12 && b.randomBool(50):
		in = append(in, b.addConstant(onnx.Float, nil, []float64{0.25}))
		if b.randomBool(50) {
			in = append(in, b.addConstant(onnx.Bool, nil, []float64{0}))
		}
	}
	b.addNode("Dropout", in, b.findValue(x), a...)
}

// addVariadicOperator adds a node of operator op, which is Sum, Mean, Min or Max. Its operands are
// x and up to two tensors that broadcast with x. It returns false if the result might be too large.
func addVariadicOperator(b *builder, op, x string) bool {
	in := []string{x}
	v := b.findValue(x)
	for range b.rng.IntN(3) {
		y := b.findOtherTensor(x, func(u onnxgraph.Value) bool {
			_, ok := broadcastDims(v.Dims, u.Dims)
			return ok && u.Type == onnx.Float
		})
		if y == "" || b.randomBool(40) {
			y = b.addAddendConstant(randomOperandDims(b, v.Dims)...)
		}
		dims, ok := broadcastDims(v.Dims, b.tensorDims(y))
		if !ok {
			return false
		}
		in, v.Dims = append(in, y), dims
	}
	v.Low, v.High = 0, 0
	for i, name := range in {
		u := b.findValue(name)
		switch {
		case op == "Sum":
			v.Low, v.High = v.Low+u.Low, v.High+u.High
		case op == "Mean":
			v.Low, v.High = v.Low+u.Low/float64(len(in)), v.High+u.High/float64(len(in))
		case i == 0:
			v.Low, v.High = u.Low, u.High
		case op == "Min":
			v.Low, v.High = min(v.Low, u.Low), min(v.High, u.High)
		default:
			v.Low, v.High = max(v.Low, u.Low), max(v.High, u.High)
		}
	}
	if max(-v.Low, v.High) > maxMagnitude && !b.extreme {
		return false
	}
	// A sum of exact values may need more bits than fp16 has.
	v.Exact = v.Exact && len(in) == 1
	b.addNode(op, in, v)
	return true
}

// addClip adds a Clip of x with up to two bounds, or a Min or Max of x and a number, as op says.
func addClip(b *builder, x, op string) {
	v := b.findValue(x)
	low, high := pickRandom(b, -2.0, -1, -0.5, 0), pickRandom(b, 0.5, 1, 3, 6.0)
	scalar := func(f float64) string { return b.addConstant(onnx.Float, nil, []float64{f}) }
	if op != "Clip" {
		bound := pickRandom(b, low, high)
		in := []string{x, b.addScalarConstant(bound)}
		if op == "Min" {
			v.Low, v.High = min(v.Low, bound), min(v.High, bound)
		} else {
			v.Low, v.High = max(v.Low, bound), max(v.High, bound)
		}
		if b.randomBool(30) {
			slices.Reverse(in)
		}
		if d, ok := broadcastDims(v.Dims, b.tensorDims(in[0])); ok {
			v.Dims = d
		}
		if d, ok := broadcastDims(v.Dims, b.tensorDims(in[1])); ok {
			v.Dims = d
		}
		b.addNode(op, in, v)
		return
	}
	from, to := "", ""
	form := b.rng.IntN(10)
	if form < 6 {
		from = scalar(low)
		// Both ends: a range that is below the bound becomes the bound alone.
		v.Low, v.High = max(v.Low, low), max(v.High, low)
	}
	if form > 2 && form < 9 {
		to = scalar(high)
		v.Low, v.High = min(v.Low, high), min(v.High, high)
	}
	addClipNode(b, x, from, to, v)
}

// addClipNode adds a Clip of x between two scalar constants and returns the name of the result. A
// bound of "" is left out. Before operator set 11 the bounds are attributes.
func addClipNode(b *builder, x, low, high string, out onnxgraph.Value) string {
	if b.graph.Opset < 11 {
		var a []onnxgraph.Attribute
		if low != "" {
			a = append(a, newFloatAttribute("min", float32(b.graph.Constant(low).Values[0])))
		}
		if high != "" {
			a = append(a, newFloatAttribute("max", float32(b.graph.Constant(high).Values[0])))
		}
		return b.addNode("Clip", []string{x}, out, a...)
	}
	in := []string{x, low, high}
	for len(in) > 1 && in[len(in)-1] == "" && b.randomBool(70) {
		in = in[:len(in)-1]
	}
	return b.addNode("Clip", in, out)
}

// addPRelu adds a PRelu of x with one slope, one for each channel (axis 1), or one for each element
// of the last axis. It returns false if x is a scalar.
func addPRelu(b *builder, x string) bool {
	v := b.findValue(x)
	dims := []int{1}
	switch n := len(v.Dims); {
	case n >= 2 && b.randomBool(70):
		dims = shapeOfOnes(n - 1)
		dims[0] = v.Dims[1]
	case n >= 1 && b.randomBool(50):
		dims = []int{v.Dims[n-1]}
	}
	if n := len(v.Dims); n == 0 {
		return false
	}
	slope := b.addConstant(onnx.Float, dims, onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), -32, 64, 128))
	m := b.tensorMagnitude(x)
	b.addNode("PRelu", []string{x, slope}, v.WithRange(-m, m))
	return true
}

// shapeOfOnes returns a shape of n axes that all have extent 1.
func shapeOfOnes(n int) []int {
	d := make([]int, n)
	for i := range d {
		d[i] = 1
	}
	return d
}

// randomOperandDims returns the shape of a random operand that broadcasts with a tensor of shape x:
// a number, a vector along one axis, x itself, or x with some axes of extent 1. A few shapes make
// the result larger than x.
func randomOperandDims(b *builder, x []int) []int {
	n := len(x)
	if n == 0 {
		return pickRandom(b, []int{}, []int{1}, []int{3}, []int{1, 1})
	}
	along := func(axis int) []int {
		d := shapeOfOnes(n)
		d[axis] = x[axis]
		if b.randomBool(60) {
			d = d[axis:] // without the leading ones
		}
		return d
	}
	switch k := b.rng.IntN(100); {
	case k < 18:
		return pickRandom(b, []int{}, []int{1})
	// Axis 1 has the channels, so this is the shape of a bias.
	case k < 38:
		return along(min(1, n-1))
	case k < 55:
		return along(n - 1)
	case k < 65:
		return along(max(0, n-2))
	case k < 72:
		return along(b.randomAxis(n))
	case k < 82:
		return slices.Clone(x)
	}
	d := slices.Clone(x)
	for i := range d {
		switch {
		case b.randomBool(45):
			d[i] = 1
		case d[i] == 1 && b.randomBool(30):
			d[i] = b.randomInt(2, 5) // the result is larger than x
		}
	}
	if b.randomBool(30) {
		d = d[b.randomAxis(n):]
	} else if n < 5 && b.randomBool(10) {
		d = append([]int{b.randomInt(1, 3)}, d...)
	}
	return d
}

// addConstantOperand adds a Mul, Div, Add or Sub of x and a constant, in either order. It returns
// false if the result might be too large.
func addConstantOperand(b *builder, x string) bool {
	dims := randomOperandDims(b, b.tensorDims(x))
	out, ok := broadcastDims(b.tensorDims(x), dims)
	if !ok {
		return false
	}
	op := pickRandom(b, "Mul", "Mul", "Div", "Add", "Add", "Sub")
	if b.randomBool(8) && (op == "Mul" || op == "Div") {
		return addLargeScale(b, x, op, dims, out)
	}
	left := b.randomBool(35)
	c := ""
	switch op {
	case "Mul", "Div":
		c = b.addFactorConstant(dims...)
	default:
		c = b.addAddendConstant(dims...)
	}
	in := []string{x, c}
	if left {
		slices.Reverse(in)
		if op == "Div" && !b.isSafeDivisor(x) {
			return false
		}
	}
	return b.addBinaryOperator(op, in[0], in[1], out)
}

// addLargeScale multiplies or divides x by a constant of shape dims, with magnitudes from about
// 1e-5 to 1e4. The result has the shape out. It always returns true.
func addLargeScale(b *builder, x, op string, dims, out []int) bool {
	power := b.randomInt(-5, 4)
	if !b.extreme {
		// Results larger than a few hundred leave the precision of fp16 in the next sum.
		for power > 0 && b.tensorMagnitude(x)*math.Pow10(power) > 500 {
			power--
		}
	}
	factor := math.Pow10(power)
	if op == "Div" {
		factor = 1 / factor
	}
	values := onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), 64, 256, 128)
	for i := range values {
		values[i] = float64(float32(values[i] * factor))
	}
	c := b.addConstant(onnx.Float, dims, values)
	m := b.tensorMagnitude(x) * 2 * math.Pow10(power)
	b.addNode(op, []string{x, c}, onnxgraph.Value{Type: onnx.Float, Dims: out, Low: -m, High: m})
	return true
}

// isSafeDivisor reports whether x can be a divisor, because its elements are at least 0.24 away
// from zero.
func (b *builder) isSafeDivisor(x string) bool {
	v := b.findValue(x)
	return v.Low >= 0.24 || v.High <= -0.24
}

// addBinaryOperator adds the operator op of x and y, with a result of shape dims. It returns false
// if the result might be too large, or if y is a divisor that might be near zero.
func (b *builder) addBinaryOperator(op, x, y string, dims []int) bool {
	p, q := b.findValue(x), b.findValue(y)
	v := onnxgraph.Value{Type: p.Type, Dims: dims}
	same := x == y
	switch op {
	case "Add":
		v.Low, v.High = p.Low+q.Low, p.High+q.High
	case "Sub":
		v.Low, v.High = p.Low-q.High, p.High-q.Low
		// x-x is 0 and x*x is not negative, which the ranges of two tensors do not show.
		if same {
			v.Low, v.High = 0, 0
		}
	case "Mul":
		c := []float64{p.Low * q.Low, p.Low * q.High, p.High * q.Low, p.High * q.High}
		v.Low, v.High = slices.Min(c), slices.Max(c)
		if same {
			v.Low = max(0, v.Low)
		}
	case "Div":
		if !b.isSafeDivisor(y) {
			return false
		}
		m := b.tensorMagnitude(x) / min(math.Abs(q.Low), math.Abs(q.High))
		v.Low, v.High = -m, m
		if p.Low >= 0 && q.Low > 0 {
			v.Low = p.Low / q.High
		}
	case "Min":
		v.Low, v.High = min(p.Low, q.Low), min(p.High, q.High)
	case "Max":
		v.Low, v.High = max(p.Low, q.Low), max(p.High, q.High)
	}
	if m := max(math.Abs(v.Low), math.Abs(v.High)); m > maxMagnitude && !b.extreme {
		return false
	}
	// A product of two exact values has twice the bits.
	v.Exact = p.Exact && q.Exact && op != "Mul" && op != "Div" && max(-v.Low, v.High) <= 16
	b.addNode(op, []string{x, y}, v)
	return true
}

// maxMagnitude is the largest expected magnitude in a graph that is not extreme.
const maxMagnitude = 1000

// addTwoInputOperator adds an Add, Sub, Mul, Div, Min or Max of x and a second operand, which is
// another tensor, x itself or a new input. It returns false if the operands do not fit.
func addTwoInputOperator(b *builder, x string) bool {
	y := ""
	switch k := b.rng.IntN(100); {
	case k < 20:
		y = x
	case k < 70:
		y = b.findOtherTensor(x, func(v onnxgraph.Value) bool {
			_, ok := broadcastDims(b.tensorDims(x), v.Dims)
			return ok && v.Type == onnx.Float
		})
	}
	op := pickRandom(b, "Add", "Add", "Sub", "Mul", "Mul", "Div", "Min", "Max")
	if y == "" {
		dims := randomOperandDims(b, b.tensorDims(x))
		if _, ok := broadcastDims(b.tensorDims(x), dims); !ok || len(b.graph.Inputs) >= 4 {
			return false
		}
		y = b.addInput(dims...)
	}
	dims, ok := broadcastDims(b.tensorDims(x), b.tensorDims(y))
	if !ok {
		return false
	}
	if b.randomBool(40) {
		x, y = y, x
	}
	if op == "Div" && !b.isSafeDivisor(y) {
		// x/x stays x/x after the divisor has become positive.
		square := x == y
		y = makePositive(b, y)
		if square {
			x = y
		}
		if dims, ok = broadcastDims(b.tensorDims(x), b.tensorDims(y)); !ok {
			return false
		}
	}
	return b.addBinaryOperator(op, x, y, dims)
}

// makePositive adds nodes that compute |x| plus a number from 0.5 to 1.5, and returns the name of
// the sum. It omits the Abs if x cannot be negative.
func makePositive(b *builder, x string) string {
	v := b.findValue(x)
	m := b.tensorMagnitude(x)
	v.Exact = false
	if v.Low < 0 {
		v.Low, v.High = 0, m
		x = b.addNode("Abs", []string{x}, v)
	}
	c := b.addConstant(onnx.Float, pickRandom(b, []int{}, []int{1}), []float64{pickRandom(b, 0.5, 1, 1.5)})
	v = b.findValue(x)
	out, _ := broadcastDims(v.Dims, b.tensorDims(c))
	return b.addNode("Add", []string{x, c}, onnxgraph.Value{Type: onnx.Float, Dims: out, Low: v.Low + 0.5, High: v.High + 1.5})
}

// addLimitedFunction adds an Exp, Log, Sqrt, Reciprocal or Pow of x to the graph. If the function
// needs positive arguments, it first adds nodes that make x positive. It returns false if the range
// of x does not fit.
func addLimitedFunction(b *builder, x string) bool {
	op := pickRandom(b, "Exp", "Log", "Sqrt", "Reciprocal", "Pow", "Pow")
	v := b.findValue(x)
	switch op {
	case "Exp":
		// Above 5, a rounding of the argument is amplified 150 times; below -16, all results are
		// subnormal.
		if v.High > 5 || v.Low < -16 {
			return false
		}
		b.addNode(op, []string{x}, v.WithRange(0, 150))
		return true
	case "Pow":
		if b.tensorMagnitude(x) > 9 {
			return false
		}
		power := pickRandom(b, 2.0, 2, 3, 0.5)
		if power == 0.5 {
			x = makePositive(b, x)
			v = b.findValue(x)
		}
		m := b.tensorMagnitude(x)
		low, high := -m*m*m, m*m*m
		if power != 3 {
			low, high = 0, m*m
		}
		c := b.addScalarConstant(power)
		d, _ := broadcastDims(v.Dims, b.tensorDims(c))
		b.addNode(op, []string{x, c}, onnxgraph.Value{Type: onnx.Float, Dims: d, Low: low, High: high})
		return true
	}
	// All three functions are steep near 0.
	if v.Low < 0.24 {
		x = makePositive(b, x)
		v = b.findValue(x)
	}
	switch op {
	case "Log":
		b.addNode(op, []string{x}, v.WithRange(-1.5, 7))
	case "Sqrt":
		b.addNode(op, []string{x}, v.WithRange(math.Sqrt(v.Low), math.Sqrt(v.High)))
	case "Reciprocal":
		b.addNode(op, []string{x}, v.WithRange(1/v.High, 1/v.Low))
	}
	return true
}

// addBatchNormalization adds a BatchNormalization of x, whose axis 1 is the channel axis. It
// returns false if x has fewer than two axes or its elements are too large.
func addBatchNormalization(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) < 2 {
		return false
	}
	c := v.Dims[1]
	scale := b.addFactorConstant(c)
	if b.randomBool(10) {
		values := b.graph.Constant(scale).Values
		f := math.Pow10(b.randomInt(-5, 0))
		for i := range values {
			values[i] = float64(float32(values[i] * f))
		}
	}
	in := []string{x, scale, b.addAddendConstant(c), b.addAddendConstant(c), b.addPositiveConstant(c)}
	m := float64((b.tensorMagnitude(x)+2)*3) + 2
	if m > maxMagnitude {
		return false
	}
	b.addNode("BatchNormalization", in, v.WithRange(-m, m), newFloatAttribute("epsilon", pickRandom(b, float32(1e-5), 1e-3)))
	return true
}
