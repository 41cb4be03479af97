package agreement

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anesim/bench/internal/onnxruntime"
	"anesim/bench/internal/reference/tensor"
	"anesim/internal/material"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

// regressionGraphs are networks whose operators were once wrong in combination, although each is
// right alone. Every result is an output that no other node reads.
var regressionGraphs = []struct {
	name  string
	parts []ox.Message
}{
	{"average, then a factor", []ox.Message{
		ox.Input("x", 1, 2, 4, 4), ox.Node("AveragePool", "a", inputNames("x"), ox.List("kernel_shape", 2, 2)), scalar("c", 3), ox.Node("Mul", "y", inputNames("a", "c")),
	}},
	{"product whose left side is made and read as weights", []ox.Message{
		ox.Input("x", 1, 32), ox.Node("Relu", "a", inputNames("x")), ox.Node("Transpose", "b", inputNames("a"), ox.List("perm", 1, 0)), ox.Node("MatMul", "y", inputNames("a", "b")),
	}},
	{"product of several matrices with one transpose", []ox.Message{
		ox.Input("x", 3, 5), ox.Node("Concat", "a", inputNames("x", "x"), ox.Int("axis", 1)), ox.Node("Transpose", "b", inputNames("a"), ox.List("perm", 1, 0)), ox.Node("MatMul", "y", inputNames("a", "b")),
	}},
	{"product, factor, ReLU", []ox.Message{
		ox.Input("x", 4, 6), ox.Input("z", 6, 3), scalar("c", 0.5), ox.Node("MatMul", "a", inputNames("x", "z")), ox.Node("Mul", "b", inputNames("a", "c")), ox.Node("Relu", "y", inputNames("b")),
	}},
	{"product, view, factors of other columns", []ox.Message{
		ox.Input("x", 4, 8), weightConstant("w", 8, 6), ox.Ints("s", 2, 12), weightConstant("c", 12),
		ox.Node("MatMul", "a", inputNames("x", "w")), ox.Node("Reshape", "b", inputNames("a", "s")), ox.Node("Mul", "y", inputNames("b", "c")),
	}},
	{"product with a vector, then a factor of its rows", []ox.Message{
		ox.Input("x", 4, 8), weightConstant("w", 8), weightConstant("c", 4), ox.Node("MatMul", "a", inputNames("x", "w")), ox.Node("Mul", "y", inputNames("a", "c")),
	}},
	{"quotient of a tensor by itself", []ox.Message{ox.Input("x", 2, 4), ox.Node("Exp", "a", inputNames("x")), ox.Node("Div", "y", inputNames("a", "a"))}},
	{"transposed convolution with more padding behind", []ox.Message{
		ox.Input("x", 1, 2, 3, 3), weightConstant("w", 2, 2, 2, 2), weightConstant("b", 2),
		ox.Node("ConvTranspose", "y", inputNames("x", "w", "b"), ox.List("strides", 3, 3), ox.List("output_padding", 2, 2)),
	}},
	{"transposed convolution whose columns are written at once", []ox.Message{
		ox.Input("x", 2, 8, 4, 5), weightConstant("w", 8, 32, 2, 2), weightConstant("b", 32),
		ox.Node("ConvTranspose", "a", inputNames("x", "w", "b"), ox.List("strides", 2, 2)), ox.Node("Relu", "y", inputNames("a")),
	}},
	{"transposed convolution of long steps", []ox.Message{
		ox.Input("x", 1, 16, 3, 2), weightConstant("w", 16, 64, 8, 4), weightConstant("b", 64),
		ox.Node("ConvTranspose", "y", inputNames("x", "w", "b"), ox.List("strides", 4, 4), ox.List("pads", 2, 0, 2, 0)),
	}},
	{"transposed convolution in shares", []ox.Message{
		ox.Input("x", 1, 512, 2, 3), weightConstant("w", 512, 512, 2, 2),
		ox.Node("ConvTranspose", "y", inputNames("x", "w"), ox.List("strides", 2, 2)),
	}},
	{"transposed convolution of a large picture", []ox.Message{
		ox.Input("x", 2, 4, 30, 27), weightConstant("w", 4, 8, 3, 4), weightConstant("b", 8),
		ox.Node("ConvTranspose", "y", inputNames("x", "w", "b"), ox.List("strides", 2, 2), ox.List("pads", 1, 1, 1, 2), ox.List("output_padding", 1, 0)),
	}},
	{"transposed convolution that ends behind its taps", []ox.Message{
		ox.Input("x", 1, 3, 5, 4), weightConstant("w", 3, 32, 2, 3), weightConstant("b", 32),
		ox.Node("ConvTranspose", "y", inputNames("x", "w", "b"), ox.List("strides", 2, 2), ox.List("output_padding", 1, 1)),
	}},
	{"logarithm of improbable classes", []ox.Message{
		ox.Input("x", 2, 5), scalar("c", 12), ox.Node("Mul", "a", inputNames("x", "c")), ox.Node("LogSoftmax", "y", inputNames("a"), ox.Int("axis", -1)),
	}},
	{"one column and a scalar bias", []ox.Message{ox.Input("x", 3, 4), weightConstant("w", 4, 1), scalar("c", 0.5), ox.Node("Gemm", "y", inputNames("x", "w", "c"))}},
	{"minimum, ReLU", []ox.Message{ox.Input("x", 2, 8), scalar("c", 0.5), ox.Node("Min", "a", inputNames("x", "c")), ox.Node("Relu", "y", inputNames("a"))}},
	{"result without axes", []ox.Message{
		ox.Input("x", 2, 4), scalar("c", 0.5), ox.Node("ReduceMax", "a", inputNames("x"), ox.Int("keepdims", 0)), ox.Node("Mul", "y", inputNames("a", "c")),
	}},
	{"gate of squeeze and excitation", []ox.Message{
		ox.Input("x", 1, 8), weightConstant("w", 8, 4), ox.Ints("s", 1, 4, 1, 1), ox.Node("Gemm", "a", inputNames("x", "w")), ox.Node("Reshape", "b", inputNames("a", "s")), ox.Node("Sigmoid", "y", inputNames("b")),
	}},
	{"product seen as heads", []ox.Message{
		ox.Input("x", 4, 8), ox.Input("z", 2, 6, 3), weightConstant("w", 8, 6), ox.Ints("s", 2, 2, 6),
		ox.Node("MatMul", "a", inputNames("x", "w")), ox.Node("Reshape", "b", inputNames("a", "s")), ox.Node("MatMul", "y", inputNames("b", "z")),
	}},
	{"wide product, product", []ox.Message{
		ox.Input("x", 3, 2), ox.Input("z", 2, 140), weightConstant("w", 140, 2), ox.Node("MatMul", "a", inputNames("x", "z")), ox.Node("MatMul", "y", inputNames("a", "w")),
	}},
	{"slopes of channels in five axes", []ox.Message{ox.Input("x", 2, 3, 3, 2, 2), weightConstant("s", 3, 1, 1, 1), ox.Node("PRelu", "y", inputNames("x", "s"))}},
	{"output between transposes", []ox.Message{
		ox.Input("x", 1, 2, 3), ox.Node("Transpose", "a", inputNames("x"), ox.List("perm", 0, 2, 1)), ox.Node("Relu", "b", inputNames("a")), ox.Output("b"),
		ox.Node("Transpose", "y", inputNames("b"), ox.List("perm", 0, 2, 1)),
	}},
	{"one tensor as heads and as a matrix", []ox.Message{
		ox.Input("x", 2, 4, 8), ox.Ints("s", 8, 4), ox.Ints("r", 8, 8), weightConstant("u", 4, 5), weightConstant("w", 8, 5),
		ox.Node("Transpose", "t", inputNames("x"), ox.List("perm", 0, 2, 1)), ox.Node("MatMul", "a", inputNames("x", "t")), ox.Node("Reshape", "b", inputNames("a", "s")), ox.Node("MatMul", "c", inputNames("b", "u")),
		ox.Node("Reshape", "d", inputNames("x", "r")), ox.Node("MatMul", "e", inputNames("d", "w")), ox.Node("Add", "y", inputNames("c", "e")),
	}},
	{"small factors behind a convolution", []ox.Message{
		ox.Input("x", 1, 2, 4, 4), weightConstant("w", 3, 2, 1, 1), scalar("c", 1e-4), scalar("d", 1e4), ox.Node("Conv", "a", inputNames("x", "w")), ox.Node("Mul", "b", inputNames("a", "c")), ox.Node("Relu", "r", inputNames("b")), ox.Node("Mul", "y", inputNames("r", "d")),
	}},
	{"small alpha", []ox.Message{
		ox.Input("x", 3, 4), weightConstant("w", 4, 5), scalar("c", 1e3), ox.Node("Gemm", "a", inputNames("x", "w"), ox.Float("alpha", 1e-4)), ox.Node("Relu", "b", inputNames("a")), ox.Node("Mul", "y", inputNames("b", "c")),
	}},
	{"computed scalar condition", []ox.Message{
		ox.Input("x", 2, 4), ox.Input("z", 2, 4), scalar("c", 0), ox.Node("ReduceMax", "m", inputNames("x"), ox.Int("keepdims", 0)), ox.Node("Greater", "g", inputNames("m", "c")), ox.Node("Where", "y", inputNames("g", "x", "z")),
	}},
	{"quantized halves", []ox.Message{
		ox.Input("x", 4, 8), scalar("s", 1./32), ox.Whole("p", 2, 1, []int{}, 7), ox.Node("QuantizeLinear", "q", inputNames("x", "s", "p")), ox.Node("DequantizeLinear", "y", inputNames("q", "s", "p")),
	}},
	{"averages over padded volumes", []ox.Message{
		ox.Input("x", 1, 2, 3, 4, 5), ox.Node("AveragePool", "y", inputNames("x"), ox.List("kernel_shape", 2, 2, 3), ox.List("pads", 1, 0, 1, 0, 1, 1)),
	}},
	{"norms of windows", []ox.Message{ox.Input("x", 1, 2, 6, 6), ox.Node("LpPool", "y", inputNames("x"), ox.List("kernel_shape", 3, 3), ox.Int("p", 2))}},
	{"vector times its transpose", []ox.Message{
		ox.Input("x", 2, 1, 17), weightConstant("w", 2, 1, 2), ox.Node("Conv", "c", inputNames("x", "w")), ox.Output("c"),
		ox.Node("Transpose", "b", inputNames("x"), ox.List("perm", 0, 2, 1)), ox.Node("MatMul", "y", inputNames("x", "b")),
	}},
	{"rows without a common length", []ox.Message{
		ox.Input("x", 2, 5, 3, 17), ox.Ints("s", 17, 2), ox.Node("ReduceMax", "a", inputNames("x"), ox.List("axes", 1, 2), ox.Int("keepdims", 0)), ox.Node("Reshape", "b", inputNames("a", "s")), ox.Node("MatMul", "y", inputNames("b", "a")),
	}},
	{"sum of axes in turn", []ox.Message{ox.Input("x", 2, 3, 4, 3, 5), ox.Node("ReduceLogSumExp", "y", inputNames("x"), ox.List("axes", 0, 2, 4), ox.Int("keepdims", 0))}},
	{"constant of axes in turn", []ox.Message{ox.Input("x", 2, 3, 4, 3, 5), weightConstant("c", 1, 3, 1, 3, 1), ox.Node("Mul", "y", inputNames("x", "c"))}},
	{"mask of a dropout", []ox.Message{ox.Input("x", 2, 4), ox.Several("Dropout", inputNames("a", "y"), inputNames("x")), ox.Output("a")}},
	{"scale of zeros", []ox.Message{
		ox.Input("x", 2, 4), scalar("c", 0), ox.Node("Mul", "a", inputNames("x", "c")), ox.Several("DynamicQuantizeLinear", inputNames("q", "y", "p"), inputNames("a")), ox.Output("q"), ox.Output("p"),
	}},
	{"branches with constants of one name", []ox.Message{
		ox.Input("x", 2, 4), ox.Whole("t", 9, 1, []int{}, 1), ox.Whole("f", 9, 1, []int{}, 0), ox.Node("If", "a", inputNames("t"), scaledBranch("then_branch", 2), scaledBranch("else_branch", 3)),
		ox.Node("If", "b", inputNames("f"), scaledBranch("then_branch", 5), scaledBranch("else_branch", 7)), ox.Node("Add", "y", inputNames("a", "b")),
	}},
	{"mask of the least float32", []ox.Message{
		ox.Input("x", 2, 4), scalar("z", 0), scalar("m", -3.4028235e38), ox.Node("Mul", "z0", inputNames("x", "z")), ox.Node("Mul", "a", inputNames("z0", "m")), ox.Node("Add", "y", inputNames("a", "x")),
	}},
}

func inputNames(names ...string) []string { return names }

func scalar(name string, v float32) ox.Message { return ox.Constant(name, []int{}, v) }

// weightConstant returns a constant of shape dims with odd multiples of 1/64. The values are the
// same in every run.
func weightConstant(name string, dims ...int) ox.Message {
	n := 1
	for _, d := range dims {
		n *= d
	}
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(name))))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(2*r.IntN(128)-127) / 64
	}
	return ox.Constant(name, dims, v...)
}

// scaledBranch returns a branch that multiplies x by v. The names in all such branches are the same.
func scaledBranch(attribute string, v float32) ox.Message {
	return ox.Graph(attribute, scalar("w", v), ox.Node("Mul", "product", inputNames("x", "w")), ox.Output("product"))
}

// TestCombinations compares the networks with their definition, with tensors in L2 and in
// memory.
func TestCombinations(t *testing.T) {
	for _, tc := range regressionGraphs {
		t.Run(tc.name, func(t *testing.T) {
			compareFile(t, ox.Model(append([]ox.Message{ox.Output("y")}, tc.parts...)...))
		})
	}
}

// TestSmallerNearest resizes with operator set 10, which rounds a position up to the nearest element
// in a smaller result and down in a larger one. The values are those of ONNX's operator test.
func TestSmallerNearest(t *testing.T) {
	file := ox.Model(ox.Input("x", 1, 1, 2, 4), ox.Constant("s", []int{4}, 1, 1, 0.6, 0.6), ox.Node("Resize", "y", inputNames("x", "s")), ox.Output("y"))
	file = append(file, ox.Message{}.Bytes(8, ox.Message{}.Int(2, 10))...)
	x := &tensor.Tensor{Type: onnx.Float, Dims: []int{1, 1, 2, 4}, Data: []float64{1, 2, 3, 4, 5, 6, 7, 8}}
	n, err := Read(file, map[string]*tensor.Tensor{"x": x})
	if err != nil {
		t.Fatal(err)
	}
	if y := n.Exact["y"].Data; len(y) != 2 || y[0] != 1 || y[1] != 3 {
		t.Errorf("the definition is %v, want 1 and 3", y)
	}
	compareFile(t, file)
}

// compareFile computes an ONNX file on the engine for random inputs and fails the test if the
// outputs differ from those of package reference.
func compareFile(t *testing.T, file []byte) {
	t.Helper()
	m, err := onnx.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]*tensor.Tensor{}
	r := rand.New(rand.NewPCG(1, 33))
	for _, in := range m.Inputs {
		x := &tensor.Tensor{Type: in.Type, Dims: []int{}}
		n := 1
		for _, d := range in.Dims {
			x.Dims = append(x.Dims, int(d.Size))
			n *= int(d.Size)
		}
		for range n {
			x.Data = append(x.Data, float64(2*r.IntN(128)-127)/64)
		}
		inputs[in.Name] = x
	}
	n, err := Read(file, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, inMemory := range []bool{false, true} {
		results, err := Run(file, inputs, inMemory)
		if err != nil {
			t.Fatal(err)
		}
		if what := n.compare(results); what != "" {
			t.Errorf("in memory %v: %s", inMemory, what)
		}
	}
}

// TestSharedGraphs compares graphs with the values of onnxruntime, if they are available.
func TestSharedGraphs(t *testing.T) {
	for _, file := range material.Files(t, "graphs/*/net.onnx") {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			if what := compareSharedGraph(t, file); what != "" {
				t.Error(what)
			}
		})
	}
}

// compareSharedGraph runs the ONNX file at path on the engine with the inputs beside it, and compares
// the outputs with the values of onnxruntime beside it. It returns the differences, or the reason why
// the outputs cannot be computed, or "".
func compareSharedGraph(t *testing.T, path string) string {
	t.Helper()
	dir := filepath.Dir(path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Read(data, readArrays(t, dir, "in_"))
	if err != nil {
		return err.Error()
	}
	for name, ref := range readArrays(t, dir, "ref_") {
		n.Exact[name] = ref
	}
	results, err := Run(data, n.Inputs, false)
	if err != nil {
		return err.Error()
	}
	return n.compare(results)
}

// readArrays reads the .npy files in dir whose names begin with prefix. The keys of the result are
// the rest of their names.
func readArrays(t *testing.T, dir, prefix string) map[string]*tensor.Tensor {
	t.Helper()
	list := map[string]*tensor.Tensor{}
	files, _ := filepath.Glob(filepath.Join(dir, prefix+"*.npy"))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		x, err := onnxruntime.DecodeArray(b)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		list[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), prefix), ".npy")] = x
	}
	return list
}
