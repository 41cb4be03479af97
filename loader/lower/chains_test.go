package lower

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/internal/material"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
)

// A ChainNet is a network of rows in the making. Weights are random where r is not nil,
// else zeros.
type ChainNet struct {
	t      testing.TB
	r      *rand.Rand
	Net    join.Network
	shapes map[string]layer.Shape
	forms  int // attentions made so far

	SizesOnly bool // computes the sizes of packed weights without packing them
}

func NewChain(t testing.TB, r *rand.Rand) *ChainNet {
	return &ChainNet{t: t, r: r, shapes: map[string]layer.Shape{}}
}

func (b *ChainNet) Input(name string, s layer.Shape) string {
	b.Net.Inputs = append(b.Net.Inputs, join.Tensor{Name: name, Shape: s})
	b.shapes[name] = s
	return name
}

func (b *ChainNet) Random(n int, scale float64) []float16.Float16 {
	if b.r == nil {
		return nil
	}
	v := make([]float16.Float16, n)
	for i := range v {
		v[i] = float16.Fromfloat32(float32((b.r.Float64()*2 - 1) * scale))
	}
	return v
}

func (b *ChainNet) Constant(s layer.Shape) string {
	v := b.Random(s.Elements(), 1)
	if v == nil {
		v = make([]float16.Float16, s.Elements())
	}
	name := fmt.Sprintf("c%d", len(b.Net.Inputs))
	b.Net.Inputs = append(b.Net.Inputs, join.Tensor{Name: name, Shape: s, Values: v})
	b.shapes[name] = s
	return name
}

func (b *ChainNet) node(l layer.Layer, w layer.Weights, inputs ...string) string {
	b.t.Helper()
	w.SizesOnly = b.SizesOnly
	p, err := join.NewPart(l, w)
	if err != nil {
		b.t.Fatalf("%+v: %v", l, err)
	}
	out := fmt.Sprintf("t%d", len(b.Net.Nodes))
	b.Net.Nodes = append(b.Net.Nodes, join.Node{Part: p, Inputs: inputs, Output: out})
	b.shapes[out] = p.Out()
	return out
}

func (b *ChainNet) Linear(x string, n int) string {
	s := b.shapes[x]
	return b.node(layer.Layer{Op: layer.Linear, In: s, Columns: n, Second: layer.Constant},
		layer.Weights{Filter: b.Random(s.W*n, 1/math.Sqrt(float64(s.W)))}, x)
}

func (b *ChainNet) Apply(op layer.Op, x string) string {
	if op == layer.ReLU {
		return b.node(layer.Unary(op, b.shapes[x]), layer.Weights{}, x)
	}
	return b.node(layer.Unary(op, b.shapes[x]), layer.Weights{Table: fitted(map[layer.Op]mac.Activation{layer.GELU: mac.GELU, layer.Tanh: mac.Tanh, layer.Sigmoid: mac.Sigmoid, layer.SiLU: mac.SiLU}[op])}, x)
}

func (b *ChainNet) Sum(x, y string) string {
	return b.node(layer.Binary(layer.Add, b.shapes[x], b.shapes[y]), layer.Weights{}, x, y)
}

func (b *ChainNet) Scale(x string) string {
	l := layer.Layer{Op: layer.Mul, In: b.shapes[x], Second: layer.Scalar, SecondShape: layer.Shape{N: 1, C: 1, H: 1, W: 1}}
	return b.node(l, layer.Weights{Second: []float16.Float16{0x3000}}, x)
}

func (b *ChainNet) Norm(x string) string {
	l := layer.Reduction(layer.LayerNorm, b.shapes[x], layer.AxisW)
	l.Epsilon = 1e-5
	return b.node(l, layer.Weights{}, x)
}

func (b *ChainNet) Softmax(x string) string {
	return b.node(layer.Reduction(layer.Softmax, b.shapes[x], layer.AxisW), layer.Weights{Table: fitted(mac.Exp), Reciprocal: fitted(mac.Reciprocal)}, x)
}

// attention is softmax(q k^T / 8) v of heads x rows x features.
func (b *ChainNet) attention(q, k, v string, scale bool) string {
	s := b.shapes[q]
	product := layer.Layer{Op: layer.MatMul, In: s, Columns: s.H}
	switch b.forms++; b.forms % 3 { // three ways to say k^T
	case 0:
		k = b.node(layer.Unary(layer.Transpose, layer.Shape{N: s.C, C: s.H, H: 1, W: s.W}), layer.Weights{}, k)
	case 1:
		turn := layer.Unary(layer.Transpose, s)
		turn.Order = [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}
		k = b.node(turn, layer.Weights{}, k)
	case 2:
		product.TransposeY = true
	}
	scores := b.node(product, layer.Weights{}, q, k)
	if scale {
		scores = b.Scale(scores)
	}
	p := b.Softmax(scores)
	return b.node(layer.Layer{Op: layer.MatMul, In: b.shapes[p], Columns: s.W}, layer.Weights{}, p, v)
}

func (b *ChainNet) ffn(x string, act layer.Op) string {
	d := b.shapes[x].W
	return b.Linear(b.Apply(act, b.Linear(x, 4*d)), d)
}

func (b *ChainNet) block(x string, projected bool) string {
	h := b.Norm(x)
	q, k, v := h, h, h
	d := b.shapes[x].W
	if projected {
		q, k, v = b.Linear(h, d), b.Linear(h, d), b.Linear(h, d)
	}
	a := b.attention(q, k, v, true)
	if projected {
		a = b.Linear(a, d)
	}
	y := b.Sum(x, a)
	return b.Sum(y, b.ffn(b.Norm(y), layer.GELU))
}

// Attend is the attention of a tensor to itself.
func (b *ChainNet) Attend(x string) string { return b.attention(x, x, x, true) }

// Shape is the shape of a tensor.
func (b *ChainNet) Shape(name string) layer.Shape { return b.shapes[name] }

// Layers are the network's operations.
func (b *ChainNet) Layers() string {
	var ops []string
	for i := range b.Net.Nodes {
		n := &b.Net.Nodes[i]
		ops = append(ops, fmt.Sprintf("%v%v %v", n.Part.Layer.Op, n.Inputs, n.Part.Shape))
	}
	return strings.Join(ops, ", ")
}

// Chain builds the network that a case of chain_facts.csv names.
func (b *ChainNet) Chain(name string) bool {
	num := func(key string, missing int) int {
		m := regexp.MustCompile(`_` + key + `(\d+)(?:_|$)`).FindStringSubmatch(name)
		if m == nil {
			return missing
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	d, s := num("d", 256), num("s", 64)
	rows := layer.Shape{N: 1, C: 1, H: s, W: d}
	kind, _, _ := strings.Cut(name, "_")
	x := ""
	if kind != "attn" && kind != "res" {
		x = b.Input("x", rows)
	}
	var out string
	switch {
	case kind == "ffn":
		switch {
		case strings.HasSuffix(name, "_relu"):
			out = b.ffn(x, layer.ReLU)
		case strings.HasSuffix(name, "_biasbcast"):
			h := b.Linear(x, 4*d)
			h = b.Apply(layer.GELU, b.Sum(h, b.Constant(layer.Shape{N: 1, C: 1, H: 1, W: 4 * d})))
			h = b.Linear(h, d)
			out = b.Sum(h, b.Constant(layer.Shape{N: 1, C: 1, H: 1, W: d}))
		case strings.HasSuffix(name, "_biasfull"):
			h := b.Linear(x, 4*d)
			h = b.Apply(layer.GELU, b.Sum(h, b.Constant(layer.Shape{N: 1, C: 1, H: s, W: 4 * d})))
			h = b.Linear(h, d)
			out = b.Sum(h, b.Constant(layer.Shape{N: 1, C: 1, H: s, W: d}))
		default:
			out = b.ffn(x, layer.GELU)
		}
	case kind == "lnproj":
		out = b.Linear(b.Norm(x), d)
	case kind == "attn":
		in := layer.Shape{N: 1, C: num("h", 1), H: s, W: num("dh", 64)}
		out = b.attention(b.Input("q", in), b.Input("k", in), b.Input("v", in), !strings.HasSuffix(name, "_noscale"))
	case kind == "res":
		x = b.Input("x", layer.Shape{N: 1, C: d, H: 1, W: 1})
		op := layer.GELU
		if strings.Contains(name, "relu") {
			op = layer.ReLU
		}
		out = b.Sum(x, b.Apply(op, x))
	case kind == "resffn":
		out = b.Sum(x, b.ffn(x, layer.GELU))
	case kind == "resattn":
		out = b.Sum(x, b.attention(x, x, x, true))
	case kind == "block":
		out = b.block(x, strings.HasSuffix(name, "proj1"))
	case strings.HasPrefix(kind, "stack"):
		n, _ := strconv.Atoi(kind[5:])
		for out = x; n > 0; n-- {
			out = b.block(out, strings.HasSuffix(name, "proj1"))
		}
	case kind == "branch":
		out = b.Sum(b.Linear(x, d), b.Linear(x, d))
	case kind == "serial":
		y := b.Linear(x, d)
		out = b.Sum(y, b.Linear(y, d))
	case kind == "base":
		out = b.Linear(x, d)
	case strings.HasPrefix(name, "mm_"):
		h := b.Linear(x, d)
		switch name[3:] {
		case "relu":
			out = b.Apply(layer.ReLU, h)
		case "gelu":
			out = b.Apply(layer.GELU, h)
		case "bias":
			out = b.Sum(h, b.Constant(layer.Shape{N: 1, C: 1, H: 1, W: d}))
		case "mul":
			out = b.Scale(h)
		case "add":
			out = b.Sum(x, h)
		case "mm":
			out = b.Linear(h, d)
		case "softmax":
			out = b.Softmax(h)
		default:
			return false
		}
	case name == "gelu_mm":
		out = b.Linear(b.Apply(layer.GELU, x), d)
	case name == "ln_gelu":
		out = b.Apply(layer.GELU, b.Norm(x))
	default:
		return false
	}
	b.Net.Outputs = []string{out}
	return true
}

// chainTexts are the cases whose text is among the oracles.
var chainTexts = map[string]string{
	"ffn_d256_s64": "chain_ffn_d256_s64", "lnproj_d256_s64": "chain_lnproj_d256_s64", "resffn_d256_s64": "chain_resffn_d256_s64",
	"mm_gelu": "chain_pair_mm_gelu_d256_s64", "mm_add": "chain_pair_mm_add_d256_s64", "mm_mm": "chain_pair_mm_mm_d256_s64",
	"branch_d256_s64": "chain_branch_d256_s64",
}

const chainTable = "testdata/chains.md"

// TestChains compares the chains of layers whose facts are known with the compiler's, and
// keeps the table of how each stands.
func TestChains(t *testing.T) {
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, "oracles/chain_facts.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	same, texts := 0, 0
	for _, r := range rows[1:] {
		b := NewChain(t, nil)
		if !b.Chain(r[0]) {
			t.Errorf("%s: no such chain", r[0])
			continue
		}
		j, err := b.Net.Join()
		if err != nil {
			t.Errorf("%s: %v", r[0], err)
			continue
		}
		sizes := map[int]int{}
		for _, d := range j.Builder.Chain {
			sizes[4*d.Words]++
		}
		var lengths []string
		for _, n := range []int{504, 628, 632} {
			if sizes[n] > 0 {
				lengths = append(lengths, fmt.Sprintf("%dx%d", n, sizes[n]))
			}
		}
		constants := len(j.Builder.Constants)
		if constants == 0 {
			constants = 16384 // zeros that no register reads stand in the program
		}
		var differ []string
		for i, got := range []string{
			strconv.Itoa(len(j.Builder.Chain)), strings.Join(lengths, ","),
			strconv.Itoa(constants), strconv.FormatUint(j.Builder.Scratch, 10),
		} {
			if want := r[2+i]; want != "" && got != want {
				differ = append(differ, fmt.Sprintf("%s %s for %s", rows[0][2+i], got, want))
			}
		}
		state := "the compiler's"
		if same++; len(differ) > 0 {
			same--
			state = strings.Join(differ, ", ")
		}
		text := ""
		if name, ok := chainTexts[r[0]]; ok {
			text = chainText(t, "oracles/"+name, j)
			if text == "identical" {
				texts++
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", r[0], state, text)
	}
	head := fmt.Sprintf(`# Lowered chains beside the compiler's

%d of %d chains have the compiler's number of tasks, their lengths, its constant and
scratch sizes, and %d of the %d texts at hand are identical.

| chain | tasks and sizes | text |
|---|---|---|
`, same, len(rows)-1, texts, len(chainTexts))
	got := head + table.String()
	if *update {
		if err := os.WriteFile(chainTable, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, _ := os.ReadFile(chainTable); got != string(want) {
		t.Errorf("%s is not what the chains give; run with -update and look at the difference", chainTable)
	}
}

// chainText says in which words a chain's text is not the compiler's. The name is that of the text
// with its corpus.
func chainText(t *testing.T, name string, j *join.Joined) string {
	t.Helper()
	want := material.Read(t, name+".text.bin")
	got := regs.EncodeChain(j.Builder.Chain)
	if bytes.Equal(got, want) {
		return "identical"
	}
	var words []string
	for _, d := range compare(t, got, want, j.Builder.Chain[0].Words) {
		words = append(words, fmt.Sprintf("task %d %s %#x for %#x", d.task, d.word, d.got, d.want))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// x + gelu(x) on channels keeps x in the L2 behind the table's result, and x + relu(x) is one task.
// The compiler numbers the output first in one of them.
func TestResidualTexts(t *testing.T) {
	for _, tc := range []struct {
		name        string
		in          layer.Shape
		op          layer.Op
		outputFirst bool
	}{
		{"oracles/env_chain_residual_gelu_1x64x8x8", layer.Shape{N: 1, C: 64, H: 8, W: 8}, layer.GELU, false},
		{"texts/chain_res_relu_d256", layer.Shape{N: 1, C: 256, H: 1, W: 1}, layer.ReLU, true},
	} {
		material.File(t, tc.name+".text.bin")
		b := NewChain(t, nil)
		b.Net.OutputsFirst = tc.outputFirst
		x := b.Input("x", tc.in)
		b.Net.Outputs = []string{b.Sum(x, b.Apply(tc.op, x))}
		j, err := b.Net.Join()
		if err != nil {
			t.Fatal(err)
		}
		if got := chainText(t, tc.name, j); got != "identical" {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}
