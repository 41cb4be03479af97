package agreement

import (
	"strings"
	"testing"

	"anesim"
	ox "anesim/loader/network/onnx/onnxtest"
)

// recurrentNode returns a graph with the recurrent operator op, which reads 3 steps of 2 sequences
// of 4 inputs and has 5 hidden values, the given numbers of gates and directions, and the given
// initial states.
func recurrentNode(op string, gates, directions int, states []string, attributes ...ox.Message) []ox.Message {
	parts := []ox.Message{
		ox.Output("y"), ox.Output("last"), ox.Input("x", 3, 2, 4),
		weightConstant("w", directions, gates*5, 4), weightConstant("r", directions, gates*5, 5), weightConstant("b", directions, 2*gates*5),
	}
	inputs := []string{"x", "w", "r", "b", ""}
	for _, s := range states {
		parts = append(parts, ox.Input(s, directions, 2, 5))
		inputs = append(inputs, s)
	}
	attributes = append(attributes, ox.Int("hidden_size", 5))
	if directions == 2 {
		attributes = append(attributes, ox.Text("direction", "bidirectional"))
	}
	return append(parts, ox.Several(op, []string{"y", "last"}, inputs, attributes...))
}

// TestRecurrentStates checks that initial states reach the first step of each direction, and
// that naming the default activations changes nothing.
func TestRecurrentStates(t *testing.T) {
	lstm := []string{"Sigmoid", "Tanh", "Tanh"}
	for _, tc := range []struct {
		name  string
		parts []ox.Message
	}{
		{"LSTM with an initial state", recurrentNode("LSTM", 4, 1, []string{"h"})},
		{"LSTM with an initial state and cell", recurrentNode("LSTM", 4, 1, []string{"h", "c"})},
		{"LSTM with a cell in each direction", recurrentNode("LSTM", 4, 2, []string{"h", "c"})},
		{"LSTM with activations of one direction", recurrentNode("LSTM", 4, 1, nil, ox.Texts("activations", lstm...))},
		{"LSTM with activations of two directions", recurrentNode("LSTM", 4, 2, []string{"h"}, ox.Texts("activations", append(lstm, lstm...)...))},
		{"GRU with an initial state", recurrentNode("GRU", 3, 1, []string{"h"}, ox.Texts("activations", "Sigmoid", "Tanh"))},
		{"RNN with a state in each direction", recurrentNode("RNN", 1, 2, []string{"h"}, ox.Texts("activations", "Tanh", "Tanh"))},
	} {
		t.Run(tc.name, func(t *testing.T) { compareFile(t, ox.Model(tc.parts...)) })
	}
}

// TestRecurrentActivationsAreRefused checks that a recurrent layer with other activations is
// refused by name and not computed.
func TestRecurrentActivationsAreRefused(t *testing.T) {
	for _, names := range [][]string{{"Sigmoid", "Relu", "Tanh"}, {"HardSigmoid", "Tanh", "Tanh"}, {"Sigmoid", "Tanh"}} {
		file := ox.Model(recurrentNode("LSTM", 4, 1, nil, ox.Texts("activations", names...))...)
		m, err := anesim.Read("lstm.onnx", strings.NewReader(string(file)), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		layers := m.Network().Layers
		if len(layers) != 1 || !strings.Contains(layers[0].Reason, "activations") {
			t.Errorf("LSTM with %v: %d layers, the first refused with %q; want a refusal that names its activations", names, len(layers), layers[0].Reason)
		}
	}
}
