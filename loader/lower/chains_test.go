package lower

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/mac"
	"anesim/hw/regs"
)

// A chainNet is a network of rows in the making. Weights are random where r is not nil,
// else zeros.
type chainNet struct {
	t      testing.TB
	r      *rand.Rand
	net    Network
	shapes map[string]Shape
}

func newChain(t testing.TB, r *rand.Rand) *chainNet {
	return &chainNet{t: t, r: r, shapes: map[string]Shape{}}
}

func (b *chainNet) input(name string, s Shape) string {
	b.net.Inputs = append(b.net.Inputs, Tensor{Name: name, Shape: s})
	b.shapes[name] = s
	return name
}

func (b *chainNet) values(n int, scale float64) []float16.Float16 {
	if b.r == nil {
		return nil
	}
	v := make([]float16.Float16, n)
	for i := range v {
		v[i] = float16.Fromfloat32(float32((b.r.Float64()*2 - 1) * scale))
	}
	return v
}

func (b *chainNet) constant(s Shape) string {
	v := b.values(s.Elements(), 1)
	if v == nil {
		v = make([]float16.Float16, s.Elements())
	}
	name := fmt.Sprintf("c%d", len(b.net.Inputs))
	b.net.Inputs = append(b.net.Inputs, Tensor{Name: name, Shape: s, Values: v})
	b.shapes[name] = s
	return name
}

func (b *chainNet) node(l Layer, w Weights, inputs ...string) string {
	b.t.Helper()
	p, err := NewPart(l, w)
	if err != nil {
		b.t.Fatalf("%+v: %v", l, err)
	}
	out := fmt.Sprintf("t%d", len(b.net.Nodes))
	b.net.Nodes = append(b.net.Nodes, Node{p, inputs, out})
	b.shapes[out] = p.Out()
	return out
}

func (b *chainNet) linear(x string, n int) string {
	s := b.shapes[x]
	return b.node(Layer{Op: Linear, In: s, Columns: n, Second: Constant},
		Weights{Filter: b.values(s.W*n, 1/math.Sqrt(float64(s.W)))}, x)
}

func (b *chainNet) apply(op Op, x string) string {
	if op == ReLU {
		return b.node(Unary(op, b.shapes[x]), Weights{}, x)
	}
	return b.node(Unary(op, b.shapes[x]), Weights{Table: fitted(map[Op]mac.Activation{GELU: mac.GELU, Tanh: mac.Tanh, Sigmoid: mac.Sigmoid, SiLU: mac.SiLU}[op])}, x)
}

func (b *chainNet) add(x, y string) string {
	return b.node(Binary(Add, b.shapes[x], b.shapes[y]), Weights{}, x, y)
}

func (b *chainNet) scale(x string) string {
	l := Layer{Op: Mul, In: b.shapes[x], Second: Scalar, SecondShape: Shape{1, 1, 1, 1}}
	return b.node(l, Weights{Second: []float16.Float16{0x3000}}, x)
}

func (b *chainNet) norm(x string) string {
	l := Reduction(LayerNorm, b.shapes[x], AxisW)
	l.Epsilon = 1e-5
	return b.node(l, Weights{}, x)
}

func (b *chainNet) softmax(x string) string {
	return b.node(Reduction(Softmax, b.shapes[x], AxisW), Weights{Table: fitted(mac.Exp), Reciprocal: fitted(mac.Reciprocal)}, x)
}

// attention is softmax(q k^T / 8) v of heads x rows x features.
func (b *chainNet) attention(q, k, v string, scale bool) string {
	s := b.shapes[q]
	turned := b.node(Unary(Transpose, Shape{s.C, s.H, 1, s.W}), Weights{}, k)
	scores := b.node(Layer{Op: MatMul, In: s, Columns: s.H}, Weights{}, q, turned)
	if scale {
		scores = b.scale(scores)
	}
	p := b.softmax(scores)
	return b.node(Layer{Op: MatMul, In: b.shapes[p], Columns: s.W}, Weights{}, p, v)
}

func (b *chainNet) ffn(x string, act Op) string {
	d := b.shapes[x].W
	return b.linear(b.apply(act, b.linear(x, 4*d)), d)
}

func (b *chainNet) block(x string, projected bool) string {
	h := b.norm(x)
	q, k, v := h, h, h
	d := b.shapes[x].W
	if projected {
		q, k, v = b.linear(h, d), b.linear(h, d), b.linear(h, d)
	}
	a := b.attention(q, k, v, true)
	if projected {
		a = b.linear(a, d)
	}
	y := b.add(x, a)
	return b.add(y, b.ffn(b.norm(y), GELU))
}

// chain builds the network that a case of chain_facts.csv names.
func (b *chainNet) chain(name string) bool {
	num := func(key string, missing int) int {
		m := regexp.MustCompile(`_` + key + `(\d+)(?:_|$)`).FindStringSubmatch(name)
		if m == nil {
			return missing
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	d, s := num("d", 256), num("s", 64)
	rows := Shape{1, 1, s, d}
	kind, _, _ := strings.Cut(name, "_")
	x := ""
	if kind != "attn" && kind != "res" {
		x = b.input("x", rows)
	}
	var out string
	switch {
	case kind == "ffn":
		switch {
		case strings.HasSuffix(name, "_relu"):
			out = b.ffn(x, ReLU)
		case strings.HasSuffix(name, "_biasbcast"):
			h := b.linear(x, 4*d)
			h = b.apply(GELU, b.add(h, b.constant(Shape{1, 1, 1, 4 * d})))
			h = b.linear(h, d)
			out = b.add(h, b.constant(Shape{1, 1, 1, d}))
		case strings.HasSuffix(name, "_biasfull"):
			h := b.linear(x, 4*d)
			h = b.apply(GELU, b.add(h, b.constant(Shape{1, 1, s, 4 * d})))
			h = b.linear(h, d)
			out = b.add(h, b.constant(Shape{1, 1, s, d}))
		default:
			out = b.ffn(x, GELU)
		}
	case kind == "lnproj":
		out = b.linear(b.norm(x), d)
	case kind == "attn":
		in := Shape{1, num("h", 1), s, num("dh", 64)}
		out = b.attention(b.input("q", in), b.input("k", in), b.input("v", in), !strings.HasSuffix(name, "_noscale"))
	case kind == "res":
		x = b.input("x", Shape{1, d, 1, 1})
		op := GELU
		if strings.Contains(name, "relu") {
			op = ReLU
		}
		out = b.add(x, b.apply(op, x))
	case kind == "resffn":
		out = b.add(x, b.ffn(x, GELU))
	case kind == "resattn":
		out = b.add(x, b.attention(x, x, x, true))
	case kind == "block":
		out = b.block(x, strings.HasSuffix(name, "proj1"))
	case strings.HasPrefix(kind, "stack"):
		n, _ := strconv.Atoi(kind[5:])
		for out = x; n > 0; n-- {
			out = b.block(out, strings.HasSuffix(name, "proj1"))
		}
	case kind == "branch":
		out = b.add(b.linear(x, d), b.linear(x, d))
	case kind == "serial":
		y := b.linear(x, d)
		out = b.add(y, b.linear(y, d))
	case kind == "base":
		out = b.linear(x, d)
	case strings.HasPrefix(name, "mm_"):
		h := b.linear(x, d)
		switch name[3:] {
		case "relu":
			out = b.apply(ReLU, h)
		case "gelu":
			out = b.apply(GELU, h)
		case "bias":
			out = b.add(h, b.constant(Shape{1, 1, 1, d}))
		case "mul":
			out = b.scale(h)
		case "add":
			out = b.add(x, h)
		case "mm":
			out = b.linear(h, d)
		case "softmax":
			out = b.softmax(h)
		default:
			return false
		}
	case name == "gelu_mm":
		out = b.linear(b.apply(GELU, x), d)
	case name == "ln_gelu":
		out = b.apply(GELU, b.norm(x))
	default:
		return false
	}
	b.net.Outputs = []string{out}
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
	file, err := os.Open(filepath.Join(shared, "oracles/chain_facts.csv"))
	if err != nil {
		t.Skip("the facts of the compiler's chains are not beside the repository")
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	same, texts := 0, 0
	for _, r := range rows[1:] {
		b := newChain(t, nil)
		if !b.chain(r[0]) {
			t.Errorf("%s: no such chain", r[0])
			continue
		}
		j, err := b.net.Join()
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
		var differ []string
		for i, got := range []string{
			strconv.Itoa(len(j.Builder.Chain)), strings.Join(lengths, ","),
			strconv.Itoa(len(j.Builder.Constants)), strconv.FormatUint(j.Builder.Scratch, 10),
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
			text = chainText(t, name, j)
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

// chainText says in which words a chain's text is not the compiler's.
func chainText(t *testing.T, name string, j *Joined) string {
	t.Helper()
	want, err := os.ReadFile(filepath.Join(shared, "oracles", name+".text.bin"))
	if err != nil {
		t.Fatal(err)
	}
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
