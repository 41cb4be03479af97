package choose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/lower/join"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/ops"
	"anesim/loader/network/weights"
)

// An Operand is a tensor seen in a shape.
type Operand struct {
	Name string
	Dims []int
}

// As is the operand in another shape of as many elements: the same memory where rows are
// as wide, else what a program begins with.
func (x Operand) As(dims ...int) Operand { return Operand{x.Name, dims} }

// shape is the engine's shape of the operand; its dimensions were checked.
func (x Operand) shape() layer.Shape {
	s, _ := ShapeOf(x.Dims)
	return s
}

// in is an input as a tensor; a constant stands in memory.
func (n *Chooser) in(i int) (Operand, error) {
	d, err := n.Dims(i)
	if err != nil {
		return Operand{}, err
	}
	name := n.In[i].Name
	if t := n.In[i].Type; t != 0 && !t.IsFloat() && !n.narrow(t) {
		return Operand{}, fmt.Errorf("%q has elements of %v; the engine computes fp16", name, t)
	}
	if c := n.In[i].Const; c != nil {
		return n.inMemory(c, name)
	}
	if _, err := ShapeOf(d); err != nil {
		return Operand{}, err
	}
	return Operand{name, d}, nil
}

// inMemory makes a constant a tensor.
func (n *Chooser) inMemory(c *graph.Const, name string) (Operand, error) {
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
		if e := c.Elements(); e > n.absent {
			return x, fmt.Errorf("%q has %d elements, whose values stand in a file that is not there; at most %d are made up for a network", name, e, weights.MaxCoefficients)
		}
		n.absent -= c.Elements()
	}
	h, err := c.Halves()
	if err != nil {
		return x, err
	}
	n.Constant(name, h, s) // without values, where they are absent
	return x, nil
}

// repeated makes one number, of so many elements, a tensor in memory.
func (n *Chooser) repeated(name string, dims []int, v float64) (Operand, error) {
	if n.HasConstant(name) {
		return Operand{name, dims}, nil
	}
	count := graph.Elements(dims)
	if err := n.Spend(2 * numberBytes * count); err != nil {
		return Operand{}, err
	}
	return n.inMemory(&graph.Const{Dims: dims, Numbers: slices.Repeat([]float64{v}, count)}, name)
}

// numbers makes numbers a tensor in memory; the same numbers are one tensor.
func (n *Chooser) numbers(name string, dims []int, v []float64) (Operand, error) {
	if err := n.Spend(2 * numberBytes * len(v)); err != nil {
		return Operand{}, err
	}
	return n.inMemory(&graph.Const{Dims: dims, Numbers: v}, name)
}

// layer appends a layer and returns its result in the given dimensions, nil for those of
// the engine's shape.
func (n *Chooser) layer(x layer.Layer, w layer.Weights, dims []int, inputs ...Operand) (Operand, error) {
	return n.append(list.Layer{Lower: x, Weights: w}, dims, inputs...)
}

func (n *Chooser) append(l list.Layer, dims []int, inputs ...Operand) (Operand, error) {
	if err := l.Infer(); err != nil {
		return Operand{}, err
	}
	if err := list.CheckShape(l.Out); err != nil {
		return Operand{}, err
	}
	if n.Len() >= list.MaxLayers {
		return Operand{}, fmt.Errorf("more than %d layers", list.MaxLayers)
	}
	if c := n.Const(1); c != nil {
		packWeights(&l.Weights, c.Packing)
	}
	l.Name, l.Op = n.Label, n.Operator()
	if k := len(n.Net.Layers) - n.First; k > 0 {
		l.Name = fmt.Sprintf("%s/%d", n.Label, k+1)
	}
	l.Output = fmt.Sprintf("%s#%d", n.Out[0].Name, len(n.Net.Layers)-n.First)
	for _, in := range inputs {
		l.Inputs = append(l.Inputs, in.Name)
	}
	if dims == nil {
		dims = []int{l.Out.N, l.Out.C, l.Out.H, l.Out.W}
	}
	n.Add(l)
	return Operand{l.Output, dims}, nil
}

// Result gives a tensor the name of one of the node's outputs.
func (n *Chooser) Result(i int, x Operand) error {
	out := n.Out[i].Name
	if out == "" {
		return nil
	}
	dims := n.Results[i].Dims
	if graph.Elements(dims) != graph.Elements(x.Dims) {
		return fmt.Errorf("%v elements made for %v", x.Dims, dims)
	}
	s, err := ShapeOf(dims)
	if err == nil {
		err = list.CheckShape(s)
	}
	if err != nil {
		return err
	}
	for k := len(n.Net.Layers) - 1; k >= n.First; k-- {
		if l := &n.Net.Layers[k]; l.Output == x.Name {
			// The tensor is called as the file calls it.
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

// unary applies an operation to each element.
func (n *Chooser) unary(op layer.Op, x Operand) (Operand, error) {
	return n.layer(layer.Unary(op, x.shape()), layer.Weights{}, x.Dims, x)
}

// scaled is x*by.
func (n *Chooser) scaled(x Operand, by float64) (Operand, error) {
	if by == 1 {
		return x, nil
	}
	return n.withNumber(layer.Mul, x, by)
}

// shifted is x+by.
func (n *Chooser) shifted(x Operand, by float64) (Operand, error) {
	if by == 0 {
		return x, nil
	}
	return n.withNumber(layer.Add, x, by)
}

// withNumber joins each element with a number: a sum or a product takes it from its
// descriptor, a maximum or a minimum from a table.
func (n *Chooser) withNumber(op layer.Op, x Operand, v float64) (Operand, error) {
	l := layer.Layer{Op: op, In: x.shape(), Second: layer.Scalar, SecondShape: layer.Shape{N: 1, C: 1, H: 1, W: 1}}
	c := &graph.Const{Dims: []int{}, Numbers: []float64{v}}
	h, err := c.Halves()
	if err != nil {
		return x, err
	}
	n.Saturated += c.Clamped
	return n.layer(l, layer.Weights{Second: h}, x.Dims, x)
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

// Binary is an elementwise operation on two tensors, either of which may repeat.
func (n *Chooser) Binary(op layer.Op, a, b Operand) (Operand, error) {
	out, err := graph.Broadcast(a.Dims, b.Dims)
	if err != nil {
		return a, err
	}
	dims, full, err := collapse(out, a.Dims, b.Dims)
	if err != nil {
		return n.regrouped(op, a, b, out)
	}
	x, z := a.As(full[0]...), b.As(full[1]...)
	if !slices.Equal(x.Dims, dims) {
		if slices.Equal(z.Dims, dims) {
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
	if x.Name == z.Name && slices.Equal(x.Dims, z.Dims) && op != layer.Sub && op != layer.RealDiv {
		l := layer.Layer{Op: op, In: x.shape(), Second: layer.Itself, SecondShape: x.shape()}
		return n.layer(l, layer.Weights{}, out, x)
	}
	return n.layer(layer.Binary(op, x.shape(), z.shape()), layer.Weights{}, out, x, z)
}

// regrouped is binary for tensors that repeat along more axes in turn than the engine has:
// axes along which the same operand repeats are brought together for the operation, and the
// axes of its result back into their order.
func (n *Chooser) regrouped(op layer.Op, a, b Operand, out []int) (Operand, error) {
	rank := len(out)
	align := func(x Operand) Operand {
		return x.As(append(slices.Repeat([]int{1}, rank-len(x.Dims)), x.Dims...)...)
	}
	a, b = align(a), align(b)
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	repeats := func(axis int) int {
		class := 0
		if a.Dims[axis] < out[axis] {
			class++
		}
		if b.Dims[axis] < out[axis] {
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
	y, err := n.Binary(op, x, z)
	if err != nil {
		return a, err
	}
	return n.permuted(y, back)
}

// expanded repeats a tensor to dims: it is added to zeros.
func (n *Chooser) expanded(x Operand, dims []int) (Operand, error) {
	if slices.Equal(x.Dims, dims) {
		return x, nil
	}
	out, full, err := collapse(dims, x.Dims)
	if err != nil {
		return x, err
	}
	zeros, err := n.repeated(fmt.Sprintf("zeros %v", out), out, 0)
	if err != nil {
		return x, err
	}
	x = x.As(full[0]...)
	return n.layer(layer.Binary(layer.Add, zeros.shape(), x.shape()), layer.Weights{}, dims, zeros, x)
}

// withConstant is an elementwise operation on a tensor and a constant.
func (n *Chooser) withConstant(op layer.Op, x Operand, c *graph.Const) (Operand, error) {
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
		y, err := n.withNumber(op, x, v)
		return y.As(out...), err
	}
	dims, full, err := collapse(out, x.Dims, c.Dims)
	if err != nil {
		z, err := n.inMemory(c, fmt.Sprintf("%s/constant %d", n.Out[0].Name, n.Len()))
		if err != nil {
			return x, err
		}
		return n.Binary(op, x, z)
	}
	x = x.As(full[0]...)
	if !slices.Equal(x.Dims, dims) {
		if x, err = n.expanded(x, dims); err != nil {
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
	if cs != (layer.Shape{N: 1, C: s.C, H: 1, W: 1}) || op == layer.Max || op == layer.Min || s.C > layer.MaxExtent {
		l.Stored, l.ByColumn = true, cs == layer.Shape{N: 1, C: 1, H: 1, W: s.W}
		l.Lower.Second = layer.Constant
	}
	return n.append(l, out, x)
}

// axisView sees a tensor as N, C, H, W with one of its axes as an axis of the engine.
func axisView(dims []int, axis int) (layer.Shape, layer.Axes) {
	if natural := axis + 4 - len(dims); len(dims) <= 4 && natural > 0 {
		s, _ := ShapeOf(dims)
		return s, [...]layer.Axes{0, layer.AxisC, layer.AxisH, layer.AxisW}[natural]
	}
	if axis == len(dims)-1 {
		s, _ := ShapeOf(dims)
		return s, layer.AxisW
	}
	last := dims[len(dims)-1]
	return layer.Shape{N: graph.Elements(dims[:axis]), C: dims[axis], H: graph.Elements(dims[axis+1:]) / max(1, last), W: last}, layer.AxisC
}

// reduced reduces axes, which stay with an extent of 1.
func (n *Chooser) reduced(op layer.Op, x Operand, axes []bool) (Operand, error) {
	d := slices.Clone(x.Dims)
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
func (n *Chooser) reducedInParts(op layer.Op, x Operand, set layer.Axes, d []int) (Operand, error) {
	l := layer.Reduction(op, x.shape(), set)
	var limit *layer.LimitError
	_, err := join.NewPart(l, layer.Weights{})
	c := len(x.Dims) - 3
	if !errors.As(err, &limit) || set&layer.AxisC != 0 || c < 0 || x.Dims[c] < 2 {
		return n.layer(l, layer.Weights{}, d, x)
	}
	half := x.Dims[c] / 2
	var parts []Operand
	for _, r := range [...][2]int{{0, half}, {half, x.Dims[c] - half}} {
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
func (n *Chooser) along(x Operand, axis, out int, weight func(o, i int) float64) (Operand, error) {
	in := x.Dims[axis]
	if err := n.Spend(HalfBytes * out * in); err != nil {
		return x, err
	}
	result := slices.Clone(x.Dims)
	result[axis] = out
	filter := make([]float16.Float16, out*in)
	for o := range out {
		for i := range in {
			filter[o*in+i] = float16.Fromfloat32(float32(weight(o, i)))
		}
	}
	if axis == len(x.Dims)-1 {
		l := layer.Layer{Op: layer.Linear, In: x.shape(), Second: layer.Constant, Columns: out}
		return n.layer(l, layer.Weights{Filter: filter}, result, x)
	}
	last := x.Dims[len(x.Dims)-1]
	s := layer.Shape{N: graph.Elements(x.Dims[:axis]), C: in, H: graph.Elements(x.Dims[axis+1:]) / max(1, last), W: last}
	return n.layer(layer.Conv(s, out, layer.Valid(1, 1)), layer.Weights{Filter: filter}, result, x)
}

// picked gathers elements of an axis: as slices behind one another where they are few
// runs, else by a matrix of ones and zeros.
func (n *Chooser) picked(x Operand, axis int, index []int) (Operand, error) {
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
		return n.along(x, axis, len(index), func(o, i int) float64 { return graph.Truth(index[o] == i) })
	}
	var parts []Operand
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
func (n *Chooser) sliced(x Operand, axis, begin, size int) (Operand, error) {
	if begin == 0 && size == x.Dims[axis] {
		return x, nil
	}
	d := slices.Clone(x.Dims)
	d[axis] = size
	in, set := axisView(x.Dims, axis)
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
func (n *Chooser) joined(axis int, parts []Operand) (Operand, error) {
	const most = 16 // inputs of one layer
	if len(parts) == 1 {
		return parts[0], nil
	}
	if len(parts) > most {
		var groups []Operand
		for first := 0; first < len(parts); first += most {
			g, err := n.joined(axis, parts[first:min(first+most, len(parts))])
			if err != nil {
				return g, err
			}
			groups = append(groups, g)
		}
		return n.joined(axis, groups)
	}
	d := slices.Clone(parts[0].Dims)
	d[axis] = 0
	for _, p := range parts {
		d[axis] += p.Dims[axis]
	}
	if last := len(d) - 1; axis == last && last > 0 && graph.Elements(d[:last]) > 1 {
		turned := make([]Operand, len(parts))
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
		return y.As(d...), err
	}
	s, set := axisView(d, axis)
	if set != layer.AxisC {
		last := d[len(d)-1]
		if axis == len(d)-1 {
			last = 1
		}
		s = layer.Shape{N: graph.Elements(d[:axis]), C: d[axis], H: graph.Elements(d[axis+1:]) / max(1, last), W: last}
	}
	l := layer.Layer{Op: layer.Concat, In: s}
	for _, p := range parts {
		l.Parts = append(l.Parts, p.Dims[axis])
	}
	return n.layer(l, layer.Weights{}, d, parts...)
}

// narrow reports whether the engine moves the elements of a type as they are: whole numbers
// of eight bits, which fp16 has exactly. Arithmetic on them wraps, which the engine's does not.
func (n *Chooser) narrow(t graph.Type) bool {
	return ops.Of(n.Op).Has(ops.Narrow) && (t == graph.Uint8 || t == graph.Int8)
}

// ShapeOf is the engine's shape of a tensor.
func ShapeOf(dims []int) (layer.Shape, error) {
	e := [4]int{1, 1, 1, 1}
	if err := graph.CheckExtents(dims); err != nil {
		return layer.Shape{}, err
	}
	if extra := len(dims) - len(e); extra > 0 {
		dims = append([]int{graph.Elements(dims[:extra+1])}, dims[extra+1:]...)
	}
	copy(e[len(e)-len(dims):], dims)
	return layer.Shape{N: e[0], C: e[1], H: e[2], W: e[3]}, nil
}
