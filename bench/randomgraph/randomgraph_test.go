package randomgraph

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt")

// TestNewIsDeterministic compares the text of four graphs and a hash of the bytes of fifty
// graphs with testdata/golden.txt. A change of the generator changes both: run the test with
// -update and read the difference.
func TestNewIsDeterministic(t *testing.T) {
	h := sha256.New()
	var text string
	for seed := range uint64(50) {
		g := New(seed, Options{})
		h.Write(g.Encode())
		for _, in := range g.Inputs {
			h.Write(in.NPY())
		}
		if seed < 4 {
			text += g.String() + "\n"
		}
		if again := New(seed, Options{}); !bytes.Equal(again.Encode(), g.Encode()) {
			t.Errorf("seed %d gives two different graphs:\n%s%s", seed, g, again)
		}
	}
	text += fmt.Sprintf("hash of seeds 0 to 49: %x\n", h.Sum(nil)[:8])
	const file = "testdata/golden.txt"
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("got\n%s\n%s has\n%s", text, file, want)
	}
}

// checkModel fails the test unless the encoded form of g can be read, and every operand is an
// input, a constant or the result of an earlier node.
func checkModel(t *testing.T, what string, g *onnxgraph.Graph) {
	t.Helper()
	m, err := onnx.Read(g.Encode())
	if err != nil {
		t.Errorf("%s of seed %s: onnx.Read: %v\n%s", what, g.Seed, err, g)
		return
	}
	made := map[string]bool{"": true}
	add := func(name string) {
		if made[name] {
			t.Errorf("%s of seed %s: tensor %q is made twice\n%s", what, g.Seed, name, g)
		}
		made[name] = true
	}
	for _, in := range m.Inputs {
		add(in.Name)
		if c := g.Input(in.Name); c == nil || len(c.Values) != onnx.Elements(c.Dims) {
			t.Errorf("%s of seed %s: input %q has no values, or not as many as elements", what, g.Seed, in.Name)
		}
	}
	for name := range m.Constants {
		add(name)
	}
	for _, n := range m.Nodes {
		for _, in := range n.Inputs {
			if !made[in] {
				t.Errorf("%s of seed %s: %s reads %q before it is made\n%s", what, g.Seed, n.Op, in, g)
			}
		}
		for _, out := range n.Outputs {
			if out != "" { // left out
				add(out)
			}
		}
	}
	if len(m.Outputs) == 0 {
		t.Errorf("%s of seed %s has no outputs", what, g.Seed)
	}
	for _, out := range m.Outputs {
		if !made[out.Name] {
			t.Errorf("%s of seed %s: output %q is never made\n%s", what, g.Seed, out.Name, g)
		}
	}
}

func TestGraphsAreValid(t *testing.T) {
	rebatched := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		g := New(seed, Options{})
		text := g.String()
		checkModel(t, "graph", g)
		checkModel(t, "permutation", g.Permute(rng))
		checkModel(t, "renaming", g.Rename(rng))
		for _, name := range g.Inner() {
			checkModel(t, "output "+name, g.AddOutput(name))
		}
		if two, second, ok := g.Rebatch(rng); ok {
			rebatched++
			checkModel(t, "batch of two", two)
			checkModel(t, "second item", second)
		}
		if seed < 40 {
			for c := range g.Shrinkings() {
				checkModel(t, "shrinking", c)
			}
		}
		if g.String() != text {
			t.Errorf("seed %d: a rearrangement changed the graph it was made from", seed)
		}
	}
	if rebatched < 20 {
		t.Errorf("%d of 300 graphs can have a batch of two, want at least 20", rebatched)
	}
}

func TestCoverage(t *testing.T) {
	var c onnxgraph.Coverage
	for seed := range uint64(4000) {
		c.Add(New(seed, Options{}))
	}
	t.Log(&c)
	if len(c.Operators) < 110 || len(c.Pairs) < 2700 || len(c.Triples) < 6800 {
		t.Errorf("%s; want at least 110 operators, 2700 pairs and 6800 triples", &c)
	}
	for _, head := range []string{"Conv", "Gemm", "MatMul", "AveragePool", "GlobalAveragePool"} {
		for _, tail := range []string{"Mul", "Add", "Relu", "Sigmoid", "Reshape", "Transpose"} {
			if pair := head + ">" + tail; c.Pairs[pair] == 0 {
				t.Errorf("no graph of 4000 has %s", pair)
			}
		}
	}
}

// TestFormsAreDrawn checks that graphs have operators whose optional inputs, outputs or attributes
// are left out, every operator set, and every form of constants.
func TestFormsAreDrawn(t *testing.T) {
	// A number after an operator is an input that is left out, between others or at the end.
	missing := map[string]bool{
		"Conv kernel_shape": true, "Conv pads": true, "Conv group": true, "Conv 2": true, "ConvTranspose 2": true, "ConvTranspose strides": true,
		"MaxPool strides": true, "AveragePool pads": true, "Gemm 2": true, "Gemm alpha": true, "Gemm transB": true, "Softmax axis": true, "Flatten axis": true,
		"Transpose perm": true, "Gather axis": true, "Split 1": true, "Split axis": true, "Slice 3": true, "Slice 4": true, "Clip 1": true, "Clip 2": true,
		"ReduceMean keepdims": true, "ArgMax axis": true, "ArgMax keepdims": true, "LayerNormalization 2": true, "LayerNormalization axis": true,
		"BatchNormalization epsilon": true, "LeakyRelu alpha": true, "HardSigmoid alpha": true, "Pad 2": true, "Pad mode": true, "Squeeze 1": true,
		"QuantizeLinear 2": true, "DequantizeLinear 2": true, "Resize 1": true, "Resize 2": true, "LSTM 3": true, "LSTM 5": true, "GRU 5": true,
		"LSTM direction": true, "LSTM output 0": true, "TopK largest": true, "DepthToSpace mode": true, "Dropout 1": true,
	}
	versions, forms := map[int]bool{}, map[onnxgraph.Form]bool{}
	for seed := range uint64(6000) {
		g := New(seed, Options{})
		versions[g.Opset] = true
		for _, c := range g.Constants {
			forms[c.Form] = true
		}
		for _, n := range g.Nodes {
			for i := range 7 {
				if i >= len(n.Inputs) || n.Inputs[i] == "" {
					delete(missing, fmt.Sprintf("%s %d", n.Op, i))
				}
			}
			if n.Outputs[0] == "" {
				delete(missing, n.Op+" output 0")
			}
			for form := range missing {
				if op, name, _ := strings.Cut(form, " "); op == n.Op && !slices.ContainsFunc(n.Attributes, func(a onnxgraph.Attribute) bool { return a.Name == name }) && name[0] > '9' && !strings.HasPrefix(name, "output") {
					delete(missing, form)
				}
			}
		}
	}
	for form := range missing {
		t.Errorf("no graph of 6000 leaves out %s", form)
	}
	for _, v := range opsets {
		if !versions[v] {
			t.Errorf("no graph of 6000 has operator set %d", v)
		}
	}
	if len(forms) != 3 {
		t.Errorf("constants have the forms %v; want raw, typed and nodes", forms)
	}
}

// Generate ends for any number of nodes, and the bounds hold.
func TestLargeGraph(t *testing.T) {
	for _, want := range []int{1, 100, 1500} {
		g := New(5, Options{MinNodes: want, MaxNodes: want})
		made := len(g.Nodes)
		if made < want/2 || made > 2*want+17 { // pruning removes nodes that no output needs
			t.Errorf("a graph of %d nodes has %d", want, made)
		}
	}
}
