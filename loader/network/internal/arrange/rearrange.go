package arrange

import (
	"fmt"
	"maps"
	"slices"

	"anesim/loader/internal/lower/join"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A lineage describes how a tensor is made from a source tensor: with its axes in another order,
// and perhaps in rows of another length. The axes of the source are split as finely as the
// transposes and views in between need.
type lineage struct {
	source string
	row    int   // elements in a row of the source
	size   []int // extents of the source's axes, in order
	order  []int // the axes in the order of this tensor
	via    []int // indices of the transposes in between
}

// splitAxisBefore splits an axis of the source, if necessary, so that the last axes together have
// exactly inner elements. It returns false if no axis can be split at that boundary.
func (a *lineage) splitAxisBefore(inner int) bool {
	after := 1
	for k := len(a.order) - 1; k >= 0 && after < inner; k-- {
		axis := a.order[k]
		if size := a.size[axis]; after*size > inner {
			if inner%after != 0 || size%(inner/after) != 0 {
				return false
			}
			a.splitAxis(axis, inner/after)
			after = inner
			break
		}
		after *= a.size[axis]
	}
	return after == inner
}

// splitAxis splits the given axis of the source into two axes. The second has the given number of
// elements, which must divide the extent of the axis.
func (a *lineage) splitAxis(axis, second int) {
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

// afterTranspose returns the lineage of the result of transpose t, which reads the tensor that a
// describes. index is the number of t among the layers of the network. The result is false if the
// axes of the source cannot be split along the axes of t.
func (a lineage) afterTranspose(t *layer.Layer, index int) (lineage, bool) {
	s := t.In
	// The axes of the source are split where the transpose's axes begin. Then it moves whole axes, and the
	// result is again an order of axes.
	for _, inner := range [...]int{s.W, s.H * s.W, s.C * s.H * s.W} {
		if !a.splitAxisBefore(inner) {
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
	before, channels := a.order[:k], blocks[order[0]]
	if order == layer.SwapBatch {
		before, channels = blocks[layer.AxisC], a.order[:k]
	}
	a.order = slices.Concat(before, channels, blocks[order[1]], blocks[order[2]])
	a.via = append(slices.Clip(a.via), index)
	return a, true
}

// A rearranger replaces the transposes and views of a network. All transposes between a tensor
// and its reader count as one change of order. So do views in rows of another length, which no
// single task can make. They become the cheapest transposes from one arrangement to the other.
type rearranger struct {
	n      *list.Network
	made   map[string]layer.Shape // shape in which a tensor is stored
	later  map[string]lineage     // tensors that are not materialized yet
	done   map[rowKey]string      // copies in rows of another length
	names  map[string]bool        // names of layers
	last   map[string]int         // last number that made a name different from others, by the name
	chains map[string][]layer.Layer
	layers []list.Layer
}

// A rowKey identifies a tensor in rows of a given length.
type rowKey struct {
	tensor string
	width  int
}

// Rearrange replaces the transposes of n with cheaper ones that have the same effect on its
// results. Between layers, tensors may then be stored with their axes in another order. Rearrange
// sets n.Made to the shapes in which they are stored.
func Rearrange(n *list.Network) {
	r := &rearranger{
		n: n, made: map[string]layer.Shape{}, later: map[string]lineage{}, done: map[rowKey]string{},
		names: map[string]bool{}, last: map[string]int{}, chains: map[string][]layer.Layer{},
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
	for i := range n.Layers { // a tensor that nothing reads is a result too
		if out := n.Layers[i].Output; !read[out] || slices.Contains(n.Outputs, out) {
			results[out] = true
		}
	}
	for i := range n.Layers {
		l := n.Layers[i]
		if isTranspose(&l) {
			in := l.Lower.In
			a, ok := r.traceLineage(l.Inputs[0], in).afterTranspose(&l.Lower, i)
			for from := l.Inputs[0]; !ok; {
				if from = r.findCommonView(from, in, &l); from == "" {
					break
				}
				a, ok = r.traceLineage(from, in).afterTranspose(&l.Lower, i)
			}
			if ok {
				// A transpose is only noted here. What it costs is decided at each reader, which may want
				// another order.
				r.later[l.Output] = a
				if results[l.Output] {
					r.materializeTensor(l.Output)
				}
				continue
			}
		}
		l.Inputs = slices.Clone(l.Inputs)
		reads := inputShapes(&l)
		for k, in := range l.Inputs {
			if k < len(reads) {
				l.Inputs[k] = r.provideInput(in, reads[k], &l)
			} else {
				r.materializeTensor(in)
			}
		}
		r.addLayer(l)
	}
	n.Layers, n.Made = slices.Clip(r.layers), r.made
}

// RearrangedCopy applies [Rearrange] and [list.Network.Tidy] to a copy of n, and returns the copy.
// Use it when layers of n were changed so that they read tensors in other shapes.
func RearrangedCopy(n *list.Network) *list.Network {
	c := *n
	c.Nodes, c.Constants = slices.Clone(n.Nodes), maps.Clone(n.Constants)
	Rearrange(&c)
	c.Tidy()
	return &c
}

// isTranspose reports whether l is a transpose that the engine can run, without an activation and
// without other layers fused into it.
func isTranspose(l *list.Layer) bool {
	return l.Reason == "" && l.Lower.Op == layer.Transpose && l.Lower.Activation == 0 && len(l.Folded) == 0 && len(l.Inputs) == 1
}

// inputShapes returns the shapes in which layer l reads its inputs, in order. It returns nil for
// a layer that the engine cannot run.
func inputShapes(l *list.Layer) []layer.Shape {
	x := &l.Lower
	swap := func(s layer.Shape, yes bool) layer.Shape {
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
		return []layer.Shape{swap(x.In, x.TransposeX), swap(right, x.TransposeY)}
	case x.Op == layer.MatMul, x.Op == layer.Linear:
		return []layer.Shape{swap(x.In, x.TransposeX)}
	}
	return []layer.Shape{x.In, x.SecondShape}
}

func (r *rearranger) addLayer(l list.Layer) {
	r.names[l.Name] = true
	if l.Out.W > 0 { // otherwise its shape is unknown, and the shape of its first reader is used
		r.made[l.Output] = l.Out
	}
	r.layers = append(r.layers, l)
}

// traceLineage returns the lineage of the named tensor: its source and the pending transposes in
// between. A tensor that no pending transpose produces is its own source. If the shape of such a
// tensor is unknown, as that of an input is, traceLineage records the shape wanted for it.
func (r *rearranger) traceLineage(name string, wanted layer.Shape) lineage {
	if a, ok := r.later[name]; ok {
		return a
	}
	s, ok := r.made[name]
	if !ok {
		s = wanted
		r.made[name] = s
	}
	return lineage{source: name, row: s.W, size: []int{s.Elements() / s.W, s.W}, order: []int{0, 1}}
}

// provideInput returns the name of a tensor with the elements of the named one that layer reader
// can read in the wanted shape. It adds the transposes that produce this tensor, if any are needed.
func (r *rearranger) provideInput(name string, wanted layer.Shape, reader *list.Layer) string {
	if a := r.traceLineage(name, wanted); len(a.via) == 0 && canReadAs(r.made[name], wanted) {
		return name
	}
	return r.provideRows(name, wanted, reader)
}

// provideRows returns the name of a tensor with the elements of the named one in rows of wanted.W
// elements, after adding the transposes that produce it for layer reader. If no transposes can, it
// returns name itself.
func (r *rearranger) provideRows(name string, wanted layer.Shape, reader *list.Layer) string {
	a := r.traceLineage(name, wanted)
	if len(a.via) == 0 && r.made[name].W == wanted.W {
		return name
	}
	key := rowKey{name, wanted.W}
	if at, ok := r.done[key]; ok {
		return at
	}
	steps, ok := r.findTransposes(a, wanted.W)
	switch {
	case !ok:
		common := r.findCommonView(name, wanted, reader)
		if common == "" {
			return name
		}
		return r.provideInput(common, wanted, reader)
	case len(steps) == 0:
		return a.source
	}
	to := name
	if len(a.via) == 0 || r.n.Layers[a.via[len(a.via)-1]].Out.W != wanted.W {
		to = fmt.Sprintf("%s in rows of %d", name, wanted.W)
	}
	r.emitTransposes(a, steps, to, reader)
	r.done[key] = to
	return to
}

// findCommonView returns a version of the named tensor from which the wanted view can be made. It
// is the result of the tensor's last transpose, a copy in the wanted rows that turnRows makes, or a
// copy in rows whose length divides both the present and the wanted length (rows of 2 for rows of 10
// and 4). findCommonView returns "" if none of them helps.
func (r *rearranger) findCommonView(name string, wanted layer.Shape, reader *list.Layer) string {
	if _, ok := r.later[name]; ok {
		r.materializeTensor(name)
		return name
	}
	have := r.made[name].W
	w := have
	for k := wanted.W; k > 0; {
		w, k = k, w%k
	}
	if w == have || w == wanted.W {
		return ""
	}
	if to, ok := r.turnRows(name, wanted, w, reader); ok {
		return to
	}
	to := r.provideRows(name, layer.Shape{N: 1, C: wanted.Elements() / w, H: 1, W: w}, reader)
	if r.made[to].W != w {
		return ""
	}
	return to
}

// turnRows returns the name of a copy of the named tensor in rows of the wanted length, after adding
// two transposes that produce it for layer reader. Both lengths of rows must divide the elements of
// blocks that follow each other, such as the heads of an attention. The first transpose puts the
// blocks innermost, so that rows have one element of each. The other puts them outermost again, with
// their elements in other rows:
//
//	[block][row][column] --> [element][block] --> [block][wanted row][wanted column]
//
// It returns false if there is one block, or if rows of common elements, the greatest length that
// divides both lengths, move no more bytes.
func (r *rearranger) turnRows(name string, wanted layer.Shape, common int, reader *list.Layer) (string, bool) {
	have := r.made[name].W
	block := have / common * wanted.W
	all := wanted.Elements()
	if all%block != 0 {
		return "", false
	}
	blocks := all / block
	first := layer.Unary(layer.Transpose, layer.Shape{N: 1, C: blocks, H: block / have, W: have})
	first.Order = [3]layer.Axes{layer.AxisH, layer.AxisW, layer.AxisC}
	second := layer.Unary(layer.Transpose, layer.Shape{N: 1, C: block / wanted.W, H: wanted.W, W: blocks})
	second.Order = [3]layer.Axes{layer.AxisW, layer.AxisC, layer.AxisH}
	if memoryBytes(layer.Shape{N: 1, C: 1, H: block, W: blocks}) >= memoryBytes(layer.Shape{N: 1, C: 1, H: all / common, W: common}) {
		return "", false
	}
	steps := []layer.Layer{first, second}
	for i := range steps {
		if _, err := join.NewPart(steps[i], layer.Weights{}); countTasks(steps[i].In, steps[i].Order) == 0 || err != nil {
			return "", false
		}
	}
	to := fmt.Sprintf("%s in rows of %d", name, wanted.W)
	r.emitTransposes(lineage{source: name}, steps, to, reader)
	r.done[rowKey{name, wanted.W}] = to
	return to, true
}

// canReadAs reports whether a program can read a tensor of shape have in the wanted shape without a
// task. It can if rows have the same length, or if a row in one shape is the channels of a pixel in
// the other.
func canReadAs(have, wanted layer.Shape) bool {
	return have.W == wanted.W || have.H == 1 && min(have.C, have.W) == 1 && have.C*have.W == max(have.W, wanted.W) && min(have.W, wanted.W) == 1
}

// materializeTensor adds the layers that produce a tensor whose transposes are pending. It adds the
// network's own last transpose if it finds no cheaper ones. It does nothing if the tensor is not
// pending.
func (r *rearranger) materializeTensor(name string) {
	a, ok := r.later[name]
	if !ok {
		return
	}
	delete(r.later, name)
	last := r.n.Layers[a.via[len(a.via)-1]]
	if steps, ok := r.findTransposes(a, last.Out.W); ok && len(steps) > 0 {
		r.emitTransposes(a, steps, name, nil)
		return
	}
	r.materializeTensor(last.Inputs[0])
	r.addLayer(last)
}

// emitTransposes adds the transposes in steps as layers. The first one reads the source of a, and
// the last one produces the tensor called result. The layers are named after the last pending
// transpose of a or, if there is none, after reader.
func (r *rearranger) emitTransposes(a lineage, steps []layer.Layer, result string, reader *list.Layer) {
	like, suffix := reader, "/rows"
	if len(a.via) > 0 {
		like, suffix = &r.n.Layers[a.via[len(a.via)-1]], ""
	}
	from := a.source
	for i, t := range steps {
		l := list.Layer{Op: like.Op, Lower: t, Out: t.Out(), Inputs: []string{from}, Output: result, Node: like.Node, Line: like.Line}
		if suffix != "" {
			l.Op = "Reshape"
		}
		l.Name = like.Name + suffix
		for k, name := max(2, r.last[l.Name]+1), l.Name; r.names[l.Name]; k++ {
			l.Name, r.last[name] = fmt.Sprintf("%s/%d", name, k), k
		}
		if i < len(steps)-1 {
			l.Output = fmt.Sprintf("%s/%d", result, i+1)
		}
		r.addLayer(l)
		from = l.Output
	}
}

// findTransposes returns the cheapest transposes that turn the source of a into the tensor that a
// describes, in rows of the given width. It returns false if there are none or the engine cannot
// run one of them.
func (r *rearranger) findTransposes(a lineage, width int) ([]layer.Layer, bool) {
	if !a.splitAxisBefore(width) {
		return nil, false
	}
	from, to := a.endArrangements(width)
	key := fmt.Sprint(from, to)
	if list, ok := r.chains[key]; ok {
		return list, list != nil
	}
	list := from.findTransposesTo(to)
	for i := range list {
		if _, err := join.NewPart(list[i], layer.Weights{}); err != nil {
			list = nil
			break
		}
	}
	r.chains[key] = list
	return list, list != nil
}
