package randomgraph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"anesim/bench/internal/onnxgraph"
	"anesim/internal/network/onnx"
)

// A builder adds nodes to a graph and records the shape and the range of every tensor. Its
// methods make single nodes and constants. Functions such as addConv use them to add an operator
// with random attributes.
type builder struct {
	rng     *rand.Rand
	graph   *onnxgraph.Graph
	extreme bool // allow magnitudes near the limits of fp16
	tooNew  bool // the graph has an operator that its operator set lacks
	names   []string
	outputs []string // tensors that must be outputs even if nodes read them
	counts  map[byte]int
}

func newBuilder(rng *rand.Rand, opset int) *builder {
	return &builder{rng: rng, graph: &onnxgraph.Graph{Opset: opset, Values: map[string]onnxgraph.Value{}}, counts: map[byte]int{}}
}

// newName returns a new tensor name that begins with prefix.
func (b *builder) newName(prefix byte) string {
	b.counts[prefix]++
	return fmt.Sprintf("%c%d", prefix, b.counts[prefix])
}

// randomBool returns true with a probability of percent/100.
func (b *builder) randomBool(percent int) bool { return b.rng.IntN(100) < percent }

// randomInt returns a random integer from low to high, inclusive.
func (b *builder) randomInt(low, high int) int { return low + b.rng.IntN(high-low+1) }

// pickRandom returns a random element of list.
func pickRandom[T any](b *builder, list ...T) T { return list[b.rng.IntN(len(list))] }

func (b *builder) findValue(name string) onnxgraph.Value { return b.graph.Values[name] }
func (b *builder) tensorDims(name string) []int          { return b.graph.Values[name].Dims }
func (b *builder) tensorRank(name string) int            { return len(b.graph.Values[name].Dims) }

// tensorMagnitude returns the largest absolute value that the elements of a tensor are expected to
// have.
func (b *builder) tensorMagnitude(name string) float64 {
	v := b.findValue(name)
	return max(math.Abs(v.Low), math.Abs(v.High))
}

// addNode adds a node with the given inputs and one output, and returns the name of the output,
// which out describes. It treats the attributes as addNodeWithOutputs does.
func (b *builder) addNode(op string, inputs []string, out onnxgraph.Value, attributes ...onnxgraph.Attribute) string {
	return b.addNodeWithOutputs(op, inputs, []onnxgraph.Value{out}, attributes...)[0]
}

// addNodeWithOutputs adds a node with several outputs and returns their names. At random, it leaves
// out half of the attributes that have their default value. If the graph's operator set lacks the
// operator, it sets b.tooNew.
func (b *builder) addNodeWithOutputs(op string, inputs []string, out []onnxgraph.Value, attributes ...onnxgraph.Attribute) []string {
	b.tooNew = b.tooNew || b.graph.Opset < introduced[op]
	n := &onnxgraph.Node{Op: op, Inputs: inputs}
	for _, a := range attributes {
		if !a.IsDefault(op, b.graph.Opset) || b.randomBool(50) {
			n.Attributes = append(n.Attributes, a)
		}
	}
	for _, v := range out {
		name := b.newName('t')
		v.Dims = slices.Clone(v.Dims)
		b.graph.Values[name] = v
		n.Outputs = append(n.Outputs, name)
		b.names = append(b.names, name)
	}
	b.graph.Nodes = append(b.graph.Nodes, n)
	return slices.Clone(n.Outputs)
}

// addInput adds an input of shape dims and returns its name. Its values are random multiples of
// 1/64 from -4 to 4, which fp16 represents exactly.
func (b *builder) addInput(dims ...int) string {
	prefix := byte('x')
	t := &onnxgraph.Tensor{Name: b.newName(prefix), Type: onnx.Float, Dims: slices.Clone(dims)}
	t.Values = onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), -256, 256, 64)
	b.graph.Inputs = append(b.graph.Inputs, t)
	b.graph.Values[t.Name] = onnxgraph.Value{Type: onnx.Float, Dims: t.Dims, Low: -4, High: 4, Exact: true}
	b.names = append(b.names, t.Name)
	return t.Name
}

// addConstant adds a constant with the given type, shape and values, and returns its name.
func (b *builder) addConstant(t onnx.DataType, dims []int, values []float64) string {
	c := &onnxgraph.Tensor{Name: b.newName('c'), Type: t, Dims: slices.Clone(dims), Values: values, Form: pickRandom(b, onnxgraph.RawForm, onnxgraph.RawForm, onnxgraph.TypedForm, onnxgraph.NodeForm)}
	b.graph.Constants = append(b.graph.Constants, c)
	v := onnxgraph.Value{Type: t, Dims: c.Dims, Exact: true}
	if len(values) > 0 {
		v.Low, v.High = slices.Min(values), slices.Max(values)
	}
	for _, x := range values {
		v.Exact = v.Exact && x*64 == math.Trunc(x*64) && math.Abs(x) <= 16
	}
	b.graph.Values[c.Name] = v
	return c.Name
}

// addScalarConstant adds v as a float32 constant and returns its name. The constant is a scalar or, at
// random, a tensor of shape [1].
func (b *builder) addScalarConstant(v float64) string {
	dims := []int{}
	if b.randomBool(30) {
		dims = []int{1}
	}
	return b.addConstant(onnx.Float, dims, []float64{float64(float32(v))})
}

// addIntVector adds an int64 vector with the given values as a constant, and returns its name.
func (b *builder) addIntVector(values ...int) string {
	f := make([]float64, len(values))
	for i, v := range values {
		f[i] = float64(v)
	}
	return b.addConstant(onnx.Int64, []int{len(values)}, f)
}

// addWeightConstant adds a constant of shape dims and returns its name. Its values have a standard
// deviation of about 1/sqrt(k), so that a sum of k products keeps the magnitude of the other
// factor.
func (b *builder) addWeightConstant(k int, dims ...int) string {
	unit := 64.0 // elements from -1 to 1 have a deviation of 0.58
	for n := k; n > 1; n /= 4 {
		unit *= 2
	}
	return b.addConstant(onnx.Float, dims, onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), -64, 64, unit))
}

// addFactorConstant adds a constant of shape dims that serves as a factor or divisor, and returns its name.
// The magnitudes of its values are between 0.5 and 2. Its values are all positive or have both
// signs.
func (b *builder) addFactorConstant(dims ...int) string {
	values := onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), 32, 128, 64)
	if b.randomBool(40) {
		for i := range values {
			if b.randomBool(50) {
				values[i] = -values[i]
			}
		}
	}
	return b.addConstant(onnx.Float, dims, values)
}

// addAddendConstant adds a constant of shape dims, for use as an addend, and returns its name. Its values
// are between -2 and 2.
func (b *builder) addAddendConstant(dims ...int) string {
	return b.addConstant(onnx.Float, dims, onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), -128, 128, 64))
}

// addPositiveConstant adds a constant of shape dims with values from 0.5 to 2, and returns its
// name.
func (b *builder) addPositiveConstant(dims ...int) string {
	return b.addConstant(onnx.Float, dims, onnxgraph.RandomMultiples(b.rng, onnx.Elements(dims), 32, 128, 64))
}

// randomAxis returns a random axis of a tensor of the given rank.
func (b *builder) randomAxis(rank int) int { return b.rng.IntN(rank) }

// maybeNegativeAxis returns either axis or, from operator set 11 on, sometimes axis - rank, which
// means the same axis.
func (b *builder) maybeNegativeAxis(axis, rank int) int {
	if b.graph.Opset >= 11 && b.randomBool(40) {
		return axis - rank
	}
	return axis
}

// findOtherTensor returns the name of a random tensor other than x for which matches returns true,
// or "" if there is none.
func (b *builder) findOtherTensor(x string, matches func(onnxgraph.Value) bool) string {
	var found []string
	for _, name := range b.names {
		if name != x && matches(b.findValue(name)) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return pickRandom(b, found...)
}

func newIntAttribute(name string, v int) onnxgraph.Attribute {
	return onnxgraph.Attribute{Name: name, Kind: onnxgraph.IntKind, Int: v}
}

func newIntsAttribute(name string, v ...int) onnxgraph.Attribute {
	return onnxgraph.Attribute{Name: name, Kind: onnxgraph.IntsKind, Ints: slices.Clone(v)}
}

func newFloatAttribute(name string, v float32) onnxgraph.Attribute {
	return onnxgraph.Attribute{Name: name, Kind: onnxgraph.FloatKind, Float: v}
}

func newTextAttribute(name, v string) onnxgraph.Attribute {
	return onnxgraph.Attribute{Name: name, Kind: onnxgraph.TextKind, Text: v}
}

// randomExtent returns a random extent of at most limit. Odd extents and extents near the
// sizes of the engine's rows and groups are frequent.
func (b *builder) randomExtent(limit int) int {
	sizes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 96, 127, 128, 129, 130, 160, 192, 257, 300}
	n := len(sizes)
	for n > 1 && sizes[n-1] > limit {
		n--
	}
	return sizes[b.rng.IntN(n)]
}

// randomShape returns random dims of the given rank with at most maxElements elements.
func (b *builder) randomShape(rank int) []int {
	dims := make([]int, rank)
	room := pickRandom(b, 64, 512, 2048, maxElements)
	for _, i := range b.rng.Perm(rank) {
		limit := 20
		if b.randomBool(20) {
			limit = 300
		}
		dims[i] = b.randomExtent(min(limit, room))
		room = max(1, room/dims[i])
	}
	if rank > 1 && b.randomBool(50) {
		dims[0] = 1
	}
	return dims
}

// maxElements is the largest number of elements of a tensor.
const maxElements = 8192

// broadcastDims returns the shape of the result if tensors with shapes x and y are combined element
// by element. The result ok is false if the tensors do not broadcast or if the combination would
// have more than maxElements elements.
func broadcastDims(x, y []int) (dims []int, ok bool) {
	n := max(len(x), len(y))
	dims = make([]int, n)
	at := func(d []int, i int) int {
		if i -= n - len(d); i < 0 {
			return 1
		}
		return d[i]
	}
	for i := range dims {
		p, q := at(x, i), at(y, i)
		if p != q && p != 1 && q != 1 {
			return nil, false
		}
		dims[i] = max(p, q)
	}
	return dims, onnx.Elements(dims) <= maxElements
}
