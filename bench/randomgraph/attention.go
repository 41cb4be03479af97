package randomgraph

import (
	"slices"

	"anesim/loader/network/onnx"
)

// gate adds a squeeze-and-excitation gate: an average over pixels, one or two products of
// channels, a sigmoid, and the product with x.
func gate(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 4 || b.magnitude(x) > 200 {
		return false
	}
	n, c := v.Dims[0], v.Dims[1]
	y := ""
	if b.chance(70) {
		y = b.add("GlobalAveragePool", []string{x}, v.within(v.Low, v.High).like(n, c, 1, 1))
	} else {
		y = b.reduce("ReduceMean", x, v.within(v.Low, v.High).like(n, c, 1, 1), 1, 2, 3)
	}
	middle := pick(b, max(1, c/2), b.extent(16))
	if b.chance(50) {
		w := b.weights(c, middle, c, 1, 1)
		y = b.add("Conv", []string{y, w, b.offsets(middle)}, b.sum(b.value(y), w, c, []int{n, middle, 1, 1}))
		y = b.add("Relu", []string{y}, b.value(y))
		w = b.weights(middle, c, middle, 1, 1)
		y = b.add("Conv", []string{y, w, b.offsets(c)}, b.sum(b.value(y), w, middle, []int{n, c, 1, 1}))
	} else {
		y = b.add("Flatten", []string{y}, b.value(y).like(n, c), intAttribute("axis", 1))
		w := b.weights(c, c, middle)
		y = b.add("Gemm", []string{y, w, b.offsets(middle)}, b.sum(b.value(y), w, c, []int{n, middle}))
		y = b.add("Relu", []string{y}, b.value(y))
		if middle != c || b.chance(60) {
			w = b.weights(middle, middle, c)
			y = b.add("Gemm", []string{y, w, b.offsets(c)}, b.sum(b.value(y), w, middle, []int{n, c}))
		}
		y = b.add("Reshape", []string{y, b.ints(n, c, 1, 1)}, b.value(y).like(n, c, 1, 1))
	}
	y = b.add(pick(b, "Sigmoid", "HardSigmoid"), []string{y}, b.value(y).within(0, 1))
	in := []string{x, y}
	if b.chance(40) {
		slices.Reverse(in)
	}
	b.add("Mul", in, v.within(v.Low, v.High))
	return true
}

// excite adds the second half of a gate: Gemm, Reshape to one pixel for each channel, and a
// function of single elements.
func excite(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 2 {
		return false
	}
	n, k := v.Dims[0], v.Dims[1]
	c := b.extent(40)
	w := b.weights(k, k, c)
	y := b.add(pick(b, "Gemm", "MatMul"), []string{x, w}, b.sum(v, w, k, []int{n, c}))
	y = b.add("Reshape", []string{y, b.ints(n, c, 1, 1)}, b.value(y).like(n, c, 1, 1))
	return activate(b, y)
}

// attend adds attention as exporters write it, with x as the source of queries, keys and
// values or as one of them.
func attend(b *builder, x string) bool {
	v := b.value(x)
	r := len(v.Dims)
	if r < 2 || r > 4 || v.Dims[r-1] < 2 || v.Dims[r-2] > 70 || b.magnitude(x) > 30 {
		return false
	}
	if r == 3 && b.chance(50) {
		return attendHeads(b, x)
	}
	q, k, w := x, x, x
	if b.chance(60) && len(b.graph.Inputs) < 3 {
		k = b.input(v.Dims...)
		if b.chance(50) {
			w = k
		}
	}
	b.attention(q, k, w)
	return true
}

// attention adds the product of queries and keys, a scale, at times a mask, the softmax and
// the product with values. All have the same rank and lead dims.
func (b *builder) attention(q, k, w string) string {
	v := b.value(q)
	r := len(v.Dims)
	perm := iota(r)
	perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
	kd := permuted(b.dims(k), perm)
	scale := b.constant(onnx.Float, pick(b, []int{}, []int{1}), []float64{pick(b, 0.125, 0.25, 0.0625)})
	before := b.chance(35)
	if before {
		q = b.scaled(q, scale)
	}
	t := b.add("Transpose", []string{k}, b.value(k).like(kd...), intsAttribute("perm", perm...))
	dims := append(slices.Clone(v.Dims[:r-1]), kd[r-1])
	s := b.add("MatMul", []string{q, t}, Value{Type: onnx.Float, Dims: dims, Low: -60, High: 60})
	if !before {
		s = b.scaled(s, scale)
	}
	if b.chance(35) {
		s = b.mask(s)
	}
	s = b.add("Softmax", []string{s}, b.value(s).within(0, 1), intAttribute("axis", pick(b, -1, r-1)))
	u := b.value(w)
	return b.add("MatMul", []string{s, w}, u.within(u.Low, u.High).like(append(slices.Clone(dims[:r-1]), u.Dims[r-1])...))
}

// scaled adds Mul of x and the scale, or Div by a number.
func (b *builder) scaled(x, scale string) string {
	v := b.value(x)
	c := b.graph.Constant(scale)
	out := v.within(v.Low*c.Values[0], v.High*c.Values[0])
	if b.chance(30) {
		d := b.constant(onnx.Float, c.Dims, []float64{1 / c.Values[0]})
		return b.add("Div", []string{x, d}, out)
	}
	return b.add("Mul", []string{x, scale}, out)
}

// mask adds a mask to scores: a new input, or a causal constant whose
// other elements are -100 or -10000.
func (b *builder) mask(s string) string {
	v := b.value(s)
	r := len(v.Dims)
	rows, columns := v.Dims[r-2], v.Dims[r-1]
	if len(b.graph.Inputs) < 4 && b.chance(30) { // a row for each batch, or one matrix
		dims := append(ones(r-1), columns)
		if r > 2 {
			dims[0] = v.Dims[0]
		}
		return b.add("Add", []string{s, b.input(pick(b, dims, []int{rows, columns})...)}, v)
	}
	values := make([]float64, rows*columns)
	for i := range values {
		if i%columns > i/columns+max(0, columns-rows) {
			values[i] = pick(b, -10000.0, -100)
		}
	}
	m := b.constant(onnx.Float, pick(b, []int{rows, columns}, append(ones(r-2), rows, columns)), values)
	return b.add("Add", []string{s, m}, v.within(v.Low-10000, v.High))
}

// attendHeads adds self-attention of several heads over a batch: products of x for queries,
// keys and values, or one packed product that is split, then Reshape and Transpose.
func attendHeads(b *builder, x string) bool {
	v := b.value(x)
	n, rows, columns := v.Dims[0], v.Dims[1], v.Dims[2]
	heads := b.between(1, 4)
	size := pick(b, 4, 5, 8, 16)
	width := heads * size
	if n*rows*width*3 > maxElements || n*rows*rows*heads > maxElements {
		return false
	}
	var parts []string
	if b.chance(50) {
		w := b.weights(columns, columns, 3*width)
		y := b.add("MatMul", []string{x, w}, b.sum(v, w, columns, []int{n, rows, 3 * width}))
		if b.chance(50) {
			y = b.add("Add", []string{b.offsets(3 * width), y}, b.value(y))
		}
		part := b.value(y).like(n, rows, width)
		a := intAttribute("axis", pick(b, -1, 2))
		if b.graph.Opset < 13 {
			parts = b.addAll("Split", []string{y}, []Value{part, part, part}, a, intsAttribute("split", width, width, width))
		} else {
			parts = b.addAll("Split", []string{y, b.ints(width, width, width)}, []Value{part, part, part}, a)
		}
	} else {
		for range 3 {
			w := b.weights(columns, columns, width)
			parts = append(parts, b.add("MatMul", []string{x, w}, b.sum(v, w, columns, []int{n, rows, width})))
		}
	}
	for i, p := range parts {
		u := b.value(p)
		p = b.add("Reshape", []string{p, b.ints(n, rows, heads, size)}, u.like(n, rows, heads, size))
		parts[i] = b.add("Transpose", []string{p}, u.like(n, heads, rows, size), intsAttribute("perm", 0, 2, 1, 3))
	}
	y := b.attention(parts[0], parts[1], parts[2])
	u := b.value(y)
	y = b.add("Transpose", []string{y}, u.like(n, rows, heads, size), intsAttribute("perm", 0, 2, 1, 3))
	y = b.add("Reshape", []string{y, b.ints(n, rows, width)}, u.like(n, rows, width))
	if b.chance(50) {
		w := b.weights(width, width, columns)
		b.add("MatMul", []string{y, w}, b.sum(b.value(y), w, width, []int{n, rows, columns}))
	}
	return true
}

// activatePieces adds GELU or SiLU in the pieces that exporters write.
func activatePieces(b *builder, x string) bool {
	v := b.value(x)
	m := b.magnitude(x)
	if m > 100 {
		return false
	}
	scalar := func(f float64) string { return b.constant(onnx.Float, nil, []float64{float64(float32(f))}) }
	out := v.within(-0.3, max(0, v.High))
	switch b.rng.IntN(4) {
	case 0: // x * sigmoid(x)
		s := b.add("Sigmoid", []string{x}, v.within(0, 1))
		in := []string{x, s}
		if b.chance(50) {
			slices.Reverse(in)
		}
		b.add("Mul", in, out)
	case 1: // x * hardsigmoid(x)
		s := b.add("HardSigmoid", []string{x}, v.within(0, 1), floatAttribute("alpha", 1.0/6))
		b.add("Mul", []string{x, s}, out)
	case 2: // x * (1 + erf(x/sqrt 2)) * 0.5
		d := b.add("Div", []string{x, scalar(1.41421356)}, v.within(-m, m))
		e := b.add("Erf", []string{d}, v.within(-1, 1))
		a := b.add("Add", []string{e, scalar(1)}, v.within(0, 2))
		y := b.add("Mul", []string{x, a}, v.within(-1, 2*m))
		b.add("Mul", []string{y, scalar(0.5)}, out)
	case 3: // x * relu6(x+3) / 6
		a := b.add("Add", []string{x, scalar(3)}, v.within(v.Low+3, v.High+3))
		c := b.add("Clip", []string{a, scalar(0), scalar(6)}, v.within(0, 6))
		y := b.add("Mul", []string{x, c}, v.within(-9, 6*m))
		b.add("Div", []string{y, scalar(6)}, out)
	}
	return true
}

// between adds a Transpose, functions of single elements, and the Transpose back. At times
// the tensors in between are outputs.
func between(b *builder, x string) bool {
	n := b.rank(x)
	if n < 2 {
		return false
	}
	perm, back := b.rng.Perm(n), make([]int, n)
	if b.chance(50) {
		perm = iota(n)
		perm[n-1], perm[n-2] = perm[n-2], perm[n-1]
	}
	for i, p := range perm {
		back[p] = i
	}
	v := b.value(x)
	y := b.add("Transpose", []string{x}, v.like(permuted(v.Dims, perm)...), intsAttribute("perm", perm...))
	for range b.between(1, 2) {
		add := pick(b, activate, scaleConstant)
		if !add(b, y) {
			return false
		}
		y = b.made[len(b.made)-1]
		if b.chance(40) {
			b.outputs = append(b.outputs, y)
		}
	}
	v = b.value(y)
	if len(v.Dims) != n {
		return false
	}
	b.add("Transpose", []string{y}, v.like(permuted(v.Dims, back)...), intsAttribute("perm", back...))
	return true
}

// multiplyHeads adds a product with weights, a Reshape of its result into several matrices,
// and the product of those with a new input or constant.
func multiplyHeads(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 2 || len(b.graph.Inputs) >= 4 {
		return false
	}
	rows, k := v.Dims[0], v.Dims[1]
	heads, size := b.between(2, 4), b.between(2, 9)
	w := b.weights(k, k, heads*size)
	if !b.multiply(x, w, k, []int{rows, heads * size}) {
		return false
	}
	y := b.made[len(b.made)-1]
	dims := pick(b, []int{heads, rows, size}, []int{rows, heads, size}, []int{heads, size, rows})
	y = b.add("Reshape", []string{y, b.ints(dims...)}, b.value(y).like(dims...))
	n := b.extent(20)
	right := []int{dims[0], dims[2], n}
	z := ""
	if b.chance(60) {
		z = b.input(right...)
	} else {
		z = b.weights(dims[2], right...)
	}
	return b.multiply(y, z, dims[2], []int{dims[0], dims[1], n})
}

// multiplyViews adds products of the same tensor as a batch of matrices, times their
// transposes, and as one matrix, and their sum.
func multiplyViews(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 3 || b.magnitude(x) > 30 || v.Dims[2] < 2 {
		return false
	}
	n, rows, k := v.Dims[0], v.Dims[1], v.Dims[2]
	t := b.add("Transpose", []string{x}, v.like(n, k, rows), intsAttribute("perm", 0, 2, 1))
	if !b.multiply(x, t, k, []int{n, rows, rows}) {
		return false
	}
	y := b.made[len(b.made)-1]
	columns := b.extent(20)
	var parts []string
	for _, name := range []string{y, x} {
		width := b.dims(name)[2]
		m := b.add("Reshape", []string{name, b.ints(n*rows, width)}, b.value(name).like(n*rows, width))
		if !b.multiply(m, b.weights(width, width, columns), width, []int{n * rows, columns}) {
			return false
		}
		parts = append(parts, b.made[len(b.made)-1])
	}
	return b.binary(pick(b, "Add", "Sub"), parts[0], parts[1], []int{n * rows, columns})
}
