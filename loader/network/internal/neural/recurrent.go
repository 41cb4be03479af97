package neural

import (
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
)

// activationNames lists the activations of recurrent layers that have no parameters, as ONNX calls
// them.
var activationNames = map[protowire.Number]string{10: "Relu", 30: "Tanh", 40: "Sigmoid"}

// activation returns the name of the activation in m.
func (x *layer) activation(m *message) string {
	if m != nil && len(m.fields) == 1 {
		m.part(m.fields[0].Num)
		if name := activationNames[m.fields[0].Num]; name != "" {
			return name
		}
	}
	x.refusef("an activation other than sigmoid, tanh or ReLU is not supported in a recurrent layer")
	return ""
}

// sequenceOf returns the input as [sequence, batch, element], and the two lengths.
func (x *layer) sequenceOf(size int) (v *graph.Value, steps, batch int) {
	v = x.in[0]
	k := len(v.Dims)
	switch {
	case k < 4 || k > 5 || v.Dims[k-1] != 1 || v.Dims[k-2] != 1 || v.Dims[k-3] != size || k == 4 && !x.flat[v]:
		x.refusef("input has shape %v; want a sequence of vectors of %d elements", v.Dims, size)
		return v, 1, 1
	case k == 4:
		steps, batch = v.Dims[0], 1
	default:
		steps, batch = v.Dims[0], v.Dims[1]
	}
	return x.reshape(v, steps, batch, size), steps, batch
}

// resultOf returns a result of a recurrent operator as a tensor with the axes of the input.
func (x *layer) resultOf(y *graph.Value, steps, batch, size int) *graph.Value {
	if x.flat[x.in[0]] {
		y = x.reshape(y, steps, size, 1, 1)
		x.flat[y] = true
		return y
	}
	return x.reshape(y, steps, batch, size, 1, 1)
}

// stateOf returns the input with number i, a state, as [1, batch, size], or nil if the layer lacks it.
func (x *layer) stateOf(i, batch, size int) *graph.Value {
	if i >= len(x.in) {
		return nil
	}
	if graph.Elements(x.in[i].Dims) != batch*size {
		x.refusef("state has shape %v; want %d elements for %d samples", x.in[i].Dims, size, batch)
		return nil
	}
	return x.reshape(x.in[i], 1, batch, size)
}

// gates returns weights of several gates as one constant, in the order of the given fields.
func (x *layer) gates(m *message, fields []protowire.Number, dims ...int) *graph.Value {
	var parts []*graph.Value
	for _, num := range fields {
		w := x.weights(m, num, dims...)
		if w == nil {
			w = x.absent(dims...)
		}
		parts = append(parts, w)
	}
	all := x.emit("Concat", attrs{"axis": newInt(0)}, parts...)
	return x.emit("Unsqueeze", nil, all, x.list(0))
}

func (x *layer) checkSizes(in, out int) bool {
	if in < 1 || in > graph.MaxExtent || out < 1 || out > graph.MaxExtent {
		x.refusef("vectors of %d and %d elements are out of range", in, out)
		return false
	}
	return true
}

// addRecurrent adds h = f(W x + R h + b).
func addRecurrent(x *layer) []*graph.Value {
	in, out := x.integer(1, 0), x.integer(2, 0)
	if !x.checkSizes(in, out) {
		return nil
	}
	v, steps, batch := x.sequenceOf(in)
	sequence := x.bool(15)
	a := attrs{"hidden_size": newInt(out), "activations": {Texts: []string{x.activation(x.part(10))}}}
	if x.bool(100) {
		if sequence {
			x.refusef("the order of the results of a reversed sequence is not certain")
		}
		a["direction"] = newText("reverse")
	}
	w, r := x.gates(x.message, []protowire.Number{30}, out, in), x.gates(x.message, []protowire.Number{31}, out, out)
	var b *graph.Value
	if x.bool(20) { // one bias, where ONNX has two
		bias := x.weights(x.message, 32, out)
		if bias == nil {
			bias = x.absent(out)
		}
		b = x.emit("Unsqueeze", nil, x.emit("Concat", attrs{"axis": newInt(0)}, bias, x.uniform(0, out)), x.list(0))
	}
	y := x.emitAll("RNN", a, 2, v, w, r, b, nil, x.stateOf(1, batch, out))
	// Only the last state is asked for, which ONNX gives as the second result.
	if !sequence {
		y[0], steps = y[1], 1
	}
	results := []*graph.Value{x.resultOf(y[0], steps, batch, out)}
	if x.outputs == 2 {
		results = append(results, x.resultOf(y[1], 1, batch, out))
	}
	return results
}

// addGRU adds a recurrent layer without a cell, whose reset gate multiplies the state. ONNX lists the gates
// as update, reset and output.
func addGRU(x *layer) []*graph.Value {
	in, out := x.integer(1, 0), x.integer(2, 0)
	if !x.checkSizes(in, out) {
		return nil
	}
	v, steps, batch := x.sequenceOf(in)
	var names []string
	for _, m := range x.parts(10) {
		names = append(names, x.activation(m))
	}
	if len(names) != 2 {
		x.refusef("layer has %d activations; want 2", len(names))
	}
	sequence := x.bool(15)
	// Core ML multiplies the state by the reset gate before its product, as ONNX does by default.
	a := attrs{"hidden_size": newInt(out), "activations": {Texts: names}, "linear_before_reset": newInt(0)}
	if x.bool(100) {
		if sequence {
			x.refusef("the order of the results of a reversed sequence is not certain")
		}
		a["direction"] = newText("reverse")
	}
	w, r := x.gates(x.message, []protowire.Number{30, 31, 32}, out, in), x.gates(x.message, []protowire.Number{50, 51, 52}, out, out)
	var b *graph.Value
	if x.bool(20) { // one bias, where ONNX has two
		second := x.emit("Unsqueeze", nil, x.uniform(0, 3*out), x.list(0))
		b = x.emit("Concat", attrs{"axis": newInt(1)}, x.gates(x.message, []protowire.Number{70, 71, 72}, out), second)
	}
	y := x.emitAll("GRU", a, 2, v, w, r, b, nil, x.stateOf(1, batch, out))
	if !sequence {
		y[0], steps = y[1], 1
	}
	results := []*graph.Value{x.resultOf(y[0], steps, batch, out)}
	if x.outputs == 2 {
		results = append(results, x.resultOf(y[1], 1, batch, out))
	}
	return results
}

// addLSTM adds a recurrent layer with a cell. ONNX lists the gates as input, output, forget and cell.
func addLSTM(x *layer) []*graph.Value {
	in, out := x.integer(1, 0), x.integer(2, 0)
	if !x.checkSizes(in, out) {
		return nil
	}
	v, steps, batch := x.sequenceOf(in)
	var names []string
	for _, m := range x.parts(10) {
		names = append(names, x.activation(m))
	}
	if len(names) != 3 {
		x.refusef("layer has %d activations; want 3", len(names))
	}
	params, weights := x.part(15), x.part(20)
	if params == nil || weights == nil {
		x.refusef("layer has no parameters or no weights")
		return nil
	}
	a := attrs{"hidden_size": newInt(out), "activations": {Texts: names}}
	sequence := params.bool(10)
	if x.bool(100) {
		if sequence {
			x.refusef("the order of the results of a reversed sequence is not certain")
		}
		a["direction"] = newText("reverse")
	}
	if params.bool(50) {
		x.refusef("a coupled input and forget gate is not supported")
	}
	// A step adds at most 1 to a cell whose gates are at most 1, so a large bound has no effect.
	if clip := params.float(60, 0); clip != 0 && (clip < float32(steps) || len(x.in) > 1 && clip < 1<<10) {
		x.refusef("cells that are clipped at %g are not supported", clip)
	}
	w := x.gates(weights, []protowire.Number{1, 4, 2, 3}, out, in)
	r := x.gates(weights, []protowire.Number{20, 23, 21, 22}, out, out)
	hasBias, forget := params.bool(20), params.bool(30)
	var b *graph.Value
	if hasBias || forget {
		// The second half are ONNX's biases of the recurrence: 0, or 1 for the forget gate if the layer adds it.
		one := 0.0
		if forget {
			one = 1
		}
		second := x.emit("Concat", attrs{"axis": newInt(0)}, x.uniform(0, 2*out), x.uniform(one, out), x.uniform(0, out))
		second = x.emit("Unsqueeze", nil, second, x.list(0))
		first := x.emit("Unsqueeze", nil, x.uniform(0, 4*out), x.list(0))
		if hasBias {
			first = x.gates(weights, []protowire.Number{40, 43, 41, 42}, out)
		}
		b = x.emit("Concat", attrs{"axis": newInt(1)}, first, second)
	}
	var p *graph.Value
	if params.bool(40) {
		p = x.gates(weights, []protowire.Number{60, 62, 61}, out)
	}
	y := x.emitAll("LSTM", a, 3, v, w, r, b, nil, x.stateOf(1, batch, out), x.stateOf(2, batch, out), p)
	if !sequence {
		y[0], steps = y[1], 1
	}
	results := []*graph.Value{x.resultOf(y[0], steps, batch, out)}
	if x.outputs == 3 {
		results = append(results, x.resultOf(y[1], 1, batch, out), x.resultOf(y[2], 1, batch, out))
	}
	return results
}
