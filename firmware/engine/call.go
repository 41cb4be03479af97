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

// ErrOutstanding is returned when a call of the program is already in progress.
var ErrOutstanding = errors.New("another call of the program is in progress")

// ErrAborted is the error of a call that was aborted before it ended.
var ErrAborted = errors.New("call was aborted")

// A Call is one call of a loaded program. It executes the program one run at a time. A run is a
// sequence of descriptors that must not be interrupted. Between two runs, calls of other programs
// can use the engine. A Call implements [queue.Work], queue.waiter and queue.tasked.
type Call struct {
	// Repeat is the number of times that the call dispatches the program; 0 means 1. List
	// is the number of dispatches to list in the result; 0 means all. Each further dispatch
	// is assumed to be as long as the last listed one. It is executed only if the program
	// has state and values are computed. Both fields must be set before the first Run.
	Repeat, List int
	// Restartable makes [Call.LastRun] say how long a run can be stopped. It must be set before the
	// first Run.
	Restartable bool
	// Executed is called after each descriptor, if it is not nil. The task is valid until
	// Executed returns.
	Executed func(*regs.Task)

	loaded *Loaded
	ctx    context.Context
	inputs map[string][]float16.Float16
	uses   []memoryUse
	after  []hazard // earlier calls that this one waits for
	lend   bool     // the memory is not used after the call, so tensors may share it

	linked *loader.Linked
	values bool
	brief  bool // the device lists only some of the descriptors
	device *hw.Device
	pass   *firmware.Pass
	first  int   // index in the report of the current dispatch's first descriptor
	kept   int   // elements of outputs kept for dispatches with state
	ran    int   // executed dispatches
	filled bool  // the inputs are in memory
	failed error // error of writing the inputs
	tell   func(queue.TaskEvent)
	res    *Result
	err    error
	ended  bool
	last   RunCost
}

// A RunCost holds the cost of the last run of a call.
type RunCost struct {
	// Delay is the time before the first descriptor, for a wake-up and for the results of the call
	// before to reach memory.
	Delay  clock.Nanoseconds
	Time   clock.Nanoseconds // of the descriptors
	Energy clock.Nanojoules  // of the descriptors
	// Stoppable is how long after the start of the first descriptor the run can be stopped and
	// executed again, if Call.Restartable is set.
	Stoppable clock.Nanoseconds
}

// LastRun returns the cost of the last run.
func (c *Call) LastRun() RunCost { return c.last }

// Start begins a call with the inputs set by [Loaded.Set]. It executes no descriptors; [Call.Run]
// does. Start returns [ErrOutstanding] if a call of the program is in progress. If the new call
// shares a buffer with an unfinished call of another program, and one of the two writes it, the new
// call waits for the other one; see [Call.Waiting].
func (l *Loaded) Start(ctx context.Context) (*Call, error) {
	switch {
	case l.session == nil:
		return nil, ErrUnloaded
	case l.current != nil:
		return nil, ErrOutstanding
	}
	c := &Call{loaded: l, ctx: ctx, inputs: l.inputs, uses: l.listMemoryUses(), after: l.session.findHazards(l)}
	l.inputs, l.current = nil, c
	return c, nil
}

// Blocked reports whether a call started now would wait for a call of another program.
func (l *Loaded) Blocked() bool {
	return l.session != nil && l.current == nil && len(l.session.findHazards(l)) > 0
}

// Call dispatches the program once with the inputs set by [Loaded.Set], and returns the result.
// Other inputs are filled with pseudo-random numbers from the session's seed, or with zeros if they
// are state. Call returns [ErrWaiting] if it would have to wait for another call.
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

// Finish executes the rest of the call and returns its result.
func (c *Call) Finish() (*Result, error) {
	for more := true; more; {
		_, more = c.Run()
	}
	return c.Result()
}

// Run executes the next run of descriptors. It returns the time that the engine was busy and
// whether descriptors remain. If another call used the engine last, the time includes the wait
// until that call's results are in memory.
func (c *Call) Run() (took clock.Nanoseconds, more bool) {
	if c.ended {
		return 0, false
	}
	// Ask before Resume, which gives the engine to this call, and so makes it wait for the results of the
	// call that had it.
	if err := c.blockedError(); err != nil {
		c.finish(err)
		return 0, false
	}
	took = c.Resume()
	wake, err := c.prepareNextRun()
	took += wake
	if err != nil {
		c.finish(err)
		return took, false
	}
	at, energy := c.device.Elapsed(), c.res.Report.Energy
	c.pass.Observe = c.newTaskObserver(took)
	_, more = c.pass.Run()
	// Ending the dispatch below drops the pass.
	stoppable, executed := c.pass.Stoppable, c.device.Elapsed()-at
	switch {
	case c.pass.Err != nil:
		c.finish(c.pass.Err)
		more = false
	case c.failed != nil:
		c.loaded.restoreInputs(c.inputs)
		c.finish(c.failed)
		more = false
	// A cancelled call ends between two runs, where the engine can be taken away. Errors of the run
	// come first: they say more.
	case c.ctx.Err() != nil:
		c.Abort()
		c.err = c.ctx.Err()
		more = false
	case !more:
		if more, err = c.endDispatch(); !more {
			c.finish(err)
		}
	}
	if stoppable > 0 && stoppable >= executed {
		// The results of the last descriptor are still on their way to memory. A run that can be executed
		// again when its last descriptor has ended can be until they are there.
		stoppable = c.device.Elapsed() - at
	}
	c.last = RunCost{took, c.device.Elapsed() - at, c.res.Report.Energy - energy, stoppable}
	return took + c.last.Time, more
}

// Resume notes that the engine works for the call from now on. It returns how long it waits until the
// results of another call that used the engine last are in memory. [Call.Run] calls it.
func (c *Call) Resume() (wait clock.Nanoseconds) {
	s := c.loaded.session
	if s == nil { // unloaded
		return 0
	}
	if before := s.holder; before != nil && before != c && !before.ended {
		wait = before.SwitchOut()
	}
	if s.holder = c; c.ended {
		s.holder = nil
	}
	return wait
}

// Suspend notes that the last run of the call was stopped, so no other call waits for its results.
func (c *Call) Suspend() {
	if s := c.loaded.session; s != nil && s.holder == c {
		s.holder = nil
	}
}

// SwitchOut waits until the call's results are in memory, and returns how long it waited. This is
// necessary before another program uses the engine.
func (c *Call) SwitchOut() clock.Nanoseconds { return c.device.SwitchOut() }

// blockedError returns an error that says why the call cannot run now, or nil if it can. The call
// may have to wait for an earlier call, or may read the output of a call that failed.
func (c *Call) blockedError() error {
	if c.Waiting() {
		return ErrWaiting
	}
	for _, h := range c.after {
		return fmt.Errorf("cannot read the output of program %q: %w", h.call.loaded.program.Name, h.call.err)
	}
	return nil
}

// prepareNextRun makes the device before the first run, and starts a dispatch if none is in
// progress. It returns how long the engine needs to wake up.
func (c *Call) prepareNextRun() (wake clock.Nanoseconds, err error) {
	if c.device == nil {
		if err := c.linkAndMakeDevice(); err != nil {
			c.loaded.restoreInputs(c.inputs)
			return 0, err
		}
	}
	if c.pass == nil {
		return c.startDispatch()
	}
	return 0, nil
}

// newTaskObserver returns a function that reports the tasks of the next run to c.tell. The reported
// times are relative to began. It returns nil if c.tell is nil.
func (c *Call) newTaskObserver(began clock.Nanoseconds) func(*regs.Task, bool, clock.Nanoseconds) {
	if c.tell == nil {
		return nil
	}
	return func(t *regs.Task, finish bool, at clock.Nanoseconds) {
		c.tell(queue.TaskEvent{Finish: finish, TID: t.Header.Task.TID(), NID: t.Header.Task.NID(), At: began + at})
	}
}

// Tell makes [Call.Run] call f whenever a descriptor starts or finishes. If f is nil, Run calls
// nothing.
func (c *Call) Tell(f func(queue.TaskEvent)) { c.tell = f }

// Next returns the task ID and the network ID in the header of the next descriptor. It returns
// false before the first run, between two dispatches, and after the end of the call.
func (c *Call) Next() (tid, nid uint32, ok bool) {
	if c.pass == nil || c.ended || c.pass.Next() == nil {
		return 0, 0, false
	}
	h := c.pass.Next().Header.Task
	return h.TID(), h.NID(), true
}

// linkAndMakeDevice links the program and makes the device on which it runs. It also decides
// whether values are computed.
func (c *Call) linkAndMakeDevice() (err error) {
	l := c.loaded
	s := l.session
	o := &s.options
	if c.linked, err = l.linkProgram(); err != nil {
		return err
	}
	c.Repeat = max(1, c.Repeat)
	if c.List < 1 || c.List > c.Repeat {
		c.List = c.Repeat
	}
	c.res = &Result{Program: l.program, Target: o.Target.Or(l.target).Or(o.Chip.Target)}
	if c.values = o.Values; c.values {
		c.res.Limits = append(listPortLimits(l.program), c.listInputLimits()...)
		c.values = len(c.res.Limits) == 0
	}
	// Only dispatches with state are all executed; others have the figures of the last one listed.
	if c.isStateful() && c.Repeat > MaxStatefulTasks/max(1, c.linked.Count) {
		return &OptionError{"Repeat", fmt.Sprintf("count is %d; want at most %d for a stateful program with %d descriptors", c.Repeat, MaxStatefulTasks/max(1, c.linked.Count), c.linked.Count)}
	}
	if c.values {
		if err := prepareMemory(s.mem, c.linked); err != nil {
			return err
		}
	} else {
		l.restoreInputs(c.inputs)
	}
	device := c.deviceOptions()
	c.brief = device.List > 0
	c.device = hw.New(s.mem, device)
	return nil
}

// isStateful reports whether dispatches of the call may give different results, because each
// dispatch continues with the state that the previous one left.
func (c *Call) isStateful() bool { return c.values && len(c.loaded.state) > 0 }

// deviceOptions returns the options of the call's device.
func (c *Call) deviceOptions() hw.Options {
	l := c.loaded
	s := l.session
	o := hw.Options{Chip: s.options.Chip, Values: c.values, Precision: s.options.Precision, Workers: s.options.Workers, Budget: s.options.Budget, Each: s.options.Each}
	o.Chip.Target = c.res.Target
	executed := uint64(c.List) // dispatches; the others repeat the last one
	if c.isStateful() {
		executed = uint64(c.Repeat)
	}
	if o.Budget > 0 && o.Budget < ^uint64(0)/executed {
		o.Budget *= executed
	}
	if s.options.Brief && c.Repeat == 1 && !c.values && c.linked.Count > maxBrief && l.statistics == (addressRange{}) {
		o.List = maxListed
	}
	if s.ctl.PeakPowerArmed() {
		o.PowerBudget = s.options.PowerBudget
	}
	return o
}

// startDispatch lets the idle time before a dispatch pass, wakes the engine and starts the
// dispatch. It returns how long the engine needs to wake up.
func (c *Call) startDispatch() (wake clock.Nanoseconds, err error) {
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
	if c.pass, err = s.ctl.Pass(&c.linked.Stream, callDevice{c}); err == nil && c.Restartable {
		c.pass.Restart = new(firmware.Restart)
	}
	return d.Wake, err
}

// endDispatch finishes a dispatch: it reads the outputs, writes the statistics and swaps the
// buffers of the state. It reports whether another dispatch follows.
func (c *Call) endDispatch() (more bool, err error) {
	l, res := c.loaded, c.res
	res.Report = c.device.Report() // the chain has ended
	faulted := len(res.Report.Faults) > 0
	d := &res.Dispatches[len(res.Dispatches)-1]
	d.Descriptors, d.Rest = res.Report.Descriptors[c.first:], res.Report.Rest
	if c.values && !c.filled {
		l.restoreInputs(c.inputs)
	}
	c.ran++
	more = !faulted && (c.ran < c.List || c.isStateful() && c.ran < c.Repeat)
	stateful := len(l.state) > 0 && c.ran <= c.List && c.kept < maxKept
	if c.values && res.Report.Complete() && (!more || stateful) {
		if res.Outputs, err = c.readOutputs(); err != nil {
			return false, err
		}
		if stateful {
			d.Outputs = res.Outputs
			for _, out := range d.Outputs {
				c.kept += len(out.Data)
			}
		}
	}
	// The dispatch has happened, whatever its result: counts and the statistics buffer include faults,
	// but a state keeps the values of before.
	l.calls++
	l.countSavedBytes()
	if err := l.writeStatistics(d.Descriptors, len(res.Report.Faults)); err != nil {
		return false, err
	}
	if !faulted {
		if err := c.swapState(); err != nil {
			return false, err
		}
	}
	if c.ran > c.List && !faulted {
		c.device.Count(c.first)
		res.Dispatches = res.Dispatches[:c.List]
		res.Again++
	}
	if !more {
		c.sumOverDispatches()
	}
	c.pass = nil
	return more, nil
}

// sumOverDispatches divides the fixed energy equally among the dispatches. It then adds the figures
// of the dispatches that were not executed to the result. Their figures equal those of the last
// executed dispatch.
func (c *Call) sumOverDispatches() {
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
	res.Host = computeHostTime(&l.session.options.Host, res, l.staysOnDevice)
}

// swapState swaps the buffers of the two ports of each state, so that the next dispatch
// reads the values that this one wrote.
func (c *Call) swapState() (err error) {
	l := c.loaded
	for _, a := range l.state {
		out, _ := l.program.Port(a.Output, loader.Output)
		in, _ := l.program.Port(a.Input, loader.Input)
		swapBuffers(l.program, out, in)
	}
	if c.linked, err = l.linkProgram(); err != nil || !c.values || len(l.state) == 0 {
		return err
	}
	return prepareMemory(l.session.mem, c.linked)
}

// finish marks the call as ended with the error err and releases the session.
func (c *Call) finish(err error) {
	c.ended, c.err = true, err
	c.loaded.current = nil
	if s := c.loaded.session; s != nil && s.holder == c {
		s.holder = nil
	}
}

// Abort ends the call without executing the remaining descriptors. Values already written
// stay in memory. Abort does nothing if the call has ended.
func (c *Call) Abort() {
	if c.ended {
		return
	}
	if c.pass != nil {
		c.pass.Abort()
	}
	c.finish(ErrAborted)
}

// Over reports whether the call has ended.
func (c *Call) Over() bool { return c.ended }

// Result returns the result of the call after it has ended, or the error that ended it. It returns
// [ErrOutstanding] if the call has not ended.
func (c *Call) Result() (*Result, error) {
	switch {
	case !c.ended:
		return nil, ErrOutstanding
	case c.err != nil:
		return nil, c.err
	}
	return c.res, nil
}

// A callDevice executes tasks on a call's device until the call's context is done.
type callDevice struct{ call *Call }

// SetTileEnables selects the tiles that compute: bits 2e and 2e+1 of mask are the tiles of engine
// e.
func (t callDevice) SetTileEnables(mask uint32) { t.call.device.SetTileEnables(mask) }

// Elapsed returns the device's time.
func (t callDevice) Elapsed() clock.Nanoseconds { return t.call.device.Elapsed() }

// Execute runs one task and returns true if it faults. It also returns true, without running the
// task, if the context is done or the inputs cannot be written.
//
// The inputs are written before the first task that the device accepts, so that none are generated
// for a program whose first descriptor is refused.
func (t callDevice) Execute(r *regs.Task) (halt bool) {
	c := t.call
	if c.ctx.Err() != nil {
		return true
	}
	if c.values && !c.filled && c.device.Accepts(r) {
		if c.failed = c.writeInputs(); c.failed != nil {
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
