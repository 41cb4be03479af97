package network

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/lower/join"
)

// An operand is a tensor seen in a shape.
type operand struct {
	name string
	dims []int
}

// as is the operand in another shape of as many elements: the same memory where rows are
// as wide, else what a program begins with.
func (x operand) as(dims ...int) operand { return operand{x.name, dims} }

// shape is the engine's shape of the operand; its dimensions were checked.
func (x operand) shape() layer.Shape {
	s, _ := shapeOf(x.dims)
	return s
}

// in is an input as a tensor; a constant stands in memory.
func (n *nodeReader) in(i int) (operand, error) {
	d, err := n.operandDims(i)
	if err != nil {
		return operand{}, err
	}
	name := n.Inputs[i]
	if t := n.types[name]; t != 0 && !t.IsFloat() && !n.narrow(t) {
		return operand{}, fmt.Errorf("%q has elements of %v; the engine computes fp16", name, t)
	}
	if c := n.constants[name]; c != nil {
		return n.inMemory(c, name)
	}
	if _, err := shapeOf(d); err != nil {
		return operand{}, err
	}
	return operand{name, d}, nil
}

// inMemory makes a constant a tensor.
func (n *nodeReader) inMemory(c *constant, name string) (operand, error) {
	x := operand{name, c.dims}
	s, err := shapeOf(c.dims)
	if err == nil {
		err = validShape(s)
	}
	if err != nil {
		return x, err
	}
	if _, done := n.net.Constants[name]; done {
		return x, nil
	}
	h, err := c.fp16()
	if err != nil {
		return x, err
	}
	n.net.Constants[name], n.tensors[name] = h, s // without values, where they are absent
	return x, nil
}

// values makes numbers a tensor in memory; the same numbers are one tensor.
func (n *nodeReader) numbers(name string, dims []int, v []float64) (operand, error) {
	if n.budget -= 2 * numberBytes * len(v); n.budget < 0 {
		return operand{}, errBudget
	}
	return n.inMemory(&constant{dims: dims, numbers: v}, name)
}

// layer appends a layer and returns its result in the given dimensions, nil for those of
// the engine's shape.
func (n *nodeReader) layer(x layer.Layer, w layer.Weights, dims []int, inputs ...operand) (operand, error) {
	return n.append(Layer{Lower: x, Weights: w}, dims, inputs...)
}

func (n *nodeReader) append(l Layer, dims []int, inputs ...operand) (operand, error) {
	if err := l.infer(); err != nil {
		return operand{}, err
	}
	if err := validShape(l.Out); err != nil {
		return operand{}, err
	}
	if len(n.net.Layers) >= maxLayers {
		return operand{}, fmt.Errorf("more than %d layers", maxLayers)
	}
	if c := n.constant(1); c != nil {
		c.packing.set(&l.Weights)
	}
	l.Name, l.Op = n.name, n.operator()
	if k := len(n.net.Layers) - n.first; k > 0 {
		l.Name = fmt.Sprintf("%s/%d", n.name, k+1)
	}
	l.Output = fmt.Sprintf("%s#%d", n.Outputs[0], len(n.net.Layers)-n.first)
	for _, in := range inputs {
		l.Inputs = append(l.Inputs, in.name)
	}
	if dims == nil {
		dims = []int{l.Out.N, l.Out.C, l.Out.H, l.Out.W}
	}
	n.add(l)
	return operand{l.Output, dims}, nil
}

// done makes a tensor the node's output.
func (n *nodeReader) done(x operand) error { return n.result(0, x) }

func (n *nodeReader) result(i int, x operand) error {
	out := n.Outputs[i]
	if out == "" {
		return nil
	}
	dims := n.results[i].dims
	if elements(dims) != elements(x.dims) {
		return fmt.Errorf("%v elements made for %v", x.dims, dims)
	}
	s, err := shapeOf(dims)
	if err == nil {
		err = validShape(s)
	}
	if err != nil {
		return err
	}
	n.dims[out], n.types[out] = dims, n.results[i].elem
	for k := len(n.net.Layers) - 1; k >= n.first; k-- {
		if l := &n.net.Layers[k]; l.Output == x.name {
			// The tensor is called as the file calls it.
			l.Output = out
			n.tensors[out], n.alias[x.name] = s, out
			for j := k + 1; j < len(n.net.Layers); j++ {
				for q, in := range n.net.Layers[j].Inputs {
					if in == x.name {
						n.net.Layers[j].Inputs[q] = out
					}
				}
			}
			return nil
		}
	}
	n.tensors[out], n.alias[out] = s, n.values(x.name)
	if len(n.net.Layers) == n.first {
		n.what = "view"
	}
	return nil
}

// unary applies an operation to each element.
func (n *nodeReader) unary(op layer.Op, x operand) (operand, error) {
	return n.layer(layer.Unary(op, x.shape()), layer.Weights{}, x.dims, x)
}

// scaled is x*by.
func (n *nodeReader) scaled(x operand, by float64) (operand, error) {
	if by == 1 {
		return x, nil
	}
	return n.withNumber(layer.Mul, x, by)
}

// shifted is x+by.
func (n *nodeReader) shifted(x operand, by float64) (operand, error) {
	if by == 0 {
		return x, nil
	}
	return n.withNumber(layer.Add, x, by)
}

// withNumber joins each element with a number: a sum or a product takes it from its
// descriptor, a maximum or a minimum from a table.
func (n *nodeReader) withNumber(op layer.Op, x operand, v float64) (operand, error) {
	l := layer.Layer{Op: op, In: x.shape(), Second: layer.Scalar, SecondShape: layer.Shape{N: 1, C: 1, H: 1, W: 1}}
	c := &constant{dims: []int{}, numbers: []float64{v}}
	h, err := c.fp16()
	if err != nil {
		return x, err
	}
	n.saturated += c.beyond
	return n.layer(l, layer.Weights{Second: h}, x.dims, x)
}

// collapse is tensors that repeat to out with at most four axes: neighbours that repeat
// alike become one.
func collapse(out []int, tensors ...[]int) ([]int, [][]int, error) {
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
			return nil, nil, fmt.Errorf("%v and %v do not fold to four axes", out, full)
		}
		merge := func(d []int) []int { return slices.Replace(d, at, at+2, d[at]*d[at+1]) }
		out = merge(out)
		for i := range full {
			full[i] = merge(full[i])
		}
	}
	return out, full, nil
}

// binary is an elementwise operation on two tensors, either of which may repeat.
func (n *nodeReader) binary(op layer.Op, a, b operand) (operand, error) {
	out, err := broadcast(a.dims, b.dims)
	if err != nil {
		return a, err
	}
	dims, full, err := collapse(out, a.dims, b.dims)
	if err != nil {
		return n.regrouped(op, a, b, out)
	}
	x, z := a.as(full[0]...), b.as(full[1]...)
	if !slices.Equal(x.dims, dims) {
		if slices.Equal(z.dims, dims) {
			if op == layer.Sub { // a - b as -b + a
				if z, err = n.scaled(z, -1); err != nil {
					return a, err
				}
				op = layer.Add
			}
			x, z = z, x
		} else if x, err = n.expanded(x, dims); err != nil {
			return a, err
		}
	}
	if x.name == z.name && slices.Equal(x.dims, z.dims) && op != layer.Sub && op != layer.RealDiv {
		l := layer.Layer{Op: op, In: x.shape(), Second: layer.Itself, SecondShape: x.shape()}
		return n.layer(l, layer.Weights{}, out, x)
	}
	return n.layer(layer.Binary(op, x.shape(), z.shape()), layer.Weights{}, out, x, z)
}

// regrouped is binary for tensors that repeat along more axes in turn than the engine has:
// axes along which the same operand repeats are brought together for the operation, and the
// axes of its result back into their order.
func (n *nodeReader) regrouped(op layer.Op, a, b operand, out []int) (operand, error) {
	rank := len(out)
	align := func(x operand) operand {
		return x.as(append(slices.Repeat([]int{1}, rank-len(x.dims)), x.dims...)...)
	}
	a, b = align(a), align(b)
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	repeats := func(axis int) int {
		class := 0
		if a.dims[axis] < out[axis] {
			class++
		}
		if b.dims[axis] < out[axis] {
			class += 2
		}
		return class
	}
	slices.SortStableFunc(perm, func(i, k int) int { return repeats(i) - repeats(k) })
	back := make([]int, rank)
	for to, from := range perm {
		back[from] = to
	}
	x, err := n.permuted(a, perm)
	if err != nil {
		return a, err
	}
	z, err := n.permuted(b, perm)
	if err != nil {
		return a, err
	}
	y, err := n.binary(op, x, z)
	if err != nil {
		return a, err
	}
	return n.permuted(y, back)
}

// expanded repeats a tensor to dims: it is added to zeros.
func (n *nodeReader) expanded(x operand, dims []int) (operand, error) {
	if slices.Equal(x.dims, dims) {
		return x, nil
	}
	out, full, err := collapse(dims, x.dims)
	if err != nil {
		return x, err
	}
	zeros, err := n.numbers(fmt.Sprintf("zeros %v", out), out, make([]float64, elements(out)))
	if err != nil {
		return x, err
	}
	x = x.as(full[0]...)
	return n.layer(layer.Binary(layer.Add, zeros.shape(), x.shape()), layer.Weights{}, dims, zeros, x)
}

// withConstant is an elementwise operation on a tensor and a constant.
func (n *nodeReader) withConstant(op layer.Op, x operand, c *constant) (operand, error) {
	out, err := broadcast(x.dims, c.dims)
	if err != nil {
		return x, err
	}
	if c.elements() == 1 && !c.absent() {
		v, err := c.scalar()
		if err != nil {
			return x, err
		}
		if op == layer.Sub {
			op, v = layer.Add, -v
		}
		y, err := n.withNumber(op, x, v)
		return y.as(out...), err
	}
	dims, full, err := collapse(out, x.dims, c.dims)
	if err != nil {
		z, err := n.inMemory(c, fmt.Sprintf("%s/constant %d", n.Outputs[0], len(n.net.Layers)))
		if err != nil {
			return x, err
		}
		return n.binary(op, x, z)
	}
	x = x.as(full[0]...)
	if !slices.Equal(x.dims, dims) {
		if x, err = n.expanded(x, dims); err != nil {
			return x, err
		}
	}
	h, err := c.fp16()
	if err != nil {
		return x, err
	}
	cs, _ := shapeOf(full[1])
	l := Layer{
		Lower:   layer.Layer{Op: op, In: x.shape(), Second: layer.Constant, SecondShape: cs},
		Weights: layer.Weights{Second: h},
	}
	s := l.Lower.In
	if cs != (layer.Shape{N: 1, C: s.C, H: 1, W: 1}) || op == layer.Max || op == layer.Min || s.C > layer.MaxExtent {
		l.inMemory, l.columns = true, cs == layer.Shape{N: 1, C: 1, H: 1, W: s.W}
		l.Lower.Second = layer.Constant
	}
	return n.append(l, out, x)
}

// axisView sees a tensor as N, C, H, W with one of its axes as an axis of the engine.
func axisView(dims []int, axis int) (layer.Shape, layer.Axes) {
	if natural := axis + 4 - len(dims); len(dims) <= 4 && natural > 0 {
		s, _ := shapeOf(dims)
		return s, [...]layer.Axes{0, layer.AxisC, layer.AxisH, layer.AxisW}[natural]
	}
	if axis == len(dims)-1 {
		s, _ := shapeOf(dims)
		return s, layer.AxisW
	}
	last := dims[len(dims)-1]
	return layer.Shape{N: elements(dims[:axis]), C: dims[axis], H: elements(dims[axis+1:]) / max(1, last), W: last}, layer.AxisC
}

// reduced reduces axes, which stay with an extent of 1.
func (n *nodeReader) reduced(op layer.Op, x operand, axes []bool) (operand, error) {
	d := slices.Clone(x.dims)
	var set layer.Axes
	natural := len(d) <= 4
	for i, e := range d {
		if !axes[i] || e == 1 {
			continue
		}
		at := i + 4 - len(d)
		if at <= 0 {
			natural = false
			continue
		}
		set |= [...]layer.Axes{0, layer.AxisC, layer.AxisH, layer.AxisW}[at]
	}
	natural = natural && set != 0
	if natural {
		for i := range d {
			if axes[i] {
				d[i] = 1
			}
		}
		return n.reducedInParts(op, x, set, d)
	}
	// One axis after the other, the last first.
	for i := len(d) - 1; i >= 0; i-- {
		if !axes[i] || d[i] == 1 {
			continue
		}
		s, axis := axisView(d, i)
		d[i] = 1
		var err error
		if x, err = n.layer(layer.Reduction(op, s, axis), layer.Weights{}, slices.Clone(d), x); err != nil {
			return x, err
		}
	}
	return x, nil
}

// reducedInParts reduces channels, or rows where the channels are reduced too, a part at a
// time where the whole is more than the engine takes.
func (n *nodeReader) reducedInParts(op layer.Op, x operand, set layer.Axes, d []int) (operand, error) {
	l := layer.Reduction(op, x.shape(), set)
	var limit *layer.LimitError
	_, err := join.NewPart(l, layer.Weights{})
	c := len(x.dims) - 3
	if !errors.As(err, &limit) || set&layer.AxisC != 0 || c < 0 || x.dims[c] < 2 {
		return n.layer(l, layer.Weights{}, d, x)
	}
	half := x.dims[c] / 2
	var parts []operand
	for _, r := range [...][2]int{{0, half}, {half, x.dims[c] - half}} {
		part, err := n.sliced(x, c, r[0], r[1])
		if err != nil {
			return x, err
		}
		out := slices.Clone(d)
		out[c] = r[1]
		if part, err = n.reducedInParts(op, part, set, out); err != nil {
			return x, err
		}
		parts = append(parts, part)
	}
	return n.joined(c, parts)
}

// along multiplies every run of an axis by a matrix of out rows: whatever picks, repeats
// or mixes elements of one axis by constant weights.
func (n *nodeReader) along(x operand, axis, out int, weight func(o, i int) float64) (operand, error) {
	in := x.dims[axis]
	if n.budget -= halfBytes * out * in; n.budget < 0 {
		return x, errBudget
	}
	result := slices.Clone(x.dims)
	result[axis] = out
	filter := make([]float16.Float16, out*in)
	for o := range out {
		for i := range in {
			filter[o*in+i] = float16.Fromfloat32(float32(weight(o, i)))
		}
	}
	if axis == len(x.dims)-1 {
		l := layer.Layer{Op: layer.Linear, In: x.shape(), Second: layer.Constant, Columns: out}
		return n.layer(l, layer.Weights{Filter: filter}, result, x)
	}
	last := x.dims[len(x.dims)-1]
	s := layer.Shape{N: elements(x.dims[:axis]), C: in, H: elements(x.dims[axis+1:]) / max(1, last), W: last}
	return n.layer(layer.Conv(s, out, layer.Valid(1, 1)), layer.Weights{Filter: filter}, result, x)
}

// picked gathers elements of an axis: as slices behind one another where they are few
// runs, else by a matrix of ones and zeros.
func (n *nodeReader) picked(x operand, axis int, index []int) (operand, error) {
	const few = 3
	var runs [][2]int
	for _, i := range index {
		if k := len(runs) - 1; k >= 0 && runs[k][0]+runs[k][1] == i {
			runs[k][1]++
		} else {
			runs = append(runs, [2]int{i, 1})
		}
	}
	if len(runs) > few {
		return n.along(x, axis, len(index), func(o, i int) float64 { return truth(index[o] == i) })
	}
	var parts []operand
	for _, r := range runs {
		p, err := n.sliced(x, axis, r[0], r[1])
		if err != nil {
			return x, err
		}
		parts = append(parts, p)
	}
	return n.joined(axis, parts)
}

// sliced is a run of an axis.
func (n *nodeReader) sliced(x operand, axis, begin, size int) (operand, error) {
	if begin == 0 && size == x.dims[axis] {
		return x, nil
	}
	d := slices.Clone(x.dims)
	d[axis] = size
	in, set := axisView(x.dims, axis)
	out, _ := axisView(d, axis)
	l := layer.Layer{Op: layer.Slice, In: in, Size: out}
	switch set {
	case layer.AxisC:
		l.Begin.C = begin
	case layer.AxisH:
		l.Begin.H = begin
	case layer.AxisW:
		l.Begin.W = begin
	}
	return n.layer(l, layer.Weights{}, d, x)
}

// joined puts tensors one behind the other along an axis. Columns are made channels
// first, and columns again.
func (n *nodeReader) joined(axis int, parts []operand) (operand, error) {
	const most = 16 // inputs of one layer
	if len(parts) == 1 {
		return parts[0], nil
	}
	if len(parts) > most {
		var groups []operand
		for first := 0; first < len(parts); first += most {
			g, err := n.joined(axis, parts[first:min(first+most, len(parts))])
			if err != nil {
				return g, err
			}
			groups = append(groups, g)
		}
		return n.joined(axis, groups)
	}
	d := slices.Clone(parts[0].dims)
	d[axis] = 0
	for _, p := range parts {
		d[axis] += p.dims[axis]
	}
	if last := len(d) - 1; axis == last && last > 0 && elements(d[:last]) > 1 {
		turned := make([]operand, len(parts))
		for i, p := range parts {
			var err error
			if turned[i], err = n.turned(p); err != nil {
				return p, err
			}
		}
		s := turned[0].shape()
		s.C = d[last]
		l := layer.Layer{Op: layer.Concat, In: s}
		for _, p := range turned {
			l.Parts = append(l.Parts, p.shape().C)
		}
		y, err := n.layer(l, layer.Weights{}, nil, turned...)
		if err != nil {
			return y, err
		}
		y, err = n.turned(y)
		return y.as(d...), err
	}
	s, set := axisView(d, axis)
	if set != layer.AxisC {
		last := d[len(d)-1]
		if axis == len(d)-1 {
			last = 1
		}
		s = layer.Shape{N: elements(d[:axis]), C: d[axis], H: elements(d[axis+1:]) / max(1, last), W: last}
	}
	l := layer.Layer{Op: layer.Concat, In: s}
	for _, p := range parts {
		l.Parts = append(l.Parts, p.dims[axis])
	}
	return n.layer(l, layer.Weights{}, d, parts...)
}
