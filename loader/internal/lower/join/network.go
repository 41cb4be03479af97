package join

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/x448/float16"

	"anesim/hw/execycles"
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/chain"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// A Network is a list of layers that become one program, with one chain of descriptors.
type Network struct {
	Inputs  []Tensor // ports, and constants in memory
	Nodes   []Node   // each after the nodes whose results it reads
	Outputs []string // names of node results
	// InMemory sends every tensor between nodes through memory, so that none stays in L2. The
	// values are the same either way.
	InMemory bool
	// OutputsFirst numbers the buffers of the outputs below those of the inputs. A network with a
	// matmul does so anyway. Which order the compiler chooses without one is not known: both occur.
	OutputsFirst bool
	Memories     layer.Memories   // the memory sizes that the parts were lowered for
	Target       execycles.Target // whose cycles the descriptors estimate; 0 means H13
}

// A Tensor is an input of a network or a constant that its nodes read.
type Tensor struct {
	Name  string
	Shape layer.Shape
	// Values are the values of a constant, which is stored in the constant section. They are nil
	// for an input, which gets a port.
	Values []float16.Float16
}

// A Node is a compiled layer, with the names of the tensors that it reads and writes. It may read a
// tensor in another shape with the same number of elements. This needs no extra task if the rows
// keep their width, or if there are no gaps between rows in memory. If channels become a row or a
// row becomes channels, a task before the node transposes the tensor. Other changes of shape are
// errors.
type Node struct {
	Part   *Part
	Inputs []string // in the order of Part.Inputs
	Output string
	Rounds bool // the result must be rounded on its own, see [Step]
}

// A Joined is the program that [Network.Join] makes, before its container is built. It also says
// which descriptors do the work of each node.
type Joined struct {
	Builder *loader.Builder
	Nodes   []Run // descriptors of each node; Tasks is 0 if another node does its work
	Into    []int // for each node, the node whose descriptors do its work, often itself
	// L2 is the number of bytes in L2 that hold tensors and tiles during each descriptor. It is nil
	// if all tensors go through memory.
	L2      []int
	Spilled []Spill // tensors that could not stay in L2, largest first
}

// A Spill is a tensor between layers that goes through main memory because it could not stay in L2.
// Why gives the reason.
type Spill struct {
	Tensor string
	Bytes  int
	Why    string
}

// A Run is a range of consecutive descriptors: Tasks descriptors, starting with number First.
type Run struct {
	First, Tasks int
	// Pixels is set if the descriptors are those of a pixel chain, as the compiler of 2026 has them.
	Pixels bool `json:",omitempty"`
}

// A NodeError reports a node of a network that cannot be joined with the others. Node is the index
// of the node in Network.Nodes. For an error in the inputs it is 0, and for an unknown output it is
// the number of nodes.
type NodeError struct {
	Node int
	What string
}

func (e *NodeError) Error() string { return fmt.Sprintf("layer %d: %s", e.Node, e.What) }

// Limits of a program.
const (
	maxNetworkPorts = len(regs.BARs{}) - place.Bar4
	// maxConstantPadding is the largest number of bytes that the rows of a program's constants may
	// have beyond their elements. A row takes 64 bytes, so a constant of one element a row takes 32
	// times its size, which would be out of proportion to the file.
	maxConstantPadding = 256 << 20
)

// Join joins the nodes into one program, which has:
//
//	ports         buffers 4 and up: inputs, then outputs (outputs first after a matmul)
//	tensors       between nodes: in L2 for as long as they are read, or in the scratch
//	              buffer if they do not fit next to what the layers need while they run
//	constants     of each part, at multiples of 64 bytes, in sections of at most 128 MiB
//	descriptors   of all nodes in order, linked into one chain
//
// The error is a *NodeError, or a *layer.LimitError if the network is too large for one program.
func (n *Network) Join() (*Joined, error) {
	j := newJoiner(n)
	if err := j.makeSteps(); err != nil {
		return nil, err
	}
	if err := j.assignPorts(); err != nil {
		return nil, err
	}
	if err := j.checkTaskCount(); err != nil {
		return nil, err
	}
	if err := j.packAllWeights(); err != nil { // takes the most time, so the limits come first
		return nil, err
	}
	j.concatenateInPlace()
	c, runs, into := j.placeSteps()
	if err := task.FirstError(c); err != nil {
		return nil, err
	}
	sections := task.SplitConstants(c, &j.constants, loader.MaxKernelSection, loader.PageSize)
	weights, tensors := 0, 0
	if bar := place.Bar4 + len(j.builder); j.isRelease(layer.Release2026) && bar < len(regs.BARs{}) {
		if at, ok := task.SeparateWeights(c, bar); ok {
			weights, tensors = bar, at
		}
	}
	return &Joined{&loader.Builder{
		Procedure:     "net",
		WeightsBAR:    weights,
		TensorsAt:     uint64(tensors),
		Chain:         chain.Finish(c, n.Target),
		Constants:     j.constants.Data,
		ConstantBytes: uint64(j.constants.Bytes),
		Sections:      sections,
		WindowTaps:    task.WindowTaps(c),
		Ports:         j.builder,
		Scratch:       uint64(j.scratch),
	}, runs, into, j.occupied, j.spilled}, nil
}

// isRelease reports whether layers are compiled as by the given release of the compiler.
func (j *joiner) isRelease(r layer.Release) bool {
	return slices.ContainsFunc(j.nodes, func(n node) bool { return n.Part.Layer.Release == r })
}

// A joiner holds the state of one call of Join.
type joiner struct {
	net        *Network
	nodes      []node
	steps      []step
	tensors    []tensor
	names      map[string]int // indices of tensors
	transposes map[transposeKey]int
	chains     *chainFinder

	builder   []loader.Port
	scratch   int // bytes of the scratch buffer
	constants coeff.Section
	parts     map[*Part]int // offsets of the parts' constants
	readers   map[*Part]map[*task.Tile][]reader

	occupied []int // bytes of L2 in use, for each descriptor
	spilled  []Spill
}

// newJoiner returns a joiner for n without nodes, steps and tensors.
func newJoiner(n *Network) *joiner {
	j := &joiner{net: n, names: map[string]int{}, parts: map[*Part]int{}, transposes: map[transposeKey]int{}}
	j.constants.SizesOnly = slices.ContainsFunc(n.Nodes, func(x Node) bool { return x.Part.Weights.SizesOnly })
	return j
}

// A node is a node after fusion, with the indices of the network's nodes whose work it does. The
// first one gives it its identity in reports.
type node struct {
	Node
	members []int
}

// A step is a part that reads and writes tensors for a node.
type step struct {
	node   int
	part   *Part
	inputs []int
	output int
	more   []int     // further results of a pixel chain
	chain  *rowChain // nil unless the step is a chain
	// doneBy is the number plus 1 of the step that produces the last input of a concatenation without tasks
	// of its own.
	doneBy int
}

// A tensor is a tensor of the network and its place in memory.
type tensor struct {
	name  string
	shape layer.Shape
	last  int  // last step that reads it, or the step that makes it
	port  bool // has a place outside the scratch buffer and L2
	input bool // is an input of the network, not a constant
	// inside says that the tensor is a part of another one, see [joiner.concatenateInPlace].
	inside bool
	spot   place.Spot
}

// A transposeKey identifies a tensor with channels and row transposed to the given row width.
type transposeKey struct{ tensor, width int }

// errorf returns a *NodeError for the node with the given index.
func (n *Network) errorf(node int, format string, args ...any) error {
	return &NodeError{node, fmt.Sprintf(format, args...)}
}

// errorf returns a *NodeError. node is an index into the nodes after fusion; the error names the
// first of the network's nodes that were fused into that node.
func (j *joiner) errorf(node int, format string, args ...any) error {
	return j.net.errorf(j.nodes[node].members[0], format, args...)
}

// makeSteps merges the nodes, finds row chains among them, and turns them into steps that refer to
// tensors by index. It returns a *NodeError if names or shapes of tensors do not match.
func (j *joiner) makeSteps() error {
	if err := j.addInputs(); err != nil {
		return err
	}
	n := j.net
	var err error
	if j.nodes, err = n.fuseNodes(); err != nil {
		return err
	}
	if !n.InMemory {
		// An attention keeps its scores in L2, so a network in memory has none. It is found after the
		// fusion of scales into its products.
		j.nodes = n.fuseAttention(j.nodes)
	}
	f := newChainFinder(n, j.nodes)
	j.chains = f
	for i := 0; i < len(j.nodes); i++ {
		chains, end := f.findPixelChain(i)
		if len(chains) == 0 {
			chains, end = f.findChain(i)
		}
		for k := range chains {
			if err := j.addChain(&chains[k]); err != nil {
				return err
			}
		}
		if len(chains) > 0 {
			i = end - 1
			continue
		}
		if err := j.addNode(i, &j.nodes[i].Node); err != nil {
			return err
		}
	}
	// Only now, because fusion and chains remove tensors that an output may name.
	for _, name := range n.Outputs {
		if at, ok := j.names[name]; !ok || at < len(n.Inputs) {
			return n.errorf(len(n.Nodes), "unknown output %q; want the output of a layer", name)
		}
	}
	if len(n.Nodes) == 0 {
		return n.errorf(0, "network has no layers; want at least one")
	}
	return nil
}

// addInputs appends the network's inputs and constants to the list of tensors. It returns an error
// if a shape is invalid, if a constant has the wrong number of values, or if two inputs have the
// same name.
func (j *joiner) addInputs() error {
	n := j.net
	for i := range n.Inputs {
		in := &n.Inputs[i]
		if err := in.Shape.ValidateSize(); err != nil {
			return err
		}
		if in.Values != nil && len(in.Values) != in.Shape.Elements() {
			return n.errorf(0, "input %q has %d values; want %d", in.Name, len(in.Values), in.Shape.Elements())
		}
		if _, ok := j.names[in.Name]; ok {
			return n.errorf(0, "duplicate input name %q", in.Name)
		}
		j.names[in.Name] = len(j.tensors)
		j.tensors = append(j.tensors, tensor{name: in.Name, shape: in.Shape, port: true, input: in.Values == nil})
	}
	return nil
}

// addNode appends the step that computes a node. i is the node's index after fusion. If the node's
// part needs an input transposed, addNode first appends a step that transposes it.
func (j *joiner) addNode(i int, node *Node) error {
	if want := len(node.Part.Inputs()); want != len(node.Inputs) {
		return j.errorf(i, "found %d inputs; want %d", len(node.Inputs), want)
	}
	return j.addNamedStep(i, node.Part, node.Inputs, node.Output)
}

// addChain appends the step that computes chain f. If the chain needs an input transposed,
// addChain first appends a step that transposes it.
func (j *joiner) addChain(f *rowChain) error {
	if err := j.addNamedStep(f.nodes[0], f.part, f.inputs, f.output); err != nil {
		return err
	}
	s := &j.steps[len(j.steps)-1]
	s.chain = f
	for _, name := range f.more {
		if _, ok := j.names[name]; ok {
			return j.errorf(f.nodes[0], "duplicate tensor name %q", name)
		}
		s.more = append(s.more, len(j.tensors))
		j.names[name] = len(j.tensors)
		j.tensors = append(j.tensors, tensor{name: name, shape: j.chains.shapes[name], last: len(j.steps) - 1})
	}
	return nil
}

// addNamedStep appends a step that runs part on the tensors with the given names and adds its
// result as tensor output. If part needs an input transposed, a step that does so comes first.
// addNamedStep returns a *NodeError for node if an input does not exist or has the wrong size, or
// if output already exists.
func (j *joiner) addNamedStep(node int, part *Part, names []string, output string) error {
	shapes := part.Inputs()
	inputs := make([]int, len(shapes))
	for k, name := range names {
		at, ok := j.names[name]
		if !ok {
			return j.errorf(node, "unknown input %q; want a network input or the output of an earlier layer", name)
		}
		at, err := j.findOrMakeView(node, at, shapes[k])
		if err != nil {
			return err
		}
		inputs[k] = at
	}
	if _, ok := j.names[output]; ok {
		return j.errorf(node, "duplicate tensor name %q", output)
	}
	j.names[output] = j.addStep(node, part, inputs, output)
	return nil
}

// addStep appends a step that runs part on the tensors with indices inputs. It adds a tensor called
// name for the result and returns the index of that tensor.
func (j *joiner) addStep(node int, part *Part, inputs []int, name string) int {
	for _, in := range inputs {
		j.tensors[in].last = len(j.steps)
	}
	j.tensors = append(j.tensors, tensor{name: name, shape: part.Shape, last: len(j.steps)})
	j.steps = append(j.steps, step{node: node, part: part, inputs: inputs, output: len(j.tensors) - 1})
	return len(j.tensors) - 1
}

// findOrMakeView returns the index of a tensor with the values of tensor that can be read in shape
// want. This is tensor itself if its rows in memory suit that shape. Otherwise it is a transpose,
// for which findOrMakeView adds a step on the first call. If a transpose does not help either, the
// error is a *NodeError for node.
func (j *joiner) findOrMakeView(node, tensor int, want layer.Shape) (int, error) {
	have := j.tensors[tensor].shape
	switch {
	case have.Elements() != want.Elements():
		return 0, j.errorf(node, "input %q has shape %v; want %d elements, as in shape %v", j.tensors[tensor].name, have, want.Elements(), want)
	case have.W == want.W || have.HasPackedRows() && want.HasPackedRows():
		return tensor, nil // the same rows, or rows without gaps
	case have.H != 1 || min(have.C, have.W) != 1 || have.C*have.W != max(have.W, want.W) || min(have.W, want.W) != 1:
		return 0, j.errorf(node, "cannot read shape %v as %v: rows in memory are padded to different widths", have, want)
	}
	key := transposeKey{tensor, want.W}
	if at, ok := j.transposes[key]; ok {
		return at, nil
	}
	part, err := NewPart(layer.Unary(layer.Transpose, have), layer.Weights{})
	if err != nil {
		return 0, j.errorf(node, "cannot transpose shape %v to %v: %v", have, want, err)
	}
	at := j.addStep(node, part, []int{tensor}, "")
	j.transposes[key] = at
	return at, nil
}

// packAllWeights packs the weights of all parts, in parallel.
func (j *joiner) packAllWeights() error {
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
				errs[i] = j.packStepWeights(&j.steps[i])
			}
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}

// packStepWeights replaces the part of a step by the same part with its weights. The parts of row
// chains get them here, because package rows packs them in another order.
func (j *joiner) packStepWeights(s *step) error {
	if s.chain != nil {
		low, ok := s.chain.lower(j.chains.shapes, false)
		if !ok {
			return j.errorf(s.node, "cannot place the weights of the matmul chain; want fewer or smaller matmuls")
		}
		s.part = newChainPart(low, s.part.Shape)
		return nil
	}
	p, err := s.part.packWeights()
	if err != nil {
		return j.errorf(s.node, "%v", err)
	}
	s.part = p
	return nil
}
