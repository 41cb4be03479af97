package randomgraph

import (
	"slices"

	"anesim/loader/network/onnx"
)

// compare adds a comparison of exact values, and at times Not, And, Or, Where or Cast of
// the result.
func compare(b *builder, x string) bool {
	v := b.value(x)
	if !v.Exact || v.Type != onnx.Float {
		return false
	}
	dims := b.operandDims(v.Dims)
	out, ok := broadcast(v.Dims, dims)
	if !ok {
		return false
	}
	op := pick(b, "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
	if b.graph.Opset < 12 {
		op = pick(b, "Greater", "Less", "Equal")
	}
	in := []string{x, b.offsets(dims...)}
	if b.chance(30) {
		slices.Reverse(in)
	}
	y := b.add(op, in, Value{Type: onnx.Bool, Dims: out, High: 1, Exact: true})
	return !b.chance(70) || decide(b, y)
}

// decide adds an operator that reads the bool tensor x.
func decide(b *builder, x string) bool {
	v := b.value(x)
	switch b.rng.IntN(5) {
	case 0:
		b.add("Not", []string{x}, v)
	case 1:
		y := b.other("", func(u Value) bool {
			_, ok := broadcast(v.Dims, u.Dims)
			return ok && u.Type == onnx.Bool
		})
		if y == "" {
			return false
		}
		dims, _ := broadcast(v.Dims, b.dims(y))
		b.add(pick(b, "And", "Or", "Xor"), []string{x, y}, v.like(dims...))
	case 2:
		to := pick(b, onnx.Float, onnx.Float, onnx.Int64, onnx.Int32, onnx.Uint8)
		b.add("Cast", []string{x}, Value{Type: to, Dims: v.Dims, High: 1, Exact: true}, intAttribute("to", int(to)))
	default:
		return choose(b, x)
	}
	return true
}

// choose adds Where of the bool tensor x, a float32 tensor, and another one or a constant.
func choose(b *builder, x string) bool {
	v := b.value(x)
	y := b.other("", func(u Value) bool {
		_, ok := broadcast(v.Dims, u.Dims)
		return ok && u.Type == onnx.Float
	})
	if y == "" {
		return false
	}
	dims, _ := broadcast(v.Dims, b.dims(y))
	z := b.other(y, func(u Value) bool {
		_, ok := broadcast(dims, u.Dims)
		return ok && u.Type == onnx.Float
	})
	if z == "" || b.chance(50) {
		z = b.offsets(b.operandDims(dims)...)
	}
	dims, ok := broadcast(dims, b.dims(z))
	if !ok {
		return false
	}
	if b.chance(50) {
		y, z = z, y
	}
	p, q := b.value(y), b.value(z)
	b.add("Where", []string{x, y, z}, Value{Type: onnx.Float, Dims: dims, Low: min(p.Low, q.Low), High: max(p.High, q.High), Exact: p.Exact && q.Exact})
	return true
}

// round adds a function that jumps, of exact values, or a Cast to whole numbers.
func round(b *builder, x string) bool {
	v := b.value(x)
	if !v.Exact || v.Type != onnx.Float {
		return false
	}
	op := pick(b, "Round", "Floor", "Ceil", "Sign", "Cast", "Cast", "IsNaN")
	switch op {
	case "Cast":
		to := pick(b, onnx.Int64, onnx.Int32, onnx.Bool)
		out := v
		out.Type = to
		if to == onnx.Bool {
			out.Low, out.High = 0, 1
		}
		y := b.add(op, []string{x}, out, intAttribute("to", int(to)))
		if b.chance(40) {
			b.add(op, []string{y}, Value{Type: onnx.Float, Dims: v.Dims, Low: out.Low, High: out.High, Exact: true}, intAttribute("to", int(onnx.Float)))
		}
	case "IsNaN":
		b.add(op, []string{x}, Value{Type: onnx.Bool, Dims: v.Dims, High: 1, Exact: true})
	case "Sign":
		b.add(op, []string{x}, Value{Type: onnx.Float, Dims: v.Dims, Low: -1, High: 1, Exact: true})
	default:
		b.add(op, []string{x}, Value{Type: onnx.Float, Dims: v.Dims, Low: v.Low - 1, High: v.High + 1, Exact: true})
	}
	return true
}

// count adds arithmetic of whole numbers, or a Cast back to float32.
func count(b *builder, x string) bool {
	v := b.value(x)
	if v.Type != onnx.Int64 && v.Type != onnx.Int32 {
		return false
	}
	if b.chance(60) || max(-v.Low, v.High) > 500 {
		b.add("Cast", []string{x}, Value{Type: onnx.Float, Dims: v.Dims, Low: v.Low, High: v.High, Exact: max(-v.Low, v.High) <= 16}, intAttribute("to", int(onnx.Float)))
		return true
	}
	dims := b.operandDims(v.Dims)
	out, ok := broadcast(v.Dims, dims)
	if !ok {
		return false
	}
	c := b.constant(v.Type, dims, multiples(b.rng, elements(dims), 1, 5, 1))
	op := pick(b, "Add", "Sub", "Mul")
	v.Low, v.High = 5*min(0, v.Low)-5, 5*max(0, v.High)+5
	b.add(op, []string{x, c}, v.like(out...))
	return true
}

// search adds ArgMax, ArgMin or TopK, whose places depend on an order of exact values.
func search(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if !v.Exact || v.Type != onnx.Float || n == 0 {
		return false
	}
	axis := b.axis(n)
	dims := slices.Clone(v.Dims)
	if b.chance(40) {
		k := b.between(1, min(6, dims[axis]))
		dims[axis] = k
		out := []Value{v.like(dims...), {Type: onnx.Int64, Dims: dims, High: float64(v.Dims[axis]), Exact: true}}
		b.addAll("TopK", []string{x, b.ints(k)}, out, intAttribute("axis", b.signed(axis, n)), intAttribute("largest", b.rng.IntN(2)))
		return true
	}
	keep := b.rng.IntN(2)
	dims[axis] = 1
	if keep == 0 {
		dims = slices.Delete(dims, axis, axis+1)
	}
	y := b.add(pick(b, "ArgMax", "ArgMin"), []string{x}, Value{Type: onnx.Int64, Dims: dims, High: float64(v.Dims[axis]), Exact: true}, intAttribute("axis", b.signed(axis, n)), intAttribute("keepdims", keep))
	if b.chance(40) {
		return count(b, y)
	}
	return true
}

// rearrange adds an operator that the host runs: CumSum, Resize, GridSample, GatherElements,
// Trilu or Einsum.
func rearrange(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if n == 0 {
		return false
	}
	switch pick(b, "CumSum", "Resize", "Resize", "GridSample", "GatherElements", "Trilu", "Einsum", "Mod") {
	case "CumSum":
		axis := b.axis(n)
		k := float64(v.Dims[axis])
		if b.magnitude(x)*k > maxMagnitude {
			return false
		}
		at := b.constant(pick(b, onnx.Int64, onnx.Int32), nil, []float64{float64(axis)})
		b.add("CumSum", []string{x, at}, v.within(min(0, v.Low*k), max(0, v.High*k)), intAttribute("exclusive", b.rng.IntN(2)), intAttribute("reverse", b.rng.IntN(2)))
	case "Resize":
		return resize(b, x)
	case "GridSample":
		if n != 4 || b.graph.Opset < 16 {
			return false
		}
		h, w := b.between(1, 6), b.between(1, 6)
		grid := b.constant(onnx.Float, []int{v.Dims[0], h, w, 2}, multiples(b.rng, v.Dims[0]*h*w*2, -64, 64, 64))
		b.add("GridSample", []string{x, grid}, v.within(min(0, v.Low), max(0, v.High)).like(v.Dims[0], v.Dims[1], h, w), textAttribute("mode", "bilinear"), textAttribute("padding_mode", pick(b, "zeros", "border")), intAttribute("align_corners", b.rng.IntN(2)))
	case "GatherElements":
		axis := b.axis(n)
		dims := slices.Clone(v.Dims)
		dims[axis] = b.between(1, 4)
		if elements(dims) > maxElements {
			return false
		}
		at := b.constant(onnx.Int64, dims, multiples(b.rng, elements(dims), 0, v.Dims[axis]-1, 1))
		b.add("GatherElements", []string{x, at}, v.like(dims...), intAttribute("axis", axis))
	case "Trilu":
		if n < 2 || b.graph.Opset < 14 {
			return false
		}
		v.Low, v.High = min(0, v.Low), max(0, v.High)
		b.add("Trilu", []string{x}, v, intAttribute("upper", b.rng.IntN(2)))
	case "Einsum":
		if n != 3 || b.graph.Opset < 12 {
			return false
		}
		k, m := v.Dims[2], b.extent(20)
		w := b.weights(k, m, k)
		dims := []int{v.Dims[0], v.Dims[1], m}
		if elements(dims) > maxElements || elements(dims)*k > maxProducts {
			return false
		}
		b.add("Einsum", []string{x, w}, b.sum(v, w, k, dims), textAttribute("equation", "bij,kj->bik"))
	case "Mod":
		if !v.Exact {
			return false
		}
		c := b.number(2)
		d, _ := broadcast(v.Dims, b.dims(c))
		b.add("Mod", []string{x, c}, Value{Type: onnx.Float, Dims: d, Low: -2, High: 2, Exact: true}, intAttribute("fmod", 1))
	}
	return true
}

// resize adds Resize of the last two axes to whole multiples.
func resize(b *builder, x string) bool {
	v := b.value(x)
	if len(v.Dims) != 4 {
		return false
	}
	dims := slices.Clone(v.Dims)
	scales := []float64{1, 1, float64(b.between(1, 3)), float64(b.between(1, 3))}
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
		roi = b.constant(onnx.Float, []int{0}, nil)
	}
	in := []string{x, roi, b.constant(onnx.Float, []int{4}, scales)}
	v.Exact = v.Exact && mode == "nearest"
	b.add("Resize", in, v.like(dims...), append(a, textAttribute("mode", mode), textAttribute("coordinate_transformation_mode", coordinates))...)
	return true
}

// quantize adds QuantizeLinear of exact values and an operator of the result.
func quantize(b *builder, x string) bool {
	v := b.value(x)
	if !v.Exact || v.Type != onnx.Float || len(v.Dims) == 0 {
		return false
	}
	if b.chance(25) {
		return quantizeDynamically(b, x)
	}
	scale, zero := pick(b, 0.0625, 0.03125, 0.125), float64(b.between(100, 140))
	s := b.constant(onnx.Float, nil, []float64{scale})
	z := b.constant(onnx.Uint8, nil, []float64{zero})
	y := b.add("QuantizeLinear", []string{x, s, z}, Value{Type: onnx.Uint8, Dims: v.Dims, High: 255, Exact: true})
	out := Value{Type: onnx.Float, Dims: v.Dims, Low: max(v.Low-scale, (0-zero)*scale), High: min(v.High+scale, (255-zero)*scale), Exact: true}
	switch k := b.rng.IntN(100); {
	case k < 12: // the output stays uint8
	case k < 40 && len(v.Dims) == 4:
		return quantizedConvolve(b, y, s, z)
	case k < 50 && len(v.Dims) == 2:
		return quantizedMultiply(b, y, s, z)
	default:
		b.add("DequantizeLinear", []string{y, s, z}, out)
	}
	return true
}

// quantizedConvolve adds QLinearConv of y and DequantizeLinear.
func quantizedConvolve(b *builder, y, s, z string) bool {
	v := b.value(y)
	w, ok := b.window(v.Dims[2:], true, false)
	if !ok {
		return true
	}
	c, out := v.Dims[1], b.extent(17)
	dims := append([]int{v.Dims[0], out}, w.extent...)
	if elements(dims) > maxElements || elements(dims)*c*elements(w.kernel) > maxProducts {
		return true
	}
	weights := b.constant(onnx.Int8, append([]int{out, c}, w.kernel...), multiples(b.rng, out*c*elements(w.kernel), -100, 100, 1))
	in := []string{y, s, z, weights, b.constant(onnx.Float, nil, []float64{1.0 / 128}), b.constant(onnx.Int8, nil, []float64{0}), b.constant(onnx.Float, nil, []float64{0.25}), b.constant(onnx.Uint8, nil, []float64{128})}
	if b.chance(50) {
		in = append(in, b.constant(onnx.Int32, []int{out}, multiples(b.rng, out, -500, 500, 1)))
	}
	q := b.add("QLinearConv", in, Value{Type: onnx.Uint8, Dims: dims, High: 255, Exact: true}, w.attributes(b, true)...)
	if b.chance(85) {
		b.add("DequantizeLinear", []string{q, in[6], in[7]}, Value{Type: onnx.Float, Dims: dims, Low: -32, High: 32})
	}
	return true
}

// quantizedMultiply adds QLinearMatMul of y and weights, and DequantizeLinear.
func quantizedMultiply(b *builder, y, s, z string) bool {
	v := b.value(y)
	k, n := v.Dims[1], b.extent(40)
	dims := []int{v.Dims[0], n}
	if elements(dims) > maxElements || elements(dims)*k > maxProducts {
		return true
	}
	scalar := func(t onnx.DataType, f float64) string { return b.constant(t, nil, []float64{f}) }
	w := b.constant(onnx.Int8, []int{k, n}, multiples(b.rng, k*n, -100, 100, 1))
	in := []string{y, s, z, w, scalar(onnx.Float, 1.0/128), scalar(onnx.Int8, 0), scalar(onnx.Float, 0.25), scalar(onnx.Uint8, 128)}
	q := b.add("QLinearMatMul", in, Value{Type: onnx.Uint8, Dims: dims, High: 255, Exact: true})
	if b.chance(85) {
		b.add("DequantizeLinear", []string{q, in[6], in[7]}, Value{Type: onnx.Float, Dims: dims, Low: -32, High: 32})
	}
	return true
}

// quantizeDynamically adds DynamicQuantizeLinear, MatMulInteger, Cast and Mul.
func quantizeDynamically(b *builder, x string) bool {
	v := b.value(x)
	r := len(v.Dims)
	k, n := v.Dims[r-1], b.extent(30)
	dims := append(slices.Clone(v.Dims[:r-1]), n)
	if r < 2 || elements(dims) > maxElements || elements(dims)*k > maxProducts {
		return false
	}
	scalar := Value{Type: onnx.Float, Dims: []int{}, Low: 0, High: 0.1}
	q := b.addAll("DynamicQuantizeLinear", []string{x}, []Value{{Type: onnx.Uint8, Dims: v.Dims, High: 255}, scalar, {Type: onnx.Uint8, Dims: []int{}, High: 255}})
	w := b.constant(onnx.Int8, []int{k, n}, multiples(b.rng, k*n, -20, 20, 1))
	y := b.add("MatMulInteger", []string{q[0], w, q[2], b.constant(onnx.Int8, nil, []float64{0})}, Value{Type: onnx.Int32, Dims: dims, Low: -1e5, High: 1e5})
	f := b.add("Cast", []string{y}, Value{Type: onnx.Float, Dims: dims, Low: -1e5, High: 1e5}, intAttribute("to", int(onnx.Float)))
	factor := b.add("Mul", []string{q[1], b.constant(onnx.Float, pick(b, []int{}, []int{1}), []float64{1.0 / 64})}, Value{Type: onnx.Float, Dims: []int{}, Low: 0, High: 0.01})
	b.graph.Values[factor] = Value{Type: onnx.Float, Dims: b.factorDims(factor), Low: 0, High: 0.01}
	b.add("Mul", []string{f, factor}, Value{Type: onnx.Float, Dims: dims, Low: -50, High: 50})
	return true
}

// factorDims returns the dims of the product that the node of the given output makes.
func (b *builder) factorDims(name string) []int {
	n := b.graph.Nodes[b.graph.producers()[name]]
	dims, _ := broadcast(b.dims(n.Inputs[0]), b.dims(n.Inputs[1]))
	return dims
}

// reshapeComputed adds Reshape or Expand to a shape that Shape, Gather and Concat compute.
func reshapeComputed(b *builder, x string) bool {
	v := b.value(x)
	n := len(v.Dims)
	if n < 2 {
		return false
	}
	shape := b.add("Shape", []string{x}, Value{Type: onnx.Int64, Dims: []int{n}, High: 300, Exact: true})
	switch b.rng.IntN(3) {
	case 0: // [dims[0], -1]
		zero := b.constant(onnx.Int64, nil, []float64{0})
		first := b.add("Gather", []string{shape, zero}, Value{Type: onnx.Int64, Dims: []int{}, High: 300, Exact: true}, intAttribute("axis", 0))
		first = b.axes("Unsqueeze", first, Value{Type: onnx.Int64, Dims: []int{1}, High: 300, Exact: true}, 0)
		dims := b.add("Concat", []string{first, b.ints(-1)}, Value{Type: onnx.Int64, Dims: []int{2}, Low: -1, High: 300, Exact: true}, intAttribute("axis", 0))
		b.add("Reshape", []string{x, dims}, v.like(v.Dims[0], elements(v.Dims[1:])))
	case 1: // all dims but the last two, then -1
		part := b.add("Slice", []string{shape, b.ints(0), b.ints(n - 1), b.ints(0)}, Value{Type: onnx.Int64, Dims: []int{n - 1}, High: 300, Exact: true})
		dims := b.add("Concat", []string{part, b.ints(1, -1)}, Value{Type: onnx.Int64, Dims: []int{n + 1}, Low: -1, High: 300, Exact: true}, intAttribute("axis", 0))
		if n == 5 {
			return true
		}
		b.add("Reshape", []string{x, dims}, v.like(append(slices.Clone(v.Dims[:n-1]), 1, v.Dims[n-1])...))
	case 2: // a constant of the shape of x, added to x
		c := b.add("ConstantOfShape", []string{shape}, v.within(0, 0))
		b.add("Add", []string{x, c}, v)
	}
	return true
}
