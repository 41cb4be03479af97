package chain

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/lower/task"
)

// Finish2020 is Finish as the compiler of 2020 does it: every task waits for all before
// it, and there is no estimate.
func Finish2020(tasks []*task.Task) ([]*regs.Descriptor, error) {
	p := newProgram(tasks)
	p.link(p.findRuns(), nil)
	out := make([]*regs.Descriptor, len(tasks))
	for i := range p.steps {
		t := &p.steps[i]
		l := &t.g.L2
		l.SourceCfg, l.ResultCfg = waitForAll(l.SourceCfg), waitForAll(l.ResultCfg)
		t.h.Timing = t.h.Timing.WithExeCycles(0)
		out[i] = loader.NewDescriptor(t.h, &t.g)
	}
	return loader.Sequence(out...), task.FirstError(tasks)
}

func waitForAll(r regs.L2Route) regs.L2Route {
	return r.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
}
