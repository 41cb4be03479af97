package translate

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/internal/network/onnx"
)

// recurrentActivations maps the activations of recurrent operations without parameters to ONNX's names.
var recurrentActivations = map[string]string{"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}

// activationArgument returns ONNX's name of the activation in the argument with the given key.
func (x *operation) activationArgument(key, fallback string) string {
	name, ok := recurrentActivations[x.textArgument(key, fallback)]
	if !ok {
		x.fail(fmt.Errorf("%s is %q; want sigmoid, tanh or relu", key, x.textArgument(key, fallback)))
	}
	return name
}

// blocksInOrder returns a matrix or a vector with its blocks along the first axis in another order. A block has
// size rows, and order lists its number in the named value.
func (x *operation) blocksInOrder(name string, size int64, order ...int64) string {
	var parts []string
	for _, k := range order {
		parts = append(parts, x.emitIntermediateNode("Slice", []string{name, x.newIntsConstant(k * size), x.newIntsConstant((k + 1) * size), x.newIntsConstant(0)}))
	}
	return x.emitIntermediateNode("Concat", parts, newIntAttr("axis", 0))
}

// A cell describes a recurrent operation with the terms of its ONNX operator.
type cell struct {
	op     string
	states []string // keys of the initial states
	order  []int64  // places of the gates in MIL, in ONNX's order
}

// emitRecurrent emits a recurrent operator. MIL keeps sequence, batch and elements of both directions in three
// axes, and has one bias where ONNX has two.
func (x *operation) emitRecurrent(c *cell, activations ...string) {
	in := x.inputName("x")
	d, w := x.dims[in], x.dims[x.inputName("weight_ih")]
	gates := int64(len(c.order))
	if len(d) != 3 || len(w) != 2 || w[0] < gates || w[0]%gates != 0 || slices.Min(d) < 1 || w[0] > int64(maxUnpackedElements(x)) {
		x.fail(fmt.Errorf("shapes %v and %v of the input and the weights do not fit", d, w))
		return
	}
	steps, batch, hidden := d[0], d[1], w[0]/gates
	direction, sequence := x.textArgument("direction", "forward"), x.boolArgument("output_sequence")
	var ends []string // of the keys, for each direction
	switch {
	case direction == "forward":
		ends = []string{""}
	case direction == "bidirectional" && c.op == "LSTM":
		ends = []string{"", "_back"}
	case direction == "reverse" && !sequence:
		ends = []string{""}
	default:
		x.fail(fmt.Errorf("direction %q of %s is not supported with this output", direction, x.Type))
		return
	}
	var ih, hh, bias, acts []string
	for _, end := range ends {
		ih = append(ih, x.blocksInOrder(x.inputName("weight_ih"+end), hidden, c.order...))
		hh = append(hh, x.blocksInOrder(x.inputName("weight_hh"+end), hidden, c.order...))
		if x.hasArgument("bias" + end) {
			bias = append(bias, x.blocksInOrder(x.inputName("bias"+end), hidden, c.order...))
		}
		acts = append(acts, activations...)
	}
	if len(bias) != 0 && len(bias) != len(ends) {
		x.fail(fmt.Errorf("there is a bias for %d of %d directions", len(bias), len(ends)))
		return
	}
	stack := func(parts []string) string {
		for i, p := range parts {
			parts[i] = x.emitIntermediateNode("Unsqueeze", []string{p, x.newIntsConstant(0)})
		}
		return x.emitIntermediateNode("Concat", parts, newIntAttr("axis", 0))
	}
	inputs := []string{in, stack(ih), stack(hh), "", ""}
	attributes := []attribute{newIntAttr("hidden_size", hidden), newTextAttr("direction", direction), {"activations", onnx.Attribute{Strings: acts}}}
	zeros := func() string {
		return x.newConstant(onnx.Float16, []int64{int64(len(ends)), w[0]}, make([]float64, int64(len(ends))*w[0])...)
	}
	switch after := c.op == "GRU" && x.boolArgument("reset_after"); {
	case c.op == "GRU" && (after || x.hasArgument("input_bias")):
		parts := []string{zeros(), zeros()} // of the input, and of the state
		if x.hasArgument("input_bias") {
			parts[0] = stack([]string{x.blocksInOrder(x.inputName("input_bias"), hidden, c.order...)})
		}
		if len(bias) > 0 {
			parts[1] = stack(bias)
		}
		inputs[3] = x.emitIntermediateNode("Concat", parts, newIntAttr("axis", 1))
		attributes = append(attributes, newIntAttr("linear_before_reset", int64(graph.Truth(after))))
	case len(bias) > 0:
		inputs[3] = x.emitIntermediateNode("Concat", []string{stack(bias), zeros()}, newIntAttr("axis", 1))
	}
	dirs := int64(len(ends))
	for _, key := range c.states { // [batch, directions*hidden] in MIL
		s := x.emitIntermediateNode("Reshape", []string{x.inputName(key), x.newIntsConstant(batch, dirs, hidden)})
		inputs = append(inputs, x.emitIntermediateNode("Transpose", []string{s}, newIntsAttr("perm", 1, 0, 2)))
	}
	var out []string
	for range len(c.states) + 1 {
		x.steps++
		out = append(out, fmt.Sprintf("%s/step %d", x.Outputs[0].Name, x.steps))
	}
	if len(x.Outputs) != len(out) {
		x.fail(fmt.Errorf("operation has %d results; want %d", len(x.Outputs), len(out)))
		return
	}
	x.appendNode(c.op, inputs, out, attributes)
	for i, y := range out {
		shape := []int64{batch, dirs * hidden}
		perm := []int64{1, 0, 2}
		if i == 0 && sequence {
			shape, perm = []int64{steps, batch, dirs * hidden}, []int64{0, 2, 1, 3}
		} else if i == 0 { // the last state, as a sequence of one step
			y, shape = out[1], []int64{1, batch, dirs * hidden}
		}
		y = x.emitIntermediateNode("Transpose", []string{y}, newIntsAttr("perm", perm...))
		x.appendNode("Reshape", []string{y, x.newIntsConstant(shape...)}, []string{x.Outputs[i].Name}, nil)
	}
}

// emitLSTM emits an LSTM. MIL has the gates input, forget, output and cell, and ONNX input, output, forget and
// cell.
func emitLSTM(x *operation) {
	act := []string{x.activationArgument("recurrent_activation", "sigmoid"), x.activationArgument("cell_activation", "tanh"), x.activationArgument("activation", "tanh")}
	x.emitRecurrent(&cell{"LSTM", []string{"initial_h", "initial_c"}, []int64{0, 2, 1, 3}}, act...)
}

// emitGRU emits a GRU. MIL has the gates reset, output and update, and ONNX update, reset and output. With
// reset_after, the reset gate multiplies the product with the state and its bias, not the state; the
// argument input_bias has the biases that it does not multiply.
//
// The order of the gates is that of the documentation of coremltools, weight_ih = [W_ir | W_io | W_iz], which
// was quoted from memory: neither its source nor a file with a gru and known values was at hand. Only the
// order in the older form of models is certain, whose fields name each gate. A note says so.
func emitGRU(x *operation) {
	const note = "gru: the order of its gates (reset, output, update) is that of coremltools' documentation; no model with known values confirms it"
	if !slices.Contains(x.notes, note) {
		x.notes = append(x.notes, note)
	}
	x.emitRecurrent(&cell{"GRU", []string{"initial_h"}, []int64{2, 0, 1}}, x.activationArgument("recurrent_activation", "sigmoid"), x.activationArgument("activation", "tanh"))
}

func emitRNN(x *operation) {
	x.emitRecurrent(&cell{"RNN", []string{"initial_h"}, []int64{0}}, x.activationArgument("activation", "tanh"))
}
