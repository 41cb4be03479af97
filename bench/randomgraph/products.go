package randomgraph

import (
	"slices"

	"anesim/loader/network/onnx"
)

// maxProducts bounds the multiplications of a convolution or a matmul.
const maxProducts = 1 << 21

// A window is the kernel, stride, dilation and padding of a convolution or a pool.
type window struct {
	kernel, stride, dilation, begin, end []int
	extent                               []int // of the result
}

// window returns a random window over the last axes of x.
func (b *builder) window(x []int, dilated, ceil bool) (window, bool) {
	var w window
	same := b.chance(40) // an odd kernel that keeps the extents
	for _, n := range x {
		k, s, d := b.between(1, min(5, n)), 1, 1
		if b.chance(30) {
			s = b.between(2, 3)
		}
		if dilated && b.chance(20) {
			d = 2
		}
		begin, end := 0, 0
		if same {
			k = pick(b, 1, 3, 3, 5)
			begin, end = (k-1)*d/2, (k-1)*d/2
		} else if k > 1 && b.chance(50) {
			begin, end = b.rng.IntN(k), b.rng.IntN(k)
		}
		room := n + begin + end - (k-1)*d - 1
		if room < 0 {
			return w, false
		}
		out := room/s + 1
		if ceil && room%s != 0 {
			if out*s >= n {
				return w, false // versions disagree on a window that begins in the padding
			}
			out++
		}
		w.kernel, w.stride, w.dilation = append(w.kernel, k), append(w.stride, s), append(w.dilation, d)
		w.begin, w.end, w.extent = append(w.begin, begin), append(w.end, end), append(w.extent, out)
	}
	return w, true
}

// attributes returns the attributes of w; those with their default value are left out half
// of the time.
func (w window) attributes(b *builder, dilated bool) []Attribute {
	a := []Attribute{intsAttribute("kernel_shape", w.kernel...)}
	states := func(list []int, value int) bool {
		return slices.ContainsFunc(list, func(v int) bool { return v != value }) || b.chance(50)
	}
	if states(w.stride, 1) {
		a = append(a, intsAttribute("strides", w.stride...))
	}
	if dilated && states(w.dilation, 1) {
		a = append(a, intsAttribute("dilations", w.dilation...))
	}
	if pads := slices.Concat(w.begin, w.end); states(pads, 0) {
		a = append(a, intsAttribute("pads", pads...))
	}
	return a
}

// keeps reports whether the window has no strides or dilations and keeps the extents of x with as much
// padding before as after.
func (w window) keeps(x []int) bool {
	return slices.Equal(w.extent, x) && slices.Equal(w.begin, w.end) && slices.Max(w.stride) == 1 && slices.Max(w.dilation) == 1
}

// convolve adds Conv.
func convolve(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) < 3 || len(v.Dims) > 5 || (len(v.Dims) == 5 && b.chance(50)) {
		return false
	}
	c := v.Dims[1]
	w, ok := b.window(v.Dims[2:], true, false)
	if !ok {
		return false
	}
	group, out := 1, b.extent(40)
	if b.chance(25) {
		group = c
		out = c * pick(b, 1, 1, 2)
	} else if c%2 == 0 && b.chance(15) {
		group, out = 2, 2*b.between(1, 9)
	}
	dims := append([]int{v.Dims[0], out}, w.extent...)
	k := c / group * elements(w.kernel)
	if elements(dims) > maxElements || elements(dims)*k > maxProducts {
		return false
	}
	in := []string{x, b.weights(k, append([]int{out, c / group}, w.kernel...)...)}
	if b.chance(55) {
		in = append(in, b.offsets(out))
	}
	a := w.attributes(b, true)
	if w.keeps(v.Dims[2:]) && b.chance(30) {
		a = slices.DeleteFunc(a, func(a Attribute) bool { return a.Name == "pads" })
		a = append(a, textAttribute("auto_pad", pick(b, "SAME_UPPER", "SAME_LOWER")))
	}
	if group != 1 {
		a = append(a, intAttribute("group", group))
	}
	b.add("Conv", in, b.sum(v, in[1], k, dims), a...)
	return true
}

// sum describes the sum of k products of v and weights, plus an offset.
func (b *builder) sum(v Value, weights string, k int, dims []int) Value {
	m := max(-v.Low, v.High) * b.magnitude(weights) * 0.58 * root(k) * 2.5
	if w := max(-v.Low, v.High) * b.magnitude(weights) * float64(k); w < m {
		m = w
	}
	return Value{Type: onnx.Float, Dims: dims, Low: -m - 2, High: m + 2}
}

// root returns the square root of k rounded up to a power of two.
func root(k int) float64 {
	r := 1.0
	for n := k; n > 1; n = (n + 3) / 4 {
		r *= 2
	}
	return r
}

// deconvolve adds ConvTranspose.
func deconvolve(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) < 3 || len(v.Dims) > 4 {
		return false
	}
	c := v.Dims[1]
	group, out := 1, b.extent(24)
	if b.chance(25) {
		group, out = c, c
	}
	var kernel, stride, begin, end, more []int
	dims := []int{v.Dims[0], out}
	for _, n := range v.Dims[2:] {
		k, s := b.between(1, 4), b.between(1, 3)
		p, q, extra := 0, 0, 0
		if b.chance(40) {
			p, q = b.rng.IntN(k), b.rng.IntN(k)
		}
		if s > 1 && b.chance(40) {
			extra = b.rng.IntN(s)
		}
		d := (n-1)*s + k - p - q + extra
		if d < 1 {
			return false
		}
		kernel, stride, begin, end, more = append(kernel, k), append(stride, s), append(begin, p), append(end, q), append(more, extra)
		dims = append(dims, d)
	}
	k := c / group * elements(kernel)
	if elements(dims) > maxElements || elements(dims)*k > maxProducts {
		return false
	}
	in := []string{x, b.weights(c/group*max(1, elements(kernel)/elements(stride)), append([]int{c, out / group}, kernel...)...)}
	if b.chance(55) {
		in = append(in, b.offsets(out))
	}
	a := []Attribute{intsAttribute("kernel_shape", kernel...), intsAttribute("strides", stride...), intsAttribute("pads", slices.Concat(begin, end)...)}
	if slices.Max(more) > 0 {
		a = append(a, intsAttribute("output_padding", more...))
	}
	if group != 1 {
		a = append(a, intAttribute("group", group))
	}
	b.add("ConvTranspose", in, b.sum(v, in[1], k, dims), a...)
	return true
}

// gemm adds Gemm of x, which is made a matrix if it is none, and a constant or another
// tensor.
func gemm(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 2 {
		if len(v.Dims) < 3 || v.Dims[0] > 16 {
			return false
		}
		axis := b.between(1, len(v.Dims)-1)
		rows := elements(v.Dims[:axis])
		x = b.add("Flatten", []string{x}, v.like(rows, elements(v.Dims)/rows), intAttribute("axis", axis))
		v = b.value(x)
	}
	transA := b.chance(20)
	m, k := v.Dims[0], v.Dims[1]
	if transA {
		m, k = k, m
	}
	n := pick(b, 1, b.extent(40), b.extent(300))
	if m*n > maxElements || m*n*k > maxProducts {
		return false
	}
	var a []Attribute
	if transA {
		a = append(a, intAttribute("transA", 1))
	}
	right := []int{k, n}
	if b.chance(50) {
		right = []int{n, k}
		a = append(a, intAttribute("transB", 1))
	}
	in := []string{x, b.weights(k, right...)}
	out := b.sum(v, in[1], k, []int{m, n})
	if b.chance(25) {
		alpha := pick(b, float32(0.5), 2, -1, 0.125, 1e-3)
		a = append(a, floatAttribute("alpha", alpha))
		out.Low, out.High = out.Low*2, out.High*2
	}
	if b.chance(70) {
		in = append(in, b.offsets(pick(b, []int{n}, []int{n}, []int{}, []int{1}, []int{1, n}, []int{m, 1}, []int{m, n})...))
		if b.chance(20) {
			a = append(a, floatAttribute("beta", pick(b, float32(0.5), 0, 2, -1)))
			out.Low, out.High = out.Low-2, out.High+2
		}
	}
	b.add("Gemm", in, out, a...)
	return true
}

// multiplyConstant adds MatMul of x and constant weights on either side.
func multiplyConstant(b *builder, x string) bool {
	v := b.value(x)
	r := len(v.Dims)
	if r == 0 {
		return false
	}
	k := v.Dims[r-1]
	n := pick(b, b.extent(20), b.extent(40), b.extent(300))
	switch form := b.rng.IntN(100); {
	case form < 55: // x times a matrix
		dims := append(slices.Clone(v.Dims[:r-1]), n)
		return b.multiply(x, b.weights(k, k, n), k, dims)
	case form < 65: // x times a vector
		return b.multiply(x, b.weights(k, k), k, slices.Clone(v.Dims[:r-1]))
	case form < 75 && r >= 3: // x times a matrix for each matrix of x
		weights := b.weights(k, append(slices.Clone(v.Dims[:r-2]), k, n)...)
		return b.multiply(x, weights, k, append(slices.Clone(v.Dims[:r-1]), n))
	case r >= 2: // a matrix times x
		k = v.Dims[r-2]
		n = b.extent(20)
		dims := slices.Clone(v.Dims)
		dims[r-2] = n
		return b.multiply(b.weights(k, n, k), x, k, dims)
	}
	return b.multiply(b.weights(k, n, k), x, k, []int{n})
}

// multiply adds MatMul of x and y, whose sums have k products, if the result is neither too
// large nor too costly.
func (b *builder) multiply(x, y string, k int, dims []int) bool {
	if elements(dims) > maxElements || elements(dims)*k > maxProducts || elements(b.dims(x)) > 1<<16 || elements(b.dims(y)) > 1<<16 {
		return false
	}
	out := b.sum(b.value(x), y, k, dims)
	if out.High > maxMagnitude && !b.extreme {
		return false
	}
	b.add("MatMul", []string{x, y}, out)
	return true
}

// multiplyTensors adds MatMul of x and another tensor, a new input, or x transposed.
func multiplyTensors(b *builder, x string) bool {
	v := b.value(x)
	r := len(v.Dims)
	if r < 2 {
		return false
	}
	if b.chance(30) {
		return multiplyTransposed(b, x)
	}
	y := b.other(x, func(u Value) bool {
		_, _, ok := productDims(v.Dims, u.Dims)
		return ok && u.Type == onnx.Float
	})
	if y == "" {
		if len(b.graph.Inputs) >= 4 {
			return false
		}
		dims := append(slices.Clone(v.Dims[:r-2]), v.Dims[r-1], b.extent(pick(b, 20, 40, 200)))
		if r > 2 && b.chance(25) {
			dims = dims[r-2:]
		}
		if b.chance(10) {
			dims = []int{v.Dims[r-1]}
		}
		if elements(dims) > maxElements {
			return false
		}
		y = b.input(dims...)
	}
	dims, k, _ := productDims(v.Dims, b.dims(y))
	return b.multiply(x, y, k, dims)
}

// multiplyTransposed adds x times its own transpose, or the reverse.
func multiplyTransposed(b *builder, x string) bool {
	v := b.value(x)
	r := len(v.Dims)
	perm := iota(r)
	perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
	if b.magnitude(x)*b.magnitude(x)*root(max(v.Dims[r-1], v.Dims[r-2])) > maxMagnitude {
		x = b.add("Mul", []string{x, b.constant(onnx.Float, nil, []float64{0.125})}, v.within(v.Low/8, v.High/8))
		v = b.value(x)
	}
	t := b.add("Transpose", []string{x}, v.like(permuted(v.Dims, perm)...), intsAttribute("perm", perm...))
	if b.chance(30) {
		x, t = t, x
	}
	dims, k, _ := productDims(b.dims(x), b.dims(t))
	return b.multiply(x, t, k, dims)
}

// productDims returns the dims of a MatMul of two tensors and the length of its sums.
func productDims(x, y []int) (dims []int, k int, ok bool) {
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
	lead, ok := broadcast(x[:len(x)-2], y[:len(y)-2])
	dims = append(lead, x[len(x)-2], y[len(y)-1])
	return dims, k, ok && elements(dims) <= maxElements
}

func iota(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func permuted(dims, perm []int) []int {
	out := make([]int, len(dims))
	for i, p := range perm {
		out[i] = dims[p]
	}
	return out
}
