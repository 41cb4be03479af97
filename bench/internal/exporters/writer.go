package exporters

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"anesim/bench/internal/onnxgraph"
	"anesim/bench/internal/reference"
	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// A writer writes a graph node by node and computes each node, so that shapes are known.
type writer struct {
	rng     *rand.Rand
	graph   *onnxgraph.Graph
	data    map[string]*tensor.Tensor
	err     error // of the first node that could not be computed
	count   int
	largest float64 // element of any tensor
	// spelledHalf allows casts to half precision within functions that are spelled out.
	spelledHalf bool
}

func newWriter(rng *rand.Rand, opset int) *writer {
	return &writer{rng: rng, graph: &onnxgraph.Graph{Opset: opset, Values: map[string]onnxgraph.Value{}}, data: map[string]*tensor.Tensor{}}
}

func (w *writer) opset() int { return w.graph.Opset }

// chance returns true with a probability of percent/100.
func (w *writer) chance(percent int) bool { return w.rng.IntN(100) < percent }

// between returns a random integer from low to high, inclusive.
func (w *writer) between(low, high int) int { return low + w.rng.IntN(high-low+1) }

func pick[T any](w *writer, list ...T) T { return list[w.rng.IntN(len(list))] }

func (w *writer) newName() string {
	w.count++
	return fmt.Sprintf("t%d", w.count)
}

// dims returns the shape of a tensor, and ones if a node failed.
func (w *writer) dims(name string) []int {
	if t := w.data[name]; t != nil && w.err == nil {
		return t.Dims
	}
	return []int{1, 1, 1, 1, 1}
}

func (w *writer) declare(name string, t *tensor.Tensor) {
	w.data[name] = t
	w.graph.Values[name] = onnxgraph.Value{Type: t.Type, Dims: t.Dims}
}

// input adds an input with elements from -2 to 2, multiples of 1/64.
func (w *writer) input(dims ...int) string {
	return w.inputOf(onnx.Float, dims, onnxgraph.RandomMultiples(w.rng, onnx.Elements(dims), -128, 128, 64))
}

// indices adds an input of integers from 0 to n-1.
func (w *writer) indices(n int, dims ...int) string {
	return w.inputOf(onnx.Int64, dims, onnxgraph.RandomMultiples(w.rng, onnx.Elements(dims), 0, n-1, 1))
}

func (w *writer) inputOf(elem onnx.DataType, dims []int, values []float64) string {
	name := fmt.Sprintf("x%d", len(w.graph.Inputs)+1)
	w.graph.Inputs = append(w.graph.Inputs, &onnxgraph.Tensor{Name: name, Type: elem, Dims: dims, Values: values})
	w.declare(name, &tensor.Tensor{Type: elem, Dims: dims, Data: values})
	return name
}

// constant adds a constant in one of the ways in which files have them.
func (w *writer) constant(elem onnx.DataType, dims []int, values ...float64) string {
	name := fmt.Sprintf("c%d", len(w.graph.Constants)+1)
	for i, v := range values {
		switch elem {
		case onnx.Float:
			values[i] = float64(float32(v))
		case onnx.Float16:
			values[i] = tensor.RoundHalf("", v)
		}
	}
	form := pick(w, onnxgraph.RawForm, onnxgraph.RawForm, onnxgraph.TypedForm, onnxgraph.NodeForm)
	w.graph.Constants = append(w.graph.Constants, &onnxgraph.Tensor{Name: name, Type: elem, Dims: dims, Values: values, Form: form})
	w.declare(name, &tensor.Tensor{Type: elem, Dims: dims, Data: values})
	return name
}

func (w *writer) scalar(v float64) string { return w.constant(onnx.Float, []int{}, v) }

func (w *writer) ints(v ...int) string {
	values := make([]float64, len(v))
	for i, x := range v {
		values[i] = float64(x)
	}
	return w.constant(onnx.Int64, []int{len(v)}, values...)
}

func (w *writer) index(v int) string { return w.constant(onnx.Int64, []int{}, float64(v)) }

// weights adds weights of shape dims for sums of k products, so that a sum has about the magnitude of
// an input.
func (w *writer) weights(k int, dims ...int) string {
	unit := 64.0
	for n := k; n > 1; n /= 4 {
		unit *= 2
	}
	return w.constant(onnx.Float, dims, onnxgraph.RandomMultiples(w.rng, onnx.Elements(dims), -64, 64, unit)...)
}

// offsets adds a constant with elements from -1 to 1, and scales one with elements from 0.5 to 1.5.
func (w *writer) offsets(dims ...int) string {
	return w.constant(onnx.Float, dims, onnxgraph.RandomMultiples(w.rng, onnx.Elements(dims), -64, 64, 64)...)
}

func (w *writer) scales(dims ...int) string {
	return w.constant(onnx.Float, dims, onnxgraph.RandomMultiples(w.rng, onnx.Elements(dims), 32, 96, 64)...)
}

func real(name string, v float64) onnxgraph.Attribute {
	return onnxgraph.Attribute{Name: name, Kind: onnxgraph.FloatKind, Float: float32(v)}
}

func number(name string, v int) onnxgraph.Attribute {
	return onnxgraph.Attribute{Name: name, Kind: onnxgraph.IntKind, Int: v}
}

func list(name string, v ...int) onnxgraph.Attribute {
	return onnxgraph.Attribute{Name: name, Kind: onnxgraph.IntsKind, Ints: v}
}

func text(name, v string) onnxgraph.Attribute {
	return onnxgraph.Attribute{Name: name, Kind: onnxgraph.TextKind, Text: v}
}

func in(names ...string) []string { return names }

// node adds a node with one result, whose name it returns. The operator has the prefix of its domain
// if it is not ONNX's, such as com.microsoft.
func (w *writer) node(op string, inputs []string, attributes ...onnxgraph.Attribute) string {
	return w.nodeOf(1, op, inputs, attributes...)[0]
}

// nodeOf adds a node with several results.
func (w *writer) nodeOf(results int, op string, inputs []string, attributes ...onnxgraph.Attribute) []string {
	var outputs []string
	for range results {
		outputs = append(outputs, w.newName())
	}
	return w.nodeTo(outputs, op, inputs, attributes...)
}

// nodeTo adds a node with the given results, some of which may be "", left out.
func (w *writer) nodeTo(outputs []string, op string, inputs []string, attributes ...onnxgraph.Attribute) []string {
	n := &onnxgraph.Node{Op: op, Inputs: inputs, Outputs: outputs, Attributes: attributes}
	if at := strings.LastIndex(op, "."); at >= 0 {
		n.Domain, n.Op = op[:at], op[at+1:]
	}
	w.graph.Nodes = append(w.graph.Nodes, n)
	if w.err == nil {
		if err := w.compute(n); err != nil {
			w.err = fmt.Errorf("%s: %w", n.Op, err)
		}
	}
	return n.Outputs
}

// compute computes one node with all of its inputs as constants, and declares its results.
func (w *writer) compute(n *onnxgraph.Node) error {
	named := slices.DeleteFunc(slices.Clone(n.Outputs), func(name string) bool { return name == "" })
	g := &onnxgraph.Graph{Opset: w.opset(), Nodes: []*onnxgraph.Node{n}, Outputs: named, Values: map[string]onnxgraph.Value{}}
	for _, name := range n.Inputs {
		if t := w.data[name]; t != nil && g.Constant(name) == nil {
			g.Constants = append(g.Constants, &onnxgraph.Tensor{Name: name, Type: t.Type, Dims: t.Dims, Values: t.Data})
		}
	}
	m, err := onnx.Read(g.Encode())
	if err != nil {
		return err
	}
	results, err := reference.Run(m, nil, reference.Options{})
	if err != nil {
		return err
	}
	for _, name := range named {
		w.declare(name, results[name])
		w.largest = max(w.largest, slices.Max(append(results[name].Data, 0)))
	}
	return nil
}

// magnitude returns the largest magnitude in a tensor.
func (w *writer) magnitude(name string) (most float64) {
	if t := w.data[name]; t != nil {
		for _, v := range t.Data {
			most = max(most, math.Abs(v))
		}
	}
	return most
}

// The rest writes operators whose spelling depends on the operator set.

func (w *writer) add(x, y string) string { return w.node("Add", in(x, y)) }
func (w *writer) mul(x, y string) string { return w.node("Mul", in(x, y)) }

func (w *writer) transpose(x string, perm ...int) string {
	return w.node("Transpose", in(x), list("perm", perm...))
}

func (w *writer) reshape(x string, dims ...int) string {
	return w.node("Reshape", in(x, w.ints(dims...)))
}

func (w *writer) concat(axis int, names ...string) string {
	return w.node("Concat", names, number("axis", axis))
}

// reduce adds a reduction over axes, which are an input or an attribute.
func (w *writer) reduce(op, x string, keep int, axes ...int) string {
	if w.opset() >= 18 || op == "ReduceSum" && w.opset() >= 13 {
		return w.node(op, in(x, w.ints(axes...)), number("keepdims", keep))
	}
	return w.node(op, in(x), list("axes", axes...), number("keepdims", keep))
}

func (w *writer) squeeze(op, x string, axes ...int) string {
	if w.opset() >= 13 {
		return w.node(op, in(x, w.ints(axes...)))
	}
	return w.node(op, in(x), list("axes", axes...))
}

func (w *writer) slice(x string, axis, start, end, step int) string {
	inputs := in(x, w.ints(start), w.ints(end), w.ints(axis))
	if step != 1 || w.chance(50) {
		inputs = append(inputs, w.ints(step))
	}
	return w.node("Slice", inputs)
}

// split splits an axis into the given sizes.
func (w *writer) split(x string, axis int, sizes ...int) []string {
	if w.opset() >= 13 {
		return w.nodeOf(len(sizes), "Split", in(x, w.ints(sizes...)), number("axis", axis))
	}
	return w.nodeOf(len(sizes), "Split", in(x), number("axis", axis), list("split", sizes...))
}

// softmax adds a softmax along the last axis.
func (w *writer) softmax(x string) string {
	axis := -1
	if w.opset() < 13 || w.chance(50) {
		axis = len(w.dims(x)) - 1
	}
	return w.node("Softmax", in(x), number("axis", axis))
}

// resize adds a Resize to a size or by factors. Before operator set 13 it has all four inputs.
func (w *writer) resize(x, scales, sizes string, attributes ...onnxgraph.Attribute) string {
	inputs := in(x, "", scales, sizes)
	if w.opset() < 13 {
		inputs[1] = w.constant(onnx.Float, []int{0})
		if scales == "" {
			inputs[2] = w.constant(onnx.Float, []int{0})
		}
	}
	if sizes == "" {
		inputs = inputs[:3]
	}
	return w.node("Resize", inputs, attributes...)
}

// lastExtent returns the length of the last axis.
func (w *writer) lastExtent(x string) int {
	d := w.dims(x)
	return d[len(d)-1]
}

// linear adds a product with weights and a bias over the last axis, as a file has a linear layer.
func (w *writer) linear(x string, columns int) string {
	k := w.lastExtent(x)
	if len(w.dims(x)) == 2 && w.chance(50) {
		return w.node("Gemm", in(x, w.weights(k, columns, k), w.offsets(columns)), number("transB", 1), real("alpha", 1), real("beta", 1))
	}
	y := w.node("MatMul", in(x, w.weights(k, k, columns)))
	switch w.rng.IntN(3) {
	case 0:
		return y
	case 1:
		return w.add(w.offsets(columns), y)
	}
	return w.add(y, w.offsets(columns))
}

// A convolution says how [writer.conv] convolves.
type convolution struct{ kernel, stride, pad, dilation, group int }

// conv adds a convolution over all axes behind the channels.
func (w *writer) conv(x string, channels int, o convolution) string {
	d := w.dims(x)
	n := len(d) - 2
	o.kernel, o.stride, o.dilation, o.group = max(o.kernel, 1), max(o.stride, 1), max(o.dilation, 1), max(o.group, 1)
	kernel := slices.Repeat([]int{o.kernel}, n)
	inputs := in(x, w.weights(d[1]/o.group*onnx.Elements(kernel), append([]int{channels, d[1] / o.group}, kernel...)...))
	if w.chance(60) {
		inputs = append(inputs, w.offsets(channels))
	}
	return w.node("Conv", inputs, list("dilations", slices.Repeat([]int{o.dilation}, n)...), number("group", o.group), list("kernel_shape", kernel...),
		list("pads", slices.Repeat([]int{o.pad}, 2*n)...), list("strides", slices.Repeat([]int{o.stride}, n)...))
}

func (w *writer) batchNorm(x string) string {
	c := w.dims(x)[1]
	return w.node("BatchNormalization", in(x, w.scales(c), w.offsets(c), w.offsets(c), w.scales(c)), real("epsilon", pick(w, 1e-5, 1e-3)))
}

func (w *writer) clip(x string, low, high float64) string {
	return w.node("Clip", in(x, w.scalar(low), w.scalar(high)))
}

// layerNorm normalizes the last axis, in one node or as exporters write it in pieces.
func (w *writer) layerNorm(x string) string {
	c := w.lastExtent(x)
	if w.opset() >= 17 && w.chance(50) {
		return w.node("LayerNormalization", in(x, w.scales(c), w.offsets(c)), number("axis", -1), real("epsilon", 1.0/64))
	}
	mean := w.reduce("ReduceMean", x, 1, -1)
	centered := w.node("Sub", in(x, mean))
	square := ""
	switch w.rng.IntN(3) {
	case 0:
		square = w.mul(centered, centered)
	case 1: // tf2onnx computes the difference again
		again := w.node("Sub", in(x, mean))
		square = w.mul(again, again)
	default:
		square = w.node("Pow", in(centered, w.scalar(2)))
	}
	deviation := w.node("Sqrt", in(w.add(w.reduce("ReduceMean", square, 1, -1), w.scalar(1.0/64))))
	var y string
	if w.chance(70) {
		y = w.node("Div", in(centered, deviation))
	} else {
		y = w.mul(centered, w.node("Reciprocal", in(deviation)))
	}
	return w.add(w.mul(y, w.scales(c)), w.offsets(c))
}

// normalizeByRMS divides by the root of the mean square of the last axis.
func (w *writer) normalizeByRMS(x string) string {
	c := w.lastExtent(x)
	if w.opset() >= 23 && w.chance(40) {
		return w.node("RMSNormalization", in(x, w.scales(c)), number("axis", -1), real("epsilon", 1.0/64))
	}
	square := w.node("Pow", in(x, w.scalar(2)))
	if w.chance(30) {
		square = w.mul(x, x)
	}
	root := w.node("Sqrt", in(w.add(w.reduce("ReduceMean", square, 1, -1), w.scalar(1.0/64))))
	y := ""
	switch w.rng.IntN(3) {
	case 0:
		y = w.node("Div", in(x, root))
	case 1:
		y = w.mul(x, w.node("Reciprocal", in(root)))
	default:
		y = w.mul(x, w.node("Div", in(w.scalar(1), root)))
	}
	if w.chance(50) {
		return w.mul(w.scales(c), y)
	}
	return w.mul(y, w.scales(c))
}

// activation adds a function of each element in one of its spellings.
func (w *writer) activation(x string) string {
	switch w.rng.IntN(14) {
	case 0:
		return w.clip(x, 0, 6)
	case 1:
		return w.node("LeakyRelu", in(x), real("alpha", pick(w, 0.01, 0.1, 0.25)))
	case 2:
		return w.hardSwish(x)
	case 3: // SiLU
		s := w.node("Sigmoid", in(x))
		if w.chance(50) {
			return w.mul(s, x)
		}
		return w.mul(x, s)
	case 4: // Mish
		return w.mul(x, w.node("Tanh", in(w.node("Softplus", in(x)))))
	case 5, 6:
		return w.gelu(x)
	case 7:
		return w.node("Elu", in(x), real("alpha", 1))
	case 8:
		return w.node("HardSigmoid", in(x), real("alpha", 1.0/6), real("beta", 0.5))
	case 9:
		return w.node(pick(w, "Sigmoid", "Tanh", "Softplus"), in(x))
	case 10:
		if d := w.dims(x); len(d) == 4 {
			return w.node("PRelu", in(x, w.offsets(d[1], 1, 1)))
		}
	}
	return w.node("Relu", in(x))
}

func (w *writer) hardSwish(x string) string {
	switch w.rng.IntN(4) {
	case 0:
		if w.opset() >= 14 {
			return w.node("HardSwish", in(x))
		}
		fallthrough
	case 1:
		return w.mul(x, w.node("HardSigmoid", in(x), real("alpha", 1.0/6), real("beta", 0.5)))
	case 2:
		return w.mul(w.mul(x, w.clip(w.add(x, w.scalar(3)), 0, 6)), w.scalar(1.0/6))
	}
	return w.node("Div", in(w.mul(x, w.clip(w.add(x, w.scalar(3)), 0, 6)), w.scalar(6)))
}

func (w *writer) gelu(x string) string {
	switch w.rng.IntN(5) {
	case 0:
		if w.opset() >= 20 {
			return w.node("Gelu", in(x), text("approximate", pick(w, "none", "tanh")))
		}
		fallthrough
	case 1, 2: // torch
		erf := w.node("Erf", in(w.node("Div", in(x, w.scalar(math.Sqrt2)))))
		return w.mul(w.mul(x, w.add(erf, w.scalar(1))), w.scalar(0.5))
	case 3: // Keras
		erf := w.node("Erf", in(w.mul(x, w.scalar(math.Sqrt2/2))))
		return w.mul(w.mul(w.scalar(0.5), x), w.add(w.scalar(1), erf))
	}
	var cube string
	if w.chance(50) {
		cube = w.node("Pow", in(x, w.scalar(3)))
	} else {
		cube = w.mul(w.mul(x, x), x)
	}
	inner := w.mul(w.add(x, w.mul(cube, w.scalar(0.044715))), w.scalar(math.Sqrt(2/math.Pi)))
	return w.mul(w.mul(x, w.scalar(0.5)), w.add(w.node("Tanh", in(inner)), w.scalar(1)))
}
