package firmware

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/regs"
)

// A Timed is a [Device] that measures how long it is busy.
type Timed interface {
	Device
	// Elapsed returns the total time that the device has been busy, including the time until
	// its last results are in memory.
	Elapsed() clock.Nanoseconds
}

// A Pass executes one chain of descriptors, one run at a time. A run is a sequence of descriptors
// that must not be interrupted. Between two runs the engine may execute runs of other passes; see
// [EndsRun]. Each pass has its own task registers.
type Pass struct {
	device    Timed
	file      regs.File
	walk      regs.Walk
	next      *regs.Task // next task, nil after the last
	openTiles uint32     // tiles that compute
	begun     bool       // the device's tile enables are set
	ctl       *Controller

	// Tasks is the number of descriptors executed so far. Halted is true if the device
	// halted, and Err is not nil if the chain is invalid. Either ends the pass.
	Tasks  int
	Halted bool
	// Observe is called when a descriptor starts and when it finishes, if it is not nil.
	// The time at counts from the start of the run and does not include the time to store
	// the last results.
	Observe func(t *regs.Task, finish bool, at clock.Nanoseconds)

	// Restart finds out how long each run can be stopped, if it is not nil. Stoppable is then that
	// time for the last run, from its start.
	Restart   *Restart
	Stoppable clock.Nanoseconds

	Err error
}

// Pass returns a new pass that executes chain p on device d. It boots the controller if
// necessary and returns the *[InitError] of [Controller.Boot] if that fails.
func (c *Controller) Pass(p *regs.Stream, d Timed) (*Pass, error) {
	if err := c.ensureBooted(); err != nil {
		return nil, err
	}
	x := &Pass{device: d, ctl: c, openTiles: c.TileEnables()}
	x.walk.Start(WithOverrides(p, c.Overrides), &x.file)
	x.advanceToNextTask()
	return x, nil
}

// advanceToNextTask sets p.next to the next task of the chain, or to nil at its end. If the chain
// is invalid, it sets p.Err.
func (p *Pass) advanceToNextTask() {
	var err error
	if p.next, err = p.walk.Next(); err != nil {
		p.Err = fmt.Errorf("cannot follow the descriptor chain: %w", err)
	}
}

// Run executes the next run of descriptors, after which another pass may use the engine. It returns
// the time that the engine was busy and whether descriptors remain.
func (p *Pass) Run() (took clock.Nanoseconds, more bool) {
	before := p.device.Elapsed()
	// Whoever drives the pass has counted the wake-up; without one, the rails must be on all the same.
	if !p.ctl.power.isAwake() {
		p.ctl.Wake(0)
	}
	// Gates may change until the chain begins, but not within it.
	if !p.begun {
		p.device.SetTileEnables(p.openTiles)
		p.begun = true
	}
	if p.Stoppable = 0; p.Restart != nil {
		p.Restart.Reset()
	}
	for p.next != nil {
		t := p.next
		open := p.Restart != nil && p.Restart.Begin(t)
		p.ctl.powerOnClusters(t, p.openTiles)
		end := EndsRun(t)
		p.Tasks++
		p.observeTask(t, false, before)
		halt := p.device.Execute(t)
		switch {
		case open:
			p.Stoppable = p.device.Elapsed() - before
		case p.Restart != nil && p.Restart.Forbidden():
			p.Stoppable = 0
		}
		p.observeTask(t, true, before)
		// A fault ends the chain: the descriptors after it would read what was not written.
		if halt {
			p.Halted = true
			p.Abort()
			break
		}
		p.advanceToNextTask()
		if end {
			break
		}
	}
	return p.device.Elapsed() - before, p.next != nil
}

// observeTask calls p.Observe, if it is set, for task t. It passes the time of the device since
// begun.
func (p *Pass) observeTask(t *regs.Task, finish bool, begun clock.Nanoseconds) {
	if p.Observe != nil {
		p.Observe(t, finish, p.device.Elapsed()-begun)
	}
}

// Next returns the task that the next run begins with, or nil if none remains.
func (p *Pass) Next() *regs.Task { return p.next }

// Abort ends the pass without executing the remaining descriptors.
func (p *Pass) Abort() { p.next = nil }
