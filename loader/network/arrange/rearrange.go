package arrange

import (
	"anesim/loader/lower/join"
	"fmt"
	"maps"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A lineage is a tensor that is another one with its axes in another order, and perhaps
// in rows of another length. Its extents are those of the other, cut as finely as the
// views between the two are.
type lineage struct {
	source string
	row    int   // elements of a row of the source
	size   []int // extents of the source's axes, in order
	order  []int // the axes as this tensor has them
	via    []int // the transposes between
}

// cut makes a boundary between axes where one of so many elements ends, counted from the
// last of the order. It reports whether there is a place.
func (a *lineage) cut(inner int) bool {
	behind := 1
	for k := len(a.order) - 1; k >= 0 && behind < inner; k-- {
		axis := a.order[k]
		if size := a.size[axis]; behind*size > inner {
			if inner%behind != 0 || size%(inner/behind) != 0 {
				return false
			}
			a.split(axis, inner/behind)
			behind = inner
			break
		}
		behind *= a.size[axis]
	}
	return behind == inner
}

// split makes two axes of one, the second of which has so many elements.
func (a *lineage) split(axis, second int) {
	a.size = slices.Insert(slices.Clone(a.size), axis+1, second)
	a.size[axis] /= second
	var order []int
	for _, x := range a.order {
		switch {
		case x == axis:
			order = append(order, x, x+1)
		case x > axis:
			order = append(order, x+1)
		default:
			order = append(order, x)
		}
	}
	a.order = order
}

// transposed is the lineage of what a transpose makes of the tensor.
func (a lineage) transposed(t *layer.Layer, at int) (lineage, bool) {
	s := t.In
	for _, inner := range [...]int{s.W, s.H * s.W, s.C * s.H * s.W} {
		if !a.cut(inner) {
			return a, false
		}
	}
	blocks := map[layer.Axes][]int{}
	k := len(a.order)
	for _, b := range [...]struct {
		axis   layer.Axes
		extent int
	}{{layer.AxisW, s.W}, {layer.AxisH, s.H}, {layer.AxisC, s.C}} {
		first, e := k, 1
		for e < b.extent {
			first--
			e *= a.size[a.order[first]]
		}
		blocks[b.axis], k = a.order[first:k], first
	}
	order := t.Order
	if order == [3]layer.Axes{} {
		order = orders[0]
	}
	a.order = slices.Concat(a.order[:k], blocks[order[0]], blocks[order[1]], blocks[order[2]])
	a.via = append(slices.Clip(a.via), at)
	return a, true
}

// A rearranger puts tensors into the order and the rows that layers read them in. Between
// a tensor and its reader all transposes count as one change of order, as do views in rows
// of another length, which no task takes by itself: what is left of them are the cheapest
// transposes from the one arrangement to the other.
type rearranger struct {
	n      *list.Network
	made   map[string]layer.Shape // that a tensor stands in
	later  map[string]lineage     // tensors that no layer has made yet
	done   map[rows]string        // tensors in rows of another length
	names  map[string]bool        // of layers
	chains map[string][]layer.Layer
	layers []list.Layer
}

// rows are a tensor in rows of a length.
type rows struct {
	tensor string
	width  int
}

// Rearrange replaces the transposes of a network.
func Rearrange(n *list.Network) {
	r := &rearranger{
		n: n, made: map[string]layer.Shape{}, later: map[string]lineage{}, done: map[rows]string{},
		names: map[string]bool{}, chains: map[string][]layer.Layer{},
	}
	read, results := map[string]bool{}, map[string]bool{}
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			read[in] = true
		}
		if !isTranspose(&n.Layers[i]) {
			r.names[n.Layers[i].Name] = true
		}
	}
	for i := range n.Layers { // what nobody reads is a result too
		if out := n.Layers[i].Output; !read[out] || slices.Contains(n.Outputs, out) {
			results[out] = true
		}
	}
	for i := range n.Layers {
		l := n.Layers[i]
		if isTranspose(&l) {
			in := l.Lower.In
			a, ok := r.lineage(l.Inputs[0], in).transposed(&l.Lower, i)
			for from := l.Inputs[0]; !ok; {
				if from = r.common(from, in, &l); from == "" {
					break
				}
				a, ok = r.lineage(from, in).transposed(&l.Lower, i)
			}
			if ok {
				r.later[l.Output] = a
				if results[l.Output] {
					r.make(l.Output)
				}
				continue
			}
		}
		l.Inputs = slices.Clone(l.Inputs)
		reads := readShapes(&l)
		for k, in := range l.Inputs {
			if k < len(reads) {
				l.Inputs[k] = r.arranged(in, reads[k], &l)
			} else {
				r.make(in)
			}
		}
		r.add(l)
	}
	n.Layers, n.Made = slices.Clip(r.layers), r.made
}

// Rearranged is the network with its transposes found anew, for layers that read tensors in
// other shapes than when it was read.
func Rearranged(n *list.Network) *list.Network {
	c := *n
	c.Nodes, c.Constants = slices.Clone(n.Nodes), maps.Clone(n.Constants)
	Rearrange(&c)
	c.Tidy()
	return &c
}

// isTranspose reports whether a layer does no more than to change the order of axes.
func isTranspose(l *list.Layer) bool {
	return l.Reason == "" && l.Lower.Op == layer.Transpose && l.Lower.Activation == 0 && len(l.Folded) == 0 && len(l.Inputs) == 1
}

// readShapes are the shapes that a layer reads its inputs in, nil where it is none.
func readShapes(l *list.Layer) []layer.Shape {
	x := &l.Lower
	turned := func(s layer.Shape, yes bool) layer.Shape {
		if yes {
			s.H, s.W = s.W, s.H
		}
		return s
	}
	switch {
	case l.Reason != "":
		return nil
	case x.Op == layer.Concat:
		var list []layer.Shape
		for _, c := range x.Parts {
			s := x.In
			s.C = c
			list = append(list, s)
		}
		return list
	case x.Op == layer.MatMul && x.Second == layer.Runtime:
		right := layer.Shape{N: x.In.N, C: x.In.C, H: x.In.W, W: x.Columns}
		return []layer.Shape{turned(x.In, x.TransposeX), turned(right, x.TransposeY)}
	case x.Op == layer.MatMul, x.Op == layer.Linear:
		return []layer.Shape{turned(x.In, x.TransposeX)}
	}
	return []layer.Shape{x.In, x.SecondShape}
}

func (r *rearranger) add(l list.Layer) {
	r.names[l.Name] = true
	if l.Out.W > 0 { // else its shape is not known: that of what reads it, if that is stated
		r.made[l.Output] = l.Out
	}
	r.layers = append(r.layers, l)
}

// lineage is the tensor's, which is its own source where no transpose made it. Inputs and
// constants of the network stand in the shape that they are read in first.
func (r *rearranger) lineage(name string, read layer.Shape) lineage {
	if a, ok := r.later[name]; ok {
		return a
	}
	s, ok := r.made[name]
	if !ok {
		s = read
		r.made[name] = s
	}
	return lineage{source: name, row: s.W, size: []int{s.Elements() / s.W, s.W}, order: []int{0, 1}}
}

// arranged is the tensor as a layer reads it, behind transposes that make it so.
func (r *rearranger) arranged(name string, read layer.Shape, reader *list.Layer) string {
	if a := r.lineage(name, read); len(a.via) == 0 && joins(r.made[name], read) {
		return name
	}
	return r.inRows(name, read, reader)
}

// inRows is the tensor in rows as long as those that a layer reads, behind transposes that
// make it so.
func (r *rearranger) inRows(name string, read layer.Shape, reader *list.Layer) string {
	a := r.lineage(name, read)
	if len(a.via) == 0 && r.made[name].W == read.W {
		return name
	}
	key := rows{name, read.W}
	if at, ok := r.done[key]; ok {
		return at
	}
	steps, ok := r.steps(a, read.W)
	switch {
	case !ok:
		common := r.common(name, read, reader)
		if common == "" {
			return name
		}
		return r.arranged(common, read, reader)
	case len(steps) == 0:
		return a.source
	}
	to := name
	if len(a.via) == 0 || r.n.Layers[a.via[len(a.via)-1]].Out.W != read.W {
		to = fmt.Sprintf("%s in rows of %d", name, read.W)
	}
	r.emit(a, steps, to, reader)
	r.done[key] = to
	return to
}

// common is the tensor where a view of it has its places: as the last transpose before it
// leaves it, or in rows that those it has and those it is read in are multiples of (of rows
// of 10 and of 4, rows of 2). It is "" where there is no more to be had.
func (r *rearranger) common(name string, read layer.Shape, reader *list.Layer) string {
	if _, ok := r.later[name]; ok {
		r.make(name)
		return name
	}
	have := r.made[name].W
	w := have
	for k := read.W; k > 0; {
		w, k = k, w%k
	}
	if w == have || w == read.W {
		return ""
	}
	to := r.inRows(name, layer.Shape{N: 1, C: read.Elements() / w, H: 1, W: w}, reader)
	if r.made[to].W != w {
		return ""
	}
	return to
}

// joins reports whether a program takes a tensor in another shape by itself: rows of the same
// length, channels for a row, or a row for channels.
func joins(have, read layer.Shape) bool {
	return have.W == read.W || have.H == 1 && min(have.C, have.W) == 1 && have.C*have.W == max(have.W, read.W) && min(have.W, read.W) == 1
}

// make has a tensor made as the network's transposes make it.
func (r *rearranger) make(name string) {
	a, ok := r.later[name]
	if !ok {
		return
	}
	delete(r.later, name)
	last := r.n.Layers[a.via[len(a.via)-1]]
	if steps, ok := r.steps(a, last.Out.W); ok && len(steps) > 0 {
		r.emit(a, steps, name, nil)
		return
	}
	r.make(last.Inputs[0])
	r.add(last)
}

// emit appends transposes that end in a tensor. They stand for those of the network, or
// for the view that their reader has of the tensor.
func (r *rearranger) emit(a lineage, steps []layer.Layer, to string, reader *list.Layer) {
	like, suffix := reader, "/rows"
	if len(a.via) > 0 {
		like, suffix = &r.n.Layers[a.via[len(a.via)-1]], ""
	}
	from := a.source
	for i, t := range steps {
		l := list.Layer{Op: like.Op, Lower: t, Out: t.Out(), Inputs: []string{from}, Output: to, Node: like.Node, Line: like.Line}
		if suffix != "" {
			l.Op = "Reshape"
		}
		l.Name = like.Name + suffix
		for k := 2; r.names[l.Name]; k++ {
			l.Name = fmt.Sprintf("%s%s/%d", like.Name, suffix, k)
		}
		if i < len(steps)-1 {
			l.Output = fmt.Sprintf("%s/%d", to, i+1)
		}
		r.add(l)
		from = l.Output
	}
}

// steps are the transposes from a tensor's source to the tensor in rows of a length. It
// reports whether there are any that the engine does.
func (r *rearranger) steps(a lineage, width int) ([]layer.Layer, bool) {
	if !a.cut(width) {
		return nil, false
	}
	from, to := a.arrangements(width)
	key := fmt.Sprint(from, to)
	if list, ok := r.chains[key]; ok {
		return list, list != nil
	}
	list := from.to(to)
	for i := range list {
		if _, err := join.NewPart(list[i], layer.Weights{}); err != nil {
			list = nil
			break
		}
	}
	r.chains[key] = list
	return list, list != nil
}
