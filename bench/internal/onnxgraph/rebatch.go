package onnxgraph

import (
	"math/rand/v2"
	"slices"

	"anesim/internal/network/onnx"
)

// Rebatch returns two graphs that test whether a batch is computed item by item. The graph second
// is a copy of g with other inputs. The graph two computes a batch of two items: the inputs of g
// and those of second. Each output of two must therefore be the output of g followed by that of
// second along axis 0.
//
// Rebatch returns ok = false if an input of g has no leading axis of extent 1, or if an operator
// mixes the items of a batch.
func (g *Graph) Rebatch(rng *rand.Rand) (two, second *Graph, ok bool) {
	two, second = g.Copy(), g.Copy()
	r := rebatcher{g: two, batched: map[string]bool{}}
	for i, in := range two.Inputs {
		v := g.Values[in.Name]
		if len(in.Dims) == 0 || in.Dims[0] != 1 {
			return nil, nil, false
		}
		other := second.Inputs[i]
		other.Values = slices.Clone(in.Values)
		rng.Shuffle(len(other.Values), func(i, j int) {
			other.Values[i], other.Values[j] = other.Values[j], other.Values[i]
		})
		if v.Type == onnx.Float && v.Low < 0 && v.High > 0 {
			for j := range other.Values { // shuffling does not change a scalar
				if rng.IntN(2) == 0 && -other.Values[j] >= v.Low && -other.Values[j] <= v.High {
					other.Values[j] = -other.Values[j]
				}
			}
		}
		in.Values = slices.Concat(in.Values, other.Values)
		in.Dims = slices.Concat([]int{2}, in.Dims[1:])
		r.doubleBatch(in.Name)
	}
	for _, n := range two.Nodes {
		if !r.rebatchNode(n) {
			return nil, nil, false
		}
	}
	for _, name := range two.Outputs {
		if !r.batched[name] {
			return nil, nil, false
		}
	}
	return two, second, true
}

// A rebatcher changes the leading axis of a graph's tensors from extent 1 to 2.
type rebatcher struct {
	g       *Graph
	batched map[string]bool
}

// doubleBatch changes the leading axis of the named tensor from 1 to 2. It returns false if the
// axis is not 1.
func (r *rebatcher) doubleBatch(name string) bool {
	v := r.g.Values[name]
	if len(v.Dims) == 0 || v.Dims[0] != 1 {
		return false
	}
	v.Dims = slices.Concat([]int{2}, v.Dims[1:])
	r.g.Values[name], r.batched[name] = v, true
	return true
}

// rebatchNode doubles the leading axes of the outputs of n. It returns false if n does not
// compute each item independently.
func (r *rebatcher) rebatchNode(n *Node) bool {
	if !r.rebatchOperands(n) {
		return false
	}
	for _, out := range n.Outputs {
		if !r.doubleBatch(out) {
			return false
		}
	}
	return true
}

// pointwiseOperators have the batch in their first operand only. Their other operands are
// constants.
var pointwiseOperators = []string{
	"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Erf", "HardSigmoid", "HardSwish", "Elu", "Selu", "Softplus", "Softsign", "Clip",
	"Abs", "Neg", "Identity", "Dropout", "Sin", "Cos", "Exp", "Log", "Sqrt", "Reciprocal", "Round", "Floor", "Ceil", "Sign",
	"Cast", "IsNaN", "Not", "Gelu", "Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization", "MaxPool", "AveragePool",
	"LpPool", "GlobalAveragePool", "GlobalMaxPool", "DepthToSpace", "SpaceToDepth", "QuantizeLinear",
	"DequantizeLinear", "QLinearConv", "Celu", "Mish", "ThresholdedRelu", "Upsample",
}

// broadcastingOperators have operands that broadcast.
var broadcastingOperators = []string{
	"Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "PRelu", "Where", "Mod", "Greater", "Less", "GreaterOrEqual", "Sum", "Mean",
	"LessOrEqual", "Equal", "And", "Or", "Xor",
}

// rebatchOperands doubles the leading axis in those constant operands of n that are shapes. It
// returns false if n does not compute each item of that axis independently.
func (r *rebatcher) rebatchOperands(n *Node) bool {
	first := n.Inputs[0]
	rank := len(r.g.Values[first].Dims)
	switch {
	case slices.Contains(broadcastingOperators, n.Op):
		return r.isBatchBroadcast(n)
	case n.Op == "MatMul":
		return r.isBatchMatMul(n)
	case n.Op == "Concat":
		if slices.ContainsFunc(n.Inputs, func(s string) bool { return !r.batched[s] }) {
			return false
		}
		return r.axisAttribute(n) > 0 || r.axisAttribute(n) > -rank && r.axisAttribute(n) < 0
	case !r.batched[first] || slices.ContainsFunc(n.Inputs[1:], func(s string) bool { return r.batched[s] }):
		return false
	case slices.Contains(pointwiseOperators, n.Op):
		return true
	}
	inner := func(axes []int) bool {
		return len(axes) > 0 && !slices.ContainsFunc(axes, func(a int) bool { return a == 0 || a == -rank })
	}
	switch n.Op {
	case "Gemm":
		return n.intAttributeOr("transA", 0) == 0 && (len(n.Inputs) < 3 || len(r.g.Values[n.Inputs[2]].Dims) < 2 || r.g.Values[n.Inputs[2]].Dims[0] == 1)
	case "Softmax", "LogSoftmax", "Hardmax", "LayerNormalization", "Split", "TopK", "ArgMax", "ArgMin", "Gather":
		return inner([]int{r.axisAttribute(n)})
	case "Resize":
		return len(n.Inputs) < 4 // sizes contain the batch
	case "Flatten":
		return r.axisAttribute(n) == 1
	case "Transpose":
		perm := n.intsAttributeOrNil("perm")
		return len(perm) > 0 && perm[0] == 0
	case "Reshape":
		return r.rebatchReshape(n)
	case "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd", "Squeeze":
		return inner(r.nodeAxes(n, 1))
	case "Unsqueeze":
		axes := r.nodeAxes(n, 1)
		return len(axes) == 1 && axes[0] != 0 && axes[0] != -rank-1
	case "Slice":
		return inner(r.nodeAxes(n, 3))
	case "Pad":
		if len(n.Inputs) < 2 || len(n.Inputs) > 3 {
			return false
		}
		pads := r.g.Constant(n.Inputs[1])
		return pads.Values[0] == 0 && pads.Values[rank] == 0
	}
	return false
}

// nodeAxes returns the axes of node n. They are in its attribute or in its i-th input, which must
// be a constant.
func (r *rebatcher) nodeAxes(n *Node, i int) []int {
	if axes := n.intsAttributeOrNil("axes"); axes != nil || len(n.Inputs) <= i {
		return axes
	}
	var axes []int
	if c := r.g.Constant(n.Inputs[i]); c != nil {
		for _, v := range c.Values {
			axes = append(axes, int(v))
		}
	}
	return axes
}

// isBatchBroadcast reports whether the operands of n broadcast along the batch as along other axes:
// each operand has the batch as the leading axis of the result, or does not have it.
func (r *rebatcher) isBatchBroadcast(n *Node) bool {
	rank := len(r.g.Values[n.Outputs[0]].Dims)
	any := false
	for _, in := range n.Inputs {
		dims := r.g.Values[in].Dims
		switch {
		case r.batched[in] && len(dims) == rank:
			any = true
		case r.batched[in] || len(dims) == rank && dims[0] != 1:
			return false
		}
	}
	return any
}

// isBatchMatMul reports whether the matmul n has the batch as an axis of matrices or of rows.
func (r *rebatcher) isBatchMatMul(n *Node) bool {
	x, y := n.Inputs[0], n.Inputs[1]
	p, q := r.g.Values[x].Dims, r.g.Values[y].Dims
	switch {
	case r.batched[x] && r.batched[y]:
		return len(p) == len(q) && len(p) >= 3
	case r.batched[x]:
		return len(p) >= 2 && (len(q) < len(p) || len(p) >= 3 && q[0] == 1)
	case r.batched[y]:
		return len(q) >= 3 && (len(p) < len(q) || p[0] == 1)
	}
	return false
}

// rebatchReshape changes the leading axis in the shape operand of the Reshape n from 1 to 2. It
// returns false if n does not keep the leading axis.
func (r *rebatcher) rebatchReshape(n *Node) bool {
	c := r.g.Constant(n.Inputs[1])
	if c == nil || len(c.Values) == 0 {
		return false
	}
	if c.Values[0] == 0 {
		return true
	}
	dims := r.g.Values[n.Outputs[0]].Dims
	if len(dims) == 0 || dims[0] != 1 {
		return false
	}
	d := *c
	d.Name += "_two"
	d.Values = slices.Clone(c.Values)
	d.Values[0] = 2
	if r.g.Constant(d.Name) == nil {
		r.g.Constants = append(r.g.Constants, &d)
		r.g.Values[d.Name] = r.g.Values[c.Name]
	}
	n.Inputs[1] = d.Name
	return true
}

// axisAttribute returns the attribute axis of n, or its default value if n leaves it out.
func (r *rebatcher) axisAttribute(n *Node) int {
	axis, _ := defaultAxis(n.Op, r.g.Opset)
	return n.intAttributeOr("axis", axis)
}

// intAttributeOr returns the named integer attribute of n, or otherwise if n does not have it.
func (n *Node) intAttributeOr(name string, otherwise int) int {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a.Int
		}
	}
	return otherwise
}

// intsAttributeOrNil returns the named integer list attribute of n, or nil if n does not have it.
func (n *Node) intsAttributeOrNil(name string) []int {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a.Ints
		}
	}
	return nil
}
