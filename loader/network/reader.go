package network

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/loader/layer"
	"anesim/loader/network/choose"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/ops"
	"anesim/loader/network/pattern"
)

// What constants that are worked out take: a number each in and out of float64.
const (
	foldedBytes = 2 * choose.NumberBytes // a byte of the file
	maxFolded   = 512 << 20
)

// readGraph builds a network of a model that a file of size bytes has, with notes about the
// file.
func readGraph(m *graph.Model, size int, notes []string, o Options) (*list.Network, error) {
	r := &graphReader{list: list.NewBuilder(), values: &scope{own: m.Values}, reading: &reading{
		Shared: choose.NewShared(min(foldedBytes*size+16<<20, maxFolded)), taken: map[string]bool{},
	}}
	r.list.Net.Name = m.Name
	for _, note := range notes {
		r.list.Note("%s", note)
	}
	r.declare(&m.Graph)
	if err := r.inputs(m.Inputs, o.Dims); err != nil {
		return nil, err
	}
	for _, in := range m.Inputs {
		r.taken[in.Name] = true
	}
	if name := r.twice(m.Nodes); name != "" {
		return nil, &list.FormatError{What: fmt.Sprintf("tensor %q is made twice", name)}
	}
	if err := r.composed(&m.Graph); err != nil {
		return nil, err
	}
	for _, out := range m.Results {
		if err := r.output(out); err != nil {
			return nil, err
		}
	}
	for _, v := range r.values.own {
		if v.Const != nil {
			r.Saturated += v.Const.Beyond
		}
	}
	if r.Saturated > 0 {
		r.list.Note("constants beyond fp16 are taken as 65504 or -65504: %d values", r.Saturated)
	}
	r.noteFilled()
	return finish(r.list)
}

// A graphReader builds a network of nodes whose operators are those of ONNX; a file of
// another format states its own in them. A tensor of fewer than four dimensions stands at
// the end of N, C, H, W; of more, the first are N together.
type graphReader struct {
	list   *list.Builder
	values *scope
	*reading
}

// value is the tensor of a name.
func (r *graphReader) value(name string) *graph.Value { return r.values.value(name) }

// A reading is what all readers of a file share.
type reading struct {
	*choose.Shared
	depth int             // of branches
	taken map[string]bool // names of inputs and of results of nodes
}

// declare adds the graph's own constants.
func (r *graphReader) declare(g *graph.Graph) {
	for name, c := range g.Consts {
		r.value(name).Set(c)
	}
}

func (r *graphReader) inputs(ports []graph.Port, sizes map[string]int) error {
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
		r.list.Input(in.Name, s)
		last := &r.list.Net.Inputs[len(r.list.Net.Inputs)-1]
		last.Dims, last.Type = d, in.Type.String()
	}
	return nil
}

// output notes what the network gives under a name of the file.
func (r *graphReader) output(v graph.Port) error {
	x := r.value(v.Name)
	if x.Scale > 1 {
		r.list.Note("output %q has multiples of %g: fp16 has no room for its whole numbers", v.Name, x.Scale)
	}
	out := list.Output{Name: v.Name, Tensor: r.list.TensorOf(v.Name), Dims: x.Dims, Type: v.Type.String(), Unit: x.Scale}
	if x.Type != 0 {
		out.Type = x.Type.String()
	}
	if c := x.Const; c != nil {
		h, err := c.Halves()
		if err != nil {
			return &list.FormatError{What: err.Error(), Err: err}
		}
		r.list.Net.Constants[v.Name] = h
		out.Tensor, out.Dims = v.Name, c.Dims
		if !c.Type.IsFloat() && !c.Absent() {
			if out.Numbers, err = c.Values(); err != nil {
				return &list.FormatError{What: err.Error(), Err: err}
			}
		}
	}
	r.list.Net.Results = append(r.list.Net.Results, out)
	return nil
}

// A nodeReader is a node on its way to layers.
type nodeReader struct {
	*graphReader
	*choose.Chooser
	outer   *graphReader // what the node's layers are added to
	spreads []ops.Spread // of the results, of a node that the host does for their size
	macs    int
}

func (r *graphReader) nodes(list []*graph.Node) {
	for i, node := range list {
		r.node(i, node)
	}
}

// twice is a result of nodes that something else is called too, "" where there is none: what
// is known of one would be taken for the other's.
func (r *graphReader) twice(list []*graph.Node) string {
	for _, node := range list {
		for _, out := range node.Out {
			if out.Given() && r.taken[out.Name] {
				return out.Name
			}
			r.taken[out.Name] = true
		}
	}
	return ""
}

// composed reads nodes, those that together are one operator as that. Where the engine
// does not do it the pieces are read one by one. An error is a fault of a pass.
func (r *graphReader) composed(g *graph.Graph) error {
	for i, node := range g.Nodes {
		node.Name = nodeName(i, node) // by the place in the file
	}
	nodes := graph.InReadingOrder(g.Nodes, g.Outputs)
	whole := graph.Check(nodes) == nil // else reading them says what they miss
	pattern.Straighten(nodes, g.Outputs)
	if err := graph.Check(nodes); whole && err != nil {
		return fmt.Errorf("joining transposes: %w", err)
	}
	found, inside := pattern.Find(nodes, g.Outputs)
	if err := graph.Check(pattern.Taken(nodes, found, inside)); whole && err != nil {
		return fmt.Errorf("finding patterns: %w", err)
	}
	for i, node := range nodes {
		f := found[i]
		switch {
		case inside[i]:
		case f == nil:
			r.node(i, node)
		case !r.fuse(i, f, nodes):
			for _, k := range f.Inside {
				r.node(k, nodes[k])
			}
			r.node(i, node)
		}
	}
	return nil
}

// fuse reads an operator in pieces, and reports whether the engine does it.
func (r *graphReader) fuse(i int, f *pattern.Match, nodes []*graph.Node) bool {
	n := r.reader(f.Node, nodeName(i, f.Node))
	m := n.attempt()
	node := *f.Node
	node.Out = []*graph.Value{m.values.made(node.Out[0].Name)}
	if m.Node = &node; ops.Dynamic(m.Node) {
		return false // the host may have functions for the pieces
	}
	if err := m.read(); err != nil || len(m.Net.Layers) == 0 {
		return false
	}
	m.keep()
	n.macs, n.What = m.macs, m.What
	last := &n.Net.Layers[len(n.Net.Layers)-1]
	for _, k := range f.Inside {
		name := nodeName(k, nodes[k])
		r.list.Net.Nodes = append(r.list.Net.Nodes, list.Node{Name: name, Op: nodes[k].Op, First: len(r.list.Net.Layers), What: "folded"})
		last.Folded = append(last.Folded, name)
	}
	r.count(n)
	return true
}

// nodeName is a node's name, or one made of its place.
func nodeName(i int, node *graph.Node) string {
	if node.Name != "" {
		return node.Name
	}
	return node.Op + strconv.Itoa(i)
}

func (r *graphReader) node(i int, node *graph.Node) {
	n := r.reader(node, nodeName(i, node))
	if err := n.read(); err != nil {
		n.refuse(err)
	}
	if n.Op == "If" && n.What == "branch" {
		n.Keep() // its nodes are counted
		return
	}
	r.count(n)
}

// reader returns what reads a node, with a builder of its own.
func (r *graphReader) reader(node *graph.Node, label string) *nodeReader {
	own := &graphReader{list: r.list.Try(), values: r.values, reading: r.reading}
	c := &choose.Chooser{Node: node, Builder: own.list, Shared: r.Shared, Label: label}
	return &nodeReader{graphReader: own, Chooser: c, outer: r}
}

// attempt returns what reads the node in a way that may not work out. It leaves nothing behind
// until it is kept.
func (n *nodeReader) attempt() *nodeReader {
	m, c := *n, *n.Chooser
	m.outer, m.Chooser = n.graphReader, &c
	m.graphReader = &graphReader{list: n.list.Try(), values: &scope{outer: n.values}, reading: n.reading}
	c.Builder, c.First = m.list, 0
	return &m
}

// keep adds what the node became to what it is a part of.
func (n *nodeReader) keep() {
	n.Keep()
	if n.values != n.outer.values {
		n.values.keep()
	}
}

// count adds a node that was read to the network's, with its layers.
func (r *graphReader) count(n *nodeReader) {
	first := len(r.list.Net.Layers) + n.First
	n.Keep()
	at := list.Node{Name: n.Label, Op: n.Operator(), MACs: uint64(n.macs), First: first, Layers: len(r.list.Net.Layers) - first, What: n.What}
	at.Bytes, at.Unsized = n.bytes()
	r.list.Net.Nodes = append(r.list.Net.Nodes, at)
	for k := first; k < len(r.list.Net.Layers); k++ {
		r.list.Net.Layers[k].Node = len(r.list.Net.Nodes) - 1
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
		if out.Given() && !count(out) && expansionOf(n.Op) == nil { // of an operator in others, results that nothing asks for
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
	fresh := n.outer.reader(n.Node, n.Label)
	fresh.Results = n.Results
	n.graphReader, n.Chooser = fresh.graphReader, fresh.Chooser
	l := list.Layer{Name: n.Label, Op: n.Operator(), Output: n.Label, Work: uint64(n.macs)}
	if n.Asked(0) {
		l.Output = n.Out[0].Name
	}
	for _, in := range n.In {
		if _, ok := n.Shape(in.Name); ok {
			l.Inputs = append(l.Inputs, in.Name)
		}
	}
	if n.Results == nil {
		_ = n.infer() // a shape is better than none; why says what is wrong
	}
	var shape *layer.Shape
	for i, out := range n.Out {
		if i >= len(n.Results) && !stated(out) {
			continue
		}
		d := out.Dims
		if i < len(n.Results) {
			d = n.Results[i].Dims
		}
		s, err := choose.ShapeOf(d)
		if err != nil || list.CheckShape(s) != nil || !out.Given() {
			continue
		}
		n.SetShape(out.Name, s)
		out.Dims = d
		if i < len(n.Results) {
			out.Type = n.Results[i].Type
		}
		if i == 0 {
			shape = &s
		}
	}
	if l.Host = n.stage(&l); l.Host != nil {
		n.varies()
	}
	n.Missing(l, shape, why.Error())
	for _, out := range n.Out {
		if _, ok := n.Shape(out.Name); !ok {
			out.Why = fmt.Sprintf("the shape of %q is not known: %s has none", out.Name, n.Label)
		}
		n.Net.Layers[len(n.Net.Layers)-1].Makes(out.Name)
	}
}

// stated gives a value the shape that the file states of it, and reports whether it does.
func stated(v *graph.Value) bool {
	if v.Stated == nil {
		return false
	}
	if s, err := choose.ShapeOf(v.Stated.Dims); err != nil || list.CheckShape(s) != nil {
		return false
	}
	v.Dims, v.Type = v.Stated.Dims, v.Stated.Type
	return true
}

func (n *nodeReader) read() error {
	if len(n.Out) == 0 {
		return errors.New("it has no output")
	}
	if n.Op == "If" {
		return n.branch()
	}
	if done, err := n.fold(); done {
		return nil
	} else if err != nil && !errors.Is(err, choose.ErrBudget) {
		return err
	}
	if name, ok := strings.CutPrefix(n.Op, "mil."); ok {
		return errors.New(cmp.Or(n.Text("why", ""), "no layer of the engine does "+name))
	}
	sized := slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Least != nil })
	if sized && n.followsEngine() {
		if n.onEngine() == nil {
			return nil
		}
	}
	if why, constant := n.host(); why != nil || constant {
		return why
	}
	if sized {
		return n.onEngine()
	}
	return n.layers()
}

// layers reads the node as layers of the engine.
func (n *nodeReader) layers() error {
	if done, err := n.scaledOperands(); done || err != nil {
		return err
	}
	var whole error
	if f := expansionOf(n.Op); f != nil && n.expands() {
		if whole = n.inOthers(f); whole == nil {
			return nil
		}
	}
	if err := n.infer(); err != nil {
		return cmp.Or(whole, err)
	}
	if whole != nil && !choose.Takes(n.Op) {
		return whole
	}
	return n.Choose()
}

// branch reads the nodes of the side that a constant condition takes, or of both.
func (n *nodeReader) branch() error {
	c := n.Const(0)
	if c == nil {
		return n.both()
	}
	v, err := c.Scalar()
	if err != nil {
		return err
	}
	a := n.Attr["else_branch"]
	if v != 0 {
		a = n.Attr["then_branch"]
	}
	if a == nil || a.Graph == nil || len(a.Graph.Outputs) < len(n.Out) || n.depth > 8 {
		return errors.New("it has no such branch")
	}
	if name := n.twice(a.Graph.Nodes); name != "" {
		return fmt.Errorf("its branch makes tensor %q, which is made elsewhere too", name)
	}
	n.declare(a.Graph)
	n.depth++
	err = n.composed(a.Graph)
	n.depth--
	if err != nil {
		return err
	}
	for i, out := range n.Out {
		n.same(out, a.Graph.Outputs[i])
	}
	n.What = "branch"
	return nil
}

// same makes a value stand for what another does.
func (r *graphReader) same(v, of *graph.Value) {
	if of.Dims != nil {
		v.Dims = of.Dims
	}
	v.Type = of.Type
	if of.Const != nil {
		v.Const = of.Const
	}
	if of.Least != nil {
		v.Least = of.Least
	}
	if of.Span != nil {
		v.Span = of.Span
	}
	if s, ok := r.list.Shape(of.Name); ok {
		r.list.SetShape(v.Name, s)
		r.list.SetTensor(v.Name, r.list.TensorOf(of.Name))
	} else if of.Const == nil {
		v.Why = fmt.Sprintf("the shape of %q is not known", of.Name)
	}
}
