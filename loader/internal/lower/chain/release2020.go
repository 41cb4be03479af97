package chain

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/task"
)

// Finish2020 is like [Finish] for Apple's compiler of 2020. Every task waits for all earlier
// tasks, and the estimated cycles are 0. It returns an error if a value does not fit its register.
func Finish2020(tasks []*task.Task) ([]*regs.Descriptor, error) {
	p := newProgram(tasks)
	p.linkDescriptors(p.findRuns(), nil)
	out := make([]*regs.Descriptor, len(tasks))
	for i := range p.steps {
		t := &p.steps[i]
		l := &t.g.L2
		l.SourceCfg, l.ResultCfg = addAllWaitBits(l.SourceCfg), addAllWaitBits(l.ResultCfg)
		t.h.Timing = t.h.Timing.WithExeCycles(0)
		out[i] = loader.NewDescriptor(t.h, &t.g)
	}
	return loader.Sequence(out...), task.FirstError(tasks)
}

// addAllWaitBits returns r with the dependency bits set, which make an access wait for the sources
// and results of both engines.
func addAllWaitBits(r regs.L2Route) regs.L2Route {
	return r.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
}
