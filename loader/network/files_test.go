package network

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"anesim/internal/network/mil"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader/network/partition"
)

var update = flag.Bool("update", false, "write the example files of the command")

// pictureMIL is a step of a picture network with a squeeze and an excitation.
const pictureMIL = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 16, 16]> x) {
        tensor<fp16, [4, 1, 3, 3]> w = const()[val = tensor<fp16, [4, 1, 3, 3]>([[[[0, 1, 0], [1, 4, 1], [0, 1, 0]]], [[[1, 0, 1], [0, 2, 0], [1, 0, 1]]], [[[0, 0, 0], [0, 1, 0], [0, 0, 0]]], [[[1, 1, 1], [0, 0, 0], [-1, -1, -1]]]])];
        tensor<fp16, [1, 4, 16, 16]> d = conv(x = x, weight = w, strides = tensor<int32, [2]>([1, 1]), pad_type = string("custom"), pad = tensor<int32, [4]>([1, 1, 1, 1]), groups = int32(4))[name = string("depthwise")];
        tensor<fp16, [1, 4, 16, 16]> s = silu(x = d)[name = string("silu")];
        tensor<fp16, [1, 4, 1, 1]> m = reduce_mean(x = s, axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(true))[name = string("squeeze")];
        tensor<fp16, [1, 4, 1, 1]> g = sigmoid(x = m)[name = string("gate")];
        tensor<fp16, [1, 4, 16, 16]> e = mul(x = s, y = g)[name = string("excite")];
        tensor<fp16, [1, 4, 16, 16]> y = add(x = e, y = x)[name = string("sum")];
    } -> (y);
}
`

// newDecoderStep returns an ONNX file that computes one token in a layer of a language model: an
// RMS norm, two heads over a cache of 31 positions and the new token, and a gated layer, all as the
// separate operators that exporters write.
func newDecoderStep() []byte {
	const width, heads, head, past, hidden = 32, 2, 16, 31, 64
	parts := []ox.Message{
		ox.Input("token", 1, 1, width), ox.Input("past_keys", 1, heads, past, head), ox.Input("past_values", 1, heads, past, head),
		ox.Constant("two", []int{}, 2), ox.Constant("epsilon", []int{}, 1e-5), ox.Constant("root", []int{}, 4),
		ox.Ints("heads", 1, 1, heads, head), ox.Ints("joined", 1, 1, width),
	}
	weight := func(name string, dims ...int) string {
		n := 1
		for _, d := range dims {
			n *= d
		}
		v := make([]float32, n)
		for i := range v { // small, of both signs, and the same on any machine
			v[i] = float32(i*37%64-32) / 256
		}
		parts = append(parts, ox.Constant(name, dims, v...))
		return name
	}
	node := func(op, name string, inputs []string, attributes ...ox.Message) string {
		parts = append(parts, ox.Node(op, name, inputs, attributes...))
		return name
	}
	norm := func(name, x string) string {
		q := node("Pow", name+"/square", names(x, "two"))
		v := node("Add", name+"/shifted", names(node("ReduceMean", name+"/mean", names(q), ox.List("axes", -1)), "epsilon"))
		r := node("Reciprocal", name+"/reciprocal", names(node("Sqrt", name+"/root", names(v))))
		return node("Mul", name, names(node("Mul", name+"/scaled", names(x, r)), weight(name+"/weight", width)))
	}
	x := norm("norm1", "token")
	project := func(name string) string {
		y := node("Reshape", name+"/heads", names(node("MatMul", name, names(x, weight(name+"/weight", width, width))), "heads"))
		return node("Transpose", name+"/turned", names(y), ox.List("perm", 0, 2, 1, 3))
	}
	q := project("query")
	k := node("Concat", "keys", names("past_keys", project("key")), ox.Int("axis", 2))
	v := node("Concat", "values", names("past_values", project("value")), ox.Int("axis", 2))
	s := node("MatMul", "scores", names(q, node("Transpose", "keys/turned", names(k), ox.List("perm", 0, 1, 3, 2))))
	p := node("Softmax", "attention", names(node("Div", "scaled", names(s, "root"))), ox.Int("axis", -1))
	c := node("Transpose", "context/turned", names(node("MatMul", "context", names(p, v))), ox.List("perm", 0, 2, 1, 3))
	c = node("MatMul", "out", names(node("Reshape", "context/joined", names(c, "joined")), weight("out/weight", width, width)))
	sum := node("Add", "residual1", names(c, "token"))
	x = norm("norm2", sum)
	gate := node("MatMul", "gate", names(x, weight("gate/weight", width, hidden)))
	gate = node("Mul", "silu", names(gate, node("Sigmoid", "gate/sigmoid", names(gate))))
	up := node("MatMul", "up", names(x, weight("up/weight", width, hidden)))
	down := node("MatMul", "down", names(node("Mul", "gated", names(gate, up)), weight("down/weight", hidden, width)))
	node("Add", "next", names(down, sum))
	return ox.Model(append(parts, ox.Output("next"), ox.Output("keys"), ox.Output("values"))...)
}

// The command's examples are what the writers here write, and go through whole.
func TestExampleFiles(t *testing.T) {
	dir := t.TempDir()
	p, err := mil.Parse(small)
	if err != nil {
		t.Fatal(err)
	}
	writePackage(t, filepath.Join(dir, "classifier.mlpackage"), p, newSmallWeights())
	for name, data := range map[string][]byte{"picture.mil": []byte(pictureMIL), "decoder-step.onnx": newDecoderStep()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	examples := filepath.Join("..", "..", "tools", "anesim", "examples")
	if *update {
		if err := os.RemoveAll(filepath.Join(examples, "classifier.mlpackage")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"picture.mil", "decoder-step.onnx"} {
			os.Remove(filepath.Join(examples, name))
		}
		if err := os.CopyFS(examples, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(examples, rel))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what is written here (-update writes it): %v", rel, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, macs := range map[string]uint64{
		"classifier.mlpackage": 8*4*9*16 + 3*8,
		"picture.mil":          4 * 9 * 256,
		"decoder-step.onnx":    4*32*32 + 3*32*64 + 2*32*32,
	} {
		n, err := Open(filepath.Join(examples, name), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, reasons, _ := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1})
		if c := partition.CoverageOf(n, reasons); !c.Whole() || len(c.Lost) > 0 || c.MACs != macs {
			t.Errorf("%s: %+v, want %d multiply-accumulates; %v", name, c, macs, fmt.Sprint(reasons))
		}
		for i := range n.Layers {
			for _, h := range n.Layers[i].Weights.Filter {
				if math.IsNaN(float64(h.Float32())) {
					t.Fatalf("%s: %s has weights that are no numbers", name, n.Layers[i].Name)
				}
			}
		}
	}
}
