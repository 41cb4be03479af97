package randomgraph

import (
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// chooseRecurrentAttributes returns attributes for other activations, whose results are from -1 to 1, a
// limit of their arguments or coupled gates. If in has an entry for sequence lengths, it may set it.
func chooseRecurrentAttributes(b *builder, op string, directions, steps, batch int, in []string) (a []onnxgraph.Attribute) {
	if b.randomBool(50) {
		each := map[string]int{"LSTM": 3, "GRU": 2, "RNN": 1}[op]
		names := onnxgraph.Attribute{Name: "activations", Kind: onnxgraph.TextsKind}
		for range directions * each {
			names.Texts = append(names.Texts, pickRandom(b, "Sigmoid", "Tanh", "HardSigmoid", "Softsign"))
		}
		a = append(a, names)
	}
	switch b.rng.IntN(4) {
	case 0:
		a = append(a, newFloatAttribute("clip", pickRandom(b, float32(0.5), 1, 3)))
	case 1:
		if op == "LSTM" {
			a = append(a, newIntAttribute("input_forget", 1))
		}
	}
	if len(in) > 4 && in[4] == "" {
		lengths := onnxgraph.RandomMultiples(b.rng, batch, 0, steps, 1)
		lengths[b.rng.IntN(batch)] = float64(b.randomInt(1, steps))
		in[4] = b.addConstant(onnx.Int32, []int{batch}, lengths)
	}
	return a
}

// addRecurrentOperator adds an LSTM, GRU or RNN over the sequences in x. The offsets, the initial
// states and all outputs but one may be left out. It returns false if x does not have rank 3 or is
// too large.
func addRecurrentOperator(b *builder, x string) bool {
	v := b.findValue(x)
	if len(v.Dims) != 3 || v.Dims[0] > 20 || v.Dims[1] > 20 || v.Dims[2] > 64 || b.tensorMagnitude(x) > 16 {
		return false
	}
	op, gates := "LSTM", 4
	switch b.rng.IntN(3) {
	case 0:
		op, gates = "GRU", 3
	case 1:
		op, gates = "RNN", 1
	}
	directions, direction := 1, pickRandom(b, "forward", "forward", "reverse", "bidirectional")
	if direction == "bidirectional" {
		directions = 2
	}
	steps, batch, k, hidden := v.Dims[0], v.Dims[1], v.Dims[2], pickRandom(b, 1, 3, 5, 8)
	in := []string{x, b.addWeightConstant(k, directions, gates*hidden, k), b.addWeightConstant(hidden, directions, gates*hidden, hidden), "", "", "", ""}
	if b.randomBool(70) {
		in[3] = b.addAddendConstant(directions, 2*gates*hidden)
	}
	states := []int{directions, batch, hidden}
	for i := 5; i < 7; i++ {
		switch {
		case i == 6 && op != "LSTM":
		case b.randomBool(25):
			in[i] = b.addConstant(onnx.Float, states, make([]float64, onnx.Elements(states)))
		case b.randomBool(25):
			in[i] = b.addAddendConstant(states...)
		}
	}
	// Exporters leave out inputs at the end, and name those before them "".
	for in[len(in)-1] == "" {
		in = in[:len(in)-1]
	}
	a := []onnxgraph.Attribute{newIntAttribute("hidden_size", hidden), newTextAttribute("direction", direction)}
	if op == "GRU" {
		a = append(a, newIntAttribute("linear_before_reset", b.rng.IntN(2)))
	}
	if b.randomBool(25) {
		a = append(a, chooseRecurrentAttributes(b, op, directions, steps, batch, in)...)
	}
	bound := v.WithRange(-1, 1)
	out := []onnxgraph.Value{bound.WithDims(steps, directions, batch, hidden), bound.WithDims(states...)}
	switch b.rng.IntN(3) {
	case 0:
		out = out[:1]
	case 1:
		y := b.addNodeWithOutputs(op, in, out, a...)[0]
		b.graph.Nodes[len(b.graph.Nodes)-1].Outputs[0] = ""
		// A result that the node does not give must not be read by later nodes.
		b.names = slices.DeleteFunc(b.names, func(name string) bool { return name == y })
		return true
	}
	b.addNodeWithOutputs(op, in, out, a...)
	return true
}
