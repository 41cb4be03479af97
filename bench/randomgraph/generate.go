package randomgraph

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"anesim/loader/network/onnx"
)

// Options bound the graphs that Generate makes. A zero field has a default.
type Options struct {
	// MinNodes and MaxNodes bound the number of random choices, 2 and 8 by default. One
	// choice is mostly one node. A pattern of an exporter, such as attention or a
	// normalization in pieces, is one choice of up to 17 nodes and ends the graph when it
	// exceeds MaxNodes.
	MinNodes, MaxNodes int
	// Opset is the version of the operator set: 11, 13, 17 or 21. By default seven graphs of ten
	// have 17, and one each of the others.
	Opset int
	// Extreme makes magnitudes that fp16 barely holds. By default one graph of forty has
	// them.
	Extreme bool
}

// New returns the graph of a seed.
func New(seed uint64, o Options) *Graph {
	g := Generate(rand.New(rand.NewPCG(seed, 0)), o)
	g.Seed = fmt.Sprint(seed)
	return g
}

// A choice is one way to continue a graph from a tensor. Its add function may refuse by
// returning false.
type choice struct {
	weight int
	add    func(b *builder, x string) bool
}

// choices are for tensors of float32.
var choices = []choice{
	{10, convolve}, {6, deconvolve}, {9, gemm}, {10, multiplyConstant}, {9, multiplyTensors}, {13, pool},
	{18, scaleConstant}, {6, batchNormalize}, {16, activate}, {4, activatePieces}, {4, curve}, {14, combine},
	{16, view}, {4, reshape}, {9, move}, {6, softmax}, {5, normalize}, {8, reduce},
	{4, attend}, {4, gate}, {2, excite}, {3, between}, {3, multiplyHeads}, {2, multiplyViews}, {4, compare}, {2, round}, {2, search}, {5, rearrange}, {3, quantize}, {2, reshapeComputed},
}

// fusable are choices after an operator that a compiler fuses with what follows it.
var fusable = []choice{
	{26, scaleConstant}, {10, batchNormalize}, {24, activate}, {8, combine}, {18, view}, {6, reshape}, {6, multiplyConstant},
	{6, multiplyTensors}, {3, activatePieces}, {4, convolve}, {3, softmax}, {3, reduce}, {3, multiplyHeads}, {3, move},
}

// heads are operators that fusable choices follow.
var heads = []string{"Conv", "ConvTranspose", "Gemm", "MatMul", "AveragePool", "GlobalAveragePool", "MaxPool"}

// views are operators that a compiler looks through.
var views = []string{"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze"}

// Generate returns a random graph that onnxruntime accepts.
func Generate(rng *rand.Rand, o Options) *Graph {
	o.MinNodes, o.MaxNodes = cmp.Or(o.MinNodes, 2), cmp.Or(o.MaxNodes, 8)
	for {
		if g := tryGenerate(rng, o); g != nil {
			return g
		}
	}
}

// tryGenerate returns nil when no choice suited the first shape.
func tryGenerate(rng *rand.Rand, o Options) *Graph {
	opset := o.Opset
	if opset == 0 {
		opset = []int{17, 17, 17, 17, 17, 17, 17, 21, 13, 11}[rng.IntN(10)]
	}
	b := newBuilder(rng, opset)
	b.extreme = o.Extreme || rng.IntN(40) == 0
	rank := []int{0, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5}[rng.IntN(23)]
	x := b.input(b.shape(rank)...)
	want := b.between(o.MinNodes, max(o.MinNodes, o.MaxNodes))
	for tries := 0; len(b.graph.Nodes) < want && tries < 60; tries++ {
		b.extend(b.start(x))
	}
	if len(b.graph.Nodes) < o.MinNodes {
		return nil
	}
	b.finish()
	return b.graph
}

// start returns the tensor to continue from: mostly the newest one.
func (b *builder) start(first string) string {
	if len(b.graph.Nodes) == 0 {
		return first
	}
	last := b.graph.Nodes[len(b.graph.Nodes)-1].Outputs
	if b.chance(75) {
		return last[b.rng.IntN(len(last))]
	}
	return pick(b, b.made...)
}

// extend adds one choice that reads x, if the one it picks is possible. It leaves the graph
// as it was otherwise.
func (b *builder) extend(x string) {
	v := b.value(x)
	nodes, inputs, made := len(b.graph.Nodes), len(b.graph.Inputs), len(b.made)
	if elements(v.Dims) == 0 || len(v.Dims) > 5 {
		return
	}
	add := b.choose(x)
	if !add(b, x) {
		b.graph.Nodes, b.graph.Inputs, b.made = b.graph.Nodes[:nodes], b.graph.Inputs[:inputs], b.made[:made]
	}
}

func (b *builder) choose(x string) func(*builder, string) bool {
	v := b.value(x)
	switch v.Type {
	case onnx.Bool:
		return pick(b, decide, decide, decide, view)
	case onnx.Int64, onnx.Int32:
		return pick(b, count, count, view)
	case onnx.Float:
	default:
		return view
	}
	table := choices
	if i, ok := b.graph.producers()[x]; ok {
		n := b.graph.Nodes[i]
		switch {
		case slices.Contains(heads, n.Op) && b.chance(70):
			table = fusable
		case slices.Contains(views, n.Op) && b.chance(40):
			table = fusable
		}
	}
	total := 0
	for _, c := range table {
		total += c.weight
	}
	k := b.rng.IntN(total)
	for _, c := range table {
		if k -= c.weight; k < 0 {
			return c.add
		}
	}
	return view
}

// finish picks the outputs: every tensor that no node reads, and some that nodes read. At
// times a constant is an output too.
func (b *builder) finish() {
	g := b.graph
	read := map[string]bool{}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			read[in] = true
		}
	}
	for _, n := range g.Nodes {
		for _, out := range n.Outputs {
			if !read[out] || b.chance(8) || slices.Contains(b.outputs, out) {
				g.Outputs = append(g.Outputs, out)
			}
		}
	}
	g.Prune()
	if b.chance(2) && len(g.Constants) > 0 {
		g.Outputs = append(g.Outputs, pick(b, g.Constants...).Name)
	}
}
