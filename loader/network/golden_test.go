package network

import (
	bin "encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/network/graph"
	"anesim/internal/network/keys"
	ox "anesim/internal/network/onnxtest"
	"anesim/loader/internal/golden"
	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/partition"
	"anesim/loader/network/regroup"
)

// TestNetworks holds what networks are read as to testdata/networks: their layers with what is
// folded into each, constants, notes, refusals and what the host does, and the descriptors
// of some. -rewrite writes the files anew.
//
// A case is an ONNX file in lines (see [parseGraphLines]); behind a line "yaml" or "mil" a network
// in that language, behind "mil operations" such a network in lines (see [parseMILLines]), behind
// "layers" layers in key=value words. A first line "lowered" asks for descriptors as well,
// "regrouped 0+1 3/2" for layers merged and split.
func TestNetworks(t *testing.T) {
	golden.Test(t, "testdata/networks/*.txt", func(t *testing.T, c *golden.Case) string {
		lines, lowered := c.Input, false
		var groups []regroup.Group
		for ; ; lines = lines[1:] {
			if list, ok := strings.CutPrefix(lines[0], "regrouped "); ok {
				groups = parseRegroups(t, list)
			} else if lines[0] == "lowered" {
				lowered = true
			} else {
				break
			}
		}
		var n *list.Network
		var err error
		switch text := strings.Join(lines[1:], "\n"); lines[0] {
		case "layers":
			return layersText(t, lines[1:])
		case "yaml":
			n, err = ReadYAML([]byte(text))
		case "mil":
			n, err = ReadMIL([]byte(text), Options{})
		case "mil operations":
			n, err = ReadMIL(parseMILLines(lines[1:]), Options{})
		default:
			n, err = ReadONNX(parseGraphLines(t, lines), Options{})
		}
		if err == nil && groups != nil {
			n, err = regroup.Apply(n, groups, true)
		}
		if err != nil {
			return "refused: " + err.Error()
		}
		text := networkText(n)
		if lowered {
			text += programText(t, n)
		}
		return text
	})
}

// networkText describes a network as text: its layers, constants, notes and host stages.
func networkText(n *list.Network) string {
	var b strings.Builder
	for i := range n.Layers {
		l := &n.Layers[i]
		fmt.Fprintf(&b, "%s %s\n", l.Name, layerText(l))
		for _, other := range l.Others {
			fmt.Fprintf(&b, "  also makes %s\n", other)
		}
		if l.Host != nil {
			writeHostText(&b, l.Host)
		}
	}
	for _, node := range n.Nodes {
		if node.Layers == 0 {
			fmt.Fprintf(&b, "node %s (%s): %s\n", node.Name, node.Op, node.What)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.Constants)) {
		fmt.Fprintf(&b, "constant %s %s\n", name, valuesText(n.Constants[name]))
	}
	for _, r := range n.Results {
		fmt.Fprintf(&b, "result %s: %s %v %s", r.Name, r.Tensor, r.Dims, r.Type)
		if r.Numbers != nil {
			fmt.Fprintf(&b, " %v", r.Numbers)
		}
		if r.Unit > 1 {
			fmt.Fprintf(&b, " in units of %v", r.Unit)
		}
		b.WriteByte('\n')
	}
	for _, note := range n.Notes {
		fmt.Fprintf(&b, "note %s\n", note)
	}
	return b.String()
}

// layerText describes a layer: its operation, operands and settings, or the reason why the engine
// cannot run it.
func layerText(l *list.Layer) string {
	if l.Reason != "" {
		return fmt.Sprintf("(%s): %s", l.Op, l.Reason)
	}
	x := &l.Lower
	text := fmt.Sprintf("%v(%s) %s -> %s", x.Op, strings.Join(l.Inputs, " "), list.ShapeText(x.In), list.ShapeText(l.Out))
	v := reflect.ValueOf(*x)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch value := v.Field(i); {
		case f.Name == "Op" || f.Name == "In" || value.IsZero():
		case value.Type() == reflect.TypeFor[layer.Shape]():
			text += fmt.Sprintf(" %s=%s", f.Name, list.ShapeText(value.Interface().(layer.Shape)))
		case value.Type() == reflect.TypeFor[layer.Window]():
			w := value.Interface().(layer.Window)
			text += fmt.Sprintf(" Window=%dx%d/%dx%d", w.Kh, w.Kw, w.Sy, w.Sx)
			if w.Py+w.Qy+w.Px+w.Qx > 0 {
				text += fmt.Sprintf(" pad %d,%d,%d,%d", w.Py, w.Qy, w.Px, w.Qx)
			}
		case value.Type() == reflect.TypeFor[layer.Axes]():
			text += fmt.Sprintf(" %s=%s", f.Name, axesText(value.Interface().(layer.Axes)))
		case value.Type() == reflect.TypeFor[[3]layer.Axes]():
			order := value.Interface().([3]layer.Axes)
			text += fmt.Sprintf(" %s=%s%s%s", f.Name, axesText(order[0]), axesText(order[1]), axesText(order[2]))
		case value.Type() == reflect.TypeFor[layer.SecondKind]():
			text += fmt.Sprintf(" %s=%s", f.Name, [...]string{"runtime", "constant", "scalar", "itself"}[value.Uint()])
		default:
			text += fmt.Sprintf(" %s=%v", f.Name, value.Interface())
		}
	}
	for _, part := range [...]struct {
		name   string
		values []float16.Float16
	}{{"filter", l.Weights.Filter}, {"bias", l.Weights.Bias}, {"second", l.Weights.Second}, {"scale", l.Weights.Scale}} {
		if part.values != nil {
			text += fmt.Sprintf("; %s %s", part.name, valuesText(part.values))
		}
	}
	if l.Weights.Form != 0 {
		text += fmt.Sprintf("; form %v", l.Weights.Form)
	}
	if len(l.Folded) > 0 {
		text += "; with " + strings.Join(l.Folded, " ")
	}
	return text
}

// axesText returns the letters of the axes in a set.
func axesText(a layer.Axes) (text string) {
	for i, letter := range [...]string{"c", "h", "w", "n"} {
		if a&(1<<i) != 0 {
			text += letter
		}
	}
	return text
}

// mostValues is how many values are printed one by one.
const mostValues = 6

// valuesText lists a few values. For a longer list it returns the number of values, the first one
// and a checksum.
func valuesText(v []float16.Float16) string {
	var words []string
	for _, h := range v[:min(len(v), mostValues)] {
		words = append(words, fmt.Sprint(h.Float32()))
	}
	if len(v) <= mostValues {
		return fmt.Sprint(words)
	}
	var raw []byte
	for _, h := range v {
		raw = bin.LittleEndian.AppendUint16(raw, h.Bits())
	}
	return fmt.Sprintf("%d of [%s ...] %08x", len(v), strings.Join(words[:3], " "), crc32.ChecksumIEEE(raw))
}

// writeHostText describes what the host does in a stage, and what the stage returns for inputs of
// 0, 1, 2 and so on.
func writeHostText(b *strings.Builder, s *list.Stage) {
	fmt.Fprintf(b, "  host: %d elements, %d bytes\n", s.Elements, s.Bytes)
	for _, out := range s.Outputs {
		fmt.Fprintf(b, "  host makes %s %v %s\n", out.Name, out.Dims, out.Type)
	}
	for _, v := range runOnSmallNumbers(s) {
		fmt.Fprintf(b, "  host gives %s\n", v)
	}
}

// runOnSmallNumbers runs a stage on small integers and describes the results.
func runOnSmallNumbers(s *list.Stage) (texts []string) {
	var in []list.Array
	for _, dims := range s.Inputs {
		v := make([]float64, graph.Elements(dims))
		for i := range v {
			v[i] = float64((i*7 + 3) % 5)
		}
		in = append(in, list.Array{Dims: dims, Numbers: v})
	}
	out, err := s.Run(in)
	if err != nil {
		return []string{err.Error()}
	}
	for _, v := range out {
		texts = append(texts, fmt.Sprintf("%d of %v", len(v.Numbers), v.Numbers[:min(len(v.Numbers), 12)]))
	}
	return texts
}

// programText describes the programs of a network as they are timed.
func programText(t *testing.T, n *list.Network) string {
	t.Helper()
	programs, reasons, err := partition.Lower(t.Context(), n, partition.Lowering{Seed: 1, SizesOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range programs {
		p := &programs[i]
		fmt.Fprintf(&b, "program %d: layers %d to %d", i, p.First, p.First+len(p.Runs)-1)
		if p.Why != "" {
			fmt.Fprintf(&b, ", begun because %s", p.Why)
		}
		text, err := golden.Program(p.Program)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n%s", text)
	}
	for i, why := range reasons {
		if why != "" && n.Layers[i].Reason == "" {
			fmt.Fprintf(&b, "not lowered: %s: %s\n", n.Layers[i].Name, why)
		}
	}
	return b.String()
}

// layersText describes layers that are given as key=value words, each on its own.
func layersText(t *testing.T, lines []string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		words := strings.Fields(line)
		op, ok := keys.Find(words[0])
		if !ok {
			t.Fatalf("no operation %s", words[0])
		}
		keys, err := op.ParseKeys(words[1:])
		var l *list.Layer
		if err == nil {
			l, err = op.Single(keys)
		}
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", line, err)
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", line, layerText(l))
	}
	return b.String()
}

// parseRegroups parses which layers are merged or split. For example, 0+1 3/2 merges the first two
// layers and splits the fourth into two parts.
func parseRegroups(t *testing.T, text string) (groups []regroup.Group) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		var g regroup.Group
		list, parts, _ := strings.Cut(word, "/")
		g.Parts, _ = strconv.Atoi(parts)
		for layer := range strings.SplitSeq(list, "+") {
			k, err := strconv.Atoi(layer)
			if err != nil {
				t.Fatalf("layers %q: %v", word, err)
			}
			g.Layers = append(g.Layers, k)
		}
		groups = append(groups, g)
	}
	return groups
}

// parseMILLines returns a MIL program for lines such as:
//
//	x = [1, 4, 6, 6]
//	a = relu(x = x)
//	b, c = split(x = a, axis = int32(1), num_splits = int32(2))
//	output b c
//
// Results are declared with the input's shape, which readers work out anew.
func parseMILLines(lines []string) []byte {
	var inputs, body, outputs []string
	shape := ""
	for _, line := range lines {
		name, text, _ := strings.Cut(line, " = ")
		switch out, ok := strings.CutPrefix(line, "output "); {
		case ok:
			outputs = strings.Fields(out)
		case text[0] == '[':
			shape = "tensor<fp16, " + text + ">"
			inputs = append(inputs, shape+" "+name)
		default:
			var results []string
			for one := range strings.SplitSeq(name, ", ") {
				results = append(results, shape+" "+one)
			}
			body = append(body, strings.Join(results, ", ")+" = "+text+`[name = string("`+strings.Split(name, ", ")[0]+`")];`)
		}
	}
	return []byte(fmt.Sprintf("program(1.3)\n{\n  func main<ios18>(%s) {\n    %s\n  } -> (%s);\n}\n",
		strings.Join(inputs, ", "), strings.Join(body, "\n    "), strings.Join(outputs, ", ")))
}

// parseGraphLines returns an ONNX file for lines such as:
//
//	x = input 1x8x4x4            float, a size of 0 has a name instead
//	m = input int32 2x6          of another type
//	w = float 8x4                made-up values; one number behind a colon for each: 2: 1 0.5
//	i = int64 1 2 3              also uint8, int8, int32 and bool, behind a shape in brackets
//	y = Conv(x, w) group=2 kernel_shape=[3,3] auto_pad="VALID"
//	a, b = Split(y) axis=1
//	z = com.microsoft.Gelu(a)
//	graph then                   a branch, for then_branch=graph:then
//	  ...
//	end
//	output z
//
// An operand that is left out is "-". A constant of float16 values is the float one: readers
// round it.
func parseGraphLines(t *testing.T, lines []string) []byte {
	t.Helper()
	var parts []ox.Message
	graphs := map[string][]ox.Message{}
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if name, ok := strings.CutPrefix(line, "graph "); ok {
			var inner []string
			for i++; lines[i] != "end"; i++ {
				inner = append(inner, lines[i])
			}
			graphs[name] = parseGraphParts(t, inner, nil)
			continue
		}
		parts = append(parts, parseGraphParts(t, []string{line}, graphs)...)
	}
	return ox.Model(parts...)
}

// parseGraphParts parses the lines of a graph.
func parseGraphParts(t *testing.T, lines []string, graphs map[string][]ox.Message) (parts []ox.Message) {
	t.Helper()
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "output "); ok {
			parts = append(parts, ox.Output(name))
			continue
		}
		if text, ok := strings.CutPrefix(line, "shape "); ok {
			name, dims, _ := strings.Cut(text, " ")
			parts = append(parts, ox.Shape(name, parseDims(t, dims)...))
			continue
		}
		left, right, ok := strings.Cut(line, " = ")
		if !ok {
			t.Fatalf("line %q: want NAME = ...", line)
		}
		if strings.Contains(right, "(") {
			parts = append(parts, parseNode(t, strings.Split(left, ", "), right, graphs))
			continue
		}
		parts = append(parts, parseValue(t, left, right))
	}
	return parts
}

func parseDims(t *testing.T, text string) (dims []int) {
	t.Helper()
	if text == "scalar" {
		return nil
	}
	for d := range strings.SplitSeq(text, "x") {
		n, err := strconv.Atoi(d)
		if err != nil {
			t.Fatalf("shape %q: %v", text, err)
		}
		dims = append(dims, n)
	}
	return dims
}

// parseValue parses an input or a constant.
func parseValue(t *testing.T, name, text string) ox.Message {
	t.Helper()
	kind, rest, _ := strings.Cut(text, " ")
	whole := map[string][2]int{"uint8": {2, 1}, "int8": {3, 1}, "int32": {6, 4}, "bool": {9, 1}, "int64": {7, 8}}
	var elem [2]int
	if word, shape, ok := strings.Cut(rest, " "); kind == "input" && ok {
		elem, rest = whole[word], shape
	}
	shape, list, given := strings.Cut(rest, ": ")
	var numbers []float64
	for word := range strings.FieldsSeq(list) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		numbers = append(numbers, v)
	}
	dims := parseDims(t, shape)
	count := 1
	for _, d := range dims {
		count *= d
	}
	if !given {
		for i := range count {
			numbers = append(numbers, float64((i*7+3)%13-6)/4)
		}
	}
	if kind != "input" {
		elem = whole[kind]
	}
	switch {
	case kind == "input" && elem[0] > 0:
		var shape ox.Message
		for _, d := range dims {
			shape = shape.Bytes(1, ox.Message{}.Int(1, d))
		}
		tensor := ox.Message{}.Int(1, elem[0]).Bytes(2, shape)
		return ox.Message{}.Bytes(11, ox.Message{}.Text(1, name).Bytes(2, ox.Message{}.Bytes(1, tensor)))
	case kind == "input":
		return ox.Input(name, dims...)
	case kind == "outside":
		return ox.Constant(name, dims)
	case kind == "float":
		values := make([]float32, len(numbers))
		for i, v := range numbers {
			values[i] = float32(v)
		}
		return ox.Constant(name, dims, values...)
	case elem[0] > 0:
		values := make([]int, len(numbers))
		for i, v := range numbers {
			if values[i] = int(v); !given {
				values[i] = i % 3
			}
		}
		return ox.Whole(name, elem[0], elem[1], dims, values...)
	}
	t.Fatalf("%s: no kind of value %q", name, kind)
	return nil
}

var attributePattern = regexp.MustCompile(`(\w+)=("[^"]*"|\[[^\]]*\]|\S+)`)

// parseNode parses a node.
func parseNode(t *testing.T, outputs []string, text string, graphs map[string][]ox.Message) ox.Message {
	t.Helper()
	op, rest, _ := strings.Cut(text, "(")
	operands, rest, _ := strings.Cut(rest, ")")
	domain := ""
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		domain, op = op[:i], op[i+1:]
	}
	node := ox.Message{}.Text(3, outputs[0]).Text(4, op)
	for _, name := range outputs {
		node = node.Text(2, strings.Trim(name, "-"))
	}
	if domain != "" {
		node = node.Text(7, domain)
	}
	for name := range strings.SplitSeq(operands, ", ") {
		if operands != "" {
			node = node.Text(1, strings.Trim(name, "-"))
		}
	}
	for _, m := range attributePattern.FindAllStringSubmatch(rest, -1) {
		if parts, ok := graphs[strings.TrimPrefix(m[2], "graph:")]; ok {
			node = node.Bytes(5, ox.Graph(m[1], parts...))
			continue
		}
		node = node.Bytes(5, parseAttribute(t, m[1], m[2]))
	}
	return ox.Message{}.Bytes(1, node)
}

func parseAttribute(t *testing.T, name, text string) ox.Message {
	t.Helper()
	switch {
	case text[0] == '"':
		return ox.Text(name, strings.Trim(text, `"`))
	case text[0] == '[' && strings.Contains(text, "."):
		m := ox.Message{}.Text(1, name).Int(20, 6)
		var raw []byte
		for word := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
			v, _ := strconv.ParseFloat(word, 32)
			raw = bin.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
		}
		return m.Bytes(7, raw)
	case text[0] == '[':
		var list []int
		for word := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
			v, err := strconv.Atoi(word)
			if err != nil {
				t.Fatalf("attribute %s: %v", name, err)
			}
			list = append(list, v)
		}
		return ox.List(name, list...)
	case strings.HasPrefix(text, "tensor:"):
		v, _ := strconv.ParseFloat(text[len("tensor:"):], 32)
		raw := bin.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
		return ox.Message{}.Text(1, name).Int(20, 4).Bytes(5, ox.Message{}.Int(1, 1).Int(2, 1).Bytes(9, raw))
	case strings.Contains(text, "."):
		v, err := strconv.ParseFloat(text, 32)
		if err != nil {
			t.Fatalf("attribute %s: %v", name, err)
		}
		return ox.Float(name, float32(v))
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("attribute %s: %v", name, err)
	}
	return ox.Int(name, v)
}
