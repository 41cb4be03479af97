package anesim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	ox "anesim/internal/network/onnxtest"
)

// A window that stands in the padding alone is a larger one on the engine. Its sums are those of the
// layer without the padding, because zeros change no sum of terms below 4096.
func TestPaddedByItself(t *testing.T) {
	run := func(words string) *anesim.Result {
		m, err := anesim.Layer("conv", strings.Fields(words)...)
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Run(t.Context(), anesim.Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	const c, side = 64, 9
	plain := run("cin=64 h=9 w=9 cout=64 k=1")
	padded := run("cin=64 h=9 w=9 cout=64 k=1 pad=1")
	differ := 0
	for i, v := range plain.Outputs[0].Data {
		x, y, z := i%side, i/side%side, i/side/side
		if v != padded.Outputs[0].Data[(z*(side+2)+y+1)*(side+2)+x+1] {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d values differ", differ, c*side*side)
	}
}

// ceil_mode adds windows beyond the padding, whose positions never count in an average. The padding
// of SAME counts with and without ceil_mode.
func TestAverageCountsPaddingButNoOverhang(t *testing.T) {
	ones := make([]float16.Float16, 6)
	for i := range ones {
		ones[i] = float16.Fromfloat32(1)
	}
	counted := []ox.Message{ox.List("kernel_shape", 4), ox.Int("count_include_pad", 1)}
	for _, tc := range []struct {
		name       string
		attributes []ox.Message
		want       []float64
	}{
		{"SAME_UPPER", []ox.Message{ox.Text("auto_pad", "SAME_UPPER")}, []float64{0.75, 1, 1, 1, 0.75, 0.5}},
		{"SAME_UPPER, ceil_mode", []ox.Message{ox.Text("auto_pad", "SAME_UPPER"), ox.Int("ceil_mode", 1)}, []float64{0.75, 1, 1, 1, 0.75, 0.5}},
		{"SAME_LOWER, ceil_mode", []ox.Message{ox.Text("auto_pad", "SAME_LOWER"), ox.Int("ceil_mode", 1)}, []float64{0.5, 0.75, 1, 1, 1, 0.75}},
		{"ceil_mode", []ox.Message{ox.List("strides", 4), ox.Int("ceil_mode", 1)}, []float64{1, 1}},
		{"pads, ceil_mode", []ox.Message{ox.List("strides", 4), ox.List("pads", 1, 0), ox.Int("ceil_mode", 1)}, []float64{0.75, 1}},
	} {
		node := ox.Node("AveragePool", "y", []string{"x"}, append(tc.attributes, counted...)...)
		m := readModel(t, "pool.onnx", ox.Model(ox.Input("x", 1, 1, 6), node, ox.Output("y")), anesim.OpenOptions{})
		r, err := m.Run(t.Context(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": ones}})
		if err != nil {
			t.Fatal(tc.name, err)
		}
		var got []float64
		for _, v := range r.Outputs[0].Data {
			got = append(got, float64(v.Float32()))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: averages %v, want %v", tc.name, got, tc.want)
		}
	}
}

// An output that is a scalar constant has no dimensions.
func TestScalarConstantsAsOutputs(t *testing.T) {
	for _, attribute := range []ox.Message{ox.Float("value_float", 2.5), ox.Int("value_int", 3)} {
		node := ox.Node("Constant", "c", nil, attribute)
		m := readModel(t, "scalar.onnx", ox.Model(ox.Input("x", 1, 3), ox.Node("Relu", "y", []string{"x"}), node, ox.Output("y"), ox.Output("c")), anesim.OpenOptions{})
		r, err := m.Run(t.Context(), anesim.Options{Values: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Outputs[1].Shape(); len(got) != 0 {
			t.Errorf("shape %v, want none", got)
		}
	}
}
