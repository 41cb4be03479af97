package join

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/chain"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// A Network is layers that make one program: one chain of descriptors, one dispatch.
type Network struct {
	Inputs  []Tensor // ports, and constants in memory
	Nodes   []Node   // in an order in which they can run
	Outputs []string // tensors of nodes
	// InMemory keeps every tensor between nodes in memory and none in the L2. Values are
	// the same either way.
	InMemory bool
	Memories layer.Memories // that the parts were lowered for
}

// A Tensor is an input of a network.
type Tensor struct {
	Name  string
	Shape layer.Shape
	// Values makes it a constant, which stands in the constant section instead of
	// behind a port.
	Values []float16.Float16
}

// A Node is a part and the tensors it works on. A tensor may be read in another shape of
// as many elements: one of the same width is the same memory, as are rows without gaps in
// rows without gaps, and a row that becomes channels, or channels that become a row, are
// transposed by a task ahead of the part.
type Node struct {
	Part   *Part
	Inputs []string // in the order of the part's
	Output string
	Rounds bool // its result has to be rounded by itself, see [Step]
}

// A Joined is a network as a program's parts.
type Joined struct {
	Builder *loader.Builder
	Nodes   []Run // descriptors of each node, none of one that another does
	Into    []int // the node whose descriptors do a node's work: itself, or another
	// L2 is the bytes of the L2 that each descriptor has tensors and tiles in; nil where
	// every tensor is kept in memory.
	L2      []int
	Spilled []Spill // tensors between layers that go through memory all the same
}

// A Spill is a tensor between layers that does not stay in the L2, and why.
type Spill struct {
	Tensor string
	Bytes  int
	Why    string
}

// A Run is neighbouring descriptors of a chain.
type Run struct{ First, Tasks int }

// A NodeError is a node that does not fit the ones before it.
type NodeError struct {
	Node int
	What string
}

func (e *NodeError) Error() string { return fmt.Sprintf("layer %d: %s", e.Node, e.What) }

// Limits of a program.
const (
	maxNetworkPorts = len(regs.BARs{}) - place.Bar4
)

// Join strings the nodes together:
//
//	ports         buffers 4 and up: inputs, then outputs
//	tensors       between nodes in the L2 for as long as they are read, or in the
//	              scratch buffer where they do not fit, beside what a layer needs while
//	              it runs
//	constants     those of each part, at multiples of 64 bytes
//	descriptors   of the nodes one after the other, linked as one chain
//
// Errors are a *NodeError, or a *LimitError where the network is too large for one
// program.
func (n *Network) Join() (*Joined, error) {
	j := &joiner{net: n, names: map[string]int{}, parts: map[*Part]int{}, turned: map[turn]int{}}
	j.constants.SizesOnly = slices.ContainsFunc(n.Nodes, func(x Node) bool { return x.Part.Weights.SizesOnly })
	if err := j.wire(); err != nil {
		return nil, err
	}
	if err := j.ports(); err != nil {
		return nil, err
	}
	if err := j.pack(); err != nil {
		return nil, err
	}
	c, runs, into := j.place()
	if err := layer.CheckLimit("descriptors of a network", len(c), task.MaxTasks, "split it into networks of at most %d"); err != nil {
		return nil, err
	}
	if err := task.FirstError(c); err != nil {
		return nil, err
	}
	return &Joined{&loader.Builder{
		Procedure:     "net",
		Chain:         chain.Finish(c),
		Constants:     j.constants.Data,
		ConstantBytes: uint64(j.constants.Bytes),
		Ports:         j.builder,
		Scratch:       uint64(j.scratch),
	}, runs, into, j.occupied, j.spilled}, nil
}

// A joiner is a network on its way to a program.
type joiner struct {
	net     *Network
	nodes   []node
	steps   []step
	tensors []inMemory
	names   map[string]int // tensors by name
	turned  map[turn]int

	builder   []loader.Port
	scratch   int // bytes of the scratch buffer
	constants coeff.Section
	parts     map[*Part]int // where the constants of each stand
	readers   map[*Part]map[*task.Tile][]reader

	occupied []int // of the L2, a descriptor
	spilled  []Spill
}

// A node is a part and the nodes of the network whose work it does, the one that it is told as
// first.
type node struct {
	Node
	does []int
}

// A step is a part at work on tensors, for a node.
type step struct {
	node   int
	part   *Part
	inputs []int
	output int
	folded *folded // nil for one node
}

// inMemory is a tensor and its place.
type inMemory struct {
	name  string
	shape layer.Shape
	last  int // step that reads it last, or makes it
	port  bool
	input bool // of the network, not a constant
	at    place.Spot
}

// A turn is a tensor with channels and row transposed.
type turn struct{ tensor, width int }

func (n *Network) wrong(node int, format string, args ...any) error {
	return &NodeError{node, fmt.Sprintf(format, args...)}
}

// wrong is an error of a node of those that are left.
func (j *joiner) wrong(node int, format string, args ...any) error {
	return j.net.wrong(j.nodes[node].does[0], format, args...)
}

// wire makes steps of the nodes.
func (j *joiner) wire() error {
	n := j.net
	for i := range n.Inputs {
		in := &n.Inputs[i]
		if err := in.Shape.Validate(); err != nil {
			return err
		}
		if in.Values != nil && len(in.Values) != in.Shape.Elements() {
			return n.wrong(0, "input %q has %d values, want %d", in.Name, len(in.Values), in.Shape.Elements())
		}
		if _, twice := j.names[in.Name]; twice {
			return n.wrong(0, "two inputs are called %q", in.Name)
		}
		j.names[in.Name] = len(j.tensors)
		j.tensors = append(j.tensors, inMemory{name: in.Name, shape: in.Shape, port: true, input: in.Values == nil})
	}
	var err error
	if j.nodes, err = n.fused(); err != nil {
		return err
	}
	f := newFolder(n, j.nodes)
	for i := 0; i < len(j.nodes); i++ {
		parts, end := f.folds(i)
		for k := range parts {
			if err := j.folded(&parts[k]); err != nil {
				return err
			}
		}
		if len(parts) > 0 {
			i = end - 1
			continue
		}
		if err := j.node(i, &j.nodes[i].Node); err != nil {
			return err
		}
	}
	for _, name := range n.Outputs {
		if at, ok := j.names[name]; !ok || at < len(n.Inputs) {
			return n.wrong(len(n.Nodes), "no layer makes the output %q", name)
		}
	}
	if len(n.Nodes) == 0 {
		return n.wrong(0, "the network has no layers")
	}
	return nil
}

// node makes a node a step, behind those that transpose its inputs.
func (j *joiner) node(i int, node *Node) error {
	shapes := node.Part.Inputs()
	if len(shapes) != len(node.Inputs) {
		return j.wrong(i, "%d inputs, the layer takes %d", len(node.Inputs), len(shapes))
	}
	inputs := make([]int, len(shapes))
	for k, name := range node.Inputs {
		at, ok := j.names[name]
		if !ok {
			return j.wrong(i, "no layer before it makes %q", name)
		}
		at, err := j.view(i, at, shapes[k])
		if err != nil {
			return err
		}
		inputs[k] = at
	}
	if _, twice := j.names[node.Output]; twice {
		return j.wrong(i, "%q is made twice", node.Output)
	}
	j.names[node.Output] = j.step(i, node.Part, inputs, node.Output)
	return nil
}

// folded makes several nodes one step.
func (j *joiner) folded(f *folded) error {
	shapes := f.part.Inputs()
	inputs := make([]int, len(f.inputs))
	for k, name := range f.inputs {
		at, ok := j.names[name]
		if !ok {
			return j.wrong(f.nodes[0], "no layer before it makes %q", name)
		}
		at, err := j.view(f.nodes[0], at, shapes[k])
		if err != nil {
			return err
		}
		inputs[k] = at
	}
	if _, twice := j.names[f.output]; twice {
		return j.wrong(f.nodes[0], "%q is made twice", f.output)
	}
	j.names[f.output] = j.step(f.nodes[0], f.part, inputs, f.output)
	j.steps[len(j.steps)-1].folded = f
	return nil
}

// step appends a step and returns its output.
func (j *joiner) step(node int, part *Part, inputs []int, name string) int {
	for _, in := range inputs {
		j.tensors[in].last = len(j.steps)
	}
	j.tensors = append(j.tensors, inMemory{name: name, shape: part.Shape, last: len(j.steps)})
	j.steps = append(j.steps, step{node, part, inputs, len(j.tensors) - 1, nil})
	return len(j.tensors) - 1
}

// view is the tensor that has the values of one in another shape.
func (j *joiner) view(node, tensor int, want layer.Shape) (int, error) {
	have := j.tensors[tensor].shape
	switch {
	case have.Elements() != want.Elements():
		return 0, j.wrong(node, "%q is %v, the layer takes %v", j.tensors[tensor].name, have, want)
	case have.W == want.W || have.HasPackedRows() && want.HasPackedRows():
		return tensor, nil // rows follow each other without a gap, whatever axes they are of
	case have.H != 1 || min(have.C, have.W) != 1 || have.C*have.W != max(have.W, want.W) || min(have.W, want.W) != 1:
		return 0, j.wrong(node, "no task takes %v for %v: rows are padded in memory", have, want)
	}
	key := turn{tensor, want.W}
	if at, ok := j.turned[key]; ok {
		return at, nil
	}
	part, err := NewPart(layer.Unary(layer.Transpose, have), layer.Weights{})
	if err != nil {
		return 0, j.wrong(node, "taking %v for %v: %v", have, want, err)
	}
	at := j.step(node, part, []int{tensor}, "")
	j.turned[key] = at
	return at, nil
}

// pack has the coefficients made of all parts that stand by themselves.
func (j *joiner) pack() error {
	errs := make([]error, len(j.steps))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(j.steps)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(j.steps) {
					return
				}
				s := &j.steps[i]
				if p, err := s.part.whole(); err != nil {
					errs[i] = j.wrong(s.node, "%v", err)
				} else {
					s.part = p
				}
			}
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// ports gives inputs and outputs their buffers, and constants their place.
func (j *joiner) ports() error {
	bar := place.Bar4
	give := func(at int, d loader.Direction) {
		t := &j.tensors[at]
		t.port = true
		t.at = place.Spot{Bar: uint32(bar), Base: 0}
		if bar < len(regs.BARs{}) {
			m := place.Surface(t.at.Bar, t.shape)
			j.builder = append(j.builder, m.ToPort(t.name, d, t.shape))
		}
		bar++
	}
	outputs := func() {
		for _, name := range j.net.Outputs {
			if at := j.names[name]; !j.tensors[at].port {
				give(at, loader.Output)
			}
		}
	}
	// The results of matrix products stand ahead of the inputs (8/8).
	first := j.products()
	if first {
		outputs()
	}
	for i := range j.net.Inputs {
		if in := &j.net.Inputs[i]; in.Values == nil {
			give(i, loader.Input)
		} else if j.read(i) {
			j.tensors[i].at = place.Spot{Bar: regs.BARWeights, Base: j.constant(in.bytes())}
		}
	}
	if !first {
		outputs()
	}
	return layer.CheckLimit("inputs and outputs of a network", bar-place.Bar4, maxNetworkPorts,
		"split it into networks of at most %d")
}

// products reports whether a matrix product is among the steps.
func (j *joiner) products() bool {
	for i := range j.steps {
		if p := j.steps[i].part; p.surface == place.Bar4 {
			return true
		}
	}
	return false
}

// read reports whether any step reads a tensor.
func (j *joiner) read(tensor int) bool {
	for i := range j.steps {
		if slices.Contains(j.steps[i].inputs, tensor) {
			return true
		}
	}
	return false
}

// bytes is the tensor as it stands in memory.
func (t *Tensor) bytes() []byte {
	m := place.Surface(0, t.Shape)
	b := make([]byte, m.Depth*t.Shape.N)
	for i, v := range t.Values {
		coeff.PutHalf(b[i/t.Shape.W*m.Row+i%t.Shape.W*layer.ElementBytes:], uint16(v))
	}
	return b
}

// constant appends to the constant section and returns where.
func (j *joiner) constant(b []byte) int {
	j.constants.Pad(64)
	return j.constants.Add(b)
}

// place gives every step its memory and returns the tasks, and those of each node.
func (j *joiner) place() ([]*task.Task, []Run, []int) {
	var c []*task.Task
	runs, into := make([]Run, len(j.net.Nodes)), make([]int, len(j.net.Nodes))
	for i := range into {
		into[i] = i
	}
	total := j.constants.Bytes
	seen := map[*Part]bool{}
	for i := range j.steps {
		if p := j.steps[i].part; !seen[p] {
			seen[p] = true
			total += layer.RoundUp(p.made.Constants.Bytes, 64)
		}
	}
	if total > 0 && !j.constants.SizesOnly {
		j.constants.Data = append(make([]byte, 0, layer.RoundUp(total, 64)+64), j.constants.Data...)
	}
	var kept map[access]*resident
	var shift []int
	var filled []int
	if !j.net.InMemory {
		kept, shift = j.reside()
		filled = j.filled(kept, shift)
	}
	resident := make([]bool, len(j.tensors))
	for _, r := range kept {
		resident[r.tensor] = r.loads == nil
	}
	if !j.net.InMemory {
		j.spills(kept)
	}
	own := j.spill(resident)
	for i := range j.steps {
		s := &j.steps[i]
		tasks := s.part.place(j.spots(s, own[i]))
		if shift != nil {
			j.settle(i, tasks, kept, shift[i])
			for range tasks {
				j.occupied = append(j.occupied, filled[i])
			}
		}
		if f := s.folded; f != nil {
			for k, n := range f.nodes {
				j.gives(n, Run{len(c) + f.runs[k].First, f.runs[k].Tasks}, runs)
			}
			for n, by := range f.none {
				into[j.nodes[n].does[0]] = j.nodes[by].does[0]
			}
		} else {
			j.gives(s.node, Run{len(c), len(tasks)}, runs)
		}
		c = append(c, tasks...)
	}
	for _, n := range j.nodes {
		for _, other := range n.does[1:] {
			into[other] = into[n.does[0]]
		}
	}
	for n, by := range into {
		if n != by {
			runs[n] = Run{First: runs[by].First}
		}
	}
	return c, runs, into
}

// gives adds descriptors to those of a node, which may have some that transpose its input.
func (j *joiner) gives(node int, more Run, runs []Run) {
	r := &runs[j.nodes[node].does[0]]
	if r.Tasks == 0 {
		r.First = more.First
	}
	r.Tasks += more.Tasks
}

// spill gives the tensors between steps that are not resident their places in the scratch
// buffer, beside what the steps have there while they run. It returns where that is.
func (j *joiner) spill(resident []bool) (own []int) {
	steps, tensors := make([]place.Extent, len(j.steps)), make([]place.Extent, len(j.steps))
	var list []*place.Extent
	add := func(e *place.Extent, bytes, first, last int) {
		*e = place.Extent{Bytes: layer.RoundUp(bytes, place.ScratchPage), First: first, Last: last}
		list = append(list, e)
	}
	for i := range j.steps {
		s := &j.steps[i]
		if n := s.part.made.Scratch; n > 0 {
			add(&steps[i], n, i, i)
		}
		if out := &j.tensors[s.output]; !out.port && !resident[s.output] {
			add(&tensors[i], place.Surface(regs.BARScratch, out.shape).Depth*out.shape.N, i, out.last)
		}
	}
	place.AllocateScratch(list)
	for _, e := range list {
		j.scratch = max(j.scratch, e.Base+e.Bytes)
	}
	own = make([]int, len(j.steps))
	for i := range j.steps {
		own[i] = steps[i].Base
		if tensors[i].Bytes > 0 {
			j.tensors[j.steps[i].output].at = place.Spot{Bar: regs.BARScratch, Base: tensors[i].Base}
		}
	}
	return own
}

// spots are the places of a step's buffers; own is where what it has in the scratch buffer
// begins.
func (j *joiner) spots(s *step, own int) *place.Spots {
	p := s.part.made
	var at place.Spots
	at[regs.BARScratch] = place.Spot{Bar: regs.BARScratch, Base: own}
	base, ok := j.parts[s.part]
	if !ok && p.Constants.Bytes > 0 {
		j.constants.Pad(64)
		base = j.constants.Bytes
		j.constants.Copy(&p.Constants, 0, p.Constants.Bytes)
		j.parts[s.part] = base
	}
	at[regs.BARWeights] = place.Spot{Bar: regs.BARWeights, Base: base}
	at[s.part.surface] = j.tensors[s.output].at
	for k, in := range s.inputs {
		at[s.part.inputs[k].BAR] = j.tensors[in].at
	}
	return &at
}
