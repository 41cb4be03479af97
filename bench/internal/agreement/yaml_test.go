package agreement

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/internal/network/keys"
	"anesim/loader/layer"
	"anesim/loader/network"
)

var yamlNetworks = flag.Int("yaml", 30, "random YAML networks to compare")

// yamlValues lists values that a layer of a random network may give a key. An empty value leaves
// the key out.
var yamlValues = map[string][]string{
	"n": {"", "3", "8", "16"}, "c": {"", "", "2", "4"}, "h": {"", "", "1", "2"}, "w": {"", "", "4", "8"},
	"cout": {"1", "4", "6", "16", "32", "40"}, "groups": {"", "", "", "2", "4"},
	"k": {"", "1", "2", "3", "5"}, "kh": {"", "", "", "1", "3"}, "kw": {"", "", "", "1", "2"},
	"stride": {"", "", "1", "2"}, "sy": {"", "", "", "2"}, "sx": {"", "", "", "2"},
	"pad": {"", "same", "same", "valid", "1", "1,0,2,1"}, "dilation": {"", "", "", "2"},
	"bias": {"", "true"}, "act": {"", "", "relu", "sigmoid", "gelu", "tanh"},
	"rhs": {"", "constant", "runtime"}, "tx": {"", "", "true"}, "ty": {"", "", "", "true"},
	"release": {"", "", "2023", "2026"}, "first": {"", "", "output"}, "second": {"", "", "runtime", "constant", "scalar"},
	"value": {"", "0.5", "2"}, "eps": {"", "0.001"}, "alpha": {"", "0.2"}, "low": {"", "-0.5"}, "high": {"", "0.5"},
	"kind": {"", "max", "avg"}, "axis": {"", "c", "h", "w"}, "axes": {"", "c", "hw", "w"},
	"reps": {"1x2x1x1", "1x1x1x2"}, "size": {"1", "2", "3"}, "start": {"", "1"}, "fill": {"", "edge", "zero"},
}

// A yamlNetwork is a random network in YAML.
type yamlNetwork struct {
	inputs, layers []string   // lines of the file
	operations     []string   // of the layers
	from           [][]string // tensors that each layer reads
	tensors        []string   // inputs and results of layers, in order
	shapes         map[string]layer.Shape
}

// file returns a YAML file with the given lines.
func file(inputs, layers []string, outputs ...string) []byte {
	text := "inputs:\n" + strings.Join(inputs, "") + "layers:\n" + strings.Join(layers, "")
	if len(outputs) > 0 {
		text += "outputs: [" + strings.Join(outputs, ", ") + "]\n"
	}
	return []byte(text)
}

func inputLine(name string, s layer.Shape) string {
	return fmt.Sprintf("  %s: {n: %d, c: %d, h: %d, w: %d}\n", name, s.N, s.C, s.H, s.W)
}

// newYAMLNetwork returns a random network of at most eight layers.
func newYAMLNetwork(r *rand.Rand) *yamlNetwork {
	n := &yamlNetwork{shapes: map[string]layer.Shape{}}
	pick := func(v ...int) int { return v[r.IntN(len(v))] }
	s := layer.Shape{N: pick(1, 1, 1, 2), C: pick(1, 3, 4, 8, 16, 33), H: pick(1, 1, 5, 8, 14), W: pick(1, 4, 8, 17)}
	for i := range 1 + r.IntN(3) {
		if i > 0 && r.IntN(3) == 0 {
			s.C, s.H, s.W = pick(1, 4, 8, 16), pick(1, 5, 8), pick(1, 4, 8)
		}
		name := fmt.Sprintf("x%d", i)
		n.inputs = append(n.inputs, inputLine(name, s))
		n.shapes[name] = s
		n.tensors = append(n.tensors, name)
	}
	operations := append(keys.Names(), "reshape", "conv", "conv", "add", "relu")
	slices.Sort(operations)
	size := 2 + r.IntN(7)
	for try := 0; try < 40*size && len(n.layers) < size; try++ {
		n.tryLayer(r, operations[r.IntN(len(operations))])
	}
	return n
}

// tryLayer adds a layer with random inputs and keys to n, unless the reader refuses it or its result
// is large.
func (n *yamlNetwork) tryLayer(r *rand.Rand, op string) {
	name := fmt.Sprintf("t%d", len(n.layers))
	from := n.randomInputs(r)
	words := []string{"name: " + name, "op: " + op, "from: [" + strings.Join(from, ", ") + "]"}
	known := []keys.Key{{Name: "n"}, {Name: "c"}, {Name: "h"}, {Name: "w"}} // of reshape
	if o, ok := keys.Find(op); ok {
		known = o.AllKeys()
	}
	for _, k := range known {
		values := yamlValues[k.Name]
		if len(values) == 0 || r.IntN(3) == 0 {
			continue
		}
		if v := values[r.IntN(len(values))]; v != "" {
			words = append(words, fmt.Sprintf("%s: %q", k.Name, v))
		}
	}
	line := "  - {" + strings.Join(words, ", ") + "}\n"
	net, err := network.ReadYAML(file(n.inputs, append(slices.Clone(n.layers), line), name))
	if err != nil {
		return
	}
	d := net.Results[0].Dims
	s := layer.Shape{N: d[0], C: d[1], H: d[2], W: d[3]}
	if s.Elements() > 1<<16 {
		return
	}
	n.layers = append(n.layers, line)
	n.operations = append(n.operations, op)
	n.from = append(n.from, from)
	n.tensors = append(n.tensors, name)
	n.shapes[name] = s
}

// randomInputs returns one to four tensors, most of them of one shape.
func (n *yamlNetwork) randomInputs(r *rand.Rand) []string {
	random := func() string { return n.tensors[r.IntN(len(n.tensors))] }
	from := []string{n.tensors[len(n.tensors)-1]}
	if r.IntN(2) == 0 {
		from[0] = random()
	}
	for r.IntN(5) < 2 && len(from) < 4 {
		next := random()
		for try := 0; try < 4 && n.shapes[next] != n.shapes[from[0]]; try++ {
			next = random()
		}
		from = append(from, next)
	}
	return from
}

// A tensorMap holds the values of tensors by name.
type tensorMap map[string][]float16.Float16

// newInputs returns random inputs of n. Those of layers with 8-bit elements are whole numbers from 0
// to 2, and others multiples of 1/64 between -2 and 2.
func (n *yamlNetwork) newInputs(r *rand.Rand) tensorMap {
	values := tensorMap{}
	for _, name := range n.tensors[:len(n.inputs)] {
		random := func() float32 { return float32(r.IntN(257)-128) / 64 }
		for i, from := range n.from {
			if n.operations[i] == "logical_not" && slices.Contains(from, name) {
				random = func() float32 { return float32(r.IntN(3)) }
			}
		}
		v := make([]float16.Float16, n.shapes[name].Elements())
		for i := range v {
			v[i] = float16.Fromfloat32(random())
		}
		values[name] = v
	}
	return values
}

var errNotModelled = errors.New("a layer is not modelled")

// compute returns the outputs of a YAML file.
func compute(t *testing.T, text []byte, inputs tensorMap) (tensorMap, error) {
	t.Helper()
	net, err := network.ReadYAML(text)
	if err != nil {
		return nil, err
	}
	res, err := anesim.FromNetwork(net).Run(t.Context(), anesim.Options{Values: true, Inputs: inputs, Seed: 1})
	switch {
	case err != nil:
		return nil, err
	case len(res.Missing()) > 0:
		return nil, errNotModelled
	case len(res.Report.Faults) > 0:
		return nil, fmt.Errorf("fault: %v", res.Report.Faults[0])
	}
	out := tensorMap{}
	for _, o := range res.Outputs {
		out[o.Port.Name] = o.Data
	}
	return out, nil
}

// computeAlone returns the results of the layers of n, each computed in a network of its own.
func (n *yamlNetwork) computeAlone(t *testing.T, inputs tensorMap) (tensorMap, error) {
	t.Helper()
	values := tensorMap{}
	for name, v := range inputs {
		values[name] = v
	}
	for i, line := range n.layers {
		var lines []string
		in := tensorMap{}
		for _, name := range n.from[i] {
			if in[name] == nil {
				lines = append(lines, inputLine(name, n.shapes[name]))
				in[name] = values[name]
			}
		}
		out, err := compute(t, file(lines, []string{line}), in)
		if err != nil {
			return nil, err
		}
		for name, v := range out {
			values[name] = v
		}
	}
	return values, nil
}

// diffElements describes the first element of a tensor that is not as wanted, or returns "".
func diffElements(got, want []float16.Float16) string {
	if len(got) != len(want) {
		return fmt.Sprintf(" has %d elements; want %d", len(got), len(want))
	}
	for i, x := range got {
		if x != want[i] {
			return fmt.Sprintf("[%d] = %v; want %v", i, x, want[i])
		}
	}
	return ""
}

// TestNetworksOfLayers compares random YAML networks with their layers, each computed alone. A layer
// has the same pseudo-random weights in both, which depend on its operation and sizes. With all
// results as outputs, so that nothing is merged, the bits are equal. A network whose layers may be
// merged has the same bits with tensors in L2 and with all tensors in memory.
func TestNetworksOfLayers(t *testing.T) {
	compared, refused := 0, 0
	operations := map[string]bool{}
	for i := range uint64(*yamlNetworks) {
		r := rand.New(rand.NewPCG(*seed+i, 11))
		n := newYAMLNetwork(r)
		if len(n.layers) == 0 {
			continue
		}
		inputs := n.newInputs(r)
		want, err := n.computeAlone(t, inputs)
		if errors.Is(err, errNotModelled) {
			refused++
			continue
		}
		if err != nil {
			t.Errorf("seed %d: a layer alone: %v\n%s", *seed+i, err, file(n.inputs, n.layers))
			continue
		}
		compared++
		for _, op := range n.operations {
			operations[op] = true
		}
		text := file(n.inputs, n.layers, n.tensors[len(n.inputs):]...)
		got, err := compute(t, text, inputs)
		if err != nil {
			t.Errorf("seed %d: %v\n%s", *seed+i, err, text)
			continue
		}
		for _, name := range n.tensors[len(n.inputs):] {
			if what := diffElements(got[name], want[name]); what != "" {
				t.Errorf("seed %d: %s%s\n%s", *seed+i, name, what, text)
				break // the results of layers that read it differ, too
			}
		}
		net, err := network.ReadYAML(file(n.inputs, n.layers))
		if err != nil {
			t.Fatal(err)
		}
		if what, err := diffInMemory(net); err != nil || what != "" {
			t.Errorf("seed %d: %v %s\n%s", *seed+i, err, what, file(n.inputs, n.layers))
		}
	}
	t.Logf("%d networks of %d operations compared; a layer of %d is not modelled", compared, len(operations), refused)
	if 2*compared < *yamlNetworks {
		t.Errorf("%d of %d networks compared; want at least half", compared, *yamlNetworks)
	}
}
