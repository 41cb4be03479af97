package lower

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/mac"
)

// shared is the reference beside the repository.
const shared = "../../../shared"

// An example is a real program and the layer its name states.
type example struct {
	name  string
	text  []byte
	facts *facts // nil where the index has none
	layer Layer
	w     Weights
}

// facts are an example's addresses and constants.
type facts struct {
	Resources []string `json:"resource_addresses"`
	Text      string   `json:"text_address"`
	Constants string   `json:"constant_address"`
	Section   struct {
		SHA256 string `json:"sha256"`
		Size   int    `json:"size"`
	} `json:"constant_section"`
}

// examples reads every bare text, or skips the test.
func examples(t *testing.T) []example {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(shared, "programs/text/*.text.bin"))
	if len(files) == 0 {
		t.Skip("the real programs are not beside the repository")
	}
	index := map[string]*facts{}
	raw, err := os.ReadFile(filepath.Join(shared, "programs/index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		t.Fatal(err)
	}
	var list []example
	for _, f := range files {
		e := example{name: strings.TrimSuffix(filepath.Base(f), ".text.bin")}
		if e.text, err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
		e.facts = index[e.name]
		e.layer, e.w = describe(t, e.name)
		list = append(list, e)
	}
	return list
}

// number is the value behind a key of a name: k3, c256, st2.
func number(name, key string, missing int) int {
	m := regexp.MustCompile(`_` + key + `(\d+)(?:_|h|$)`).FindStringSubmatch(name)
	if m == nil {
		return missing
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// extent is the shape a name ends with or carries: 1x64x8x8.
func extents(name string) []Shape {
	var s []Shape
	for _, m := range regexp.MustCompile(`(\d+)x(\d+)x(\d+)x(\d+)`).FindAllStringSubmatch(name, -1) {
		var v [4]int
		for i := range v {
			v[i], _ = strconv.Atoi(m[i+1])
		}
		s = append(s, Shape{v[0], v[1], v[2], v[3]})
	}
	return s
}

// describe is the layer an example's name states, with the weights of the examples.
func describe(t *testing.T, name string) (Layer, Weights) {
	t.Helper()
	switch {
	case strings.HasPrefix(name, "encoder_conv_"):
		in := Shape{1, 1024, 1, 375}
		l := Depthwise(in, Window{Kh: 1, Kw: 9, Sy: 1, Sx: 1, Px: 4, Qx: 4})
		l.Bias = true
		f := make([]float16.Float16, 1024*9)
		for i := range f {
			f[i] = float16.Float16(i + 1)
		}
		// The biases count on.
		b := make([]float16.Float16, 1024)
		for i := range b {
			b[i] = float16.Float16(len(f) + i + 1)
		}
		return l, Weights{Filter: f, Bias: b}
	case strings.HasPrefix(name, "conv_"), strings.HasPrefix(name, "env_conv_"):
		return describeConv(name)
	case strings.HasPrefix(name, "mat"), strings.HasPrefix(name, "env_mm_"):
		m, k, n := number(name, "m", 0), number(name, "k", 0), number(name, "n", 0)
		if strings.Contains(name, "r3rr") {
			return Product(m, k, n, Runtime), Weights{}
		}
		return Product(m, k, n, Constant), Weights{}
	case strings.HasPrefix(name, "reduce_"):
		parts := strings.Split(name, "_")
		axes := Axes(0)
		for _, a := range parts[3:] {
			axes |= map[string]Axes{"1": AxisC, "2": AxisH, "3": AxisW}[a]
		}
		return Reduction(operation(t, "reduce_"+parts[1]), Shape{1, 64, 8, 8}, axes), Weights{}
	case strings.HasPrefix(name, "norm_layer_norm_"):
		l := Reduction(LayerNorm, extents(name)[0], AxisW)
		if strings.Contains(name, "ax1_2_3") {
			l.Axes = AxisC | AxisH | AxisW
		}
		l.Epsilon = 1e-5
		return l, Weights{}
	case strings.HasPrefix(name, "norm_softmax_a1"):
		return Reduction(Softmax, extents(name)[0], AxisC), Weights{Table: table(t, "exp"), Reciprocal: fitted(mac.Reciprocal)}
	case strings.HasPrefix(name, "unary_"), strings.HasPrefix(name, "env_act_"):
		return describeUnary(t, name)
	case strings.HasPrefix(name, "binary_"), strings.HasPrefix(name, "env_bcast_"), strings.HasPrefix(name, "env_chain_"):
		return describeBinary(t, name)
	}
	return Layer{}, Weights{}
}

func describeConv(name string) (Layer, Weights) {
	c, s := number(name, "c", 0), number(name, "s", 0)
	in := Shape{1, c, s, s}
	if m := regexp.MustCompile(`_w(\d+)h(\d+)`).FindStringSubmatch(name); m != nil {
		in.W, _ = strconv.Atoi(m[1])
		in.H, _ = strconv.Atoi(m[2])
	}
	k, stride := number(name, "k", 1), number(name, "st", 1)
	w := Same(k, stride, in)
	if strings.HasSuffix(name, "_valid") {
		w = Valid(k, stride)
	}
	groups := number(name, "g", 1)
	l := Conv(in, number(name, "n", c), w)
	l.Groups = groups
	l.Bias = strings.HasSuffix(name, "_bias") || strings.Contains(name, "_bias1")
	wts := Weights{Filter: blob(l.Cout * c / groups * k * k)}
	if l.Bias {
		wts.Bias = wts.Filter[:l.Cout] // read from the same start
	}
	return l, wts
}

func operation(t *testing.T, word string) Op {
	t.Helper()
	if word == "maximum" {
		word = "max"
	}
	op, ok := ParseOp(word)
	if !ok {
		t.Fatalf("no operation %q", word)
	}
	return op
}

func table(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shared, "luts", name+".lut.bin"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fitted is a table as the model fits it; the reciprocal's is the compiler's, by the
// hash of softmax's section.
func fitted(a mac.Activation) []byte {
	table, _ := mac.TableOf(a)
	b := table.Encode()
	return b[:]
}

func describeUnary(t *testing.T, name string) (Layer, Weights) {
	word := strings.Split(strings.TrimPrefix(strings.TrimPrefix(name, "unary_"), "env_act_"), "_")[0]
	in := Shape{1, number(name, "c", 0), 1, 1}
	if s := extents(name); s != nil {
		in = s[0]
	}
	l := Unary(operation(t, word), in)
	l.Epsilon = 1e-6
	if l.Op == ReLU {
		return l, Weights{}
	}
	return l, Weights{Table: table(t, word)}
}

func describeBinary(t *testing.T, name string) (Layer, Weights) {
	s := extents(name)
	parts := strings.Split(name, "_")
	word := parts[1]
	var w Weights
	l := Layer{In: s[0], SecondShape: s[len(s)-1]}
	switch {
	case parts[0] == "env":
		word = parts[2]
	}
	switch {
	case strings.Contains(name, "_scalar"):
		l.Second = Scalar
		w.Second = []float16.Float16{0x3800}
	case strings.Contains(name, "_blob_"):
		l.Second = Constant
		w.Second = blob(s[1].Elements())
	case strings.Contains(name, "residual_relu"):
		l.Second, l.SecondReLU, word = Itself, true, "add"
	}
	l.Op = operation(t, word)
	return l, w
}

// blob is what the examples read as weights: the file they stand in, from its start. It
// holds 0.5 behind a header of 64 halves.
func blob(n int) []float16.Float16 {
	b := make([]float16.Float16, max(n, 64))
	for i := range b {
		b[i] = 0x3800
	}
	clear(b[:64])
	b[0], b[2], b[32], b[33] = 1, 2, 0xbeef, 0xdead
	for i := range 4 {
		b[34+i] = float16.Float16(uint64(2*n) >> (16 * i))
	}
	b[38] = 0x80
	return b[:n:n]
}

func (e *example) String() string { return fmt.Sprintf("%s: %+v", e.name, e.layer) }
