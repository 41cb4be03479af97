package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// addHostOperator adds an operator on x that the engine does not support and the host computes:
// CumSum, Resize, GridSample, GatherElements, GatherND, a scatter, Trilu, Einsum or Mod. It returns
// false if the operator does not fit x.
func addHostOperator(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n == 0 {
		return false
	}
	switch pickRandom(b, "CumSum", "Resize", "Resize", "Resize", "GridSample", "GatherElements", "Trilu", "Einsum", "Mod", "Scatter", "GatherND") {
	case "Scatter":
		return addScatter(b, x)
	case "GatherND":
		addGatherND(b, x)
	case "CumSum":
		axis := b.randomAxis(n)
		k := float64(v.Dims[axis])
		if b.tensorMagnitude(x)*k > maxMagnitude {
			return false
		}
		at := b.addConstant(pickRandom(b, onnx.Int64, onnx.Int32), nil, []float64{float64(axis)})
		b.addNode("CumSum", []string{x, at}, v.WithRange(min(0, v.Low*k), max(0, v.High*k)), newIntAttribute("exclusive", b.rng.IntN(2)), newIntAttribute("reverse", b.rng.IntN(2)))
	case "Resize":
		return addResize(b, x)
	case "GridSample":
		return addGridSample(b, x)
	case "GatherElements":
		axis := b.randomAxis(n)
		dims := slices.Clone(v.Dims)
		dims[axis] = b.randomInt(1, 4)
		if onnx.Elements(dims) > maxElements {
			return false
		}
		at := b.addConstant(onnx.Int64, dims, onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), 0, v.Dims[axis]-1, 1))
		b.addNode("GatherElements", []string{x, at}, v.WithDims(dims...), newIntAttribute("axis", axis))
	case "Trilu":
		if n < 2 {
			return false
		}
		v.Low, v.High = min(0, v.Low), max(0, v.High)
		b.addNode("Trilu", []string{x}, v, newIntAttribute("upper", b.rng.IntN(2)))
	case "Einsum":
		return addEinsum(b, x)
	case "Mod":
		// A remainder jumps, so a rounding of the operand would be an error of its whole size.
		if !v.Exact {
			return false
		}
		c := b.addScalarConstant(2)
		d, _ := broadcastDims(v.Dims, b.tensorDims(c))
		b.addNode("Mod", []string{x, c}, onnxgraph.Value{Type: onnx.Float, Dims: d, Low: -2, High: 2, Exact: true}, newIntAttribute("fmod", 1))
	}
	return true
}

// addGatherND adds a GatherND of up to four slices of x, selected by one or two constant leading
// indices.
func addGatherND(b *builder, x string) {
	v := b.findValue(x)
	depth := b.randomInt(1, min(2, len(v.Dims)))
	count := b.randomInt(1, 4)
	indices := make([]float64, 0, count*depth)
	for range count {
		for _, d := range v.Dims[:depth] {
			indices = append(indices, float64(b.rng.IntN(d)))
		}
	}
	var a []onnxgraph.Attribute
	if b.graph.Opset >= 12 {
		a = append(a, newIntAttribute("batch_dims", 0))
	}
	b.addNode("GatherND", []string{x, b.addConstant(onnx.Int64, []int{count, depth}, indices)}, v.WithDims(append([]int{count}, v.Dims[depth:]...)...), a...)
}

// addGridSample adds a GridSample of x at random constant coordinates from -1 to 1. It returns
// false if x does not have rank 4.
func addGridSample(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 4 {
		return false
	}
	h, w := b.randomInt(1, 6), b.randomInt(1, 6)
	mode := "bilinear"
	if b.graph.Opset >= 20 {
		mode = "linear"
	}
	grid := b.addConstant(onnx.Float, []int{v.Dims[0], h, w, 2}, onnxgraph.RandomMultiples(b.rng, v.Dims[0]*h*w*2, -64, 64, 64))
	b.addNode("GridSample", []string{x, grid}, v.WithRange(min(0, v.Low), max(0, v.High)).WithDims(v.Dims[0], v.Dims[1], h, w), newTextAttribute("mode", mode), newTextAttribute("padding_mode", pickRandom(b, "zeros", "border")), newIntAttribute("align_corners", b.rng.IntN(2)))
	return true
}

// addScatter adds a ScatterND or ScatterElements of constants into slices along axis 0 of x. No
// slice occurs twice, because the order of updates is undefined.
func addScatter(b *builder, x string) bool {
	v := b.findValue(x)
	rows := b.rng.Perm(v.Dims[0])[:b.randomInt(1, min(4, v.Dims[0]))]
	dims := append([]int{len(rows)}, v.Dims[1:]...)
	updates := b.addAddendConstant(dims...)
	u := b.findValue(updates)
	v.Low, v.High = min(v.Low, u.Low), max(v.High, u.High)
	if b.randomBool(50) {
		at := make([]float64, len(rows))
		for i, r := range rows {
			at[i] = float64(r)
		}
		b.addNode("ScatterND", []string{x, b.addConstant(onnx.Int64, []int{len(rows), 1}, at), updates}, v)
		return true
	}
	at := make([]float64, onnx.Elements(dims))
	for i := range at {
		at[i] = float64(rows[i/(len(at)/len(rows))])
	}
	b.addNode("ScatterElements", []string{x, b.addConstant(onnx.Int64, dims, at), updates}, v, newIntAttribute("axis", b.maybeNegativeAxis(0, len(v.Dims))))
	return true
}

// addEinsum adds Einsum of x and constant weights, with a random equation: each label of x is summed,
// kept or shared with the weights, which have up to two labels of their own. It returns false if x is
// too large.
func addEinsum(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n == 3 && b.randomBool(30) {
		return addBatchEinsum(b, x)
	}
	if n > 4 || b.tensorMagnitude(x) > 30 {
		return false
	}
	labels := "abcdefgh"
	left, right, result, k, work := labels[:n], "", "", 1, 1
	var shape, dims []int
	extents := slices.Concat(v.Dims, []int{b.randomInt(1, 6), b.randomInt(1, 6)})
	// A random order of labels makes transposes of both operands and of the result.
	for _, i := range b.rng.Perm(n + b.rng.IntN(3)) {
		shared, kept := b.randomBool(60), b.randomBool(70)
		if shared || i >= n {
			right, shape = right+labels[i:i+1], append(shape, extents[i])
		}
		if kept {
			result, dims = result+labels[i:i+1], append(dims, extents[i])
		} else {
			k *= extents[i]
		}
		work *= extents[i]
	}
	if right == "" || k > 256 || onnx.Elements(dims) > maxElements || onnx.Elements(shape) > maxElements || work > maxProducts {
		return false
	}
	w := b.addWeightConstant(k, shape...)
	out := b.describeProductSum(v, w, k, append([]int{}, dims...))
	if out.High > maxMagnitude {
		return false
	}
	in := []string{x, w}
	if b.randomBool(40) {
		in, left, right = []string{w, x}, right, left
	}
	b.addNode("Einsum", in, out, newTextAttribute("equation", left+","+right+"->"+result))
	return true
}

// addBatchEinsum adds Einsum of a batch of matrices x and a constant matrix, with one of several
// spellings of the equation.
func addBatchEinsum(b *builder, x string) bool {
	v := b.findValue(x)
	k, m := v.Dims[2], b.randomExtent(20)
	shape, equation := []int{m, k}, pickRandom(b, "bij,kj->bik", "bij,kj->bik", "bij, kj -> bik", "...j,kj->...k")
	if b.randomBool(30) {
		shape, equation = []int{k, m}, "bij,jk"
	}
	w := b.addWeightConstant(k, shape...)
	dims := []int{v.Dims[0], v.Dims[1], m}
	if onnx.Elements(dims) > maxElements || onnx.Elements(dims)*k > maxProducts {
		return false
	}
	b.addNode("Einsum", []string{x, w}, b.describeProductSum(v, w, k, dims), newTextAttribute("equation", equation))
	return true
}

// addResize adds a Resize of the last two axes of x, to given sizes or by given factors, in one of
// the modes "nearest", "linear" and "cubic". In operator set 9 it adds an Upsample instead. It
// returns false if x does not have rank 4.
func addResize(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 4 || b.graph.Opset == 10 {
		return false
	}
	dims := slices.Clone(v.Dims)
	scales := []float64{1, 1, 1, 1}
	down := b.graph.Opset >= 11 && b.randomBool(25)
	for axis := 2; axis < 4; axis++ {
		scales[axis] = float64(b.randomInt(1, 3))
		if down && dims[axis]%2 == 0 {
			scales[axis] = 0.5
		}
		dims[axis] = int(float64(dims[axis]) * scales[axis])
	}
	factors := b.addConstant(onnx.Float, []int{4}, scales)
	if b.graph.Opset < 11 {
		if onnx.Elements(dims) > maxElements {
			return false
		}
		b.addNode("Upsample", []string{x, factors}, v.WithDims(dims...), newTextAttribute("mode", "nearest"))
		return true
	}
	mode, coordinates, nearest := randomInterpolation(b)
	sized := b.randomBool(40)
	if sized && mode != "nearest" {
		dims[2], dims[3] = b.randomInt(1, 2*dims[2]), b.randomInt(1, 2*dims[3])
	}
	if onnx.Elements(dims) > maxElements {
		return false
	}
	in := []string{x, "", factors}
	if sized {
		in = []string{x, "", "", b.addIntVector(dims...)}
	}
	if b.graph.Opset < 13 { // only later versions can leave them out
		empty := b.addConstant(onnx.Float, []int{0}, nil)
		in[1] = empty
		if sized {
			in[2] = empty
		}
	}
	if sized && b.graph.Opset >= 11 && mode != "cubic" && b.randomBool(25) {
		coordinates = "tf_crop_and_resize" // of a region with two borders at the ends of the axes
		in[1] = b.addConstant(onnx.Float, []int{8}, []float64{0, 0, 0, pickRandom(b, 0, 0.25), 1, 1, pickRandom(b, 1, 0.75), 1})
	}
	a := []onnxgraph.Attribute{newTextAttribute("mode", mode), newTextAttribute("coordinate_transformation_mode", coordinates)}
	switch mode {
	case "nearest":
		a = append(a, newTextAttribute("nearest_mode", nearest))
	case "cubic":
		a = append(a, newFloatAttribute("cubic_coeff_a", pickRandom(b, float32(-0.75), -0.5)))
		m := 2 * b.tensorMagnitude(x)
		v.Low, v.High = -m, m
	}
	v.Exact = v.Exact && mode == "nearest"
	b.addNode("Resize", in, v.WithDims(dims...), a...)
	return true
}

// randomInterpolation returns random values of the attributes mode, coordinate_transformation_mode
// and nearest_mode of Resize, in a combination that leaves one correct value for every element.
func randomInterpolation(b *builder) (mode, coordinates, nearest string) {
	mode, coordinates, nearest = "nearest", "asymmetric", "floor"
	switch {
	case b.randomBool(50):
		mode, coordinates = "linear", pickRandom(b, "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
	case b.randomBool(20):
		mode, coordinates = "cubic", pickRandom(b, "half_pixel", "align_corners", "asymmetric")
	case b.randomBool(50):
		coordinates, nearest = "half_pixel", "round_prefer_floor"
	}
	return mode, coordinates, nearest
}

// addComputedReshape adds nodes that compute a shape from the shape of x, and then either a Reshape
// of x to it or a constant of that shape, which is added to x. It returns false if x has fewer than
// two axes or the operator set is too old.
func addComputedReshape(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if n < 2 {
		return false
	}
	shape := b.addNode("Shape", []string{x}, onnxgraph.Value{Type: onnx.Int64, Dims: []int{n}, High: 300, Exact: true})
	switch b.rng.IntN(3) {
	case 0: // [dims[0], -1]
		zero := b.addConstant(onnx.Int64, nil, []float64{0})
		first := b.addNode("Gather", []string{shape, zero}, onnxgraph.Value{Type: onnx.Int64, Dims: []int{}, High: 300, Exact: true}, newIntAttribute("axis", 0))
		first = b.addOperatorWithAxes("Unsqueeze", first, onnxgraph.Value{Type: onnx.Int64, Dims: []int{1}, High: 300, Exact: true}, 0)
		dims := b.addNode("Concat", []string{first, b.addIntVector(-1)}, onnxgraph.Value{Type: onnx.Int64, Dims: []int{2}, Low: -1, High: 300, Exact: true}, newIntAttribute("axis", 0))
		b.addNode("Reshape", []string{x, dims}, v.WithDims(v.Dims[0], onnx.Elements(v.Dims[1:])))
	case 1: // all dims but the last, then 1 and -1
		if b.graph.Opset < 10 {
			return false
		}
		part := b.addNode("Slice", []string{shape, b.addIntVector(0), b.addIntVector(n - 1), b.addIntVector(0)}, onnxgraph.Value{Type: onnx.Int64, Dims: []int{n - 1}, High: 300, Exact: true})
		dims := b.addNode("Concat", []string{part, b.addIntVector(1, -1)}, onnxgraph.Value{Type: onnx.Int64, Dims: []int{n + 1}, Low: -1, High: 300, Exact: true}, newIntAttribute("axis", 0))
		if n == 5 {
			return true
		}
		b.addNode("Reshape", []string{x, dims}, v.WithDims(append(slices.Clone(v.Dims[:n-1]), 1, v.Dims[n-1])...))
	case 2: // a constant of the shape of x, added to x
		c := b.addNode("ConstantOfShape", []string{shape}, v.WithRange(0, 0))
		b.addNode("Add", []string{x, c}, v)
	}
	return true
}
