package lower

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
	"anesim/internal/material"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/layer"
)

// An example is a real program and the layer its name states.
type example struct {
	name   string
	corpus string
	family string // what the manifest calls it, or what its name begins with
	first  int    // words of its first descriptor, 0 where the manifest has none
	// chain is of several layers: no layer by itself states it.
	chain bool
	text  []byte
	facts *facts // nil where the index has none
	layer layer.Layer
	w     layer.Weights
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

// examples reads every bare text of both corpora, or skips the test.
func examples(t *testing.T) []example {
	t.Helper()
	var list []example
	for _, corpus := range [...]string{"programs", "oracles", "texts"} {
		list = append(list, corpusOf(t, corpus)...)
	}
	return list
}

// corpusOf reads the texts that the manifest of a corpus lists.
func corpusOf(t *testing.T, corpus string) []example {
	t.Helper()
	dir := material.File(t, corpus)
	rows, err := csv.NewReader(bytes.NewReader(material.Read(t, corpus+"/MANIFEST.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	index := map[string]*facts{}
	if raw, err := os.ReadFile(filepath.Join(dir, "index.json")); err == nil {
		if err := json.Unmarshal(raw, &index); err != nil {
			t.Fatal(err)
		}
	}
	var list []example
	for _, row := range rows[1:] {
		file := row[column["file"]]
		if !strings.HasSuffix(file, ".text.bin") {
			continue
		}
		e := example{corpus: corpus, name: strings.TrimSuffix(filepath.Base(file), ".text.bin")}
		e.first, _ = strconv.Atoi(row[column["first_td_words"]])
		e.family = strings.Split(strings.TrimPrefix(e.name, "env_"), "_")[0]
		if i, ok := column["family"]; ok {
			e.family = row[i]
		}
		e.text = material.Read(t, corpus+"/"+file)
		e.facts = index[e.name]
		// Constants begin at the first multiple of 64 behind the text.
		name := filepath.Join(dir, e.name+".const.bin")
		if b, err := os.ReadFile(name); err == nil && len(b) > -len(e.text)&63 {
			e.facts = &facts{}
			e.facts.Section.SHA256 = fmt.Sprintf("%x", sha256.Sum256(b[-len(e.text)&63:]))
		}
		e.layer, e.w = describe(t, e.name)
		e.chain = e.layer.Op == 0
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b example) int { return strings.Compare(a.name, b.name) })
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
func extents(name string) []layer.Shape {
	var s []layer.Shape
	for _, m := range regexp.MustCompile(`(\d+)x(\d+)x(\d+)x(\d+)`).FindAllStringSubmatch(name, -1) {
		var v [4]int
		for i := range v {
			v[i], _ = strconv.Atoi(m[i+1])
		}
		s = append(s, layer.Shape{N: v[0], C: v[1], H: v[2], W: v[3]})
	}
	return s
}

// describe is the layer an example's name states, with the weights of the examples.
func describe(t *testing.T, name string) (layer.Layer, layer.Weights) {
	t.Helper()
	switch {
	case strings.HasPrefix(name, "eiln_"):
		return describeLarge(t, name)
	case name == "encoder_slice_lastdim":
		return layer.Layer{Op: layer.Slice, In: layer.Shape{N: 1, C: 8, H: 375, W: 749}, Size: layer.Shape{N: 1, C: 8, H: 375, W: 375}}, layer.Weights{}
	case name == "encoder_transpose_r3_021":
		return layer.Layer{Op: layer.Transpose, In: layer.Shape{N: 1, C: 1, H: 375, W: 1024}, Order: [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}}, layer.Weights{}
	case name == "encoder_transpose_r3_021_1x1024x375":
		return layer.Layer{Op: layer.Transpose, In: layer.Shape{N: 1, C: 1, H: 1024, W: 375}, Order: [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}}, layer.Weights{}
	case strings.HasPrefix(name, "tile_r_"):
		return layer.Layer{Op: layer.Tile, In: layer.Shape{N: 1, C: 8, H: 1, W: 375}, Reps: layer.Shape{N: 1, C: 1, H: 375, W: 1}, Activation: layer.ReLU}, layer.Weights{}
	case strings.HasPrefix(name, "logical_not"):
		return layer.Unary(layer.LogicalNot, extents(name)[0]), layer.Weights{Table: fitted(mac.Negative)}
	case name == "chain_base_gelu_d256_s64", name == "chain_base_silu_d256_s64", name == "chain_base_relu_d256_s64":
		word := strings.Split(name, "_")[2]
		l := layer.Unary(operation(t, word), layer.Shape{N: 1, C: 1, H: 64, W: 256})
		l.OutputFirst = true
		if l.Op == layer.ReLU {
			return l, layer.Weights{}
		}
		return l, layer.Weights{Table: table(t, word)}
	case name == "chain_base_add_d256_s64":
		in := layer.Shape{N: 1, C: 1, H: 64, W: 256}
		l := layer.Binary(layer.Add, in, in)
		l.OutputFirst = true
		return l, layer.Weights{}
	case name == "chain_res_relu_d256":
		in := layer.Shape{N: 1, C: 256, H: 1, W: 1}
		l := layer.Binary(layer.Add, in, in)
		l.Second, l.SecondReLU, l.OutputFirst = layer.Itself, true, true
		return l, layer.Weights{}
	case strings.HasPrefix(name, "chain_add_relu_"):
		in := layer.Shape{N: 1, C: number(name, "c", 0), H: 1, W: 1}
		l := layer.Binary(layer.Add, in, in)
		l.Activation = layer.ReLU
		return l, layer.Weights{}
	case strings.HasPrefix(name, "chain_"), strings.HasPrefix(name, "env_chain_residual_gelu"):
		return layer.Layer{}, layer.Weights{}
	case strings.HasPrefix(name, "encoder_conv_pad_"):
		l := layer.Depthwise(layer.Shape{N: 1, C: 8, H: 8, W: 7}, layer.Window{Kh: 1, Kw: 1, Sy: 1, Sx: 1, Px: 1})
		return l, layer.Weights{Filter: blob(8)}
	case name == "encoder_conv_c1024_n1024_k9x1_s1_g1024_bias0_same":
		in := layer.Shape{N: 1, C: 1024, H: 1, W: 375}
		return layer.Depthwise(in, layer.Window{Kh: 9, Kw: 1, Sy: 1, Sx: 1, Py: 4, Qy: 4}), layer.Weights{Filter: blob(9 * 1024)}
	case strings.HasPrefix(name, "encoder_conv_idx_c1024_n2048_"):
		l := layer.Conv(layer.Shape{N: 1, C: 1024, H: 1, W: 375}, 2048, layer.Valid(1, 1))
		return l, layer.Weights{Filter: make([]float16.Float16, 1024*2048)}
	case strings.HasPrefix(name, "encoder_conv_"):
		in := layer.Shape{N: 1, C: 1024, H: 1, W: 375}
		l := layer.Depthwise(in, layer.Window{Kh: 1, Kw: 9, Sy: 1, Sx: 1, Px: 4, Qx: 4})
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
		return l, layer.Weights{Filter: f, Bias: b}
	case strings.HasPrefix(name, "conv_"), strings.HasPrefix(name, "env_conv_"):
		return describeConv(name)
	case strings.HasPrefix(name, "mat"), strings.HasPrefix(name, "env_mm_"), strings.HasPrefix(name, "rrmm_r2rb_"):
		m, k, n := number(name, "m", 0), number(name, "k", 0), number(name, "n", 0)
		if strings.Contains(name, "r3rr") || strings.Contains(name, "r2rr") {
			return layer.Product(m, k, n, layer.Runtime), layer.Weights{}
		}
		l := layer.Product(m, k, n, layer.Constant)
		l.TransposeX = strings.Contains(name, "_tx1_")
		return l, layer.Weights{}
	case strings.HasPrefix(name, "reduce_"):
		parts := strings.Split(regexp.MustCompile(`_ax(\d)`).ReplaceAllString(strings.Replace(name, "probe_", "", 1), "_axes_$1"), "_")
		in := layer.Shape{N: 1, C: 64, H: 8, W: 8}
		if s := extents(name); s != nil {
			in = s[0]
		}
		axes := layer.Axes(0)
		for _, a := range parts[2:] {
			axes |= map[string]layer.Axes{"1": layer.AxisC, "2": layer.AxisH, "3": layer.AxisW}[a]
		}
		return layer.Reduction(operation(t, "reduce_"+parts[1]), in, axes), layer.Weights{}
	case strings.HasPrefix(name, "norm_layer_norm_"):
		l := layer.Reduction(layer.LayerNorm, extents(name)[0], layer.AxisW)
		if strings.Contains(name, "ax1_2_3") {
			l.Axes = layer.AxisC | layer.AxisH | layer.AxisW
		}
		l.Epsilon = 1e-5
		return l, layer.Weights{}
	case strings.HasPrefix(name, "norm_softmax_a"):
		axis := map[string]layer.Axes{"a1": layer.AxisC, "a2": layer.AxisH, "a3": layer.AxisW}[strings.Split(name, "_")[2]]
		return layer.Reduction(layer.Softmax, extents(name)[0], axis), layer.Weights{Table: table(t, "exp"), Reciprocal: fitted(mac.Reciprocal)}
	case strings.HasPrefix(name, "unary_"), strings.HasPrefix(name, "env_act_"):
		return describeUnary(t, name)
	case strings.HasPrefix(name, "binary_"), strings.HasPrefix(name, "env_bcast_"), strings.HasPrefix(name, "env_chain_"), strings.HasPrefix(name, "rrmm_bcast_"):
		return describeBinary(t, name)
	}
	return layer.Layer{}, layer.Weights{}
}

func describeConv(name string) (layer.Layer, layer.Weights) {
	c, s := number(name, "c", 0), number(name, "s", 0)
	in := layer.Shape{N: 1, C: c, H: s, W: s}
	if m := regexp.MustCompile(`_w(\d+)h(\d+)`).FindStringSubmatch(name); m != nil {
		in.W, _ = strconv.Atoi(m[1])
		in.H, _ = strconv.Atoi(m[2])
	}
	k, stride := number(name, "k", 1), number(name, "st", 1)
	w := layer.Same(k, stride, in)
	if strings.HasSuffix(name, "_valid") {
		w = layer.Valid(k, stride)
	}
	groups := number(name, "g", 1)
	l := layer.Conv(in, number(name, "n", c), w)
	l.Groups = groups
	l.Bias = strings.HasSuffix(name, "_bias") || strings.Contains(name, "_bias1")
	if strings.HasSuffix(name, "_relu") {
		l.Activation = layer.ReLU
	}
	wts := layer.Weights{Filter: blob(l.Cout * c / groups * k * k)}
	if l.Bias {
		wts.Bias = wts.Filter[:l.Cout] // read from the same start
	}
	return l, wts
}

func operation(t *testing.T, word string) layer.Op {
	t.Helper()
	if word == "maximum" {
		word = "max"
	}
	op, ok := layer.ParseOp(word)
	if !ok {
		t.Fatalf("no operation %q", word)
	}
	return op
}

func table(t *testing.T, name string) []byte {
	t.Helper()
	return material.Read(t, "luts/"+name+".lut.bin")
}

// fitted is a table as the model fits it; the reciprocal's is the compiler's, by the
// hash of softmax's section. Each is fitted once, which takes a while.
func fitted(a mac.Activation) []byte {
	if b, ok := fits.Load(a); ok {
		return slices.Clone(b.([]byte))
	}
	table := mac.TableOf(a)
	b := table.Encode()
	fits.Store(a, b[:])
	return slices.Clone(b[:])
}

var fits sync.Map

func describeUnary(t *testing.T, name string) (layer.Layer, layer.Weights) {
	word := strings.Split(strings.TrimPrefix(strings.TrimPrefix(name, "unary_"), "env_act_"), "_")[0]
	in := layer.Shape{N: 1, C: number(name, "c", 0), H: 1, W: 1}
	if s := extents(name); s != nil {
		in = s[0]
	}
	l := layer.Unary(operation(t, word), in)
	l.Epsilon = 1e-6
	if m := regexp.MustCompile(`_1x(\d+)x(\d+)$`).FindStringSubmatch(name); m != nil {
		l.In = layer.Shape{N: 1, C: 1, H: 0, W: 0}
		l.In.H, _ = strconv.Atoi(m[1])
		l.In.W, _ = strconv.Atoi(m[2])
	}
	if l.Op == layer.ReLU || l.Op == layer.Abs {
		return l, layer.Weights{}
	}
	return l, layer.Weights{Table: table(t, word)}
}

func describeBinary(t *testing.T, name string) (layer.Layer, layer.Weights) {
	s := extents(name)
	if c := number(name, "c", 0); s == nil {
		s = []layer.Shape{{N: 1, C: c, H: 1, W: 1}, {N: 1, C: c, H: 1, W: 1}}
	}
	parts := strings.Split(name, "_")
	word := parts[1]
	if strings.Contains(name, "real_div") {
		word = "real_div"
	}
	var w layer.Weights
	l := layer.Layer{In: s[0], SecondShape: s[len(s)-1]}
	switch {
	case parts[0] == "env", parts[0] == "rrmm":
		word = parts[2]
	}
	switch {
	case strings.Contains(name, "_scalar"):
		l.Second = layer.Scalar
		w.Second = []float16.Float16{0x3800}
	case strings.Contains(name, "_blob"):
		l.Second = layer.Constant
		w.Second = blob(s[1].Elements())
	case word == "real_div":
		w.Table = fitted(mac.Reciprocal)
	case word == "pow":
		w.Table, w.Tables = fitted(mac.Log2), [][]byte{fitted(mac.Exp2)}
	case strings.Contains(name, "residual_relu"):
		l.Second, l.SecondReLU, word = layer.Itself, true, "add"
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

// describeLarge is a layer over 1x1x2560x1600 that a compiler of 2023 made; its tables
// stand behind its text.
func describeLarge(t *testing.T, name string) (layer.Layer, layer.Weights) {
	l, w := describeLargeValues(t, name)
	l.Release = layer.Release2023
	return l, w
}

func describeLargeValues(t *testing.T, name string) (layer.Layer, layer.Weights) {
	word := strings.Split(name, "_")[1]
	in := layer.Shape{N: 1, C: 1, H: 2560, W: 1600}
	section, text := material.Read(t, "oracles/"+name+".const.bin"), material.Read(t, "oracles/"+name+".text.bin")
	section = section[-len(text)&63:] // constants begin at a multiple of 64
	switch word {
	case "add", "mul", "max", "square", "abs":
		if word == "square" || word == "abs" {
			return layer.Unary(operation(t, word), in), layer.Weights{}
		}
		return layer.Binary(operation(t, word), in, in), layer.Weights{}
	case "softmax":
		return layer.Reduction(layer.Softmax, in, layer.AxisW), layer.Weights{Table: table(t, "exp"), Reciprocal: fitted(mac.Reciprocal)}
	case "norm":
		return layer.Layer{}, layer.Weights{}
	case "hardtanh":
		l := layer.Unary(layer.Clip, in)
		l.Low, l.High = -1, 1
		return l, layer.Weights{Table: section[:coeff.TableBytes]}
	case "inv":
		word = "inverse"
	}
	w := layer.Weights{Table: section[:min(len(section), coeff.TableBytes)]}
	l := layer.Unary(operation(t, word), in)
	if l.Op == layer.Inverse {
		l.Epsilon = 1e-4
	}
	for i := 1; i < l.Op.TableCount(); i++ {
		w.Tables = append(w.Tables, section[i*coeff.TableBytes:][:coeff.TableBytes])
	}
	if len(w.Tables) > 0 { // the second of the section is the first that the layer takes
		w.Table, w.Tables[0] = w.Tables[0], w.Table
	}
	return l, w
}
