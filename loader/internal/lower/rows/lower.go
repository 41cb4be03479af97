package rows

import (
	"slices"

	"anesim/loader"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// A Lowered holds the tasks of a compiled row chain, with the constants, memory and ports that they
// need in a program.
type Lowered struct {
	Tasks     []*task.Task
	Starts    []int // index of the first task of each group
	Constants coeff.Section
	Scratch   int           // bytes
	Inputs    []string      // names of the tensors, in the order of their first reads
	Ports     []loader.Port // ports of the inputs
}

// MaxInputs is the largest number of inputs of a row chain. Each has a buffer.
const MaxInputs = len(place.Spots{}) - place.Bar5

// Lower compiles a row chain, which is a list of groups whose intermediate results stay in L2.
// shapes maps the names of the inputs and of the result to their shapes. The result becomes a port
// in buffer 4, and the inputs become ports in the buffers after it. If dryRun is true, the tasks
// have no weights, which is enough to find out whether the groups fit. Lower sets the Block field
// of the groups. It reports false if they do not fit in L2 or have too many inputs.
func Lower(groups []Group, shapes map[string]layer.Shape, dryRun bool) (*Lowered, bool) {
	chooseBlockMatMuls(groups)
	c := newChain(groups)
	c.dryRun = dryRun
	out := &Lowered{}
	bar := uint32(place.Bar5)
	for i := range groups {
		for _, in := range groups[i].Inputs {
			c.reads[in]++
			if c.makers[in] != nil || slices.Contains(out.Inputs, in) {
				continue
			}
			// Each input needs a buffer of its own, and a descriptor names few.
			if len(out.Inputs) == MaxInputs {
				return nil, false
			}
			s := shapes[in]
			m := place.Surface(bar, s)
			c.values[in] = &value{name: in, rows: s.N * s.C * s.H, width: s.W, mem: &m}
			out.Ports = append(out.Ports, m.ToPort(in, loader.Input, s))
			out.Inputs = append(out.Inputs, in)
			bar++
		}
	}
	c.output = place.Surface(place.Bar4, shapes[groups[len(groups)-1].Output])
	for i := range groups {
		c.step = i
		out.Starts = append(out.Starts, c.taskIndex())
		// Groups are emitted in order, and none looks back: an input that a later group needs in L2 is
		// loaded before the first reader.
		if !c.loadSharedInputs(&groups[i]) || !c.emitGroup(&groups[i], i == len(groups)-1) {
			return nil, false
		}
	}
	return out, c.finishChain(out)
}

// A Matrix is a matrix in memory: its number of rows, its width in elements, and its place.
type Matrix struct {
	Rows, Width int
	At          place.Memory
}

// LowerGroup compiles a single group. The matrices in are its inputs, in the order of g.Inputs, and
// result is the place of its result in memory. LowerGroup reports false if the group does not fit
// in L2.
func LowerGroup(g Group, in []Matrix, result place.Memory) (*Lowered, bool) {
	c := newChain([]Group{g})
	c.output = result
	for i, name := range g.Inputs {
		c.reads[name] = 1
		c.values[name] = &value{name: name, rows: in[i].Rows, width: in[i].Width, mem: &in[i].At}
	}
	out := &Lowered{Starts: []int{0}}
	return out, c.emitGroup(&c.groups[0], true) && c.finishChain(out)
}

// newChain returns a chain that lowers groups, for L2 of the first group's chip.
func newChain(groups []Group) *chain {
	c := &chain{
		results: map[*place.Extent]*task.Tile{},
		l2:      groups[0].Layer.L2Bytes(), groups: groups, uses: findUses(groups),
		values: map[string]*value{}, reads: map[string]int{}, makers: map[string]*Group{}, byRows: map[string]bool{},
		constants: coeff.Section{SizesOnly: slices.ContainsFunc(groups, func(g Group) bool { return g.Weights.SizesOnly })},
	}
	c.nextPair, c.lastLeft = make([]int, len(groups)+1), map[string]int{}
	next := len(groups)
	c.nextPair[next] = next
	for i := range slices.Backward(groups) {
		g := &groups[i]
		c.makers[g.Output] = g
		c.blocks = c.blocks || g.Block
		if g.Kind == PairProduct {
			next = i
			c.lastLeft[g.Inputs[0]] = max(i, c.lastLeft[g.Inputs[0]])
		}
		c.nextPair[i] = next
	}
	c.pairs = next < len(groups)
	return c
}

// finishChain assigns addresses in L2 to the tiles of the chain and stores its tasks and memory
// sizes in out. It reports false if the chain does not fit in L2.
func (c *chain) finishChain(out *Lowered) bool {
	if !c.placeTiles() {
		return false
	}
	for i, t := range c.tasks {
		if t.Planar() && task.IsLinked(c.tasks, i+1) && !c.tasks[i+1].Planar() {
			t.SetPatch(task.LinkedPatch(c.tasks[i+1].PatchLog2()))
		}
	}
	out.Tasks, out.Constants, out.Scratch = c.tasks, c.constants, max(c.described, c.kernelScratch.Size)
	return true
}
