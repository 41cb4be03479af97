package engine

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
	"anesim/loader"
)

// ErrOutstanding is the error of a call of a program that has one under way: its buffers are
// in use.
var ErrOutstanding = errors.New("a call of the program is under way")

// ErrAborted is the result of a call that was aborted.
var ErrAborted = errors.New("the call was aborted")

// A Call is one call of a loaded program. It executes a run of descriptors at a time, so
// that other programs of its session can have the engine in between. It is the work of a
// request in a task queue: a [queue.Work] that waits and tells of its descriptors.
type Call struct {
	// Repeat is how many times the program is dispatched; 0 is once. List is how many of the
	// dispatches the result lists, 0 for all of them. The others take as long as the last of
	// these and are only counted. They are executed only where they compute something else,
	// which is where the program has state and values are computed. Both are read by the
	// first Run.
	Repeat, List int
	// Executed, if it is not nil, is called after each descriptor. The task is good until it
	// returns.
	Executed func(*regs.Task)

	loaded *Loaded
	ctx    context.Context
	inputs map[string][]float16.Float16
	uses   []use
	after  []hazard // calls that began before, until they end
	lend   bool     // nothing follows the call: its tensors may share memory with it

	linked *loader.Linked
	values bool
	brief  bool // the device lists some of the descriptors only
	device *hw.Device
	pass   *firmware.Pass
	first  int   // of the report's descriptors, the first of the dispatch under way
	kept   int   // elements of outputs that dispatches with state have kept
	ran    int   // dispatches that were executed
	filled bool  // the inputs are in memory
	failed error // of writing them
	tell   func(queue.TaskEvent)
	res    *Result
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
	c := &Call{loaded: l, ctx: ctx, inputs: l.inputs, uses: l.uses(), after: l.session.hazards(l)}
	l.inputs, l.under = nil, c
	return c, nil
}

// Blocked reports whether a call that starts now would have to wait for another program's.
func (l *Loaded) Blocked() bool {
	return l.session != nil && l.under == nil && len(l.session.hazards(l)) > 0
}

// Call dispatches the program once, on the inputs that were set: it starts a call and drives
// it to its end. Inputs that nobody sets are pseudo-random from the session's seed, but for
// state, which is zero. The error is ErrWaiting if another call under way shares a buffer.
func (l *Loaded) Call(ctx context.Context) (*Result, error) {
	if l.Blocked() {
		return nil, ErrWaiting
	}
	c, err := l.Start(ctx)
	if err != nil {
		return nil, err
	}
	return c.Finish()
}

// Finish drives the call to its end and returns its result.
func (c *Call) Finish() (*Result, error) {
	for more := true; more; {
		_, more = c.Run()
	}
	return c.Result()
}

// Run runs descriptors up to where a run of them ends, and returns how long that took and
// whether more follow. Where another call had the engine last, it first waits for what
// that one left on its way to memory.
func (c *Call) Run() (took clock.Nanoseconds, more bool) {
	if c.over {
		return 0, false
	}
	if err := c.blocked(); err != nil {
		c.end(err)
		return 0, false
	}
	s := c.loaded.session
	if before := s.holder; before != nil && before != c && !before.over {
		took += before.SwitchOut()
	}
	s.holder = c
	wake, err := c.prepare()
	took += wake
	if err != nil {
		c.end(err)
		return took, false
	}
	at := c.device.Elapsed()
	c.pass.Observe = c.observer(took)
	_, more = c.pass.Run()
	switch {
	case c.pass.Err != nil:
		c.end(c.pass.Err)
		more = false
	case c.failed != nil:
		c.loaded.restore(c.inputs)
		c.end(c.failed)
		more = false
	case c.ctx.Err() != nil:
		c.Abort()
		c.err = c.ctx.Err()
		more = false
	case !more:
		if more, err = c.conclude(); !more {
			c.end(err)
		}
	}
	return took + c.device.Elapsed() - at, more
}

// SwitchOut waits for the results that the call has on their way to memory, as it must when
// another program gets the engine, and returns how long that takes.
func (c *Call) SwitchOut() clock.Nanoseconds { return c.device.SwitchOut() }

// blocked returns why the call cannot run yet or any more, or nil.
func (c *Call) blocked() error {
	if c.Waiting() {
		return ErrWaiting
	}
	for _, h := range c.after {
		return fmt.Errorf("%s, whose output it reads: %w", h.call.loaded.program.Name, h.call.err)
	}
	return nil
}

// prepare makes the device and starts a pass where there is none.
func (c *Call) prepare() (wake clock.Nanoseconds, err error) {
	if c.device == nil {
		if err := c.begin(); err != nil {
			c.loaded.restore(c.inputs)
			return 0, err
		}
	}
	if c.pass == nil {
		return c.dispatch()
	}
	return 0, nil
}

// observer returns what tells of the descriptors of the next run, which begins after began
// of its time; nil if nobody is told.
func (c *Call) observer(began clock.Nanoseconds) func(*regs.Task, bool, clock.Nanoseconds) {
	if c.tell == nil {
		return nil
	}
	return func(t *regs.Task, finish bool, at clock.Nanoseconds) {
		c.tell(queue.TaskEvent{Finish: finish, TID: t.Header.Task.TID(), NID: t.Header.Task.NID(), At: began + at})
	}
}

// Tell sets a function that the call's next runs call for each descriptor, nil for none.
func (c *Call) Tell(f func(queue.TaskEvent)) { c.tell = f }

// Next returns the task and network id of the descriptor that goes next; ok is false before
// the first run, between two dispatches and once the call is over.
func (c *Call) Next() (tid, nid uint32, ok bool) {
	if c.pass == nil || c.over || c.pass.Next() == nil {
		return 0, 0, false
	}
	h := c.pass.Next().Header.Task
	return h.TID(), h.NID(), true
}

// begin links the program and makes the device.
func (c *Call) begin() (err error) {
	l := c.loaded
	s := l.session
	o := &s.options
	if c.linked, err = l.link(); err != nil {
		return err
	}
	c.Repeat = max(1, c.Repeat)
	if c.List < 1 || c.List > c.Repeat {
		c.List = c.Repeat
	}
	c.res = &Result{Program: l.program}
	if c.values = o.Values; c.values {
		c.res.Limits = append(portLimits(l.program), c.inputLimits()...)
		c.values = len(c.res.Limits) == 0
	}
	if c.evolves() && c.Repeat > maxEvolving/max(1, c.linked.Count) {
		return &OptionError{"Repeat", fmt.Sprintf("%d dispatches of %d descriptors whose state is computed; together at most %d", c.Repeat, c.linked.Count, maxEvolving)}
	}
	if c.values {
		if err := settle(s.mem, c.linked); err != nil {
			return err
		}
	} else {
		l.restore(c.inputs)
	}
	device := c.deviceOptions()
	c.brief = device.List > 0
	c.device = hw.New(s.mem, device)
	return nil
}

// evolves reports whether each dispatch computes something else than the one before it.
func (c *Call) evolves() bool { return c.values && len(c.loaded.state) > 0 }

// deviceOptions returns the options of the call's device.
func (c *Call) deviceOptions() hw.Options {
	l := c.loaded
	s := l.session
	o := hw.Options{Chip: s.options.Chip, Values: c.values, Workers: s.options.Workers, Budget: s.options.Budget, Each: s.options.Each}
	if n := uint64(c.Repeat); c.evolves() && o.Budget > 0 && o.Budget < ^uint64(0)/n {
		o.Budget *= n
	}
	if s.options.Brief && c.Repeat == 1 && !c.values && c.linked.Count > maxBrief && l.statistics == (addressRange{}) {
		o.List = maxListed
	}
	if s.ctl.PeakPowerArmed() {
		o.PowerBudget = s.options.PowerBudget
	}
	return o
}

// dispatch lets the gap before a dispatch pass and starts its pass.
func (c *Call) dispatch() (wake clock.Nanoseconds, err error) {
	s := c.loaded.session
	if len(c.res.Dispatches) > 0 {
		c.device.Dispatch()
	}
	c.res.Report = c.device.Report()
	gap := clock.Nanoseconds(s.options.Idle.Nanoseconds())
	d := Dispatch{Idle: gap, Waiting: s.ctl.Idle(gap)}
	d.Wake = s.ctl.Wake(firmware.DomainsOf(firmware.Base))
	c.res.Dispatches = append(c.res.Dispatches, d)
	if !c.brief {
		c.res.Report.Descriptors = slices.Grow(c.res.Report.Descriptors, c.linked.Count)
	}
	c.first = len(c.res.Report.Descriptors)
	c.pass, err = s.ctl.Pass(&c.linked.Stream, task{c})
	return d.Wake, err
}

// conclude ends a dispatch: it reads the outputs and turns the state over. It reports
// whether another dispatch follows.
func (c *Call) conclude() (more bool, err error) {
	l, res := c.loaded, c.res
	res.Report = c.device.Report() // the chain has ended
	faulted := len(res.Report.Faults) > 0
	d := &res.Dispatches[len(res.Dispatches)-1]
	d.Descriptors, d.Rest = res.Report.Descriptors[c.first:], res.Report.Rest
	if c.values && !c.filled {
		l.restore(c.inputs)
	}
	c.ran++
	more = !faulted && (c.ran < c.List || c.evolves() && c.ran < c.Repeat)
	stateful := len(l.state) > 0 && c.ran <= c.List && c.kept < maxKept
	if c.values && res.Report.Complete() && (!more || stateful) {
		if res.Outputs, err = c.read(); err != nil {
			return false, err
		}
		if stateful {
			d.Outputs = res.Outputs
			for _, out := range d.Outputs {
				c.kept += len(out.Data)
			}
		}
	}
	l.calls++
	l.save()
	if err := l.complete(d.Descriptors, len(res.Report.Faults)); err != nil {
		return false, err
	}
	if !faulted {
		if err := c.turn(); err != nil {
			return false, err
		}
	}
	if c.ran > c.List && !faulted {
		c.device.Count(c.first)
		res.Dispatches = res.Dispatches[:c.List]
		res.Again++
	}
	if !more {
		c.sum()
	}
	c.pass = nil
	return more, nil
}

// sum gives the dispatches their share of the energy, and counts those that were not executed.
func (c *Call) sum() {
	l, res := c.loaded, c.res
	each := res.Report.Dispatch / clock.Nanojoules(c.ran)
	for i := range res.Dispatches {
		res.Dispatches[i].Energy = each
	}
	if again := c.Repeat - c.ran; again > 0 && len(res.Report.Faults) == 0 {
		res.Again = again
		l.calls += again
		res.Report.Repeat(again, c.linked.Count)
		res.Report.AddDispatches(clock.Nanojoules(float64(again) * float64(each)))
	}
	res.Host = hostTime(&l.session.options.Host, res, l.stays)
}

// turn swaps the buffers of the ports that hold state.
func (c *Call) turn() (err error) {
	l := c.loaded
	for _, a := range l.state {
		out, _ := l.program.Port(a.Output, loader.Output)
		in, _ := l.program.Port(a.Input, loader.Input)
		swap(l.program, out, in)
	}
	if c.linked, err = l.link(); err != nil || !c.values || len(l.state) == 0 {
		return err
	}
	return settle(l.session.mem, c.linked)
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

// Over reports whether the call has ended.
func (c *Call) Over() bool { return c.over }

// Result returns what the call did, once it is over. Before that the error is
// ErrOutstanding.
func (c *Call) Result() (*Result, error) {
	switch {
	case !c.over:
		return nil, ErrOutstanding
	case c.err != nil:
		return nil, c.err
	}
	return c.res, nil
}

// A task executes tasks on a call's device unless the call's context is done.
type task struct{ call *Call }

// SetTileEnables says which tiles compute.
func (t task) SetTileEnables(mask uint32) { t.call.device.SetTileEnables(mask) }

// Elapsed returns the device's time.
func (t task) Elapsed() clock.Nanoseconds { return t.call.device.Elapsed() }

// Execute runs one task. It returns true after a fault, and without running the task where
// the context is done or the inputs cannot be written.
//
// The inputs are written before the first task that the device accepts, so that none are
// made up for a program that stops at its first descriptor.
func (t task) Execute(r *regs.Task) (halt bool) {
	c := t.call
	if c.ctx.Err() != nil {
		return true
	}
	if c.values && !c.filled && c.device.Accepts(r) {
		if c.failed = c.write(); c.failed != nil {
			return true
		}
		c.filled = true
	}
	halt = c.device.Execute(r)
	if c.Executed != nil {
		c.Executed(r)
	}
	return halt
}
