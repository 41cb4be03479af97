package task

import (
	"anesim/hw/regs"
	"anesim/loader"
)

// Finish2020 is finish as the compiler of 2020 does it: every task waits for all before
// it, and there is no estimate.
func (c Chain) Finish2020() ([]*regs.Descriptor, error) {
	c.Finish()
	out := make([]*regs.Descriptor, len(c))
	for i, t := range c {
		l := &t.G.L2
		l.SourceCfg, l.ResultCfg = waitForAll(l.SourceCfg), waitForAll(l.ResultCfg)
		t.H.Timing = t.H.Timing.WithExeCycles(0)
		out[i] = loader.NewDescriptor(t.H, &t.G)
	}
	return loader.Sequence(out...), c.Err()
}

func waitForAll(r regs.L2Route) regs.L2Route {
	return r.WithAConvSrc(true).WithAConvRslt(true).WithAPlnrSrc(true).WithAPlnrRslt(true)
}
