package onnxruntime

import (
	"path/filepath"
	"reflect"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

func TestArrays(t *testing.T) {
	for _, want := range []*tensor.Tensor{
		{Type: onnx.Float, Dims: []int{2, 1}, Data: []float64{1.5, -2}},
		{Type: onnx.Int64, Dims: []int{}, Data: []float64{-7}},
		{Type: onnx.Float16, Dims: []int{3}, Data: []float64{1, 2, 65504}},
		{Type: onnx.Bool, Dims: []int{2}, Data: []float64{0, 1}},
	} {
		data, err := encodeArray(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeArray(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v becomes %+v, %v", want, got, err)
		}
		for n := range data[:len(data)-1] {
			if got, err := DecodeArray(data[:n]); err == nil {
				t.Fatalf("%d of %d bytes are read as %+v", n, len(data), got)
			}
		}
	}
}

// TestRun runs two files, of which the second has an operator that does not exist.
func TestRun(t *testing.T) {
	if err := Find(); err != nil {
		t.Skip("it takes Node.js, and a directory in ORT_DIR where npm install onnxruntime-node ran: ", err)
	}
	var dirs []string
	var models []*onnx.Model
	for _, op := range []string{"Neg", "Nag"} {
		file := ox.Model(ox.Input("a/x", 2), ox.Node(op, "b/y", []string{"a/x"}), ox.Output("b/y"))
		m, err := onnx.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), op)
		x := &tensor.Tensor{Type: onnx.Float, Dims: []int{2}, Data: []float64{1, -2}}
		if err := Save(dir, file, map[string]*tensor.Tensor{"a/x": x}); err != nil {
			t.Fatal(err)
		}
		dirs, models = append(dirs, dir), append(models, m)
	}
	if err := Run(dirs...); err != nil {
		t.Fatal(err)
	}
	got, err := Outputs(dirs[0], models[0])
	if err != nil || !reflect.DeepEqual(got["b/y"].Data, []float64{-1, 2}) {
		t.Errorf("the negative of 1 and -2 is %+v, %v", got["b/y"], err)
	}
	if got, err := Outputs(dirs[1], models[1]); err == nil {
		t.Errorf("an unknown operator gives %+v", got)
	}
}
