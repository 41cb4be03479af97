package anesim_test

import (
	"bytes"
	"testing"

	"github.com/x448/float16"

	"anesim"
	ox "anesim/internal/network/onnxtest"
)

// A loop of three rounds that doubles x gives 8x.
func TestLoopDoublesThreeTimes(t *testing.T) {
	file := ox.Model(ox.Whole("n", 7, 8, []int{}, 3), ox.Input("x", 1, 4, 1, 1), ox.Output("y"), ox.Node("Loop", "y", []string{"n", "", "x"}, ox.Graph("body",
		ox.InputOf(7, "i"), ox.InputOf(9, "go"), ox.Input("h", 1, 4, 1, 1), ox.Node("Add", "r", []string{"h", "h"}), ox.Output("go"), ox.Output("r"))))
	m, err := anesim.Read("loop.onnx", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	x := []float16.Float16{0x3c00, 0xc100, 0x2e66, 0x6c00} // 1, -2.5, about 0.1, 4096
	res, err := m.Run(t.Context(), anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Outputs) != 1 || len(res.Layers) != 3 {
		t.Fatalf("%d outputs of %d layers; want one of three", len(res.Outputs), len(res.Layers))
	}
	for i, got := range res.Outputs[0].Data {
		if want := float16.Fromfloat32(8 * x[i].Float32()); got != want {
			t.Errorf("x = %v gives %v; want %v", x[i], got, want)
		}
	}
}
