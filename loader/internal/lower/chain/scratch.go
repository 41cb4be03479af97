package chain

import (
	"slices"

	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// A passedTensor is a tensor that one task writes to the scratch buffer and later tasks read.
type passedTensor struct {
	place.Extent
	writer  int
	readers []reader
}

// A reader identifies a source of a task.
type reader struct {
	task  int
	which task.Operand
	base  int
}

// PassThroughScratch makes tasks pass tensors to each other as Apple's compiler of 2023 does:
// through a ring if possible, and otherwise through the scratch buffer. A ring is a small buffer in
// L2 that one task fills while the next one empties it. In the scratch buffer, each tensor gets the
// lowest address that is free while it is in use. The result is the size of that buffer in bytes.
//
// PassThroughScratch reports false, and changes nothing, if tasks divide a tensor otherwise for writing than
// for reading, as those of a layer that is lowered in parts may. (How Apple's compiler passes such a
// tensor is not known.)
func PassThroughScratch(tasks []*task.Task) (scratch int, ok bool) {
	written := map[int]*passedTensor{} // by base
	var list []*passedTensor
	for i, t := range tasks {
		for _, r := range scratchSources(t, i) {
			p := written[r.base]
			if p == nil {
				return 0, false
			}
			p.readers = append(p.readers, r)
		}
		if t.IsInMemory(task.OperandResult) && t.Bar(task.OperandResult) == place.BarScratch {
			_, g := t.Registers()
			p := &passedTensor{writer: i}
			p.Bytes = int(g.TileDMADst.DstDepthStride.Bytes()) * g.GroupCount()
			written[int(g.TileDMADst.DstBase.Bytes())] = p
			list = append(list, p)
		}
	}
	if slices.ContainsFunc(list, func(p *passedTensor) bool { return len(p.readers) == 0 }) {
		return 0, false
	}
	var kept []*passedTensor
	var extents []*place.Extent
	ringed := map[int]bool{}
	for _, p := range list {
		i := p.writer
		// A ring couples exactly two neighbors, and a task cannot both empty one and fill another (9 of 9
		// programs).
		if len(p.readers) == 1 && p.readers[0].task == i+1 && !ringed[i] && task.CanShareRing(tasks[i], tasks[i+1]) {
			ringed[i+1] = true
			base := 0
			if second := tasks[i].Second; second != nil {
				base = second.At.Base + second.Bytes
			}
			task.ShareRing(tasks[i], tasks[i+1], base)
			continue
		}
		p.First, p.Last = i, p.readers[len(p.readers)-1].task
		kept = append(kept, p)
		extents = append(extents, &p.Extent)
	}
	place.AllocateScratch(extents)
	for _, p := range kept {
		scratch = max(scratch, layer.RoundUp(p.Base+p.Bytes, place.ScratchPage))
		tasks[p.writer].MoveTo(task.OperandResult, p.Base)
		for _, r := range p.readers {
			tasks[r.task].MoveTo(r.which, p.Base)
		}
	}
	return scratch, true
}

// scratchSources returns the sources that task t reads from the scratch buffer. i is the index of t
// in the list of tasks.
func scratchSources(t *task.Task, i int) []reader {
	var list []reader
	for _, which := range [...]task.Operand{task.Operand1, task.Operand2} {
		if t.IsInMemory(which) && t.Bar(which) == place.BarScratch {
			m, _, _, _, _ := t.MemoryOf(which)
			list = append(list, reader{i, which, m.Base})
		}
	}
	return list
}
