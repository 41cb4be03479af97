package network

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/network/coreml"
	"anesim/internal/network/mil"
	"anesim/internal/network/onnx"
	"anesim/internal/network/onnxtest"
	"anesim/loader/layer"
	"anesim/loader/network/bundle"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
)

// writePackedPackage writes a package with a convolution, a matmul and a linear layer whose weights
// are packed: as a palette of 16 values, as bytes with a scale for each column, and as a mask. It
// returns the path.
func writePackedPackage(t *testing.T) string {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 9))
	var w coreml.Weights
	add := func(elem mil.Elem, n int, value func(i int) float64) uint64 {
		to := map[mil.Elem]onnx.DataType{"uint8": onnx.Uint8, "int8": onnx.Int8, "fp16": onnx.Float16}[elem]
		var data []byte
		for i := range n {
			data = to.Append(data, value(i))
		}
		return w.Add(elem, data)
	}
	index := add("uint8", 32*16*9/2, func(int) float64 { return float64(r.IntN(256)) })
	bytes := add("int8", 32*64, func(int) float64 { return float64(r.IntN(256) - 128) })
	mask := add("uint8", 48*64/8, func(int) float64 { return 0x11 })
	kept := add("fp16", 48*64/4, func(int) float64 { return r.Float64() - 0.5 })
	var lut, scales []string
	for i := range 16 {
		lut = append(lut, fmt.Sprint(float64(i-8)/16))
	}
	for i := range 64 {
		scales = append(scales, fmt.Sprint(float64(i+1)/4096))
	}
	text := fmt.Sprintf(`program(1.0) {
    func main<ios16>(tensor<fp16, [1, 16, 8, 8]> x) {
        tensor<fp16, [32, 16, 3, 3]> a = constexpr_lut_to_dense()[indices = tensor<uint8, [2304]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(%d))), lut = tensor<fp16, [16]>([%s]), shape = tensor<uint32, [4]>([32, 16, 3, 3])];
        tensor<fp16, [1, 32, 8, 8]> c = conv(x = x, weight = a, pad_type = string("same"))[name = string("stem")];
        tensor<fp16, [1, 32]> m = reduce_mean(x = c, axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(false))[name = string("mean")];
        tensor<fp16, [32, 64]> b = constexpr_affine_dequantize()[axis = int32(1), quantized_data = tensor<int8, [32, 64]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(%d))), scale = tensor<fp16, [64]>([%s]), zero_point = int8(0)];
        tensor<fp16, [1, 64]> p = matmul(x = m, y = b)[name = string("wide")];
        tensor<fp16, [48, 64]> s = constexpr_sparse_to_dense()[nonzero_data = tensor<fp16, [768]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(%d))), mask = tensor<uint8, [384]>(BLOBFILE(path = string("@model_path/weights/weight.bin"), offset = uint64(%d))), shape = tensor<uint32, [2]>([48, 64])];
        tensor<fp16, [1, 48]> y = linear(x = p, weight = s)[name = string("head")];
    } -> (y);
}`, index, strings.Join(lut, ", "), bytes, strings.Join(scales, ", "), kept, mask)
	p, err := mil.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "packed.mlpackage")
	writePackage(t, dir, p, w)
	return dir
}

// Weights that a package has packed keep their form up to the layers.
func TestPackedWeightsKeepTheirForm(t *testing.T) {
	n, err := Open(writePackedPackage(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkNetwork(t, n)
	want := map[string]layer.Form{"stem": layer.FormPalette, "wide": layer.FormInt8, "head": layer.FormSparse}
	for i := range n.Layers {
		l := &n.Layers[i]
		if w := l.Weights; w.Form != want[l.Name] || (len(w.Scale) > 0) != (w.Form == layer.FormInt8) {
			t.Errorf("%s has weights as %v with %d scales", l.Name, w.Form, len(w.Scale))
		}
	}
	packed, reasons, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
	for i := range n.Layers {
		n.Layers[i].Weights.Form = layer.FormFP16
	}
	plain, _, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
	if len(packed) != 1 || len(plain) != 1 {
		t.Fatalf("%d and %d programs: %q", len(packed), len(plain), reasons)
	}
	coefficients := func(p partition.Program) (n int) {
		for i := range p.Segments {
			if s := &p.Segments[i]; s.Name == "__KERN_0" || strings.Contains(s.Name, "TEXT") {
				n += len(s.Data)
			}
		}
		return n
	}
	if got, all := coefficients(packed[0]), coefficients(plain[0]); got >= all*2/3 {
		t.Errorf("%d bytes of program and coefficients, %d as fp16", got, all)
	}
}

// A cache of programs tells forms and scales apart.
func TestKeysTellFormsApart(t *testing.T) {
	key := func(w layer.Weights) string {
		n := list.Network{Layers: []list.Layer{{Name: "a", Weights: w}}}
		var b strings.Builder
		if err := errors.Join(bundle.WriteStructure(&n, &b), bundle.WriteWeights(&n, &b)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	seen := map[string]bool{}
	for _, w := range []layer.Weights{
		{Filter: []float16.Float16{1}}, {Filter: []float16.Float16{1}, Form: layer.FormPalette},
		{Filter: []float16.Float16{1}, Form: layer.FormInt8, Scale: []float16.Float16{1}},
		{Filter: []float16.Float16{1}, Form: layer.FormInt8, Scale: []float16.Float16{2}},
	} {
		if k := key(w); seen[k] {
			t.Errorf("%+v has the key of another", w)
		} else {
			seen[k] = true
		}
	}
}

// The newer packed constants: indices and bytes of the elements that a mask has.
func TestSparselyPackedConstants(t *testing.T) {
	for name, op := range map[string]string{
		"palette": `tensor<uint1, [2, 2]> m, tensor<fp16, [3]> v = constexpr_lut_to_sparse(indices_mask = tensor<uint1, [2, 2]>([1, 1, 1, 0]), indices_nonzero_data = tensor<uint2, [3]>([1, 2, 0]), lut = tensor<fp16, [1, 1, 4, 1]>([-2, 1, 2, 0]));`,
		"bytes":   `tensor<uint1, [2, 2]> m, tensor<fp16, [3]> v = constexpr_sparse_blockwise_shift_scale(data_mask = tensor<uint1, [2, 2]>([1, 1, 1, 0]), nonzero_data = tensor<int8, [3]>([2, 4, -2]), scale = tensor<fp16, [2, 1]>([0.5, 1]));`,
	} {
		n, err := ReadMIL([]byte(`program(1.3) { func main<ios18>(tensor<fp16, [1, 2]> x) {
			`+op+`
			tensor<fp16, [2, 2]> w = constexpr_sparse_to_dense(nonzero_data = v, mask = m);
			tensor<fp16, [1, 2]> y = linear(x = x, weight = w);
		} -> (y); }`), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []float32
		for _, h := range n.Layers[0].Weights.Filter {
			got = append(got, h.Float32())
		}
		form := map[string]layer.Form{"palette": layer.FormPalette, "bytes": layer.FormInt8}[name]
		if !slices.Equal(got, []float32{1, 2, -2, 0}) || n.Layers[0].Weights.Form != form {
			t.Errorf("%s: %v as %v, %v", name, got, n.Layers[0].Weights.Form, layerTexts(n))
		}
	}
}

// Weights that an ONNX graph dequantises keep their bytes.
func TestDequantisedWeightsKeepTheirForm(t *testing.T) {
	data := onnxtest.Model(
		onnxtest.Input("x", 1, 3), onnxtest.Output("y"),
		onnxtest.Constant("q", []int{2, 3}, 1, -128, 3, 127, 5, 6), onnxtest.Constant("scale", []int{2}, 0.5, 0.25),
		onnxtest.Node("DequantizeLinear", "w", []string{"q", "scale"}, onnxtest.Int("axis", 0)),
		onnxtest.Node("Gemm", "y", []string{"x", "w"}, onnxtest.Int("transB", 1)),
	)
	n, err := ReadONNX(data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := n.Layers[0].Weights
	if w.Form != layer.FormInt8 || !slices.Equal(w.Scale, []float16.Float16{float16.Fromfloat32(0.5), float16.Fromfloat32(0.25)}) {
		t.Errorf("%v with scales %v", w.Form, w.Scale)
	}
}
