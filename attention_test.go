package anesim_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim"
	ox "anesim/internal/network/onnxtest"
	"anesim/internal/samples"
	"anesim/loader/layer"
)

const attentionTokens, attentionWidth, attentionHeads = 48, 128, 4

// attention returns an ONNX model of an attention layer with several heads, made of the matmuls,
// reshapes and transposes that an exporter writes. The named tensors are additional outputs.
func attention(weights map[string][]float32, outputs ...string) []byte {
	const head = attentionWidth / attentionHeads
	in := func(names ...string) []string { return names }
	parts := []ox.Message{
		ox.Input("x", 1, attentionTokens, attentionWidth), ox.Ints("heads", 1, attentionTokens, attentionHeads, head),
		ox.Ints("joined", 1, attentionTokens, attentionWidth), ox.Constant("root", []int{}, float32(math.Sqrt(head))),
	}
	for _, name := range []string{"q", "k", "v", "o"} {
		parts = append(parts, ox.Constant(name+"/weight", []int{attentionWidth, attentionWidth}, weights[name]...),
			ox.Constant(name+"/bias", []int{attentionWidth}, weights[name][:attentionWidth]...))
	}
	node := func(op, name string, inputs []string, attributes ...ox.Message) string {
		parts = append(parts, ox.Node(op, name, inputs, attributes...))
		return name
	}
	project := func(name string, perm ...int) string {
		y := node("Add", name, in(node("MatMul", name+"/product", in("x", name+"/weight")), name+"/bias"))
		return node("Transpose", name+"/turned", in(node("Reshape", name+"/heads", in(y, "heads"))), ox.List("perm", perm...))
	}
	q, k, v := project("q", 0, 2, 1, 3), project("k", 0, 2, 3, 1), project("v", 0, 2, 1, 3)
	s := node("Softmax", "softmax", in(node("Div", "scaled", in(node("MatMul", "scores", in(q, k)), "root"))), ox.Int("axis", -1))
	c := node("Transpose", "c/turned", in(node("MatMul", "context", in(s, v))), ox.List("perm", 0, 2, 1, 3))
	y := node("Add", "o", in(node("MatMul", "o/product", in(node("Reshape", "c/joined", in(c, "joined")), "o/weight")), "o/bias"))
	node("Add", "y", in(y, "x"))
	for _, name := range append([]string{"y"}, outputs...) {
		parts = append(parts, ox.Output(name))
	}
	return ox.Model(parts...)
}

func openAttention(t *testing.T, data []byte) *anesim.Model {
	t.Helper()
	m, err := anesim.Read("attention.onnx", bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Projections share their input's columns, heads are strides, and a transposed projection is
// one as it leaves the engines: no value of attention changes by a bit, and two transposes of a
// task's own are left, one of them ahead of the output projection's product.
func TestAttentionSharesColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 3))
	weights := map[string][]float32{}
	for _, name := range []string{"q", "k", "v", "o"} {
		for range attentionWidth * attentionWidth {
			weights[name] = append(weights[name], float32(r.IntN(257)-128)/1024)
		}
	}
	x := make([]float16.Float16, attentionTokens*attentionWidth)
	for i := range x {
		x[i] = float16.Fromfloat32(float32(r.IntN(129)-64) / 64)
	}
	run := func(m *anesim.Model) *anesim.Result {
		return samples.Run(t, m, anesim.Options{Values: true, Inputs: map[string][]float16.Float16{"x": x}})
	}
	plain := openAttention(t, attention(weights, "q", "k", "v"))
	shared := openAttention(t, attention(weights))
	want, got := run(plain), run(shared)
	if len(want.Outputs) != 4 || len(got.Outputs) != 1 || len(got.Programs) != 1 {
		t.Fatalf("%d and %d outputs, %d programs", len(want.Outputs), len(got.Outputs), len(got.Programs))
	}
	if !slices.Equal(got.Outputs[0].Data, want.Outputs[0].Data) {
		t.Error("columns that are shared give other values")
	}
	reference := attentionReference(weights, x)
	for i, h := range got.Outputs[0].Data {
		if d := math.Abs(float64(h.Float32()) - reference[i]); d > 0.01 {
			t.Fatalf("element %d is %v, want %v", i, h.Float32(), reference[i])
		}
	}
	turns, moves := 0, 0
	for i := range got.Layers {
		switch l := &got.Layers[i].Layer.Lower; {
		case l.Op != layer.Transpose:
		case l.Order == [3]layer.Axes{layer.AxisH, layer.AxisC, layer.AxisW}:
			moves++
		default:
			turns++
		}
	}
	if turns != 1 || moves != 3 {
		t.Errorf("%d transposes of rows and %d of heads, want 1 and 3", turns, moves)
	}
	if fast := samples.Run(t, shared, anesim.Options{}); fast.Report.Cycles >= samples.Run(t, plain, anesim.Options{}).Report.Cycles {
		t.Error("columns that are shared take no less time")
	}
}

// attentionReference computes the attention layer in float64 from its definition.
func attentionReference(weights map[string][]float32, in []float16.Float16) []float64 {
	const n, width, heads = attentionTokens, attentionWidth, attentionHeads
	project := func(x []float64, name string) []float64 {
		y := make([]float64, n*width)
		for i := range n {
			for o := range width {
				sum := float64(weights[name][o])
				for k := range width {
					sum += x[i*width+k] * float64(weights[name][k*width+o])
				}
				y[i*width+o] = sum
			}
		}
		return y
	}
	x := make([]float64, len(in))
	for i, h := range in {
		x[i] = float64(h.Float32())
	}
	q, k, v, c := project(x, "q"), project(x, "k"), project(x, "v"), make([]float64, n*width)
	const head = width / heads
	for h := range heads {
		for i := range n {
			p, sum := make([]float64, n), 0.0
			for j := range n {
				for d := range head {
					p[j] += q[i*width+h*head+d] * k[j*width+h*head+d]
				}
				p[j] = math.Exp(p[j] / math.Sqrt(head))
				sum += p[j]
			}
			for d := range head {
				for j := range n {
					c[i*width+h*head+d] += p[j] / sum * v[j*width+h*head+d]
				}
			}
		}
	}
	y := project(c, "o")
	for i := range y {
		y[i] += x[i]
	}
	return y
}
