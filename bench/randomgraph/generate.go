package randomgraph

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// Options controls the size and the content of random graphs. The zero value of a field means its
// default.
type Options struct {
	// MinNodes and MaxNodes bound the number of nodes. The defaults are 2 and 8. A graph can
	// have more than MaxNodes nodes, because the last choice may add a pattern of up to 17
	// nodes, such as attention.
	MinNodes, MaxNodes int
	// Opset is the version of ONNX's operator set, from 9 to 22. By default nine of twenty
	// graphs have version 17, and the others have versions that changed many operators. Every
	// eighth graph has one of 17 to 24, and begins with an operator of a runtime.
	Opset int
	// Extreme allows numbers near the limits of fp16. By default one of forty graphs has such
	// numbers.
	Extreme bool
}

// New returns a random graph. The same seed and options give the same graph on every machine.
func New(seed uint64, o Options) *onnxgraph.Graph {
	var g *onnxgraph.Graph
	if isRuntimeSeed(seed, o) {
		g = newRuntimeGraph(rand.New(rand.NewPCG(seed, 1)), o)
	} else {
		g = generateGraph(rand.New(rand.NewPCG(seed, 0)), o)
	}
	g.Seed = fmt.Sprint(seed)
	return g
}

// A choice is one way to continue a graph from a tensor x. Its function add adds nodes that read
// x. It returns false if it cannot, and the caller then removes the nodes that it added. A
// choice is picked with a probability proportional to its weight.
type choice struct {
	weight int
	add    func(b *builder, x string) bool
}

// choices are the choices for float32 tensors.
var choices = []choice{
	{10, addConv}, {6, addConvTranspose}, {9, addGemm}, {10, addConstantMatMul}, {9, addTensorMatMul}, {13, addPooling},
	{18, addConstantOperand}, {6, addBatchNormalization}, {16, addActivation}, {4, addActivationParts}, {4, addLimitedFunction}, {14, addTwoInputOperator},
	{16, addViewOperator}, {4, addReshape}, {9, addSelectionOrJoin}, {6, addSoftmax}, {5, addNormalization}, {8, addReduction},
	{4, addAttention}, {4, addSqueezeExcitation}, {2, addSecondHalfOfGate}, {3, addTransposeRoundTrip}, {3, addHeadProducts}, {2, addReshapedProducts}, {4, addComparison}, {2, addRounding}, {2, addArgOrTopK}, {4, addHostOperator}, {1, addRareExporterOperator}, {3, addQuantize}, {2, addComputedReshape}, {6, addRecurrentOperator},
	{4, addComputedOperand}, {4, addLengthNormalization}, {3, addMicrosoftOperator},
}

// fusableChoices are picked after an operator of fusableOperators or viewOperators. They add
// operators that a compiler may merge into the one before.
var fusableChoices = []choice{
	{26, addConstantOperand}, {10, addBatchNormalization}, {24, addActivation}, {8, addTwoInputOperator}, {18, addViewOperator}, {6, addReshape}, {6, addConstantMatMul},
	{6, addTensorMatMul}, {3, addActivationParts}, {4, addConv}, {3, addSoftmax}, {3, addReduction}, {3, addHeadProducts}, {3, addSelectionOrJoin},
}

// fusableOperators lists the operators into which a compiler may merge the operators that
// follow.
var fusableOperators = []string{"Conv", "ConvTranspose", "Gemm", "MatMul", "AveragePool", "GlobalAveragePool", "MaxPool"}

// viewOperators lists operators that change only the shape or the order of elements, so that a
// compiler can remove them or merge operators across them.
var viewOperators = []string{"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze"}

// generateGraph returns a random graph that is valid ONNX, with choices drawn from rng.
func generateGraph(rng *rand.Rand, o Options) *onnxgraph.Graph {
	o.MinNodes, o.MaxNodes = cmp.Or(o.MinNodes, 2), cmp.Or(o.MaxNodes, 8)
	for {
		if g := tryGenerateGraph(rng, o); g != nil {
			return g
		}
	}
}

// opsets are the versions of the operator set from which tryGenerateGraph picks one.
var opsets = []int{17, 17, 17, 17, 17, 17, 17, 17, 17, 9, 11, 11, 12, 13, 13, 15, 18, 20, 21, 22}

// tryGenerateGraph returns a random graph, or nil if it has fewer than o.MinNodes nodes.
func tryGenerateGraph(rng *rand.Rand, o Options) *onnxgraph.Graph {
	opset := o.Opset
	if opset == 0 {
		opset = opsets[rng.IntN(len(opsets))]
	}
	b := newBuilder(rng, opset)
	b.extreme = o.Extreme || rng.IntN(40) == 0
	rank := []int{0, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5}[rng.IntN(23)]
	x := b.addInput(b.randomShape(rank)...)
	want := b.randomInt(o.MinNodes, max(o.MinNodes, o.MaxNodes))
	// Some choices fail, so that a graph may remain too small.
	for tries := max(60, 8*want); len(b.graph.Nodes) < want && tries > 0; tries-- {
		b.tryRandomNodes(b.chooseStartTensor(x))
	}
	if len(b.graph.Nodes) < o.MinNodes {
		return nil
	}
	b.chooseOutputs()
	return b.graph
}

// chooseStartTensor returns the name of the tensor that the next nodes read: mostly a result of the
// last node, sometimes any tensor. It returns first if the graph has no nodes.
func (b *builder) chooseStartTensor(first string) string {
	if len(b.graph.Nodes) == 0 {
		return first
	}
	last := b.graph.Nodes[len(b.graph.Nodes)-1].Outputs
	if b.randomBool(75) {
		return cmp.Or(last[b.rng.IntN(len(last))], last[len(last)-1]) // the first may be left out
	}
	return pickRandom(b, b.names...)
}

// tryRandomNodes adds random nodes that read x. If they do not fit or need a newer operator set, it
// restores the nodes, the inputs and the list of tensors.
func (b *builder) tryRandomNodes(x string) {
	v := b.findValue(x)
	nodes, inputs, made := len(b.graph.Nodes), len(b.graph.Inputs), len(b.names)
	if onnx.Elements(v.Dims) == 0 || len(v.Dims) > 5 {
		return
	}
	add := b.chooseOperator(x)
	if !add(b, x) || b.tooNew {
		b.tooNew = false
		b.graph.Nodes, b.graph.Inputs, b.names = b.graph.Nodes[:nodes], b.graph.Inputs[:inputs], b.names[:made]
	}
}

// chooseOperator returns a random function that adds nodes, such as addPooling, among those that
// fit the type of x and the operator that produced it.
func (b *builder) chooseOperator(x string) func(*builder, string) bool {
	v := b.findValue(x)
	switch v.Type {
	case onnx.Bool:
		return pickRandom(b, addBoolOperator, addBoolOperator, addBoolOperator, addViewOperator)
	case onnx.Int64, onnx.Int32:
		return pickRandom(b, addIntOperator, addIntOperator, addViewOperator)
	case onnx.Float:
	default:
		return addViewOperator
	}
	table := choices
	if i, ok := b.graph.IndexProducers()[x]; ok {
		n := b.graph.Nodes[i]
		switch {
		// Fusion is where compilers go wrong, so operators that may be merged follow each other often.
		case slices.Contains(fusableOperators, n.Op) && b.randomBool(70):
			table = fusableChoices
		case slices.Contains(viewOperators, n.Op) && b.randomBool(40):
			table = fusableChoices
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
	return addViewOperator
}

// chooseOutputs makes every tensor that no node reads an output of the graph, along with some
// tensors that nodes read and sometimes a constant.
func (b *builder) chooseOutputs() {
	g := b.graph
	read := map[string]bool{}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			read[in] = true
		}
	}
	for _, n := range g.Nodes {
		for _, out := range n.Outputs {
			if out == "" {
				continue
			}
			if !read[out] || b.randomBool(8) || slices.Contains(b.outputs, out) {
				g.Outputs = append(g.Outputs, out)
			}
		}
	}
	g.Prune()
	if b.randomBool(2) && len(g.Constants) > 0 {
		g.Outputs = append(g.Outputs, pickRandom(b, g.Constants...).Name)
	}
}
