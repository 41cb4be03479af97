package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// addComputedOperand adds a Conv, ConvTranspose or BatchNormalization of x that reads its weights,
// bias or statistics from inputs of the graph instead of constants. It returns false if the operator
// does not fit x or the graph has too many inputs.
func addComputedOperand(b *builder, x string) bool {
	if len(b.graph.Inputs) >= 4 || b.tensorMagnitude(x) > 60 {
		return false
	}
	switch b.rng.IntN(4) {
	case 0:
		return addComputedConvTranspose(b, x)
	case 1:
		return addComputedBatchNormalization(b, x)
	}
	return addComputedConv(b, x)
}

// addComputedConv adds Conv of x. The weights, the bias or both are inputs.
func addComputedConv(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) < 3 || len(v.Dims) > 5 {
		return false
	}
	w, ok := randomWindow(b, v.Dims[2:], true, false)
	if !ok {
		return false
	}
	c := v.Dims[1]
	group := pickRandom(b, 1, 1, pickRandom(b, divisorsOf(c)...))
	out := group * b.randomInt(1, 4)
	dims := append([]int{v.Dims[0], out}, w.extent...)
	shape := append([]int{out, c / group}, w.kernel...)
	k := onnx.Elements(shape[1:])
	// Each element of a computed kernel becomes layers of its own.
	if onnx.Elements(w.kernel) > 30 || onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts || onnx.Elements(shape) > maxElements {
		return false
	}
	if b.randomBool(30) {
		weights := b.addWeightConstant(k, shape...)
		b.addNode("Conv", []string{x, weights, b.addInput(out)}, b.describeProductSum(v, weights, k, dims), append(w.attributes(true), newIntAttribute("group", group))...)
		return true
	}
	if b.tensorMagnitude(x)*powerOfTwoRoot(k) > 60 {
		return false
	}
	in := []string{x, b.addInput(shape...)}
	if b.randomBool(40) {
		in = append(in, b.addAddendConstant(out))
	}
	b.addNode("Conv", in, b.describeProductSum(v, in[1], k, dims), append(w.attributes(true), newIntAttribute("group", group))...)
	return true
}

// addComputedConvTranspose adds ConvTranspose of x over one, two or three axes. The weights are
// constants only for three axes.
func addComputedConvTranspose(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) < 3 || len(v.Dims) > 5 || b.tensorMagnitude(x) > 16 {
		return false
	}
	c := v.Dims[1]
	group := pickRandom(b, 1, 1, pickRandom(b, divisorsOf(c)...))
	each := b.randomInt(1, 3)
	dims, shape := []int{v.Dims[0], each * group}, []int{c, each}
	var stride, dilation, begin, end []int
	for _, n := range v.Dims[2:] {
		k, s, d := b.randomInt(1, 3), b.randomInt(1, 3), pickRandom(b, 1, 1, 2)
		full := (n-1)*s + (k-1)*d + 1
		p, q := b.rng.IntN(k), b.rng.IntN(k)
		if full-p-q < 1 {
			return false
		}
		shape, dims = append(shape, k), append(dims, full-p-q)
		stride, dilation, begin, end = append(stride, s), append(dilation, d), append(begin, p), append(end, q)
	}
	k := c / group * onnx.Elements(shape[2:])
	// The limit keeps a test of thousands of graphs in seconds.
	if onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts || onnx.Elements(shape) > maxElements {
		return false
	}
	weights := ""
	if len(v.Dims) == 5 && b.randomBool(60) {
		weights = b.addWeightConstant(k, shape...)
	} else {
		weights = b.addInput(shape...)
	}
	out := b.describeProductSum(v, weights, k, dims)
	if out.High > maxMagnitude {
		return false
	}
	b.addNode("ConvTranspose", []string{x, weights}, out, newIntsAttribute("strides", stride...), newIntsAttribute("dilations", dilation...),
		newIntsAttribute("pads", slices.Concat(begin, end)...), newIntAttribute("group", group))
	return true
}

// addComputedBatchNormalization adds a BatchNormalization of x whose scale, offset or mean is an
// input of the graph. The variance is constant, because it must be positive. The function returns
// false if it adds nothing.
func addComputedBatchNormalization(b *builder, x string) bool {
	v := b.findValue(x)
	channels := 1
	if n := len(v.Dims); n == 0 {
		return false
	} else if n > 1 {
		channels = v.Dims[1]
	}
	in := []string{x, b.addFactorConstant(channels), b.addAddendConstant(channels), b.addAddendConstant(channels), b.addPositiveConstant(channels)}
	if len(v.Dims) > 1 || b.randomBool(50) {
		in[b.randomInt(1, 3)] = b.addInput(channels)
	}
	m := float64((b.tensorMagnitude(x)+4)*6) + 4
	b.addNode("BatchNormalization", in, v.WithRange(-m, m), newFloatAttribute("epsilon", pickRandom(b, float32(1e-5), 1e-3)))
	return true
}

// divisorsOf returns the divisors of n in ascending order.
func divisorsOf(n int) []int {
	var list []int
	for d := 1; d <= n; d++ {
		if n%d == 0 {
			list = append(list, d)
		}
	}
	return list
}

// addLengthNormalization adds LRN, LpNormalization, MeanVarianceNormalization, GroupNormalization or
// GlobalLpPool of x. Operators without an epsilon are added only for exact elements, because a small
// length or variance has no precise inverse. It returns false if x does not fit the operator.
func addLengthNormalization(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n < 2 || b.tensorMagnitude(x) > 8 {
		return false
	}
	switch op := pickRandom(b, "LRN", "LpNormalization", "MeanVarianceNormalization", "GroupNormalization", "GlobalLpPool"); op {
	case "LRN": // onnxruntime accepts images and odd sizes only
		if n != 4 {
			return false
		}
		b.addNode(op, []string{x}, v.WithRange(-8, 8), newIntAttribute("size", pickRandom(b, 1, 3, 5)), newFloatAttribute("alpha", pickRandom(b, float32(1e-4), 0.125)),
			newFloatAttribute("beta", pickRandom(b, float32(0.75), 0.5)), newFloatAttribute("bias", pickRandom(b, float32(1), 2)))
	case "LpNormalization":
		if !v.Exact || v.Low >= 0 {
			return false
		}
		b.addNode(op, []string{x}, v.WithRange(-1, 1), newIntAttribute("axis", b.maybeNegativeAxis(b.randomAxis(n), n)), newIntAttribute("p", b.randomInt(1, 2)))
	case "MeanVarianceNormalization":
		axes := b.rng.Perm(n)[:b.randomInt(1, n)]
		count := 1
		for _, a := range axes {
			count *= v.Dims[a]
		}
		if b.graph.Input(x) == nil || count < 16 {
			return false
		}
		b.addNode(op, []string{x}, v.WithRange(-8, 8), newIntsAttribute("axes", axes...))
	case "GroupNormalization":
		if n < 3 || b.graph.Opset < 18 {
			return false
		}
		groups := pickRandom(b, divisorsOf(v.Dims[1])...)
		size := groups // before operator set 21, there is a scale for each group
		if b.graph.Opset >= 21 {
			size = v.Dims[1]
		}
		b.addNode(op, []string{x, b.addFactorConstant(size), b.addAddendConstant(size)}, v.WithRange(-20, 20), newIntAttribute("num_groups", groups), newFloatAttribute("epsilon", 0.0625))
	case "GlobalLpPool":
		count := onnx.Elements(v.Dims[2:])
		if n < 3 || b.tensorMagnitude(x)*b.tensorMagnitude(x)*float64(count) > 2000 {
			return false
		}
		b.addNode(op, []string{x}, onnxgraph.Value{Type: onnx.Float, Dims: append(slices.Clone(v.Dims[:2]), shapeOfOnes(n-2)...), High: b.tensorMagnitude(x) * float64(count)}, newIntAttribute("p", b.randomInt(1, 2)))
	}
	return true
}
