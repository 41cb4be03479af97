package network

import (
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A builder strings layers together by the names of tensors.
type builder struct {
	net Network
	// tensors are the shapes of what inputs and layers make; a tensor of unknown shape
	// is not among them but in unknown, with the reason.
	tensors map[string]layer.Shape
	unknown map[string]string
	// alias is the tensor whose values a name stands for: what reshape and its like give.
	alias map[string]string
}

func newBuilder() *builder {
	return &builder{
		net:     Network{Constants: map[string][]float16.Float16{}},
		tensors: map[string]layer.Shape{},
		unknown: map[string]string{},
		alias:   map[string]string{},
	}
}

// input adds an input of the network.
func (b *builder) input(name string, s layer.Shape) {
	b.net.Inputs = append(b.net.Inputs, Tensor{Name: name, Shape: s})
	b.tensors[name] = s
}

// values is the tensor that a name's values are in.
func (b *builder) values(name string) string {
	if v, ok := b.alias[name]; ok {
		return v
	}
	return name
}

// add appends a layer; its inputs and output are names of the file.
func (b *builder) add(l Layer) {
	for i, in := range l.Inputs {
		l.Inputs[i] = b.values(in)
	}
	b.net.Layers = append(b.net.Layers, l)
	b.tensors[l.Output] = l.Out
}

// missing appends a layer that cannot be one. Its output has the shape out, or an
// unknown one.
func (b *builder) missing(l Layer, out *layer.Shape, reason string) {
	l.Reason = reason
	for i, in := range l.Inputs {
		l.Inputs[i] = b.values(in)
	}
	if out != nil {
		l.Out = *out
		b.tensors[l.Output] = *out
	} else {
		b.unknown[l.Output] = fmt.Sprintf("the shape of %q is not known: %s has none", l.Output, l.Name)
	}
	b.net.Layers = append(b.net.Layers, l)
}

// reshape makes name another view of a tensor.
func (b *builder) reshape(name, of string, s layer.Shape) error {
	if was := b.tensors[of]; was.Elements() != s.Elements() {
		return fmt.Errorf("%s has %d elements, %s has %d", shapeText(was), was.Elements(), shapeText(s), s.Elements())
	}
	b.tensors[name] = s
	b.alias[name] = b.values(of)
	return nil
}

// finish fuses the layers of a network whose results are known, and puts tensors into the
// order that layers read them in.
func (b *builder) finish() *Network {
	n := &b.net
	b.sweep()
	b.stages()
	listed := map[string]bool{}
	for i := range n.Results {
		r := &n.Results[i]
		if r.Tensor == r.Name {
			r.Tensor = b.values(r.Name)
		}
		if _, constant := n.Constants[r.Tensor]; !constant && !listed[r.Tensor] {
			listed[r.Tensor] = true
			n.Outputs = append(n.Outputs, r.Tensor)
		}
	}
	n.fold()
	n.store()
	n.rearrange()
	n.shareColumns()
	n.drop()
	return n
}

// sweep leaves out layers that nothing reads: what was made so that another layer could
// take its place, such as zeros around a picture that the window has itself.
func (b *builder) sweep() {
	n := &b.net
	read := map[string]bool{}
	for _, r := range n.Results {
		read[b.values(r.Tensor)] = true
	}
	gone := make([]bool, len(n.Layers))
	for i := len(n.Layers) - 1; i >= 0; i-- {
		l := &n.Layers[i]
		if !read[l.Output] && l.Reason == "" && l.spare {
			gone[i] = true
			continue
		}
		for _, in := range l.Inputs {
			read[in] = true
		}
	}
	kept := n.Layers[:0]
	for i, l := range n.Layers {
		if !gone[i] {
			kept = append(kept, l)
			continue
		}
		if len(n.Nodes) > 0 {
			n.Nodes[l.Node].What = "folded"
		}
	}
	n.Layers = slices.Clip(kept)
}

// drop leaves out constants that no layer reads, and counts the layers of each node.
func (n *Network) drop() {
	read := map[string]bool{}
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			read[in] = true
		}
	}
	for _, r := range n.Results {
		read[r.Tensor] = true
	}
	for name := range n.Constants {
		if !read[name] {
			delete(n.Constants, name)
		}
	}
	for i := range n.Nodes {
		n.Nodes[i].Layers = 0
	}
	for i := range n.Layers {
		if len(n.Nodes) == 0 {
			break
		}
		node := &n.Nodes[n.Layers[i].Node]
		if node.Layers == 0 {
			node.First = i
		}
		node.Layers++
	}
	for i := range n.Nodes {
		if x := &n.Nodes[i]; x.Layers == 0 && x.What == "" {
			x.What = "folded"
		}
	}
}

// store makes tensors in memory of the constants that no task can carry.
func (n *Network) store() {
	for i := range n.Layers {
		l := &n.Layers[i]
		if !l.inMemory {
			continue
		}
		name := l.Name + "/constant"
		n.Constants[name] = l.Weights.Second
		l.Lower.Second, l.Weights.Second = layer.Runtime, nil
		l.Inputs = append(l.Inputs, name)
	}
}

// fold gives every layer what follows it and it can do on its way out: a constant factor
// and addend a channel, then a rectifier.
func (n *Network) fold() {
	readers, maker := map[string]int{}, map[string]int{}
	for _, out := range n.Outputs {
		readers[out]++
	}
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			readers[in]++
		}
	}
	kept := n.Layers[:0]
	for _, l := range n.Layers {
		if len(l.Inputs) == 1 && readers[l.Inputs[0]] == 1 && l.Reason == "" {
			if at, ok := maker[l.Inputs[0]]; ok && kept[at].absorb(&l) {
				maker[l.Output] = at
				continue
			}
		}
		maker[l.Output] = len(kept)
		kept = append(kept, l)
	}
	n.Layers = slices.Clip(kept)
}

// absorb makes l do what next does with its result, where it can.
func (l *Layer) absorb(next *Layer) bool {
	x, y := &l.Lower, &next.Lower
	if l.Reason != "" || x.Activation != 0 || next.rounds {
		return false
	}
	if l.activated(next) {
		return true
	}
	if y.Activation != 0 || y.Bias || y.Op != layer.Mul && y.Op != layer.Add {
		return false
	}
	channels, constant := 0, false // whether y has a constant for each channel of x
	switch x.Op {
	case layer.Convolution:
		channels, constant = x.Cout, y.In == l.Out && !next.inMemory && y.Second == layer.Constant
	case layer.MatMul, layer.Linear:
		if x.Second != layer.Constant {
			return false
		}
		// Columns of a product are channels to its bias. They are the columns of y if y reads
		// rows of the same width.
		channels, constant = x.Columns, next.columns && y.In.W == l.Out.W && y.Second == layer.Constant
	default:
		return false
	}
	by := next.Weights.Second
	switch {
	case constant:
	case y.Second == layer.Scalar && by != nil:
		by = slices.Repeat(by, channels)
	default:
		return false
	}
	merged := l.scale
	if y.Op == layer.Add {
		merged = l.shift
	}
	if !merged(by) {
		return false
	}
	l.takes(next)
	return true
}

// takes notes that the layer does what the next one did.
func (l *Layer) takes(next *Layer) {
	l.Folded = append(append(l.Folded, next.Name), next.Folded...)
	l.Output = next.Output
}

// activated makes next the layer's activation: a rectifier of whatever can have one, a
// table of a convolution, whose descriptor looks results up. A product's table is left to
// the chain's own rules.
func (l *Layer) activated(next *Layer) bool {
	x, y := l.Lower, &next.Lower
	rectifier := y.Op == layer.ReLU
	if !rectifier && (x.Op != layer.Convolution || y.Op.Tables() != 1 || y.Second != 0 || len(next.Inputs) != 1) || l.inMemory && !rectifier {
		return false
	}
	switch y.Op {
	case layer.Rsqrt, layer.HardSwish, layer.Log, layer.Max, layer.Min, layer.Pow, layer.RealDiv:
		return false // tasks of their own beside the table
	}
	if l.average || x.Op == layer.Pool || y.Activation != 0 || x.ByTable() {
		return false
	}
	x.Activation, x.Alpha, x.Low, x.High = y.Op, y.Alpha, y.Low, y.High
	if x.Validate() != nil {
		return false
	}
	l.Lower = x
	l.takes(next)
	return true
}

// scale multiplies the weights and the bias of each channel by the channel's factor, and reports
// whether fp16 holds the products, see [product]. It leaves l as it is if not. Values that the
// file does not have stay absent. An average cannot be scaled: its weights follow from its
// window, and have no place for a factor.
func (l *Layer) scale(by []float16.Float16) bool {
	if l.average {
		return false
	}
	need := Needs(&l.Lower)
	w := &l.Weights
	each := need.Filter / max(1, len(by))
	channel := func(i int) int { return i / each }
	if l.Lower.Op == layer.MatMul {
		channel = func(i int) int { return i % l.Lower.Columns }
	}
	if by == nil {
		w.Bias, w.Filter = nil, nil
		return true
	}
	bias, ok := product(w.Bias, func(i int) float32 { return by[i].Float32() })
	if !ok {
		return false
	}
	filter, ok := product(w.Filter, func(i int) float32 { return by[channel(i)].Float32() })
	if ok {
		w.Bias, w.Filter = bias, filter
	}
	return ok
}

// product returns the values, each times its factor, and nil for absent values. It returns false
// if a product loses its precision: the engine reads weights below 2^-14 as 0, and fp16 has no
// number above 65504.
func product(values []float16.Float16, factor func(i int) float32) ([]float16.Float16, bool) {
	if values == nil {
		return nil, true
	}
	out := make([]float16.Float16, len(values))
	for i, v := range values {
		f := factor(i)
		out[i] = float16.Fromfloat32(v.Float32() * f)
		if isNormal(v) && f != 0 && !isNormal(out[i]) {
			return nil, false
		}
	}
	return out, true
}

// isNormal reports whether h is a number that is neither zero nor subnormal nor infinite.
func isNormal(h float16.Float16) bool {
	exponent := h >> 10 & 0x1f
	return exponent != 0 && exponent != 0x1f
}

const signBit = 0x8000

// shift adds an addend to the bias of each channel, and reports whether fp16 holds the sums. It
// leaves l as it is if not.
func (l *Layer) shift(by []float16.Float16) bool {
	w := &l.Weights
	switch {
	case !l.Lower.Bias:
		w.Bias = by
	case w.Bias != nil && by != nil:
		sum := make([]float16.Float16, len(by))
		for i := range sum {
			sum[i] = float16.Fromfloat32(w.Bias[i].Float32() + by[i].Float32())
			if sum[i].IsInf(0) && !w.Bias[i].IsInf(0) && !by[i].IsInf(0) {
				return false
			}
		}
		w.Bias = sum
	default:
		w.Bias = nil
	}
	l.Lower.Bias = true
	return true
}
