package onnx_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

func TestRead(t *testing.T) {
	m, err := onnx.Read(ox.Model(
		ox.Input("x", 0, 3), ox.Input("w", 2), ox.Output("y"), ox.Shape("h", 1, 4),
		ox.Constant("w", []int{2}, 1.5, -2), ox.Ints("i", -1, 7),
		ox.Node("Op", "y", []string{"x", "", "w"}, ox.Int("axis", -1), ox.List("pads", 1, 2)),
	))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]onnx.Value{{Name: "x", Type: onnx.Float, Dims: []onnx.Dim{{Name: "batch"}, {Size: 3}}}}, m.Inputs); d != "" {
		t.Errorf("inputs without constants (-want +got):\n%s", d)
	}
	n := m.Nodes[0]
	if n.Op != "Op" || n.Off == 0 || !cmp.Equal(n.Inputs, []string{"x", "", "w"}) ||
		n.Attributes["axis"].Int != -1 || !cmp.Equal(n.Attributes["pads"].Ints, []int64{1, 2}) {
		t.Errorf("%+v", n)
	}
	if m.Opsets[""] != 17 || m.Known["h"].Dims[1].Size != 4 || m.Producer != "onnxtest" {
		t.Errorf("%+v", m)
	}
	f, err := m.Constants["w"].Floats()
	if d := cmp.Diff([]float32{1.5, -2}, f); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	i, err := m.Constants["i"].Ints()
	if d := cmp.Diff([]int64{-1, 7}, i); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

// Every form in which values stand gives the same.
func TestTensorForms(t *testing.T) {
	for name, fields := range map[string]ox.Message{
		"float_data": ox.Message{}.Int(2, 1).Bytes(4, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}),
		"raw":        ox.Message{}.Int(2, 1).Bytes(9, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}),
		"half raw":   ox.Message{}.Int(2, 10).Bytes(9, []byte{0, 0x3c, 0, 0xc0}),
		"half int":   ox.Message{}.Int(2, 10).Int(5, 0x3c00).Int(5, 0xc000),
		"double":     ox.Message{}.Int(2, 11).Bytes(10, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}),
		"int32":      ox.Message{}.Int(2, 6).Int(5, 1).Int(5, -2),
		"int64 raw":  ox.Message{}.Int(2, 7).Bytes(9, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 255, 255, 255, 255, 255, 255, 255}),
	} {
		m, err := onnx.Read(ox.Model(ox.Message{}.Bytes(5, fields.Int(1, 2).Text(8, "t"))))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f, err := m.Constants["t"].Floats()
		if d := cmp.Diff([]float32{1, -2}, f); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

// An error says which byte it is at.
func TestErrorsNameTheByte(t *testing.T) {
	good := ox.Model(ox.Input("x", 1, 2), ox.Constant("w", []int{2}, 1, 2), ox.Node("Relu", "y", []string{"x"}))
	for i := range good {
		m, err := onnx.Read(good[:i])
		var f *onnx.FormatError
		if err == nil && m != nil || !errors.As(err, &f) || f.Off < 0 || f.Off > int64(i) || !strings.HasPrefix(err.Error(), "byte 0x") {
			if i < len(good)-4 { // behind the graph only the version of the operators is left
				t.Fatalf("cut at %d of %d: %v", i, len(good), err)
			}
		}
	}
	short := ox.Message{}.Bytes(5, ox.Message{}.Int(2, 1).Text(8, "t").Int(1, 3).Bytes(9, []byte{1, 2}))
	m, err := onnx.Read(ox.Model(short))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Constants["t"].Floats(); err == nil || !strings.Contains(err.Error(), `tensor "t": 2 raw bytes and 0 integers do not match shape [3]; want 12 bytes or 3 integers`) {
		t.Error(err)
	}
}

// A counted file says how many of its bytes were read.
type counted struct {
	bytes.Reader
	read int
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	c.read += len(b)
	return c.Reader.ReadAt(b, at)
}

// A file that is left where it is says what one in memory does, and so does a part of it.
func TestReadFrom(t *testing.T) {
	values := make([]float32, 3*8192)
	for i := range values {
		values[i] = float32(i%2000) / 8
	}
	data := ox.Model(
		ox.Input("x", 1, 3), ox.Constant("w", []int{3, len(values) / 3}, values...), ox.Constant("b", []int{1}, 7),
		ox.Node("MatMul", "y", []string{"x", "w"}),
	)
	want, err := onnx.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	file := &counted{Reader: *bytes.NewReader(data)}
	got, err := onnx.ReadFrom(file, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if file.read > 1000 {
		t.Errorf("%d bytes were read, of %d", file.read, len(data))
	}
	for name := range want.Constants {
		a, err1 := want.Constants[name].Halves()
		b, err2 := got.Constants[name].Halves()
		c, err3 := got.Constants[name].Numbers()
		if err := errors.Join(err1, err2, err3); err != nil || !slices.Equal(a, b) || c[len(c)-1] != float64(a[len(a)-1].Float32()) {
			t.Errorf("%s differs: %v", name, err)
		}
	}
	for n := 0; n < len(data); n += 1 + n/9 {
		_, err1 := onnx.Read(data[:n])
		_, err2 := onnx.ReadFrom(bytes.NewReader(data[:n]), int64(n))
		if fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Errorf("%d bytes: %v, in memory %v", n, err2, err1)
		}
	}
	if _, err := onnx.ReadFrom(bytes.NewReader(data[:100]), int64(len(data))); err == nil {
		t.Error("a file that ends before its size is read")
	}
	file.Reset(nil)
	if _, err := got.Constants["w"].Halves(); err == nil {
		t.Error("values that are gone are read")
	}
}
