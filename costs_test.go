package anesim_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"anesim"
	ox "anesim/internal/network/onnxtest"
)

// One operation costs the same through every reader. Where a reader has an exact form that is
// dearer than a table, it says so, and costs the same with the option.
func TestOneOperationOneCost(t *testing.T) {
	const c, h, w = 64, 28, 28
	for _, tc := range []struct {
		op   string
		key  string     // an argument of op in words and YAML, as "key=value"
		onnx ox.Message // the node y of x, nil if ONNX has no such operator
		mil  string     // the operation of x in MIL, "" if MIL has none
	}{
		{"relu", "", ox.Node("Relu", "y", []string{"x"}), "relu(x = x)"},
		{"sigmoid", "", ox.Node("Sigmoid", "y", []string{"x"}), "sigmoid(x = x)"},
		{"tanh", "", ox.Node("Tanh", "y", []string{"x"}), "tanh(x = x)"},
		{"gelu", "", ox.Node("Gelu", "y", []string{"x"}), `gelu(x = x, mode = string("EXACT"))`},
		{"silu", "", ox.Node("Swish", "y", []string{"x"}), "silu(x = x)"},
		{"exp", "", ox.Node("Exp", "y", []string{"x"}), "exp(x = x)"},
		{"sqrt", "", ox.Node("Sqrt", "y", []string{"x"}), "sqrt(x = x)"},
		{"rsqrt", "eps=0.001", nil, "rsqrt(x = x, epsilon = fp16(0.001))"},
		{"abs", "", ox.Node("Abs", "y", []string{"x"}), "abs(x = x)"},
		{"square", "", ox.Node("Mul", "y", []string{"x", "x"}), "square(x = x)"},
		{"leaky_relu", "", ox.Node("LeakyRelu", "y", []string{"x"}), "leaky_relu(x = x, alpha = fp16(0.01))"},
		{"relu6", "", nil, "relu6(x = x)"},
		{"clip", "low=-2", nil, "clip(x = x, alpha = fp16(-2), beta = fp16(1))"},
		{"elu", "", ox.Node("Elu", "y", []string{"x"}), "elu(x = x, alpha = fp16(1))"},
		{"elu", "", ox.Node("Celu", "y", []string{"x"}), ""},
		{"elu", "alpha=0.5", ox.Node("Elu", "y", []string{"x"}, ox.Float("alpha", 0.5)), "elu(x = x, alpha = fp16(0.5))"},
		{"selu", "", ox.Node("Selu", "y", []string{"x"}), ""},
		{"hard_sigmoid", "", ox.Node("HardSigmoid", "y", []string{"x"}, ox.Float("alpha", 1./6)), ""},
		{"hard_swish", "", ox.Node("HardSwish", "y", []string{"x"}), ""},
		{"softplus", "", ox.Node("Softplus", "y", []string{"x"}), "softplus(x = x)"},
		{"softsign", "", ox.Node("Softsign", "y", []string{"x"}), "softsign(x = x)"},
		{"sign", "", ox.Node("Sign", "y", []string{"x"}), "sign(x = x)"},
		{"ceil", "", ox.Node("Ceil", "y", []string{"x"}), "ceil(x = x)"},
		{"floor", "", ox.Node("Floor", "y", []string{"x"}), "floor(x = x)"},
		{"log", "", ox.Node("Log", "y", []string{"x"}), ""}, // log and inverse of MIL add a number first
		{"inverse", "", ox.Node("Reciprocal", "y", []string{"x"}), ""},
		{"sin", "", ox.Node("Sin", "y", []string{"x"}), "sin(x = x)"},
		{"cos", "", ox.Node("Cos", "y", []string{"x"}), "cos(x = x)"},
		{"erf", "", ox.Node("Erf", "y", []string{"x"}), "erf(x = x)"},
	} {
		words := []string{"c=64", "h=28", "w=28"}
		argument := ""
		if tc.key != "" {
			words = append(words, tc.key)
			argument = ", " + strings.Replace(tc.key, "=", ": ", 1)
		}
		m, err := anesim.Layer(tc.op, words...)
		if err != nil {
			t.Fatal(err)
		}
		want := cyclesOf(t, m)
		yaml := fmt.Sprintf("inputs: {x: {c: %d, h: %d, w: %d}}\nlayers:\n- {op: %s%s}\n", c, h, w, tc.op, argument)
		if got := cyclesOf(t, readModel(t, "one.yaml", []byte(yaml), anesim.OpenOptions{})); got != want {
			t.Errorf("%s: %d cycles of YAML, %d of words", tc.op, got, want)
		}
		files := map[string][]byte{}
		if tc.onnx != nil {
			files["one.onnx"] = ox.Model(ox.Input("x", 1, c, h, w), tc.onnx, ox.Output("y"))
		}
		if tc.mil != "" {
			files["one.mil"] = fmt.Appendf(nil, `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, %[1]d, %[2]d, %[3]d]> x) {
        tensor<fp16, [1, %[1]d, %[2]d, %[3]d]> y = %[4]s[name = string("y")];
    } -> (y);
}
`, c, h, w, tc.mil)
		}
		for name, file := range files {
			exact := readModel(t, name, file, anesim.OpenOptions{})
			got := cyclesOf(t, exact)
			says := strings.Contains(strings.Join(exact.Network().Notes, "\n"), "--tables")
			if got != want && !says || got == want && says {
				t.Errorf("%s: %d cycles of %s, %d of words, and the notes are %q", tc.op, got, name, want, exact.Network().Notes)
			}
			if tables := cyclesOf(t, readModel(t, name, file, anesim.OpenOptions{Tables: true})); tables != want {
				t.Errorf("%s: %d cycles of %s with tables, %d of words", tc.op, tables, name, want)
			}
		}
	}
}

func readModel(t *testing.T, name string, data []byte, o anesim.OpenOptions) *anesim.Model {
	t.Helper()
	m, err := o.Read(name, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(name, err)
	}
	return m
}

func cyclesOf(t *testing.T, m *anesim.Model) uint64 {
	t.Helper()
	res, err := m.Run(t.Context(), anesim.Options{})
	if err != nil {
		t.Fatal(m.Name(), err)
	}
	return uint64(res.Report.Cycles)
}

// A transposed convolution costs the same through every reader. Where its steps are as long as
// its window, it is a convolution to more channels, put beside one another: that form is no
// cheaper.
func TestTransposedConvolutionCost(t *testing.T) {
	for _, tc := range []struct{ c, h, w, k, stride, pad int }{
		{1, 64, 64, 2, 2, 0}, {16, 28, 28, 3, 2, 1}, {64, 4, 4, 2, 2, 0}, {64, 7, 7, 2, 2, 0}, {64, 1, 30, 2, 2, 0},
		{64, 7, 7, 4, 4, 0}, {64, 14, 14, 4, 2, 1}, {64, 28, 28, 2, 2, 0}, {64, 28, 28, 3, 1, 1}, {64, 64, 64, 4, 4, 0}, {256, 1, 1, 3, 2, 1},
	} {
		name := fmt.Sprintf("%+v", tc)
		words, err := anesim.Layer("deconv", strings.Fields(fmt.Sprintf("cin=%[1]d h=%[2]d w=%[3]d cout=%[1]d k=%[4]d stride=%[5]d pad=%[6]d", tc.c, tc.h, tc.w, tc.k, tc.stride, tc.pad))...)
		if err != nil {
			t.Fatal(err)
		}
		want := cyclesOf(t, words)
		yaml := fmt.Sprintf("inputs: {x: {c: %[1]d, h: %[2]d, w: %[3]d}}\nlayers:\n- {op: deconv, cout: %[1]d, k: %[4]d, stride: %[5]d, pad: %[6]d}\n", tc.c, tc.h, tc.w, tc.k, tc.stride, tc.pad)
		weights := func(d ...int) ox.Message { return ox.Constant("w", d, make([]float32, d[0]*d[1]*d[2]*d[3])...) }
		onnx := ox.Model(ox.Input("x", 1, tc.c, tc.h, tc.w), weights(tc.c, tc.c, tc.k, tc.k), ox.Node("ConvTranspose", "y", []string{"x", "w"},
			ox.List("strides", tc.stride, tc.stride), ox.List("pads", tc.pad, tc.pad, tc.pad, tc.pad)), ox.Output("y"))
		out := func(n int) int { return (n-1)*tc.stride + tc.k - 2*tc.pad }
		rows := func(n int, of string) string { return "[" + strings.Repeat(of+", ", n-1) + of + "]" }
		mil := fmt.Sprintf(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, %[1]d, %[2]d, %[3]d]> x) {
        tensor<fp16, [%[1]d, %[1]d, %[4]d, %[4]d]> w = const()[val = tensor<fp16, [%[1]d, %[1]d, %[4]d, %[4]d]>(%[9]s)];
        tensor<fp16, [1, %[1]d, %[7]d, %[8]d]> y = conv_transpose(x = x, weight = w, strides = tensor<int32, [2]>([%[5]d, %[5]d]), pad_type = string("custom"), pad = tensor<int32, [4]>([%[6]d, %[6]d, %[6]d, %[6]d]), groups = int32(1))[name = string("y")];
    } -> (y);
}
`, tc.c, tc.h, tc.w, tc.k, tc.stride, tc.pad, out(tc.h), out(tc.w), rows(tc.c, rows(tc.c, rows(tc.k, rows(tc.k, "0")))))
		for file, data := range map[string][]byte{"one.yaml": []byte(yaml), "one.onnx": onnx, "one.mil": []byte(mil)} {
			if got := cyclesOf(t, readModel(t, file, data, anesim.OpenOptions{})); got != want {
				t.Errorf("%s: %d cycles of %s, %d of words", name, got, file, want)
			}
		}
		if tc.k != tc.stride {
			continue
		}
		places := tc.stride * tc.stride
		wide := ox.Model(ox.Input("x", 1, tc.c, tc.h, tc.w), weights(tc.c*places, tc.c, 1, 1), ox.Node("Conv", "c", []string{"x", "w"}),
			ox.Node("DepthToSpace", "y", []string{"c"}, ox.Int("blocksize", tc.stride), ox.Text("mode", "CRD")), ox.Output("y"))
		// Each place reads the source again, for which the array waits if it has one output channel: 4.7 %. With 64
		// channels, putting them beside one another costs at least as much again as half of the work.
		percent := uint64(67)
		if tc.c == 1 {
			percent = 105
		}
		if other := cyclesOf(t, readModel(t, "wide.onnx", wide, anesim.OpenOptions{})); 100*want > percent*other {
			t.Errorf("%s: %d cycles, %d as one convolution to %d channels", name, want, other, tc.c*places)
		}
	}
}

// TestTransposeOfOneRowCost checks that a transpose that moves no element, because at most one of
// its axes has more than one, costs the same in YAML as in ONNX: nothing.
func TestTransposeOfOneRowCost(t *testing.T) {
	orders := map[string][]int{"chw": {0, 1, 2, 3}, "cwh": {0, 1, 3, 2}, "hcw": {0, 2, 1, 3}, "hwc": {0, 2, 3, 1}, "wch": {0, 3, 1, 2}, "whc": {0, 3, 2, 1}}
	for _, d := range [][3]int{{1, 1, 64}, {1, 64, 1}, {64, 1, 1}, {1, 1, 1}, {1, 1, 20}} {
		for perm, order := range orders {
			for _, form := range [][2]string{{"", ""}, {"relu", ""}, {"", "exp"}, {"relu", "exp"}, {"sum", ""}, {"", "sum"}, {"sum", "sum"}} {
				yaml := fmt.Sprintf("inputs: {x: {c: %d, h: %d, w: %d}}\nlayers:\n", d[0], d[1], d[2])
				parts, last := []ox.Message{ox.Input("x", 1, d[0], d[1], d[2])}, "x"
				add := func(kind, result string) {
					switch kind {
					case "":
						return
					case "sum":
						yaml += "- {op: add, second: itself}\n"
						parts = append(parts, ox.Node("Add", result, []string{last, last}))
					case "relu":
						yaml += "- {op: relu}\n"
						parts = append(parts, ox.Node("Relu", result, []string{last}))
					case "exp":
						yaml += "- {op: exp}\n"
						parts = append(parts, ox.Node("Exp", result, []string{last}))
					}
					last = result
				}
				add(form[0], "a")
				yaml += fmt.Sprintf("- {op: transpose, perm: %s}\n", perm)
				parts = append(parts, ox.Node("Transpose", "b", []string{last}, ox.List("perm", order...)))
				last = "b"
				add(form[1], "c")
				parts = append(parts, ox.Output(last))
				got := cyclesOf(t, readModel(t, "one.yaml", []byte(yaml), anesim.OpenOptions{}))
				if want := cyclesOf(t, readModel(t, "one.onnx", ox.Model(parts...), anesim.OpenOptions{})); got != want {
					t.Errorf("%v to %s between %q: %d cycles of YAML, %d of ONNX", d, perm, form, got, want)
				}
			}
		}
	}
}
