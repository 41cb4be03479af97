package choose

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// An Operand is a tensor that layers read. Dims is its shape as an operator sees it; the engine may
// store the tensor in a different shape.
type Operand struct {
	Name string
	Dims []int
}

// As returns a view of x with the given dimensions, which must have as many elements as x. It adds
// no layer.
func (x Operand) As(dims ...int) Operand { return Operand{x.Name, dims} }

// shape returns the operand's dimensions as N, C, H and W. The dimensions must have been checked.
func (x Operand) shape() layer.Shape {
	s, _ := ShapeOf(x.Dims)
	return s
}

// inputOperand returns input i of the node as an operand, after storing a constant in memory. It
// returns an error if the input is missing, its dimensions are unknown, or its type is neither
// floating-point nor one that the operator accepts unchanged.
func (n *Chooser) inputOperand(i int) (Operand, error) {
	d, err := n.Dims(i)
	if err != nil {
		return Operand{}, err
	}
	name := n.Node.Input(i).Name
	if t := n.In[i].Type; t != 0 && !t.IsFloat() && !n.acceptsNarrowType(t) {
		return Operand{}, fmt.Errorf("tensor %q has element type %v, but the engine computes in fp16", name, t)
	}
	if c := n.In[i].Const; c != nil {
		return n.storeConstant(c, name)
	}
	if _, err := ShapeOf(d); err != nil {
		return Operand{}, err
	}
	return Operand{name, d}, nil
}

// storeConstant adds the constant to the network's memory under the given name, unless it is
// already there, and returns it as a tensor. It returns an error if too many values would have to
// be made up for constants in files that were not read.
func (n *Chooser) storeConstant(c *graph.Const, name string) (Operand, error) {
	x := Operand{name, c.Dims}
	s, err := ShapeOf(c.Dims)
	if err == nil {
		err = list.CheckShape(s)
	}
	if err != nil {
		return x, err
	}
	if n.HasConstant(name) {
		return x, nil
	}
	if c.Absent() {
		if e := c.Elements(); e > n.absentLeft {
			return x, fmt.Errorf("missing constant %q needs %d generated values; want at most %d per network", name, e, weights.MaxCoefficients)
		}
		n.absentLeft -= c.Elements()
	}
	h, err := c.Halves()
	if err != nil {
		return x, err
	}
	n.Constant(name, h, s) // h is nil if the values are absent
	return x, nil
}

// storeFilledTensor adds a constant tensor of shape dims to the network, with v in every element.
func (n *Chooser) storeFilledTensor(name string, dims []int, v float64) (Operand, error) {
	if n.HasConstant(name) {
		return Operand{name, dims}, nil
	}
	count := graph.Elements(dims)
	if err := n.Spend(2 * numberBytes * count); err != nil {
		return Operand{}, err
	}
	return n.storeConstant(&graph.Const{Dims: dims, Numbers: slices.Repeat([]float64{v}, count)}, name)
}

// storeConstantTensor stores the numbers v as a constant tensor. If a constant with that name
// exists, it is returned instead.
func (n *Chooser) storeConstantTensor(name string, dims []int, v []float64) (Operand, error) {
	if err := n.Spend(2 * numberBytes * len(v)); err != nil {
		return Operand{}, err
	}
	return n.storeConstant(&graph.Const{Dims: dims, Numbers: v}, name)
}

// addLayer adds a layer with its weights and returns the result, viewed with dimensions dims. If
// dims is nil, they are the four extents of the layer's output.
func (n *Chooser) addLayer(x layer.Layer, w layer.Weights, dims []int, inputs ...Operand) (Operand, error) {
	return n.addListLayer(list.Layer{Lower: x, Weights: w}, dims, inputs...)
}

// addListLayer infers the output of l, names the layer after the node, adds it to the builder and
// returns the result, viewed with dimensions dims. If dims is nil, they are the four extents of
// the output. It returns an error if the layer is invalid or the network has too many layers.
func (n *Chooser) addListLayer(l list.Layer, dims []int, inputs ...Operand) (Operand, error) {
	if err := l.Infer(); err != nil {
		return Operand{}, err
	}
	if err := list.CheckShape(l.Out); err != nil {
		return Operand{}, err
	}
	if n.Len() >= n.maxLayers {
		return Operand{}, fmt.Errorf("network exceeds the limit of %d layers for a file of its size", n.maxLayers)
	}
	if c := n.Const(1); c != nil {
		copyStoredForm(&l.Weights, c.Packing)
	}
	l.Name, l.Op = n.Label, n.Operator()
	if k := len(n.Net.Layers) - n.First; k > 0 {
		l.Name = fmt.Sprintf("%s/%d", n.Label, k+1)
	}
	l.Output = fmt.Sprintf("%s#%d", n.ResultName(), len(n.Net.Layers)-n.First)
	for _, in := range inputs {
		l.Inputs = append(l.Inputs, in.Name)
	}
	if dims == nil {
		dims = []int{l.Out.N, l.Out.C, l.Out.H, l.Out.W}
	}
	n.Add(l)
	return Operand{l.Output, dims}, nil
}

// NameResult makes x result i of the node. If a layer of this node computes x, NameResult renames
// the layer's output to the name of the result. Otherwise, it makes that name an alias of x. If the
// result has no name, nothing reads it, and NameResult does nothing.
//
// NameResult returns an error if x and the result have different numbers of elements, or if the
// result's shape is out of range.
func (n *Chooser) NameResult(i int, x Operand) error {
	out := n.Out[i].Name
	if out == "" {
		return nil
	}
	dims := n.Results[i].Dims
	if graph.Elements(dims) != graph.Elements(x.Dims) {
		return fmt.Errorf("computed shape %v has %d elements; want %d for result shape %v", x.Dims, graph.Elements(x.Dims), graph.Elements(dims), dims)
	}
	s, err := ShapeOf(dims)
	if err == nil {
		err = list.CheckShape(s)
	}
	if err != nil {
		return err
	}
	// From the end, where the layer of the result mostly is. Layers before First belong to other nodes and
	// keep their names.
	for k := len(n.Net.Layers) - 1; k >= n.First; k-- {
		if l := &n.Net.Layers[k]; l.Output == x.Name {
			// Rename the layer's output, in its readers too.
			l.Output = out
			n.SetShape(out, s)
			n.SetTensor(x.Name, out)
			for j := k + 1; j < len(n.Net.Layers); j++ {
				for q, in := range n.Net.Layers[j].Inputs {
					if in == x.Name {
						n.Net.Layers[j].Inputs[q] = out
					}
				}
			}
			return nil
		}
	}
	n.SetShape(out, s)
	n.SetTensor(out, n.TensorOf(x.Name))
	if len(n.Net.Layers) == n.First {
		n.What = "view"
	}
	return nil
}

// applyUnaryOp adds a layer that applies op to each element of x.
func (n *Chooser) applyUnaryOp(op layer.Op, x Operand) (Operand, error) {
	return n.addLayer(layer.Unary(op, x.shape()), layer.Weights{}, x.Dims, x)
}

// multiplyByNumber adds a layer that multiplies each element of x by factor. If factor is 1, it
// adds none and returns x.
func (n *Chooser) multiplyByNumber(x Operand, factor float64) (Operand, error) {
	if factor == 1 {
		return x, nil
	}
	return n.applyOpWithNumber(layer.Mul, x, factor)
}

// addNumber adds a layer that adds addend to each element of x. If addend is 0, it adds none and
// returns x.
func (n *Chooser) addNumber(x Operand, addend float64) (Operand, error) {
	if addend == 0 {
		return x, nil
	}
	return n.applyOpWithNumber(layer.Add, x, addend)
}

// applyOpWithNumber adds a layer that applies op to each element of x and the number v. The
// descriptor of an addition or multiplication contains v; minima and maxima use a table.
func (n *Chooser) applyOpWithNumber(op layer.Op, x Operand, v float64) (Operand, error) {
	l := layer.Layer{Op: op, In: x.shape(), Second: layer.Scalar, SecondShape: layer.Shape{N: 1, C: 1, H: 1, W: 1}}
	c := &graph.Const{Dims: []int{}, Numbers: []float64{v}}
	h, err := c.Halves()
	if err != nil {
		return x, err
	}
	n.Saturated += c.Clamped
	return n.addLayer(l, layer.Weights{Second: h}, x.Dims, x)
}

// mergeAxes merges neighboring axes of shape out until at most four are left, and merges the shapes
// of tensors, which broadcast to out, in the same way. Two axes can be merged if each tensor is
// broadcast along both or neither. It returns an error if more than four axes remain.
func mergeAxes(out []int, tensors ...[]int) ([]int, [][]int, error) {
	full := make([][]int, len(tensors))
	for i, t := range tensors {
		full[i] = append(slices.Repeat([]int{1}, len(out)-len(t)), t...)
	}
	out = slices.Clone(out)
	for len(out) > 4 {
		at := -1
		for i := 0; i+1 < len(out) && at < 0; i++ {
			alike := true
			for _, t := range full {
				alike = alike && (out[i] == 1 || out[i+1] == 1 || (t[i] == 1) == (t[i+1] == 1))
			}
			if alike {
				at = i
			}
		}
		if at < 0 {
			return nil, nil, fmt.Errorf("cannot broadcast shapes %v to %v; the limit is 4 axes after merging adjacent axes", full, out)
		}
		merge := func(d []int) []int { return slices.Replace(d, at, at+2, d[at]*d[at+1]) }
		out = merge(out)
		for i := range full {
			full[i] = merge(full[i])
		}
	}
	return out, full, nil
}

// ApplyBinary adds layers that apply the elementwise operation op to a and b, which are broadcast
// to a common shape, and returns the result. It returns an error if the shapes do not broadcast.
func (n *Chooser) ApplyBinary(op layer.Op, a, b Operand) (Operand, error) {
	out, err := graph.Broadcast(a.Dims, b.Dims)
	if err != nil {
		return a, err
	}
	dims, full, err := mergeAxes(out, a.Dims, b.Dims)
	if err != nil {
		return n.permuteAndApplyBinary(op, a, b, out)
	}
	x, z := a.As(full[0]...), b.As(full[1]...)
	if !slices.Equal(x.Dims, dims) {
		if slices.Equal(z.Dims, dims) {
			if op == layer.Sub { // compute a - b as -b + a
				if z, err = n.multiplyByNumber(z, -1); err != nil {
					return a, err
				}
				op = layer.Add
			}
			x, z = z, x
		} else if x, err = n.broadcastTo(x, dims); err != nil {
			return a, err
		}
	}
	if x.Name == z.Name && slices.Equal(x.Dims, z.Dims) && op != layer.Sub && op != layer.RealDiv {
		l := layer.Layer{Op: op, In: x.shape(), Second: layer.Itself, SecondShape: x.shape()}
		return n.addLayer(l, layer.Weights{}, out, x)
	}
	return n.addLayer(layer.Binary(op, x.shape(), z.shape()), layer.Weights{}, out, x, z)
}

// permuteAndApplyBinary is like ApplyBinary, for operands whose axes cannot be merged to four. It
// permutes the axes so that axes along which the same operand is broadcast are neighbors, and
// restores the order in the result.
func (n *Chooser) permuteAndApplyBinary(op layer.Op, a, b Operand, out []int) (Operand, error) {
	rank := len(out)
	align := func(x Operand) Operand {
		return x.As(append(slices.Repeat([]int{1}, rank-len(x.Dims)), x.Dims...)...)
	}
	a, b = align(a), align(b)
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	broadcastClass := func(axis int) int { // bit 0: a is broadcast; bit 1: b is broadcast
		class := 0
		if a.Dims[axis] < out[axis] {
			class++
		}
		if b.Dims[axis] < out[axis] {
			class += 2
		}
		return class
	}
	// Axes of one kind merge only if they are neighbors. A stable order moves no more of them than it
	// must.
	slices.SortStableFunc(perm, func(i, k int) int { return broadcastClass(i) - broadcastClass(k) })
	inverse := make([]int, rank)
	for to, from := range perm {
		inverse[from] = to
	}
	x, err := n.permute(a, perm)
	if err != nil {
		return a, err
	}
	z, err := n.permute(b, perm)
	if err != nil {
		return a, err
	}
	y, err := n.ApplyBinary(op, x, z)
	if err != nil {
		return a, err
	}
	return n.permute(y, inverse)
}

// broadcastTo adds a layer that repeats x to dimensions dims, by adding it to a tensor of zeros. It
// adds none if x already has these dimensions.
func (n *Chooser) broadcastTo(x Operand, dims []int) (Operand, error) {
	if slices.Equal(x.Dims, dims) {
		return x, nil
	}
	out, full, err := mergeAxes(dims, x.Dims)
	if err != nil {
		return x, err
	}
	zeros, err := n.storeFilledTensor(fmt.Sprintf("zeros %v", out), out, 0)
	if err != nil {
		return x, err
	}
	x = x.As(full[0]...)
	return n.addLayer(layer.Binary(layer.Add, zeros.shape(), x.shape()), layer.Weights{}, dims, zeros, x)
}

// applyConstantOperand adds a layer that combines the elements of x and the constant c with op. The
// two are broadcast to each other's shape.
func (n *Chooser) applyConstantOperand(op layer.Op, x Operand, c *graph.Const) (Operand, error) {
	out, err := graph.Broadcast(x.Dims, c.Dims)
	if err != nil {
		return x, err
	}
	if c.Elements() == 1 && !c.Absent() {
		v, err := c.Scalar()
		if err != nil {
			return x, err
		}
		if op == layer.Sub {
			op, v = layer.Add, -v
		}
		y, err := n.applyOpWithNumber(op, x, v)
		return y.As(out...), err
	}
	// Tensors of more than four axes fit only if neighboring axes merge. Where they do not, the constant
	// becomes a tensor, which can be transposed.
	dims, full, err := mergeAxes(out, x.Dims, c.Dims)
	if err != nil {
		z, err := n.storeConstant(c, fmt.Sprintf("%s/constant %d", n.ResultName(), n.Len()))
		if err != nil {
			return x, err
		}
		return n.ApplyBinary(op, x, z)
	}
	x = x.As(full[0]...)
	if !slices.Equal(x.Dims, dims) {
		if x, err = n.broadcastTo(x, dims); err != nil {
			return x, err
		}
	}
	h, err := c.Halves()
	if err != nil {
		return x, err
	}
	cs, _ := ShapeOf(full[1])
	l := list.Layer{
		Lower:   layer.Layer{Op: op, In: x.shape(), Second: layer.Constant, SecondShape: cs},
		Weights: layer.Weights{Second: h},
	}
	s := l.Lower.In
	// One value per channel is part of a task. Any other shape is stored and read as a second tensor; so
	// are maxima, which have no constant per channel.
	if cs != (layer.Shape{N: 1, C: s.C, H: 1, W: 1}) || op == layer.Max || op == layer.Min || s.C > layer.MaxExtent {
		l.Stored, l.ByColumn = true, cs == layer.Shape{N: 1, C: 1, H: 1, W: s.W}
		l.Lower.Second = layer.Constant
	}
	return n.addListLayer(l, out, x)
}

// acceptsNarrowType reports whether the engine can compute the node's operator on integers of type t,
// which has at most 8 bits. Such operators only move or compare elements, and fp16 represents them
// exactly. Integer arithmetic would wrap, which the engine's does not.
func (n *Chooser) acceptsNarrowType(t graph.Type) bool {
	return ops.Of(n.Op).Has(ops.Narrow) && t != graph.Bool && !t.IsFloat() && t.Bits() > 0 && t.Bits() <= 8
}

// ShapeOf returns the shape N, C, H, W in which the engine stores a tensor with the given
// dimensions. If dims has fewer than four axes, the leading extents are 1. If it has more, the
// leading axes are merged into N. ShapeOf returns an error if [graph.EngineDims] does.
func ShapeOf(dims []int) (layer.Shape, error) {
	e, err := graph.EngineDims(dims)
	if err != nil {
		return layer.Shape{}, err
	}
	return layer.Shape{N: e[0], C: e[1], H: e[2], W: e[3]}, nil
}
