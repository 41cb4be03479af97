package firmware

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A Timed device says how much engine time it has used.
type Timed interface {
	Device
	// Elapsed is the engine's time since the device was made, the results of its last task
	// landed.
	Elapsed() clock.Nanoseconds
}

// A Pass is one pass of a chain through the engine, run by run: the work of a request in a
// task queue. Its registers are its own, as a queue's context keeps them.
//
// Between runs the engine may be taken away, see [EndsRun].
type Pass struct {
	device Timed
	file   regs.File
	walk   regs.Walk
	ahead  *regs.Task // the next task, nil behind the last
	open   uint32     // tiles that compute
	begun  bool       // the device knows them
	ctl    *Controller

	// Tasks is how many descriptors were executed. Halted says that the device could not go
	// on, and Err that the chain could not be walked; both end the pass.
	Tasks  int
	Halted bool
	// Observe, where it is not nil, is told when each descriptor starts and finishes, behind
	// where its run began. Results on their way to memory are no part of a descriptor.
	Observe func(t *regs.Task, finish bool, at clock.Nanoseconds)

	Err error
}

// Pass starts a pass of a chain on a device.
func (c *Controller) Pass(p *regs.Stream, d Timed) (*Pass, error) {
	if err := c.start(); err != nil {
		return nil, err
	}
	x := &Pass{device: d, ctl: c, open: c.TileEnables()}
	x.walk.Start(Overridden(p, c.Overrides), &x.file)
	x.advance()
	return x, nil
}

// advance reads the next task.
func (p *Pass) advance() {
	var err error
	if p.ahead, err = p.walk.Next(); err != nil {
		p.Err = fmt.Errorf("walking the chain: %w", err)
	}
}

// Run executes descriptors up to the end of a run.
func (p *Pass) Run() (took clock.Nanoseconds, more bool) {
	before := p.device.Elapsed()
	if !p.ctl.power.awake() {
		p.ctl.Wake(0)
	}
	if !p.begun {
		p.device.SetTileEnables(p.open)
		p.begun = true
	}
	for p.ahead != nil {
		t := p.ahead
		p.ctl.raise(t, p.open)
		end := EndsRun(t)
		p.Tasks++
		p.observe(t, false, before)
		halt := p.device.Execute(t)
		p.observe(t, true, before)
		if halt {
			p.Halted = true
			p.Abort()
			break
		}
		p.advance()
		if end {
			break
		}
	}
	return p.device.Elapsed() - before, p.ahead != nil
}

// observe tells of a descriptor.
func (p *Pass) observe(t *regs.Task, finish bool, begun clock.Nanoseconds) {
	if p.Observe != nil {
		p.Observe(t, finish, p.device.Elapsed()-begun)
	}
}

// Next is the descriptor that goes next, nil behind the last.
func (p *Pass) Next() *regs.Task { return p.ahead }

// Abort drops what is left.
func (p *Pass) Abort() { p.ahead = nil }
