package randomgraph

import (
	"slices"

	"anesim/loader/network/onnx"
)

// addHostOperator adds an operator that runs on the host: CumSum, Resize, GridSample,
// GatherElements, Trilu, Einsum or Mod.
func addHostOperator(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if n == 0 {
		return false
	}
	switch pick(b, "CumSum", "Resize", "Resize", "GridSample", "GatherElements", "Trilu", "Einsum", "Mod") {
	case "CumSum":
		axis := b.randomAxis(n)
		k := float64(v.Dims[axis])
		if b.magnitude(x)*k > maxMagnitude {
			return false
		}
		at := b.addConstant(pick(b, onnx.Int64, onnx.Int32), nil, []float64{float64(axis)})
		b.addNode("CumSum", []string{x, at}, v.withRange(min(0, v.Low*k), max(0, v.High*k)), intAttribute("exclusive", b.rng.IntN(2)), intAttribute("reverse", b.rng.IntN(2)))
	case "Resize":
		return addResize(b, x)
	case "GridSample":
		if n != 4 || b.graph.Opset < 16 {
			return false
		}
		h, w := b.randomInt(1, 6), b.randomInt(1, 6)
		mode := "bilinear"
		if b.graph.Opset >= 20 {
			mode = "linear"
		}
		grid := b.addConstant(onnx.Float, []int{v.Dims[0], h, w, 2}, multiples(b.rng, v.Dims[0]*h*w*2, -64, 64, 64))
		b.addNode("GridSample", []string{x, grid}, v.withRange(min(0, v.Low), max(0, v.High)).withDims(v.Dims[0], v.Dims[1], h, w), textAttribute("mode", mode), textAttribute("padding_mode", pick(b, "zeros", "border")), intAttribute("align_corners", b.rng.IntN(2)))
	case "GatherElements":
		axis := b.randomAxis(n)
		dims := slices.Clone(v.Dims)
		dims[axis] = b.randomInt(1, 4)
		if elements(dims) > maxElements {
			return false
		}
		at := b.addConstant(onnx.Int64, dims, multiples(b.rng, elements(dims), 0, v.Dims[axis]-1, 1))
		b.addNode("GatherElements", []string{x, at}, v.withDims(dims...), intAttribute("axis", axis))
	case "Trilu":
		if n < 2 || b.graph.Opset < 14 {
			return false
		}
		v.Low, v.High = min(0, v.Low), max(0, v.High)
		b.addNode("Trilu", []string{x}, v, intAttribute("upper", b.rng.IntN(2)))
	case "Einsum":
		return addEinsum(b, x)
	case "Mod":
		if !v.Exact {
			return false
		}
		c := b.addNumber(2)
		d, _ := broadcast(v.Dims, b.dims(c))
		b.addNode("Mod", []string{x, c}, Value{Type: onnx.Float, Dims: d, Low: -2, High: 2, Exact: true}, intAttribute("fmod", 1))
	}
	return true
}

// addEinsum adds Einsum of a batch of matrices and weights.
func addEinsum(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 3 || b.graph.Opset < 12 {
		return false
	}
	k, m := v.Dims[2], b.randomExtent(20)
	w := b.addWeights(k, m, k)
	dims := []int{v.Dims[0], v.Dims[1], m}
	if elements(dims) > maxElements || elements(dims)*k > maxProducts {
		return false
	}
	b.addNode("Einsum", []string{x, w}, b.sumOfProducts(v, w, k, dims), textAttribute("equation", "bij,kj->bik"))
	return true
}

// addResize adds Resize of the last two axes by whole factors.
func addResize(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 4 {
		return false
	}
	dims := slices.Clone(v.Dims)
	scales := []float64{1, 1, float64(b.randomInt(1, 3)), float64(b.randomInt(1, 3))}
	dims[2] *= int(scales[2])
	dims[3] *= int(scales[3])
	if elements(dims) > maxElements {
		return false
	}
	mode, coordinates := "nearest", "asymmetric"
	a := []Attribute{textAttribute("nearest_mode", "floor")}
	if b.chance(50) {
		mode, coordinates, a = "linear", pick(b, "half_pixel", "align_corners", "asymmetric"), nil
	}
	roi := ""
	if b.graph.Opset < 13 {
		roi = b.addConstant(onnx.Float, []int{0}, nil)
	}
	in := []string{x, roi, b.addConstant(onnx.Float, []int{4}, scales)}
	v.Exact = v.Exact && mode == "nearest"
	b.addNode("Resize", in, v.withDims(dims...), append(a, textAttribute("mode", mode), textAttribute("coordinate_transformation_mode", coordinates))...)
	return true
}

// addComputedReshape adds nodes that compute a shape from the shape of x: a Reshape of x to
// it, or a constant of that shape that is added to x.
func addComputedReshape(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if n < 2 {
		return false
	}
	shape := b.addNode("Shape", []string{x}, Value{Type: onnx.Int64, Dims: []int{n}, High: 300, Exact: true})
	switch b.rng.IntN(3) {
	case 0: // [dims[0], -1]
		zero := b.addConstant(onnx.Int64, nil, []float64{0})
		first := b.addNode("Gather", []string{shape, zero}, Value{Type: onnx.Int64, Dims: []int{}, High: 300, Exact: true}, intAttribute("axis", 0))
		first = b.addWithAxes("Unsqueeze", first, Value{Type: onnx.Int64, Dims: []int{1}, High: 300, Exact: true}, 0)
		dims := b.addNode("Concat", []string{first, b.addInts(-1)}, Value{Type: onnx.Int64, Dims: []int{2}, Low: -1, High: 300, Exact: true}, intAttribute("axis", 0))
		b.addNode("Reshape", []string{x, dims}, v.withDims(v.Dims[0], elements(v.Dims[1:])))
	case 1: // all dims but the last two, then -1
		part := b.addNode("Slice", []string{shape, b.addInts(0), b.addInts(n - 1), b.addInts(0)}, Value{Type: onnx.Int64, Dims: []int{n - 1}, High: 300, Exact: true})
		dims := b.addNode("Concat", []string{part, b.addInts(1, -1)}, Value{Type: onnx.Int64, Dims: []int{n + 1}, Low: -1, High: 300, Exact: true}, intAttribute("axis", 0))
		if n == 5 {
			return true
		}
		b.addNode("Reshape", []string{x, dims}, v.withDims(append(slices.Clone(v.Dims[:n-1]), 1, v.Dims[n-1])...))
	case 2: // a constant of the shape of x, added to x
		c := b.addNode("ConstantOfShape", []string{shape}, v.withRange(0, 0))
		b.addNode("Add", []string{x, c}, v)
	}
	return true
}
