package settle

import (
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/graph"
)

// An expansion states a node in others: an operator that a runtime has fused, or that works
// on quantised tensors. The node stays one of the file, whose layers theirs are.
type expansion struct {
	*graph.Node // its results are tensors that nothing reads before they are all made
	*settler
	label string
	made  int // nodes and constants
	body  []*Node
	notes []string
}

// attributes are those of a node that an expansion makes.
type attributes map[string]*graph.Attr

// InOthers reports whether an operator is stated in others.
func InOthers(op string) bool { return expansionOf(op) != nil }

// expansionOf finds what states an operator in others.
func expansionOf(op string) func(e *expansion) error {
	switch op {
	case "FusedMatMul", "TransposeMatMul":
		return fusedMatMul
	case "LpPool":
		return lengthPool
	case "FusedConv":
		return fusedConv
	case "FusedGemm":
		return fusedGemm
	case "BiasGelu":
		return biased("Gelu")
	case "FastGelu":
		return biased("FastGelu")
	case "BiasAdd":
		return biasAdd
	case "BiasSoftmax":
		return biasSoftmax
	case "SkipLayerNormalization":
		return skipNorm("LayerNormalization")
	case "SkipSimplifiedLayerNormalization":
		return skipNorm("SimplifiedLayerNormalization")
	case "EmbedLayerNormalization":
		return embedNorm
	case "GroupNorm":
		return activatedGroupNorm
	case "Attention":
		return attention
	case "MultiHeadAttention":
		return multiHead
	case "GroupQueryAttention":
		return groupQuery
	case "RotaryEmbedding":
		return rotary
	case "MatMulNBits":
		return matMulBits
	case "STFT":
		return frames
	case "DFT":
		return spectrum
	case "QuantizeLinear":
		return quantise
	case "DequantizeLinear":
		return dequantise
	case "DynamicQuantizeLinear":
		return dynamicQuantise
	case "QLinearConv":
		return quantisedConv
	case "QLinearMatMul":
		return quantisedPair("MatMul")
	case "QGemm":
		return quantisedGemm
	case "ConvInteger":
		return integerConv
	case "MatMulInteger":
		return integerProduct
	case "DynamicQuantizeMatMul":
		return dynamicProduct
	case "MatMulIntegerToFloat":
		return scaledProduct
	case "QLinearAdd":
		return quantisedPair("Add")
	case "QLinearMul":
		return quantisedPair("Mul")
	case "QLinearConcat":
		return quantisedConcat
	case "QLinearSigmoid":
		return quantisedUnary("Sigmoid")
	case "QLinearLeakyRelu":
		return quantisedUnary("LeakyRelu")
	case "QLinearSoftmax":
		return quantisedUnary("Softmax")
	case "QLinearGlobalAveragePool":
		return quantisedUnary("GlobalAveragePool")
	case "QLinearAveragePool":
		return quantisedUnary("AveragePool")
	case "QLinearReduceMean":
		return quantisedUnary("ReduceMean")
	}
	return nil
}

// state settles the nodes that state this one as its body. What is wrong with them is wrong
// with it, and leaves nothing behind but its notes.
func (s *settler) state(n *Node, f func(e *expansion) error) error {
	own := *n.Node
	own.Out = make([]*graph.Value, len(n.Out))
	for i, out := range n.Out {
		v := *out
		own.Out[i] = &v
	}
	e := &expansion{Node: &own, settler: s, label: n.Label, body: []*Node{}}
	err := f(e)
	n.Notes = append(n.Notes, e.notes...)
	if err != nil {
		return err
	}
	for i, out := range n.Out {
		*out = *own.Out[i]
		rename(e.body, own.Out[i], out)
	}
	n.Body = e.body
	return nil
}

// rename makes nodes, and those that state them, make and read a tensor in the place of another.
func rename(nodes []*Node, from, to *graph.Value) {
	for _, n := range nodes {
		for _, list := range [...][]*graph.Value{n.In, n.Out} {
			for i, v := range list {
				if v == from {
					list[i] = to
				}
			}
		}
		rename(n.Body, from, to)
		if n.Largest != nil {
			rename([]*Node{n.Largest}, from, to)
		}
	}
}

// node settles a node whose result is out, nil for a tensor of its own. What the engine does
// not do of it the host may.
func (e *expansion) node(out *graph.Value, op string, a attributes, in ...*graph.Value) (*graph.Value, error) {
	list, err := e.several([]*graph.Value{out}, "", op, a, in...)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// several settles a node of several results.
func (e *expansion) several(out []*graph.Value, domain, op string, a attributes, in ...*graph.Value) ([]*graph.Value, error) {
	e.made++
	out = slices.Clone(out)
	for i := range out {
		if !out[i].Given() {
			out[i] = &graph.Value{Name: fmt.Sprintf("%s/%s/%d:%d", e.Out[0].Name, op, e.made, i)}
		}
	}
	n := &Node{Label: fmt.Sprintf("%s/%s%d", e.label, op, e.made), Node: &graph.Node{
		Op: op, Domain: domain, Attr: a, Opset: e.Opset, Off: e.Off, In: slices.Clone(in), Out: out,
	}}
	for i, v := range n.In {
		if v == nil {
			n.In[i] = &graph.Value{}
		}
	}
	e.settle(n)
	e.notes = append(e.notes, n.Notes...)
	n.Notes = nil
	if n.Err != nil {
		return nil, n.Err
	}
	e.body = append(e.body, n)
	return slices.Clone(out), nil
}

// number is a constant of one float.
func (e *expansion) number(v float64) *graph.Value {
	return e.constant(&graph.Const{Type: graph.Float, Numbers: []float64{v}})
}

// floats is a constant.
func (e *expansion) floats(dims []int, v []float64) *graph.Value {
	return e.constant(&graph.Const{Dims: dims, Type: graph.Float, Numbers: v})
}

// wholes is a constant list of int64.
func (e *expansion) wholes(v ...int) *graph.Value {
	c := &graph.Const{Dims: []int{len(v)}, Type: graph.Int64}
	for _, x := range v {
		c.Numbers = append(c.Numbers, float64(x))
	}
	return e.constant(c)
}

func (e *expansion) constant(c *graph.Const) *graph.Value {
	e.made++
	v := &graph.Value{Name: fmt.Sprintf("%s/constant/%d", e.Out[0].Name, e.made)}
	v.Set(c)
	return v
}

// float is a tensor of whole numbers that fp16 has exactly, seen as one of floats.
func (e *expansion) float(x *graph.Value) *graph.Value {
	if x.Type == 0 || x.Type.IsFloat() {
		return x
	}
	e.made++
	v := &graph.Value{Name: fmt.Sprintf("%s/float/%d", e.Out[0].Name, e.made)}
	e.body = append(e.body, same(v, x))
	v.Type = graph.Float
	return v
}

// input is an input, one without a name where it is left out.
func (e *expansion) input(i int) *graph.Value {
	if !e.Given(i) {
		return &graph.Value{}
	}
	return e.In[i]
}

// output is a result, one without a name where nothing asks for it.
func (e *expansion) output(i int) *graph.Value {
	if !e.Asked(i) {
		return &graph.Value{}
	}
	return e.Out[i]
}

// without are the attributes but for those named.
func (e *expansion) without(names ...string) attributes {
	a := attributes{}
	for k, v := range e.Attr {
		if !slices.Contains(names, k) {
			a[k] = v
		}
	}
	return a
}

func ofInts(v ...int) *graph.Attr   { return graph.ListOf(v...) }
func ofInt(v int) *graph.Attr       { return &graph.Attr{Int: int64(v)} }
func ofFloat(v float64) *graph.Attr { return &graph.Attr{Float: float32(v)} }

// reshaped is a tensor in other dimensions.
func (e *expansion) reshaped(out, x *graph.Value, dims ...int) (*graph.Value, error) {
	return e.node(out, "Reshape", nil, x, e.wholes(dims...))
}

// turned is a tensor with its axes in another order.
func (e *expansion) turned(out, x *graph.Value, perm ...int) (*graph.Value, error) {
	return e.node(out, "Transpose", attributes{"perm": ofInts(perm...)}, x)
}

// A step is a node of a chain.
type step struct {
	op string
	a  attributes
	in []*graph.Value // nil for the result of the step before
}

// chain settles nodes one after the other, the last of which makes out.
func (e *expansion) chain(out, x *graph.Value, steps ...step) (*graph.Value, error) {
	for i, s := range steps {
		var to *graph.Value
		if i == len(steps)-1 {
			to = out
		}
		in := slices.Clone(s.in)
		if len(in) == 0 {
			in = []*graph.Value{nil}
		}
		for k := range in {
			if in[k] == nil {
				in[k] = x
			}
		}
		var err error
		if x, err = e.node(to, s.op, s.a, in...); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// scaleOf is one over the root of a head's size, where the file gives no scale.
func (e *expansion) scaleOf(head int) float64 {
	if s := float64(e.Float("scale", 0)); s != 0 {
		return s
	}
	return 1 / math.Sqrt(float64(head))
}

// scaledOperands states a node of an operand that is a power of two smaller than it should
// be, and reports whether it did: a product with a factor makes up for it, what leaves
// values as they are passes it on, and for all else the operand is made as large as it is.
func (s *settler) scaledOperands(n *Node) (bool, error) {
	at := slices.IndexFunc(n.In, func(v *graph.Value) bool { return v.Scale > 1 })
	if at < 0 {
		return false, nil
	}
	by := n.In[at].Scale
	switch n.Op {
	case "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose":
		if at == 0 {
			n.Out[0].Scale = by
			return false, nil
		}
	}
	return true, s.state(n, func(e *expansion) error {
		scaled := e.In[at]
		seen := *scaled // as it is, taken for what it should be
		seen.Scale = 0
		in := slices.Clone(e.In)
		for i := range in {
			if in[i] == scaled {
				in[i] = &seen
			}
		}
		k := at
		if e.Op == "Mul" && len(in) == 2 && in[0] != in[1] {
			k = 1 - at
		}
		larger, err := e.node(nil, "Mul", nil, e.float(in[k]), e.number(by))
		if err != nil {
			return err
		}
		if k == at {
			larger.Type = scaled.Type
		}
		for i := range in {
			if i == k || k == at && in[i] == &seen {
				in[i] = larger
			}
		}
		_, err = e.several(e.Out, e.Domain, e.Op, e.Attr, in...)
		return err
	})
}
