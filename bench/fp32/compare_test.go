package fp32

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/bench/internal/reference"
	"anesim/bench/internal/reference/tensor"
	"anesim/bench/randomgraph"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader"
	"anesim/loader/network"
)

// TestFloat32AgainstDefinitions compares random graphs, computed from their layers in float32, with
// the definitions of their operators in float64. Both have the same constants.
func TestFloat32AgainstDefinitions(t *testing.T) {
	graphs := uint64(150)
	if testing.Short() {
		graphs = 40
	}
	compared, refused, far := 0, 0, 0
	for seed := range graphs {
		g := randomgraph.New(1000+seed, randomgraph.Options{})
		file := g.Encode()
		net, err := network.Read("graph.onnx", file, network.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		model, err := onnx.Read(file)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		o := anesim.Options{Inputs: map[string][]float16.Float16{}, Numbers: map[string][]float64{}}
		inputs := map[string]*tensor.Tensor{}
		for _, in := range g.Inputs {
			x := &tensor.Tensor{Type: in.Type, Dims: in.Dims}
			for _, v := range in.Values {
				h := float16.Fromfloat32(float32(v))
				x.Data = append(x.Data, float64(h.Float32()))
				o.Inputs[in.Name] = append(o.Inputs[in.Name], h)
			}
			inputs[in.Name] = x
		}
		want, err := reference.Run(model, inputs, reference.Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		c := &comparison{net: net, options: &o}
		if err := c.computeLayers(t.Context(), nil); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, note := range c.doc.Notes {
			t.Errorf("seed %d: %s", seed, note)
		}
		for _, out := range net.AllResults() {
			got := c.widenOutput(&out)
			if len(got) != len(want[out.Name].Data) || out.Type != "" && !strings.HasPrefix(out.Type, "float") {
				refused++
				continue
			}
			errors, squares := 0.0, 0.0
			for i, w := range want[out.Name].Data {
				if w != w || math.IsInf(w, 0) {
					continue
				}
				errors, squares = errors+(float64(got[i])-w)*(float64(got[i])-w), squares+w*w
			}
			if rms := math.Sqrt(errors / max(squares, 1e-30)); rms > 1e-3 {
				far++ // the constants of layers are fp16, and some sums cancel
				if rms > 1e-2 {
					t.Errorf("seed %d: output %s differs by %.3g\n%s", seed, out.Name, rms, g)
				}
			}
			compared++
		}
	}
	t.Logf("%d outputs compared, %d not; %d differ by more than 0.1 %%", compared, refused, far)
	if compared < int(graphs) || refused > compared/5 || far > compared/100 {
		t.Errorf("%d outputs compared and %d not; %d differ by more than 0.1 %%, want at most 1 %% of them", compared, refused, far)
	}
}

// A layer without values on the engine is named, and layers that need it are counted. Its float32 values
// are not computed either, however long that would take.
func TestCompareWithoutValues(t *testing.T) {
	text := `
inputs: {x: {c: 64, h: 32, w: 32}}
layers:
  - {name: first, op: relu}
  - {name: second, op: conv, cout: 64, k: 3, pad: 1}
  - {name: third, op: conv, cout: 8, k: 1}
  - {name: fourth, op: relu6}
`
	m, err := anesim.Read("net.yaml", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	compare := func(o anesim.Options) (*Comparison, error) {
		res, err := m.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return Compare(t.Context(), res)
	}
	c, err := compare(anesim.Options{Values: true, Budget: 64 * 32 * 32 * 17})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Layers) != 0 || len(c.Outputs) != 0 {
		t.Errorf("layers %+v and outputs %+v; want none, because the fault leaves no outputs", c.Layers, c.Outputs)
	}
	if len(c.Notes) == 0 || !strings.Contains(c.Notes[0], "second: no values on the engine") {
		t.Errorf("notes %q; want the second layer named", c.Notes)
	}
	if c, err = compare(anesim.Options{Values: true}); err != nil || len(c.Layers) < 3 || len(c.Notes) > 0 || len(c.Outputs) != 1 {
		t.Errorf("with values: %+v, %v; want all layers and the output", c, err)
	}
	for _, o := range []anesim.Options{{}, {Values: true, Repeat: 2}} {
		if c, err := compare(o); err == nil {
			t.Errorf("%+v: compared with %+v; want an error", o, c)
		}
	}
}

// A network that needs gigabytes to compare is refused before it runs again.
func TestCompareRefusesLargeNetworks(t *testing.T) {
	text := "inputs: {x: {c: 64, h: 1024, w: 1024}}\nlayers:\n" + strings.Repeat("  - {op: relu}\n", 4)
	m, err := anesim.Read("net.yaml", strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Compare(t.Context(), &anesim.Result{Model: m, Options: anesim.Options{Values: true}})
	if want := "needs the 335544320 elements"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v; want %q in it", err, want)
	}
}

// compareONNX runs a network that is made of the given parts, with x as its input, and compares it.
func compareONNX(t *testing.T, x []float64, parts ...ox.Message) *Comparison {
	t.Helper()
	net, err := network.ReadONNX(ox.Model(parts...), network.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := anesim.Options{Values: true, Inputs: map[string][]float16.Float16{}, Numbers: map[string][]float64{"x": x}}
	for _, v := range x {
		o.Inputs["x"] = append(o.Inputs["x"], float16.Fromfloat32(float32(v)))
	}
	res, err := anesim.FromNetwork(net).Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(t.Context(), res)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Values that are infinite in both do not differ. One that only fp16 makes infinite has no finite error.
func TestInfiniteValues(t *testing.T) {
	relu := []ox.Message{ox.Input("x", 1, 4), ox.Node("Relu", "y", []string{"x"}), ox.Output("y")}
	x := []float64{math.Inf(1), math.Inf(-1), 2, -3}
	if c := compareONNX(t, x, relu...); len(c.Outputs) != 1 || c.Outputs[0].Error == nil || *c.Outputs[0].Error != 0 {
		t.Errorf("%v: outputs %+v; want one without an error", x, c.Outputs)
	}
	double := append(slices.Clone(relu[:1]), ox.Node("Add", "y", []string{"x", "x"}), ox.Output("y"))
	x = []float64{60000, 1, 2, 3}
	if c := compareONNX(t, x, double...); len(c.Outputs) != 1 || c.Outputs[0].Error != nil || len(c.Worst) != 1 {
		t.Errorf("%v: outputs %+v, worst %v; want no finite error, as fp16 ends at 65504", x, c.Outputs, c.Worst)
	}
	inf, nan := float16.Inf(1), float16.NaN()
	for _, c := range []struct {
		got          []float16.Float16
		want         []float32
		rms, largest float64
	}{
		{[]float16.Float16{inf, float16.Fromfloat32(3)}, []float32{float32(math.Inf(1)), 4}, 0.25, 0.25},
		{[]float16.Float16{inf}, []float32{float32(math.Inf(-1))}, math.NaN(), math.NaN()},
		{[]float16.Float16{inf}, []float32{70000}, math.Inf(1), math.Inf(1)},
		{[]float16.Float16{nan}, []float32{1}, math.NaN(), 0},
	} {
		rms, _ := measureDifference(c.got, c.want)
		if rms != c.rms && (finiteFigure(rms) != nil || finiteFigure(c.rms) != nil) {
			t.Errorf("%v and %v differ by %v; want %v", c.got, c.want, rms, c.rms)
		}
	}
}

// The engine holds large integers divided by a power of two. An output of floats that they become is
// compared in its own unit.
func TestOutputsWithUnit(t *testing.T) {
	const n = 64
	var x []float64
	w, zero := []int{}, []int{0}
	for i := range n {
		x, w = append(x, float64(i%7)), append(w, i%5)
	}
	c := compareONNX(t, x, ox.Input("x", 1, n), ox.Whole("w", 3, 1, []int{n, 1}, w...), ox.Constant("scale", nil, 1), ox.Whole("zero", 2, 1, nil, zero...),
		ox.Node("QuantizeLinear", "q", []string{"x", "scale", "zero"}), ox.Node("MatMulInteger", "sum", []string{"q", "w"}),
		ox.Node("Cast", "y", []string{"sum"}, ox.Int("to", 1)), ox.Output("y"))
	if len(c.Outputs) != 1 || c.Outputs[0].Error == nil || *c.Outputs[0].Error > 0.01 {
		t.Errorf("outputs %+v; want one whose error is at most 1%%", c.Outputs)
	}
}

// Inputs that have more digits than fp16 are known to have an error before the first layer.
func TestInputsBeyondHalf(t *testing.T) {
	relu := []ox.Message{ox.Input("x", 1, 2), ox.Node("Relu", "y", []string{"x"}), ox.Output("y")}
	if l := compareONNX(t, []float64{1, 2}, relu...).Layers[0]; l.Before != 0 || *l.Error != 0 {
		t.Errorf("exact inputs: %+v; want no error", l)
	}
	// 1 + 1/4096 rounds to 1: an error of 1/4096 of the value.
	v := 1 + 1./4096
	if l := compareONNX(t, []float64{v, v}, relu...).Layers[0]; math.Abs(l.Before*4096-1) > 1e-3 || l.Before != *l.Error || l.Growth() != 0 {
		t.Errorf("inputs of %v: %+v; want the error of rounding them before the layer, and none added", v, l)
	}
}

// A note names each output that the second run changes, and no other.
func TestOutputsThatStoringChanges(t *testing.T) {
	result := func(a, b float32) *anesim.Result {
		r := new(anesim.Result)
		for i, v := range []float32{a, b} {
			r.Outputs = append(r.Outputs, anesim.Output{Port: &loader.Port{Name: string(rune('a' + i))}, Data: []float16.Float16{float16.Fromfloat32(v)}})
		}
		return r
	}
	for _, x := range []struct {
		read *anesim.Result
		want []string
	}{
		{result(1, 2), []string{}},
		{result(1, 3), []string{"storing the results of layers changes output b; its error is that of the run without"}},
	} {
		c := new(comparison)
		if c.compareRuns(result(1, 2), x.read); !slices.Equal(c.doc.Notes, x.want) {
			t.Errorf("notes %q; want %q", c.doc.Notes, x.want)
		}
	}
}

// The three layers that add most are named, most first. Layers that add nothing are not.
func TestWorstLayers(t *testing.T) {
	layers := func(errors ...float64) (list []Layer) {
		before := 0.0
		for _, e := range errors {
			list = append(list, Layer{Error: &e, Before: before})
			before = e
		}
		return list
	}
	for _, x := range []struct {
		layers []Layer
		want   []int
	}{
		{layers(0.01, 0.03, 0.03, 0.08, 0.1), []int{3, 4, 1}},
		{layers(0.01, 0.01, 0.005), []int{0}},
		{append(layers(0.01, 0.02), Layer{}), []int{2, 1, 0}},
		{nil, []int{}},
	} {
		c := comparison{doc: Comparison{Layers: x.layers}}
		if c.findWorst(); !slices.Equal(c.doc.Worst, x.want) {
			t.Errorf("%+v: worst are %v; want %v", x.layers, c.doc.Worst, x.want)
		}
	}
}
