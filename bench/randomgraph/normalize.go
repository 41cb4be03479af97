package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// addSoftmax adds a Softmax, LogSoftmax or Hardmax of x along a random axis. It sometimes
// multiplies x by 4 first, so that most probabilities are near 0. It returns false if x is a scalar
// or its elements are too large.
func addSoftmax(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n == 0 || b.tensorMagnitude(x) > 60 {
		return false
	}
	if m := b.tensorMagnitude(x); m <= 8 && b.randomBool(25) { // logits that differ by tens
		x = b.addNode("Mul", []string{x, b.addScalarConstant(4)}, v.WithRange(4*v.Low, 4*v.High))
		v = b.findValue(x)
	}
	axis := b.randomAxis(n)
	if b.randomBool(50) {
		axis = n - 1
	}
	op, out := "Softmax", v.WithRange(0, 1)
	if b.randomBool(25) {
		op, out = "LogSoftmax", v.WithRange(v.Low-v.High-6, 0)
	} else if v.Exact && b.randomBool(10) {
		op, out.Exact = "Hardmax", true
	}
	b.addNode(op, []string{x}, out, newIntAttribute("axis", b.maybeNegativeAxis(axis, n)))
	return true
}

// addNormalization adds a normalization of x along the last axis or over pixels, as one operator or
// as the separate nodes that exporters write. It returns false if x does not fit.
func addNormalization(b *builder, x string) bool {
	if b.tensorRank(x) == 0 || b.tensorMagnitude(x) > 100 {
		return false
	}
	switch b.rng.IntN(5) {
	case 0:
		return addLayerNormalization(b, x)
	case 1:
		return addLayerNormalizationParts(b, x)
	case 2:
		return addRMSNormalizationParts(b, x)
	case 3:
		return addGroupNormalizationParts(b, x)
	}
	v := b.findValue(x)
	if len(v.Dims) < 3 || onnx.Elements(v.Dims[2:]) < 4 {
		return false
	}
	c := v.Dims[1]
	b.addNode("InstanceNormalization", []string{x, b.addFactorConstant(c), b.addAddendConstant(c)}, v.WithRange(-16, 16), newFloatAttribute("epsilon", 0.0625))
	return true
}

// addLayerNormalization adds a LayerNormalization of x along its last axes, with or without an
// offset. It returns false if the last axis has fewer than four elements.
func addLayerNormalization(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if v.Dims[n-1] < 4 {
		return false
	}
	axis := n - 1
	if n > 1 && b.randomBool(30) {
		axis = b.randomInt(1, n-1)
	}
	dims := v.Dims[axis:]
	in := []string{x, b.addFactorConstant(dims...)}
	if b.randomBool(70) {
		in = append(in, b.addAddendConstant(dims...))
	}
	b.addNode("LayerNormalization", in, v.WithRange(-20, 20), newIntAttribute("axis", b.maybeNegativeAxis(axis, n)), newFloatAttribute("epsilon", 0.0625))
	return true
}

// addLayerNormalizationParts adds a layer normalization of x as exporters write it for older
// operator sets: ReduceMean, Sub, Pow or Mul, ReduceMean, Add, Sqrt and Div, and sometimes a scale
// and an offset. It returns false if x does not fit.
func addLayerNormalizationParts(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if v.Dims[n-1] < 4 {
		return false
	}
	axes := []int{-1}
	if n > 2 && b.randomBool(25) {
		axes = []int{n - 2, n - 1}
	}
	one := slices.Clone(v.Dims)
	for _, a := range axes {
		one[(a+n)%n] = 1
	}
	m := b.tensorMagnitude(x)
	mean := b.addReduceNode("ReduceMean", x, v.WithRange(-m, m).WithDims(one...), 1, axes...)
	d := b.addNode("Sub", []string{x, mean}, v.WithRange(-2*m, 2*m))
	square := ""
	if b.randomBool(60) {
		square = b.addNode("Pow", []string{d, b.addConstant(onnx.Float, nil, []float64{2})}, v.WithRange(0, 4*m*m))
	} else {
		square = b.addNode("Mul", []string{d, d}, v.WithRange(0, 4*m*m))
	}
	variance := b.addReduceNode("ReduceMean", square, v.WithRange(0, m*m).WithDims(one...), 1, axes...)
	y := addDivisionByRoot(b, d, variance, v.WithRange(-8, 8))
	addScaleAndOffset(b, y)
	return true
}

// addDivisionByRoot adds nodes that compute x / sqrt(variance + 1/16), with a Div or with a
// Reciprocal and a Mul. It returns the name of the quotient, which out describes.
func addDivisionByRoot(b *builder, x, variance string, out onnxgraph.Value) string {
	u := b.findValue(variance)
	e := b.addNode("Add", []string{variance, b.addConstant(onnx.Float, nil, []float64{0.0625})}, u.WithRange(0.0625, u.High+1))
	s := b.addNode("Sqrt", []string{e}, u.WithRange(0.25, u.High+1))
	if b.randomBool(30) {
		r := b.addNode("Reciprocal", []string{s}, u.WithRange(0, 4))
		return b.addNode("Mul", []string{x, r}, out)
	}
	return b.addNode("Div", []string{x, s}, out)
}

// addScaleAndOffset adds a scale, an offset or both for each column of x, or nothing.
func addScaleAndOffset(b *builder, x string) {
	v := b.findValue(x)
	columns := v.Dims[len(v.Dims)-1]
	if b.randomBool(60) {
		in := []string{x, b.addFactorConstant(columns)}
		if b.randomBool(30) {
			slices.Reverse(in)
		}
		x = b.addNode("Mul", in, v.WithRange(2*v.Low, 2*v.High))
	}
	if b.randomBool(60) {
		b.addNode("Add", []string{x, b.addAddendConstant(columns)}, v.WithRange(2*v.Low-2, 2*v.High+2))
	}
}

// addRMSNormalizationParts adds a division of x by the root of its mean square, as separate nodes:
// Pow or Mul, ReduceMean, Add, Sqrt, and then Div, or Reciprocal and Mul. It returns false if x
// does not fit.
func addRMSNormalizationParts(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if v.Dims[n-1] < 4 || b.tensorMagnitude(x) > 30 {
		return false
	}
	one := slices.Clone(v.Dims)
	one[n-1] = 1
	m := b.tensorMagnitude(x)
	square := ""
	if b.randomBool(60) {
		square = b.addNode("Pow", []string{x, b.addConstant(onnx.Float, nil, []float64{2})}, v.WithRange(0, m*m))
	} else {
		square = b.addNode("Mul", []string{x, x}, v.WithRange(0, m*m))
	}
	mean := b.addReduceNode("ReduceMean", square, v.WithRange(0, m*m).WithDims(one...), 1, -1)
	addScaleAndOffset(b, addDivisionByRoot(b, x, mean, v.WithRange(-12, 12)))
	return true
}

// addGroupNormalizationParts adds a group normalization of x as exporters write it: Reshape,
// InstanceNormalization and Reshape, then a scale and an offset for each channel. It returns false
// if x does not fit.
func addGroupNormalizationParts(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 4 || v.Dims[1]%2 != 0 {
		return false
	}
	n, c := v.Dims[0], v.Dims[1]
	rest := onnx.Elements(v.Dims) / n / 2
	if rest < 4 {
		return false
	}
	three := b.addNode("Reshape", []string{x, b.addIntVector(0, 2, -1)}, v.WithDims(n, 2, rest))
	scale := b.addConstant(onnx.Float, []int{2}, []float64{1, 1})
	bias := b.addConstant(onnx.Float, []int{2}, []float64{0, 0})
	y := b.addNode("InstanceNormalization", []string{three, scale, bias}, v.WithRange(-8, 8).WithDims(n, 2, rest), newFloatAttribute("epsilon", 0.0625))
	y = b.addNode("Reshape", []string{y, b.addIntVector(v.Dims...)}, v.WithRange(-8, 8))
	if b.randomBool(70) {
		y = b.addNode("Mul", []string{y, b.addFactorConstant(c, 1, 1)}, v.WithRange(-16, 16))
		b.addNode("Add", []string{y, b.addAddendConstant(c, 1, 1)}, v.WithRange(-18, 18))
	}
	return true
}

// addReduction adds a reduction of x along one, several or all axes, such as ReduceMean or
// ReduceL2. It returns false if x is a scalar or a sum might exceed fp16.
func addReduction(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n == 0 {
		return false
	}
	axes := b.rng.Perm(n)[:b.randomInt(1, n)]
	switch k := b.rng.IntN(100); {
	case k < 45:
		axes = axes[:1]
	case k < 60:
		axes = b.rng.Perm(n)
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
	if len(axes) > 1 && count > 256 {
		return false // a sum that cancels is less exact than its terms if fp16 holds partial sums
	}
	op := pickRandom(b, "ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd")
	out, ok := describeReduction(b, op, x, count)
	if out.Dims = dims; !ok || max(-out.Low, out.High) > 4*maxMagnitude && !b.extreme {
		return false
	}
	for i := range axes {
		axes[i] = b.maybeNegativeAxis(axes[i], n)
	}
	b.addReduceNode(op, x, out, keep, axes...)
	return true
}

// addReduceNode adds a node of the reduction op of x along axes and returns the name of the result,
// which out describes. The axes are an attribute or, in later versions, an input. If they are all
// axes of x, they may be left out. The argument keep is the value of keepdims.
func (b *builder) addReduceNode(op, x string, out onnxgraph.Value, keep int, axes ...int) string {
	keepdims := newIntAttribute("keepdims", keep)
	for i, a := range axes {
		if a < 0 && b.graph.Opset < 11 {
			axes[i] += b.tensorRank(x)
		}
	}
	if len(axes) == b.tensorRank(x) && b.randomBool(40) {
		return b.addNode(op, []string{x}, out, keepdims)
	}
	if b.graph.Opset >= 18 || op == "ReduceSum" && b.graph.Opset >= 13 {
		return b.addNode(op, []string{x, b.addIntVector(axes...)}, out, keepdims)
	}
	return b.addNode(op, []string{x}, out, newIntsAttribute("axes", axes...), keepdims)
}

// maxSquares is the largest sum of squares under a root, which must not exceed fp16.
const maxSquares = 60000

// describeReduction returns the type and range of the result if the reduction op combines count
// elements of x at a time. The result ok is false if the reduction might exceed fp16.
func describeReduction(b *builder, op, x string, count int) (out onnxgraph.Value, ok bool) {
	v := b.findValue(x)
	m, k := b.tensorMagnitude(x), float64(count)
	within := func(low, high float64) (onnxgraph.Value, bool) {
		return onnxgraph.Value{Type: onnx.Float, Low: low, High: high}, true
	}
	switch op {
	case "ReduceMean":
		return within(v.Low, v.High)
	case "ReduceSum", "ReduceL1":
		return within(min(0, v.Low*k), max(0, m*k))
	case "ReduceL2":
		out, _ = within(0, m*powerOfTwoRoot(count))
		return out, b.extreme || m*m*k <= maxSquares
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

// addPooling adds a pooling of x over its spatial axes: an AveragePool, MaxPool or LpPool with a
// random window, a GlobalAveragePool or a GlobalMaxPool. It returns false if x has no spatial axes
// or the window does not fit.
func addPooling(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) < 3 || len(v.Dims) > 5 {
		return false
	}
	op := pickRandom(b, "AveragePool", "AveragePool", "AveragePool", "MaxPool", "MaxPool", "GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool")
	if b.randomBool(3) {
		op = "LpPool"
	}
	if op == "GlobalAveragePool" || op == "GlobalMaxPool" {
		v.Exact = v.Exact && op == "GlobalMaxPool"
		b.addNode(op, []string{x}, v.WithDims(append(slices.Clone(v.Dims[:2]), shapeOfOnes(len(v.Dims)-2)...)...))
		return true
	}
	ceil := op != "LpPool" && b.graph.Opset >= 10 && b.randomBool(25)
	dilated := op == "MaxPool" && b.graph.Opset >= 10
	w, ok := randomWindow(b, v.Dims[2:], dilated, ceil)
	if !ok || ceil && w.auto == "VALID" { // onnxruntime disagrees with itself about the shape
		return false
	}
	for i, k := range w.kernel { // onnxruntime requires padding smaller than the kernel
		if w.begin[i] >= k || w.end[i] >= k || (w.dilation[i] > 1 && w.begin[i]+w.end[i] > 0) {
			return false
		}
	}
	a := w.attributes(dilated)
	if ceil {
		a = append(a, newIntAttribute("ceil_mode", 1))
	} else if op != "LpPool" && b.graph.Opset >= 10 {
		a = append(a, newIntAttribute("ceil_mode", 0))
	}
	out := v.WithDims(append(slices.Clone(v.Dims[:2]), w.extent...)...)
	if onnx.Elements(out.Dims) > maxElements {
		return false
	}
	switch op {
	case "AveragePool":
		out.Exact, out.Low, out.High = false, min(0, out.Low), max(0, out.High)
		a = append(a, newIntAttribute("count_include_pad", b.rng.IntN(2)))
	case "LpPool":
		m, k, p := b.tensorMagnitude(x), float64(onnx.Elements(w.kernel)), b.randomInt(1, 2)
		out = onnxgraph.Value{Type: onnx.Float, Dims: out.Dims, Low: 0, High: m * k}
		if out.High > maxMagnitude || p == 2 && !b.extreme && m*m*k > maxSquares {
			return false
		}
		a = append(a, newIntAttribute("p", p))
	}
	b.addNode(op, []string{x}, out, a...)
	return true
}
