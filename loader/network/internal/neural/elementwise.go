package neural

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
)

// newUnaryRule returns the rule of a layer without parameters that computes each element from one.
func newUnaryRule(op string) func(x *layer) []*graph.Value {
	return func(x *layer) []*graph.Value { return x.one(x.emit(op, nil, x.in[0])) }
}

// alignBatch makes the inputs have the same kind of axes: all five, if some of them lack the batch and
// others do not.
func (x *layer) alignBatch() {
	for _, v := range x.in {
		if x.flat[v] != x.flat[x.in[0]] {
			for i := range x.in {
				x.in[i] = x.spreadBatch(x.in[i])
			}
			return
		}
	}
}

// newManyRule returns the rule of a layer without parameters that combines its inputs, which broadcast.
func newManyRule(op string) func(x *layer) []*graph.Value {
	return func(x *layer) []*graph.Value {
		x.alignBatch()
		if len(x.in) <= 2 || op == "Mean" {
			return x.one(x.emit(op, nil, x.in...))
		}
		y := x.in[0]
		for _, v := range x.in[1:] { // one operator for two inputs each
			y = x.emit(op, nil, y, v)
		}
		return x.one(y)
	}
}

// newSumRule returns the rule of the layers add and multiply, which combine a single input with a number.
func newSumRule(op string) func(x *layer) []*graph.Value {
	many := newManyRule(op)
	return func(x *layer) []*graph.Value {
		alpha := float64(x.float(1, 0))
		if len(x.in) > 1 {
			return many(x)
		}
		return x.one(x.emit(op, nil, x.in[0], x.number(alpha)))
	}
}

// newComparisonRule returns the rule of a comparison of two inputs, or of one input with the number in
// the given field. The result is 0 or 1.
func newComparisonRule(op string, alpha protowire.Number) func(x *layer) []*graph.Value {
	return func(x *layer) []*graph.Value {
		number := float64(x.float(alpha, 0))
		x.alignBatch()
		in := slices.Clone(x.in)
		if len(in) == 1 {
			in = append(in, x.number(number))
		}
		return x.one(x.asFloat(x.emit(op, nil, in...)))
	}
}

// asFloat returns v as a tensor of floats. All tensors of the format are.
func (x *layer) asFloat(v *graph.Value) *graph.Value {
	return x.emit("Cast", attrs{"to": newInt(int(graph.Float))}, v)
}

func addNotEqual(x *layer) []*graph.Value {
	number := float64(x.float(1, 0))
	x.alignBatch()
	in := slices.Clone(x.in)
	if len(in) == 1 {
		in = append(in, x.number(number))
	}
	return x.one(x.asFloat(x.emit("Not", nil, x.emit("Equal", nil, in...))))
}

// newLogicalRule returns the rule of a logical operator, for which every number but 0 is true.
func newLogicalRule(op string) func(x *layer) []*graph.Value {
	return func(x *layer) []*graph.Value {
		x.alignBatch()
		var in []*graph.Value
		for _, v := range x.in {
			in = append(in, x.emit("Cast", attrs{"to": newInt(int(graph.Bool))}, v))
		}
		return x.one(x.asFloat(x.emit(op, nil, in...)))
	}
}

func addFloorDivision(x *layer) []*graph.Value {
	x.alignBatch()
	return x.one(x.emit("Floor", nil, x.emit("Div", nil, x.in...)))
}

func addWhere(x *layer) []*graph.Value {
	cond := x.emit("Cast", attrs{"to": newInt(int(graph.Bool))}, x.in[0])
	return []*graph.Value{x.emit("Where", nil, cond, x.in[1], x.in[2])}
}

func addClip(x *layer) []*graph.Value {
	low, high := x.float(1, 0), x.float(2, 0)
	if !(low <= high) {
		x.refusef("bounds %g and %g are not in order", low, high)
	}
	return x.one(x.emit("Clip", nil, x.in[0], x.number(float64(low)), x.number(float64(high))))
}

func addExp2(x *layer) []*graph.Value {
	const log2 = 0.6931471805599453
	return x.one(x.emit("Exp", nil, x.emit("Mul", nil, x.in[0], x.number(log2))))
}

func addGELU(x *layer) []*graph.Value {
	switch mode := x.integer(1, 0); mode {
	case 0:
		return x.one(x.emit("Gelu", nil, x.in[0]))
	case 1:
		return x.one(x.emit("Gelu", attrs{"approximate": newText("tanh")}, x.in[0]))
	case 2:
		return x.one(x.emit("QuickGelu", attrs{"alpha": newFloat(1.702)}, x.in[0]))
	default:
		x.refusef("mode %d is unknown", mode)
		return nil
	}
}

// addClampedReLU adds min(beta, x or alpha*x).
func addClampedReLU(x *layer) []*graph.Value {
	y := x.emit("LeakyRelu", attrs{"alpha": newFloat(x.float(1, 0))}, x.in[0])
	return x.one(x.emit("Min", nil, y, x.number(float64(x.float(2, 0)))))
}

// addUnary adds f(scale*x + shift).
func addUnary(x *layer) []*graph.Value {
	kind, alpha, epsilon := x.integer(1, 0), x.float(2, 0), x.float(3, 1e-6)
	shift, scale := x.float(4, 0), x.float(5, 1)
	y := x.in[0]
	if scale != 1 {
		y = x.emit("Mul", nil, y, x.number(float64(scale)))
	}
	if shift != 0 {
		y = x.emit("Add", nil, y, x.number(float64(shift)))
	}
	switch kind {
	case 0:
		y = x.emit("Sqrt", nil, y)
	// This operator has an epsilon of its own. The reciprocal has none, and adds it to its operand.
	case 1:
		y = x.emit("Rsqrt", attrs{"epsilon": newFloat(epsilon)}, y)
	case 2:
		y = x.emit("Reciprocal", nil, x.emit("Add", nil, y, x.number(float64(epsilon))))
	case 3:
		y = x.emit("Pow", nil, y, x.number(float64(alpha)))
	case 4:
		y = x.emit("Exp", nil, y)
	case 5:
		y = x.emit("Log", nil, y)
	case 6:
		y = x.emit("Abs", nil, y)
	case 7:
		y = x.emit("Max", nil, y, x.number(float64(alpha)))
	default:
		x.refusef("type %d is unknown", kind)
	}
	return x.one(y)
}

// addActivation adds the only activation that the parameters have.
func addActivation(x *layer) []*graph.Value {
	v := x.in[0]
	var y *graph.Value
	count := 0
	for _, f := range x.fields {
		m := x.part(f.Num)
		if count++; m == nil || x.err != nil {
			return nil
		}
		alpha := func() attrs { return attrs{"alpha": newFloat(m.float(1, 0))} }
		number := func(num protowire.Number) *graph.Value { return x.number(float64(m.float(num, 0))) }
		switch f.Num {
		case 5:
			y = x.emit("Add", nil, x.emit("Mul", nil, v, number(1)), number(2))
		case 10:
			y = x.emit("Relu", nil, v)
		case 15:
			y = x.emit("LeakyRelu", alpha(), v)
		case 20: // an element equal to alpha stays, unlike in ONNX
			y = x.emit("Where", nil, x.emit("GreaterOrEqual", nil, v, number(1)), v, x.number(0))
		case 25:
			y = x.emit("PRelu", nil, v, x.perChannel(m, 1))
		case 30:
			y = x.emit("Tanh", nil, v)
		case 31:
			y = x.emit("Mul", nil, x.emit("Tanh", nil, x.emit("Mul", nil, v, number(2))), number(1))
		case 40:
			y = x.emit("Sigmoid", nil, v)
		case 41:
			y = x.emit("HardSigmoid", attrs{"alpha": newFloat(m.float(1, 0)), "beta": newFloat(m.float(2, 0))}, v)
		case 50:
			y = x.emit("Elu", alpha(), v)
		case 60:
			y = x.emit("Softsign", nil, v)
		case 70:
			y = x.emit("Softplus", nil, v)
		case 71:
			y = x.emit("Mul", nil, x.emit("Softplus", nil, x.emit("Mul", nil, v, x.perChannel(m, 2))), x.perChannel(m, 1))
		default:
			x.refusef("activation %d is unknown", f.Num)
		}
	}
	// The parameters are a oneof. Two of them, or none, are a damaged file.
	if count != 1 {
		x.refusef("layer has %d activations; want 1", count)
		return nil
	}
	return x.one(y)
}

// perChannel returns weights with one value for all channels of the first input, or one for each, in a
// shape that broadcasts.
func (x *layer) perChannel(m *message, num protowire.Number) *graph.Value {
	rank := len(x.in[0].Dims)
	if rank < 3 {
		x.refusef("input has %d axes; want at least 3", rank)
		return nil
	}
	c := x.in[0].Dims[rank-3]
	if n := countWeights(m, num); n == 1 {
		c = 1
	}
	return x.weights(m, num, c, 1, 1)
}
