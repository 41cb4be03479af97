package anesim_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"anesim"
	"anesim/internal/network/onnxtest"
)

// A network whose file of weights is missing can be timed. Its values cannot be computed: those of
// other weights would be the result of another network.
func TestNoValuesWithoutWeights(t *testing.T) {
	entry := func(key, value string) onnxtest.Message { return onnxtest.Message{}.Text(1, key).Text(2, value) }
	weights := onnxtest.Message{}.Int(1, 4).Int(1, 4).Int(2, 1).Text(8, "w").Int(14, 1).Bytes(13, entry("location", "w.bin"))
	file := filepath.Join(t.TempDir(), "net.onnx")
	data := onnxtest.Model(onnxtest.Input("x", 1, 4), onnxtest.Message{}.Bytes(5, weights), onnxtest.Node("MatMul", "y", []string{"x", "w"}), onnxtest.Output("y"))
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := anesim.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(t.Context(), anesim.Options{}); err != nil {
		t.Error(err)
	}
	var missing *anesim.MissingWeightsError
	if _, err := m.Run(t.Context(), anesim.Options{Values: true}); !errors.As(err, &missing) || !slices.Equal(missing.Files, []string{"w.bin"}) {
		t.Errorf("values: %v", err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "w.bin"), make([]byte, 4*4*4), 0o666); err != nil {
		t.Fatal(err)
	}
	if m, err = anesim.Open(file); err != nil {
		t.Fatal(err)
	}
	if res, err := m.Run(t.Context(), anesim.Options{Values: true}); err != nil || len(res.Outputs) != 1 {
		t.Errorf("with the file: %v", err)
	}
}
