package lint_test

import (
	"bytes"
	"testing"

	"anesim"
	ox "anesim/internal/network/onnxtest"
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

// A result whose rows are read one by one is not taken for the older values where they begin: a
// pool of two columns moves through a batch of 17 as rows of two.
func TestRowsReadOneByOne(t *testing.T) {
	file := ox.Model(
		ox.Input("x", 17, 2, 1, 12), ox.Output("y"), ox.Constant("c", []int{17, 1, 1, 1}, make([]float32, 17)...),
		ox.Ints("starts", 0, 11), ox.Ints("ends", 1, 9), ox.Ints("axes", 1, 3), ox.Ints("steps", 3, -1),
		ox.Node("Slice", "part", []string{"x", "starts", "ends", "axes", "steps"}),
		ox.Node("MaxPool", "pool", []string{"part"}, ox.List("kernel_shape", 1, 1), ox.List("strides", 1, 3)),
		ox.Node("Add", "y", []string{"pool", "c"}),
	)
	m, err := anesim.Read("rows.onnx", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if list, descriptors := findings(t, "rows", m); len(list) > 0 || descriptors < 8 {
		t.Errorf("%d descriptors: %q", descriptors, list)
	}
}
