package placement

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/simple"
)

// An Operation is one step of a network. A single backend runs it.
type Operation struct {
	Name, Type string
	Inputs     []string // tensors
	Outputs    []string
	MACs       uint64
	Bytes      uint64 // size of operands and results in fp16
	Elements   uint64 // of the result; without multiply-accumulates, each costs one operation
	Sized      bool   // whether the numbers above are known
	// EngineNs is the engine's time in nanoseconds, if Refused is "".
	EngineNs float64
	Refused  string // why the engine cannot run it
	Note     string // what the engine's support depends on, if it can; often ""
}

// A Network is a list of operations in an order in which they can run, and the sizes of the
// tensors between them.
type Network struct {
	Operations []Operation
	Inputs     []string          // inputs of the network, in the host's layout
	Outputs    []string          // outputs, which the host reads
	Bytes      map[string]uint64 // sizes of tensors in fp16
}

// A Support says whether a backend can run an operation, and how long that would take.
type Support struct {
	Backend string
	Ns      float64 // time in nanoseconds, 0 if not Taken
	Message string  // why the backend cannot run it, what that depends on, or which cost is missing; often ""
	Taken   bool    // whether the backend can run it
}

// A Choice is the backend that a plan selects for an operation, with the resulting costs.
type Choice struct {
	Operation *Operation
	Backend   string // name of the backend
	Support   []Support
	Ns        float64 // time of the operation alone
	LaunchNs  float64 // launch of the segment that begins here, if any
	CrossNs   float64 // cost of the boundary before it
	Crossing  uint64  // bytes repacked at that boundary
}

// A Plan is an assignment of the operations of a network to the backends of a machine. A segment is
// a run of consecutive operations on one backend.
type Plan struct {
	Machine  Machine
	Choices  []Choice
	Ns       float64 // total time
	LeaveNs  float64 // time to repack the outputs for the host
	Segments int
}

// A RefusedError reports that none of the machine's backends can run an operation. Support says
// why for each backend.
type RefusedError struct {
	Operation string
	Support   []Support
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("no backend can run %s: %s: %s", e.Operation, e.Support[0].Backend, e.Support[0].Message)
}

// evaluateSupport returns whether b can run operation o, and how long that would take. For backends
// other than the engine, the time is the longer of the times for the arithmetic and for the memory
// traffic.
func (b *Backend) evaluateSupport(o *Operation) Support {
	s := Support{Backend: b.Name, Taken: true}
	switch {
	case b.Interleaved && o.Refused != "":
		s.Taken, s.Message = false, o.Refused
	case b.Interleaved:
		s.Ns, s.Message = o.EngineNs, o.Note
	case !o.Sized:
		s.Message = "unknown result shape; its cost is left out of the plan"
	default:
		work := 2 * float64(o.MACs)
		if o.MACs == 0 {
			work = float64(o.Elements)
		}
		s.Ns = max(work/b.Rate.Value, float64(o.Bytes)/b.Bandwidth.Value)
	}
	return s
}

// Solve returns the assignment of the operations of n to the backends of m that segmenter s chooses,
// with its cost. It returns a *[RefusedError] if no backend can run some operation, and another error
// if m has no backends.
func Solve(n *Network, m Machine, s Segmenter) (*Plan, error) {
	if len(m.Backends) == 0 {
		return nil, errors.New("machine has no backends")
	}
	g := newCostGraph(n, m)
	for i := range n.Operations {
		taken := false
		for _, s := range g.support[i] {
			taken = taken || s.Taken
		}
		if !taken {
			return nil, &RefusedError{n.Operations[i].Name, g.support[i]}
		}
	}
	p := &Plan{Machine: m}
	before := -1
	// The cost is summed here for any segmenter, so that plans of different ones can be compared.
	for i, b := range s.choose(g) {
		c := Choice{Operation: &n.Operations[i], Backend: m.Backends[b].Name, Support: g.support[i], Ns: g.support[i][b].Ns}
		if b != before {
			p.Segments++
			c.LaunchNs = m.Backends[b].Launch.Value * 1e3
			c.CrossNs, c.Crossing = g.crossingCost(i, before, b)
		}
		before = b
		p.Choices = append(p.Choices, c)
		p.Ns += c.Ns + c.LaunchNs + c.CrossNs
	}
	// The results come back to where the call is made.
	if before >= 0 {
		p.LeaveNs, _ = g.crossingCost(len(n.Operations), before, -1)
		p.Ns += p.LeaveNs
	}
	return p, nil
}

// A costGraph is a graph with one node for each operation and backend. The weight of an edge is a
// time.
type costGraph struct {
	n       *Network
	m       Machine
	support [][]Support
	live    []uint64 // bytes that cross the boundary before each operation, and after the last
}

func newCostGraph(n *Network, m Machine) *costGraph {
	g := &costGraph{n: n, m: m, live: make([]uint64, len(n.Operations)+1)}
	last, first := map[string]int{}, map[string]int{}
	for _, in := range n.Inputs {
		first[in] = 0
	}
	for i := range n.Operations {
		o := &n.Operations[i]
		var list []Support
		for k := range m.Backends {
			list = append(list, m.Backends[k].evaluateSupport(o))
		}
		g.support = append(g.support, list)
		for _, in := range o.Inputs {
			last[in] = i
		}
		for _, out := range o.Outputs {
			first[out] = i + 1
		}
	}
	for _, out := range n.Outputs {
		last[out] = len(n.Operations)
	}
	// A tensor is live before every operation from the one after its producer to its last
	// reader. Differences are summed, because there may be many tensors and operations.
	change := make([]int64, len(g.live)+1)
	for name, from := range first {
		if to, read := last[name]; read && to >= from {
			change[from] += int64(n.Bytes[name])
			change[to+1] -= int64(n.Bytes[name])
		}
	}
	sum := int64(0)
	for i := range g.live {
		sum += change[i]
		g.live[i] = uint64(max(0, sum))
	}
	return g
}

// crossingCost returns the time for passing tensors from one backend to another before operation i,
// and the number of bytes that are repacked. from or to is -1 for the host before or after the
// network.
func (g *costGraph) crossingCost(i, from, to int) (ns float64, bytes uint64) {
	interleaved := func(b int) bool { return b >= 0 && g.m.Backends[b].Interleaved }
	if from >= 0 && to >= 0 {
		ns = g.m.Switch.Value * 1e3
	}
	if interleaved(from) != interleaved(to) {
		bytes = g.live[i]
		ns += float64(bytes) / g.m.Repack.Value
	}
	return ns, bytes
}

func (g *costGraph) sourceID() int64 { return 0 }
func (g *costGraph) sinkID() int64   { return int64(len(g.n.Operations)*len(g.m.Backends)) + 1 }

// nodeID returns the number of the graph's node for operation i on backend b. It is the inverse of
// operationOfNode.
func (g *costGraph) nodeID(i, b int) int64 { return int64(i*len(g.m.Backends)+b) + 1 }

func (g *costGraph) operationOfNode(id int64) (i, b int, ok bool) {
	if id == g.sourceID() || id == g.sinkID() {
		return 0, -1, false
	}
	return int(id-1) / len(g.m.Backends), int(id-1) % len(g.m.Backends), true
}

// From returns the nodes to which an edge leads from the node with the given id. Their order is
// fixed, so that among plans of equal cost the same one is always chosen.
func (g *costGraph) From(id int64) graph.Nodes {
	next := 0
	if i, _, ok := g.operationOfNode(id); ok {
		next = i + 1
	}
	var list []graph.Node
	switch {
	case id == g.sinkID():
	case next == len(g.n.Operations):
		list = append(list, simple.Node(g.sinkID()))
	default:
		for b, s := range g.support[next] {
			if s.Taken {
				list = append(list, simple.Node(g.nodeID(next, b)))
			}
		}
	}
	return iterator.NewOrderedNodes(list)
}

// Edge returns the edge from node u to node v, with its cost as the weight. It returns nil if
// there is none.
func (g *costGraph) Edge(u, v int64) graph.Edge {
	if w, ok := g.Weight(u, v); !ok || u == v {
		return nil
	} else {
		return simple.WeightedEdge{F: simple.Node(u), T: simple.Node(v), W: w}
	}
}

// Weight returns the time in nanoseconds for going from node u to node v: for the change of
// backends, for the launch of a segment, and for v's operation. ok is false if there is no such
// edge.
func (g *costGraph) Weight(u, v int64) (w float64, ok bool) {
	if u == v {
		return 0, true
	}
	before, from, made := g.operationOfNode(u)
	if !made {
		from, before = -1, -1
	}
	i, to, is := g.operationOfNode(v)
	if !is {
		if v != g.sinkID() || u == g.sinkID() || before != len(g.n.Operations)-1 {
			return math.Inf(1), false
		}
		w, _ = g.crossingCost(len(g.n.Operations), from, -1)
		return w, true
	}
	if i != before+1 || u == g.sinkID() || !g.support[i][to].Taken {
		return math.Inf(1), false
	}
	w = g.support[i][to].Ns
	if from != to {
		cross, _ := g.crossingCost(i, from, to)
		w += cross + float64(g.m.Backends[to].Launch.Value*1e3)
	}
	return w, true
}
