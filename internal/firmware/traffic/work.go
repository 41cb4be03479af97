package traffic

import (
	"anesim/firmware"
	"anesim/firmware/engine"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/loader"
)

// newWork returns the costs of the call with the result res. If shared is true, other calls can use
// the engine between its runs, so the costs say what that adds.
func newWork(o *engine.Options, res *engine.Result, shared bool) (Work, error) {
	linked, err := res.Program.Link()
	if err != nil {
		return Work{}, err
	}
	d := &res.Dispatches[0]
	w := Work{Energy: d.Energy, Engines: hw.Engines(d.Descriptors), Outside: o.Host.Path(res.Host).Outside}
	for i := range d.Descriptors {
		w.Energy += d.Descriptors[i].Energy
	}
	w.Runs, w.Stoppable = listRuns(res, linked)
	if shared && len(w.Runs) > 1 && len(linked.Tasks) == len(d.Descriptors) {
		w.addSwitches(&o.Chip, linked)
	}
	return w, nil
}

// maxResumed is how many runs of a call after a switch have a time of their own. What a descriptor
// fetches early depends on the one before it, so the times agree with Work.Runs again soon.
const maxResumed = 4

// addSwitches sets w.Stores and w.Resumed for the linked program p.
func (w *Work) addSwitches(c *hw.Chip, p *loader.Linked) {
	tasks := p.Tasks
	w.Stores, w.Resumed = make([]clock.Nanoseconds, len(w.Runs)), make([][]clock.Nanoseconds, len(w.Runs))
	var d hw.DescriptorReport
	starts := []int{0} // index of the first task of each run, and of the end
	chain := hw.NewTimer(*c)
	for i, t := range tasks {
		chain.Time(&d, t)
		if i+1 < len(tasks) && !firmware.EndsRun(t) {
			continue
		}
		if starts = append(starts, i+1); i+1 < len(tasks) { // the last results are in w.Runs
			end, stored := *chain, d // the chain itself goes on
			end.Finish(&stored)
			w.Stores[len(starts)-2] = stored.Time - d.Time
		}
	}
	for r := 1; r < len(w.Runs); r++ {
		cold := hw.NewTimer(*c)
		for k := r; k < min(r+maxResumed, len(w.Runs)); k++ {
			took := clock.Nanoseconds(0)
			for i := starts[k]; i < starts[k+1]; i++ {
				cold.Time(&d, tasks[i])
				if i+1 == len(tasks) {
					cold.Finish(&d)
				}
				took += d.Time
			}
			w.Resumed[r] = append(w.Resumed[r], took)
		}
	}
}

// RunTimes returns the engine times of the runs in the first dispatch of res. A run is a sequence
// of descriptors that must not be interrupted. RunTimes returns an error if the program cannot be
// linked.
func RunTimes(res *engine.Result) ([]clock.Nanoseconds, error) {
	linked, err := res.Program.Link()
	if err != nil {
		return nil, err
	}
	runs, _ := listRuns(res, linked)
	return runs, nil
}

// listRuns returns the times of the runs of res like [RunTimes], and how long after its start each
// can be stopped. The linked program is p.
func listRuns(res *engine.Result, p *loader.Linked) (runs, stoppable []clock.Nanoseconds) {
	var restart firmware.Restart
	begun := false
	tasks, list := p.Tasks, res.Dispatches[0].Descriptors
	for i := range list {
		if !begun {
			runs, stoppable = append(runs, 0), append(stoppable, 0)
			restart.Reset()
		}
		at := len(runs) - 1
		open := i < len(tasks) && restart.Begin(tasks[i]) // nothing is known of others
		runs[at] += list[i].Time
		switch {
		case open:
			stoppable[at] = runs[at]
		case restart.Forbidden():
			stoppable[at] = 0
		}
		begun = i >= len(tasks) || !firmware.EndsRun(tasks[i])
	}
	return runs, stoppable
}
