package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/internal/firmware/command"
)

// A request is a call in a task queue. The call begins with the first run of the request,
// so several calls of a program can be queued. While the call is in progress, the program's
// ports are bound to the buffers, and its run-time parameters set to the values, that the
// call gives.
type request struct {
	executor  *executor
	program   *loadedModel
	procedure *procedure
	header    command.Header
	call      command.Call
	id        queue.ID    // once it is in a queue
	owner     *clientCall // the client's call that it belongs to, or nil

	pass   *engine.Call
	unbind func() // nil before the call has begun
	ran    bool   // the last run of descriptors is executed
	done   bool
	err    error
	faults int
	gap    clock.Nanoseconds // time with the rails on before the first run
	again  *stoppedRun
	other  bool // the last Run executed another request
}

// A stoppedRun is a run that a more urgent request has stopped. Its results are in the model's memory
// already; when the run starts again, only its time passes. Requests that could see the results early
// wait; see request.Waiting.
type stoppedRun struct {
	took clock.Nanoseconds
	more bool
}

// checkBindings returns the status with which the call is refused and the reason, or OK if it can be
// accepted. It checks that the call's buffers exist, that its ports can be bound, and that every
// buffer is large enough for its port.
func (q *request) checkBindings() (s command.Status, why string) {
	p := q.procedure.loaded.Program()
	// Every buffer that is too short is named: who corrects one should not meet the next one then.
	const mostNamed = 4
	var short []string
	for i, b := range q.call.Buffers {
		size, ok := q.executor.buffers[b.Address]
		switch {
		case !ok:
			return command.NotFound, fmt.Sprintf("there is no buffer at %#x", b.Address)
		case int64(b.Port) >= int64(len(p.Ports)):
			return command.NotFound, fmt.Sprintf("the program has no port %d; its ports are 0 to %d", b.Port, len(p.Ports)-1)
		}
		if slices.ContainsFunc(q.call.Buffers[:i], func(c command.Buffer) bool { return c.Port == b.Port }) {
			return command.Malformed, fmt.Sprintf("port %d has two buffers", b.Port)
		}
		port := &p.Ports[b.Port]
		if port.BAR < 0 || p.BARs[port.BAR] != port.Address {
			return command.Unsupported, fmt.Sprintf("port %d, %v %s, has no buffer register", b.Port, port.Direction, port.Name)
		}
		if size < port.Bytes {
			short = append(short, fmt.Sprintf("port %d, %v %s, needs %d bytes, but the buffer at %#x has only %d", b.Port, port.Direction, port.Name, port.Bytes, b.Address, size))
		}
	}
	if n := len(short) - mostNamed; n > 0 {
		short = append(short[:mostNamed], fmt.Sprintf("and %d more", n))
	}
	if len(short) > 0 {
		return command.NoRoom, strings.Join(short, "; ")
	}
	return command.OK, ""
}

// resultStatus returns Failed if the finished call ended with an error or with a device fault, and
// OK otherwise.
func (q *request) resultStatus() command.Status {
	if q.err != nil || q.faults > 0 {
		return command.Failed
	}
	return command.OK
}

// Run executes the call's next run of descriptors. If another call in progress uses the program's
// buffers, which exist once, Run runs that call instead, whatever the priorities are.
func (q *request) Run() (took clock.Nanoseconds, more bool) {
	x := q.executor
	x.running, q.other = q, false
	delay := max(0, x.awake-x.queue.Now()) // a request for which the engine began to wake was stopped
	if r := q.again; r != nil {
		q.again = nil
		delay += q.pass.Resume()
		x.awake = x.queue.Now() + delay
		return delay + r.took, r.more
	}
	took, more = q.executeRun()
	if q.pass != nil && !q.other {
		x.awake = x.queue.Now() + delay + q.pass.LastRun().Delay
	}
	return delay + took, more
}

func (q *request) executeRun() (took clock.Nanoseconds, more bool) {
	if q.ran { // another request has run this one to its end
		return 0, false
	}
	if q.pass == nil {
		if q.err = q.startCall(); q.err != nil {
			if errors.Is(q.err, engine.ErrOutstanding) || errors.Is(q.err, engine.ErrWaiting) {
				if o := q.executor.findBlockingRequest(q); o != nil {
					q.other = true
					if took, more = o.executeRun(); !more {
						o.finishCall()
					}
					return took, true
				}
			}
			q.ran = true
			return 0, false
		}
	}
	if gap := q.executor.power.gap; gap > 0 {
		q.gap += gap
		q.executor.power.gap = 0
	}
	if took, more = q.pass.Run(); !more {
		q.ran = true
		var res *engine.Result
		if res, q.err = q.pass.Result(); q.err == nil {
			q.program.last, q.faults = res, len(res.Report.Faults)
			q.executor.countWaits(q.gap, res)
		}
	}
	return took, more
}

// Rewind stops the run in progress, which began the given time ago, if that is possible. It
// implements queue.interruptible.
func (q *request) Rewind(after clock.Nanoseconds) bool {
	x := q.executor
	if q.other || q.pass == nil {
		return false
	}
	c := q.pass.LastRun()
	began := max(0, x.queue.Now()-x.awake) // since the first descriptor
	if began >= c.Stoppable {
		return false
	}
	q.again = &stoppedRun{c.Time, !q.ran}
	q.pass.Suspend()
	x.lost += began
	if c.Time > 0 {
		x.wasted += clock.Nanojoules(float64(c.Energy) * float64(began/c.Time))
	}
	x.running = nil
	return true
}

// Waiting reports whether the request must wait for another one whose run is in progress or was
// stopped, because their calls share a buffer. It implements queue.waiter.
func (q *request) Waiting() bool {
	x := q.executor
	if x.queue.Preemption != queue.PreemptAbort {
		return false // Run gives the engine to the other request
	}
	for _, o := range x.pending {
		if o != q && (o.again != nil || o == x.running) && o.sharesBuffer(q) {
			return true
		}
	}
	return false
}

// sharesBuffer reports whether q and o use the same program or a common buffer.
func (q *request) sharesBuffer(o *request) bool {
	if q.procedure.loaded.SharesBuffer(o.procedure.loaded) {
		return true
	}
	return slices.ContainsFunc(q.call.Buffers, func(b command.Buffer) bool {
		return slices.ContainsFunc(o.call.Buffers, func(c command.Buffer) bool { return b.Address == c.Address })
	})
}

// findBlockingRequest returns a request in progress for which q must wait, or nil if there is none.
// If there are several, it prefers one for the same procedure, and otherwise the oldest.
func (x *executor) findBlockingRequest(q *request) (first *request) {
	for _, id := range slices.Sorted(maps.Keys(x.pending)) {
		o := x.pending[id]
		switch {
		case o == q || o.pass == nil || o.ran:
		case o.procedure == q.procedure:
			return o
		case first == nil:
			first = o
		}
	}
	return first
}

// startCall binds the buffers and parameter values of the call and starts it. If the call cannot
// start, the previous bindings are restored.
func (q *request) startCall() error {
	l := q.procedure.loaded
	err := q.bindArguments(l)
	if err != nil {
		return err
	}
	if q.pass, err = l.Start(q.executor.ctx); err != nil {
		q.unbind()
		return err
	}
	q.pass.Restartable = q.executor.queue.Preemption == queue.PreemptAbort
	return nil
}

// bindArguments makes the program's ports use the call's buffers and sets its parameters to the
// call's values. This lasts until q.unbind is called.
func (q *request) bindArguments(l *engine.Loaded) (err error) {
	var buffers []engine.Binding
	for _, b := range q.call.Buffers {
		port := &l.Program().Ports[b.Port]
		buffers = append(buffers, engine.Binding{Port: port.Name, Direction: port.Direction, Address: b.Address})
	}
	q.unbind, err = l.Borrow(buffers, q.settings())
	return err
}

// settings returns the values of bars and of run-time parameters that the call gives, and the weights
// of an adapter.
func (q *request) settings() (list []engine.Setting) {
	if at, ok := q.executor.weights[instance{q.header.Program, q.header.Process}]; ok {
		list = append(list, engine.Setting{IsWeights: true, Value: at})
	}
	for _, b := range q.call.Bars {
		list = append(list, engine.Setting{IsBar: true, Bar: int(b.Number), Value: b.Value})
	}
	for _, x := range q.call.LiveIns {
		list = append(list, engine.Setting{Name: x.Name, Value: x.Value})
	}
	return list
}

// finishCall ends the call. It restores the program's bindings, signals the call's events, and
// reports the end of the call to the machine. It does nothing if the call has ended before.
func (q *request) finishCall() {
	if q.done {
		return
	}
	q.done = true
	if q.unbind != nil {
		q.unbind()
	}
	q.program.calls++
	q.program.err = q.err
	for _, e := range q.call.Signal {
		q.executor.events.Signal(e)
	}
	for _, e := range q.call.Shared {
		q.executor.events.Signal(e)
	}
	q.executor.ended(q)
}

// Abort ends the call without executing its remaining descriptors, and restores the bindings of its
// program.
func (q *request) Abort() {
	if q.pass != nil {
		q.pass.Abort()
	}
	if q.unbind != nil {
		q.unbind()
	}
	q.ran, q.done, q.err = true, true, engine.ErrAborted
}
