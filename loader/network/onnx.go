package network

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"anesim/loader/lower"
	"anesim/loader/network/graph"
	"anesim/loader/network/onnx"
)

// ReadONNX reads a network from an ONNX file. Errors are a *[FormatError] or, where
// dimensions have names and no sizes, a *[DimError]; operators that are no layer of the
// engine are layers with a Reason.
func ReadONNX(data []byte, o Options) (*Network, error) {
	m, err := onnx.Read(data)
	if err != nil {
		return nil, formatError(err)
	}
	return readModel(m, nil, len(data), o)
}

// openONNX is ReadONNX of a file, of which it keeps no more than it needs in memory.
func openONNX(r io.ReaderAt, size int64, o Options) (*Network, error) {
	m, err := onnx.ReadFrom(r, size)
	if err != nil {
		return nil, formatError(err)
	}
	return readModel(m, nil, int(size), o)
}

// formatError gives an error of a file's form its place.
func formatError(err error) error {
	f := &FormatError{What: err.Error(), Err: err}
	var e *onnx.FormatError
	if errors.As(err, &e) {
		f.Off, f.What = e.Off, e.What
	}
	return f
}

// readModel builds a network of a model that was read from a file of size bytes. Some of its
// constants were packed there.
func readModel(m *onnx.Model, packings map[*onnx.Tensor]*graph.Packing, size int, o Options) (*Network, error) {
	r := &graphReader{
		packings: packings,
		builder:  newBuilder(), opset: m.Opsets[""], microsoft: m.Opsets["com.microsoft"] > 0, constants: map[string]*graph.Const{}, dims: map[string][]int{},
		types: map[string]graph.Type{}, budget: min(foldedBytes*size+16<<20, maxFolded), known: m.Known, padded: map[string]padding{}, bypassed: map[string]bool{}, ranges: map[string][2]float64{}, smaller: map[string]float64{}, files: map[string]*os.File{}, told: map[string]bool{}, taken: map[string]bool{},
		least: map[string][]int{}, between: map[string]*span{}, filled: map[string]bool{}, mixed: map[string]bool{},
	}
	r.net.Name = m.Name
	defer r.close()
	if err := r.attach(&m.Graph, o.Dir); err != nil {
		return nil, err
	}
	if err := r.inputs(m, o.Dims); err != nil {
		return nil, err
	}
	for _, in := range m.Inputs {
		r.taken[in.Name] = true
	}
	if name := r.twice(m.Nodes); name != "" {
		return nil, &FormatError{What: fmt.Sprintf("tensor %q is made twice", name)}
	}
	r.composed(m.Nodes, m.Outputs)
	for _, out := range m.Outputs {
		if err := r.output(out); err != nil {
			return nil, err
		}
	}
	for _, c := range r.constants {
		r.saturated += c.Beyond
	}
	if r.saturated > 0 {
		r.note("constants beyond fp16 are taken as 65504 or -65504: %d values", r.saturated)
	}
	r.noteFilled()
	return r.finish(), nil
}

// A graphReader builds a network of nodes whose operators are those of ONNX; a file of
// another format states its own in them. A tensor of fewer than four dimensions stands at
// the end of N, C, H, W; of more, the first are N together.
type graphReader struct {
	*builder
	opset     int64
	microsoft bool // operators of that domain are known by name
	constants map[string]*graph.Const
	dims      map[string][]int // as the file has them
	types     map[string]graph.Type
	known     map[string]onnx.Value
	padded    map[string]padding
	bypassed  map[string]bool       // results of transposes that what followed them no longer reads
	ranges    map[string][2]float64 // the least and the largest value of some tensors
	smaller   map[string]float64    // powers of two that some tensors of int32 are smaller by
	budget    int                   // elements that constants may still be folded to
	depth     int                   // of branches
	files     map[string]*os.File   // that values stand in, by path
	packings  map[*onnx.Tensor]*graph.Packing
	told      map[string]bool // inputs that a note is about
	saturated int             // elements of constants beyond fp16
	taken     map[string]bool // names of inputs and of results of nodes

	least   map[string][]int // least extents of tensors whose extents depend on values
	between map[string]*span // bounds of elements that are made of such extents
	filled  map[string]bool  // tensors of least that a node reads at their largest
	mixed   map[string]bool  // tensors of least of which the engine mixes rows
}

// A padding is zeros around a tensor, which what reads them may add itself.
type padding struct {
	of            operand
	before, after []int
}

// declare adds the graph's own constants.
func (r *graphReader) declare(g *onnx.Graph) {
	for name, t := range g.Constants {
		c := stored(t)
		c.Packing = r.packings[t]
		r.constants[name] = c
		r.dims[name], r.types[name] = c.Dims, c.Type
	}
}

func (r *graphReader) inputs(m *onnx.Model, sizes map[string]int) error {
	r.declare(&m.Graph)
	b := newBinder(sizes, m.Inputs...)
	for _, in := range m.Inputs {
		if in.Dims == nil {
			return &FormatError{What: fmt.Sprintf("input %q: its shape is not stated", in.Name)}
		}
		if v, ok := b.value(in); ok {
			r.constants[in.Name] = &graph.Const{Dims: b.bind(in), Type: in.Type, Numbers: []float64{float64(v)}}
			r.dims[in.Name], r.types[in.Name] = []int{}, in.Type
			continue
		}
		r.dims[in.Name], r.types[in.Name] = b.bind(in), in.Type
	}
	if err := b.err(); err != nil {
		return err
	}
	for _, in := range m.Inputs {
		if r.constants[in.Name] != nil {
			continue
		}
		d := r.dims[in.Name]
		s, err := shapeOf(d)
		if err == nil {
			err = validShape(s)
		}
		if err != nil {
			return &FormatError{What: fmt.Sprintf("input %q: %v", in.Name, err)}
		}
		r.input(in.Name, s)
		last := &r.net.Inputs[len(r.net.Inputs)-1]
		last.Dims, last.Type = d, in.Type.String()
	}
	return nil
}

// output notes what the network gives under a name of the file.
func (r *graphReader) output(v onnx.Value) error {
	if r.smaller[v.Name] > 1 {
		r.note("output %q has multiples of %g: fp16 has no room for its whole numbers", v.Name, r.smaller[v.Name])
	}
	out := Output{Name: v.Name, Tensor: r.values(v.Name), Dims: r.dims[v.Name], Type: v.Type.String(), Unit: r.smaller[v.Name]}
	if t := r.types[v.Name]; t != 0 {
		out.Type = t.String()
	}
	if c := r.constants[v.Name]; c != nil {
		h, err := c.Halves()
		if err != nil {
			return &FormatError{What: err.Error(), Err: err}
		}
		r.net.Constants[v.Name] = h
		out.Tensor = v.Name
		if !c.Type.IsFloat() && !c.Absent() {
			if out.Numbers, err = c.Values(); err != nil {
				return &FormatError{What: err.Error(), Err: err}
			}
		}
	}
	r.net.Results = append(r.net.Results, out)
	return nil
}

// shapeOf is the engine's shape of a tensor.
func shapeOf(dims []int) (lower.Shape, error) {
	e := [4]int{1, 1, 1, 1}
	if err := countable(dims); err != nil {
		return lower.Shape{}, err
	}
	if extra := len(dims) - len(e); extra > 0 {
		dims = append([]int{graph.Elements(dims[:extra+1])}, dims[extra+1:]...)
	}
	copy(e[len(e)-len(dims):], dims)
	return lower.Shape{N: e[0], C: e[1], H: e[2], W: e[3]}, nil
}

// A nodeReader is a node on its way to layers.
type nodeReader struct {
	*graphReader
	*onnx.Node
	name    string
	results []result // what it makes
	spreads []spread // of the results, of a node that the host does for their size
	first   int      // its first layer
	macs    int
	what    string // what became of it, where that is no layer
}

func (r *graphReader) nodes(list []onnx.Node) {
	for i := range list {
		r.node(i, &list[i])
	}
}

// twice is a result of nodes that something else is called too, "" where there is none: what
// is known of one would be taken for the other's.
func (r *graphReader) twice(list []onnx.Node) string {
	for i := range list {
		for _, out := range list[i].Outputs {
			if out != "" && r.taken[out] {
				return out
			}
			r.taken[out] = true
		}
	}
	return ""
}

// composed reads nodes, those that together are one operator as that. Where the engine
// does not do it the pieces are read one by one.
func (r *graphReader) composed(list []onnx.Node, outputs []onnx.Value) {
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = nodeName(i, &list[i]) // by the place in the file
	}
	list = inReadingOrder(list, outputs)
	r.straighten(list, outputs)
	found, inside := r.fusions(list, outputs)
	for i := range list {
		f := found[i]
		switch {
		case inside[i]:
		case f == nil:
			r.node(i, &list[i])
		case !r.fuse(i, f, list):
			for _, k := range f.inside {
				r.node(k, &list[k])
			}
			r.node(i, &list[i])
		}
	}
}

// fuse reads an operator in pieces, and reports whether the engine does it.
func (r *graphReader) fuse(i int, f *fusion, list []onnx.Node) bool {
	n := &nodeReader{graphReader: r, Node: &f.node, name: nodeName(i, &f.node), first: len(r.net.Layers)}
	if n.dynamic() {
		return false // the host may have functions for the pieces
	}
	if err := n.read(); err != nil || len(r.net.Layers) == n.first {
		r.net.Layers = r.net.Layers[:n.first]
		for _, out := range f.node.Outputs {
			delete(r.alias, out)
			delete(r.tensors, out)
			delete(r.dims, out)
			delete(r.types, out)
		}
		return false
	}
	last := &r.net.Layers[len(r.net.Layers)-1]
	for _, k := range f.inside {
		name := nodeName(k, &list[k])
		r.net.Nodes = append(r.net.Nodes, Node{Name: name, Op: list[k].Op, First: n.first, What: "folded"})
		last.Folded = append(last.Folded, name)
	}
	r.count(n)
	return true
}

// nodeName is a node's name, or one made of its place.
func nodeName(i int, node *onnx.Node) string {
	if node.Name != "" {
		return node.Name
	}
	return node.Op + strconv.Itoa(i)
}

func (r *graphReader) node(i int, node *onnx.Node) {
	n := &nodeReader{graphReader: r, Node: node, name: nodeName(i, node), first: len(r.net.Layers)}
	if err := n.read(); err != nil {
		n.refuse(err)
	}
	if n.Op == "If" && n.what == "branch" {
		return // its nodes are counted
	}
	r.count(n)
}

// count adds a node that was read to the network's.
func (r *graphReader) count(n *nodeReader) {
	at := Node{Name: n.name, Op: n.operator(), MACs: uint64(n.macs), First: n.first, Layers: len(r.net.Layers) - n.first, What: n.what}
	at.Bytes, at.Unsized = n.bytes()
	r.net.Nodes = append(r.net.Nodes, at)
	for k := n.first; k < len(r.net.Layers); k++ {
		r.net.Layers[k].Node = len(r.net.Nodes) - 1
	}
}

// bytes are those of the operands and results in fp16, and whether a result has no known
// shape. Gather reads what it picks, not its whole table.
func (n *nodeReader) bytes() (sum uint64, unsized bool) {
	if n.what != "" {
		return 0, false
	}
	count := func(name string) bool {
		d, ok := n.dims[name]
		if t := n.types[name]; ok && (t == 0 || t.IsFloat()) {
			sum += uint64(max(0, graph.Elements(d))) * halfBytes
		}
		return ok
	}
	for _, out := range n.Outputs {
		if out != "" && !count(out) && expansionOf(n.Op) == nil { // of an operator in others, results that nothing asks for
			unsized = true
		}
	}
	if n.Op == "Gather" {
		return 2 * sum, unsized
	}
	for i, in := range n.Inputs {
		if in != "" && !slices.Contains(n.Inputs[:i], in) {
			count(in)
		}
	}
	return sum, unsized
}

// refuse makes the node one layer that says why it is no other.
func (n *nodeReader) refuse(why error) {
	n.net.Layers = n.net.Layers[:n.first]
	n.what = ""
	l := Layer{Name: n.name, Op: n.operator(), Output: n.name, macs: uint64(n.macs)}
	if len(n.Outputs) > 0 && n.Outputs[0] != "" {
		l.Output = n.Outputs[0]
	}
	for _, name := range n.Inputs {
		if _, ok := n.tensors[name]; ok {
			l.Inputs = append(l.Inputs, name)
		}
	}
	if n.results == nil {
		_ = n.infer() // a shape is better than none; why says what is wrong
	}
	var shape *lower.Shape
	for i, out := range n.Outputs {
		if i >= len(n.results) && !n.stated(out) {
			continue
		}
		d := n.dims[out]
		if i < len(n.results) {
			d = n.results[i].dims
		}
		s, err := shapeOf(d)
		if err != nil || validShape(s) != nil || out == "" {
			continue
		}
		n.tensors[out], n.dims[out] = s, d
		if i < len(n.results) {
			n.types[out] = n.results[i].elem
		}
		if i == 0 {
			shape = &s
		}
	}
	if l.Host = n.stage(&l); l.Host != nil {
		n.varies()
	}
	n.missing(l, shape, why.Error())
	for _, out := range n.Outputs {
		if _, ok := n.tensors[out]; !ok {
			n.unknown[out] = fmt.Sprintf("the shape of %q is not known: %s has none", out, n.name)
		}
		n.net.Layers[len(n.net.Layers)-1].makes(out)
	}
}

// makes adds an output to those of a layer that is not modelled.
func (l *Layer) makes(name string) {
	if name != "" && name != l.Output {
		l.Others = append(l.Others, name)
	}
}

// stated finds the shape that the file states of a tensor, and reports whether it does.
func (r *graphReader) stated(name string) bool {
	v, ok := r.known[name]
	if !ok || v.Dims == nil {
		return false
	}
	dims := []int{}
	for _, d := range v.Dims {
		if d.Size < 1 || d.Size > maxExtent {
			return false
		}
		dims = append(dims, int(d.Size))
	}
	if s, err := shapeOf(dims); err != nil || validShape(s) != nil {
		return false
	}
	r.dims[name], r.types[name] = dims, v.Type
	return true
}

func (n *nodeReader) read() error {
	if len(n.Outputs) == 0 {
		return errors.New("it has no output")
	}
	if n.Op == "If" {
		return n.branch()
	}
	if done, err := n.fold(); done {
		return nil
	} else if err != nil && !errors.Is(err, errBudget) {
		return err
	}
	if name, ok := strings.CutPrefix(n.Op, "mil."); ok {
		return errors.New(cmp.Or(n.text("why", ""), "no layer of the engine does "+name))
	}
	sized := slices.ContainsFunc(n.Inputs, func(name string) bool { return n.least[name] != nil })
	if sized && n.followsEngine() {
		if n.onEngine() == nil {
			return nil
		}
		n.net.Layers = n.net.Layers[:n.first]
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
	if whole != nil && operators[n.Op] == nil {
		return whole
	}
	for _, r := range n.results {
		if graph.Elements(r.dims) == 0 {
			return fmt.Errorf("a result of shape %v has no elements", r.dims)
		}
	}
	f, ok := operators[n.Op]
	if !ok {
		if why, ok := refusals[n.Op]; ok {
			return errors.New(why)
		}
		return errors.New("no layer of the engine does this operator")
	}
	if len(n.Inputs) == 0 {
		return errors.New("it has no input")
	}
	if r, ok := bounded[n.Op]; ok {
		n.ranges[n.Outputs[0]] = r
	}
	return f(n)
}

// branch reads the nodes of the side that a constant condition takes, or of both.
func (n *nodeReader) branch() error {
	c := n.constant(0)
	if c == nil {
		return n.both()
	}
	v, err := c.Scalar()
	if err != nil {
		return err
	}
	a := n.Attributes["else_branch"]
	if v != 0 {
		a = n.Attributes["then_branch"]
	}
	if a == nil || a.Graph == nil || len(a.Graph.Outputs) < len(n.Outputs) || n.depth > 8 {
		return errors.New("it has no such branch")
	}
	if name := n.twice(a.Graph.Nodes); name != "" {
		return fmt.Errorf("its branch makes tensor %q, which is made elsewhere too", name)
	}
	n.declare(a.Graph)
	n.depth++
	n.composed(a.Graph.Nodes, a.Graph.Outputs)
	n.depth--
	for i, out := range n.Outputs {
		n.same(out, a.Graph.Outputs[i].Name)
	}
	n.what = "branch"
	return nil
}

// same makes a name stand for what another does.
func (r *graphReader) same(name, of string) {
	if d, ok := r.dims[of]; ok {
		r.dims[name] = d
	}
	r.types[name] = r.types[of]
	if c := r.constants[of]; c != nil {
		r.constants[name] = c
	}
	if d := r.least[of]; d != nil {
		r.least[name] = d
	}
	if s := r.between[of]; s != nil {
		r.between[name] = s
	}
	if s, ok := r.tensors[of]; ok {
		r.tensors[name] = s
		r.alias[name] = r.values(of)
	} else if r.constants[of] == nil {
		r.unknown[name] = fmt.Sprintf("the shape of %q is not known", of)
	}
}

// constant is an input's constant, nil where there is none.
func (n *nodeReader) constant(i int) *graph.Const {
	if i < 0 || i >= len(n.Inputs) || n.Inputs[i] == "" {
		return nil
	}
	return n.constants[n.Inputs[i]]
}

// given reports whether an optional input is there.
func (n *nodeReader) given(i int) bool { return i >= 0 && i < len(n.Inputs) && n.Inputs[i] != "" }

func (n *nodeReader) int(name string, missing int) int {
	if a := n.Attributes[name]; a != nil {
		return int(max(-maxExtent, min(maxExtent, a.Int)))
	}
	return missing
}

func (n *nodeReader) float(name string, missing float32) float32 {
	if a := n.Attributes[name]; a != nil {
		return a.Float
	}
	return missing
}

func (n *nodeReader) text(name, missing string) string {
	if a := n.Attributes[name]; a != nil {
		return a.Text
	}
	return missing
}

// list is a list of integers: an attribute, or, in later versions, a constant input.
func (n *nodeReader) list(name string, input int) ([]int, bool, error) {
	if a := n.Attributes[name]; a != nil {
		values := a.Ints
		if len(values) == 0 && a.Int != 0 {
			values = []int64{a.Int}
		}
		list := make([]int, len(values))
		for i, v := range values {
			list[i] = int(max(-1<<40, min(1<<40, v)))
		}
		return list, true, nil
	}
	if input < 0 || !n.given(input) {
		return nil, false, nil
	}
	c := n.constant(input)
	if c == nil {
		return nil, false, fmt.Errorf("%s is computed, not a constant", n.Inputs[input])
	}
	v, err := c.Ints()
	return slices.Clone(v), true, err
}
