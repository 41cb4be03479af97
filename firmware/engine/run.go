package engine

import (
	"context"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
)

// A Job describes how [Run] executes a program. The zero value dispatches it once, on generated
// inputs.
type Job struct {
	// Inputs holds values by input name, in N, C, H, W order. The caller must not change
	// them afterwards, because the result may refer to them.
	Inputs map[string][]float16.Float16
	State  []StateAlias // outputs that become inputs of the next dispatch

	Repeat, List int              // see [Call]
	Executed     func(*regs.Task) // see [Call]
}

// Run loads program p into a new session, runs it as described by job, and returns the result.
// Faults of the device are part of the result. If ctx is done, the run ends after the current
// descriptor.
//
// The error is that of [New], [Session.Load] or [Loaded.Alias], an *[OptionError], a *[PortError],
// or the error of ctx.
func Run(ctx context.Context, p *loader.Program, o Options, job Job) (*Result, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	l, err := s.Load(p)
	if err != nil {
		return nil, err
	}
	for _, a := range job.State {
		if err := l.Alias(a.Output, a.Input); err != nil {
			return nil, err
		}
	}
	l.inputs = job.Inputs
	c, err := l.Start(ctx)
	if err != nil {
		return nil, err
	}
	c.Repeat, c.List, c.Executed, c.lend = job.Repeat, job.List, job.Executed, true
	return c.Finish()
}
