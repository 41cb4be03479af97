package network

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"anesim/internal/material"
	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
	nt "anesim/internal/network/neuraltest"
	"anesim/internal/network/onnx"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// small is a network of what packages hold: weights in a file and here, batch
// normalization, a clamp, a mean, a product, several outputs.
const small = `program(1.3)
[buildInfo = dict<string, string>({{"k", "v"}})]
{
    func main<ios18>(tensor<fp32, [1, 4, 8, 8]> x) {
        string to = const()[name = string("to"), val = string("fp16")];
        tensor<fp16, [1, 4, 8, 8]> h = cast(x = x, dtype = to)[name = string("cast")];
        tensor<fp16, [8, 4, 3, 3]> w = const()[val = tensor<fp16, [8, 4, 3, 3]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(64)))];
        tensor<int32, [2]> two = const()[val = tensor<int32, [2]>([2, 2])];
        tensor<fp16, [1, 8, 4, 4]> c = conv(x = h, weight = w, strides = two, pad_type = string("custom"), pad = tensor<int32, [4]>([0, 1, 0, 1]), groups = int32(1))[name = string("stem")];
        tensor<fp16, [8]> ones = const()[val = tensor<fp16, [8]>([0x1p+0, 1, 1, 1, 1, 1, 1, 1])];
        tensor<fp16, [1, 8, 4, 4]> b = batch_norm(x = c, mean = ones, variance = ones, gamma = ones, beta = ones, epsilon = fp16(0x0p+0))[name = string("bn")];
        tensor<fp16, [1, 8, 4, 4]> r = relu(x = b)[name = string("relu")];
        tensor<fp16, [1, 8]> m = reduce_mean(x = r, axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(false))[name = string("mean")];
        tensor<fp16, [1, 4]> left, tensor<fp16, [1, 4]> right = split(x = m, num_splits = int32(2), axis = int32(1))[name = string("halves")];
        tensor<fp16, [1, 8]> j = concat(values = (left, right), axis = int32(1), interleave = bool(false))[name = string("join")];
        tensor<fp16, [3, 8]> l = const()[val = tensor<fp16, [3, 8]>([[1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 0]])];
        tensor<fp16, [1, 3]> y = linear(x = j, weight = l)[name = string("head")];
    } -> (y, m);
}
`

func newSmallWeights() coreml.Weights {
	var w coreml.Weights
	var data []byte
	for i := range 8 * 4 * 9 {
		data = onnx.Float16.Append(data, float64(i%5))
	}
	w.Add("fp16", data)
	return w
}

// writePackage writes program p with its weights as a package in the directory dir.
func writePackage(t *testing.T, dir string, p *mil.Program, w coreml.Weights) {
	t.Helper()
	files := fstest.MapFS{}
	for name, data := range coreml.Files(coreml.Encode(p), w) {
		files[name] = &fstest.MapFile{Data: data, Mode: 0o666}
	}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
}

func writeSmallPackage(t *testing.T) string {
	t.Helper()
	p, err := mil.Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "small.mlpackage")
	writePackage(t, dir, p, newSmallWeights())
	return dir
}

// A program's text and its package are the same network.
func TestPackage(t *testing.T) {
	dir := writeSmallPackage(t)
	n, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkNetwork(t, n)
	want := []string{
		"stem conv(x) 1x8x4x4 +bn+bn/2+relu", "mean reduce_mean(r) 1x8x1x1", "halves slice(m) 1x1x1x4", "halves/2 slice(m) 1x1x1x4",
		"join concat(left,right) 1x8x1x1", "head linear(j) 1x1x1x3",
	}
	if d := cmp.Diff(want, layerTexts(n)); d != "" {
		t.Errorf("layers (-want +got):\n%s", d)
	}
	l := &n.Layers[0]
	if len(l.Weights.Filter) != 8*4*9 || l.Weights.Filter[7].Float32() != 2 || l.Weights.Bias[0].Float32() != 0 {
		t.Errorf("%d weights, bias %v", len(l.Weights.Filter), l.Weights.Bias)
	}
	if d := cmp.Diff([]list.Output{{Name: "y", Tensor: "y", Dims: []int{1, 3}, Type: "float16"}, {Name: "m", Tensor: "m", Dims: []int{1, 8}, Type: "float16"}}, n.Results); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
	if in := n.Inputs[0]; in.Type != "float32" || !cmp.Equal(in.Dims, []int{1, 4, 8, 8}) {
		t.Errorf("input %+v", in)
	}
	file := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(file, []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	again, err := Open(file, Options{Dir: filepath.Join(dir, "Data", "com.apple.CoreML")})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(n.Layers, again.Layers, cmp.AllowUnexported(list.Layer{}, layer.Layer{})); d != "" {
		t.Errorf("text and package differ:\n%s", d)
	}
}

// Packed constants come out as the values they stand for.
func TestPackedConstants(t *testing.T) {
	for _, tc := range []struct{ name, op string }{
		{"affine", `constexpr_affine_dequantize()[axis = int32(0), quantized_data = tensor<uint8, [2, 2]>([130, 132, 126, 128]), scale = tensor<fp16, [2]>([0.5, 1]), zero_point = uint8(128)]`},
		{"palette", `constexpr_lut_to_dense()[indices = tensor<uint8, [1]>([27]), lut = tensor<fp16, [4]>([1, -2, 2, 0]), shape = tensor<uint32, [2]>([2, 2])]`},
		{"sparse", `constexpr_sparse_to_dense()[nonzero_data = tensor<fp16, [3]>([1, 2, -2]), mask = tensor<uint8, [1]>([7]), shape = tensor<uint32, [2]>([2, 2])]`},
		{"blocks", `constexpr_blockwise_shift_scale(data = tensor<int8, [2, 2]>([2, 4, -4, 0]), scale = tensor<fp16, [2, 1]>([[0.5], [0.5]]))`},
	} {
		n, err := ReadMIL([]byte(`program(1.3) { func main<ios18>(tensor<fp16, [1, 2]> x) {
			tensor<fp16, [2, 2]> w = `+tc.op+`;
			tensor<fp16, [1, 2]> y = linear(x = x, weight = w);
		} -> (y); }`), Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		want := map[string][]float32{"affine": {1, 2, -2, 0}, "palette": {0, 2, -2, 1}, "sparse": {1, 2, -2, 0}, "blocks": {1, 2, -2, 0}}[tc.name]
		var got []float32
		for _, h := range n.Layers[0].Weights.Filter {
			got = append(got, h.Float32())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s, %v (-want +got):\n%s", tc.name, layerTexts(n), d)
		}
	}
}

// Weights that a call computes from an input cannot be unpacked when the file is read. No file is
// missing then, and the operation is the one that is not modelled.
func TestPackedInput(t *testing.T) {
	for _, op := range []string{
		"constexpr_affine_dequantize(quantized_data = q, scale = fp16(0.5), axis = int32(0))",
		"constexpr_lut_to_dense(indices = q, lut = tensor<fp16, [2]>([1, 2]))",
		"constexpr_sparse_to_dense(nonzero_data = tensor<fp16, [1]>([1]), mask = q)",
		"constexpr_blockwise_shift_scale(data = q, scale = tensor<fp16, [1, 1]>([1]))",
		"constexpr_cast(source_val = q, output_dtype = string(\"fp16\"))",
	} {
		n, err := ReadMIL([]byte(`program(1.3) { func main<ios18>(tensor<fp16, [1, 2]> x, tensor<int8, [2, 2]> q) {
			tensor<fp16, [2, 2]> w = `+op+`;
			tensor<fp16, [1, 2]> y = linear(x = x, weight = w);
		} -> (y); }`), Options{})
		if err != nil {
			t.Errorf("%s: %v", op, err)
			continue
		}
		if first := n.Layers[0]; len(n.Absent) > 0 || first.Name != "w" || !strings.Contains(first.Reason, "computed") {
			t.Errorf("%s: missing files %q, layer %s: %s", op, n.Absent, first.Name, first.Reason)
		}
	}
}

func TestCoreMLErrors(t *testing.T) {
	head := "program(1.3)\n{ func main<ios18>(tensor<fp16, [1, 2]> x) {\n"
	for _, tc := range []struct{ text, want string }{
		{"", `line 1: unexpected ""; want a name`},
		{"func", `line 1: unexpected "func"; want "program"`},
		{head + "tensor<fp16, [1, 2]> y = relu(x = x)\n} -> (y); }", `line 4: unexpected "}"; want ";"`},
		{head + "tensor<fp16, [2]> w = const()[val = tensor<fp16, [2]>([1])];\n} -> (w); }", "line 3: value count 1 does not match shape [2]"},
		{head + "tensor<fp16, [2]> w = const();\n} -> (w); }", `line 3: invalid const operation; want one "val" value and one result`},
		{strings.Repeat("program(1.0)[a = ", 1) + strings.Repeat("(", 99), "line 1: nesting of types and values exceeds the limit of 32 levels"},
	} {
		_, err := ReadMIL([]byte(tc.text), Options{})
		var f *list.FormatError
		if !errors.As(err, &f) || err.Error() != tc.want {
			t.Errorf("%.40q:\n got %v\nwant %s", tc.text, err, tc.want)
		}
	}
	p, err := mil.Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	good := coreml.Encode(p)
	for i := range good {
		if _, err := ReadCoreML(good[:i], Options{}); err == nil {
			t.Fatalf("cut at %d of %d", i, len(good))
		}
	}
	// Paths stay within the model's directory, links included.
	for _, path := range []string{"../secret", "/etc/passwd", "@model_path/../../x"} {
		_, err := ReadMIL([]byte(strings.ReplaceAll(small, "@model_path/weights/weight.bin", path)), Options{Dir: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), "want a path within") {
			t.Errorf("%s: %v", path, err)
		}
	}
	w := newSmallWeights()
	for _, tc := range []struct {
		off  uint64
		elem mil.Elem
		n    int
	}{{0, "fp16", 288}, {63, "fp16", 288}, {64, "fp32", 288}, {64, "fp16", 289}, {1 << 63, "fp16", 1}, {128, "fp16", 288}} {
		if _, err := coreml.Weights(w).Values(tc.off, tc.elem, tc.n); err == nil {
			t.Errorf("%+v is read", tc)
		}
	}
}

// Real files keep their operators and shapes.
func TestSharedNetworks(t *testing.T) {
	for _, tc := range []struct {
		file            string
		nodes, unshaped int
	}{{"add.mil", 1, 0}, {"tiny_mobilenet.mlpackage", 13, 0}, {"yolo_structure_only.mlmodel", 177, 0}} {
		n, err := Open(material.File(t, "networks/"+tc.file), Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.file, err)
			continue
		}
		checkNetwork(t, n)
		unshaped := 0
		for i := range n.Layers {
			if n.Layers[i].Reason != "" {
				unshaped++
				t.Logf("%s: %s: %s", tc.file, n.Layers[i].Name, n.Layers[i].Reason)
			}
		}
		if len(n.Nodes) != tc.nodes || unshaped != tc.unshaped {
			t.Errorf("%s: %d nodes, %d of no layer", tc.file, len(n.Nodes), unshaped)
		}
	}
}

func FuzzReadMIL(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("program(1.0) { func main<ios16>(tensor<fp16, [1, 10]> x) { tensor<fp16, [1, 10]> y = mul(x = x, y = tensor<fp16, []>(0x1p-3))[name = tensor<string, []>(\"m\")]; } -> (y); }"))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkEnlarged(t, data, true, len(data), len(data), func(b []byte) error { _, err := ReadMIL(b, Options{}); return err })
		checkRead(t, ReadMIL, data)
	})
}

// newLayersModel returns a model of layers: of an image, with several kinds of parameters and of weights.
func newLayersModel() []byte {
	names := func(list ...string) []string { return list }
	quantized := nt.Message{}.Bytes(30, []byte{0x1b, 0xe4}).Bytes(40, nt.Message{}.Int(1, 2).Bytes(102, nt.Message{}.Bytes(1, make([]byte, 16))))
	return nt.Model(nt.Join(nt.Image("photo", 8, 8, 20), nt.Input("scale", 2), nt.Output("y", 4)), false,
		nt.Message{}.Bytes(2, nt.Message{}.Text(1, "photo").Bytes(10, nt.Message{}.Float(10, 0.5).Float(21, 1))),
		nt.Layer("conv", 100, nt.Join(nt.Message{}.Int(1, 2).Int(2, 3), nt.Packed(30, 2, 2), nt.Message{}.Bytes(51, nil).Int(70, 1),
			nt.Weights(90, make([]float64, 54)...), nt.Weights(91, 1, 2)), names("photo"), names("a")),
		nt.Layer("relu", 130, nt.Message{}.Bytes(25, nt.Weights(1, 0.5, 0.25)), names("a"), names("b")),
		nt.Layer("scale", 231, nil, names("b", "scale"), names("c")),
		nt.Layer("pool", 120, nt.Join(nt.Packed(10, 2, 2), nt.Packed(20, 2, 2), nt.Message{}.Bytes(32, nil)), names("c"), names("d")),
		nt.Layer("flat", 301, nil, names("d"), names("e")),
		nt.Layer("fc", 140, nt.Message{}.Int(1, 8).Int(2, 1).Bytes(20, quantized), names("e"), names("f")),
		nt.Layer("fill", 1085, nt.Packed(2, 1, 1, 4, 1, 1), nil, names("g")),
		nt.Layer("add", 880, nil, names("f", "g"), names("h")),
		nt.Layer("slice", 995, nt.Join(nt.Packed(1, 0, 0, 0, 0, 0), nt.Packed(3, 1, 1, 4, 1, 1), nt.Packed(5, 1, 1, 1, 1, 1)), names("h"), names("i")),
		nt.Layer("softmax", 175, nil, names("i"), names("y")))
}

// A model of layers is read whole, under the names that its file has.
func TestReadLayers(t *testing.T) {
	n, err := ReadCoreML(newLayersModel(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkNetwork(t, n)
	for i := range n.Layers {
		if l := &n.Layers[i]; l.Reason != "" {
			t.Errorf("%s: %s", l.Name, l.Reason)
		}
	}
	if in := n.Inputs; len(in) != 2 || in[0].Name != "photo" || in[0].Type != "image" || in[1].Name != "scale" || in[1].Type != "float32" || len(n.Results) != 1 || n.Results[0].Name != "y" {
		t.Errorf("inputs %+v, results %+v", in, n.Results)
	}
}

func FuzzReadCoreML(f *testing.F) {
	p, err := mil.Parse(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(coreml.Encode(p))
	f.Add(newLayersModel())
	f.Fuzz(func(t *testing.T, data []byte) {
		checkEnlarged(t, data, false, len(data), len(data), func(b []byte) error { _, err := ReadCoreML(b, Options{}); return err })
		checkRead(t, ReadCoreML, data)
	})
}

// checkRead checks that a reader returns either a consistent network or an error with a position.
func checkRead(t *testing.T, read func([]byte, Options) (*list.Network, error), data []byte) {
	n, err := read(data, Options{})
	var format *list.FormatError
	var dims *DimError
	switch {
	case err == nil:
		checkNetwork(t, n)
	case !errors.As(err, &format) && !errors.As(err, &dims):
		t.Fatalf("%T: %v", err, err)
	case strings.Contains(err.Error(), "\n"):
		t.Fatalf("%+q", err.Error())
	}
}

// Bands, windows and edges of Core ML are operators with constant matrices or views.
func TestBandsOfMIL(t *testing.T) {
	for op, want := range map[string]string{
		`cumsum(x = x, axis = int32(-1), exclusive = bool(false), reverse = bool(false))`:                "y linear(x)",
		`band_part(x = x, lower = int32(-1), upper = int32(0))`:                                          "mul(x,",
		`local_response_norm(x = x, size = int32(3))`:                                                    "mul(x,",
		`crop(x = x, crop_height = tensor<int32, [2]>([0, 0]), crop_width = tensor<int32, [2]>([0, 0]))`: "",
	} {
		n, err := ReadMIL([]byte(`program(1.3) { func main<ios18>(tensor<fp16, [1, 4, 6, 6]> x) {
			tensor<fp16, [1, 4, 6, 6]> y = `+op+`;
		} -> (y); }`), Options{})
		if err != nil {
			t.Errorf("%s: %v", op, err)
			continue
		}
		list := layerTexts(n)
		if programs, _, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1}); want != "" && (len(programs) != 1 || !strings.Contains(strings.Join(list, "\n"), want)) || want == "" && len(list) != 0 {
			t.Errorf("%s: %q", op, list)
		}
	}
}
