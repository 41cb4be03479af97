package firmware

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A Timed is a Device that measures the engine time it uses.
type Timed interface {
	Device
	// Elapsed returns the engine time since the device was made, including the time until
	// the results of the last task are in memory.
	Elapsed() clock.Nanoseconds
}

// A Pass is the execution of one chain, run by run. It is the work of a request in a task
// queue. Each pass has its own registers, like the context of a queue.
//
// Another pass may get the engine between two runs. See [EndsRun].
type Pass struct {
	device    Timed
	file      regs.File
	walk      regs.Walk
	next      *regs.Task // next task, nil after the last
	openTiles uint32     // tiles that compute
	begun     bool       // the device's tile enables are set
	ctl       *Controller

	// Tasks is the number of executed descriptors. Halted is set if the device could not
	// continue, and Err if the chain is invalid. Both end the pass.
	Tasks  int
	Halted bool
	// Observe, if it is not nil, is called when a descriptor starts and when it finishes.
	// at is the time since the start of its run. Results on their way to memory do not
	// count as part of a descriptor.
	Observe func(t *regs.Task, finish bool, at clock.Nanoseconds)

	Err error
}

// Pass returns a new pass of chain p on device d. It boots the controller if necessary.
func (c *Controller) Pass(p *regs.Stream, d Timed) (*Pass, error) {
	if err := c.ensureBooted(); err != nil {
		return nil, err
	}
	x := &Pass{device: d, ctl: c, openTiles: c.TileEnables()}
	x.walk.Start(WithOverrides(p, c.Overrides), &x.file)
	x.advance()
	return x, nil
}

// advance reads the next task.
func (p *Pass) advance() {
	var err error
	if p.next, err = p.walk.Next(); err != nil {
		p.Err = fmt.Errorf("walking the chain: %w", err)
	}
}

// Run executes descriptors up to the end of a run. It returns the engine time taken and
// whether more descriptors follow.
func (p *Pass) Run() (took clock.Nanoseconds, more bool) {
	before := p.device.Elapsed()
	if !p.ctl.power.isAwake() {
		p.ctl.Wake(0)
	}
	if !p.begun {
		p.device.SetTileEnables(p.openTiles)
		p.begun = true
	}
	for p.next != nil {
		t := p.next
		p.ctl.powerClusters(t, p.openTiles)
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
	return p.device.Elapsed() - before, p.next != nil
}

// observe calls Observe for a descriptor, if it is set.
func (p *Pass) observe(t *regs.Task, finish bool, begun clock.Nanoseconds) {
	if p.Observe != nil {
		p.Observe(t, finish, p.device.Elapsed()-begun)
	}
}

// Next returns the next descriptor, or nil after the last.
func (p *Pass) Next() *regs.Task { return p.next }

// Abort drops the remaining descriptors.
func (p *Pass) Abort() { p.next = nil }
