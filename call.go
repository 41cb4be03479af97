package anesim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/firmware"
	"anesim/firmware/queue"
	"anesim/hw"
	"anesim/hw/clock"
	"anesim/hw/regs"
	"anesim/loader/network"
)

// ErrOutstanding is a call of a program that has one under way: its buffers are in use.
var ErrOutstanding = errors.New("a call of the program is under way")

// ErrAborted is the result of a call that was aborted.
var ErrAborted = errors.New("the call was aborted")

// A Call is one call of a loaded program, a run of descriptors at a time, so that other
// programs of its session can have the engine in between. It is the work of a request in a
// task queue: a [queue.Work] that waits and tells of its descriptors.
type Call struct {
	loaded  *Loaded
	ctx     context.Context
	inputs  map[string][]float16.Float16
	options Options // the session's
	uses    []use
	after   []hazard // calls that began before, until they end

	engine *engine
	pass   *firmware.Pass
	tell   func(queue.TaskEvent)
	res    *ProgramResult
	err    error
	over   bool
}

// Start begins a call, on the inputs that were set. Nothing is written or run before the
// call's first Run. A program has one call under way at a time; until that ends or is
// aborted the error of another is ErrOutstanding. A call that shares a buffer with one
// that is under way, and one of both writes it, waits for that one: see [Call.Waiting].
func (l *Loaded) Start(ctx context.Context) (*Call, error) {
	switch {
	case l.session == nil:
		return nil, ErrUnloaded
	case l.under != nil:
		return nil, ErrOutstanding
	}
	c := &Call{loaded: l, ctx: ctx, inputs: l.inputs, options: l.session.options, uses: l.uses(), after: l.session.hazards(l)}
	l.inputs, l.under = nil, c
	return c, nil
}

// Run runs descriptors up to where a run of them ends, and says how long that took and
// whether more follow. Where another call had the engine last, it first waits for what
// that one left on its way to memory.
func (c *Call) Run() (took clock.Nanoseconds, more bool) {
	if c.over {
		return 0, false
	}
	if c.Waiting() {
		c.end(ErrWaiting)
		return 0, false
	}
	for _, h := range c.after {
		c.end(fmt.Errorf("%s, whose output it reads: %w", h.call.loaded.program.Name, h.call.err))
		return 0, false
	}
	s := c.loaded.session
	if before := s.holder; before != nil && before != c && !before.over {
		took += before.engine.SwitchOut()
	}
	s.holder = c
	if c.pass == nil {
		wake, err := c.begin()
		if err != nil {
			c.end(err)
			return took, false
		}
		took += wake
	}
	at := c.engine.Elapsed()
	c.pass.Observe = nil
	if told := took; c.tell != nil {
		c.pass.Observe = func(t *regs.Task, finish bool, at clock.Nanoseconds) {
			c.tell(queue.TaskEvent{Finish: finish, TID: t.Header.Task.TID(), NID: t.Header.Task.NID(), At: told + at})
		}
	}
	_, more = c.pass.Run()
	switch {
	case c.pass.Err != nil:
		c.end(c.pass.Err)
		more = false
	case c.ctx.Err() != nil:
		c.Abort()
		c.err = c.ctx.Err()
		more = false
	case !more:
		c.end(c.finish())
	}
	return took + c.engine.Elapsed() - at, more
}

// Tell makes the call's next runs tell of their descriptors, nil for nobody.
func (c *Call) Tell(f func(queue.TaskEvent)) { c.tell = f }

// Next is the task and network id of the descriptor that goes next; ok is false before the
// first run and once the call is over.
func (c *Call) Next() (tid, nid uint32, ok bool) {
	if c.pass == nil || c.over || c.pass.Next() == nil {
		return 0, 0, false
	}
	h := c.pass.Next().Header.Task
	return h.TID(), h.NID(), true
}

// begin writes the inputs and makes the engine.
func (c *Call) begin() (wake clock.Nanoseconds, err error) {
	l := c.loaded
	s := l.session
	o := &s.options
	linked, err := l.link()
	if err != nil {
		return 0, err
	}
	c.res = &ProgramResult{Program: l.program}
	if o.Values {
		if err := settle(s.mem, linked); err != nil {
			return 0, err
		}
		l.inputs, c.inputs = c.inputs, l.inputs
		err := l.write(c.res)
		l.inputs = c.inputs // set since the call began: the next one's
		if err != nil {
			return 0, err
		}
	}
	dev := hw.New(s.mem, s.deviceOptions(o.Values, o.Budget))
	c.engine = &engine{Device: dev, ctx: c.ctx, meter: o.meter(StageRun, l.program.TaskCount)}
	gap := clock.Nanoseconds(o.Idle.Nanoseconds())
	d := Dispatch{Idle: gap, Waiting: s.ctl.Idle(gap)}
	d.Wake = s.ctl.Wake(firmware.DomainsOf(firmware.Base))
	c.res.Dispatches = []Dispatch{d}
	c.pass, err = s.ctl.Pass(&linked.Stream, c.engine)
	return d.Wake, err
}

// finish reads the outputs and turns the state over, as a dispatch does.
func (c *Call) finish() error {
	l := c.loaded
	s := l.session
	c.res.Report = c.engine.Report()
	d := &c.res.Dispatches[0]
	d.Descriptors, d.Energy = c.res.Report.Descriptors, c.res.Report.Dispatch
	if s.options.Values && c.res.Report.Complete() {
		var err error
		if c.res.Outputs, err = l.read(); err != nil {
			return err
		}
		if len(l.state) > 0 {
			d.Outputs = c.res.Outputs
		}
	}
	l.calls++
	l.save()
	if err := l.complete(d.Descriptors, len(c.res.Report.Faults)); err != nil {
		return err
	}
	c.res.Host = hostTime(&s.options.Host, c.res, l.stays)
	if len(c.res.Report.Faults) > 0 {
		return nil
	}
	_, err := l.turn(s.options.Values)
	return err
}

func (c *Call) end(err error) {
	c.over, c.err = true, err
	c.loaded.under = nil
	if s := c.loaded.session; s != nil && s.holder == c {
		s.holder = nil
	}
}

// Abort drops what has not run. What the call wrote so far stays in memory.
func (c *Call) Abort() {
	if c.over {
		return
	}
	if c.pass != nil {
		c.pass.Abort()
	}
	c.end(ErrAborted)
}

// Result is what the call did, once it is over. Before that the error is ErrOutstanding.
func (c *Call) Result() (*Result, error) {
	switch {
	case !c.over:
		return nil, ErrOutstanding
	case c.err != nil:
		return nil, c.err
	}
	return c.loaded.result(c.options, c.res), nil
}

// result is a call's result, as a run's.
func (l *Loaded) result(o Options, res *ProgramResult) *Result {
	o.Repeat, o.State = 1, slices.Clone(l.state)
	low := l.lowered
	if low == nil {
		low = &lowered{programs: []network.Program{{Program: l.program}}}
	}
	res.Runs, res.Why = low.programs[0].Runs, low.programs[0].Why
	r := &execution{model: l.model, lowered: low, options: o, programs: []ProgramResult{*res}, synthetic: res.Synthetic}
	return r.end()
}
