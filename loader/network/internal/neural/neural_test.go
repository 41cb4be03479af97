package neural

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/coreml"
	"anesim/internal/network/graph"
	nt "anesim/internal/network/neuraltest"
	"anesim/internal/network/wire"
)

func readModel(t *testing.T, data []byte) (*graph.Model, error) {
	t.Helper()
	m, err := coreml.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	return Read(m)
}

// oneLayer returns a model with a single layer that reads x, of shape [4 6 5], and writes y.
func oneLayer(kind protowire.Number, params nt.Message) []byte {
	return nt.Model(nt.Join(nt.Input("x", 4, 6, 5), nt.Output("y", 4, 6, 5)), false, nt.Layer("l", kind, params, []string{"x"}, []string{"y"}))
}

// A layer that is not understood as a whole is refused with its type and the reason, and never
// computed in part.
func TestRefusedLayers(t *testing.T) {
	relu := nt.Message{}.Bytes(10, nil)
	for _, tc := range []struct {
		name   string
		kind   protowire.Number
		params nt.Message
		op     string
		why    string
	}{
		{"a type without a rule", 500, nt.Message{}.Text(10, "MyLayer"), "coreml.custom", "not supported"},
		{"a type that the format does not have", 999, nil, "coreml.type 999", "not supported"},
		{"a parameter that the format does not have", 175, nt.Message{}.Int(7, 1), "coreml.softmax", "parameter 7"},
		{"a parameter within a parameter", 130, nt.Message{}.Bytes(15, nt.Message{}.Float(1, 1).Float(9, 1)), "coreml.activation", "parameter 9"},
		{"an inner product of quantized activations", 140, nt.Join(nt.Message{}.Int(1, 120).Int(2, 1).Int(22, 1), nt.Weights(20, make([]float64, 120)...)), "coreml.innerProduct", "int8DynamicQuantize"},
		{"two activations", 130, append(relu, relu...), "coreml.activation", "2 activations"},
		{"no activation", 130, nil, "coreml.activation", "0 activations"},
		{"a slice from the end", 350, nt.Message{}.Int(2, -1).Int(3, 1), "coreml.slice", "0 to -1"},
		{"an inner product of another size", 140, nt.Message{}.Int(1, 4).Int(2, 3), "coreml.innerProduct", "120 elements in a sample; the weights have 4"},
		{"two inputs of a layer with one", 175, nil, "", ""},
		{"a batchnorm of other channels", 160, nt.Message{}.Int(1, 5), "coreml.batchnorm", "want 5 channels"},
		{"both kinds of padding", 100, nt.Message{}.Int(1, 1).Int(2, 4).Bytes(50, nil).Bytes(51, nil), "coreml.convolution", "want one kind of padding"},
		{"an average of windows beyond the padding", 120, nt.Join(nt.Message{}.Int(1, 1), nt.Packed(10, 4, 4), nt.Packed(20, 3, 3), nt.Message{}.Bytes(32, nil)), "coreml.pooling", "beyond the padding"},
		{"a huge kernel", 100, nt.Join(nt.Message{}.Int(1, 1).Int(2, 4), nt.Packed(20, 1<<62, 3), nt.Message{}.Bytes(50, nil)), "coreml.convolution", "want numbers from 1"},
		{"a split into no parts", 330, nil, "coreml.split", "0 equal parts"},
		{"a huge tile", 920, nt.Packed(1, 1, 1, 1<<62, 1<<62, 1<<62), "coreml.tile", ""},
	} {
		data := oneLayer(tc.kind, tc.params)
		if tc.op == "" {
			tc.op, tc.why = "coreml.softmax", "2 inputs"
			data = nt.Model(nt.Input("x", 4, 6, 5), false, nt.Layer("l", tc.kind, nil, []string{"x", "x"}, []string{"y"}))
		}
		m, err := readModel(t, data)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if n := m.Nodes[len(m.Nodes)-1]; len(m.Nodes) != 1 || n.Op != tc.op || n.Name != "l" || !strings.Contains(n.Text("why", ""), tc.why) {
			t.Errorf("%s: %d nodes, the last %s of layer %s: %q; want %s with %q", tc.name, len(m.Nodes), n.Op, n.Name, n.Text("why", ""), tc.op, tc.why)
		}
	}
}

// Each layer of which a rule knows the parameters refuses every other parameter.
func TestEveryRuleRefusesUnknownParameters(t *testing.T) {
	for num, k := range kinds {
		if k.rule == nil {
			continue
		}
		const unknown = 9999
		in := make([]string, k.least)
		for i := range in {
			in[i] = "x"
		}
		m, err := readModel(t, nt.Model(nt.Input("x", 4, 6, 5), false, nt.Layer("l", num, nt.Message{}.Bytes(unknown, nt.Message{}.Int(1, 1)), in, []string{"y"})))
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
		} else if n := m.Nodes[len(m.Nodes)-1]; n.Op != "coreml."+k.name {
			t.Errorf("%s is computed with an unknown parameter, as %s", k.name, n.Op)
		}
	}
}

// Malformed networks are errors with a position in the file, even where a huge number would overflow.
func TestMalformedNetworks(t *testing.T) {
	x, y := []string{"x"}, []string{"y"}
	description := nt.Join(nt.Input("x", 4, 6, 5), nt.Output("y", 4, 6, 5))
	quantized := func(q nt.Message) nt.Message {
		return nt.Message{}.Int(1, 4).Bytes(15, nt.Message{}.Bytes(30, []byte{1, 2, 3, 4}).Bytes(40, q))
	}
	layer := func(kind protowire.Number, params nt.Message) []byte {
		return nt.Model(description, false, nt.Layer("l", kind, params, x, y))
	}
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"a layer without a type", nt.Model(description, false, nt.Message{}.Bytes(1, nt.Message{}.Text(1, "l").Text(2, "x").Text(3, "y"))), "0 types"},
		{"a layer of two types", nt.Model(description, false, nt.Message{}.Bytes(1, nt.Message{}.Text(3, "y").Bytes(175, nil).Bytes(175, nil))), "2 types"},
		{"a layer without a result", nt.Model(description, false, nt.Layer("l", 175, nil, x, nil)), "no output"},
		{"a result that exists", nt.Model(description, false, nt.Layer("l", 175, nil, x, x)), "earlier layer has written"},
		{"a tensor that nothing writes", nt.Model(description, false, nt.Layer("l", 175, nil, y, []string{"z"})), "no earlier layer"},
		{"too few weights", layer(160, nt.Join(nt.Message{}.Int(1, 4), nt.Weights(15, 1, 2, 3))), "want 16 for shape [4]"},
		{"weights in two forms", layer(160, nt.Message{}.Int(1, 4).Bytes(15, nt.Message{}.Bytes(1, make([]byte, 16)).Bytes(2, make([]byte, 8)))), "two forms"},
		{"a table of another size", layer(160, quantized(nt.Message{}.Int(1, 8).Bytes(102, nt.Message{}.Bytes(1, make([]byte, 12))))), "table has 3 values"},
		{"9 bits", layer(160, quantized(nt.Message{}.Int(1, 9).Bytes(101, nil))), "9 bits"},
		{"scales for another axis", layer(160, quantized(nt.Message{}.Int(1, 8).Bytes(101, nt.Message{}.Bytes(1, make([]byte, 12))))), "3 scales"},
		{"a number where a message should be", layer(130, nt.Message{}.Int(10, 1)), "wire type"},
		{"a truncated parameter", layer(100, nt.Message{0xa2, 1, 9}), "cannot decode"},
		{"preprocessing without an image", nt.Model(description, false, nt.Message{}.Bytes(2, nt.Message{}.Bytes(10, nil))), "not an image"},
	} {
		m, err := coreml.Read(tc.data)
		if err == nil {
			_, err = Read(m)
		}
		var malformed *wire.FormatError
		if !errors.As(err, &malformed) || malformed.Off == 0 || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want an error with a position and %q", tc.name, err, tc.want)
		}
	}
}

// Sizes that a file states do not cost memory that the file does not have.
func TestSizesCostNothing(t *testing.T) {
	huge := 1 << 24
	layers := nt.Join()
	in := "x"
	for i := range 50 { // each needs the mean and the scale of 2^24 channels, which the file lacks
		out := "y" + strings.Repeat("'", i)
		layers = append(layers, nt.Layer(out, 160, nt.Message{}.Int(1, huge).Int(5, 1).Int(6, 1), []string{in}, []string{out})...)
		in = out
	}
	data := nt.Model(nt.Input("x", huge, 1, 1), false, layers)
	if most := testing.AllocsPerRun(1, func() { _, _ = readModel(t, data) }); most > 1e5 {
		t.Errorf("%g allocations", most)
	}
	m, err := readModel(t, data)
	if err != nil {
		t.Fatal(err)
	}
	elements := 0
	for _, c := range m.Consts {
		elements += c.Elements()
	}
	if elements > maxFilled {
		t.Errorf("constants have %d elements", elements)
	}
}

// Whatever the parameters, a layer becomes nodes whose shapes are known, or is refused, or is an error
// with a position.
func TestRandomParameters(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	numbers := []int{0, 1, 2, 3, 4, 5, 6, 7, 120, 1 << 20, 1 << 31, 1<<62 + 1, -1, -2, -3, -6}
	fields := []protowire.Number{1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 15, 16, 17, 18, 20, 21, 22, 30, 31, 32, 40, 50, 51, 60, 70, 90, 91, 100}
	var random func(depth int) nt.Message
	random = func(depth int) nt.Message {
		m := nt.Message{}
		for range r.IntN(5) {
			num := fields[r.IntN(len(fields))]
			switch r.IntN(5 - depth) {
			case 0:
				m = m.Int(num, numbers[r.IntN(len(numbers))])
			case 1:
				list := make([]int, r.IntN(6))
				for i := range list {
					list[i] = numbers[r.IntN(len(numbers))]
				}
				m = append(m, nt.Packed(num, list...)...)
			case 2:
				m = m.Float(num, float32(r.NormFloat64()))
			default:
				m = m.Bytes(num, random(depth+1))
			}
		}
		return m
	}
	shapes := [][]int{{4, 6, 5}, {4}, {2, 1, 4, 6, 5}, {3, 1, 1, 1, 1}, {2, 3}, {1, 4, 6, 5}, {1}, {}}
	var types []protowire.Number
	for num := range kinds {
		types = append(types, num)
	}
	slices.Sort(types)
	kept := 0
	for range 40000 {
		num := types[r.IntN(len(types))]
		in := []string{"x", "z", "x"}[:max(kinds[num].least, r.IntN(4))]
		out := []string{"y", "v"}[:1+r.IntN(8)/7]
		data := nt.Model(nt.Join(nt.Input("x", shapes[r.IntN(len(shapes))]...), nt.Input("z", shapes[r.IntN(len(shapes))]...), nt.Output("y")), r.IntN(2) == 0,
			nt.Layer("l", num, random(0), in, out), nt.Layer("last", 301, nil, []string{"y"}, []string{"u"}))
		m, err := readModel(t, data)
		var malformed *wire.FormatError
		if err != nil && (!errors.As(err, &malformed) || malformed.Off == 0) {
			t.Fatalf("%s: %v: %x", kinds[num].name, err, data)
		}
		if err == nil && !strings.HasPrefix(m.Nodes[0].Op, "coreml.") {
			kept++
		}
	}
	if kept < 1000 {
		t.Errorf("only %d layers were converted", kept)
	}
}

// The output of a classifier is the tensor of its probabilities: the one that it names, or the result of the last
// layer.
func TestOutputOfClassifier(t *testing.T) {
	x := []string{"x"}
	for name, want := range map[string]string{"": "b", "a": "a", "first": "a", "absent": "b"} {
		net := nt.Join(nt.Layer("first", 175, nil, x, []string{"a"}), nt.Layer("second", 175, nil, x, []string{"b"}))
		if name != "" {
			net = net.Text(200, name)
		}
		m, err := readModel(t, nt.Message{}.Int(1, 1).Bytes(2, nt.Join(nt.Input("x", 4, 6, 5), nt.Output("classLabelProbs"), nt.Output("classLabel"))).Bytes(403, net))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range m.Results {
			got = append(got, r.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("tensor %q: outputs %q; want %q", name, got, want)
		}
	}
}
