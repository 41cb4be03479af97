package randomgraph

import (
	"math"
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// maxProducts is the largest number of multiplications of a convolution or a matmul.
const maxProducts = 1 << 21

// A window has the kernel, strides, dilations and padding of a convolution or a pooling.
type window struct {
	kernel, stride, dilation, begin, end []int
	extent                               []int  // of the result
	auto                                 string // the attribute auto_pad, or "" if begin and end are attributes
}

// randomWindow returns a window of random size over spatial axes with the extents x. It has
// dilations only if dilated is true, and rounds the extents of the result up if ceil is true. The
// second result is false if the window does not fit.
func randomWindow(b *builder, x []int, dilated, ceil bool) (window, bool) {
	var w window
	same := b.randomBool(40) // use an odd kernel that keeps the extents
	if b.randomBool(20) {
		w.auto = pickRandom(b, "NOTSET", "VALID", "SAME_UPPER", "SAME_UPPER", "SAME_LOWER")
	}
	for _, n := range x {
		k, s, d := b.randomInt(1, min(5, n)), 1, 1
		if b.randomBool(30) {
			s = b.randomInt(2, 3)
		}
		if dilated && b.randomBool(20) {
			d = 2
		}
		begin, end := 0, 0
		switch {
		case w.auto == "SAME_UPPER" || w.auto == "SAME_LOWER":
			d = 1 // onnxruntime refuses others
			all := ((n+s-1)/s-1)*s + k - n
			if all < 0 {
				return w, false // onnxruntime refuses it
			}
			begin, end = all/2, all-all/2
			if w.auto == "SAME_LOWER" {
				begin, end = end, begin
			}
		case w.auto == "VALID":
		case same:
			k = pickRandom(b, 1, 3, 3, 5)
			begin, end = (k-1)*d/2, (k-1)*d/2
		case k > 1 && b.randomBool(50):
			begin, end = b.rng.IntN(k), b.rng.IntN(k)
		}
		room := n + begin + end - (k-1)*d - 1
		if room < 0 {
			return w, false
		}
		out := room/s + 1
		if ceil && room%s != 0 && (w.auto == "" || w.auto == "NOTSET") {
			if out*s >= n {
				return w, false // versions differ for a window that begins in the padding
			}
			out++
		}
		w.kernel, w.stride, w.dilation = append(w.kernel, k), append(w.stride, s), append(w.dilation, d)
		w.begin, w.end, w.extent = append(w.begin, begin), append(w.end, end), append(w.extent, out)
	}
	return w, true
}

// attributes returns the attributes that give an operator the window w. They include dilations if
// dilated is true.
func (w window) attributes(dilated bool) []onnxgraph.Attribute {
	a := []onnxgraph.Attribute{newIntsAttribute("kernel_shape", w.kernel...), newIntsAttribute("strides", w.stride...)}
	if dilated {
		a = append(a, newIntsAttribute("dilations", w.dilation...))
	}
	if w.auto != "" {
		a = append(a, newTextAttribute("auto_pad", w.auto))
	}
	if w.auto == "" || w.auto == "NOTSET" {
		a = append(a, newIntsAttribute("pads", slices.Concat(w.begin, w.end)...))
	}
	return a
}

// addConv adds a Conv of x with constant weights and a random window, in one group, two groups or
// one group per channel. It returns false if x has no channels or the convolution would be too
// large.
func addConv(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) < 3 || len(v.Dims) > 5 || (len(v.Dims) == 5 && b.randomBool(50)) {
		return false
	}
	c := v.Dims[1]
	w, ok := randomWindow(b, v.Dims[2:], true, false)
	if !ok {
		return false
	}
	group, out := 1, b.randomExtent(40)
	if b.randomBool(25) {
		group = c
		out = c * pickRandom(b, 1, 1, 2)
	} else if c%2 == 0 && b.randomBool(15) {
		group, out = 2, 2*b.randomInt(1, 9)
	}
	dims := append([]int{v.Dims[0], out}, w.extent...)
	k := c / group * onnx.Elements(w.kernel)
	if onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts {
		return false
	}
	in := []string{x, addMatrixWeights(b, k, 0, append([]int{out, c / group}, w.kernel...)...)}
	switch {
	case b.randomBool(55):
		in = append(in, b.addAddendConstant(out))
	// An omitted input may be the empty name or be missing.
	case b.randomBool(10):
		in = append(in, "")
	}
	a := append(w.attributes(true), newIntAttribute("group", group))
	b.addNode("Conv", in, b.describeProductSum(v, in[1], k, dims), a...)
	return true
}

// addMatrixWeights adds a constant of shape dims for sums of k products, like [builder.addWeightConstant],
// and returns its name. Sometimes the weights are int8 values that a DequantizeLinear node scales,
// all by one number or each slice along axis by its own. The zero point is left out or 0.
func addMatrixWeights(b *builder, k, axis int, dims ...int) string {
	w := b.addWeightConstant(k, dims...)
	if b.graph.Opset < 10 || len(dims) < 2 || b.randomBool(85) {
		return w
	}
	c := b.graph.Constant(w)
	scale := b.tensorMagnitude(w) / 64
	c.Type = onnx.Int8
	for i := range c.Values {
		c.Values[i] = math.Round(c.Values[i] / scale)
	}
	v := b.findValue(w)
	b.graph.Values[w] = onnxgraph.Value{Type: onnx.Int8, Dims: v.Dims, Low: -64, High: 64, Exact: true}
	scaleDims, scales := []int{}, []float64{scale}
	var a []onnxgraph.Attribute
	if b.graph.Opset >= 13 && b.randomBool(60) {
		scaleDims, scales = []int{dims[axis]}, make([]float64, dims[axis])
		for i := range scales {
			scales[i] = scale / float64(int(1)<<b.rng.IntN(2))
		}
		a = append(a, newIntAttribute("axis", b.maybeNegativeAxis(axis, len(dims))))
	}
	in := []string{w, b.addConstant(onnx.Float, scaleDims, scales)}
	if b.randomBool(50) {
		in = append(in, b.addConstant(onnx.Int8, scaleDims, make([]float64, onnx.Elements(scaleDims))))
	}
	return b.addNode("DequantizeLinear", in, v.WithRange(v.Low, v.High), a...)
}

// describeProductSum describes the result of a convolution or a matmul, of shape dims, whose
// elements are sums of k products of v and the constant weights, plus an offset of at most 2. Its
// range covers the sums that random factors are likely to reach.
func (b *builder) describeProductSum(v onnxgraph.Value, weights string, k int, dims []int) onnxgraph.Value {
	m := max(-v.Low, v.High) * b.tensorMagnitude(weights) * 0.58 * powerOfTwoRoot(k) * 2.5
	if w := max(-v.Low, v.High) * b.tensorMagnitude(weights) * float64(k); w < m {
		m = w
	}
	return onnxgraph.Value{Type: onnx.Float, Dims: dims, Low: -m - 2, High: m + 2}
}

// powerOfTwoRoot returns the smallest power of two that is at least the square root of k. It
// computes without rounding, so it is the same on every machine.
func powerOfTwoRoot(k int) float64 {
	r := 1.0
	for n := k; n > 1; n = (n + 3) / 4 {
		r *= 2
	}
	return r
}

// addConvTranspose adds a ConvTranspose of x with constant weights, random strides and random
// padding at both ends. It returns false if x has no channels or the result would be too large.
func addConvTranspose(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) < 3 || len(v.Dims) > 4 {
		return false
	}
	c := v.Dims[1]
	group, out := 1, b.randomExtent(24)
	if b.randomBool(25) {
		group, out = c, c
	} else if c%2 == 0 && b.randomBool(15) {
		group, out = 2, 2*b.randomInt(1, 9)
	}
	var kernel, stride, dilation, begin, end, more []int
	dims := []int{v.Dims[0], out}
	for _, n := range v.Dims[2:] {
		k, s, dilated := b.randomInt(1, 4), b.randomInt(1, 3), 1
		if b.randomBool(15) {
			dilated = b.randomInt(2, 3)
		}
		p, q, extra := 0, 0, 0
		if b.randomBool(40) {
			p, q = b.rng.IntN(k), b.rng.IntN(k)
		}
		if s > 1 && b.randomBool(40) {
			extra = b.rng.IntN(s)
		}
		d := (n-1)*s + (k-1)*dilated + 1 - p - q + extra
		if d < 1 {
			return false
		}
		kernel, stride, dilation = append(kernel, k), append(stride, s), append(dilation, dilated)
		begin, end, more = append(begin, p), append(end, q), append(more, extra)
		dims = append(dims, d)
	}
	k := c / group * onnx.Elements(kernel)
	if onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts {
		return false
	}
	// Each result is a sum of as many products as windows overlap there, not of all taps.
	in := []string{x, b.addWeightConstant(c/group*max(1, onnx.Elements(kernel)/onnx.Elements(stride)), append([]int{c, out / group}, kernel...)...)}
	if b.randomBool(55) {
		in = append(in, b.addAddendConstant(out))
	}
	a := []onnxgraph.Attribute{newIntsAttribute("kernel_shape", kernel...), newIntsAttribute("strides", stride...), newIntsAttribute("pads", slices.Concat(begin, end)...)}
	a = append(a, newIntsAttribute("dilations", dilation...), newIntsAttribute("output_padding", more...), newIntAttribute("group", group))
	b.addNode("ConvTranspose", in, b.describeProductSum(v, in[1], k, dims), a...)
	return true
}

// addGemm adds a Gemm of x and a constant or a new input, with either operand transposed and often
// an offset. It adds a Flatten first if x is not a matrix. It returns false if x has fewer than two
// axes or the product would be too large.
func addGemm(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 2 {
		if len(v.Dims) < 3 || v.Dims[0] > 16 {
			return false
		}
		axis := b.randomInt(1, len(v.Dims)-1)
		rows := onnx.Elements(v.Dims[:axis])
		x = b.addNode("Flatten", []string{x}, v.WithDims(rows, onnx.Elements(v.Dims)/rows), newIntAttribute("axis", axis))
		v = b.findValue(x)
	}
	transA := b.randomBool(20)
	m, k := v.Dims[0], v.Dims[1]
	if transA {
		m, k = k, m
	}
	n := pickRandom(b, 1, b.randomExtent(40), b.randomExtent(300))
	if m*n > maxElements || m*n*k > maxProducts {
		return false
	}
	transB := b.rng.IntN(2)
	a := []onnxgraph.Attribute{newIntAttribute("transA", boolToInt(transA)), newIntAttribute("transB", transB)}
	right, columns := []int{k, n}, 1
	if transB == 1 {
		right, columns = []int{n, k}, 0
	}
	in := []string{x, ""}
	if b.randomBool(10) && len(b.graph.Inputs) < 4 {
		in[1] = b.addInput(right...)
	} else {
		in[1] = addMatrixWeights(b, k, columns, right...)
	}
	out := b.describeProductSum(v, in[1], k, []int{m, n})
	if b.randomBool(25) {
		alpha := pickRandom(b, float32(0.5), 2, -1, 0.125, 1e-3)
		a = append(a, newFloatAttribute("alpha", alpha))
		// The largest factor that alpha may have.
		out.Low, out.High = out.Low*2, out.High*2
	}
	if b.graph.Opset < 11 || b.randomBool(70) {
		in = append(in, b.addAddendConstant(pickRandom(b, []int{n}, []int{n}, []int{}, []int{1}, []int{1, n}, []int{m, 1}, []int{m, n})...))
		if b.randomBool(20) {
			a = append(a, newFloatAttribute("beta", pickRandom(b, float32(0.5), 0, 2, -1)))
			out.Low, out.High = out.Low-2, out.High+2
		}
	}
	if out.High > maxMagnitude && !b.extreme {
		return false
	}
	b.addNode("Gemm", in, out, a...)
	return true
}

func boolToInt(v bool) int {
	if v {
		return 1
	}
	return 0
}

// addConstantMatMul adds a MatMul of x and constant weights, in either order. It returns false if x
// does not fit.
func addConstantMatMul(b *builder, x string) bool {
	v := b.findValue(x)
	r := len(v.Dims)
	if r == 0 {
		return false
	}
	k := v.Dims[r-1]
	n := pickRandom(b, b.randomExtent(20), b.randomExtent(40), b.randomExtent(300))
	switch form := b.rng.IntN(100); {
	case form < 55: // x times a matrix
		dims := append(slices.Clone(v.Dims[:r-1]), n)
		return b.addMatMul(x, addMatrixWeights(b, k, 1, k, n), k, dims)
	case form < 65: // x times a vector
		return b.addMatMul(x, b.addWeightConstant(k, k), k, slices.Clone(v.Dims[:r-1]))
	case form < 75 && r >= 3: // x times a matrix for each matrix of x
		weights := b.addWeightConstant(k, append(slices.Clone(v.Dims[:r-2]), k, n)...)
		return b.addMatMul(x, weights, k, append(slices.Clone(v.Dims[:r-1]), n))
	case r >= 2: // a matrix times x
		k = v.Dims[r-2]
		n = b.randomExtent(20)
		dims := slices.Clone(v.Dims)
		dims[r-2] = n
		return b.addMatMul(b.addWeightConstant(k, n, k), x, k, dims)
	}
	return b.addMatMul(b.addWeightConstant(k, n, k), x, k, []int{n})
}

// addMatMul adds a MatMul of x and y with a result of shape dims, whose elements are sums of k
// products. It returns false if the result or the work would be too large.
func (b *builder) addMatMul(x, y string, k int, dims []int) bool {
	if onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts || onnx.Elements(b.tensorDims(x)) > 1<<16 || onnx.Elements(b.tensorDims(y)) > 1<<16 {
		return false
	}
	out := b.describeProductSum(b.findValue(x), y, k, dims)
	if out.High > maxMagnitude && !b.extreme {
		return false
	}
	b.addNode("MatMul", []string{x, y}, out)
	return true
}

// addTensorMatMul adds a MatMul of x and another tensor, a new input, or x transposed. It returns
// false if the operands do not fit.
func addTensorMatMul(b *builder, x string) bool {
	v := b.findValue(x)
	r := len(v.Dims)
	if r < 2 {
		return false
	}
	if b.randomBool(30) {
		return addTransposedMatMul(b, x)
	}
	y := b.findOtherTensor(x, func(u onnxgraph.Value) bool {
		_, _, ok := matMulDims(v.Dims, u.Dims)
		return ok && u.Type == onnx.Float
	})
	if y == "" {
		if len(b.graph.Inputs) >= 4 {
			return false
		}
		dims := append(slices.Clone(v.Dims[:r-2]), v.Dims[r-1], b.randomExtent(pickRandom(b, 20, 40, 200)))
		if r > 2 && b.randomBool(25) {
			dims = dims[r-2:]
		}
		// numpy's product of a matrix and a vector has a rule of its own.
		if b.randomBool(10) {
			dims = []int{v.Dims[r-1]}
		}
		if onnx.Elements(dims) > maxElements {
			return false
		}
		y = b.addInput(dims...)
	}
	dims, k, _ := matMulDims(v.Dims, b.tensorDims(y))
	return b.addMatMul(x, y, k, dims)
}

// addTransposedMatMul adds a MatMul of x and its own transpose, in either order. It returns false
// if x does not fit.
func addTransposedMatMul(b *builder, x string) bool {
	v := b.findValue(x)
	r := len(v.Dims)
	perm := identityPermutation(r)
	perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
	if b.tensorMagnitude(x)*b.tensorMagnitude(x)*powerOfTwoRoot(max(v.Dims[r-1], v.Dims[r-2])) > maxMagnitude {
		x = b.addNode("Mul", []string{x, b.addConstant(onnx.Float, nil, []float64{0.125})}, v.WithRange(v.Low/8, v.High/8))
		v = b.findValue(x)
	}
	t := b.addNode("Transpose", []string{x}, v.WithDims(permuteDims(v.Dims, perm)...), newIntsAttribute("perm", perm...))
	if b.randomBool(30) {
		x, t = t, x
	}
	dims, k, _ := matMulDims(b.tensorDims(x), b.tensorDims(t))
	return b.addMatMul(x, t, k, dims)
}

// matMulDims returns the shape of a MatMul of tensors with shapes x and y, and the number k of
// products that are summed for each element. The result ok is false if the tensors cannot be
// multiplied.
func matMulDims(x, y []int) (dims []int, k int, ok bool) {
	if len(x) < 2 || len(y) < 1 {
		return nil, 0, false
	}
	k = x[len(x)-1]
	if len(y) == 1 {
		return slices.Clone(x[:len(x)-1]), k, y[0] == k
	}
	if y[len(y)-2] != k {
		return nil, 0, false
	}
	lead, ok := broadcastDims(x[:len(x)-2], y[:len(y)-2])
	dims = append(lead, x[len(x)-2], y[len(y)-1])
	return dims, k, ok && onnx.Elements(dims) <= maxElements
}

// identityPermutation returns the integers from 0 to n-1.
func identityPermutation(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func permuteDims(dims, perm []int) []int {
	out := make([]int, len(dims))
	for i, p := range perm {
		out[i] = dims[p]
	}
	return out
}
