package randomprogram

import (
	"math"

	"anesim/internal/network/onnx"
)

// A window has the attributes of a convolution or a pool along its spatial axes.
type window struct {
	kernel, strides, dilations, before, after []int
}

// resultExtents returns the extents of the result, or nil if one is not positive.
func (w *window) resultExtents(in []int, ceil bool) []int {
	out := make([]int, len(in))
	for i, d := range in {
		reach := d + w.before[i] + w.after[i] - w.dilations[i]*(w.kernel[i]-1) - 1
		if reach < 0 {
			return nil
		}
		out[i] = reach/w.strides[i] + 1
		if ceil && reach%w.strides[i] > 0 && out[i]*w.strides[i] < d+w.before[i] {
			out[i]++
		}
	}
	return out
}

// chooseWindow returns a random window over extents in, and the text of its arguments but the kernel's.
func (g *generator) chooseWindow(in []int, largest int, kernelBelowPad bool) (*window, []string) {
	n := len(in)
	w := &window{make([]int, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n)}
	dilated, strided := g.IntN(3) == 0, g.tossCoin()
	for i := range n {
		w.kernel[i], w.strides[i], w.dilations[i] = 1+g.IntN(largest), 1, 1
		if strided {
			w.strides[i] = 1 + g.IntN(3)
		}
		if dilated && !kernelBelowPad {
			w.dilations[i] = 1 + g.IntN(3)
		}
	}
	var args []string
	if !allEqual(w.strides, 1) || g.tossCoin() {
		args = append(args, g.formatInts("strides", w.strides))
	}
	if !kernelBelowPad && (!allEqual(w.dilations, 1) || g.tossCoin()) {
		args = append(args, g.formatInts("dilations", w.dilations))
	}
	kind := g.chooseName("valid", "custom", "custom", "same", "same_lower")
	args = append(args, g.omitDefault(kind == "valid", func() string { return g.formatText("pad_type", kind) }))
	switch kind {
	case "valid":
		if g.IntN(4) == 0 { // not used
			args = append(args, g.formatInts("pad", make([]int, 2*n)))
		}
	case "custom":
		pads := make([]int, 2*n)
		for i := range n {
			most := 3
			if kernelBelowPad {
				most = (w.kernel[i] + 1) / 2
			}
			w.before[i], w.after[i] = g.IntN(most), g.IntN(most)
			pads[2*i], pads[2*i+1] = w.before[i], w.after[i]
		}
		args = append(args, g.formatInts("pad", pads))
	default:
		for i := range n {
			out := (in[i] + w.strides[i] - 1) / w.strides[i]
			total := max(0, (out-1)*w.strides[i]+w.dilations[i]*(w.kernel[i]-1)+1-in[i])
			w.before[i], w.after[i] = total/2, total-total/2
			if kind == "same_lower" {
				w.before[i], w.after[i] = w.after[i], w.before[i]
			}
		}
	}
	return w, args
}

func allEqual(v []int, x int) bool {
	for _, e := range v {
		if e != x {
			return false
		}
	}
	return true
}

// forEachTap calls f for each tap of the output element at index at that is within the input. in is the
// index of the input element and tap the position in the kernel, both along the spatial axes.
func (w *window) forEachTap(extents, at []int, f func(in []int, tap int)) {
	k := 0
	in := make([]int, len(at))
	forEachIndex(w.kernel, func(tap []int) {
		inside := true
		for i := range at {
			in[i] = at[i]*w.strides[i] + tap[i]*w.dilations[i] - w.before[i]
			inside = inside && in[i] >= 0 && in[i] < extents[i]
		}
		if inside {
			f(in, k)
		}
		k++
	})
}

func concatenate(parts ...[]int) []int {
	var out []int
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func (g *generator) emitConv() {
	x := g.pickFloatValue(3, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	w, args := g.chooseWindow(d[2:], 4, false)
	out := w.resultExtents(d[2:], false)
	if out == nil {
		return
	}
	groups := 1
	if g.tossCoin() {
		groups = g.chooseDivisor(d[1])
	}
	per, each := d[1]/groups, 1+g.IntN(4)
	// Without groups, a few more channels are cheap, and their weights then fill several lanes.
	if groups == 1 {
		each = 1 + g.IntN(9)
	}
	if groups*each*per*onnx.Elements(w.kernel) > maxElements {
		return
	}
	wd := concatenate([]int{groups * each, per}, w.kernel)
	weights := g.addConstant(g.float, wd, g.chooseNumbers(wd))
	in := []int{x, weights}
	args = append(args, g.formatValueArgument("x", x), g.formatValueArgument("weight", weights), g.omitDefault(groups == 1, func() string { return g.formatInt("groups", groups) }))
	var bias []float64
	if g.tossCoin() {
		bias = g.chooseNumbers([]int{groups * each})
		b := g.addConstant(g.float, []int{groups * each}, bias)
		in = append(in, b)
		args = append(args, g.formatValueArgument("bias", b))
	}
	shape := concatenate(d[:1], []int{groups * each}, out)
	g.emit("conv", in, []result{{g.float, shape}}, true, args, func(in [][]float64) [][]float64 {
		var v []float64
		taps := onnx.Elements(w.kernel)
		forEachIndex(shape, func(at []int) {
			sum := 0.0
			if bias != nil {
				sum = bias[at[1]]
			}
			w.forEachTap(d[2:], at[2:], func(p []int, tap int) {
				for c := range per {
					sum += in[0][elementPosition(d, concatenate([]int{at[0], at[1]/each*per + c}, p))] * in[1][(at[1]*per+c)*taps+tap]
				}
			})
			v = append(v, sum)
		})
		return [][]float64{v}
	})
}

// chooseDivisor returns a random divisor of n.
func (g *generator) chooseDivisor(n int) int {
	for {
		if d := 1 + g.IntN(n); n%d == 0 {
			return d
		}
	}
}

func (g *generator) emitConvTranspose() {
	x := g.pickFloatValue(3, 4)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	if d[1] > 8 {
		return
	}
	w, args := g.chooseWindow(d[2:], 4, false)
	g.lines, args = nil, args[:0] // the padding is another one than a convolution's
	if !allEqual(w.strides, 1) || g.tossCoin() {
		args = append(args, g.formatInts("strides", w.strides))
	}
	if !allEqual(w.dilations, 1) || g.tossCoin() {
		args = append(args, g.formatInts("dilations", w.dilations))
	}
	n := len(w.kernel)
	kind := g.chooseName("valid", "custom", "same")
	args = append(args, g.omitDefault(kind == "valid", func() string { return g.formatText("pad_type", kind) }))
	out := make([]int, n)
	for i := range n {
		w.before[i], w.after[i] = 0, 0
		full := (d[2+i]-1)*w.strides[i] + w.dilations[i]*(w.kernel[i]-1) + 1
		switch kind {
		case "valid":
			out[i] = full
		case "custom":
			w.before[i], w.after[i] = g.IntN(3), g.IntN(3)
			out[i] = full - w.before[i] - w.after[i]
		case "same":
			out[i] = d[2+i] * w.strides[i]
			total := max(0, full-out[i])
			w.before[i], w.after[i] = total/2, total-total/2
		}
	}
	if kind == "custom" {
		var pads []int
		for i := range n {
			pads = append(pads, w.before[i], w.after[i])
		}
		args = append(args, g.formatInts("pad", pads))
	}
	groups := 1
	if g.IntN(3) == 0 {
		groups = g.chooseDivisor(d[1])
	}
	each := 1 + g.IntN(4)
	if g.IntN(3) == 0 {
		for i := range n {
			switch {
			case kind != "same":
				out[i] += g.IntN(w.strides[i])
			case w.strides[i] > 1: // an extent that a convolution of the same padding turns into the input's
				out[i] -= g.IntN(w.strides[i])
				total := max(0, (d[2+i]-1)*w.strides[i]+w.dilations[i]*(w.kernel[i]-1)+1-out[i])
				w.before[i], w.after[i] = total/2, total-total/2
			}
		}
		args = append(args, g.formatInts("output_shape", concatenate(d[:1], []int{groups * each}, out)))
	}
	for _, e := range out {
		if e < 1 {
			return
		}
	}
	wd := concatenate([]int{d[1], each}, w.kernel)
	if onnx.Elements(wd) > maxElements {
		return
	}
	weights := g.addConstant(g.float, wd, g.chooseNumbers(wd))
	in := []int{x, weights}
	args = append(args, g.formatValueArgument("x", x), g.formatValueArgument("weight", weights), g.omitDefault(groups == 1, func() string { return g.formatInt("groups", groups) }))
	var bias []float64
	if g.tossCoin() {
		bias = g.chooseNumbers([]int{groups * each})
		b := g.addConstant(g.float, []int{groups * each}, bias)
		in = append(in, b)
		args = append(args, g.formatValueArgument("bias", b))
	}
	shape := concatenate(d[:1], []int{groups * each}, out)
	g.emit("conv_transpose", in, []result{{g.float, shape}}, true, args, func(in [][]float64) [][]float64 {
		v := make([]float64, onnx.Elements(shape))
		if bias != nil {
			for i := range v {
				v[i] = bias[i/onnx.Elements(out)%(groups*each)]
			}
		}
		taps := onnx.Elements(w.kernel)
		forEachIndex(d, func(at []int) {
			value := in[0][elementPosition(d, at)]
			w.forEachTap(out, at[2:], func(p []int, tap int) {
				for c := range each {
					v[elementPosition(shape, concatenate([]int{at[0], at[1]/(d[1]/groups)*each + c}, p))] += value * in[1][(at[1]*each+c)*taps+tap]
				}
			})
		})
		return [][]float64{v}
	})
}

func (g *generator) emitPool() {
	x := g.pickFloatValue(3, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	w, args := g.chooseWindow(d[2:], 4, true)
	op := g.chooseName("max_pool", "avg_pool")
	ceil := g.IntN(3) == 0
	for i := range w.kernel {
		// MIL allows ceil_mode only with equal padding on both sides.
		ceil = ceil && w.before[i] == w.after[i]
	}
	out := w.resultExtents(d[2:], ceil)
	if out == nil {
		return
	}
	args = append(args, g.formatValueArgument("x", x), g.formatInts("kernel_sizes", w.kernel), g.omitDefault(!ceil, func() string { return g.formatBool("ceil_mode", ceil) }))
	exclude := g.tossCoin()
	if op == "avg_pool" {
		args = append(args, g.omitDefault(!exclude, func() string { return g.formatBool("exclude_padding_from_average", exclude) }))
	}
	shape := concatenate(d[:2], out)
	g.emit(op, []int{x}, []result{{g.float, shape}}, op == "max_pool", args, func(in [][]float64) [][]float64 {
		var v []float64
		forEachIndex(shape, func(at []int) {
			most, sum, n := math.Inf(-1), 0.0, 0
			w.forEachTap(d[2:], at[2:], func(p []int, _ int) {
				e := in[0][elementPosition(d, concatenate(at[:2], p))]
				most, sum, n = max(most, e), sum+e, n+1
			})
			if !exclude { // padding counts, but not what is beyond it
				n = 1
				for i := range w.kernel {
					first := at[2+i]*w.strides[i] - w.before[i]
					n *= min(first+w.kernel[i], d[2+i]+w.after[i]) - first
				}
			}
			if op == "max_pool" {
				v = append(v, most)
			} else {
				v = append(v, sum/float64(n))
			}
		})
		return [][]float64{v}
	})
}

// emitNorm emits an operation that scales each element by a function of its neighbors or its channel.
func (g *generator) emitNorm() {
	x := g.pickFloatValue(3, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	c, inner := d[1], onnx.Elements(d[2:])
	eps := 1e-5
	args := []string{g.formatValueArgument("x", x)}
	setEps := func(fallback float64) {
		if eps = fallback; g.tossCoin() {
			eps = g.chooseNumber(0.125, 0.5)
			args = append(args, g.formatNumber("epsilon", eps))
		}
	}
	in := []int{x}
	perChannel := func(key string, low, high float64, missing float64) []float64 {
		v := make([]float64, c)
		for i := range v {
			v[i] = missing
		}
		if !math.IsNaN(missing) && g.tossCoin() {
			return v
		}
		for i := range v {
			v[i] = g.chooseEighth(low, high)
		}
		k := g.addConstant(g.float, []int{c}, v)
		in = append(in, k)
		args = append(args, g.formatValueArgument(key, k))
		return v
	}
	switch op := g.chooseName("batch_norm", "instance_norm", "l2_norm", "local_response_norm"); op {
	case "batch_norm":
		mean, variance := perChannel("mean", -2, 2, math.NaN()), perChannel("variance", 0.5, 3, math.NaN())
		gamma, beta := perChannel("gamma", -2, 2, 1), perChannel("beta", -2, 2, 0)
		setEps(1e-5)
		g.emit(op, in, g.resultLike(x), false, args, func(in [][]float64) [][]float64 {
			out := make([]float64, len(in[0]))
			for i, v := range in[0] {
				k := i / inner % c
				out[i] = (v-mean[k])/math.Sqrt(variance[k]+eps)*gamma[k] + beta[k]
			}
			return [][]float64{out}
		})
	case "instance_norm":
		if len(d) > 4 || inner < 2 {
			return
		}
		gamma, beta := perChannel("gamma", -2, 2, 1), perChannel("beta", -2, 2, 0)
		eps = g.chooseNumber(0.125, 0.5)
		g.emit(op, in, g.resultLike(x), false, append(args, g.formatNumber("epsilon", eps)), func(in [][]float64) [][]float64 {
			out := make([]float64, len(in[0]))
			for at := 0; at < len(out); at += inner {
				k := at / inner % c
				normalizeTo(in[0][at:at+inner], out[at:], eps)
				for i := range inner {
					out[at+i] = out[at+i]*gamma[k] + beta[k]
				}
			}
			return [][]float64{out}
		})
	case "l2_norm":
		setEps(1e-6)
		n := onnx.Elements(d[len(d)-3:])
		// The sum of squares must stay inside fp16, in which the engine passes it from task to task.
		if most := largestMagnitude(g.Values[x].data); float64(n)*most*most > maxSquares {
			return
		}
		g.emit(op, in, g.resultLike(x), false, args, func(in [][]float64) [][]float64 {
			out := make([]float64, len(in[0]))
			for at := 0; at < len(out); at += n {
				sum := eps
				for _, v := range in[0][at : at+n] {
					sum += v * v
				}
				for i := range n {
					out[at+i] = in[0][at+i] / math.Sqrt(sum)
				}
			}
			return [][]float64{out}
		})
	case "local_response_norm":
		size := 1 + 2*g.IntN(3)
		if most := largestMagnitude(g.Values[x].data); float64(size)*most*most > maxSquares {
			return
		}
		alpha, beta, k := 1e-4, 0.75, 1.0
		if g.tossCoin() {
			alpha = g.chooseNumber(0.5, 2)
			args = append(args, g.formatNumber("alpha", alpha))
		}
		if g.tossCoin() {
			beta = g.chooseNumber(0.5, 1)
			args = append(args, g.formatNumber("beta", beta))
		}
		if g.tossCoin() {
			k = g.chooseNumber(0.5, 2)
			args = append(args, g.formatNumber("k", k))
		}
		g.emit(op, in, g.resultLike(x), false, append(args, g.formatInt("size", size)), func(in [][]float64) [][]float64 {
			out := make([]float64, len(in[0]))
			for i, v := range in[0] {
				channel, sum := i/inner%c, 0.0
				for j := max(0, channel-size/2); j <= min(c-1, channel+size/2); j++ {
					e := in[0][i+(j-channel)*inner]
					sum += e * e
				}
				out[i] = v / math.Pow(k+alpha/float64(size)*sum, beta)
			}
			return [][]float64{out}
		})
	}
}

// normalizeTo stores (v - mean)/sqrt(variance + eps) in out.
func normalizeTo(v, out []float64, eps float64) {
	mean, variance := 0.0, 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v))
	}
	for i, x := range v {
		out[i] = (x - mean) / math.Sqrt(variance+eps)
	}
}

func (g *generator) emitLayerNorm() {
	x := g.pickFloatValue(1, 5)
	if x < 0 {
		return
	}
	d := g.Values[x].Dims
	axes, written := g.chooseAxes(len(d), 1)
	if g.tossCoin() { // the last axes, as most networks have it
		axes, written = nil, nil
		for a := g.IntN(len(d)); a < len(d); a++ {
			axes, written = append(axes, a), append(written, g.maybeNegativeAxis(a, len(d)))
		}
	}
	var shape []int
	for _, a := range axes {
		shape = append(shape, d[a])
	}
	// One element is its own mean: the result would be beta, whatever the input.
	if onnx.Elements(shape) < 2 {
		return
	}
	in, args := []int{x}, []string{g.formatValueArgument("x", x)}
	if len(axes) < len(d) || g.tossCoin() {
		args = append(args, g.formatInts("axes", written))
	}
	gamma, beta := make([]float64, onnx.Elements(shape)), make([]float64, onnx.Elements(shape))
	for i := range gamma {
		gamma[i] = 1
	}
	if g.tossCoin() {
		gamma = g.chooseNumbers(shape)
		k := g.addConstant(g.float, shape, gamma)
		in, args = append(in, k), append(args, g.formatValueArgument("gamma", k))
	}
	if g.tossCoin() {
		beta = g.chooseNumbers(shape)
		k := g.addConstant(g.float, shape, beta)
		in, args = append(in, k), append(args, g.formatValueArgument("beta", k))
	}
	eps := g.chooseNumber(0.125, 0.5)
	args = append(args, g.formatNumber("epsilon", eps))
	g.emit("layer_norm", in, g.resultLike(x), false, args, func(in [][]float64) [][]float64 {
		out := make([]float64, len(in[0]))
		forEachReduction(d, axes, func(places []int) {
			v, r := make([]float64, len(places)), make([]float64, len(places))
			for i, p := range places {
				v[i] = in[0][p]
			}
			normalizeTo(v, r, eps)
			for i, p := range places {
				out[p] = r[i]*gamma[i] + beta[i]
			}
		})
		return [][]float64{out}
	})
}

// forEachReduction calls f with the positions of the elements that differ in their indices along axes only,
// in row-major order.
func forEachReduction(dims, axes []int, f func(places []int)) {
	outer, inner := append([]int{}, dims...), make([]int, len(dims))
	for i := range inner {
		inner[i] = 1
	}
	for _, a := range axes {
		outer[a], inner[a] = 1, dims[a]
	}
	forEachIndex(outer, func(first []int) {
		var places []int
		sum := make([]int, len(dims))
		forEachIndex(inner, func(at []int) {
			for i := range sum {
				sum[i] = first[i] + at[i]
			}
			places = append(places, elementPosition(dims, sum))
		})
		f(places)
	})
}
