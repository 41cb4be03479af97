package network

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/choose"
	"anesim/loader/network/internal/settle"
	"anesim/loader/network/list"
)

// Limits on the memory for computed constants. Each element is converted to and from float64.
const (
	foldedBytes = 2 * graph.NumberBytes // per byte of the file
	maxFolded   = 512 << 20
)

// readGraph builds a network from m, a model whose file has size bytes. It settles all nodes first,
// and then turns each into layers. notes are remarks about the file for the user.
func readGraph(m *graph.Model, size int, notes []string, o Options) (*list.Network, error) {
	// In proportion to the file, so that a small file cannot fold constants of gigabytes.
	budget := &graph.Budget{Bytes: min(foldedBytes*size+16<<20, maxFolded)}
	r := &composer{Builder: list.NewBuilder(), reading: &reading{Shared: choose.NewShared(budget, size), values: m.Values, model: m}}
	r.Tables, r.Release = o.Tables, o.Release
	r.Net.Name = m.Name
	for _, note := range notes {
		r.Note("%s", note)
	}
	if err := r.addInputs(m.Inputs, o.Dims); err != nil {
		var open *DimError
		if errors.As(err, &open) && len(open.Needed) > 0 {
			open.Deciding = findConditionInputs(m, o.Dims)
		}
		return nil, err
	}
	nodes, err := settle.Model(m, budget)
	var twice *settle.DuplicateError
	switch {
	case errors.As(err, &twice), errors.As(err, new(*graph.OrderError)): // a branch may read a result of its own node
		return nil, &list.FormatError{Off: -1, What: err.Error(), Err: err}
	case err != nil:
		return nil, err
	}
	r.readNodes(nodes)
	r.noteUnfolded(nodes)
	for _, out := range m.Results {
		if err := r.addNamedOutput(out); err != nil {
			return nil, err
		}
	}
	for _, v := range r.values {
		if v.Const != nil {
			r.Saturated += v.Const.Clamped
		}
	}
	if r.Saturated > 0 {
		r.Note("%d constant values exceed fp16 and become 65504 or -65504", r.Saturated)
	}
	r.notePaddedReads()
	return runPasses(r.Builder)
}

// noteUnfolded adds a note with the operators on constants that each call computes.
func (r *composer) noteUnfolded(nodes []*settle.Node) {
	var names []string
	for _, n := range nodes {
		if n.Unfolded || slices.ContainsFunc(n.Body, func(b *settle.Node) bool { return b.Unfolded }) {
			names = append(names, n.Label)
		}
	}
	const most = 3
	if k := len(names); k > most {
		names = append(names[:most:most], fmt.Sprintf("%d more", k-most))
	}
	if len(names) > 0 {
		r.Note("each call computes operators on constants, because their results exceed the memory for constants of a file of this size: %s", strings.Join(names, ", "))
	}
}

// A composer builds a network from nodes with ONNX's operators. Other formats are converted to such
// nodes first. A tensor with fewer than four dimensions uses the last of N, C, H, W. The leading
// dimensions of a larger one are merged to N.
type composer struct {
	*list.Builder
	*reading
}

// A reading is the state that all composers of a file share.
type reading struct {
	*choose.Shared
	values map[string]*graph.Value // tensors of the file and of expansions
	model  *graph.Model
}

// findOrAddValue returns the tensor with the given name. If the file does not mention the name,
// findOrAddValue adds a tensor about which nothing is known.
func (r *reading) findOrAddValue(name string) *graph.Value {
	v := r.values[name]
	if v == nil {
		v = &graph.Value{Name: name}
		r.values[name] = v
	}
	return v
}

func (r *composer) addInputs(ports []graph.Port, sizes map[string]int) error {
	ports = slices.Clone(ports)
	for i := range ports {
		if in := &ports[i]; in.Dims == nil { // the user may give a size for each axis
			if in.Dims = make([]graph.Dim, countGivenAxes(in.Name, sizes)); len(in.Dims) == 0 {
				what := fmt.Sprintf("input %q has no shape in the file; want a size for each axis, such as --dim %[2]s:0=1,%[2]s:1=SIZE", in.Name, in.Name)
				return &list.FormatError{Off: -1, What: list.OneLine.Replace(what)}
			}
		}
	}
	b := newBinder(sizes, ports...)
	for _, in := range ports {
		if v, ok := b.integerInput(in); ok {
			r.findOrAddValue(in.Name).Set(&graph.Const{Dims: b.bindDims(in), Type: in.Type, Numbers: []float64{float64(v)}})
			continue
		}
		d := b.bindDims(in)
		r.findOrAddValue(in.Name).Dims, r.findOrAddValue(in.Name).Type = d, in.Type
		// An empty cache of keys, for example: no tensor of the engine is empty, but folding can use it.
		if graph.Elements(d) == 0 {
			r.findOrAddValue(in.Name).Set(&graph.Const{Dims: d, Type: in.Type, Numbers: []float64{}})
			r.Note("input %q of shape %v has no elements, so the network has no such input", in.Name, d)
		}
	}
	if err := b.checkNames(); err != nil {
		return err
	}
	for _, in := range ports {
		d := r.findOrAddValue(in.Name).Dims
		if in.Shapes != nil && d != nil && !in.Shapes.Allow(d) {
			return &ShapeError{in.Name, d, in.Shapes}
		}
		if slices.Contains(b.defaults, in.Name) {
			text := "any other"
			if allowed := in.Shapes.String(); allowed != "" {
				text = allowed
			}
			r.Note("input %q has shape %v, by default; the file allows %s (--dim %s)", in.Name, d, text, strings.Join(b.open[in.Name], ","))
		}
	}
	for _, name := range b.ones {
		r.Note("batch dimension %q has no size in the file and is 1", name)
	}
	// Shapes are checked only for inputs that remain.
	for _, in := range ports {
		if r.findOrAddValue(in.Name).Const != nil {
			continue
		}
		d := r.findOrAddValue(in.Name).Dims
		s, err := choose.ShapeOf(d)
		if err == nil {
			err = list.CheckShape(s)
		}
		if err != nil {
			return &list.FormatError{Off: -1, What: fmt.Sprintf("input %q: %v", in.Name, err)}
		}
		r.Input(in.Name, s)
		last := &r.Net.Inputs[len(r.Net.Inputs)-1]
		last.Dims, last.Type, last.State = d, in.Type.String(), in.State
		switch in.State {
		case "":
		case in.Name:
			r.Note("state %s: native state operations are rejected on the M1; the network only reads it, so it is an input", in.Name)
		default:
			r.Note("state %s: native state operations are rejected on the M1; this is the output-to-input form", in.Name)
		}
	}
	return nil
}

// addNamedOutput records that v is a result of the network, under its name in the file.
func (r *composer) addNamedOutput(v graph.Port) error {
	x := r.findOrAddValue(v.Name)
	if x.Scale > 1 {
		r.Note("output %q has multiples of %g, because its integers exceed fp16", v.Name, x.Scale)
	}
	out := list.Output{Name: v.Name, Tensor: r.TensorOf(v.Name), Dims: x.Dims, Type: v.Type.String(), Unit: x.Scale}
	if x.Type != 0 {
		out.Type = x.Type.String()
	}
	if c := x.Const; c != nil {
		h, err := c.Halves()
		if err != nil {
			return &list.FormatError{Off: -1, What: err.Error(), Err: err}
		}
		r.Net.Constants[v.Name] = h
		out.Tensor, out.Dims = v.Name, append([]int{}, c.Dims...) // a scalar has no dimensions, not unknown ones
		if !c.Type.IsFloat() && !c.Absent() {
			if out.Numbers, err = c.Values(); err != nil {
				return &list.FormatError{Off: -1, What: err.Error(), Err: err}
			}
		}
	}
	r.Net.Results = append(r.Net.Results, out)
	return nil
}

// A nodeReader turns one node of a graph into layers.
type nodeReader struct {
	*choose.Chooser
	*reading
	node   *settle.Node
	outer  *list.Builder // receives the node's layers
	macs   int
	values []*graph.Value // tensors of the node's expansion
}

func (r *composer) readNodes(list []*settle.Node) {
	for _, node := range list {
		if len(node.Pieces) == 0 {
			r.readNode(node)
		} else if r.keepsSpelling(node) || !r.readPattern(node) {
			r.readNodes(node.Pieces)
		}
	}
}

// keepsSpelling reports whether the compiler runs the nodes of which a file makes an operator as they
// are. That of 2026 does so with layer norms and GELUs over the channels of one row of pixels (in 3 of 3
// programs and 1 of 1); RMS norms and other forms of GELU are inferred.
func (r *composer) keepsSpelling(node *settle.Node) bool {
	switch node.Op {
	case "LayerNormalization", "RMSNormalization", "Gelu":
	default:
		return false
	}
	if r.Release != layer.Release2026 || len(node.Results) == 0 {
		return false
	}
	d := node.Results[0].Dims
	return len(d) == 4 && d[0] == 1 && d[2] == 1 && d[3] > 1
}

// readPattern turns an operator that the file states as several nodes into layers. It returns
// false, without adding layers, if the engine cannot run the operator.
func (r *composer) readPattern(node *settle.Node) bool {
	n := r.newReader(node)
	if err := n.readLayers(); err != nil || len(n.Net.Layers) == 0 {
		return false
	}
	last := &n.Net.Layers[len(n.Net.Layers)-1]
	for _, piece := range node.Pieces[:len(node.Pieces)-1] {
		r.Net.Nodes = append(r.Net.Nodes, list.Node{Name: piece.Label, Op: piece.Op, First: len(r.Net.Layers), What: "folded"})
		last.Folded = append(last.Folded, piece.Label)
	}
	r.addNode(n)
	return true
}

func (r *composer) readNode(node *settle.Node) {
	n := r.newReader(node)
	if err := n.readLayers(); err != nil {
		n.refuseNode(err)
	}
	if n.What == "branch" {
		r.keepNodeLayers(n) // its nodes are already counted
		return
	}
	r.addNode(n)
}

// newReader returns a reader for one node. The reader adds layers to a nested builder, so that they
// can be dropped.
func (r *composer) newReader(node *settle.Node) *nodeReader {
	return newNodeReader(node, r.Builder, r.reading)
}

func newNodeReader(node *settle.Node, outer *list.Builder, shared *reading) *nodeReader {
	c := &choose.Chooser{Node: node.Node, Builder: outer.Try(), Shared: shared.Shared, Label: node.Label, Results: node.Results}
	return &nodeReader{Chooser: c, reading: shared, node: node, outer: outer, macs: node.MACs}
}

// keepNodeLayers moves the layers of node n, and the tensors of its expansion, to the network.
func (r *composer) keepNodeLayers(n *nodeReader) {
	n.Keep()
	for _, v := range n.values {
		if r.values[v.Name] == nil {
			r.values[v.Name] = v
		}
	}
}

// addNode adds a node that was read, and its layers, to the network.
func (r *composer) addNode(n *nodeReader) {
	first := len(r.Net.Layers) + n.First
	r.keepNodeLayers(n)
	at := list.Node{Name: n.Label, Op: n.Operator(), MACs: uint64(n.macs), First: first, Layers: len(r.Net.Layers) - first, What: n.What}
	at.Bytes, at.Unsized = n.countOperandBytes()
	for _, a := range n.Attr {
		if a.Graph != nil {
			at.Inside = max(at.Inside, a.Graph.CountNodes())
		}
	}
	r.Net.Nodes = append(r.Net.Nodes, at)
	for k := first; k < len(r.Net.Layers); k++ {
		r.Net.Layers[k].Node = len(r.Net.Nodes) - 1
	}
}

// countOperandBytes returns the size in bytes of the node's operands and results in fp16, and
// whether the shape of a result is unknown. For a Gather, it counts the selected elements instead
// of the whole table.
func (n *nodeReader) countOperandBytes() (sum uint64, unsized bool) {
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
		if out.Given() && !count(out) && !settle.HasExpansion(n.Op) { // an expansion leaves unused results without a shape
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

// refuseNode replaces the layers of the node by a single layer that the engine cannot run. why is
// the reason. If the host has a function for the node, the layer becomes a stage of the host.
func (n *nodeReader) refuseNode(why error) {
	// Layers that the failed attempt has added go with its chooser.
	fresh := newNodeReader(n.node, n.outer, n.reading)
	n.Chooser, n.values, n.macs = fresh.Chooser, nil, fresh.macs
	l := list.Layer{Name: n.Label, Op: n.Operator(), Output: n.Label, Work: uint64(n.macs)}
	if n.Asked(0) {
		l.Output = n.Out[0].Name
	}
	if unknown := (*graph.ShapeError)(nil); errors.As(why, &unknown) {
		l.Behind = unknown.Maker
	}
	for _, in := range n.In {
		if _, ok := n.Shape(in.Name); ok {
			l.Inputs = append(l.Inputs, in.Name)
		}
	}
	var shape *layer.Shape
	// Shapes are kept where they are known: later nodes are then still compiled.
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
	stage, err := n.newHostStage(&l)
	if err != nil {
		why = err
	}
	l.Host = stage
	n.Missing(l, shape, why.Error())
	for _, out := range n.Out {
		n.Net.Layers[len(n.Net.Layers)-1].AddOutput(out.Name)
	}
}

// readLayers turns the node into layers. Results that no layer produces, such as the indices of a
// pool, lose their shapes.
func (n *nodeReader) readLayers() error {
	if err := n.readByKind(); err != nil {
		return err
	}
	for _, out := range n.Out {
		if _, ok := n.Shape(out.Name); !ok && out.Given() && out.Const == nil {
			out.Forget()
		}
	}
	return nil
}

func (n *nodeReader) readByKind() error {
	for _, note := range n.node.Notes {
		n.Note("%s", note)
	}
	switch {
	case n.node.Err != nil:
		if u := (*settle.UndecidedError)(nil); errors.As(n.node.Err, &u) {
			return errors.New(n.explainUndecided(u.What, u.Tensor))
		}
		return n.node.Err
	case n.node.Kind == settle.Constant:
		n.What = "constant"
		return nil
	case n.node.Kind == settle.Branch:
		n.readBranch()
		return nil
	case n.Op == "If":
		return n.readConditional()
	}
	if n.node.Largest != nil && (n.node.Host == nil || n.canStayOnEngine()) {
		if err := n.readAtLargestSize(); err == nil || n.node.Host == nil {
			return err
		}
	}
	if n.node.Host != nil {
		return n.node.Host
	}
	return n.makeLayers()
}

// makeLayers turns the node's expansion into layers. If the node has no expansion, or the expansion
// cannot become layers, it makes layers of the node itself.
func (n *nodeReader) makeLayers() error {
	whole := n.node.Unstated
	var unread *graph.UnreadError
	if errors.As(whole, &unread) {
		return whole // layers of the node itself would ignore it too
	}
	if n.node.Body != nil {
		if whole = n.readExpansion(); whole == nil || n.node.Only {
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

// readExpansion turns the nodes of the expansion into layers. If that fails for one of them, it
// returns the error and adds nothing.
func (n *nodeReader) readExpansion() error {
	all, macs := n.Try(), 0
	var values []*graph.Value
	for _, part := range n.node.Body {
		m := newNodeReader(part, all, n.reading)
		if part.Kind == settle.Same {
			aliasTensor(all, part.Out[0], part.In[0])
		} else if err := m.readLayers(); err != nil {
			m.refuseNode(err)
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

// readBranch turns the branch that a constant condition selects into layers.
func (n *nodeReader) readBranch() {
	inner := &composer{n.Builder, n.reading}
	for _, part := range n.node.Body {
		if part.Kind == settle.Same {
			aliasTensor(n.Builder, part.Out[0], part.In[0])
		} else {
			inner.readNodes([]*settle.Node{part})
		}
	}
	n.What = "branch"
}

// aliasTensor makes tensor v an alias of source: layers that read v will read source instead.
func aliasTensor(b *list.Builder, v, source *graph.Value) {
	if s, ok := b.Shape(source.Name); ok {
		b.SetShape(v.Name, s)
		b.SetTensor(v.Name, b.TensorOf(source.Name))
	} else if source.Const == nil {
		v.Forget()
		v.Why, v.Maker = fmt.Sprintf("shape of %q is unknown", source.Name), source.Maker
	}
}
