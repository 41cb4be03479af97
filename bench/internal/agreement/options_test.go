package agreement

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"anesim/bench/internal/onnxgraph"
	"anesim/bench/internal/onnxruntime"
	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	"anesim/loader/network"
)

// optionTable lists, for each operator, a plain call and the optional attributes and inputs that
// ONNX's or onnxruntime's specification of the operator has. Its head says how to read it.
//
//go:embed testdata/options.txt
var optionTable string

// A form is a plain call of an operator, with the options that it may have.
type form struct {
	line    int
	call    call
	options []option
}

// A call is a node of a graph, in words of the table.
type call struct {
	domain, op string
	opset      int
	inputs     []string
	attributes []string
	outputs    int
	variadic   bool
}

// An option is a change of a call.
type option struct {
	line   int
	name   string // as in the reason of a refusal
	change []string
	effect string // "" if it changes the results, or "default", "none" or "refused"
}

func readForms(t *testing.T) []form {
	t.Helper()
	var forms []form
	for i, line := range strings.Split(optionTable, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case line[0] != '\t':
			c := call{outputs: 1}
			if c.op = words[0]; strings.Contains(c.op, ".") {
				at := strings.LastIndex(c.op, ".")
				c.domain, c.op = c.op[:at], c.op[at+1:]
			}
			var err error
			if c.opset, err = strconv.Atoi(words[1]); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			for _, w := range words[2:] {
				switch {
				case w == "...":
					c.variadic = true
				case strings.HasPrefix(w, "outputs:"):
					c.outputs, _ = strconv.Atoi(w[len("outputs:"):])
				case strings.Contains(w, "="):
					c.attributes = append(c.attributes, w)
				default:
					c.inputs = append(c.inputs, w)
				}
			}
			forms = append(forms, form{line: i + 1, call: c})
		default:
			o := option{line: i + 1}
			for _, w := range words {
				switch w {
				case "(default)", "(none)", "(refused)":
					o.effect = w[1 : len(w)-1]
				default:
					o.change = append(o.change, w)
				}
			}
			if o.name, _, _ = strings.Cut(words[0], "="); strings.HasPrefix(o.name, "@") {
				o.name, _, _ = strings.Cut(o.name[1:], ":")
				o.name = "input " + o.name
			}
			f := &forms[len(forms)-1]
			f.options = append(f.options, o)
		}
	}
	return forms
}

// with returns the call with the given changes: attributes, or inputs as in "@3:w4".
func (c call) with(changes ...string) call {
	c.inputs, c.attributes = slices.Clone(c.inputs), slices.Clone(c.attributes)
	for _, w := range changes {
		if place, operand, ok := strings.Cut(w, ":"); ok && strings.HasPrefix(w, "@") {
			i, _ := strconv.Atoi(place[1:])
			for len(c.inputs) <= i {
				c.inputs = append(c.inputs, "_")
			}
			c.inputs[i] = operand
			continue
		}
		name, _, _ := strings.Cut(w, "=")
		c.attributes = slices.DeleteFunc(c.attributes, func(a string) bool { return strings.HasPrefix(a, name+"=") })
		c.attributes = append(c.attributes, w)
	}
	return c
}

// elementTypes maps the letters of operands to types.
var elementTypes = map[byte]onnx.DataType{
	'x': onnx.Float, 'w': onnx.Float, 'p': onnx.Float, 'v': onnx.Float, 's': onnx.Float, 'i': onnx.Int64, 'j': onnx.Int32, 'u': onnx.Uint8, 'c': onnx.Int8,
	'b': onnx.Bool, 'n': onnx.Int64, 'k': onnx.Bool, 'm': onnx.Int32,
}

// newTensor returns the tensor that word stands for, and whether it is an input of the graph.
func newTensor(name, word string, rng *rand.Rand) (t *onnxgraph.Tensor, input bool, err error) {
	kind, rest, _ := strings.Cut(word, ":")
	elem, ok := elementTypes[kind[0]]
	if !ok {
		return nil, false, fmt.Errorf("unknown operand %q", word)
	}
	t = &onnxgraph.Tensor{Name: name, Type: elem, Dims: []int{}}
	for _, d := range strings.Split(kind[1:], "x") {
		if n, err := strconv.Atoi(d); err == nil {
			t.Dims = append(t.Dims, n)
		}
	}
	for _, v := range strings.Split(rest, ",") {
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			t.Values = append(t.Values, f)
		}
	}
	count := onnx.Elements(t.Dims)
	switch {
	case len(t.Values) > 0 && len(t.Dims) == 0 && len(t.Values) > 1:
		t.Dims = []int{len(t.Values)}
	case len(t.Values) > 0:
	case kind[0] == 'x' || kind[0] == 'w':
		t.Values = onnxgraph.RandomMultiples(rng, count, -16, 16, 8)
	case kind[0] == 'p':
		t.Values = onnxgraph.RandomMultiples(rng, count, 4, 16, 8)
	case elem == onnx.Bool:
		t.Values = onnxgraph.RandomMultiples(rng, count, 0, 1, 1)
	case elem == onnx.Int8:
		t.Values = onnxgraph.RandomMultiples(rng, count, -20, 20, 1)
	case elem == onnx.Uint8:
		t.Values = onnxgraph.RandomMultiples(rng, count, 90, 160, 1)
	default:
		t.Values = onnxgraph.RandomMultiples(rng, count, 0, 1, 1)
	}
	return t, strings.ContainsRune("xnkm", rune(kind[0])), nil
}

func newAttribute(word string) onnxgraph.Attribute {
	name, value, _ := strings.Cut(word, "=")
	a := onnxgraph.Attribute{Name: name}
	list := strings.Split(strings.TrimSuffix(value, ","), ",")
	for _, v := range list {
		if f, err := strconv.ParseFloat(v, 32); err == nil {
			a.Floats = append(a.Floats, float32(f))
			a.Ints = append(a.Ints, int(f))
		}
	}
	switch {
	case len(a.Floats) < len(list):
		a.Kind, a.Text = onnxgraph.TextKind, value
	case strings.Contains(value, ",") && strings.Contains(value, "."):
		a.Kind = onnxgraph.FloatsKind
	case strings.Contains(value, ","):
		a.Kind = onnxgraph.IntsKind
	case strings.Contains(value, "."):
		a.Kind, a.Float = onnxgraph.FloatKind, a.Floats[0]
	default:
		a.Kind, a.Int = onnxgraph.IntKind, a.Ints[0]
	}
	return a
}

// newGraph returns a graph with the call as its only node.
func (c call) newGraph() (*onnxgraph.Graph, error) {
	g := &onnxgraph.Graph{Opset: c.opset, Values: map[string]onnxgraph.Value{}}
	n := &onnxgraph.Node{Op: c.op, Domain: c.domain}
	for i, word := range c.inputs {
		if word == "_" {
			n.Inputs = append(n.Inputs, "")
			continue
		}
		name := fmt.Sprintf("in%d", i)
		// The same operand has the same values in every call.
		t, input, err := newTensor(name, word, rand.New(rand.NewPCG(uint64(i), 7)))
		if err != nil {
			return nil, err
		}
		if n.Inputs = append(n.Inputs, name); input {
			g.Inputs = append(g.Inputs, t)
		} else {
			g.Constants = append(g.Constants, t)
		}
		g.Values[name] = onnxgraph.Value{Type: t.Type, Dims: t.Dims}
	}
	for _, word := range c.attributes {
		n.Attributes = append(n.Attributes, newAttribute(word))
	}
	for i := range c.outputs {
		n.Outputs = append(n.Outputs, fmt.Sprintf("out%d", i))
	}
	g.Nodes, g.Outputs = []*onnxgraph.Node{n}, n.Outputs
	return g, nil
}

// An attempt says what became of a call.
type attempt struct {
	graph  *onnxgraph.Graph
	net    *Network
	reason string // why the node is refused, or ""
	what   string // how its results differ from the definition
}

func (c call) try(t *testing.T, line int) (o attempt) {
	t.Helper()
	g, err := c.newGraph()
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	o.graph = g
	file := g.Encode()
	n, err := network.ReadONNX(file, network.Options{})
	if err != nil {
		o.reason = err.Error()
		return o
	}
	for _, l := range n.Layers {
		if l.Reason != "" && l.Host == nil {
			o.reason = l.Reason
			return o
		}
	}
	if o.net, err = Read(file, graphInputs(g)); err != nil {
		o.what = err.Error()
		return o
	}
	results, err := Run(file, o.net.Inputs, false)
	if err != nil {
		o.reason = err.Error()
		return o
	}
	o.what = o.net.compare(results)
	return o
}

// isNearlySame allows for defaults that are not exact in float32.
func isNearlySame(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*math.Abs(a) }

// sameResults reports whether the definition gives the same for both calls.
func sameResults(a, b *Network) bool {
	for name, x := range a.Exact {
		y := b.Exact[name]
		if (x == nil) != (y == nil) || x != nil && (x.Type != y.Type || !slices.Equal(x.Dims, y.Dims) || !slices.EqualFunc(x.Data, y.Data, isNearlySame)) {
			return false
		}
	}
	return true
}

// TestOptions holds, for every operator, that no optional attribute or input is ignored: it changes
// the results as its definition says, or the node is refused with its name. A default that is
// stated changes nothing. An attribute or input that the operator does not have is refused.
func TestOptions(t *testing.T) {
	tried := 0
	for _, f := range readForms(t) {
		t.Run(fmt.Sprintf("%s%d", f.call.op, f.line), func(t *testing.T) {
			plain := f.call.try(t, f.line)
			if plain.reason != "" || plain.what != "" {
				t.Errorf("options.txt:%d: the plain call: %s%s", f.line, plain.reason, plain.what)
				return
			}
			most := len(f.call.inputs)
			for _, o := range f.options {
				c := f.call.with(o.change...)
				most = max(most, len(c.inputs))
				got := c.try(t, o.line)
				tried++
				switch {
				case o.effect == "refused" && got.reason == "":
					t.Errorf("options.txt:%d: %s is not refused any more; take the mark away", o.line, o.name)
				case o.effect == "refused" && !strings.Contains(got.reason, o.name):
					t.Errorf("options.txt:%d: the reason %q does not name %s", o.line, got.reason, o.name)
				case o.effect == "refused":
				case got.reason != "" || got.what != "":
					t.Errorf("options.txt:%d: %s: %s%s", o.line, o.name, got.reason, got.what)
				case (o.effect != "") != sameResults(plain.net, got.net):
					t.Errorf("options.txt:%d: %s: the definition has the same results with it and without: %v", o.line, o.name, o.effect == "")
				}
			}
			made := f.call.with("made_up=1").try(t, f.line)
			if !strings.Contains(made.reason, `"made_up"`) {
				t.Errorf("options.txt:%d: a made-up attribute: %q", f.line, made.reason)
			}
			if f.call.variadic {
				return
			}
			more := f.call.with(fmt.Sprintf("@%d:x2", most)).try(t, f.line)
			if more.reason == "" {
				t.Errorf("options.txt:%d: one input more than the operator has is ignored", f.line)
			}
		})
	}
	t.Logf("%d options", tried)
}

// TestOptionsRuntime compares the definitions that [TestOptions] relies on with onnxruntime.
func TestOptionsRuntime(t *testing.T) {
	if err := onnxruntime.Find(); err != nil {
		t.Skip("it takes Node.js, and a directory in ORT_DIR where npm install onnxruntime-node ran: ", err)
	}
	var dirs []string
	var nets []attempt
	var lines []int
	root := t.TempDir()
	add := func(c call, line int) {
		o := c.try(t, line)
		if o.net == nil {
			return
		}
		for name, x := range o.net.Exact {
			if x != nil {
				o.graph.Values[name] = onnxgraph.Value{Type: x.Type, Dims: x.Dims}
			}
		}
		dir := filepath.Join(root, fmt.Sprint(len(dirs)))
		if err := o.graph.Save(dir); err != nil {
			t.Fatal(err)
		}
		dirs, nets, lines = append(dirs, dir), append(nets, o), append(lines, line)
	}
	for _, f := range readForms(t) {
		add(f.call, f.line)
		for _, o := range f.options {
			add(f.call.with(o.change...), o.line)
		}
	}
	if err := onnxruntime.Run(dirs...); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, dir := range dirs {
		m, err := onnx.Read(nets[i].graph.Encode())
		if err != nil {
			t.Fatal(err)
		}
		got, err := onnxruntime.Outputs(dir, m)
		if err != nil {
			t.Logf("options.txt:%d: onnxruntime does not run it: %.150v", lines[i], err)
			continue
		}
		compared++
		if what := diffFromRuntime(nets[i].net.Exact, got); what != "" {
			t.Errorf("options.txt:%d: %s", lines[i], what)
		}
	}
	t.Logf("%d calls compared", compared)
}

// diffFromRuntime returns the first difference between the definition and onnxruntime beyond the
// rounding of float32.
func diffFromRuntime(exact, got map[string]*tensor.Tensor) string {
	for name, want := range exact {
		y := got[name]
		switch {
		case want == nil:
			continue
		case y == nil:
			return name + " is missing"
		case !slices.Equal(want.Dims, y.Dims):
			return fmt.Sprintf("%s has shape %v; onnxruntime %v", name, want.Dims, y.Dims)
		}
		for k, v := range want.Data {
			if d := y.Data[k] - v; d > 2e-3*max(1, v) || -d > 2e-3*max(1, v) {
				return fmt.Sprintf("%s[%d] is %g; onnxruntime %g", name, k, v, y.Data[k])
			}
		}
	}
	return ""
}
