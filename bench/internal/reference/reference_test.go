package reference

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

// floats returns a float32 tensor with the given shape and values.
func floats(dims []int, values ...float64) *tensor.Tensor {
	return &tensor.Tensor{Type: onnx.Float, Dims: dims, Data: values}
}

// TestOperators compares operators with values computed by hand. Each graph has the input x,
// constants, and nodes, of which the last computes y.
func TestOperators(t *testing.T) {
	for _, c := range operatorTests() {
		t.Run(c.name, func(t *testing.T) {
			got, err := runGraph(c.x, Options{}, c.parts...)
			if err != nil {
				t.Fatal(err)
			}
			if err := compare(got, c.want, 1e-12); err != nil {
				t.Errorf("%v: got %v", err, got.Data)
			}
		})
	}
}

// An operatorTest is a graph from x to y.
type operatorTest struct {
	name  string
	x     *tensor.Tensor
	parts []ox.Message
	want  *tensor.Tensor
}

func operatorTests() []operatorTest {
	row := floats([]int{4}, -2, -0.5, 0.5, 3)
	square := floats([]int{1, 1, 3, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	matrix := floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)
	in := func(names ...string) []string { return names }
	return []operatorTest{
		{"LeakyRelu", row, part(ox.Node("LeakyRelu", "y", in("x"), ox.Float("alpha", 0.5))), floats([]int{4}, -1, -0.25, 0.5, 3)},
		{"Round halves to even", row, part(ox.Node("Round", "y", in("x"))), floats([]int{4}, -2, 0, 0, 3)},
		{"Add broadcasts", matrix, part(ox.Constant("b", []int{2, 1}, 10, 20), ox.Node("Add", "y", in("x", "b"))),
			floats([]int{2, 3}, 11, 12, 13, 24, 25, 26)},
		{"Clip with one bound left out", row, part(ox.Constant("high", []int{}, 1), ox.Node("Clip", "y", in("x", "", "high"))),
			floats([]int{4}, -2, -0.5, 0.5, 1)},
		{"ReduceMean over an axis", matrix, part(ox.Node("ReduceMean", "y", in("x"), ox.List("axes", 1), ox.Int("keepdims", 0))), floats([]int{2}, 2, 5)},
		{"ReduceSum over all", matrix, part(ox.Node("ReduceSum", "y", in("x"))), floats([]int{1, 1}, 21)},
		{"CumSum in reverse", matrix, part(ox.Ints("axis", 1), ox.Node("CumSum", "y", in("x", "axis"), ox.Int("reverse", 1))),
			floats([]int{2, 3}, 6, 5, 3, 15, 11, 6)},
		{"Softmax of equal numbers", floats([]int{1, 4}, 7, 7, 7, 7), part(ox.Node("Softmax", "y", in("x"))), floats([]int{1, 4}, 0.25, 0.25, 0.25, 0.25)},
		{"ArgMax takes the first", floats([]int{4}, 1, 3, 3, 2), part(ox.Node("ArgMax", "y", in("x"))), &tensor.Tensor{Type: onnx.Int64, Dims: []int{1}, Data: []float64{1}}},
		{"Transpose", matrix, part(ox.Node("Transpose", "y", in("x"))), floats([]int{3, 2}, 1, 4, 2, 5, 3, 6)},
		{"Reshape with 0 and -1", matrix, part(ox.Ints("shape", 0, -1, 1), ox.Node("Reshape", "y", in("x", "shape"))), floats([]int{2, 3, 1}, 1, 2, 3, 4, 5, 6)},
		{"Slice to the largest integer", row, part(ox.Ints("from", 1), ox.Ints("to", math.MaxInt64), ox.Node("Slice", "y", in("x", "from", "to"))),
			floats([]int{3}, -0.5, 0.5, 3)},
		{"Slice backward", row, part(ox.Ints("from", -1), ox.Ints("to", math.MinInt64), ox.Ints("axes", 0), ox.Ints("steps", -2),
			ox.Node("Slice", "y", in("x", "from", "to", "axes", "steps"))), floats([]int{2}, 3, -0.5)},
		{"Pad repeats nothing that a negative pad removes", floats([]int{3}, 1, 2, 3), part(ox.Ints("pads", -1, 2), ox.Node("Pad", "y", in("x", "pads"), ox.Text("mode", "wrap"))),
			floats([]int{4}, 2, 3, 2, 3)},
		{"MaxPool rounds up without padding", floats([]int{1, 1, 4}, 1, 2, 3, 4), part(ox.Node("MaxPool", "y", in("x"), ox.List("kernel_shape", 3), ox.List("strides", 2), ox.Text("auto_pad", "VALID"), ox.Int("ceil_mode", 1))),
			floats([]int{1, 1, 2}, 3, 4)},
		{"Resize of a region of one axis", floats([]int{1, 3}, 1, 2, 3), part(ox.Constant("roi", []int{2}, 0.5, 1), ox.Ints("sizes", 3),
			ox.Node("Resize", "y", in("x", "roi", "", "sizes"), ox.List("axes", 1), ox.Text("mode", "linear"), ox.Text("coordinate_transformation_mode", "tf_crop_and_resize"))),
			floats([]int{1, 3}, 2, 2.5, 3)},
		{"Pad mirrors", floats([]int{3}, 1, 2, 3), part(ox.Ints("pads", 2, 1), ox.Node("Pad", "y", in("x", "pads"), ox.Text("mode", "reflect"))),
			floats([]int{6}, 3, 2, 1, 2, 3, 2)},
		{"Gather from the end", matrix, part(ox.Ints("i", -1, 0), ox.Node("Gather", "y", in("x", "i"), ox.Int("axis", 1))), floats([]int{2, 2}, 3, 1, 6, 4)},
		{"ScatterND adds", row, part(ox.Whole("i", 7, 8, []int{2, 1}, 0, 0), ox.Constant("u", []int{2}, 5, 6),
			ox.Node("ScatterND", "y", in("x", "i", "u"), ox.Text("reduction", "add"))), floats([]int{4}, 9, -0.5, 0.5, 3)},
		{"MatMul", matrix, part(ox.Constant("w", []int{3, 1}, 1, 0, -1), ox.Node("MatMul", "y", in("x", "w"))), floats([]int{2, 1}, -2, -2)},
		{"Gemm", matrix, part(ox.Constant("w", []int{1, 3}, 1, 1, 1), ox.Constant("c", []int{1}, 10),
			ox.Node("Gemm", "y", in("x", "w", "c"), ox.Int("transB", 1), ox.Float("alpha", 2), ox.Float("beta", 0.5))), floats([]int{2, 1}, 17, 35)},
		{"Einsum of a trace", floats([]int{2, 2}, 1, 2, 3, 4), part(ox.Node("Einsum", "y", in("x"), ox.Text("equation", "ii->"))), floats([]int{}, 5)},
		// The first window has the element 1 under the weight 4, and padding elsewhere.
		{"Conv with padding and stride", square, part(ox.Constant("w", []int{1, 1, 2, 2}, 1, 2, 3, 4),
			ox.Node("Conv", "y", in("x", "w"), ox.List("pads", 1, 1, 1, 1), ox.List("strides", 2, 2))), floats([]int{1, 1, 2, 2}, 4, 18, 36, 77)},
		{"ConvTranspose with stride", floats([]int{1, 1, 1, 2}, 1, 10), part(ox.Constant("w", []int{1, 1, 1, 3}, 1, 2, 3),
			ox.Node("ConvTranspose", "y", in("x", "w"), ox.List("strides", 1, 2))), floats([]int{1, 1, 1, 5}, 1, 2, 13, 20, 30)},
		{"MaxPool", square, part(ox.Node("MaxPool", "y", in("x"), ox.List("kernel_shape", 2, 2))), floats([]int{1, 1, 2, 2}, 5, 6, 8, 9)},
		{"AveragePool without its padding", square, part(ox.Node("AveragePool", "y", in("x"), ox.List("kernel_shape", 2, 2), ox.List("pads", 1, 1, 0, 0), ox.List("strides", 2, 2))),
			floats([]int{1, 1, 2, 2}, 1, 2.5, 5.5, 7)},
		// The elements that onnxruntime 1.30 selects.
		{"Resize by 1.7, with ties up", floats([]int{1, 9}, 0, 1, 2, 3, 4, 5, 6, 7, 8), part(ox.Constant("s", []int{2}, 1, 1.7),
			ox.Node("Resize", "y", in("x", "", "s"), ox.Text("nearest_mode", "round_prefer_ceil"))), floats([]int{1, 15}, 0, 0, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6, 7, 7, 8)},
		{"Resize by 0.6, down", floats([]int{1, 7}, 0, 1, 2, 3, 4, 5, 6), part(ox.Constant("s", []int{2}, 1, 0.6),
			ox.Node("Resize", "y", in("x", "", "s"), ox.Text("nearest_mode", "floor"))), floats([]int{1, 4}, 0, 2, 3, 5)},
		{"Resize to twice", floats([]int{1, 1, 1, 2}, 0, 4), part(ox.Constant("s", []int{4}, 1, 1, 1, 2),
			ox.Node("Resize", "y", in("x", "", "s"), ox.Text("mode", "linear"))), floats([]int{1, 1, 1, 4}, 0, 1, 3, 4)},
		{"LayerNormalization", floats([]int{1, 2}, -3, 3), part(ox.Constant("s", []int{2}, 1, 2), ox.Constant("b", []int{2}, 0, 1),
			ox.Node("LayerNormalization", "y", in("x", "s", "b"), ox.Float("epsilon", 0))), floats([]int{1, 2}, -1, 3)},
		{"QuantizeLinear saturates", floats([]int{4}, -300, 0.5, 1.5, 300), part(ox.Constant("s", []int{}, 1), ox.Whole("z", 3, 1, []int{}, 1),
			ox.Node("QuantizeLinear", "y", in("x", "s", "z"))), &tensor.Tensor{Type: onnx.Int8, Dims: []int{4}, Data: []float64{-128, 1, 3, 127}}},
		{"Attention of one key", floats([]int{1, 1, 1, 2}, 1, 1), part(ox.Node("Attention", "y", in("x", "x", "x"))), floats([]int{1, 1, 1, 2}, 1, 1)},
		{"If", floats([]int{}, 1), part(ox.Constant("a", []int{}, 10), ox.Node("Greater", "c", in("x", "a")), ox.Node("If", "y", in("c"),
			ox.Graph("then_branch", ox.Node("Neg", "t", in("x")), ox.Output("t")), ox.Graph("else_branch", ox.Node("Add", "e", in("x", "a")), ox.Output("e")))),
			floats([]int{}, 11)},
	}
}

func part(m ...ox.Message) []ox.Message { return m }

// runGraph computes the output y of a graph from its input x. The graph consists of parts.
func runGraph(x *tensor.Tensor, o Options, parts ...ox.Message) (*tensor.Tensor, error) {
	dims := slices.Clone(x.Dims)
	for i := range dims {
		dims[i] = 0 // by name
	}
	m, err := onnx.Read(ox.Model(append(parts, ox.Input("x", dims...), ox.Output("y"))...))
	if err != nil {
		return nil, err
	}
	results, err := Run(m, map[string]*tensor.Tensor{"x": x}, o)
	return results["y"], err
}

func TestRoundHalf(t *testing.T) {
	for _, c := range []struct{ v, want float64 }{
		{0.1, 0.0999755859375},
		{2049, 2048}, {2051, 2052}, // halfway: to even
		{65519, 65504}, {65520, math.Inf(1)}, {-1e9, math.Inf(-1)},
		{0x1p-24, 0x1p-24}, {0x1.8p-24, 0x1p-23}, {0x1p-25, 0}, // subnormals
		{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-10}, // rounded to float32 first, it would be halfway
	} {
		if got := tensor.RoundHalf("", c.v); got != c.want {
			t.Errorf("RoundHalf(%v) = %v; want %v", c.v, got, c.want)
		}
	}
	if v := tensor.RoundHalf("", math.NaN()); v == v {
		t.Errorf("RoundHalf(NaN) = %v", v)
	}
}

// TestRoundsBetweenNodes adds 2^-11 to 1 twice. Rounding to fp16 drops it each time.
func TestRoundsBetweenNodes(t *testing.T) {
	parts := part(ox.Constant("c", []int{}, 0x1p-11), ox.Node("Add", "t", []string{"x", "c"}), ox.Node("Add", "y", []string{"t", "c"}))
	for _, c := range []struct {
		round func(string, float64) float64
		want  float64
	}{{nil, 1 + 0x1p-10}, {tensor.RoundSingle, 1 + 0x1p-10}, {tensor.RoundHalf, 1}} {
		var ops []string
		got, err := runGraph(floats([]int{}, 1), Options{Round: c.round, Observe: func(n *onnx.Node, results []*tensor.Tensor) {
			ops = append(ops, fmt.Sprint(n.Name, results[0].Data))
		}}, parts...)
		if err != nil {
			t.Fatal(err)
		}
		if got.Data[0] != c.want {
			t.Errorf("got %v; want %v", got.Data[0], c.want)
		}
		if len(ops) != 2 || ops[1] != fmt.Sprint("y", got.Data) {
			t.Errorf("observed %v", ops)
		}
	}
}

func TestErrors(t *testing.T) {
	x := floats([]int{2, 2}, 1, 2, 3, 4)
	for _, c := range []struct {
		name  string
		parts []ox.Message
		want  string
	}{
		{"unknown operator", part(ox.Node("Warp", "y", []string{"x"})), `node "y" (Warp): unsupported operator Warp`},
		{"unknown domain", part(ox.NodeOf("org.example", "Relu", "y", []string{"x"})), `node "y" (Relu): unsupported operator org.example.Relu`},
		{"inner dimensions", part(ox.Constant("w", []int{3, 1}, 1, 2, 3), ox.Node("MatMul", "y", []string{"x", "w"})), "cannot multiply matrices of shapes [2 2] and [3 1]"},
		{"missing input", part(ox.Node("Add", "y", []string{"x", ""})), "missing input 1; want at least 2 inputs"},
		{"unknown tensor", part(ox.Node("Relu", "y", []string{"z"})), `unknown tensor "z"`},
		{"shape too large", part(ox.Ints("s", 1<<20, 1<<20), ox.Node("ConstantOfShape", "y", []string{"s"})), "more than 268435456 elements"},
		{"huge kernel", part(ox.Ints("s", 1, 1, 2, 2), ox.Node("Reshape", "t", []string{"x", "s"}),
			ox.Node("MaxPool", "y", []string{"t"}, ox.List("kernel_shape", 1<<28, 1<<28), ox.List("pads", 1<<28, 1<<28, 0, 0))), "more than 4294967296 element reads"},
		{"endless loop", part(ox.Node("Loop", "y", []string{"", "", "x"}, ox.Graph("body", ox.Input("i"), ox.Input("going"), ox.Input("v"), ox.Output("going"), ox.Output("v")))),
			"more than 1048576 nodes"},
	} {
		_, err := runGraph(x, Options{}, c.parts...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v; want %s", c.name, err, c.want)
		}
		var u *UnsupportedError
		if want := strings.HasPrefix(c.name, "unknown operator") || strings.HasPrefix(c.name, "unknown domain"); errors.As(err, &u) != want {
			t.Errorf("%s: unsupported is %v; want %v", c.name, !want, want)
		}
	}
	m, err := onnx.Read(ox.Model(ox.Input("x", 2, 2), ox.Node("Relu", "y", []string{"x"}), ox.Output("y")))
	if err != nil {
		t.Fatal(err)
	}
	for name, inputs := range map[string]map[string]*tensor.Tensor{
		`input "x": missing`:                        nil,
		`input "x": shape is [4]`:                   {"x": floats([]int{4}, 1, 2, 3, 4)},
		`input "x": shape [2 2] needs 4 values, bu`: {"x": floats([]int{2, 2}, 1, 2, 3)},
		`input "x": type is int64; want float32`:    {"x": tensor.NewVector(1, 2)},
		`input "w": unknown name; want an input or`: {"x": x, "w": x},
		`input "x": shape [-1] has a negative dime`: {"x": floats([]int{-1})},
	} {
		var e *InputError
		if _, err := Run(m, inputs, Options{}); !errors.As(err, &e) || !strings.Contains(err.Error(), name) {
			t.Errorf("error is %v; want %s", err, name)
		}
	}
}

// TestFunction replaces elementary functions and checks that operators use the replacements.
func TestFunction(t *testing.T) {
	x := floats([]int{1, 2}, 1, 2)
	for _, c := range []struct {
		function string // becomes 3
		node     ox.Message
		want     []float64
	}{
		{"Tanh", ox.Node("Tanh", "y", []string{"x"}), []float64{3, 3}},
		{"Exp", ox.Node("Softmax", "y", []string{"x"}), []float64{0.5, 0.5}},
		{"Reciprocal", ox.Node("Div", "y", []string{"x", "x"}), []float64{3, 6}},
		{"Rsqrt", ox.Node("LpNormalization", "y", []string{"x"}, ox.Int("p", 1)), []float64{1. / 3, 2. / 3}}, // has no root
		{"Sqrt", ox.Node("ReduceL2", "y", []string{"x"}), []float64{3}},
		{"Log", ox.Node("ReduceLogSumExp", "y", []string{"x"}), []float64{5}},
		{"HardSigmoid", ox.Node("HardSwish", "y", []string{"x"}), []float64{3, 6}},
		{"Exp", ox.Node("Elu", "y", []string{"x"}), []float64{1, 2}}, // above zero
		{"Sqrt", ox.Node("Exp", "y", []string{"x"}), []float64{math.E, math.E * math.E}},
	} {
		o := Options{Function: func(name string, _ float64) (float64, bool) { return 3, name == c.function }}
		got, err := runGraph(x, o, c.node)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if math.Abs(got.Data[i]-want) > 1e-12 {
				t.Errorf("%s is 3: y is %v, want %v", c.function, got.Data, c.want)
				break
			}
		}
	}
}

// TestReduce runs matmuls and convolutions with sums that are doubled.
func TestReduce(t *testing.T) {
	double := func(acc, panel, taps []float64) {
		for l := range acc {
			for k, w := range taps {
				acc[l] += 2 * w * panel[k*len(acc)+l]
			}
		}
	}
	picture := floats([]int{2, 4, 5, 3})
	for i := range 120 {
		picture.Data = append(picture.Data, float64(i%7)-2)
	}
	sequence := floats([]int{2, 1, 3}, 1, -2, 3, 0, 1, 2)
	filter := make([]float32, 6*2*2*3)
	for i := range filter {
		filter[i] = float32(i%5) - 1
	}
	for _, c := range []struct {
		op    string
		x     *tensor.Tensor
		parts []ox.Message
	}{
		{"Conv", picture, part(ox.Constant("w", []int{6, 2, 2, 3}, filter...), ox.Node("Conv", "y", []string{"x", "w"},
			ox.Int("group", 2), ox.List("pads", 1, 1, 0, 1), ox.List("strides", 2, 1), ox.List("dilations", 2, 1)))},
		{"MatMul", sequence, part(ox.Constant("w", []int{3, 2}, 1, 2, 3, 4, 5, 6), ox.Node("MatMul", "y", []string{"x", "w"}))},
		{"Gemm", floats([]int{1, 2}, 5, 7), part(ox.Constant("w", []int{3, 2}, 1, 2, 3, 4, 5, 6), ox.Node("Gemm", "y", []string{"x", "w"}, ox.Int("transB", 1)))},
	} {
		want, err := runGraph(c.x, Options{}, c.parts...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := runGraph(c.x, Options{Reduce: double}, c.parts...)
		if err != nil {
			t.Fatal(err)
		}
		if err := compare(got, want.MapElements(func(v float64) float64 { return 2 * v }), 1e-12); err != nil {
			t.Errorf("%s: %v", c.op, err)
		}
	}
}
