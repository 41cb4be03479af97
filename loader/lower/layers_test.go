package lower_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/network/keys"
	"anesim/loader"
	"anesim/loader/internal/golden"
	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	. "anesim/loader/lower"
	"anesim/loader/network/list"
)

// TestLayers holds layers to the descriptors that testdata/layers has of them, register by
// register, and refusals to their words. -rewrite writes the files anew.
func TestLayers(t *testing.T) {
	golden.Test(t, "testdata/layers/*.txt", func(t *testing.T, c *golden.Case) string {
		l, w := goldenLayer(t, c.Input)
		return layerText(t, l, w)
	})
}

// TestNetworks holds chains and pictures of layers to testdata/networks.
func TestNetworks(t *testing.T) {
	golden.Test(t, "testdata/networks/*.txt", func(t *testing.T, c *golden.Case) string {
		return networkText(t, goldenNetwork(t, c.Input))
	})
}

// goldenLayer reads a layer in words and makes its weights up:
//
//	conv cin=4 h=8 w=8 cout=8 k=3
//	with weights=palette l2=65536 lane=4096 second=relu release=2023 first=output
//
// weights are dense, zeros (every third is zero), last (all but the last are zero), palette, sparse
// or int8; l2 and lane are the
// bytes of smaller memories; second=relu rectifies the second operand; begin and size are those
// of a slice, an extent each of N, C, H and W. A layer beyond a limit is one all the same.
func goldenLayer(t *testing.T, lines []string) (layer.Layer, layer.Weights) {
	t.Helper()
	words := strings.Fields(lines[0])
	op, ok := keys.Find(words[0])
	if !ok {
		t.Fatalf("no operation %s", words[0])
	}
	keys, err := op.ParseKeys(words[1:])
	if err != nil {
		t.Fatal(err)
	}
	if op.Name == "slice" && keys["size"] == "" {
		keys["size"] = "1"
	}
	made, err := op.Single(keys)
	if made == nil {
		t.Fatal(err)
	}
	l, form := made.Lower, "dense"
	for _, line := range lines[1:] {
		words := strings.Fields(line)
		if words[0] != "with" {
			t.Fatalf("line %q: want with KEY=VALUE", line)
		}
		for _, word := range words[1:] {
			if kind, ok := strings.CutPrefix(word, "weights="); ok {
				form = kind
			} else if !setWord(&l, word) {
				t.Fatalf("line %q: no %q", line, word)
			}
		}
	}
	return l, goldenWeights(t, &l, form)
}

// setWord sets what a word says of a layer that keys do not, and reports whether it says any.
func setWord(l *layer.Layer, word string) bool {
	key, value, _ := strings.Cut(word, "=")
	n, err := strconv.Atoi(value)
	switch {
	case word == "second=relu":
		l.SecondReLU = true
	case word == "bias=true":
		l.Bias = true
	case word == "release=2023":
		l.Release = layer.Release2023
	case word == "first=output":
		l.OutputFirst = true
	case key == "l2" && err == nil:
		l.Memories.L2 = n
	case key == "lane" && err == nil:
		l.Memories.Lane = n
	case key == "begin":
		return scanShape(&l.Begin, value)
	case key == "size":
		return scanShape(&l.Size, value)
	default:
		return false
	}
	return true
}

func scanShape(s *layer.Shape, text string) bool {
	n, _ := fmt.Sscanf(text, "%d,%d,%d,%d", &s.N, &s.C, &s.H, &s.W)
	return n == 4
}

// goldenWeights are weights without a meaning, each with bits of its own, in values that the
// form holds.
func goldenWeights(t *testing.T, l *layer.Layer, form string) layer.Weights {
	t.Helper()
	w := madeUp(l, form == "zeros")
	each := func(value func(i int) float16.Float16) {
		w.Filter, w.SizesOnly = make([]float16.Float16, list.Needs(l).Filter), false
		for i := range w.Filter {
			w.Filter[i] = value(i)
		}
	}
	mixed := func(i int) uint32 { return uint32(i+1) * 2654435761 >> 16 }
	switch form {
	case "dense", "zeros":
	case "last":
		each(func(i int) float16.Float16 {
			if i < len(w.Filter)-1 {
				return 0
			}
			return 0x3c00
		})
	case "palette":
		w.Form = layer.FormPalette
		each(func(i int) float16.Float16 { return float16.Float16(0x3000 | mixed(i)%12) })
	case "sparse":
		w.Form = layer.FormSparse
		each(func(i int) float16.Float16 {
			if mixed(i)%4 > 0 {
				return 0
			}
			return float16.Float16(0x2c00 | mixed(i)>>4)
		})
	case "int8":
		w.Form, w.Scale = layer.FormInt8, []float16.Float16{0x1c00} // 1/256
		each(func(i int) float16.Float16 { return float16.Fromfloat32(float32(int(mixed(i)%255)-127) / 256) })
	default:
		t.Fatalf("weights=%s: want dense, zeros, last, palette, sparse or int8", form)
	}
	return w
}

// layerText is a layer's program, or why there is none.
func layerText(t *testing.T, l layer.Layer, w layer.Weights) string {
	t.Helper()
	c, err := Compile(l, w)
	if err != nil {
		return "refused: " + err.Error()
	}
	return builderText(t, c.Builder)
}

func builderText(t *testing.T, b *loader.Builder) string {
	t.Helper()
	p, err := b.Layout("golden")
	if err != nil {
		return "refused: " + err.Error()
	}
	text, err := golden.Program(p)
	if err != nil {
		t.Fatal(err)
	}
	if b.Scratch > 0 {
		text = fmt.Sprintf("scratch %d bytes\n", b.Scratch) + text
	}
	return text
}

// goldenNetwork reads a network: a chain that [ChainNet.Chain] names,
//
//	chain attn_s64_dh64
//	with memory=true l2=65536
//
// or layers in words, whose inputs are tensors by name. A constant has values of its own.
//
//	x = input 1x24x14x14
//	c = constant 1x24x1x1
//	y = conv(x) cout=16 k=3 pad=same
//	z = add(y c)
//	out z
func goldenNetwork(t *testing.T, lines []string) *join.Network {
	t.Helper()
	if name, ok := strings.CutPrefix(lines[0], "chain "); ok {
		b := NewChain(t, nil)
		if !b.Chain(name) {
			t.Fatalf("no chain %s", name)
		}
		networkOptions(t, &b.Net, lines[1:])
		return &b.Net
	}
	n := &join.Network{}
	shapes := map[string]layer.Shape{}
	for i, line := range lines {
		if strings.HasPrefix(line, "with ") {
			networkOptions(t, n, lines[i:])
			break
		}
		if out, ok := strings.CutPrefix(line, "out "); ok {
			n.Outputs = strings.Fields(out)
			continue
		}
		name, text, _ := strings.Cut(line, " = ")
		words := strings.Fields(text)
		if kind := words[0]; kind == "input" || kind == "constant" {
			in := join.Tensor{Name: name, Shape: shapeInWords(t, words[1])}
			if kind == "constant" {
				like := layer.Unary(layer.PReLU, layer.Shape{N: 1, C: in.Shape.Elements(), H: 1, W: 1}) // needs that many values
				in.Values = madeUp(&like, false).Second
			}
			n.Inputs, shapes[name] = append(n.Inputs, in), in.Shape
			continue
		}
		op, operands, _ := strings.Cut(text, "(")
		operands, rest, _ := strings.Cut(operands, ")")
		n.Nodes = append(n.Nodes, goldenNode(t, shapes, name, op, strings.Fields(operands), strings.Fields(rest)))
		shapes[name] = n.Nodes[len(n.Nodes)-1].Part.Out()
	}
	return n
}

// goldenNode is a layer of a network.
func goldenNode(t *testing.T, shapes map[string]layer.Shape, name, op string, operands, words []string) join.Node {
	t.Helper()
	o, ok := keys.Find(op)
	if !ok {
		t.Fatalf("%s: no operation %q", name, op)
	}
	form := "dense"
	if len(words) > 0 && strings.HasPrefix(words[len(words)-1], "weights=") {
		form, words = words[len(words)-1][len("weights="):], words[:len(words)-1]
	}
	values, err := o.ParseKeys(words)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var in []layer.Shape
	for _, x := range operands {
		in = append(in, shapes[x])
	}
	l, err := o.After(in, values)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	part, err := join.NewPart(l.Lower, goldenWeights(t, &l.Lower, form))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return join.Node{Part: part, Inputs: operands, Output: name}
}

func networkOptions(t *testing.T, n *join.Network, lines []string) {
	t.Helper()
	for _, line := range lines {
		for _, word := range strings.Fields(line)[1:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "memory":
				n.InMemory = value == "true"
			case "l2":
				n.Memories.L2, _ = strconv.Atoi(value)
			default:
				t.Fatalf("line %q: no %q", line, word)
			}
		}
	}
}

func shapeInWords(t *testing.T, text string) (s layer.Shape) {
	t.Helper()
	if n, err := fmt.Sscanf(text, "%dx%dx%dx%d", &s.N, &s.C, &s.H, &s.W); n != 4 {
		t.Fatalf("shape %q: %v", text, err)
	}
	return s
}

// networkText is a network's program: which descriptors each layer has, what stays in L2
// and what does not, and the descriptors; or why there is none.
func networkText(t *testing.T, n *join.Network) string {
	t.Helper()
	j, err := n.Join()
	if err != nil {
		return "refused: " + err.Error()
	}
	var b strings.Builder
	for i, r := range j.Nodes {
		fmt.Fprintf(&b, "layer %d %v of %v: ", i, n.Nodes[i].Part.Layer.Op, n.Nodes[i].Inputs)
		switch {
		case j.Into != nil && j.Into[i] != i:
			fmt.Fprintf(&b, "done by layer %d\n", j.Into[i])
		default:
			fmt.Fprintf(&b, "td %d to %d\n", r.First, r.First+r.Tasks-1)
		}
	}
	fmt.Fprintf(&b, "stay in the L2: layers %v\n", j.L2)
	for _, s := range j.Spilled {
		fmt.Fprintf(&b, "spilled %+v\n", s)
	}
	return b.String() + builderText(t, j.Builder)
}

// lut is a table of one byte, told from others by it.
func lut(b byte) []byte { return bytes.Repeat([]byte{b}, 128) }

// madeUp are weights without a meaning, but each in a place of its own: values are looked at
// by their bits alone. Big ones are left out, as they are of a program that is only timed.
func madeUp(l *layer.Layer, zeros bool) layer.Weights {
	need := list.Needs(l)
	if l.Second == layer.Constant && need.Second > 0 {
		need.Second = l.In.C
	}
	fill := func(n int) []float16.Float16 {
		if n == 0 {
			return nil
		}
		v := make([]float16.Float16, n)
		for i := range v {
			if !zeros || i%3 != 1 {
				v[i] = float16.Float16(0x2c00 | uint32(i+1)*2654435761>>21)
			}
		}
		return v
	}
	w := layer.Weights{SizesOnly: need.Filter > 1<<12, Bias: fill(need.Bias), Second: fill(need.Second)}
	if !w.SizesOnly {
		w.Filter = fill(need.Filter)
	}
	w.Table, w.Reciprocal = lut(1), lut(2)
	further := max(l.Op.TableCount(), l.Activation.TableCount()) - 1
	if l.Op == layer.Pow {
		further = 1
	}
	for i := range further {
		w.Tables = append(w.Tables, lut(byte(3+i)))
	}
	return w
}

// TestExplained holds small programs to testdata/explained, which says of every register why
// it has its value.
func TestExplained(t *testing.T) {
	golden.Explained(t, "testdata/explained/*.txt", func(t *testing.T, c *golden.Case) *loader.Program {
		l, w := goldenLayer(t, c.Input)
		made, err := Compile(l, w)
		if err != nil {
			t.Fatal(err)
		}
		p, err := made.Builder.Layout("golden")
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}
