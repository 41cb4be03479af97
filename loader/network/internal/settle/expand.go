package settle

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// An expansion rewrites a node as simpler nodes. The operator may be one that a runtime has
// fused, or one on quantized tensors. The new nodes still count as the one node of the file.
type expansion struct {
	*graph.Node // with copies of its results, which replace the originals on success
	*settler
	label string
	base  string // start of the names of new tensors, which no other expansion has
	made  int    // number of nodes and constants
	body  []*Node
	notes []string
}

// attributes holds the attributes of a node that an expansion emits, by name.
type attributes map[string]*graph.Attr

// HasExpansion reports whether the named operator can be rewritten as simpler nodes. An attention,
// for example, becomes matmuls and a softmax.
func HasExpansion(op string) bool { return findExpander(op) != nil }

// findExpander returns the function that expands an operator, or nil if there is none.
func findExpander(op string) func(e *expansion) error {
	switch op {
	case "FusedMatMul", "TransposeMatMul":
		return expandFusedMatMul
	case "LpPool":
		return expandLpPool
	case "GlobalLpPool":
		return expandGlobalLpPool
	case "FusedConv":
		return expandFusedConv
	case "FusedGemm":
		return expandFusedGemm
	case "BiasGelu":
		return newBiasedExpander("Gelu")
	case "FastGelu":
		return newBiasedExpander("FastGelu")
	case "BiasAdd":
		return expandBiasAdd
	case "BiasSoftmax":
		return expandBiasSoftmax
	case "SkipLayerNormalization":
		return newSkipNormExpander("LayerNormalization")
	case "SkipSimplifiedLayerNormalization":
		return newSkipNormExpander("SimplifiedLayerNormalization")
	case "EmbedLayerNormalization":
		return expandEmbedNorm
	case "GroupNorm":
		return expandGroupNorm
	case "Attention":
		return expandAttention
	case "MultiHeadAttention":
		return expandMultiHeadAttention
	case "GroupQueryAttention":
		return expandGroupQueryAttention
	case "RotaryEmbedding":
		return expandRotaryEmbedding
	case "MatMulNBits":
		return expandMatMulNBits
	case "Quant":
		return expandQuant
	case "BipolarQuant":
		return expandBipolarQuant
	case "TensorScatter":
		return expandTensorScatter
	case "CenterCropPad":
		return expandCenterCropPad
	case "Col2Im":
		return expandCol2Im
	case "AffineGrid":
		return expandAffineGrid
	case "STFT":
		return expandSTFT
	case "DFT":
		return expandDFT
	case "NegativeLogLikelihoodLoss":
		return expandNegativeLogLikelihood
	case "SoftmaxCrossEntropyLoss":
		return expandSoftmaxCrossEntropy
	case "DeformConv":
		return expandDeformConv
	case "MaxUnpool":
		return expandMaxUnpool
	case "QuantizeLinear":
		return expandQuantizeLinear
	case "DequantizeLinear":
		return expandDequantizeLinear
	case "DynamicQuantizeLinear":
		return expandDynamicQuantizeLinear
	case "QLinearConv":
		return expandQLinearConv
	case "QLinearMatMul":
		return newQLinearBinaryExpander("MatMul")
	case "QGemm":
		return expandQGemm
	case "ConvInteger":
		return expandConvInteger
	case "MatMulInteger":
		return expandMatMulInteger
	case "DynamicQuantizeMatMul":
		return expandDynamicMatMul
	case "MatMulIntegerToFloat":
		return expandScaledMatMul
	case "QLinearAdd":
		return newQLinearBinaryExpander("Add")
	case "QLinearMul":
		return newQLinearBinaryExpander("Mul")
	case "QLinearConcat":
		return expandQLinearConcat
	case "QLinearSigmoid":
		return newQLinearUnaryExpander("Sigmoid")
	case "QLinearLeakyRelu":
		return newQLinearUnaryExpander("LeakyRelu")
	case "QLinearSoftmax":
		return newQLinearUnaryExpander("Softmax")
	case "QLinearGlobalAveragePool":
		return newQLinearUnaryExpander("GlobalAveragePool")
	case "QLinearAveragePool":
		return newQLinearUnaryExpander("AveragePool")
	case "QLinearReduceMean":
		return newQLinearUnaryExpander("ReduceMean")
	}
	// The families below have tables of their own, beside their functions.
	if f := findMicrosoftExpander(op); f != nil {
		return f
	}
	if f := findOptimizerExpander(op); f != nil {
		return f
	}
	return findSequenceExpander(op)
}

// expandNode calls f to rewrite node n as simpler nodes, and stores them in n.Body. If f fails,
// expandNode returns its error and leaves n unchanged except for the notes of f, which it keeps.
func (s *settler) expandNode(n *Node, f func(e *expansion) error) error {
	own := *n.Node
	own.Out = make([]*graph.Value, len(n.Out))
	for i, out := range n.Out {
		v := *out
		own.Out[i] = &v
	}
	e := &expansion{Node: &own, settler: s, label: n.Label, base: cmp.Or(n.base, own.ResultName()), body: []*Node{}}
	err := own.Apply(func() error { return f(e) })
	n.Notes = append(n.Notes, e.notes...)
	if err != nil {
		return err
	}
	for i, out := range n.Out {
		*out = *own.Out[i]
		renameTensor(e.body, own.Out[i], out)
		if out.Given() && out.Dims == nil && out.Why == "" {
			out.Why = n.explainLackOf(i)
		}
	}
	n.Body = e.body
	return nil
}

// renameTensor replaces the tensor from by the tensor to in the inputs and outputs of nodes. It
// also does so in the nodes of their Body and Largest.
func renameTensor(nodes []*Node, from, to *graph.Value) {
	for _, n := range nodes {
		for _, list := range [...][]*graph.Value{n.In, n.Out} {
			for i, v := range list {
				if v == from {
					list[i] = to
				}
			}
		}
		renameTensor(n.Body, from, to)
		if n.Largest != nil {
			renameTensor([]*Node{n.Largest}, from, to)
		}
	}
}

// emitNode adds a node that applies op to the inputs in, and returns its result. The result is out,
// or a new tensor if out is nil. A nil input is an omitted optional one. emitNode returns an error if
// the new node cannot be settled.
func (e *expansion) emitNode(out *graph.Value, op string, a attributes, in ...*graph.Value) (*graph.Value, error) {
	list, err := e.emitMultiResultNode([]*graph.Value{out}, "", op, a, in...)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// emitMultiResultNode is like emit for an operator of the given domain with several results, one
// for each element of out.
func (e *expansion) emitMultiResultNode(out []*graph.Value, domain, op string, a attributes, in ...*graph.Value) ([]*graph.Value, error) {
	e.made++
	out = slices.Clone(out)
	inner := fmt.Sprintf("%s/%s/%d", e.base, op, e.made)
	base := ""
	for i := range out {
		if !out[i].Given() {
			out[i] = &graph.Value{Name: fmt.Sprintf("%s:%d", inner, i)}
		} else {
			base = inner // e uses the tensor's own name
		}
	}
	n := &Node{Label: fmt.Sprintf("%s/%s%d", e.label, op, e.made), base: base, Node: &graph.Node{
		Op: op, Domain: domain, Attr: a, Opset: e.Opset, Off: e.Off, In: slices.Clone(in), Out: out,
	}}
	for i, v := range n.In {
		if v == nil {
			n.In[i] = &graph.Value{}
		}
	}
	e.settleResults(n)
	e.notes = append(e.notes, n.Notes...)
	n.Notes = nil
	if n.Err != nil {
		return nil, n.Err
	}
	e.body = append(e.body, n)
	return slices.Clone(out), nil
}

// newScalarConstant returns a float32 constant without axes whose value is v.
func (e *expansion) newScalarConstant(v float64) *graph.Value {
	return e.newConstant(&graph.Const{Type: graph.Float, Numbers: []float64{v}})
}

// newFloatConstant returns a float32 constant of shape dims with the elements v.
func (e *expansion) newFloatConstant(dims []int, v []float64) *graph.Value {
	return e.newConstant(&graph.Const{Dims: dims, Type: graph.Float, Numbers: v})
}

// newIntConstant returns an int64 constant with one axis whose elements are v.
func (e *expansion) newIntConstant(v ...int) *graph.Value {
	c := &graph.Const{Dims: []int{len(v)}, Type: graph.Int64}
	for _, x := range v {
		c.Numbers = append(c.Numbers, float64(x))
	}
	return e.newConstant(c)
}

func (e *expansion) newConstant(c *graph.Const) *graph.Value {
	e.made++
	v := &graph.Value{Name: fmt.Sprintf("%s/constant/%d", e.base, e.made)}
	v.Set(c)
	return v
}

// emitFloatAlias returns x if its type is floating-point or unknown, and otherwise a float alias of x.
// The integers in x must be exact in fp16, because nothing converts them.
func (e *expansion) emitFloatAlias(x *graph.Value) *graph.Value {
	if x.Type == 0 || x.Type.IsFloat() {
		return x
	}
	e.made++
	v := &graph.Value{Name: fmt.Sprintf("%s/float/%d", e.base, e.made)}
	e.body = append(e.body, newAliasNode(v, x))
	v.Type = graph.Float
	return v
}

// inputTensor returns input i of the node, or an unnamed tensor if the input is omitted.
func (e *expansion) inputTensor(i int) *graph.Value {
	return e.Input(i)
}

// outputTensor returns result i of the node, or an unnamed tensor if nothing reads the result.
func (e *expansion) outputTensor(i int) *graph.Value {
	if !e.Asked(i) {
		return &graph.Value{}
	}
	return e.Out[i]
}

// attributesWithout returns a copy of the node's attributes without the named ones, which the caller
// reads itself.
func (e *expansion) attributesWithout(names ...string) attributes {
	a := attributes{}
	for k := range e.Attr {
		if !slices.Contains(names, k) {
			a[k] = e.Attribute(k)
		}
	}
	return a
}

// namedAttributes returns those of the node's attributes that have the given names.
func (e *expansion) namedAttributes(names ...string) attributes {
	a := attributes{}
	for _, name := range names {
		if v := e.Attribute(name); v != nil {
			a[name] = v
		}
	}
	return a
}

func newIntsAttr(v ...int) *graph.Attr   { return graph.ListOf(v...) }
func newIntAttr(v int) *graph.Attr       { return &graph.Attr{Int: int64(v)} }
func newFloatAttr(v float64) *graph.Attr { return &graph.Attr{Float: float32(v)} }

// emitReshape emits a Reshape of x to dims and returns the result: out, or a new tensor if out is
// nil.
func (e *expansion) emitReshape(out, x *graph.Value, dims ...int) (*graph.Value, error) {
	return e.emitNode(out, "Reshape", nil, x, e.newIntConstant(dims...))
}

// emitTranspose emits a Transpose of x with the permutation perm and returns the result: out, or a
// new tensor if out is nil.
func (e *expansion) emitTranspose(out, x *graph.Value, perm ...int) (*graph.Value, error) {
	return e.emitNode(out, "Transpose", attributes{"perm": newIntsAttr(perm...)}, x)
}

// A step is a node of a chain.
type step struct {
	op string
	a  attributes
	in []*graph.Value // nil entries, or a nil list, mean the result of the previous step
}

// emitNodeChain emits one node for each step. The first node reads x, and each later one reads the
// result of the node before it. emitNodeChain returns the result of the last node: out, or a new
// tensor if out is nil.
func (e *expansion) emitNodeChain(out, x *graph.Value, steps ...step) (*graph.Value, error) {
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
		if x, err = e.emitNode(to, s.op, s.a, in...); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// readScoreScale returns the node's attribute scale, the factor of the attention scores. If it is
// missing or 0, readScoreScale returns 1/sqrt(head), where head is the number of elements in a
// head.
func (e *expansion) readScoreScale(head int) float64 {
	if s := float64(e.Float("scale", 0)); s != 0 {
		return s
	}
	return 1 / math.Sqrt(float64(head))
}
