package reference

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/material"
	"anesim/internal/network/onnx"
)

// TestSharedGraphs compares small graphs with what onnxruntime computes in float32.
func TestSharedGraphs(t *testing.T) {
	for _, file := range material.Files(t, "graphs/*/net.onnx") {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := onnx.Read(data)
			if err != nil {
				t.Fatal(err)
			}
			inputs := map[string]*tensor.Tensor{}
			for _, in := range m.Inputs {
				inputs[in.Name] = readArray(t, filepath.Join(dir, "in_"+in.Name+".npy"))
			}
			results, err := Run(m, inputs, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, out := range m.Outputs {
				want := readArray(t, filepath.Join(dir, "ref_"+out.Name+".npy"))
				if err := compare(results[out.Name], want, 1e-4); err != nil {
					t.Errorf("%s: %v", out.Name, err)
				}
			}
		})
	}
}

var arrayTypes = map[string]onnx.DataType{
	"<f4": onnx.Float, "<f8": onnx.Double, "<f2": onnx.Float16, "<i8": onnx.Int64, "<i4": onnx.Int32,
	"|u1": onnx.Uint8, "|i1": onnx.Int8, "|b1": onnx.Bool,
}

// readArray reads an .npy file of version 1, which consists of a magic string, the length of a
// header, a header of Python literals, and the values.
func readArray(t *testing.T, file string) *tensor.Tensor {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte("\x93NUMPY\x01")) || len(data) < 10 {
		t.Fatalf("%s is not an array of version 1", file)
	}
	end := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	field := regexp.MustCompile(`'descr': '([^']*)', 'fortran_order': False, 'shape': \(([^)]*)\)`).FindStringSubmatch(string(data[10:end]))
	if field == nil || arrayTypes[field[1]] == 0 {
		t.Fatalf("%s: header is %s", file, data[10:end])
	}
	var dims []int64
	for _, s := range strings.FieldsFunc(field[2], func(r rune) bool { return r == ',' || r == ' ' }) {
		d, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", file, err))
		}
		dims = append(dims, d)
	}
	x, err := convertConstant(onnx.NewTensor(file, arrayTypes[field[1]], dims, data[end:]))
	if err != nil {
		t.Fatal(err)
	}
	return x
}
