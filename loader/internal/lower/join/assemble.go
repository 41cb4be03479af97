package join

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// checkTaskCount returns an error if the steps have more tasks than a program can have.
func (j *joiner) checkTaskCount() error {
	count := 0
	for i := range j.steps {
		count += len(j.steps[i].part.output.Tasks)
	}
	return layer.CheckLimit("number of descriptors in a network", count, task.MaxTasks, "split it into networks with at most %d descriptors")
}

// assignPorts gives each input and output of the network a buffer and a port, and stores the
// constants that nodes read in the constant section. It returns a *layer.LimitError if there are
// too many inputs and outputs, or if the rows of the constants have too much padding.
func (j *joiner) assignPorts() error {
	bar := place.Bar4
	addPort := func(index int, d loader.Direction) {
		t := &j.tensors[index]
		t.port = true
		t.spot = place.Spot{Bar: uint32(bar), Base: 0}
		if bar < len(regs.BARs{}) {
			m := place.Surface(t.spot.Bar, t.shape)
			j.builder = append(j.builder, m.ToPort(t.name, d, t.shape))
		}
		bar++ // also beyond the last buffer, so that the error below says how many there are
	}
	addOutputs := func() {
		for _, name := range j.net.Outputs {
			if at := j.names[name]; !j.tensors[at].port {
				addPort(at, loader.Output)
			}
		}
	}
	// Outputs come before inputs if there is a matmul (seen in 8 of 8 programs).
	outputsFirst := j.net.OutputsFirst || j.hasMatMul()
	if outputsFirst {
		addOutputs()
	}
	padding := 0
	read := j.findReadTensors()
	for i := range j.net.Inputs {
		if in := &j.net.Inputs[i]; in.Values == nil {
			addPort(i, loader.Input)
		} else if read[i] {
			padding += place.Surface(0, in.Shape).Depth*in.Shape.N - len(in.Values)*layer.ElementBytes
			if err := layer.CheckLimit("bytes of padding in the rows of constants", padding, maxConstantPadding,
				"give them wider rows, so that padding takes at most %d bytes"); err != nil {
				return err
			}
			j.tensors[i].spot = place.Spot{Bar: regs.BARWeights, Base: j.addConstant(in.encodeValues())}
		}
	}
	if !outputsFirst {
		addOutputs()
	}
	return layer.CheckLimit("number of inputs and outputs", bar-place.Bar4, maxNetworkPorts,
		"split the network into parts with at most %d inputs and outputs")
}

// hasMatMul reports whether any step writes its result to buffer 4. Only matmuls and row chains do.
func (j *joiner) hasMatMul() bool {
	for i := range j.steps {
		if p := j.steps[i].part; p.outputBAR == place.Bar4 {
			return true
		}
	}
	return false
}

// findReadTensors returns, for each tensor, whether any step reads it.
func (j *joiner) findReadTensors() []bool {
	read := make([]bool, len(j.tensors))
	for i := range j.steps {
		for _, in := range j.steps[i].inputs {
			read[in] = true
		}
	}
	return read
}

// encodeValues returns the values of constant t as bytes, with the row padding that tensors have in
// memory.
func (t *Tensor) encodeValues() []byte {
	m := place.Surface(0, t.Shape)
	b := make([]byte, m.Depth*t.Shape.N)
	for i, v := range t.Values {
		coeff.PutHalf(b[i/t.Shape.W*m.Row+i%t.Shape.W*layer.ElementBytes:], uint16(v))
	}
	return b
}

// addConstant appends b to the constant section at a multiple of 64 bytes and returns its
// offset.
func (j *joiner) addConstant(b []byte) int {
	j.constants.Pad(64)
	return j.constants.Add(b)
}

// placeSteps gives all steps their places in memory and in L2. It returns their tasks, the range of
// tasks of each node of the network, and for each node the node whose tasks do its work.
func (j *joiner) placeSteps() (tasks []*task.Task, runs []Run, into []int) {
	j.reserveConstants()
	var kept map[access]*resident
	var shift []int
	var filled []int
	// L2 is decided before memory: a tensor that stays in L2 between steps needs no scratch memory.
	if !j.net.InMemory {
		kept, shift = j.placeResidents()
		filled = j.measureOccupancy(kept)
	}
	resident := make([]bool, len(j.tensors))
	for _, r := range kept {
		resident[r.tensor] = r.loads == nil
	}
	if !j.net.InMemory {
		j.recordSpills(kept)
	}
	scratch := j.placeTensorsInScratch(resident)
	runs = make([]Run, len(j.net.Nodes))
	for i := range j.steps {
		s := &j.steps[i]
		placed := s.part.placeTasks(j.locateBuffers(s, scratch[i]))
		if shift != nil {
			j.retargetTasks(i, placed, kept, shift[i])
			for range placed {
				j.occupied = append(j.occupied, filled[i])
			}
		}
		j.extendNodeRuns(s, Run{First: len(tasks), Tasks: len(placed)}, runs)
		tasks = append(tasks, placed...)
	}
	into = j.mergeTargets()
	for n, by := range into {
		if n != by {
			runs[n] = Run{First: runs[by].First, Pixels: runs[by].Pixels}
		}
	}
	return tasks, runs, into
}

// reserveConstants enlarges the capacity of the constant section once, to hold the constants of all
// parts.
func (j *joiner) reserveConstants() {
	total := 0
	seen := map[*Part]bool{}
	for i := range j.steps {
		if p := j.steps[i].part.constantsOwner(); !seen[p] {
			seen[p] = true
			total += layer.RoundUp(p.output.Constants.Bytes, 64)
		}
	}
	if total > 0 && !j.constants.SizesOnly { // no constants are nil, see [loader.Builder]
		const first = 64 // for zeros before the first
		j.constants.Data = slices.Grow(j.constants.Data, first+total)
	}
}

// mergeTargets returns, for each node of the network, the index of the node whose tasks do its
// work. This is the index of the node itself unless the node was merged into another.
func (j *joiner) mergeTargets() []int {
	into := make([]int, len(j.net.Nodes))
	for i := range into {
		into[i] = i
	}
	for i := range j.steps {
		if f := j.steps[i].chain; f != nil {
			for n, by := range f.none {
				into[j.nodes[n].members[0]] = j.nodes[by].members[0]
			}
		}
	}
	for _, n := range j.nodes {
		for _, other := range n.members[1:] {
			into[other] = into[n.members[0]]
		}
	}
	for i := range j.steps {
		if s := &j.steps[i]; s.doneBy > 0 {
			into[j.nodes[s.node].members[0]] = into[j.nodes[j.steps[s.doneBy-1].node].members[0]]
		}
	}
	return into
}

// extendNodeRuns adds a step's tasks to the runs of the nodes that the step computes: several nodes
// for a row chain, and one node otherwise. program is the range of the step's tasks in the program,
// and runs[n] is the range of tasks of node n so far.
func (j *joiner) extendNodeRuns(s *step, program Run, runs []Run) {
	if s.chain == nil {
		j.extendRun(s.node, program, runs)
		return
	}
	for k, n := range s.chain.nodes {
		r := s.chain.runs[k]
		j.extendRun(n, Run{First: program.First + r.First, Tasks: r.Tasks, Pixels: s.chain.pixels}, runs)
	}
}

// extendRun extends the run of a node by the tasks in added. The run may already hold tasks that
// transpose an input of the node. node is an index after fusion.
func (j *joiner) extendRun(node int, added Run, runs []Run) {
	r := &runs[j.nodes[node].members[0]]
	if r.Tasks == 0 {
		r.First = added.First
	}
	r.Tasks += added.Tasks
	r.Pixels = r.Pixels || added.Pixels
}

// placeTensorsInScratch assigns offsets in the scratch buffer to the tensors between steps, except
// for those that stay in L2 (resident[i] is set for tensor i). It also reserves the scratch memory
// that each step needs while it runs: own[i] is its offset for step i.
func (j *joiner) placeTensorsInScratch(resident []bool) (own []int) {
	steps, tensors := make([]place.Extent, len(j.steps)), make([]place.Extent, len(j.tensors))
	var list []*place.Extent
	add := func(e *place.Extent, bytes, first, last int) {
		*e = place.Extent{Bytes: layer.RoundUp(bytes, place.ScratchPage), First: first, Last: last}
		list = append(list, e)
	}
	for i := range j.steps {
		s := &j.steps[i]
		// A step's own scratch memory and the tensors share the buffer. Both are extents with a lifetime,
		// so they reuse each other's bytes.
		add(&steps[i], s.part.output.Scratch, i, i)
		for _, at := range append([]int{s.output}, s.more...) {
			// Several steps write parts of a concatenation, the first of which begins it.
			if out := &j.tensors[at]; !out.port && !resident[at] && tensors[at].Bytes == 0 {
				add(&tensors[at], place.Surface(regs.BARScratch, out.shape).Depth*out.shape.N, i, out.last)
			}
		}
	}
	place.AllocateScratch(list)
	for _, e := range list {
		j.scratch = max(j.scratch, e.Base+e.Bytes)
	}
	own = make([]int, len(j.steps))
	for i := range j.steps {
		own[i] = steps[i].Base
	}
	for i := range tensors {
		if tensors[i].Bytes > 0 {
			j.tensors[i].spot = place.Spot{Bar: regs.BARScratch, Base: tensors[i].Base}
		}
	}
	return own
}

// locateBuffers returns the place in the program of each buffer that the part of step s uses.
// scratch is the offset of the step's own scratch memory. On the first call for a part,
// locateBuffers appends the part's constants to the constant section.
func (j *joiner) locateBuffers(s *step, scratch int) *place.Spots {
	p := s.part.output
	var at place.Spots
	at[regs.BARScratch] = place.Spot{Bar: regs.BARScratch, Base: scratch}
	owner := s.part.constantsOwner()
	base, ok := j.parts[owner]
	if !ok {
		j.constants.Pad(64)
		base = j.constants.Bytes
		j.constants.Copy(&p.Constants, 0, p.Constants.Bytes)
		j.parts[owner] = base
	}
	at[regs.BARWeights] = place.Spot{Bar: regs.BARWeights, Base: base}
	at[s.part.outputBAR] = j.tensors[s.output].spot
	for k, out := range s.more {
		at[int(s.part.outputBAR)+1+k] = j.tensors[out].spot
	}
	for k, in := range s.inputs {
		at[s.part.inputs[k].BAR] = j.tensors[in].spot
	}
	return &at
}
