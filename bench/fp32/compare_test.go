package fp32

import (
	"math"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/bench/randomgraph"
	"anesim/bench/reference"
	"anesim/loader/network"
	"anesim/loader/network/onnx"
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
		inputs := map[string]*reference.Tensor{}
		for _, in := range g.Inputs {
			x := &reference.Tensor{Type: in.Type, Dims: in.Dims}
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
			got := c.output(&out)
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
