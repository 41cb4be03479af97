package lint_test

import (
	"bytes"
	"testing"

	"anesim"
	ox "anesim/loader/network/onnx/onnxtest"
)

// A batch is read part by part: a part that begins where an older value began is no reading of
// that one.
func TestPartsOfABatch(t *testing.T) {
	file := ox.Model(
		ox.Input("x", 2, 3, 33, 6), ox.Output("square"), ox.Output("sum"), ox.Output("y"), ox.Constant("small", []int{1}, 0.0625),
		ox.Node("Mul", "square", []string{"x", "x"}),
		ox.Node("ReduceMean", "mean", []string{"square"}, ox.List("axes", 3)),
		ox.Node("Add", "sum", []string{"mean", "small"}),
		ox.Node("Sqrt", "root", []string{"sum"}),
		ox.Node("Div", "y", []string{"x", "root"}),
	)
	m, err := anesim.Read("batch.onnx", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	list, descriptors := findings(t, "batch", m)
	if len(list) > 0 || descriptors < 8 {
		t.Errorf("%d descriptors: %q", descriptors, list)
	}
}
