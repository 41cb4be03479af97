package network

import (
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/graph"
)

// An expansion states a node in others: an operator that a runtime has fused, or that works
// on quantised tensors. The node stays one of the file, whose layers theirs are.
type expansion struct {
	*nodeReader
	made int // nodes and constants
	macs int
}

// attributes are those of a node that an expansion makes.
type attributes map[string]*graph.Attr

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

// inOthers reads the nodes that state this one. What is wrong with them is wrong with it, and
// leaves nothing behind.
func (n *nodeReader) inOthers(f func(e *expansion) error) error {
	e := &expansion{nodeReader: n.attempt()}
	if err := f(e); err != nil {
		return err
	}
	e.keep()
	n.macs = e.macs
	if len(n.Net.Layers) == n.First {
		n.What = "folded"
	}
	return nil
}

// node reads a node whose result is called out, "" for a name that no other has. What the
// engine does not do of it the host may.
func (e *expansion) node(out, op string, a attributes, in ...string) (string, error) {
	return e.nodeOf(out, "", op, a, in...)
}

func (e *expansion) nodeOf(out, domain, op string, a attributes, in ...string) (string, error) {
	list, err := e.several([]string{out}, domain, op, a, in...)
	if err != nil {
		return "", err
	}
	return list[0], nil
}

func (e *expansion) several(out []string, domain, op string, a attributes, in ...string) ([]string, error) {
	e.made++
	for i := range out {
		if out[i] == "" {
			out[i] = fmt.Sprintf("%s/%s/%d:%d", e.Out[0].Name, op, e.made, i)
		}
	}
	node := &graph.Node{Op: op, Domain: domain, Attr: a, Opset: e.Opset, Off: e.Off}
	for _, name := range in {
		node.In = append(node.In, e.value(name))
	}
	for _, name := range out {
		node.Out = append(node.Out, e.values.made(name))
	}
	n := e.reader(node, fmt.Sprintf("%s/%s%d", e.Label, op, e.made))
	if err := n.read(); err != nil {
		n.refuse(err)
		if n.Net.Layers[0].Host == nil {
			return nil, err
		}
	}
	n.keep()
	e.macs += n.macs
	return out, nil
}

// number is a constant of one float.
func (e *expansion) number(v float64) string {
	return e.keepAs(&graph.Const{Type: graph.Float, Numbers: []float64{v}})
}

// floats is a constant.
func (e *expansion) floats(dims []int, v []float64) string {
	return e.keepAs(&graph.Const{Dims: dims, Type: graph.Float, Numbers: v})
}

// wholes is a constant list of int64.
func (e *expansion) wholes(v ...int) string {
	c := &graph.Const{Dims: []int{len(v)}, Type: graph.Int64}
	for _, x := range v {
		c.Numbers = append(c.Numbers, float64(x))
	}
	return e.keepAs(c)
}

func (e *expansion) keepAs(c *graph.Const) string {
	e.made++
	name := fmt.Sprintf("%s/constant/%d", e.Out[0].Name, e.made)
	e.values.made(name).Set(c)
	return name
}

// float is a tensor of whole numbers that fp16 has exactly, seen as one of floats.
func (e *expansion) float(name string) string {
	if t := e.value(name).Type; t == 0 || t.IsFloat() {
		return name
	}
	e.made++
	out := fmt.Sprintf("%s/float/%d", e.Out[0].Name, e.made)
	e.same(e.values.made(out), e.value(name))
	e.value(out).Type = graph.Float
	return out
}

// input is the name of an input, "" where it is left out.
func (e *expansion) input(i int) string {
	if !e.Given(i) {
		return ""
	}
	return e.In[i].Name
}

// output is the name of a result, "" where nothing asks for it.
func (e *expansion) output(i int) string {
	if i >= len(e.Out) {
		return ""
	}
	return e.Out[i].Name
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
func (e *expansion) reshaped(out, x string, dims ...int) (string, error) {
	return e.node(out, "Reshape", nil, x, e.wholes(dims...))
}

// turned is a tensor with its axes in another order.
func (e *expansion) turned(out, x string, perm ...int) (string, error) {
	return e.node(out, "Transpose", attributes{"perm": ofInts(perm...)}, x)
}

// chain reads nodes one after the other, the last of which is called out.
type step struct {
	op string
	a  attributes
	in []string // "" for the result of the step before
}

func (e *expansion) chain(out, x string, steps ...step) (string, error) {
	for i, s := range steps {
		name := ""
		if i == len(steps)-1 {
			name = out
		}
		in := slices.Clone(s.in)
		if len(in) == 0 {
			in = []string{""}
		}
		for k := range in {
			if in[k] == "" {
				in[k] = x
			}
		}
		var err error
		if x, err = e.node(name, s.op, s.a, in...); err != nil {
			return "", err
		}
	}
	return x, nil
}

// root is one over the root of a head's size, where the file gives no scale.
func (e *expansion) scaleOf(head int) float64 {
	if s := float64(e.Float("scale", 0)); s != 0 {
		return s
	}
	return 1 / math.Sqrt(float64(head))
}

// expands reports whether a node is stated in others: a bias that may be left out makes the
// difference of some.
func (n *nodeReader) expands() bool {
	return n.Op != "FastGelu" || n.Given(1)
}

// scaledOperands reads a node of an operand that is a power of two smaller than it should
// be, and reports whether it did: a product with a factor makes up for it, what leaves
// values as they are passes it on, and for all else the operand is made as large as it is.
func (n *nodeReader) scaledOperands() (bool, error) {
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
	return true, n.inOthers(func(e *expansion) error {
		in := names(e.In)
		k, scaled := at, in[at]
		if e.Op == "Mul" && len(in) == 2 && in[0] != in[1] {
			k = 1 - at
		}
		e.values.seen(e.value(scaled)).Scale = 0
		larger, err := e.node("", "Mul", nil, e.float(in[k]), e.number(by))
		if err != nil {
			return err
		}
		if k == at {
			e.value(larger).Type = e.value(scaled).Type
		}
		for i, name := range names(e.In) {
			if i == k || k == at && name == scaled {
				in[i] = larger
			}
		}
		_, err = e.severalOf(in)
		return err
	})
}

// names are those of values.
func names(values []*graph.Value) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.Name
	}
	return list
}

// severalOf reads the node itself with other inputs.
func (e *expansion) severalOf(in []string) ([]string, error) {
	return e.several(names(e.Out), e.Domain, e.Op, e.Attr, in...)
}
