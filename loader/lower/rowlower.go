package lower

import (
	"slices"

	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/task"
)

// loweredRows is groups as tasks, and what those need of a program.
type loweredRows struct {
	tasks     task.Chain
	starts    []int // the first task of each group
	constants coeff.Section
	scratch   int           // bytes
	inputs    []string      // tensors, in the order in which they are read first
	ports     []loader.Port // of the inputs
}

// lowerRows lowers groups that follow each other; try leaves the coefficients out, to see
// whether the groups fit. The last one's result is a port in buffer 4, and the inputs are in
// those behind. It reports false where the groups do not fit the L2 or too many tensors come
// from outside.
func lowerRows(groups []rowGroup, shapes map[string]layer.Shape, try bool) (*loweredRows, bool) {
	c := newRowChain(groups)
	c.try = try
	made := map[string]bool{}
	for i := range groups {
		made[groups[i].output] = true
	}
	c.plan()
	out := &loweredRows{}
	bar := uint32(task.Bar5)
	for i := range groups {
		for _, in := range groups[i].inputs {
			c.reads[in]++
			if made[in] || slices.Contains(out.inputs, in) {
				continue
			}
			if bar >= uint32(len(task.Spots{})) {
				return nil, false
			}
			s := shapes[in]
			m := task.Surface(bar, s)
			c.values[in] = &rowValue{name: in, rows: s.N * s.C * s.H, width: s.W, mem: &m}
			out.ports = append(out.ports, m.Port(in, loader.Input, s))
			out.inputs = append(out.inputs, in)
			bar++
		}
	}
	c.output = task.Surface(task.Bar4, shapes[groups[len(groups)-1].output])
	for i := range groups {
		c.step = i
		out.starts = append(out.starts, c.now())
		if !c.ready(&groups[i]) || !c.emit(&groups[i], i == len(groups)-1) {
			return nil, false
		}
	}
	return out, c.into(out)
}

// A rowMatrix is rows in memory.
type rowMatrix struct {
	rows, width int
	at          task.Memory
}

// lowerAlone lowers a group by itself, whose inputs and whose result stand in memory; it
// reports false where that does not fit the L2.
func lowerAlone(g rowGroup, in []rowMatrix, to task.Memory) (*loweredRows, bool) {
	c := newRowChain([]rowGroup{g})
	c.output = to
	for i, name := range g.inputs {
		c.reads[name] = 1
		c.values[name] = &rowValue{name: name, rows: in[i].rows, width: in[i].width, mem: &in[i].at}
	}
	out := &loweredRows{starts: []int{0}}
	return out, c.emit(&c.groups[0], true) && c.into(out)
}

func newRowChain(groups []rowGroup) *rowChain {
	return &rowChain{
		l2: groups[0].layer.L2Bytes(), groups: groups, uses: usesOf(groups),
		values: map[string]*rowValue{}, reads: map[string]int{}, tables: map[string]int{},
		constants: coeff.Section{SizesOnly: slices.ContainsFunc(groups, func(g rowGroup) bool { return g.weights.SizesOnly })},
	}
}

// into finishes the chain; it reports false where it does not fit the L2.
func (c *rowChain) into(out *loweredRows) bool {
	if !c.finish() {
		return false
	}
	out.tasks, out.constants, out.scratch = c.tasks, c.constants, max(c.described, c.kernels.Size)
	return true
}
