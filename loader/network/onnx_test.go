package network

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	ox "anesim/internal/network/onnxtest"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// layerTexts returns one line of text for each layer of a network.
func layerTexts(n *list.Network) []string {
	var lines []string
	for _, l := range n.Layers {
		s := fmt.Sprintf("%s %v(%s) %s", l.Name, l.Lower.Op, strings.Join(l.Inputs, ","), list.ShapeText(l.Out))
		if len(l.Folded) > 0 {
			s += " +" + strings.Join(l.Folded, "+")
		}
		if l.Reason != "" {
			s = fmt.Sprintf("%s: %s", l.Name, l.Reason)
		}
		lines = append(lines, s)
	}
	return lines
}

func zeros(n int) []float32 { return make([]float32, n) }

func names(names ...string) []string { return names }

func TestONNXLayers(t *testing.T) {
	picture := ox.Input("x", 0, 4, 8, 8)
	rows := ox.Input("x", 6, 16)
	heads := ox.Input("x", 1, 10, 3, 4)
	for _, tc := range []struct {
		name  string
		parts []ox.Message
		want  []string
	}{
		{"convolution, batch normalization, rectifier", []ox.Message{
			picture, ox.Constant("w", []int{8, 4, 3, 3}, zeros(8*4*9)...),
			ox.Constant("s", []int{8}, zeros(8)...), ox.Constant("v", []int{8}, 1, 1, 1, 1, 1, 1, 1, 1),
			ox.Node("Conv", "a", names("x", "w"), ox.List("pads", 1, 1, 1, 1), ox.List("strides", 2, 2)),
			ox.Node("BatchNormalization", "b", names("a", "s", "s", "s", "v")),
			ox.Node("Relu", "y", names("b")), ox.Output("y"),
		}, []string{"a conv(x) 1x8x4x4 +b+b/2+y"}},
		{"an auto pad", []ox.Message{
			picture, ox.Constant("w", []int{4, 1, 3, 3}),
			ox.Node("Conv", "a", names("x", "w"), ox.Int("group", 4), ox.Message{}.Text(1, "auto_pad").Text(4, "SAME_UPPER")),
		}, []string{"a conv(x) 1x4x8x8"}},
		{"taps apart", []ox.Message{
			picture, ox.Constant("w", []int{4, 4, 3, 3}),
			ox.Node("Conv", "a", names("x", "w"), ox.List("dilations", 2, 2)), ox.Node("Relu", "y", names("a")),
		}, []string{"a conv(x) 1x4x4x4 +y"}},
		{"a classifier", []ox.Message{
			picture, ox.Constant("w", []int{10, 4}), ox.Constant("c", []int{10}),
			ox.Node("GlobalAveragePool", "a", names("x")), ox.Node("Flatten", "b", names("a")),
			ox.Node("Dropout", "d", names("b")), ox.Node("Gemm", "y", names("d", "w", "c"), ox.Int("transB", 1)),
			ox.Node("Softmax", "p", names("y"), ox.Int("axis", -1)), ox.Output("p"),
		}, []string{"a reduce_mean(x) 1x4x1x1", "y linear(a) 1x1x1x10", "p softmax(y) 1x1x1x10"}},
		{"a bias of columns", []ox.Message{
			rows, ox.Constant("w", []int{16, 5}), ox.Constant("c", []int{5}),
			ox.Node("MatMul", "a", names("x", "w")), ox.Node("Add", "b", names("a", "c")), ox.Node("Relu", "y", names("b")),
		}, []string{"a matmul(x) 1x1x6x5 +b+y"}},
		{"layer norm with its scale", []ox.Message{
			rows, ox.Constant("s", []int{16}, zeros(16)...), ox.Constant("b", []int{16}, zeros(16)...),
			ox.Node("LayerNormalization", "a", names("x", "s", "b")),
		}, []string{"a layernorm(x) 1x1x6x16", "a/2 mul(a#0,a/2/constant) 1x1x6x16"}},
		{"attention", []ox.Message{
			heads, ox.Constant("eighth", nil, 8),
			ox.Node("Transpose", "q", names("x"), ox.List("perm", 0, 1, 3, 2)),
			ox.Node("MatMul", "s", names("x", "q")), ox.Node("Div", "d", names("s", "eighth")),
			ox.Node("Softmax", "p", names("d")), ox.Node("MatMul", "y", names("p", "x")),
		}, []string{
			"q transpose(x) 1x10x4x3", "s matmul(x,q) 1x10x3x3 +d",
			"p softmax(d) 1x10x3x3", "y matmul(p,x) 1x10x3x4",
		}},
		{"views", []ox.Message{
			rows, ox.Ints("shape", 1, 0, -1), ox.Ints("axes", 0),
			ox.Node("Unsqueeze", "a", names("x", "axes")), ox.Node("Squeeze", "b", names("a", "axes")),
			ox.Node("Reshape", "c", names("b", "shape")), ox.Node("Tanh", "y", names("c")),
		}, []string{"y tanh(x) 1x1x16x6"}},
		{"parts", []ox.Message{
			heads, ox.Ints("zero", 0), ox.Ints("two", 2), ox.Ints("one", 1),
			ox.Node("Slice", "a", names("x", "zero", "two", "one")), ox.Node("Slice", "b", names("x", "two", "two", "one")),
			ox.Node("Concat", "y", names("a", "x"), ox.Int("axis", 1)), ox.Node("Concat", "z", names("x", "x"), ox.Int("axis", 3)),
		}, []string{
			"a slice(x) 1x2x3x4", "y concat(a,x) 1x12x3x4",
			"z transpose(x) 1x1x4x30", "z/2 transpose(x) 1x1x4x30", "z/3 concat(z#0,z#1) 1x8x1x30", "z/4 transpose(z#2) 1x1x30x8",
		}},
		{"what is no layer", []ox.Message{
			picture, ox.Node("Resize", "a", names("x")), ox.Node("Relu", "y", names("nothing")),
			ox.Node("Transpose", "t", names("x"), ox.List("perm", 0, 2, 1, 3)),
		}, []string{
			`a: neither "scales" nor "sizes" is a constant; want one of them`, `y: no earlier node produces tensor "nothing"`,
			"t transpose(x) 1x8x4x8",
		}},
		{"sum over axes", []ox.Message{
			picture, ox.Node("ReduceSum", "a", names("x"), ox.List("axes", 2, 3), ox.Int("keepdims", 0)), ox.Node("Relu", "y", names("a")),
		}, []string{"a reduce_sum(x) 1x4x1x1", "y relu(a) 1x1x1x4"}},
	} {
		n, err := ReadONNX(ox.Model(tc.parts...), Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		checkNetwork(t, n)
		if d := cmp.Diff(tc.want, layerTexts(n)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// Batch normalization is in the convolution's weights and bias.
func TestBatchNormFoldsValues(t *testing.T) {
	n, err := ReadONNX(ox.Model(
		ox.Input("x", 1, 2, 1, 1), ox.Constant("w", []int{2, 2, 1, 1}, 1, 2, 3, 4), ox.Constant("b", []int{2}, 1, -1),
		ox.Constant("scale", []int{2}, 2, 1), ox.Constant("shift", []int{2}, 0.5, 0),
		ox.Constant("mean", []int{2}, 1, 0), ox.Constant("variance", []int{2}, 3.75, 0.75),
		ox.Node("Conv", "c", names("x", "w", "b")),
		ox.Node("BatchNormalization", "y", names("c", "scale", "shift", "mean", "variance"),
			ox.Message{}.Text(1, "epsilon").Bytes(99, nil).Int(20, 1)),
		ox.Output("y"),
	), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The epsilon's attribute has no value: zero.
	half := func(v ...float32) (h []float16.Float16) {
		for _, x := range v {
			h = append(h, float16.Fromfloat32(x))
		}
		return h
	}
	f := float32(2 / 1.9364917)
	g := float32(1 / 0.8660254)
	l := &n.Layers[0]
	if len(n.Layers) != 1 || l.Output != "y" || !l.Lower.Bias {
		t.Fatalf("%+v", n.Layers)
	}
	h := half(f, g)
	f, g = h[0].Float32(), h[1].Float32()
	if d := cmp.Diff(half(f, 2*f, 3*g, 4*g), l.Weights.Filter); d != "" {
		t.Errorf("weights (-want +got):\n%s", d)
	}
	want := half(f+(0.5-2/float32(1.9364917)), -g)
	for i, v := range l.Weights.Bias {
		if d := v.Float32() - want[i].Float32(); d > 2e-3 || d < -2e-3 {
			t.Errorf("bias %d is %v, want about %v", i, v, want[i])
		}
	}
}

func TestONNXErrors(t *testing.T) {
	long := ox.Model(ox.Input("x", 1), ox.Constant("w", []int{4}, 1, 2, 3, 4))
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "byte 0x0: not an ONNX model: no graph found"},
		{"text", []byte("name: x"), "byte 0x0: not an ONNX model: the file is text"},
		{"cut", long[:len(long)-9], "byte 0xc: the file is cut off: field 7 has 51 bytes, and 46 of them are there"},
		{"other", []byte("PK\x03\x04"), "byte 0x2: not an ONNX model: cannot decode field tag: invalid field number"},
		{"wire", ox.Message{}.Int(7, 1), "byte 0x0: field 7 has wire type 0; want 2"},
		{"no shape", ox.Model(ox.Message{}.Bytes(11, ox.Message{}.Text(1, "x"))), `input "x" has no shape in the file; want a size for each axis, such as --dim x:0=1,x:1=SIZE`},
		{"shape", ox.Model(ox.Constant("w", []int{1 << 30, 1 << 30})), `byte 0x`},
	} {
		_, err := ReadONNX(tc.data, Options{})
		var f *list.FormatError
		if !errors.As(err, &f) {
			t.Errorf("%s: %v, want a FormatError", tc.name, err)
		} else if !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, err, tc.want)
		}
	}
}

func FuzzReadONNX(f *testing.F) {
	f.Add(ox.Model(
		ox.Input("x", 1, 4, 8, 8), ox.Constant("w", []int{8, 4, 3, 3}, zeros(8*4*9)...), ox.Ints("s", 1, -1),
		ox.Node("Conv", "a", names("x", "w"), ox.List("pads", 1, 1, 1, 1)), ox.Node("Relu", "b", names("a")),
		ox.Node("AveragePool", "p", names("b"), ox.List("kernel_shape", 2, 2)), ox.Node("Reshape", "r", names("p", "s")),
		ox.Node("Transpose", "t", names("p"), ox.List("perm", 0, 3, 2, 1)), ox.Node("Split", "q", names("t"), ox.Int("axis", 1)),
		ox.Node("LayerNormalization", "n", names("r")), ox.Node("Softmax", "y", names("n")), ox.Output("y"),
	))
	calls := ox.Model(ox.Input("x", 1, 4, 8, 8), ox.NodeOf("f", "F", "y", names("x"), ox.Int("dim", 1)), ox.Output("y"))
	calls = append(calls, ox.Function("f", "F", names("a"), names("b"), names("dim"),
		ox.NodeOf("f", "G", "c", names("a"), ox.Refer("axis", "dim", 2)), ox.NodeOf("f", "G", "b", names("c")))...)
	calls = append(calls, ox.Function("f", "G", names("a"), names("b"), names("axis"),
		ox.Node("Softmax", "c", names("a"), ox.Refer("axis", "axis", 2)), ox.Node("Neg", "b", names("c")))...)
	f.Add([]byte(calls))
	f.Add(newMergedDecoder(1))
	f.Add(newLoop(ox.Whole("n", 7, 8, []int{}, 3), ox.Node("SplitToSequence", "s", names("h"), ox.Int("keepdims", 0)), ox.Node("SequenceInsert", "q", names("s", "h", "i")), ox.Node("SequenceErase", "e", names("q", "i")),
		ox.Node("SequenceAt", "t", names("e", "i")), ox.Node("ConcatFromSequence", "k", names("e"), ox.Int("new_axis", 1)), ox.Node("SequenceLength", "l", names("e")), ox.Node("Add", "r", names("t", "h"))))
	f.Add(ox.Model(ox.Input("x", 4, 3, 2), ox.Input("s", 3), ox.Output("y"), ox.Several("Scan", names("z", "y"), names("s", "x"), ox.Int("num_scan_inputs", 1), ox.List("scan_input_directions", 1), ox.List("scan_output_axes", -1),
		ox.Graph("body", ox.Input("h", 3), ox.Input("u", 3, 2), ox.Ints("a", 1), ox.Node("ReduceSum", "r", names("u", "a"), ox.Int("keepdims", 0)), ox.Node("Add", "t", names("h", "r")), ox.Output("t"), ox.Output("r")))))
	f.Add(ox.Model(ox.Input("x", 1, 12, 9), ox.Ints("image", 5, 6), ox.Ints("block", 2, 3), ox.Output("y"), ox.Node("Col2Im", "c", names("x", "image", "block"), ox.List("strides", 2, 2), ox.List("pads", 1, 0, 0, 1)),
		ox.Ints("size", 4, 9), ox.Node("CenterCropPad", "d", names("c", "size"), ox.List("axes", 2, 3)), ox.Node("Det", "e", names("d")), ox.Whole("n", 7, 8, []int{}, 9), ox.Node("HannWindow", "w", names("n")), ox.Node("Mul", "y", names("d", "w"))))
	f.Add(ox.Model(ox.Input("x", 3, 2, 4), ox.Constant("w", []int{1, 12, 4}, zeros(48)...), ox.Constant("r", []int{1, 12, 3}, zeros(36)...), ox.Whole("n", 6, 4, []int{2}, 2, 0), ox.Output("y"),
		ox.Several("LSTM", names("a", "y", "c"), names("x", "w", "r", "", "n"), ox.Texts("activations", "HardSigmoid", "Affine", "Softsign"), ox.Float("clip", 2), ox.Int("input_forget", 1), ox.Int("hidden_size", 3))))
	f.Add(ox.Model(ox.Input("x", 2, 5, 3), ox.Input("z", 2, 2, 3), ox.Ints("i", 4, 1), ox.Output("y"), ox.Node("TensorScatter", "t", names("x", "z", "i"), ox.Text("mode", "circular")), ox.Nibbles("w", 22, []int{3, 4}, 1, 2, 3, -4, 5, 6, 7, -8, 1, 1, 1, 1),
		ox.Constant("s", []int{2, 4}, 1, 1, 1, 1, 1, 1, 1, 1), ox.Node("DequantizeLinear", "d", names("w", "s"), ox.Int("axis", 0), ox.Int("block_size", 2)), ox.Node("MatMul", "y", names("t", "d"))))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkEnlarged(t, data, false, len(data), len(data), func(b []byte) error { _, err := ReadONNX(b, Options{}); return err })
		n, err := ReadONNX(data, Options{})
		var format *list.FormatError
		var open *DimError // a dimension that the caller has to give
		switch {
		case err == nil:
			checkNetwork(t, n)
			for i := range n.Layers {
				if l := &n.Layers[i]; l.Reason == "" && l.Lower.Op == layer.Op(0) {
					t.Fatalf("layer %q does nothing", l.Name)
				}
			}
		case !errors.As(err, &format) && !errors.As(err, &open):
			t.Fatalf("%T: %v", err, err)
		case strings.Contains(err.Error(), "\n"):
			t.Fatalf("%+q", err.Error())
		}
	})
}

// A tensor that two nodes make, or an input and a node, is neither.
func TestTensorsAreMadeOnce(t *testing.T) {
	for _, twice := range []string{"x", "a"} {
		file := ox.Model(ox.Input("x", 1, 4, 2, 2), ox.Output("y"),
			ox.Node("Relu", "a", []string{"x"}), ox.Node("Tanh", twice, []string{"a"}), ox.Node("Relu", "y", []string{twice}))
		_, err := ReadONNX(file, Options{})
		var f *list.FormatError
		if !errors.As(err, &f) || f.What != fmt.Sprintf("tensor %q is produced twice", twice) {
			t.Errorf("%s: %v", twice, err)
		}
	}
}
