package rows

import (
	"slices"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// A Lowered is groups as tasks, and what those need of a program.
type Lowered struct {
	Tasks     []*task.Task
	Starts    []int // the first task of each group
	Constants coeff.Section
	Scratch   int           // bytes
	Inputs    []string      // tensors, in the order in which they are read first
	Ports     []loader.Port // of the inputs
}

// Lower lowers groups that follow each other; try leaves the coefficients out, to see
// whether the groups fit. The last one's result is a port in buffer 4, and the inputs are in
// those behind. It reports false where the groups do not fit the L2 or too many tensors come
// from outside.
func Lower(groups []Group, shapes map[string]layer.Shape, dryRun bool) (*Lowered, bool) {
	c := newChain(groups)
	c.dryRun = dryRun
	made := map[string]bool{}
	for i := range groups {
		made[groups[i].Output] = true
	}
	planBlocks(groups)
	out := &Lowered{}
	bar := uint32(place.Bar5)
	for i := range groups {
		for _, in := range groups[i].Inputs {
			c.reads[in]++
			if made[in] || slices.Contains(out.Inputs, in) {
				continue
			}
			if bar >= uint32(len(place.Spots{})) {
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
		if !c.loadShared(&groups[i]) || !c.emit(&groups[i], i == len(groups)-1) {
			return nil, false
		}
	}
	return out, c.finishInto(out)
}

// A Matrix is rows in memory.
type Matrix struct {
	Rows, Width int
	At          place.Memory
}

// Alone lowers a group by itself, whose inputs and whose result stand in memory; it
// reports false where that does not fit the L2.
func LowerGroup(g Group, in []Matrix, to place.Memory) (*Lowered, bool) {
	c := newChain([]Group{g})
	c.output = to
	for i, name := range g.Inputs {
		c.reads[name] = 1
		c.values[name] = &value{name: name, rows: in[i].Rows, width: in[i].Width, mem: &in[i].At}
	}
	out := &Lowered{Starts: []int{0}}
	return out, c.emit(&c.groups[0], true) && c.finishInto(out)
}

func newChain(groups []Group) *chain {
	return &chain{
		results: map[*place.Extent]*task.Tile{},
		l2:      groups[0].Layer.L2Bytes(), groups: groups, uses: findUses(groups),
		values: map[string]*value{}, reads: map[string]int{},
		constants: coeff.Section{SizesOnly: slices.ContainsFunc(groups, func(g Group) bool { return g.Weights.SizesOnly })},
	}
}

// into finishes the chain; it reports false where it does not fit the L2.
func (c *chain) finishInto(out *Lowered) bool {
	if !c.placeTiles() {
		return false
	}
	out.Tasks, out.Constants, out.Scratch = c.tasks, c.constants, max(c.described, c.kernelScratch.Size)
	return true
}
