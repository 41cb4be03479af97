package randomgraph

import (
	"math/rand/v2"
	"slices"

	"anesim/loader/network/onnx"
)

// Rebatch returns a graph of a batch of two, and a copy of g with other inputs: the first
// item of the batch has the inputs of g and the second item those of the copy, so that each
// output of the batch is the output of g followed by that of the copy along axis 0. It
// returns ok false unless every input of g has a leading axis of extent 1, and every operator
// computes each item of that axis by itself.
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
			for j := range other.Values { // shuffling alone leaves a scalar as it was
				if rng.IntN(2) == 0 && -other.Values[j] >= v.Low && -other.Values[j] <= v.High {
					other.Values[j] = -other.Values[j]
				}
			}
		}
		in.Values = slices.Concat(in.Values, other.Values)
		in.Dims = slices.Concat([]int{2}, in.Dims[1:])
		r.double(in.Name)
	}
	for _, n := range two.Nodes {
		if !r.node(n) {
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

// A rebatcher gives the tensors of a graph a leading axis of two in place of one.
type rebatcher struct {
	g       *Graph
	batched map[string]bool
}

// double makes the leading axis of a tensor two. It reports whether that axis was one.
func (r *rebatcher) double(name string) bool {
	v := r.g.Values[name]
	if len(v.Dims) == 0 || v.Dims[0] != 1 {
		return false
	}
	v.Dims = slices.Concat([]int{2}, v.Dims[1:])
	r.g.Values[name], r.batched[name] = v, true
	return true
}

// node doubles the outputs of n. It reports whether n computes each item by itself.
func (r *rebatcher) node(n *Node) bool {
	if !r.independent(n) {
		return false
	}
	for _, out := range n.Outputs {
		if !r.double(out) {
			return false
		}
	}
	return true
}

// pointwise are the operators whose first operand has the batch and whose other operands
// are constants without one.
var pointwise = []string{
	"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Erf", "HardSigmoid", "HardSwish", "Elu", "Selu", "Softplus", "Softsign", "Clip",
	"Abs", "Neg", "Identity", "Dropout", "Sin", "Cos", "Exp", "Log", "Sqrt", "Reciprocal", "Round", "Floor", "Ceil", "Sign",
	"Cast", "IsNaN", "Not", "Gelu", "Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization", "MaxPool", "AveragePool",
	"LpPool", "GlobalAveragePool", "GlobalMaxPool", "DepthToSpace", "SpaceToDepth", "Resize", "QuantizeLinear",
	"DequantizeLinear", "QLinearConv",
}

// broadcasting are the operators whose operands broadcast.
var broadcasting = []string{
	"Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "PRelu", "Where", "Mod", "Greater", "Less", "GreaterOrEqual",
	"LessOrEqual", "Equal", "And", "Or", "Xor",
}

// independent reports whether n computes each item of the leading axis by itself. It
// rewrites constant shapes that state the axis.
func (r *rebatcher) independent(n *Node) bool {
	first := n.Inputs[0]
	rank := len(r.g.Values[first].Dims)
	switch {
	case slices.Contains(broadcasting, n.Op):
		return r.broadcasts(n)
	case n.Op == "MatMul":
		return r.multiplies(n)
	case n.Op == "Concat":
		if slices.ContainsFunc(n.Inputs, func(s string) bool { return !r.batched[s] }) {
			return false
		}
		return n.int("axis", 0) > 0 || n.int("axis", 0) > -rank && n.int("axis", 0) < 0
	case !r.batched[first] || slices.ContainsFunc(n.Inputs[1:], func(s string) bool { return r.batched[s] }):
		return false
	case slices.Contains(pointwise, n.Op):
		return true
	}
	inner := func(axes []int) bool {
		return len(axes) > 0 && !slices.ContainsFunc(axes, func(a int) bool { return a == 0 || a == -rank })
	}
	switch n.Op {
	case "Gemm":
		return n.int("transA", 0) == 0 && (len(n.Inputs) < 3 || len(r.g.Values[n.Inputs[2]].Dims) < 2 || r.g.Values[n.Inputs[2]].Dims[0] == 1)
	case "Softmax", "LogSoftmax", "LayerNormalization", "Split", "TopK":
		return inner([]int{n.int("axis", -1)})
	case "ArgMax", "ArgMin", "Gather":
		return inner([]int{n.int("axis", 0)})
	case "Flatten":
		return n.int("axis", 1) == 1
	case "Transpose":
		perm := n.ints("perm")
		return len(perm) > 0 && perm[0] == 0
	case "Reshape":
		return r.reshapes(n)
	case "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd", "Squeeze":
		return inner(r.axesOf(n, 1))
	case "Unsqueeze":
		axes := r.axesOf(n, 1)
		return len(axes) == 1 && axes[0] != 0 && axes[0] != -rank-1
	case "Slice":
		return inner(r.axesOf(n, 3))
	case "Pad":
		pads := r.g.Constant(n.Inputs[1])
		return pads.Values[0] == 0 && pads.Values[rank] == 0
	}
	return false
}

// axesOf returns the axes of n: its attribute, or else the constant that is its input i.
func (r *rebatcher) axesOf(n *Node, i int) []int {
	if axes := n.ints("axes"); axes != nil || len(n.Inputs) <= i {
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

// broadcasts reports whether the operands of n have the batch in the leading axis of the
// result, or in none.
func (r *rebatcher) broadcasts(n *Node) bool {
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

// multiplies reports whether the product n has a batch of matrices or of rows.
func (r *rebatcher) multiplies(n *Node) bool {
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

// reshapes reports whether the reshape n keeps the leading axis, and writes 2 for its 1.
func (r *rebatcher) reshapes(n *Node) bool {
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

// int returns an attribute of n, or otherwise if n has none of that name.
func (n *Node) int(name string, otherwise int) int {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a.Int
		}
	}
	return otherwise
}

// ints returns an attribute of n, or nil if n has none of that name.
func (n *Node) ints(name string) []int {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a.Ints
		}
	}
	return nil
}
