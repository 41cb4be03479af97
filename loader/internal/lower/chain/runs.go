package chain

import "anesim/loader/internal/lower/task"

// findRuns returns a bool for every task, and one for the end of the chain, that says whether a run
// starts there. Tasks of a run pass tiles to each other: a run starts at a task if neither it nor
// any later task reads a tile that an earlier task began. A task whose source is described in the
// scratch buffer starts a run too.
func (p *program) findRuns() []bool {
	inside := make([]int, len(p.tasks)+2) // change of the number of tiles in use at each task
	begun := make(map[*task.Tile]int, len(p.tasks))
	for i, t := range p.tasks {
		for _, operand := range [...]*task.Tile{t.First, t.Second} {
			if operand == nil {
				continue
			}
			from, ok := p.index[operand.Owner]
			if first, several := findFirst(begun, operand); several {
				from = min(from, first)
			}
			if ok && from < i {
				inside[from+1]++
				inside[i+1]--
			}
		}
		for _, written := range [...]*task.Tile{t.First, t.Result} {
			if written == nil || written != t.Result && written.Owner != t {
				continue // First is written only by a task that keeps its source
			}
			if first, ok := findFirst(begun, written); ok {
				begun[written] = first
			} else {
				begun[written] = i
			}
		}
	}
	starts := make([]bool, len(p.tasks)+1)
	held := 0
	for i := range starts {
		held += inside[i]
		starts[i] = i == 0 || i == len(p.tasks) || p.tasks[i].DescribesSource || held == 0 && !p.tasks[i].Continues
	}
	return starts
}

// findFirst returns the task that began tile t or the part of it that was written before.
func findFirst(begun map[*task.Tile]int, t *task.Tile) (first int, ok bool) {
	if first, ok = begun[t]; !ok {
		first, ok = begun[t.Previous]
	}
	return first, ok
}

// setControlWord sets word 6 in the header of task i, whose bits mark the runs of a program: the
// tasks between two points at which another program may get the engine. The first task of a run
// sets bit SPL, and the last one sets bits TSR and TSE. Between two tasks that describe a tile in
// the scratch buffer one run ends and another starts; the first of them sets bit DPC and the second
// SPC (seen in 104 of 104 descriptors). starts[i] says whether task i starts a run.
func (p *program) setControlWord(i int, starts []bool) {
	t := &p.steps[i]
	w := t.h.Control
	w = w.WithSPL(starts[i]).WithTSR(starts[i+1]).WithTSE(starts[i+1])
	w = w.WithDPC(t.DescribesResult).WithSPC(t.DescribesSource)
	w = w.WithTDE(t.h.IsExtended())
	// Set for a planar task whose result stays in the L2, is not described in the scratch buffer,
	// and is not read tile by tile by the MAC engines (seen in 12 of 12 tasks).
	linked := task.IsLinked(p.tasks, i+1) && !p.tasks[i+1].Planar()
	w = w.WithDisallowAbort(t.Planar() && !t.g.DestinationOn() && !t.DescribesResult && !linked)
	if t.Pixels { // in pixel chains it is set for all but the last of a run of planar tasks (seen in 50 of 50 tasks)
		w = w.WithDisallowAbort(t.g.NE.KernelCfg.NextPlanar())
	}
	t.h.Control = w
}
