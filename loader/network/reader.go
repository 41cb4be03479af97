package network

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/choose"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/settle"
)

// What constants that are worked out take: a number each in and out of float64.
const (
	foldedBytes = 2 * graph.NumberBytes // a byte of the file
	maxFolded   = 512 << 20
)

// readGraph builds a network of a model that a file of size bytes has, with notes about the
// file. Nodes are settled first, all of them, and then each becomes layers.
func readGraph(m *graph.Model, size int, notes []string, o Options) (*list.Network, error) {
	budget := &graph.Budget{Bytes: min(foldedBytes*size+16<<20, maxFolded)}
	r := &composer{Builder: list.NewBuilder(), reading: &reading{Shared: choose.NewShared(budget), values: m.Values}}
	r.Tables = o.Tables
	r.Net.Name = m.Name
	for _, note := range notes {
		r.Note("%s", note)
	}
	if err := r.inputs(m.Inputs, o.Dims); err != nil {
		return nil, err
	}
	nodes, err := settle.Model(m, budget)
	var twice *settle.TwiceError
	switch {
	case errors.As(err, &twice):
		return nil, &list.FormatError{What: err.Error(), Err: err}
	case err != nil:
		return nil, err
	}
	r.nodes(nodes)
	for _, out := range m.Results {
		if err := r.output(out); err != nil {
			return nil, err
		}
	}
	for _, v := range r.values {
		if v.Const != nil {
			r.Saturated += v.Const.Clamped
		}
	}
	if r.Saturated > 0 {
		r.Note("constants beyond fp16 are taken as 65504 or -65504: %d values", r.Saturated)
	}
	r.noteFilled()
	return finish(r.Builder)
}

// A composer builds a network of nodes whose operators are those of ONNX; a file of
// another format states its own in them. A tensor of fewer than four dimensions stands at
// the end of N, C, H, W; of more, the first are N together.
type composer struct {
	*list.Builder
	*reading
}

// A reading is what all composers of a file share.
type reading struct {
	*choose.Shared
	values map[string]*graph.Value // of the file, and those of nodes that state its own
}

// value is the tensor of a name.
func (r *reading) value(name string) *graph.Value {
	v := r.values[name]
	if v == nil {
		v = &graph.Value{Name: name}
		r.values[name] = v
	}
	return v
}

func (r *composer) inputs(ports []graph.Port, sizes map[string]int) error {
	b := newBinder(sizes, ports...)
	for _, in := range ports {
		if in.Dims == nil {
			return &list.FormatError{What: fmt.Sprintf("input %q: its shape is not stated", in.Name)}
		}
		if v, ok := b.value(in); ok {
			r.value(in.Name).Set(&graph.Const{Dims: b.bind(in), Type: in.Type, Numbers: []float64{float64(v)}})
			continue
		}
		r.value(in.Name).Dims, r.value(in.Name).Type = b.bind(in), in.Type
	}
	if err := b.err(); err != nil {
		return err
	}
	for _, in := range ports {
		if r.value(in.Name).Const != nil {
			continue
		}
		d := r.value(in.Name).Dims
		s, err := choose.ShapeOf(d)
		if err == nil {
			err = list.CheckShape(s)
		}
		if err != nil {
			return &list.FormatError{What: fmt.Sprintf("input %q: %v", in.Name, err)}
		}
		r.Input(in.Name, s)
		last := &r.Net.Inputs[len(r.Net.Inputs)-1]
		last.Dims, last.Type = d, in.Type.String()
	}
	return nil
}

// output notes what the network gives under a name of the file.
func (r *composer) output(v graph.Port) error {
	x := r.value(v.Name)
	if x.Scale > 1 {
		r.Note("output %q has multiples of %g: fp16 has no room for its whole numbers", v.Name, x.Scale)
	}
	out := list.Output{Name: v.Name, Tensor: r.TensorOf(v.Name), Dims: x.Dims, Type: v.Type.String(), Unit: x.Scale}
	if x.Type != 0 {
		out.Type = x.Type.String()
	}
	if c := x.Const; c != nil {
		h, err := c.Halves()
		if err != nil {
			return &list.FormatError{What: err.Error(), Err: err}
		}
		r.Net.Constants[v.Name] = h
		out.Tensor, out.Dims = v.Name, c.Dims
		if !c.Type.IsFloat() && !c.Absent() {
			if out.Numbers, err = c.Values(); err != nil {
				return &list.FormatError{What: err.Error(), Err: err}
			}
		}
	}
	r.Net.Results = append(r.Net.Results, out)
	return nil
}

// A nodeReader is a node on its way to layers.
type nodeReader struct {
	*choose.Chooser
	*reading
	node   *settle.Node
	outer  *list.Builder // what the node's layers are added to
	macs   int
	values []*graph.Value // of nodes that state this one
}

func (r *composer) nodes(list []*settle.Node) {
	for _, node := range list {
		if len(node.Pieces) == 0 {
			r.node(node)
		} else if !r.whole(node) {
			r.nodes(node.Pieces)
		}
	}
}

// whole reads an operator that a file has in pieces, and reports whether the engine does it.
func (r *composer) whole(node *settle.Node) bool {
	n := r.reader(node)
	if err := n.read(); err != nil || len(n.Net.Layers) == 0 {
		return false
	}
	last := &n.Net.Layers[len(n.Net.Layers)-1]
	for _, piece := range node.Pieces[:len(node.Pieces)-1] {
		r.Net.Nodes = append(r.Net.Nodes, list.Node{Name: piece.Label, Op: piece.Op, First: len(r.Net.Layers), What: "folded"})
		last.Folded = append(last.Folded, piece.Label)
	}
	r.count(n)
	return true
}

func (r *composer) node(node *settle.Node) {
	n := r.reader(node)
	if err := n.read(); err != nil {
		n.refuse(err)
	}
	if n.What == "branch" {
		r.keep(n) // its nodes are counted
		return
	}
	r.count(n)
}

// reader returns what reads a node, with a builder of its own.
func (r *composer) reader(node *settle.Node) *nodeReader {
	return newNodeReader(node, r.Builder, r.reading)
}

func newNodeReader(node *settle.Node, outer *list.Builder, of *reading) *nodeReader {
	c := &choose.Chooser{Node: node.Node, Builder: outer.Try(), Shared: of.Shared, Label: node.Label, Results: node.Results}
	return &nodeReader{Chooser: c, reading: of, node: node, outer: outer, macs: node.MACs}
}

// keep adds what a node became to the network.
func (r *composer) keep(n *nodeReader) {
	n.Keep()
	for _, v := range n.values {
		if r.values[v.Name] == nil {
			r.values[v.Name] = v
		}
	}
}

// count adds a node that was read to the network's, with its layers.
func (r *composer) count(n *nodeReader) {
	first := len(r.Net.Layers) + n.First
	r.keep(n)
	at := list.Node{Name: n.Label, Op: n.Operator(), MACs: uint64(n.macs), First: first, Layers: len(r.Net.Layers) - first, What: n.What}
	at.Bytes, at.Unsized = n.bytes()
	r.Net.Nodes = append(r.Net.Nodes, at)
	for k := first; k < len(r.Net.Layers); k++ {
		r.Net.Layers[k].Node = len(r.Net.Nodes) - 1
	}
}

// bytes are those of the operands and results in fp16, and whether a result has no known
// shape. Gather reads what it picks, not its whole table.
func (n *nodeReader) bytes() (sum uint64, unsized bool) {
	if n.What != "" {
		return 0, false
	}
	count := func(v *graph.Value) bool {
		if v.Dims != nil && (v.Type == 0 || v.Type.IsFloat()) {
			sum += uint64(max(0, graph.Elements(v.Dims))) * choose.HalfBytes
		}
		return v.Dims != nil
	}
	for _, out := range n.Out {
		if out.Given() && !count(out) && !settle.InOthers(n.Op) { // of an operator in others, results that nothing asks for
			unsized = true
		}
	}
	if n.Op == "Gather" {
		return 2 * sum, unsized
	}
	for i, in := range n.In {
		if in.Given() && !slices.Contains(n.In[:i], in) {
			count(in)
		}
	}
	return sum, unsized
}

// refuse makes the node one layer that says why it is no other.
func (n *nodeReader) refuse(why error) {
	fresh := newNodeReader(n.node, n.outer, n.reading)
	n.Chooser, n.values, n.macs = fresh.Chooser, nil, fresh.macs
	l := list.Layer{Name: n.Label, Op: n.Operator(), Output: n.Label, Work: uint64(n.macs)}
	if n.Asked(0) {
		l.Output = n.Out[0].Name
	}
	for _, in := range n.In {
		if _, ok := n.Shape(in.Name); ok {
			l.Inputs = append(l.Inputs, in.Name)
		}
	}
	var shape *layer.Shape
	for i, out := range n.Out {
		if !out.Given() || out.Dims == nil || !graph.FitsEngine(out.Dims) {
			continue
		}
		s, _ := choose.ShapeOf(out.Dims)
		n.SetShape(out.Name, s)
		if i == 0 {
			shape = &s
		}
	}
	l.Host = n.stage(&l)
	n.Missing(l, shape, why.Error())
	for _, out := range n.Out {
		n.Net.Layers[len(n.Net.Layers)-1].AddOutput(out.Name)
	}
}

// read makes layers of the node. Of a result that they do not make, such as the places of a
// pool, nothing is known any more.
func (n *nodeReader) read() error {
	if err := n.become(); err != nil {
		return err
	}
	for _, out := range n.Out {
		if _, ok := n.Shape(out.Name); !ok && out.Given() && out.Const == nil {
			out.Forget()
		}
	}
	return nil
}

func (n *nodeReader) become() error {
	for _, note := range n.node.Notes {
		n.Note("%s", note)
	}
	switch {
	case n.node.Err != nil:
		return n.node.Err
	case n.node.Kind == settle.Constant:
		n.What = "constant"
		return nil
	case n.node.Kind == settle.Branch:
		n.branch()
		return nil
	case n.Op == "If":
		return n.both()
	}
	if n.node.Largest != nil && (n.node.Host == nil || n.followsEngine()) {
		if err := n.onEngine(); err == nil || n.node.Host == nil {
			return err
		}
	}
	if n.node.Host != nil {
		return n.node.Host
	}
	return n.layers()
}

// layers makes layers of the nodes that state the node, or else of the node itself.
func (n *nodeReader) layers() error {
	whole := n.node.Unstated
	if n.node.Body != nil {
		if whole = n.inOthers(); whole == nil || n.node.Only {
			return whole
		}
	}
	if err := n.node.Unsized; err != nil {
		return cmp.Or(whole, err)
	}
	if whole != nil && !choose.Supports(n.Op) {
		return whole
	}
	return n.Choose()
}

// inOthers makes layers of the nodes that state this one. What is wrong with them is wrong with
// it, and leaves nothing behind.
func (n *nodeReader) inOthers() error {
	all, macs := n.Try(), 0
	var values []*graph.Value
	for _, part := range n.node.Body {
		m := newNodeReader(part, all, n.reading)
		if part.Kind == settle.Same {
			same(all, part.Out[0], part.In[0])
		} else if err := m.read(); err != nil {
			m.refuse(err)
			if m.Net.Layers[0].Host == nil {
				return err
			}
		}
		values = slices.Concat(values, part.In, part.Out, m.values)
		macs += m.macs
		m.Keep()
	}
	all.Keep()
	n.values, n.macs = append(n.values, values...), macs
	if len(n.Net.Layers) == n.First {
		n.What = "folded"
	}
	return nil
}

// branch makes layers of the nodes of the side that a constant condition takes.
func (n *nodeReader) branch() {
	inner := &composer{n.Builder, n.reading}
	for _, part := range n.node.Body {
		if part.Kind == settle.Same {
			same(n.Builder, part.Out[0], part.In[0])
		} else {
			inner.nodes([]*settle.Node{part})
		}
	}
	n.What = "branch"
}

// same makes a tensor stand for the values of another.
func same(b *list.Builder, v, of *graph.Value) {
	if s, ok := b.Shape(of.Name); ok {
		b.SetShape(v.Name, s)
		b.SetTensor(v.Name, b.TensorOf(of.Name))
	} else if of.Const == nil {
		v.Forget()
		v.Why = fmt.Sprintf("the shape of %q is not known", of.Name)
	}
}
