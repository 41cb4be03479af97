package settle

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"anesim/internal/network/graph"
)

// A program of the engine has no jumps, so a loop whose number of iterations is known while the file
// is read is unrolled: the nodes of its body are copied once for each iteration. A copy reads the
// tensors that the one before it carries on, without a node in between.

// maxUnrolled limits the number of nodes in the unrolled loops of a file, to as many as a network may
// have layers.
const maxUnrolled = 1 << 16

// An UndecidedError reports that a node cannot be settled because a tensor is computed from the
// network's inputs, such as the condition of a loop.
type UndecidedError struct {
	What   string // the decision that the tensor makes, as in "loop count", and what follows from it
	Tensor *graph.Value
}

func (e *UndecidedError) Error() string { return e.What + " is computed; want a constant" }

// settleLoop settles a Loop node by unrolling it. The count and the condition must be known for
// each iteration.
func (s *settler) settleLoop(n *Node) error {
	u, err := s.newUnrolling(n)
	if err != nil {
		return err
	}
	if len(u.graph.Inputs) != max(2, len(n.In)) {
		return fmt.Errorf("loop body has %d inputs; want %d, the iteration, the condition and the carried tensors", len(u.graph.Inputs), max(2, len(n.In)))
	}
	carried := slices.Clone(n.AllInputs()[min(2, len(n.In)):])
	if len(u.graph.Outputs) < 1+len(carried) || len(n.Out) > len(u.graph.Outputs)-1 {
		return fmt.Errorf("loop body has %d outputs for %d carried tensors and %d results; want the condition, the carried tensors and the stacked results", len(u.graph.Outputs), len(carried), len(n.Out))
	}
	count, limited, err := readDecision(n, 0, "number of rounds is not constant: loop count")
	if err != nil {
		return err
	}
	var condition *graph.Value
	running := 1.0
	if n.Given(1) {
		condition = n.Input(1)
		if running, _, err = readDecision(n, 1, "number of rounds is not constant: loop condition"); err != nil {
			return err
		}
	} else {
		condition = s.newHiddenConstant(n, "condition", graph.Bool, 1)
	}
	var stacked [][]*graph.Value // of each result that is stacked
	for i := 0; running != 0 && (!limited || float64(i) < count); i++ {
		// The count alone does not bound the loop: it may be missing, or 2^62.
		if i == graph.MaxRounds {
			return fmt.Errorf("loop has more than %d rounds; want at most as many", graph.MaxRounds)
		}
		iteration := s.newHiddenConstant(n, fmt.Sprintf("iteration/%d", i), graph.Int64, float64(i))
		out, err := u.addIteration(i, slices.Concat([]*graph.Value{iteration, condition}, carried))
		if err != nil {
			return err
		}
		// A condition that the network computes leaves the number of copies open, and the loop to the
		// host.
		if condition = out[0]; condition.Const == nil {
			return &UndecidedError{"number of rounds is not constant: loop condition", condition}
		}
		if running, err = condition.Const.Scalar(); err != nil {
			return err
		}
		carried = out[1 : 1+len(carried)]
		stacked = append(stacked, out[1+len(carried):])
	}
	for i, out := range n.Out {
		if !out.Given() {
			continue
		}
		if i < len(carried) {
			u.body = append(u.body, newAliasNode(out, carried[i]))
		} else if err := u.stack(out, takeResults(stacked, i-len(carried)), 0); err != nil {
			return err
		}
	}
	n.Kind, n.Body = Branch, u.body
	return nil
}

// readDecision returns the value of input i of n, which decides how often a loop runs. given is
// false if the input is left out. The error is an *[UndecidedError] if the value is not known.
func readDecision(n *Node, i int, what string) (v float64, given bool, err error) {
	if !n.Given(i) {
		return 0, false, nil
	}
	c := n.Const(i)
	if c == nil {
		return 0, true, &UndecidedError{what, n.Input(i)}
	}
	v, err = c.Scalar()
	return v, true, err
}

// takeResults returns result k of each iteration.
func takeResults(iterations [][]*graph.Value, k int) []*graph.Value {
	list := make([]*graph.Value, len(iterations))
	for i, results := range iterations {
		list[i] = results[k]
	}
	return list
}

// settleScan settles a Scan node by unrolling it: the number of iterations is the extent of the axis
// along which the body reads one slice of its inputs after the other.
func (s *settler) settleScan(n *Node) error {
	if n.Opset < 9 {
		return s.settleBatchedScan(n)
	}
	u, err := s.newUnrolling(n)
	if err != nil {
		return err
	}
	scanned := n.Int("num_scan_inputs", 0)
	if scanned < 1 || scanned > len(n.In) || len(u.graph.Inputs) != len(n.In) {
		return fmt.Errorf("%d of %d inputs are scanned by a body of %d inputs; want at least 1, and as many inputs of the body", scanned, len(n.In), len(u.graph.Inputs))
	}
	states, inputs := slices.Clone(n.AllInputs()[:len(n.In)-scanned]), n.In[len(n.In)-scanned:]
	if len(u.graph.Outputs) < len(states) || len(n.Out) > len(u.graph.Outputs) {
		return fmt.Errorf("scan body has %d outputs for %d states and %d results", len(u.graph.Outputs), len(states), len(n.Out))
	}
	steps := -1
	axes := make([]int, scanned)
	for i, v := range inputs {
		d, err := n.Dims(len(states) + i)
		if err != nil {
			return err
		}
		if axes[i], err = n.listedAxis("scan_input_axes", i, len(d)); err != nil {
			return err
		}
		if steps >= 0 && d[axes[i]] != steps {
			return fmt.Errorf("scanned input %q has %d slices; want %d, as the others", v.Name, d[axes[i]], steps)
		}
		steps = d[axes[i]]
	}
	// Each step is a copy of the body in the graph.
	if steps > graph.MaxRounds {
		return fmt.Errorf("scan has %d rounds; want at most %d", steps, graph.MaxRounds)
	}
	var stacked [][]*graph.Value
	for i := range steps {
		in := slices.Clone(states)
		for k, v := range inputs {
			at := i
			if n.listedInt("scan_input_directions", k) != 0 {
				at = steps - 1 - i
			}
			part, err := u.take(v, axes[k], at, i)
			if err != nil {
				return err
			}
			in = append(in, part)
		}
		out, err := u.addIteration(i, in)
		if err != nil {
			return err
		}
		states, stacked = out[:len(states)], append(stacked, out[len(states):])
	}
	for i, out := range n.Out {
		if !out.Given() {
			continue
		}
		if i < len(states) {
			u.body = append(u.body, newAliasNode(out, states[i]))
			continue
		}
		list := takeResults(stacked, i-len(states))
		// 1 prepends each result to the output instead of appending it.
		if n.listedInt("scan_output_directions", i-len(states)) != 0 {
			slices.Reverse(list)
		}
		if err := u.stack(out, list, n.listedInt("scan_output_axes", i-len(states))); err != nil {
			return err
		}
	}
	n.Kind, n.Body = Branch, u.body
	return nil
}

// settleBatchedScan settles a Scan of operator set 8, whose inputs and results have a batch in front. The
// body, which knows no batch, runs along the second axis, for one element of the batch after the other.
func (s *settler) settleBatchedScan(n *Node) error {
	u, err := s.newUnrolling(n)
	if err != nil {
		return err
	}
	scanned, inputs := n.Int("num_scan_inputs", 0), n.AllInputs()
	if len(inputs) > 0 && inputs[0].Given() {
		return fmt.Errorf("sequence_lens %q is not supported", inputs[0].Name)
	}
	if scanned < 1 || scanned >= len(inputs) || len(u.graph.Inputs) != len(inputs)-1 {
		return fmt.Errorf("%d of %d inputs are scanned by a body of %d inputs; want at least 1, and as many inputs of the body", scanned, len(inputs), len(u.graph.Inputs))
	}
	inputs = inputs[1:]
	carried := len(inputs) - scanned
	if len(u.graph.Outputs) < carried || len(n.Out) > len(u.graph.Outputs) {
		return fmt.Errorf("scan body has %d outputs for %d states and %d results", len(u.graph.Outputs), carried, len(n.Out))
	}
	batch, steps := -1, -1
	for i, v := range inputs {
		d, err := n.Dims(1 + i)
		if err != nil {
			return err
		}
		if len(d) < 1 || i >= carried && len(d) < 2 || batch >= 0 && d[0] != batch || i > carried && d[1] != steps {
			return fmt.Errorf("input %q has shape %v; want %d elements of the batch and %d slices, as the others", v.Name, d, batch, steps)
		}
		if batch = d[0]; i >= carried {
			steps = d[1]
		}
	}
	if batch > maxUnrolled || steps > maxUnrolled {
		return fmt.Errorf("a scan of %d slices for each of %d elements of the batch exceeds the limit of %d nodes", steps, batch, maxUnrolled)
	}
	results := make([][]*graph.Value, len(n.Out)) // for each element of the batch
	for b := range batch {
		var states []*graph.Value
		var stacked [][]*graph.Value
		for _, v := range inputs[:carried] {
			part, err := u.take(v, 0, b, b*steps)
			if err != nil {
				return err
			}
			states = append(states, part)
		}
		for i := range steps {
			in, at := slices.Clone(states), i
			for k, v := range inputs[carried:] {
				if at = i; n.listedInt("directions", k) != 0 {
					at = steps - 1 - i
				}
				part, err := u.take(v, 0, b, b*steps+i)
				if err == nil {
					part, err = u.take(part, 0, at, b*steps+i)
				}
				if err != nil {
					return err
				}
				in = append(in, part)
			}
			out, err := u.addIteration(b*steps+i, in)
			if err != nil {
				return err
			}
			states, stacked = out[:carried], append(stacked, out[carried:])
		}
		for i, out := range n.Out {
			switch {
			case !out.Given():
			case i < carried:
				results[i] = append(results[i], states[i])
			default:
				// Results are stacked twice: over the slices here, and over the batch below.
				whole := &graph.Value{Name: u.name(b, out.Name)}
				if err := u.stack(whole, takeResults(stacked, i-carried), 0); err != nil {
					return err
				}
				results[i] = append(results[i], whole)
			}
		}
	}
	for i, out := range n.Out {
		if out.Given() {
			if err := u.stack(out, results[i], 0); err != nil {
				return err
			}
		}
	}
	n.Kind, n.Body = Branch, u.body
	return nil
}

// listedInt returns element i of the list of integers in the named attribute, or 0 if the list is
// missing or shorter.
func (n *Node) listedInt(name string, i int) int {
	list, _, err := n.List(name, -1)
	if err != nil || i >= len(list) {
		return 0
	}
	return list[i]
}

// listedAxis returns element i of the list of axes in the named attribute, from 0 to rank-1.
func (n *Node) listedAxis(name string, i, rank int) (int, error) {
	axis := n.listedInt(name, i)
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= rank {
		return 0, fmt.Errorf("attribute %q has axis %d; want an axis of %d", name, axis, rank)
	}
	return axis, nil
}

// settleSequenceMap settles a SequenceMap node by copying its body once for each element of the
// sequences that it reads. An input that is a tensor is the same for all elements.
func (s *settler) settleSequenceMap(n *Node) error {
	u, err := s.newUnrolling(n)
	if err != nil {
		return err
	}
	if len(n.In) == 0 || len(u.graph.Inputs) != len(n.In) || len(n.Out) > len(u.graph.Outputs) {
		return fmt.Errorf("body has %d inputs and %d outputs for %d inputs and %d results", len(u.graph.Inputs), len(u.graph.Outputs), len(n.In), len(n.Out))
	}
	first, err := sequenceItems(n.Node, 0)
	if err != nil {
		return err
	}
	var results [][]*graph.Value
	for i := range first {
		in := slices.Clone(n.AllInputs())
		for k, v := range in {
			// A tensor among the inputs is the same in every copy.
			if v.Items == nil {
				continue
			}
			if len(v.Items) != len(first) {
				return fmt.Errorf("sequences have %d and %d elements; want equal numbers", len(first), len(v.Items))
			}
			in[k] = v.Items[i]
		}
		out, err := u.addIteration(i, in)
		if err != nil {
			return err
		}
		results = append(results, out)
	}
	for i, out := range n.Out {
		setItems(out, takeResults(results, i))
	}
	n.Kind, n.Body = Branch, u.body
	return nil
}

// An unrolling copies the body of a loop.
type unrolling struct {
	*settler
	node  *Node
	graph *graph.Graph
	body  []*Node
	// shared has the constants that the copies of the body read in place of the file's, so
	// that the elements of each are converted only once. outer has the tensors that are such
	// constants, in place of tensors from outside the body.
	shared map[*graph.Const]*graph.Const
	outer  map[*graph.Value]*graph.Value
}

// newUnrolling returns an unrolling of the body of n. It returns an error if there is none, or if
// graphs are nested too deeply.
func (s *settler) newUnrolling(n *Node) (*unrolling, error) {
	a := n.Attribute("body")
	switch {
	case a == nil || a.Graph == nil:
		return nil, errors.New(`body is missing; want a graph in "body"`)
	case s.depth > maxDepth:
		return nil, fmt.Errorf("nesting of graphs exceeds the limit of %d levels", maxDepth)
	}
	return &unrolling{settler: s, node: n, graph: a.Graph, shared: map[*graph.Const]*graph.Const{}, outer: map[*graph.Value]*graph.Value{}}, nil
}

// name returns a name that no other tensor has, and which says in which iteration of the loop the
// given tensor or node is.
func (u *unrolling) name(iteration int, name string) string {
	return u.newName(fmt.Sprintf("%s/%d/%s", u.node.Label, iteration, name))
}

// newName returns name or, if a tensor has that name, name with a number. A later call returns
// another name. The name does not count as in use until a node that produces it is settled, because
// a branch inside the body must not find its own names in use.
func (s *settler) newName(name string) string {
	fresh := name
	for i := 2; s.taken[fresh] || s.made[fresh] || s.values[fresh] != nil; i++ {
		fresh = fmt.Sprintf("%s/%d", name, i)
	}
	s.made[fresh] = true
	return fresh
}

// newHiddenConstant returns a constant without axes of the loop n that the file does not state.
func (s *settler) newHiddenConstant(n *Node, name string, elem graph.Type, v float64) *graph.Value {
	x := &graph.Value{Name: s.newName(n.Label + "/" + name)}
	x.Set(&graph.Const{Type: elem, Numbers: []float64{v}})
	return x
}

// addIteration settles a copy of the body that reads the tensors in as its inputs, and returns the
// outputs of the copy.
func (u *unrolling) addIteration(i int, in []*graph.Value) ([]*graph.Value, error) {
	if u.copied += 1 + u.graph.CountNodes(); u.copied > maxUnrolled {
		return nil, fmt.Errorf("unrolled loops have more than %d nodes", maxUnrolled)
	}
	own := map[*graph.Value]*graph.Value{}
	for k, v := range u.graph.Inputs {
		own[v] = in[k]
	}
	g := u.copyGraph(u.graph, i, own)
	u.declareConstants(g)
	u.depth++
	list, err := u.settleGraph(g)
	u.depth--
	if err != nil {
		return nil, err
	}
	u.body = append(u.body, list...)
	return g.Outputs, nil
}

// copyGraph returns a copy of g, and of the graphs inside it, for iteration i. Tensors that g
// defines are new, unless own already maps them to others. Other tensors stay the same.
func (u *unrolling) copyGraph(g *graph.Graph, i int, own map[*graph.Value]*graph.Value) *graph.Graph {
	define := func(v *graph.Value) {
		if v.Given() && own[v] == nil {
			own[v] = &graph.Value{Name: u.name(i, v.Name), Stated: v.Stated}
		}
	}
	c := &graph.Graph{Consts: map[string]*graph.Const{}}
	for _, name := range slices.Sorted(maps.Keys(g.Consts)) {
		v := u.values[name]
		if v == nil {
			continue // nothing reads it
		}
		define(v)
		u.values[own[v].Name] = own[v]
		c.Consts[own[v].Name] = u.shareConstant(g.Consts[name])
	}
	for _, v := range g.Inputs {
		define(v) // of a loop inside the body
	}
	// All results are defined before any node is copied, because a file may list nodes in any order.
	for _, n := range g.Nodes {
		for _, out := range n.Out {
			define(out)
		}
	}
	lookUp := func(list []*graph.Value) []*graph.Value {
		list = slices.Clone(list)
		for k, v := range list {
			if list[k] = own[v]; list[k] == nil {
				list[k] = u.shareValue(v)
			}
		}
		return list
	}
	c.Inputs = lookUp(g.Inputs)
	for k, n := range g.Nodes {
		m := *n
		m.Name = u.name(i, nodeName(k, n))
		m.In, m.Out = lookUp(n.In), lookUp(n.Out)
		m.Attr = maps.Clone(n.Attr)
		for _, name := range slices.Sorted(maps.Keys(n.Attr)) {
			if a := n.Attr[name]; a.Graph != nil {
				inner := *a
				inner.Graph = u.copyGraph(a.Graph, i, own)
				m.Attr[name] = &inner
			}
		}
		c.Nodes = append(c.Nodes, &m)
	}
	c.Outputs = lookUp(g.Outputs)
	return c
}

// shareValue returns the tensor that the copies of the body read in place of v, a tensor from
// outside the body: v itself unless it is a large constant.
func (u *unrolling) shareValue(v *graph.Value) *graph.Value {
	if v.Const == nil {
		return v
	}
	if x := u.outer[v]; x != nil {
		return x
	}
	c := u.shareConstant(v.Const)
	if c == v.Const {
		return v
	}
	x := *v
	x.Const = c
	u.outer[v] = &x
	return &x
}

// shareConstant returns c or, if c is a large constant that stays in the file, a copy with its
// elements in fp16. A layer of each iteration then refers to the same elements. Small constants are
// left as they are, because shapes and factors may be computed from them.
func (u *unrolling) shareConstant(c *graph.Const) *graph.Const {
	const large = 1 << 12 // elements
	if c.Elements() < large || !c.Type.IsFloat() || c.Half != nil {
		return c
	}
	if d := u.shared[c]; d != nil {
		return d
	}
	d, err := c.Detach()
	if err != nil || d == c {
		return c // whoever reads the elements reports the error
	}
	d.Packing = c.Packing
	u.shared[c] = d
	return d
}

// addNode settles a node of the loop outside its body, and returns its result, which
// is out, or a new tensor if out is nil.
func (u *unrolling) addNode(out *graph.Value, op string, a attributes, in ...*graph.Value) (*graph.Value, error) {
	name := u.newName(u.node.Label + "/" + op)
	if out == nil {
		out = &graph.Value{Name: name}
	}
	x := &Node{Label: name, Node: &graph.Node{Name: name, Op: op, Attr: a, Opset: u.node.Opset, Off: u.node.Off, In: in, Out: []*graph.Value{out}}}
	u.settleResults(x)
	u.body = append(u.body, x)
	return out, x.Err
}

// take returns the slice of v at one place of an axis, without that axis.
func (u *unrolling) take(v *graph.Value, axis, at, iteration int) (*graph.Value, error) {
	part, err := u.addNode(nil, "Slice", attributes{"axes": newIntsAttr(axis), "starts": newIntsAttr(at), "ends": newIntsAttr(at + 1)}, v)
	if err != nil {
		return nil, err
	}
	return u.addNode(nil, "Squeeze", attributes{"axes": newIntsAttr(axis)}, part)
}

// stack makes out the tensors of list, stacked along a new axis.
func (u *unrolling) stack(out *graph.Value, list []*graph.Value, axis int) error {
	if len(list) == 0 {
		return u.stackNothing(out)
	}
	parts := make([]*graph.Value, len(list))
	for i, v := range list {
		var to *graph.Value
		if len(list) == 1 {
			to = out
		}
		var err error
		if parts[i], err = u.addNode(to, "Unsqueeze", attributes{"axes": newIntsAttr(axis)}, v); err != nil {
			return err
		}
	}
	if len(list) == 1 {
		return nil
	}
	if axis < 0 { // it counts the new axis too, as that of the Concat does
		axis += len(parts[0].Dims)
	}
	_, err := u.addNode(out, "Concat", attributes{"axis": newIntAttr(axis)}, parts...)
	return err
}

// stackNothing makes out the result of a loop without iterations: a tensor without elements, whose
// other extents the file must state.
func (u *unrolling) stackNothing(out *graph.Value) error {
	if out.Stated == nil || len(out.Stated.Dims) == 0 {
		return fmt.Errorf("loop has no iterations, and the file states no shape for %q", out.Name)
	}
	d := slices.Clone(out.Stated.Dims)
	d[0] = 0
	out.Set(&graph.Const{Dims: d, Type: out.Stated.Type, Numbers: []float64{}})
	return nil
}
