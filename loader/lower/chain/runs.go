package chain

import "anesim/loader/lower/task"

// findRuns returns for every task, and for the end, whether a run of tasks that pass tiles on to
// each other begins there: no tile that an earlier task has begun is read from there on, but
// for one that is described in the scratch buffer.
func (p *program) findRuns() []bool {
	inside := make([]int, len(p.tasks)+2) // what of the tiles that are held over begins and ends
	begun := make(map[*task.Tile]int, len(p.tasks))
	for i, t := range p.tasks {
		if t.Continues {
			inside[i]++
			inside[i+1]--
		}
		for _, operand := range [...]*task.Tile{t.First, t.Second} {
			if operand == nil {
				continue
			}
			from, ok := p.index[operand.Owner]
			if first, several := begun[operand]; several {
				from = min(from, first)
			}
			if ok && from < i {
				inside[from+1]++
				inside[i+1]--
			}
		}
		if _, ok := begun[t.Result]; !ok && t.Result != nil {
			begun[t.Result] = i
			if first, ok := begun[t.Result.Previous]; ok {
				begun[t.Result] = first
			}
		}
	}
	starts := make([]bool, len(p.tasks)+1)
	held := 0
	for i := range starts {
		held += inside[i]
		starts[i] = held == 0 || i == 0 || i == len(p.tasks) || p.tasks[i].DescribesSource
	}
	return starts
}

// control writes header word 6. Tasks that pass tiles on to each other form a run; a
// run starts with SPL and ends with TSR and TSE. A pair that describes its tile in the
// scratch buffer ends one run and starts the next, marked DPC and SPC. (104/104)
func (p *program) setControl(i int, starts []bool) {
	t := &p.steps[i]
	w := t.h.Control
	w = w.WithSPL(starts[i]).WithTSR(starts[i+1]).WithTSE(starts[i+1])
	w = w.WithDPC(t.DescribesResult).WithSPC(t.DescribesSource)
	w = w.WithTDE(t.h.KernelBases&3 == 3)
	// A planar task whose result stays in the L2, is described nowhere and is not taken
	// tile by tile by the MAC engines (12/12).
	handed := task.IsLinked(p.tasks, i+1) && !p.tasks[i+1].Planar()
	w = w.WithDisallowAbort(t.Planar() && !t.g.DestinationOn() && !t.DescribesResult && !handed)
	t.h.Control = w
}
