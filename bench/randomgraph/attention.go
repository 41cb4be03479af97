package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// addSqueezeExcitation adds a squeeze-and-excitation gate for x to the graph: an average over pixels, one
// or two Conv or Gemm nodes over channels, a sigmoid, and the product with x. It returns false if x does
// not have rank 4.
func addSqueezeExcitation(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 4 || b.tensorMagnitude(x) > 200 {
		return false
	}
	n, c := v.Dims[0], v.Dims[1]
	// Exporters write the average in both ways.
	y := ""
	if b.randomBool(70) {
		y = b.addNode("GlobalAveragePool", []string{x}, v.WithRange(v.Low, v.High).WithDims(n, c, 1, 1))
	} else {
		y = b.addReduceNode("ReduceMean", x, v.WithRange(v.Low, v.High).WithDims(n, c, 1, 1), 1, 2, 3)
	}
	middle := pickRandom(b, max(1, c/2), b.randomExtent(16))
	if b.randomBool(50) {
		w := b.addWeightConstant(c, middle, c, 1, 1)
		y = b.addNode("Conv", []string{y, w, b.addAddendConstant(middle)}, b.describeProductSum(b.findValue(y), w, c, []int{n, middle, 1, 1}))
		y = b.addNode("Relu", []string{y}, b.findValue(y))
		w = b.addWeightConstant(middle, c, middle, 1, 1)
		y = b.addNode("Conv", []string{y, w, b.addAddendConstant(c)}, b.describeProductSum(b.findValue(y), w, middle, []int{n, c, 1, 1}))
	} else {
		y = b.addNode("Flatten", []string{y}, b.findValue(y).WithDims(n, c), newIntAttribute("axis", 1))
		w := b.addWeightConstant(c, c, middle)
		y = b.addNode("Gemm", []string{y, w, b.addAddendConstant(middle)}, b.describeProductSum(b.findValue(y), w, c, []int{n, middle}))
		y = b.addNode("Relu", []string{y}, b.findValue(y))
		if middle != c || b.randomBool(60) {
			w = b.addWeightConstant(middle, middle, c)
			y = b.addNode("Gemm", []string{y, w, b.addAddendConstant(c)}, b.describeProductSum(b.findValue(y), w, middle, []int{n, c}))
		}
		y = b.addNode("Reshape", []string{y, b.addIntVector(n, c, 1, 1)}, b.findValue(y).WithDims(n, c, 1, 1))
	}
	y = b.addNode(pickRandom(b, "Sigmoid", "HardSigmoid"), []string{y}, b.findValue(y).WithRange(0, 1))
	in := []string{x, y}
	if b.randomBool(40) {
		slices.Reverse(in)
	}
	b.addNode("Mul", in, v.WithRange(v.Low, v.High))
	return true
}

// addSecondHalfOfGate adds the second half of a gate to the graph: Gemm or MatMul, Reshape, and an
// activation. It turns a matrix x into one pixel per channel. It returns false if a node cannot be
// added.
func addSecondHalfOfGate(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 2 {
		return false
	}
	n, k := v.Dims[0], v.Dims[1]
	c := b.randomExtent(40)
	w := b.addWeightConstant(k, k, c)
	op := pickRandom(b, "Gemm", "MatMul")
	if b.graph.Opset < 11 {
		op = "MatMul" // Gemm requires an offset
	}
	y := b.addNode(op, []string{x, w}, b.describeProductSum(v, w, k, []int{n, c}))
	y = b.addNode("Reshape", []string{y, b.addIntVector(n, c, 1, 1)}, b.findValue(y).WithDims(n, c, 1, 1))
	return addActivation(b, y)
}

// addAttention adds attention to the graph as exporters write it, with x as the queries, and x or a
// new input as the keys and values. It returns false if x does not fit.
func addAttention(b *builder, x string) bool {
	v := b.findValue(x)
	r := len(v.Dims)
	if r < 2 || r > 4 || v.Dims[r-1] < 2 || v.Dims[r-2] > 70 || b.tensorMagnitude(x) > 30 {
		return false
	}
	if r == 3 && b.randomBool(50) {
		return addMultiHeadAttention(b, x)
	}
	q, k, w := x, x, x
	if b.randomBool(60) && len(b.graph.Inputs) < 3 {
		k = b.addInput(v.Dims...)
		if b.randomBool(50) {
			w = k
		}
	}
	addScaledAttention(b, q, k, w)
	return true
}

// addScaledAttention adds attention of the queries q, the keys k and the values w to the graph: the
// product of q and k, a scale, sometimes a mask, a softmax, and the product with w. All three
// tensors must have the same rank and leading dims. It returns the name of the result.
func addScaledAttention(b *builder, q, k, w string) string {
	v := b.findValue(q)
	r := len(v.Dims)
	perm := identityPermutation(r)
	perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
	kd := permuteDims(b.tensorDims(k), perm)
	scale := b.addConstant(onnx.Float, pickRandom(b, []int{}, []int{1}), []float64{pickRandom(b, 0.125, 0.25, 0.0625)})
	before := b.randomBool(35)
	if before {
		q = addScale(b, q, scale)
	}
	t := b.addNode("Transpose", []string{k}, b.findValue(k).WithDims(kd...), newIntsAttribute("perm", perm...))
	dims := append(slices.Clone(v.Dims[:r-1]), kd[r-1])
	s := b.addNode("MatMul", []string{q, t}, onnxgraph.Value{Type: onnx.Float, Dims: dims, Low: -60, High: 60})
	if !before {
		s = addScale(b, s, scale)
	}
	if b.randomBool(35) {
		s = addMask(b, s)
	}
	s = b.addNode("Softmax", []string{s}, b.findValue(s).WithRange(0, 1), newIntAttribute("axis", b.maybeNegativeAxis(r-1, r)))
	u := b.findValue(w)
	return b.addNode("MatMul", []string{s, w}, u.WithRange(u.Low, u.High).WithDims(append(slices.Clone(dims[:r-1]), u.Dims[r-1])...))
}

// addScale adds a Mul of x by the constant scale, or a Div by its reciprocal, and returns the name
// of the result.
func addScale(b *builder, x, scale string) string {
	v := b.findValue(x)
	c := b.graph.Constant(scale)
	out := v.WithRange(v.Low*c.Values[0], v.High*c.Values[0])
	if b.randomBool(30) {
		d := b.addConstant(onnx.Float, c.Dims, []float64{1 / c.Values[0]})
		return b.addNode("Div", []string{x, d}, out)
	}
	return b.addNode("Mul", []string{x, scale}, out)
}

// addMask adds a mask to the scores s, and returns the name of the masked scores. The mask is a new
// input, or a causal constant with -100 or -10000 in the later columns.
func addMask(b *builder, s string) string {
	v := b.findValue(s)
	r := len(v.Dims)
	rows, columns := v.Dims[r-2], v.Dims[r-1]
	if len(b.graph.Inputs) < 4 && b.randomBool(30) { // a row for each batch, or one matrix
		dims := append(shapeOfOnes(r-1), columns)
		if r > 2 {
			dims[0] = v.Dims[0]
		}
		return b.addNode("Add", []string{s, b.addInput(pickRandom(b, dims, []int{rows, columns})...)}, v)
	}
	values := make([]float64, rows*columns)
	for i := range values {
		if i%columns > i/columns+max(0, columns-rows) {
			values[i] = pickRandom(b, -10000.0, -100)
		}
	}
	m := b.addConstant(onnx.Float, pickRandom(b, []int{rows, columns}, append(shapeOfOnes(r-2), rows, columns)), values)
	return b.addNode("Add", []string{s, m}, v.WithRange(v.Low-10000, v.High))
}

// addMultiHeadAttention adds self-attention of x with several heads over a batch to the graph.
// Three products of x, or one packed product that is split, become queries, keys and values by
// Reshape and Transpose. It returns false if x does not fit.
func addMultiHeadAttention(b *builder, x string) bool {
	v := b.findValue(x)
	n, rows, columns := v.Dims[0], v.Dims[1], v.Dims[2]
	heads := b.randomInt(1, 4)
	size := pickRandom(b, 4, 5, 8, 16)
	width := heads * size
	if n*rows*width*3 > maxElements || n*rows*rows*heads > maxElements {
		return false
	}
	var parts []string
	if b.randomBool(50) {
		w := b.addWeightConstant(columns, columns, 3*width)
		y := b.addNode("MatMul", []string{x, w}, b.describeProductSum(v, w, columns, []int{n, rows, 3 * width}))
		if b.randomBool(50) {
			y = b.addNode("Add", []string{b.addAddendConstant(3 * width), y}, b.findValue(y))
		}
		part := b.findValue(y).WithDims(n, rows, width)
		a := newIntAttribute("axis", b.maybeNegativeAxis(2, 3))
		// From version 13 on, the sizes of a Split are an input.
		if b.graph.Opset < 13 {
			parts = b.addNodeWithOutputs("Split", []string{y}, []onnxgraph.Value{part, part, part}, a, newIntsAttribute("split", width, width, width))
		} else {
			parts = b.addNodeWithOutputs("Split", []string{y, b.addIntVector(width, width, width)}, []onnxgraph.Value{part, part, part}, a)
		}
	} else {
		for range 3 {
			w := b.addWeightConstant(columns, columns, width)
			parts = append(parts, b.addNode("MatMul", []string{x, w}, b.describeProductSum(v, w, columns, []int{n, rows, width})))
		}
	}
	for i, p := range parts {
		u := b.findValue(p)
		p = b.addNode("Reshape", []string{p, b.addIntVector(n, rows, heads, size)}, u.WithDims(n, rows, heads, size))
		parts[i] = b.addNode("Transpose", []string{p}, u.WithDims(n, heads, rows, size), newIntsAttribute("perm", 0, 2, 1, 3))
	}
	y := addScaledAttention(b, parts[0], parts[1], parts[2])
	u := b.findValue(y)
	y = b.addNode("Transpose", []string{y}, u.WithDims(n, rows, heads, size), newIntsAttribute("perm", 0, 2, 1, 3))
	y = b.addNode("Reshape", []string{y, b.addIntVector(n, rows, width)}, u.WithDims(n, rows, width))
	if b.randomBool(50) {
		w := b.addWeightConstant(width, width, columns)
		b.addNode("MatMul", []string{y, w}, b.describeProductSum(b.findValue(y), w, width, []int{n, rows, columns}))
	}
	return true
}

// addActivationParts adds GELU, SiLU or HardSwish of x to the graph, as the separate nodes that
// exporters write. It returns false if the values of x do not fit.
func addActivationParts(b *builder, x string) bool {
	v := b.findValue(x)
	m := b.tensorMagnitude(x)
	if m > 100 {
		return false
	}
	scalar := func(f float64) string { return b.addConstant(onnx.Float, nil, []float64{float64(float32(f))}) }
	out := v.WithRange(-0.3, max(0, v.High))
	switch b.rng.IntN(4) {
	case 0: // x * sigmoid(x)
		s := b.addNode("Sigmoid", []string{x}, v.WithRange(0, 1))
		in := []string{x, s}
		if b.randomBool(50) {
			slices.Reverse(in)
		}
		b.addNode("Mul", in, out)
	case 1: // x * hardsigmoid(x)
		s := b.addNode("HardSigmoid", []string{x}, v.WithRange(0, 1), newFloatAttribute("alpha", 1.0/6))
		b.addNode("Mul", []string{x, s}, out)
	case 2: // x * (1 + erf(x/sqrt 2)) * 0.5
		d := b.addNode("Div", []string{x, scalar(1.41421356)}, v.WithRange(-m, m))
		e := b.addNode("Erf", []string{d}, v.WithRange(-1, 1))
		a := b.addNode("Add", []string{e, scalar(1)}, v.WithRange(0, 2))
		y := b.addNode("Mul", []string{x, a}, v.WithRange(-1, 2*m))
		b.addNode("Mul", []string{y, scalar(0.5)}, out)
	case 3: // x * relu6(x+3) / 6
		a := b.addNode("Add", []string{x, scalar(3)}, v.WithRange(v.Low+3, v.High+3))
		c := addClipNode(b, a, scalar(0), scalar(6), v.WithRange(0, 6))
		y := b.addNode("Mul", []string{x, c}, v.WithRange(-9, 6*m))
		b.addNode("Div", []string{y, scalar(6)}, out)
	}
	return true
}

// addTransposeRoundTrip adds a Transpose of x, one or two elementwise operators, and a Transpose
// that undoes the first to the graph. Sometimes the tensors in between become outputs. It returns
// false if x does not fit.
func addTransposeRoundTrip(b *builder, x string) bool {
	n := b.tensorRank(x)
	if n < 2 {
		return false
	}
	perm, back := b.rng.Perm(n), make([]int, n)
	if b.randomBool(50) {
		perm = identityPermutation(n)
		perm[n-1], perm[n-2] = perm[n-2], perm[n-1]
	}
	for i, p := range perm {
		back[p] = i
	}
	v := b.findValue(x)
	y := b.addNode("Transpose", []string{x}, v.WithDims(permuteDims(v.Dims, perm)...), newIntsAttribute("perm", perm...))
	for range b.randomInt(1, 2) {
		add := pickRandom(b, addActivation, addConstantOperand)
		if !add(b, y) {
			return false
		}
		y = b.names[len(b.names)-1]
		// An output between the two keeps the transposes from undoing each other.
		if b.randomBool(40) {
			b.outputs = append(b.outputs, y)
		}
	}
	v = b.findValue(y)
	if len(v.Dims) != n {
		return false
	}
	b.addNode("Transpose", []string{y}, v.WithDims(permuteDims(v.Dims, back)...), newIntsAttribute("perm", back...))
	return true
}

// addHeadProducts adds three steps to the graph: a product of x with weights, a Reshape of the
// result into several matrices, and a product of these with a new input or constant. It returns
// false if x does not fit.
func addHeadProducts(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 2 || len(b.graph.Inputs) >= 4 {
		return false
	}
	rows, k := v.Dims[0], v.Dims[1]
	heads, size := b.randomInt(2, 4), b.randomInt(2, 9)
	w := b.addWeightConstant(k, k, heads*size)
	if !b.addMatMul(x, w, k, []int{rows, heads * size}) {
		return false
	}
	y := b.names[len(b.names)-1]
	dims := pickRandom(b, []int{heads, rows, size}, []int{rows, heads, size}, []int{heads, size, rows})
	y = b.addNode("Reshape", []string{y, b.addIntVector(dims...)}, b.findValue(y).WithDims(dims...))
	n := b.randomExtent(20)
	right := []int{dims[0], dims[2], n}
	z := ""
	if b.randomBool(60) {
		z = b.addInput(right...)
	} else {
		z = b.addWeightConstant(dims[2], right...)
	}
	return b.addMatMul(y, z, dims[2], []int{dims[0], dims[1], n})
}

// addReshapedProducts adds nodes that multiply a batch of matrices x by their transposes, reshape
// both the product and x to one matrix each, multiply these by weights, and add or subtract the
// results. It returns false if x does not fit.
func addReshapedProducts(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 3 || b.tensorMagnitude(x) > 30 || v.Dims[2] < 2 {
		return false
	}
	n, rows, k := v.Dims[0], v.Dims[1], v.Dims[2]
	t := b.addNode("Transpose", []string{x}, v.WithDims(n, k, rows), newIntsAttribute("perm", 0, 2, 1))
	if !b.addMatMul(x, t, k, []int{n, rows, rows}) {
		return false
	}
	y := b.names[len(b.names)-1]
	columns := b.randomExtent(20)
	var parts []string
	for _, name := range []string{y, x} {
		width := b.tensorDims(name)[2]
		m := b.addNode("Reshape", []string{name, b.addIntVector(n*rows, width)}, b.findValue(name).WithDims(n*rows, width))
		if !b.addMatMul(m, b.addWeightConstant(width, width, columns), width, []int{n * rows, columns}) {
			return false
		}
		parts = append(parts, b.names[len(b.names)-1])
	}
	return b.addBinaryOperator(pickRandom(b, "Add", "Sub"), parts[0], parts[1], []int{n * rows, columns})
}
