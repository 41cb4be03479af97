package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// addComparison adds a comparison of x with a constant, and often an operator that reads the
// result. It returns false if the elements of x are not exact.
func addComparison(b *builder, x string) bool {
	v := b.findValue(x)
	if !v.Exact || v.Type != onnx.Float {
		return false
	}
	dims := randomOperandDims(b, v.Dims)
	out, ok := broadcastDims(v.Dims, dims)
	if !ok {
		return false
	}
	op := pickRandom(b, "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
	in := []string{x, b.addAddendConstant(dims...)}
	if b.randomBool(30) {
		slices.Reverse(in)
	}
	y := b.addNode(op, in, onnxgraph.Value{Type: onnx.Bool, Dims: out, High: 1, Exact: true})
	return !b.randomBool(70) || addBoolOperator(b, y)
}

// addBoolOperator adds an operator that reads the bool tensor x: Not, Cast or Where, or And, Or or
// Xor with another bool tensor.
func addBoolOperator(b *builder, x string) bool {
	v := b.findValue(x)
	switch b.rng.IntN(5) {
	case 0:
		b.addNode("Not", []string{x}, v)
	case 1:
		y := b.findOtherTensor("", func(u onnxgraph.Value) bool {
			_, ok := broadcastDims(v.Dims, u.Dims)
			return ok && u.Type == onnx.Bool
		})
		if y == "" {
			return false
		}
		dims, _ := broadcastDims(v.Dims, b.tensorDims(y))
		b.addNode(pickRandom(b, "And", "Or", "Xor"), []string{x, y}, v.WithDims(dims...))
	case 2:
		to := pickRandom(b, onnx.Float, onnx.Float, onnx.Int64, onnx.Int32, onnx.Uint8)
		b.addNode("Cast", []string{x}, onnxgraph.Value{Type: to, Dims: v.Dims, High: 1, Exact: true}, newIntAttribute("to", int(to)))
	default:
		return addWhere(b, x)
	}
	return true
}

// addWhere adds a Where with the bool tensor x as its condition. It selects between a float32
// tensor and another one or a constant.
func addWhere(b *builder, x string) bool {
	v := b.findValue(x)
	y := b.findOtherTensor("", func(u onnxgraph.Value) bool {
		_, ok := broadcastDims(v.Dims, u.Dims)
		return ok && u.Type == onnx.Float
	})
	if y == "" {
		return false
	}
	dims, _ := broadcastDims(v.Dims, b.tensorDims(y))
	z := b.findOtherTensor(y, func(u onnxgraph.Value) bool {
		_, ok := broadcastDims(dims, u.Dims)
		return ok && u.Type == onnx.Float
	})
	if z == "" || b.randomBool(50) {
		z = b.addAddendConstant(randomOperandDims(b, dims)...)
	}
	dims, ok := broadcastDims(dims, b.tensorDims(z))
	if !ok {
		return false
	}
	if b.randomBool(50) {
		y, z = z, y
	}
	p, q := b.findValue(y), b.findValue(z)
	b.addNode("Where", []string{x, y, z}, onnxgraph.Value{Type: onnx.Float, Dims: dims, Low: min(p.Low, q.Low), High: max(p.High, q.High), Exact: p.Exact && q.Exact})
	return true
}

// addRounding adds an operator whose result jumps, such as Round, Sign or a Cast of x to an integer
// or bool type. It returns false if the elements of x are not exact, because the result would have
// several correct values.
func addRounding(b *builder, x string) bool {
	v := b.findValue(x)
	if !v.Exact || v.Type != onnx.Float {
		return false
	}
	op := pickRandom(b, "Round", "Floor", "Ceil", "Sign", "Cast", "Cast", "IsNaN")
	switch op {
	case "Cast":
		to := pickRandom(b, onnx.Int64, onnx.Int32, onnx.Bool)
		out := v
		out.Type = to
		if to == onnx.Bool {
			out.Low, out.High = 0, 1
		}
		y := b.addNode(op, []string{x}, out, newIntAttribute("to", int(to)))
		if b.randomBool(40) {
			b.addNode(op, []string{y}, onnxgraph.Value{Type: onnx.Float, Dims: v.Dims, Low: out.Low, High: out.High, Exact: true}, newIntAttribute("to", int(onnx.Float)))
		}
	case "IsNaN":
		b.addNode(op, []string{x}, onnxgraph.Value{Type: onnx.Bool, Dims: v.Dims, High: 1, Exact: true})
	case "Sign":
		b.addNode(op, []string{x}, onnxgraph.Value{Type: onnx.Float, Dims: v.Dims, Low: -1, High: 1, Exact: true})
	default:
		b.addNode(op, []string{x}, onnxgraph.Value{Type: onnx.Float, Dims: v.Dims, Low: v.Low - 1, High: v.High + 1, Exact: true})
	}
	return true
}

// addIntOperator adds a Cast of the integer tensor x to float32, or a sum, difference or product of
// x and small constants.
func addIntOperator(b *builder, x string) bool {
	v := b.findValue(x)
	if v.Type != onnx.Int64 && v.Type != onnx.Int32 {
		return false
	}
	// fp16 holds integers up to 2048, so large ones are cast before they grow further.
	if b.randomBool(60) || max(-v.Low, v.High) > 500 {
		b.addNode("Cast", []string{x}, onnxgraph.Value{Type: onnx.Float, Dims: v.Dims, Low: v.Low, High: v.High, Exact: max(-v.Low, v.High) <= 16}, newIntAttribute("to", int(onnx.Float)))
		return true
	}
	switch n := len(v.Dims); {
	case n > 0 && b.graph.Opset >= 11 && b.randomBool(15):
		pads := make([]int, 2*n)
		pads[b.rng.IntN(2*n)] = b.randomInt(1, 3)
		out := slices.Clone(v.Dims)
		for i := range out {
			out[i] += pads[i] + pads[n+i]
		}
		v.Low, v.High = min(0, v.Low), max(0, v.High)
		b.addNode("Pad", []string{x, b.addIntVector(pads...)}, v.WithDims(out...), newTextAttribute("mode", pickRandom(b, "constant", "edge")))
		return onnx.Elements(out) <= maxElements
	case b.graph.Opset >= 10 && b.randomBool(20):
		c := b.addConstant(v.Type, nil, []float64{float64(b.randomInt(2, 5))})
		b.addNode("Mod", []string{x, c}, onnxgraph.Value{Type: v.Type, Dims: v.Dims, Low: -5, High: 5, Exact: true}, newIntAttribute("fmod", b.rng.IntN(2)))
		return true
	}
	dims := randomOperandDims(b, v.Dims)
	out, ok := broadcastDims(v.Dims, dims)
	if !ok {
		return false
	}
	c := b.addConstant(v.Type, dims, onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), 1, 5, 1))
	op := pickRandom(b, "Add", "Sub", "Mul")
	v.Low, v.High = float64(5*min(0, v.Low))-5, float64(5*max(0, v.High))+5
	b.addNode(op, []string{x, c}, v.WithDims(out...))
	return true
}

// addArgOrTopK adds an ArgMax, ArgMin or TopK of x along a random axis. It returns false if the
// elements of x are not exact, because rounding to fp16 could change their order.
func addArgOrTopK(b *builder, x string) bool {
	v := b.findValue(x)
	n := len(v.Dims)
	if !v.Exact || v.Type != onnx.Float || n == 0 {
		return false
	}
	axis := b.randomAxis(n)
	dims := slices.Clone(v.Dims)
	if b.randomBool(40) {
		k := b.randomInt(1, min(6, dims[axis]))
		dims[axis] = k
		out := []onnxgraph.Value{v.WithDims(dims...), {Type: onnx.Int64, Dims: dims, High: float64(v.Dims[axis]), Exact: true}}
		// Up to version 9, k is an attribute, and the order is always that of the largest.
		if b.graph.Opset < 10 {
			b.addNodeWithOutputs("TopK", []string{x}, out, newIntAttribute("axis", axis), newIntAttribute("k", k))
			return true
		}
		a := []onnxgraph.Attribute{newIntAttribute("axis", b.maybeNegativeAxis(axis, n))}
		if b.graph.Opset >= 11 {
			a = append(a, newIntAttribute("largest", b.rng.IntN(2)))
		}
		b.addNodeWithOutputs("TopK", []string{x, b.addIntVector(k)}, out, a...)
		return true
	}
	keep := b.rng.IntN(2)
	dims[axis] = 1
	if keep == 0 {
		dims = slices.Delete(dims, axis, axis+1)
	}
	a := []onnxgraph.Attribute{newIntAttribute("axis", b.maybeNegativeAxis(axis, n)), newIntAttribute("keepdims", keep)}
	if b.graph.Opset >= 12 && b.randomBool(25) {
		a = append(a, newIntAttribute("select_last_index", b.rng.IntN(2)))
	}
	y := b.addNode(pickRandom(b, "ArgMax", "ArgMin"), []string{x}, onnxgraph.Value{Type: onnx.Int64, Dims: dims, High: float64(v.Dims[axis]), Exact: true}, a...)
	if b.randomBool(40) {
		return addIntOperator(b, y)
	}
	return true
}
