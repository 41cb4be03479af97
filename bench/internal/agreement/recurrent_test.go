package agreement

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"anesim"
	ox "anesim/internal/network/onnxtest"
)

// recurrentNode returns a graph with the recurrent operator op, which reads 3 steps of 2 sequences
// of 4 inputs and has 5 hidden values, the given numbers of gates and directions, and the given
// initial states.
func recurrentNode(op string, gates, directions int, states []string, attributes ...ox.Message) []ox.Message {
	return recurrentNodeOfLengths(op, gates, directions, "", states, attributes...)
}

// recurrentNodeOfLengths returns a [recurrentNode] with the sequence lengths in the named tensor.
func recurrentNodeOfLengths(op string, gates, directions int, lengths string, states []string, attributes ...ox.Message) []ox.Message {
	parts := []ox.Message{
		ox.Output("y"), ox.Output("last"), ox.Input("x", 3, 2, 4),
		weightConstant("w", directions, gates*5, 4), weightConstant("r", directions, gates*5, 5), weightConstant("b", directions, 2*gates*5),
	}
	inputs := []string{"x", "w", "r", "b", lengths}
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

// TestRecurrentForms compares recurrent layers with other activations, with limits of their
// arguments, with coupled gates and with sequences of different lengths.
func TestRecurrentForms(t *testing.T) {
	withLengths := func(op string, gates, directions int, lengths []int, states []string, attributes ...ox.Message) []ox.Message {
		return append(recurrentNodeOfLengths(op, gates, directions, "n", states, attributes...), ox.Whole("n", 6, 4, []int{2}, lengths...))
	}
	floats := func(name string, v ...float32) ox.Message {
		a := ox.Message{}.Text(1, name).Int(20, 6)
		var raw []byte
		for _, x := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		}
		return a.Bytes(7, raw)
	}
	for _, tc := range []struct {
		name  string
		parts []ox.Message
	}{
		{"RNN with Relu", recurrentNode("RNN", 1, 1, []string{"h"}, ox.Texts("activations", "Relu"))},
		{"RNN with other functions in each direction", recurrentNode("RNN", 1, 2, nil, ox.Texts("activations", "Softsign", "LeakyRelu"), floats("activation_alpha", 0.25))},
		{"RNN with Softplus", recurrentNode("RNN", 1, 1, nil, ox.Texts("activations", "Softplus"))},
		{"RNN with Elu and ThresholdedRelu", recurrentNode("RNN", 1, 2, nil, ox.Texts("activations", "Elu", "ThresholdedRelu"), floats("activation_alpha", 0.5, 0.125))},
		{"LSTM with HardSigmoid", recurrentNode("LSTM", 4, 1, []string{"h", "c"}, ox.Texts("activations", "HardSigmoid", "Tanh", "Relu"), floats("activation_alpha", 0.3), floats("activation_beta", 0.4))},
		{"GRU with ScaledTanh and Affine", recurrentNode("GRU", 3, 2, nil, ox.Texts("activations", "Sigmoid", "ScaledTanh", "Affine", "Tanh"), floats("activation_alpha", 1.5, 0.25), floats("activation_beta", 0.5, 0.5))},
		{"LSTM with a limit", recurrentNode("LSTM", 4, 2, []string{"h"}, ox.Float("clip", 0.5))},
		{"GRU with a limit", recurrentNode("GRU", 3, 1, []string{"h"}, ox.Float("clip", 0.25))},
		{"LSTM with coupled gates", recurrentNode("LSTM", 4, 1, []string{"h", "c"}, ox.Int("input_forget", 1))},
		{"LSTM of shorter sequences", withLengths("LSTM", 4, 2, []int{3, 1}, []string{"h", "c"})},
		{"LSTM of sequences that all end early", withLengths("LSTM", 4, 2, []int{2, 2}, nil)},
		{"GRU of a sequence without steps", withLengths("GRU", 3, 2, []int{0, 2}, nil, ox.Int("linear_before_reset", 1))},
		{"LSTM of a sequence without steps", withLengths("LSTM", 4, 1, []int{2, 0}, []string{"h", "c"})},
		{"RNN of shorter sequences", withLengths("RNN", 1, 1, []int{1, 3}, []string{"h"}, ox.Text("direction", "reverse"))},
	} {
		t.Run(tc.name, func(t *testing.T) { compareFile(t, ox.Model(tc.parts...)) })
	}
}

// TestRecurrentActivationsAreRefused checks that a recurrent layer with too few or unknown
// activations is refused by name and not computed.
func TestRecurrentActivationsAreRefused(t *testing.T) {
	for _, names := range [][]string{{"Sigmoid", "Gelu", "Tanh"}, {"Sigmoid", "Tanh"}} {
		file := ox.Model(recurrentNode("LSTM", 4, 1, nil, ox.Texts("activations", names...))...)
		m, err := anesim.Read("lstm.onnx", strings.NewReader(string(file)), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		layers := m.Network().Layers
		if len(layers) != 1 || !strings.Contains(layers[0].Reason, "activation") {
			t.Errorf("LSTM with %v: %d layers, the first refused with %q; want a refusal that names its activations", names, len(layers), layers[0].Reason)
		}
	}
}
