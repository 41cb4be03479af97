package anesim_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/internal/network/onnx"
	"anesim/internal/network/onnxtest"
	"anesim/loader/network"
)

// newLargeProducts returns an ONNX file with products of 256x256 weights, which stay in the file: three
// that share transposed columns, one whose result is multiplied by a constant for each column, and one
// with alpha. If scale is not 1, it multiplies the weights.
func newLargeProducts(scale float32) []byte {
	const k = 256
	weight := func(name string, seed int) onnxtest.Message {
		v := make([]float32, k*k)
		for i := range v {
			v[i] = scale * float32((i*seed)%23-11) / 256
		}
		return onnxtest.Constant(name, []int{k, k}, v...)
	}
	in := func(names ...string) []string { return names }
	parts := []onnxtest.Message{onnxtest.Input("x", 64, k)}
	for i, name := range []string{"q", "k", "v", "scaled", "gemm", "linear"} {
		parts = append(parts, weight("w"+name, 2*i+3))
	}
	perColumn := make([]float32, k)
	for i := range perColumn {
		perColumn[i] = float32(1 + i%3)
	}
	parts = append(parts, onnxtest.Constant("columns", []int{k}, perColumn...))
	for _, name := range []string{"q", "k", "v"} {
		parts = append(parts, onnxtest.Node("MatMul", name+"0", in("x", "w"+name)), onnxtest.Node("Transpose", name, in(name+"0"), onnxtest.List("perm", 1, 0)), onnxtest.Output(name))
	}
	parts = append(parts,
		onnxtest.Node("MatMul", "s0", in("x", "wscaled")), onnxtest.Node("Mul", "s", in("s0", "columns")), onnxtest.Output("s"),
		onnxtest.Node("Gemm", "g", in("s", "wgemm"), onnxtest.Float("alpha", 0.5)), onnxtest.Output("g"),
		onnxtest.Node("Gemm", "l", in("g", "wlinear"), onnxtest.Int("transB", 1)), onnxtest.Output("l"))
	return onnxtest.Model(parts...)
}

// A file that is opened has the same layers, notes, times and values as its bytes in memory, though its
// large weights stay in the file until they are packed.
func TestWeightsThatStayInTheFile(t *testing.T) {
	for _, scale := range []float32{1, 1e7} {
		data := newLargeProducts(scale)
		file := filepath.Join(t.TempDir(), "net.onnx")
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		opened, err := network.Open(file, network.Options{})
		if err != nil {
			t.Fatal(err)
		}
		read, err := network.ReadONNX(data, network.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stored := 0
		for i := range opened.Layers {
			w := &opened.Layers[i].Weights
			if w.Stored == nil {
				continue
			}
			if stored++; w.Filter != nil || w.FilterLen() != len(read.Layers[i].Weights.Filter) {
				t.Errorf("%s: %d weights in memory and %d in the file; want all of %d in the file", opened.Layers[i].Name, len(w.Filter), w.FilterLen(), len(read.Layers[i].Weights.Filter))
			}
		}
		if stored < 3 {
			t.Errorf("%d layers have weights in the file; want most of 6", stored)
		}
		if !slices.Equal(opened.Notes, read.Notes) || scale > 1 == (len(read.Notes) == 0) {
			t.Errorf("scale %g: notes %q; from memory %q", scale, opened.Notes, read.Notes)
		}
		one, other := anesim.FromNetwork(opened), anesim.FromNetwork(read)
		for _, o := range []anesim.Options{{}, {Values: true, Seed: 3}, {Values: true, Seed: 3, Chip: hw.M1()}} {
			a, err := one.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			b, err := other.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if a.Report.Cycles != b.Report.Cycles || !reflect.DeepEqual(outputBits(a), outputBits(b)) || !slices.Equal(a.PrecisionNotes(), b.PrecisionNotes()) {
				t.Errorf("scale %g, values %t: %d cycles and %q from the file, %d and %q from memory, or other values", scale, o.Values, a.Report.Cycles, a.PrecisionNotes(), b.Report.Cycles, b.PrecisionNotes())
			}
		}
	}
}

func outputBits(r *anesim.Result) (list [][]float16.Float16) {
	for i := range r.Outputs {
		list = append(list, r.Outputs[i].Data)
	}
	return list
}

// Values of a network whose file was written again, or removed, are refused with the name of the file;
// its time does not depend on them.
func TestWeightsOfAChangedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net.onnx")
	if err := os.WriteFile(file, newLargeProducts(1), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := anesim.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var changed *onnx.ChangedFileError
	if _, err := m.Run(t.Context(), anesim.Options{Values: true}); !errors.As(err, &changed) || filepath.Base(changed.Path) != "net.onnx" {
		t.Errorf("written again: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(t.Context(), anesim.Options{Values: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
	if _, err := m.Run(t.Context(), anesim.Options{}); err != nil {
		t.Errorf("time alone: %v", err)
	}
}

// Weights beyond fp16 are counted in the file as they are counted when they are rounded: from 65520 on
// and not if they are infinite, at any place among others.
func TestCountBeyondHalf(t *testing.T) {
	special := []float32{65519.996, 65520, -65520, 1e30, -math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 0, 1e-40}
	const n, want = 40_003, 4
	v := make([]float32, n)
	for shift := range 9 {
		for i := range v {
			v[i] = float32(i%7) - 3
		}
		for i, x := range special {
			v[(i*4001+shift)%n] = x
		}
		data := make([]byte, 0, 4*n)
		for _, x := range v {
			data = onnx.Float.Append(data, float64(x))
		}
		file := filepath.Join(t.TempDir(), "w.bin")
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := onnx.OpenFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tensor := onnx.NewTensor("w", onnx.Float, []int64{n}, nil)
		tensor.ReadFromFile(f, 0, 4*n)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := tensor.CountBeyondHalf(); err != nil || got != want {
			t.Errorf("shift %d: %d, %v; want %d", shift, got, err, want)
		}
	}
}
