package placement

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/iterator"
	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
)

// An Operation is a step of a network, in an order in which they can run.
type Operation struct {
	Name, Type string
	Inputs     []string // tensors
	Outputs    []string
	MACs       uint64
	Bytes      uint64 // of operands and results in fp16
	Elements   uint64 // of the result: what is no product takes an operation each
	Sized      bool   // whether the numbers above are known
	// EngineNs is the device's own time, where Refused is "".
	EngineNs float64
	Refused  string // why the engine does not take it
}

// A Network is operations and the sizes of their tensors.
type Network struct {
	Operations []Operation
	Inputs     []string          // of the network, in the host's layout
	Outputs    []string          // which the host takes
	Bytes      map[string]uint64 // of tensors, in fp16
}

// A Support is what a backend says of an operation.
type Support struct {
	Backend string
	Ns      float64 // 0 where it is not taken
	Message string  // why it is not taken, or what the time leaves out; "" for neither
	Taken   bool
}

// A Choice is where an operation runs.
type Choice struct {
	Operation *Operation
	Backend   string // "" where none takes it
	Support   []Support
	Ns        float64 // of the operation alone
	LaunchNs  float64 // of the segment that it begins
	CrossNs   float64 // of the boundary ahead of it
	Crossing  uint64  // bytes that are repacked there
}

// A Plan is the cheapest way through a network.
type Plan struct {
	Machine  Machine
	Choices  []Choice
	Ns       float64 // of the whole
	LeaveNs  float64 // of taking the outputs back to the host's layout
	Segments int
}

// A RefusedError is an operation that no backend takes.
type RefusedError struct {
	Operation string
	Support   []Support
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("no backend takes %s: %s: %s", e.Operation, e.Support[0].Backend, e.Support[0].Message)
}

// cost is the larger of compute and bandwidth, and whether the backend takes an operation.
func (b *Backend) cost(o *Operation) Support {
	s := Support{Backend: b.Name, Taken: true}
	switch {
	case b.Interleaved && o.Refused != "":
		s.Taken, s.Message = false, o.Refused
	case b.Interleaved:
		s.Ns = o.EngineNs
	case !o.Sized:
		s.Message = "the shape of its result is not known: it is in the plan without a cost"
	default:
		work := 2 * float64(o.MACs)
		if o.MACs == 0 {
			work = float64(o.Elements)
		}
		s.Ns = max(work/b.Rate.Value, float64(o.Bytes)/b.Bandwidth.Value)
	}
	return s
}

// Solve is the cheapest plan. Errors are a *[RefusedError], or a machine without backends.
func Solve(n *Network, m Machine) (*Plan, error) {
	if len(m.Backends) == 0 {
		return nil, fmt.Errorf("no backend to choose from")
	}
	g := newCosts(n, m)
	for i := range n.Operations {
		taken := false
		for _, s := range g.support[i] {
			taken = taken || s.Taken
		}
		if !taken {
			return nil, &RefusedError{n.Operations[i].Name, g.support[i]}
		}
	}
	nodes, total := path.DijkstraFrom(simple.Node(g.source()), g).To(g.sink())
	p := &Plan{Machine: m, Ns: total}
	before := -1
	for _, x := range nodes {
		i, b, ok := g.place(x.ID())
		if !ok {
			continue
		}
		c := Choice{Operation: &n.Operations[i], Backend: m.Backends[b].Name, Support: g.support[i], Ns: g.support[i][b].Ns}
		if b != before {
			p.Segments++
			c.LaunchNs = m.Backends[b].Launch.Value * 1e3
			c.CrossNs, c.Crossing = g.crossing(i, before, b)
		}
		before = b
		p.Choices = append(p.Choices, c)
	}
	if before >= 0 {
		p.LeaveNs, _ = g.crossing(len(n.Operations), before, -1)
	}
	return p, nil
}

// costs is the graph of operations and backends.
type costs struct {
	n       *Network
	m       Machine
	support [][]Support
	live    []uint64 // bytes that cross the boundary ahead of each operation, and behind the last
}

func newCosts(n *Network, m Machine) *costs {
	g := &costs{n: n, m: m, live: make([]uint64, len(n.Operations)+1)}
	last, first := map[string]int{}, map[string]int{}
	for _, in := range n.Inputs {
		first[in] = 0
	}
	for i := range n.Operations {
		o := &n.Operations[i]
		var list []Support
		for k := range m.Backends {
			list = append(list, m.Backends[k].cost(o))
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
	// A tensor is live ahead of every operation from the one behind its maker to its last
	// reader: sums of differences, since there may be many of both.
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

// crossing is what the boundary ahead of operation i costs between two backends, of which
// -1 is the host ahead of the network and behind it.
func (g *costs) crossing(i, from, to int) (ns float64, bytes uint64) {
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

func (g *costs) source() int64 { return 0 }
func (g *costs) sink() int64   { return int64(len(g.n.Operations)*len(g.m.Backends)) + 1 }

// id is the node of an operation on a backend, and place the other way round.
func (g *costs) id(i, b int) int64 { return int64(i*len(g.m.Backends)+b) + 1 }

func (g *costs) place(id int64) (i, b int, ok bool) {
	if id == g.source() || id == g.sink() {
		return 0, -1, false
	}
	return int(id-1) / len(g.m.Backends), int(id-1) % len(g.m.Backends), true
}

// From gives the nodes behind one, in order: equal costs always make the same plan.
func (g *costs) From(id int64) graph.Nodes {
	next := 0
	if i, _, ok := g.place(id); ok {
		next = i + 1
	}
	var list []graph.Node
	switch {
	case id == g.sink():
	case next == len(g.n.Operations):
		list = append(list, simple.Node(g.sink()))
	default:
		for b, s := range g.support[next] {
			if s.Taken {
				list = append(list, simple.Node(g.id(next, b)))
			}
		}
	}
	return iterator.NewOrderedNodes(list)
}

// Edge is the edge between two nodes, nil for none.
func (g *costs) Edge(u, v int64) graph.Edge {
	if w, ok := g.Weight(u, v); !ok || u == v {
		return nil
	} else {
		return simple.WeightedEdge{F: simple.Node(u), T: simple.Node(v), W: w}
	}
}

// Weight is what a step costs: crossing, launch and the operation itself.
func (g *costs) Weight(u, v int64) (w float64, ok bool) {
	if u == v {
		return 0, true
	}
	before, from, made := g.place(u)
	if !made {
		from, before = -1, -1
	}
	i, to, is := g.place(v)
	if !is {
		if v != g.sink() || u == g.sink() || before != len(g.n.Operations)-1 {
			return math.Inf(1), false
		}
		w, _ = g.crossing(len(g.n.Operations), from, -1)
		return w, true
	}
	if i != before+1 || u == g.sink() || !g.support[i][to].Taken {
		return math.Inf(1), false
	}
	w = g.support[i][to].Ns
	if from != to {
		cross, _ := g.crossing(i, from, to)
		w += cross + g.m.Backends[to].Launch.Value*1e3
	}
	return w, true
}
