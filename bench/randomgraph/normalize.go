package randomgraph

import (
	"slices"

	"anesim/loader/network/onnx"
)

// softmax adds Softmax or LogSoftmax over any axis.
func softmax(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if n == 0 || b.magnitude(x) > 60 {
		return false
	}
	if m := b.magnitude(x); m <= 8 && b.chance(25) { // logits that differ by tens
		x = b.add("Mul", []string{x, b.number(4)}, v.within(4*v.Low, 4*v.High))
		v = b.value(x)
	}
	axis := b.axis(n)
	if b.chance(50) {
		axis = n - 1
	}
	op, out := "Softmax", v.within(0, 1)
	if b.chance(25) {
		op, out = "LogSoftmax", v.within(v.Low-v.High-6, 0)
	}
	b.add(op, []string{x}, out, intAttribute("axis", b.signed(axis, n)))
	return true
}

// normalize adds a normalization over the last axis or over pixels: as one operator or in
// the pieces that exporters write.
func normalize(b *builder, x string) bool {
	if b.rank(x) == 0 || b.magnitude(x) > 100 {
		return false
	}
	switch b.rng.IntN(5) {
	case 0:
		return layerNormalize(b, x)
	case 1:
		return layerNormalizePieces(b, x)
	case 2:
		return rmsNormalizePieces(b, x)
	case 3:
		return groupNormalizePieces(b, x)
	}
	v := b.value(x)
	if len(v.Dims) < 3 || elements(v.Dims[2:]) < 4 {
		return false
	}
	c := v.Dims[1]
	b.add("InstanceNormalization", []string{x, b.scales(c), b.offsets(c)}, v.within(-16, 16), floatAttribute("epsilon", 0.0625))
	return true
}

// layerNormalize adds the operator LayerNormalization.
func layerNormalize(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if b.graph.Opset < 17 || v.Dims[n-1] < 4 {
		return false
	}
	axis := n - 1
	if n > 1 && b.chance(30) {
		axis = b.between(1, n-1)
	}
	dims := v.Dims[axis:]
	in := []string{x, b.scales(dims...)}
	if b.chance(70) {
		in = append(in, b.offsets(dims...))
	}
	b.add("LayerNormalization", in, v.within(-20, 20), intAttribute("axis", b.signed(axis, n)), floatAttribute("epsilon", 0.0625))
	return true
}

// layerNormalizePieces adds ReduceMean, Sub, Pow or Mul, ReduceMean, Add, Sqrt and Div,
// and at times a scale and an offset.
func layerNormalizePieces(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if v.Dims[n-1] < 4 {
		return false
	}
	axes := []int{-1}
	if n > 2 && b.chance(25) {
		axes = []int{n - 2, n - 1}
	}
	one := slices.Clone(v.Dims)
	for _, a := range axes {
		one[(a+n)%n] = 1
	}
	m := b.magnitude(x)
	mean := b.reduce("ReduceMean", x, v.within(-m, m).like(one...), 1, axes...)
	d := b.add("Sub", []string{x, mean}, v.within(-2*m, 2*m))
	square := ""
	if b.chance(60) {
		square = b.add("Pow", []string{d, b.constant(onnx.Float, nil, []float64{2})}, v.within(0, 4*m*m))
	} else {
		square = b.add("Mul", []string{d, d}, v.within(0, 4*m*m))
	}
	variance := b.reduce("ReduceMean", square, v.within(0, m*m).like(one...), 1, axes...)
	y := b.byDeviation(d, variance, v.within(-8, 8))
	b.affine(y)
	return true
}

// byDeviation adds Add, Sqrt and Div of x by the root of variance.
func (b *builder) byDeviation(x, variance string, out Value) string {
	u := b.value(variance)
	e := b.add("Add", []string{variance, b.constant(onnx.Float, nil, []float64{0.0625})}, u.within(0.0625, u.High+1))
	s := b.add("Sqrt", []string{e}, u.within(0.25, u.High+1))
	if b.chance(30) {
		r := b.add("Reciprocal", []string{s}, u.within(0, 4))
		return b.add("Mul", []string{x, r}, out)
	}
	return b.add("Div", []string{x, s}, out)
}

// affine adds a scale and an offset for each column of x at times.
func (b *builder) affine(x string) {
	v := b.value(x)
	columns := v.Dims[len(v.Dims)-1]
	if b.chance(60) {
		in := []string{x, b.scales(columns)}
		if b.chance(30) {
			slices.Reverse(in)
		}
		x = b.add("Mul", in, v.within(2*v.Low, 2*v.High))
	}
	if b.chance(60) {
		b.add("Add", []string{x, b.offsets(columns)}, v.within(2*v.Low-2, 2*v.High+2))
	}
}

// rmsNormalizePieces adds Pow, ReduceMean, Add, Sqrt and Div or Reciprocal and Mul.
func rmsNormalizePieces(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if v.Dims[n-1] < 4 || b.magnitude(x) > 30 {
		return false
	}
	one := slices.Clone(v.Dims)
	one[n-1] = 1
	m := b.magnitude(x)
	square := ""
	if b.chance(60) {
		square = b.add("Pow", []string{x, b.constant(onnx.Float, nil, []float64{2})}, v.within(0, m*m))
	} else {
		square = b.add("Mul", []string{x, x}, v.within(0, m*m))
	}
	mean := b.reduce("ReduceMean", square, v.within(0, m*m).like(one...), 1, -1)
	b.affine(b.byDeviation(x, mean, v.within(-12, 12)))
	return true
}

// groupNormalizePieces adds Reshape, InstanceNormalization and Reshape, then a scale and an
// offset for each channel, as exporters write a group normalization.
func groupNormalizePieces(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 4 || v.Dims[1]%2 != 0 {
		return false
	}
	n, c := v.Dims[0], v.Dims[1]
	rest := elements(v.Dims) / n / 2
	if rest < 4 {
		return false
	}
	three := b.add("Reshape", []string{x, b.ints(0, 2, -1)}, v.like(n, 2, rest))
	scale := b.constant(onnx.Float, []int{2}, []float64{1, 1})
	bias := b.constant(onnx.Float, []int{2}, []float64{0, 0})
	y := b.add("InstanceNormalization", []string{three, scale, bias}, v.within(-8, 8).like(n, 2, rest), floatAttribute("epsilon", 0.0625))
	y = b.add("Reshape", []string{y, b.ints(v.Dims...)}, v.within(-8, 8))
	if b.chance(70) {
		y = b.add("Mul", []string{y, b.scales(c, 1, 1)}, v.within(-16, 16))
		b.add("Add", []string{y, b.offsets(c, 1, 1)}, v.within(-18, 18))
	}
	return true
}

// reduce adds a reduction over random axes.
func reduce(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if n == 0 {
		return false
	}
	axes := b.rng.Perm(n)[:b.between(1, n)]
	if b.chance(50) {
		axes = axes[:1]
	}
	slices.Sort(axes)
	keep := b.rng.IntN(2)
	count := 1
	var dims []int
	for i, d := range v.Dims {
		if !slices.Contains(axes, i) {
			dims = append(dims, d)
			continue
		}
		count *= d
		if keep == 1 {
			dims = append(dims, 1)
		}
	}
	op := pick(b, "ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd")
	out, ok := b.reduced(op, x, count)
	if out.Dims = dims; !ok || max(-out.Low, out.High) > 4*maxMagnitude && !b.extreme {
		return false
	}
	for i := range axes {
		axes[i] = b.signed(axes[i], n)
	}
	b.reduce(op, x, out, keep, axes...)
	return true
}

// reduce adds a reduction of axes, which are an attribute or, in later versions, an input.
func (b *builder) reduce(op, x string, out Value, keep int, axes ...int) string {
	keepdims := intAttribute("keepdims", keep)
	if b.graph.Opset >= 18 || op == "ReduceSum" && b.graph.Opset >= 13 {
		return b.add(op, []string{x, b.ints(axes...)}, out, keepdims)
	}
	return b.add(op, []string{x}, out, intsAttribute("axes", axes...), keepdims)
}

// reduced returns the type and range of a reduction of count elements each of x. It returns ok
// false if fp16 does not hold what the reduction sums.
func (b *builder) reduced(op, x string, count int) (out Value, ok bool) {
	v := b.value(x)
	m, k := b.magnitude(x), float64(count)
	within := func(low, high float64) (Value, bool) { return Value{Type: onnx.Float, Low: low, High: high}, true }
	switch op {
	case "ReduceMean":
		return within(v.Low, v.High)
	case "ReduceSum", "ReduceL1":
		return within(min(0, v.Low*k), max(0, m*k))
	case "ReduceL2":
		out, _ = within(0, m*root(count))
		return out, b.extreme || m*m*k <= 60000 // the largest sum of squares
	case "ReduceSumSquare":
		return within(0, m*m*k)
	case "ReduceLogSumExp":
		out, _ = within(v.Low, v.High+7)
		return out, m <= 10
	case "ReduceProd":
		out, _ = within(-m*m*m, m*m*m)
		return out, m <= 10 && count <= 3
	}
	return v, true // ReduceMax and ReduceMin
}

// pool adds a pooling operator.
func pool(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) < 3 || len(v.Dims) > 5 {
		return false
	}
	op := pick(b, "AveragePool", "AveragePool", "AveragePool", "MaxPool", "MaxPool", "GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool")
	if b.chance(3) {
		op = "LpPool"
	}
	if op == "GlobalAveragePool" || op == "GlobalMaxPool" {
		v.Exact = v.Exact && op == "GlobalMaxPool"
		b.add(op, []string{x}, v.like(append(slices.Clone(v.Dims[:2]), ones(len(v.Dims)-2)...)...))
		return true
	}
	ceil := op != "LpPool" && b.chance(25)
	dilated := op == "MaxPool"
	w, ok := b.window(v.Dims[2:], dilated, ceil)
	if !ok {
		return false
	}
	for i, k := range w.kernel { // onnxruntime wants padding smaller than the kernel
		if w.begin[i] >= k || w.end[i] >= k || (w.dilation[i] > 1 && w.begin[i]+w.end[i] > 0) {
			return false
		}
	}
	a := w.attributes(b, dilated)
	if ceil {
		a = append(a, intAttribute("ceil_mode", 1))
	}
	out := v.like(append(slices.Clone(v.Dims[:2]), w.extent...)...)
	if elements(out.Dims) > maxElements {
		return false
	}
	switch op {
	case "AveragePool":
		out.Exact, out.Low, out.High = false, min(0, out.Low), max(0, out.High)
		if b.chance(40) {
			a = append(a, intAttribute("count_include_pad", 1))
		}
	case "LpPool":
		out = Value{Type: onnx.Float, Dims: out.Dims, Low: 0, High: b.magnitude(x) * float64(elements(w.kernel))}
		if out.High > maxMagnitude {
			return false
		}
		a = append(a, intAttribute("p", b.between(1, 2)))
	}
	b.add(op, []string{x}, out, a...)
	return true
}
