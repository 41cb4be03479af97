package settle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
	"anesim/loader/network/pattern"
)

// A Node is a node whose results are known, as far as a file and the rules of operators tell
// them: they stand in its Out.
type Node struct {
	*graph.Node
	Label string // its name, or one made of its place
	Kind  Kind

	// Results are those by the operator's own rule, which are at their largest where their size
	// depends on values; nil where it has none for the node. MACs are its multiply-accumulates.
	Results []graph.Result
	MACs    int
	// Spreads are what is known of results whose size depends on values, and Bound their largest
	// shapes.
	Spreads []ops.Spread
	Bound   []graph.Result

	// Body are the nodes that state this one, nil for none. The node by itself takes their place
	// where they do not go, unless Only says that it must not.
	Body []*Node
	Only bool
	// Pieces are the nodes of the file of which this is the operator, for where it does not go.
	Pieces []*Node
	// Sides are those of a computed condition.
	Sides [2]*Side
	// Largest is the node with its inputs at their largest.
	Largest *Node

	// Unstated says why an operator that others make up has no Body, Unsized why it has no
	// Results.
	Unstated, Unsized error
	// Host says why the host computes the node, where a size depends on values.
	Host error
	// Err says why the node is no layer, whatever the engine does.
	Err   error
	Notes []string // about the node, for the reader of the network
}

// A Kind is what has become of a node.
type Kind uint8

// The kinds.
const (
	Open     Kind = iota // it may become layers
	Constant             // its results are constants
	Same                 // its result is its input by another name
	Branch               // Body is the side that a constant condition takes
)

// A Side is what a condition has for one of its two values.
type Side struct {
	Nodes   []*Node
	Outputs []*graph.Value
}

// A TwiceError is a name that two tensors have.
type DuplicateError struct{ Tensor string }

func (e *DuplicateError) Error() string { return fmt.Sprintf("tensor %q is made twice", e.Tensor) }

// Model settles the nodes of a model, in an order in which they can run. It takes what it works
// out from the budget. Errors are a *[TwiceError], or a fault of a pass.
func Model(m *graph.Model, budget *graph.Budget) ([]*Node, error) {
	s := &settler{values: m.Values, budget: budget, taken: map[string]bool{}}
	for _, in := range m.Inputs {
		s.taken[in.Name] = true
	}
	if name := s.findDuplicate(m.Nodes); name != "" {
		return nil, &DuplicateError{name}
	}
	s.declare(&m.Graph)
	list, err := s.settleGraph(&m.Graph)
	if err != nil {
		return nil, err
	}
	if err := check(list); !s.broken && err != nil {
		return nil, fmt.Errorf("settling: %w", err)
	}
	return list, nil
}

// A settler settles the nodes of a file.
type settler struct {
	values map[string]*graph.Value // of the file
	budget *graph.Budget
	depth  int             // of branches
	taken  map[string]bool // names of inputs and of results of nodes
	broken bool            // whether the file has nodes that read what no node before them makes
}

// declare gives values the constants of a graph.
func (s *settler) declare(g *graph.Graph) {
	for name, c := range g.Consts {
		v := s.values[name]
		if v == nil {
			v = &graph.Value{Name: name}
			s.values[name] = v
		}
		v.Set(c)
	}
}

// twice is a result of nodes that something else is called too, "" where there is none: what
// is known of one would be taken for the other's.
func (s *settler) findDuplicate(list []*graph.Node) string {
	for _, node := range list {
		for _, out := range node.Out {
			if out.Given() && s.taken[out.Name] {
				return out.Name
			}
			s.taken[out.Name] = true
		}
	}
	return ""
}

// graph settles the nodes of a graph, those that together are one operator as that too. An
// error is a fault of a pass.
func (s *settler) settleGraph(g *graph.Graph) ([]*Node, error) {
	for i, node := range g.Nodes {
		node.Name = nodeName(i, node) // by the place in the file
	}
	nodes := graph.InReadingOrder(g.Nodes, g.Outputs)
	whole := graph.Check(nodes) == nil // else settling them says what they miss
	s.broken = s.broken || !whole
	pattern.CancelTransposes(nodes, g.Outputs)
	if err := graph.Check(nodes); whole && err != nil {
		return nil, fmt.Errorf("joining transposes: %w", err)
	}
	found, inside := pattern.Find(nodes, g.Outputs)
	if err := graph.Check(pattern.Replace(nodes, found, inside)); whole && err != nil {
		return nil, fmt.Errorf("finding patterns: %w", err)
	}
	var list []*Node
	for i, node := range nodes {
		f := found[i]
		if inside[i] {
			continue
		}
		if f == nil {
			list = append(list, s.settleNode(i, node))
			continue
		}
		list = append(list, s.settlePattern(i, f, nodes)...)
	}
	return list, nil
}

// pieces settles an operator that a file has in pieces, and the pieces: it is one node if it
// may take their place.
func (s *settler) settlePattern(i int, f *pattern.Match, nodes []*graph.Node) []*Node {
	last := nodes[i].Out[0]
	own := *f.Node
	made := *last
	own.Out = []*graph.Value{&made}
	n := &Node{Node: &own, Label: nodeName(i, f.Node)}
	whole := !ops.IsDynamic(n.Node) // the host may have functions for the pieces
	if whole {
		s.settle(n)
	}
	var list []*Node
	for _, k := range slices.Concat(f.Inside, []int{i}) {
		list = append(list, s.settleNode(k, nodes[k]))
	}
	if !whole || n.Err != nil || n.Kind != Open || last.Const != nil {
		return list
	}
	if last.Dims == nil {
		*last = made
	}
	rename([]*Node{n}, &made, last)
	n.Pieces = list
	return []*Node{n}
}

// nodeName is a node's name, or one made of its place.
func nodeName(i int, node *graph.Node) string {
	if node.Name != "" {
		return node.Name
	}
	return node.Op + strconv.Itoa(i)
}

func (s *settler) settleNode(i int, node *graph.Node) *Node {
	n := &Node{Node: node, Label: nodeName(i, node)}
	s.settle(n)
	return n
}

// settle finds out what is known of a node's results.
func (s *settler) settle(n *Node) {
	n.Err = s.settleKind(n)
	if n.Kind == Open && n.Body == nil && (n.Largest == nil || n.Host != nil || n.Err != nil) {
		setShapes(n)
	}
}

func (s *settler) settleKind(n *Node) error {
	if len(n.Out) == 0 {
		return errors.New("it has no output")
	}
	if n.Op == "If" {
		return s.settleIf(n)
	}
	if done, err := s.fold(n); done {
		return nil
	} else if err != nil && !errors.Is(err, graph.ErrBudget) {
		return err
	}
	if name, ok := strings.CutPrefix(n.Op, "mil."); ok {
		return errors.New(cmp.Or(n.Text("why", ""), "no layer of the engine does "+name))
	}
	if done, err := s.settleDynamic(n); done || err != nil {
		return err
	}
	return s.settleOpen(n)
}

// open settles a node that the engine may do.
func (s *settler) settleOpen(n *Node) error {
	if done, err := s.settleScaled(n); done || err != nil {
		n.Only = err == nil
		n.Unsized = inferResults(n)
		return err
	}
	if f := expansionOf(n.Op); f != nil && (n.Op != "FastGelu" || n.Given(1)) { // whose bias may be left out
		n.Unstated = s.expand(n, f)
	}
	n.Unsized = inferResults(n)
	if n.Body == nil && n.Unsized != nil {
		return cmp.Or(n.Unstated, n.Unsized)
	}
	return nil
}

// infer works out the shapes and types of the node's results.
func inferResults(n *Node) error {
	r, err := ops.Infer(n.Node)
	if err != nil {
		return err
	}
	if n.Results = r; len(r) > 0 && r[0].MACs > 0 {
		n.MACs = r[0].MACs
	}
	return nil
}

// give says of results what the node's rule says, or else what the file states: a shape is
// better than none, so that one missing layer does not hide those behind it.
func setShapes(n *Node) {
	if n.Results == nil {
		_ = inferResults(n) // n.Err says what is wrong
	}
	for i, out := range n.Out {
		if !out.Given() {
			continue
		}
		var r *graph.Result
		if i < len(n.Results) {
			r = &n.Results[i]
		} else {
			r = out.Stated
		}
		if r != nil && graph.FitsEngine(r.Dims) {
			out.Dims, out.Type = r.Dims, r.Type
		}
		if out.Dims == nil {
			out.Why = fmt.Sprintf("the shape of %q is not known: %s has none", out.Name, n.Label)
		}
	}
}

// same makes a tensor stand for what another does.
func aliasNode(v, of *graph.Value) *Node {
	if of.Dims != nil {
		v.Dims = of.Dims
	}
	if v.Dims == nil {
		v.Why = fmt.Sprintf("the shape of %q is not known", of.Name)
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
	return &Node{Node: &graph.Node{In: []*graph.Value{of}, Out: []*graph.Value{v}}, Kind: Same}
}
