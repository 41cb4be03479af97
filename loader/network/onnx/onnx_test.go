package onnx_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anesim/loader/network/onnx"
	ox "anesim/loader/network/onnx/onnxtest"
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
	if _, err := m.Constants["t"].Floats(); err == nil || !strings.Contains(err.Error(), `tensor "t": 2 bytes and 0 integers for shape [3]`) {
		t.Error(err)
	}
}
