package command

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/x448/float16"

	"anesim"
	"anesim/internal/network/onnxtest"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// An onnxWriter writes a network as an exporter does, with weights left in another file.
type onnxWriter struct {
	parts []onnxtest.Message
	nodes int
}

func (w *onnxWriter) bytes() []byte { return onnxtest.Model(w.parts...) }

func (w *onnxWriter) node(op string, inputs []string, attributes ...onnxtest.Message) string {
	w.nodes++
	name := fmt.Sprintf("%s_%d", strings.ToLower(op), w.nodes)
	w.parts = append(w.parts, onnxtest.Node(op, name, inputs, attributes...))
	return name
}

// weight adds a constant of shape dims without values and returns its name.
func (w *onnxWriter) weight(dims ...int) string {
	name := fmt.Sprintf("weight_%d", len(w.parts))
	w.parts = append(w.parts, onnxtest.Constant(name, dims))
	return name
}

func (w *onnxWriter) number(v float32) string {
	name := fmt.Sprintf("number_%d", len(w.parts))
	w.parts = append(w.parts, onnxtest.Constant(name, []int{}, v))
	return name
}

func (w *onnxWriter) ints(v ...int) string {
	name := fmt.Sprintf("ints_%d", len(w.parts))
	w.parts = append(w.parts, onnxtest.Ints(name, v...))
	return name
}

// dense adds a matmul of x with k x n weights and a bias, and returns the name of the result.
func (w *onnxWriter) dense(x string, k, n int) string {
	return w.node("Add", []string{w.weight(n), w.node("MatMul", []string{x, w.weight(k, n)})})
}

// norm adds a layer norm of x over n elements as separate nodes, and returns the name of the
// result.
func (w *onnxWriter) norm(x string, n int) string {
	axis := onnxtest.List("axes", -1)
	d := w.node("Sub", []string{x, w.node("ReduceMean", []string{x}, axis)})
	v := w.node("ReduceMean", []string{w.node("Pow", []string{d, w.number(2)})}, axis)
	y := w.node("Div", []string{d, w.node("Sqrt", []string{w.node("Add", []string{v, w.number(1e-12)})})})
	return w.node("Add", []string{w.node("Mul", []string{y, w.weight(n)}), w.weight(n)})
}

// encoder adds a layer of a BERT encoder that reads x, and returns the name of the result.
func (w *onnxWriter) encoder(x string, tokens, width, heads, hidden int) string {
	head := func(x string, perm ...int) string {
		x = w.node("Reshape", []string{x, w.ints(1, tokens, heads, width/heads)})
		return w.node("Transpose", []string{x}, onnxtest.List("perm", perm...))
	}
	q, k, v := head(w.dense(x, width, width), 0, 2, 1, 3), head(w.dense(x, width, width), 0, 2, 3, 1), head(w.dense(x, width, width), 0, 2, 1, 3)
	s := w.node("Div", []string{w.node("MatMul", []string{q, k}), w.number(float32(math.Sqrt(float64(width / heads))))})
	c := w.node("MatMul", []string{w.node("Softmax", []string{s}, onnxtest.Int("axis", -1)), v})
	c = w.node("Transpose", []string{c}, onnxtest.List("perm", 0, 2, 1, 3))
	c = w.dense(w.node("Reshape", []string{c, w.ints(1, tokens, width)}), width, width)
	x = w.norm(w.node("Add", []string{c, x}), width)
	h := w.dense(x, width, hidden)
	e := w.node("Erf", []string{w.node("Div", []string{h, w.number(math.Sqrt2)})})
	h = w.node("Mul", []string{w.node("Mul", []string{h, w.node("Add", []string{e, w.number(1)})}), w.number(0.5)})
	return w.norm(w.node("Add", []string{w.dense(h, hidden, width), x}), width)
}

// A transformer encoder of twelve layers with everything in pieces, heads and all, is one
// program.
func TestModelTransformerEncoder(t *testing.T) {
	const layers, tokens, width, heads, hidden = 12, 128, 768, 12, 3072
	w := &onnxWriter{parts: []onnxtest.Message{onnxtest.Input("x", 1, tokens, width)}}
	x := "x"
	for range layers {
		x = w.encoder(x, tokens, width, heads, hidden)
	}
	w.parts = append(w.parts, onnxtest.Output(x))
	r := model(t, writeFile(t, "encoder.onnx", w.bytes()))
	if want := uint64(layers * (4*tokens*width*width + 2*tokens*width*hidden + 2*tokens*tokens*width)); r.Coverage.MACs != want || r.Total.MACs < want {
		t.Errorf("%d multiply-accumulates by definition, %d done; want %d", r.Coverage.MACs, r.Total.MACs, want)
	}
	if len(r.NotModelled) != 0 || r.Coverage.Nodes != w.nodes || r.Coverage.Done != w.nodes {
		t.Errorf("coverage %+v of %d nodes, not modelled %v", r.Coverage, w.nodes, r.NotModelled)
	}
	count := map[string]int{}
	for _, l := range r.Layers {
		count[l.Op]++
		if l.Activation != "" {
			count[l.Op+" with "+l.Activation]++
		}
	}
	for op, want := range map[string]int{"LayerNormalization": 2, "MatMul with gelu": 1, "Softmax": 1} {
		if count[op] < want*layers {
			t.Errorf("%d layers of %s, want %d", count[op], op, want*layers)
		}
	}
	for _, op := range []string{"Erf", "Pow", "Sqrt", "ReduceMean"} {
		if count[op] != 0 {
			t.Errorf("%d layers of %s", count[op], op)
		}
	}
	// The columns that three projections share, and the heads of queries, values and results.
	if n := count["Transpose"]; n != 4*layers {
		t.Errorf("%d transposes, want %d", n, 4*layers)
	}
	t.Logf("%d layers, %v", len(r.Layers), r.Total.TimeNs)
	if len(r.Programs) != 1 {
		t.Errorf("%d programs, the second because of %s", len(r.Programs), r.Programs[1].Why)
	}
}

// convolutions returns an ONNX file of the convolutions in a YAML example as an exporter writes
// them, with act adding each activation.
func convolutions(t *testing.T, name string, act func(w *onnxWriter, x string) string) []byte {
	t.Helper()
	m, err := anesim.Open(exampleNetwork(name))
	if err != nil {
		t.Fatal(err)
	}
	n := m.Network()
	w := &onnxWriter{}
	names := map[string]string{}
	for _, in := range n.Inputs {
		s := in.Shape
		w.parts = append(w.parts, onnxtest.Input(in.Name, s.N, s.C, s.H, s.W))
		names[in.Name] = in.Name
	}
	last := ""
	for i := range n.Layers {
		l := &n.Layers[i]
		var in []string
		for _, x := range l.Inputs {
			in = append(in, names[x])
		}
		last = w.layer(t, l, in)
		if l.Lower.Activation != 0 {
			last = act(w, last)
		}
		names[l.Output] = last
	}
	w.parts = append(w.parts, onnxtest.Output(last))
	return w.bytes()
}

// layer adds a layer without its activation and returns the name of the result.
func (w *onnxWriter) layer(t *testing.T, l *list.Layer, in []string) string {
	t.Helper()
	x := &l.Lower
	window := func() []onnxtest.Message {
		k := &x.Window
		return []onnxtest.Message{
			onnxtest.List("kernel_shape", k.Kh, k.Kw), onnxtest.List("strides", k.Sy, k.Sx), onnxtest.List("pads", k.Py, k.Px, k.Qy, k.Qx),
		}
	}
	switch x.Op {
	case layer.Convolution:
		g := max(1, x.Groups)
		in = append(in, w.weight(x.Cout, x.In.C/g, x.Window.Kh, x.Window.Kw), w.weight(x.Cout))
		return w.node("Conv", in, append(window(), onnxtest.Int("group", g))...)
	case layer.Pool:
		return w.node("MaxPool", in, window()...)
	case layer.Add:
		return w.node("Add", in)
	case layer.ReLU:
		return w.node("Relu", in)
	case layer.ReduceMean:
		return w.node("GlobalAveragePool", in)
	case layer.Linear:
		return w.node("Gemm", []string{w.node("Flatten", in), w.weight(x.Columns, x.In.W), w.weight(x.Columns)}, onnxtest.Int("transB", 1))
	}
	t.Fatalf("%s: no operator for %v", l.Name, x.Op)
	return ""
}

func relu(w *onnxWriter, x string) string { return w.node("Relu", []string{x}) }

// A clamp between zero and six is a table on the way out of a convolution, as a rectifier
// is: MobileNetV2 costs the same with either.
func TestModelClipCostsWhatARectifierDoes(t *testing.T) {
	clip := func(w *onnxWriter, x string) string { return w.node("Clip", []string{x, w.number(0), w.number(6)}) }
	plain := model(t, writeFile(t, "relu.onnx", convolutions(t, "mobilenetv2.yaml", relu)))
	six := model(t, writeFile(t, "clip.onnx", convolutions(t, "mobilenetv2.yaml", clip)))
	if len(plain.NotModelled)+len(six.NotModelled) > 0 {
		t.Errorf("not modelled: %v with relu, %v with clip", plain.NotModelled, six.NotModelled)
	}
	a, b := plain.Total.TimeNs, six.Total.TimeNs
	t.Logf("%v with relu, %v with clip", a, b)
	if len(plain.Programs) != 1 || len(six.Programs) != 1 || len(plain.Layers) != len(six.Layers) {
		t.Errorf("%d programs of %d layers with relu, %d of %d with clip", len(plain.Programs), len(plain.Layers), len(six.Programs), len(six.Layers))
	}
	if math.Abs(float64(b-a)) > 0.05*float64(a) {
		t.Errorf("%v with relu, %v with clip", a, b)
	}
	if a <= 0 || plain.Total.MACs != 300_774_272 {
		t.Errorf("%+v", plain.Total)
	}
}

// ResNet-50 is one program with its maximum pool, and quick to time.
func TestModelResNetOfONNX(t *testing.T) {
	file := writeFile(t, "resnet50.onnx", convolutions(t, "resnet50.yaml", relu))
	began := time.Now()
	r := model(t, file)
	t.Logf("%v, engine time %v", time.Since(began), r.Total.TimeNs)
	if len(r.Programs) != 1 || r.Total.MACs != 4_089_184_256 || r.Coverage.MACs != r.Total.MACs {
		t.Errorf("%d programs, %d multiply-accumulates, %+v", len(r.Programs), r.Total.MACs, r.Coverage)
	}
}

// A convolution that looks its results up gives what the table in a task of its own does,
// but that the table then sees results before they are rounded.
func TestModelTableOfAConvolution(t *testing.T) {
	values := func(text string) (*anesim.Result, []float16.Float16) {
		m, err := anesim.Open(writeFile(t, "net.yaml", []byte("inputs: {x: {c: 20, h: 10, w: 12}}\n"+text)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Run(t.Context(), anesim.Options{Values: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return r, r.Outputs[len(r.Outputs)-1].Data
	}
	for _, shape := range []string{"cout: 24, k: 1, bias: true", "cout: 20, k: 3, stride: 2, pad: 1", "groups: cin, k: 3, pad: 1, bias: true"} {
		for _, act := range []string{"relu6", "sigmoid", "gelu", "clip"} {
			layers := fmt.Sprintf("layers:\n- {name: a, op: conv, %s}\n- {name: b, op: %s}\n", shape, act)
			one, got := values(layers)
			two, want := values("outputs: [a, b]\n" + layers)
			if len(one.Layers) != 1 || len(one.Report.Descriptors) != 1 || len(two.Layers) != 2 || len(got) != len(want) {
				t.Fatalf("%s, %s: %d layers and %d, %d values and %d", shape, act, len(one.Layers), len(two.Layers), len(got), len(want))
			}
			worst := 0.0
			for i := range got {
				worst = max(worst, math.Abs(float64(got[i].Float32()-want[i].Float32())))
			}
			if worst > 2e-3 {
				t.Errorf("%s, %s: off by %g", shape, act, worst)
			}
		}
	}
}
