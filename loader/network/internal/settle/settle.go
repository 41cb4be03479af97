package settle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/internal/pattern"
)

// A Node is a node of a graph together with facts that [Model] infers about it, such as an
// expansion into simpler nodes, or the reason why the host must compute it.
type Node struct {
	*graph.Node
	Label string // its name, or one made from its position
	Kind  Kind
	base  string // start of the names of tensors in its expansion, or "" for the name of its result

	// Results holds the shapes and types that the operator's rule infers: the largest shapes if
	// a size depends on values. It is nil if the rule fails. MACs is the number of
	// multiply-accumulates.
	Results []graph.Result
	MACs    int
	// Unfolded means that the results are constants, but that computing them would need more memory
	// than the budget has.
	Unfolded bool
	// Spreads and Bound hold the bounds and the largest shapes of results whose size depends on
	// values.
	Spreads []ops.Spread
	Bound   []graph.Result

	// Body is the expansion of the node, or nil. If the expansion cannot become layers, the node
	// itself is tried, unless Only is set.
	Body []*Node
	Only bool
	// Pieces are the nodes of the file that this operator replaces. They are used if the engine
	// cannot run the operator.
	Pieces []*Node
	// Sides are the branches of an If with a computed condition.
	Sides [2]*Side
	// Largest is the node with its inputs in their largest shapes.
	Largest *Node

	// Unstated says why the node has no Body although its operator has an expansion. Unsized
	// says why it has no Results.
	Unstated, Unsized error
	// Host says why the host computes the node, if a size depends on values.
	Host error
	// Err says why the node cannot be a layer, regardless of the engine.
	Err   error
	Notes []string // remarks about the node for the user
}

// A Kind distinguishes nodes that may become layers from nodes already known to be constants,
// aliases of their inputs or branches.
type Kind uint8

// The kinds of settled nodes.
const (
	Open     Kind = iota // it may become layers
	Constant             // its results are constants
	Same                 // its result is its input by another name
	Branch               // Body is the branch that a constant condition selects, or an unrolled loop
)

// A Side is one of the two branches of an If node whose condition is computed when the network
// runs.
type Side struct {
	Nodes   []*Node
	Outputs []*graph.Value
}

// A DuplicateError reports that two nodes of a file produce tensors of the same name.
type DuplicateError struct{ Tensor string }

func (e *DuplicateError) Error() string { return fmt.Sprintf("tensor %q is produced twice", e.Tensor) }

// Model settles the nodes of m: it infers the shapes of all tensors, computes constants, and
// rewrites operators as simpler ones. It returns the nodes in an order in which they can run. The
// memory for constants counts against budget.
//
// Model returns a *[DuplicateError] if two tensors have the same name. If a node cannot be settled,
// Model returns no error but sets the node's Err to the reason.
func Model(m *graph.Model, budget *graph.Budget) ([]*Node, error) {
	s := &settler{values: m.Values, budget: budget, taken: map[string]bool{}, made: map[string]bool{}}
	for _, in := range m.Inputs {
		s.taken[in.Name] = true
	}
	if name := s.findDuplicateName(m.Nodes); name != "" {
		return nil, &DuplicateError{name}
	}
	s.declareConstants(&m.Graph)
	list, err := s.settleGraph(&m.Graph)
	if err != nil {
		return nil, err
	}
	if err := checkNodeOrder(list); !s.broken && err != nil {
		return nil, fmt.Errorf("checking the order of nodes: %w", err)
	}
	return list, nil
}

// A settler holds the state of settling the nodes of a file.
type settler struct {
	values map[string]*graph.Value // tensors of the file
	budget *graph.Budget
	depth  int             // nesting of branches
	taken  map[string]bool // names of inputs and of results of nodes
	broken bool            // whether a node of the file reads a tensor that no earlier node produces
	made   map[string]bool // names of the tensors and nodes that copies of loops have
	copied int             // number of nodes that unrolled loops have
}

// declareConstants makes each tensor that g lists as a constant a constant.
func (s *settler) declareConstants(g *graph.Graph) {
	for name, c := range g.Consts {
		v := s.values[name]
		if v == nil {
			v = &graph.Value{Name: name}
			s.values[name] = v
		}
		v.Set(c)
	}
}

// findDuplicateName returns the name of a result that another tensor has too, or "" if there is
// none. It adds all names of results to the names in use.
func (s *settler) findDuplicateName(list []*graph.Node) string {
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

// settleGraph settles the nodes of g, after combining nodes that together form one operator. An
// error means that a pass has a bug.
func (s *settler) settleGraph(g *graph.Graph) ([]*Node, error) {
	for i, node := range g.Nodes {
		node.Name = nodeName(i, node) // by the position in the file
	}
	nodes := graph.InReadingOrder(g.Nodes, g.Outputs)
	whole := graph.Check(nodes) == nil // otherwise settling the nodes reports it
	s.broken = s.broken || !whole
	pattern.CancelTransposes(nodes, g.Outputs)
	pattern.AdvanceTransposes(nodes, g.Outputs)
	if err := graph.Check(nodes); whole && err != nil {
		return nil, fmt.Errorf("combining transposes: %w", err)
	}
	found, inside := pattern.Find(nodes, g.Outputs)
	if err := graph.Check(pattern.Replace(nodes, found, inside)); whole && err != nil {
		return nil, fmt.Errorf("combining nodes: %w", err)
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

// settlePattern settles the operator that match f found, whose last node is nodes[i], and the nodes
// that form it. If the operator may replace these nodes, the result is a single node with them as
// its Pieces; otherwise, it is the nodes that form it.
func (s *settler) settlePattern(i int, f *pattern.Match, nodes []*graph.Node) []*Node {
	last := nodes[i].Out[0]
	own := *f.Node
	made := *last
	own.Out = []*graph.Value{&made}
	n := &Node{Node: &own, Label: nodeName(i, f.Node)}
	whole := !ops.IsDynamic(n.Node) // the host may have functions for the pieces
	if whole {
		s.settleResults(n)
	}
	var list []*Node
	for _, k := range slices.Concat(f.Inside, []int{i}) {
		list = append(list, s.settleNode(k, nodes[k]))
	}
	if !whole || n.Err != nil || n.Kind != Open || last.Const != nil {
		return list
	}
	if made.Dims != nil && last.Dims != nil && !slices.Equal(made.Dims, last.Dims) {
		return list // a number with many axes gives the result more axes than the operator's has
	}
	if last.Dims == nil {
		*last = made
	}
	renameTensor([]*Node{n}, &made, last)
	n.Pieces = list
	return []*Node{n}
}

// nodeName returns the name of node or, if it has none, its operator and its position i, as in
// "Conv12".
func nodeName(i int, node *graph.Node) string {
	if node.Name != "" {
		return node.Name
	}
	return node.Op + strconv.Itoa(i)
}

func (s *settler) settleNode(i int, node *graph.Node) *Node {
	n := &Node{Node: node, Label: nodeName(i, node)}
	s.settleResults(n)
	return n
}

// settleResults infers everything about the results of n: whether they are constants, and their
// shapes and types. It sets n.Err if n cannot be a layer.
func (s *settler) settleResults(n *Node) {
	n.Err = s.settleByKind(n)
	if n.Kind == Open && n.Body == nil && (n.Largest == nil || n.Host != nil || n.Err != nil) {
		setShapes(n)
	}
}

func (s *settler) settleByKind(n *Node) error {
	if len(n.Out) == 0 {
		return errors.New("node has no outputs")
	}
	if !ops.KnowsDomain(n.Node) {
		return ops.NewUnknownError(n.Node)
	}
	var unroll func(*Node) error
	switch n.Op {
	case "If":
		unroll = s.settleIf
	case "Loop":
		unroll = s.settleLoop
	case "Scan":
		unroll = s.settleScan
	case "SequenceMap":
		unroll = s.settleSequenceMap
	}
	if unroll != nil {
		return n.Apply(func() error { return unroll(n) })
	}
	if done, err := s.applyFold(n); done {
		return nil
	} else if errors.Is(err, graph.ErrBudget) {
		// Too large to fold now: the node is then computed when the network runs.
		n.Unfolded = true
	} else if err != nil {
		return err
	}
	for _, prefix := range []string{"mil.", "coreml."} { // of operations and layers that no operator expresses
		if name, ok := strings.CutPrefix(n.Op, prefix); ok {
			return errors.New(cmp.Or(n.Text("why", ""), "engine does not support operator "+name))
		}
	}
	if s.settleEmptyResults(n) {
		n.Kind = Constant
		return nil
	}
	// After folding: a size that looks computed may be a constant by now.
	if done, err := s.settleDynamicNode(n); done || err != nil {
		return err
	}
	return s.settleEngineNode(n)
}

// settleEngineNode settles a node that the engine may run.
func (s *settler) settleEngineNode(n *Node) error {
	if done, err := s.settleScaledNode(n); done || err != nil {
		n.Only = err == nil
		n.Unsized = inferResults(n)
		return err
	}
	f := findExpander(n.Op)
	if f == nil {
		f = operandExpansion(n.Node)
	}
	if f != nil && (n.Op != "FastGelu" || n.Given(1)) { // FastGelu may have no bias
		n.Unstated = s.expandNode(n, f)
	}
	n.Unsized = inferResults(n)
	if n.Body == nil && n.Unsized != nil {
		return cmp.Or(n.Unstated, n.Unsized)
	}
	return nil
}

// inferResults sets n.Results to the shapes and types of the node's results, and n.MACs. It returns
// an error if they cannot be inferred.
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

// explainLackOf returns a text that says that no rule of the node produces its output i.
func (n *Node) explainLackOf(i int) string {
	return fmt.Sprintf("output %d (%q) of operator %s is not modelled", i, n.Out[i].Name, n.Operator())
}

// setShapes sets the shapes of the tensors that n produces to the inferred ones or, failing that,
// to the shapes that the file states. One unsupported layer therefore does not hide the layers
// after it.
func setShapes(n *Node) {
	if n.Results == nil {
		_ = inferResults(n) // n.Err reports the error
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
			out.Why, out.Maker = fmt.Sprintf("shape of %q, a result of %s, is unknown", out.Name, n.Label), n.Label
			if n.Results != nil && r == nil {
				out.Why, out.Maker = n.explainLackOf(i), ""
			}
		}
	}
}

// newAliasNode returns a node that makes v an alias for the tensor source. It also copies what is
// known about source, such as its shape, to v.
func newAliasNode(v, source *graph.Value) *Node {
	if source.Dims != nil {
		v.Dims = source.Dims
	}
	if v.Dims == nil {
		v.Why, v.Maker = fmt.Sprintf("shape of %q is unknown", source.Name), source.Maker
	}
	v.Type = source.Type
	if source.Const != nil {
		v.Const = source.Const
	}
	if source.Least != nil {
		v.Least = source.Least
	}
	if source.Span != nil {
		v.Span = source.Span
	}
	if source.Items != nil {
		v.Items, v.Why = source.Items, source.Why
	}
	return &Node{Node: &graph.Node{In: []*graph.Value{source}, Out: []*graph.Value{v}}, Kind: Same}
}
