package machine

import (
	"errors"
	"maps"
	"slices"

	"anesim/firmware/command"
	"anesim/firmware/engine"
	"anesim/hw/clock"
)

// A request is a call in a task queue: it begins with its first run, so that several calls
// of a program can wait. While it is under way the program's ports are bound to the
// buffers, and its run-time parameters to the values, that the call gives.
type request struct {
	machine   *Machine
	program   *resident
	procedure *procedure
	header    command.Header
	call      command.Call

	pass   *engine.Call
	unbind func() // nil before the call has begun
	done   bool
	err    error
	faults int
}

// check holds what the call names to what is there.
func (q *request) check() command.Status {
	p := q.procedure.loaded.Program()
	for _, b := range q.call.Buffers {
		size, ok := q.machine.buffers[b.Address]
		if !ok || int64(b.Port) >= int64(len(p.Ports)) {
			return command.NotFound
		}
		port := &p.Ports[b.Port]
		if port.BAR < 0 || p.BARs[port.BAR] != port.Address {
			return command.Unsupported // no buffer of its own holds it
		}
		if size < port.Bytes {
			return command.NoRoom
		}
	}
	return command.OK
}

// status is what the call came to.
func (q *request) status() command.Status {
	if q.err != nil || q.faults > 0 {
		return command.Failed
	}
	return command.OK
}

// Run executes the call's next run of descriptors. A program has its buffers once: a call
// that finds another under way which uses them lets that one run instead, whatever its
// priority, until it ends.
func (q *request) Run() (took clock.Nanoseconds, more bool) {
	if q.done { // another call was waiting for this one
		return 0, false
	}
	if q.pass == nil {
		if q.err = q.begin(); q.err != nil {
			if errors.Is(q.err, engine.ErrOutstanding) || errors.Is(q.err, engine.ErrWaiting) {
				if o := q.machine.underWay(q); o != nil {
					took, _ = o.Run()
					return took, true
				}
			}
			q.end()
			return 0, false
		}
	}
	took, more = q.pass.Run()
	if !more {
		var res *engine.Result
		if res, q.err = q.pass.Result(); q.err == nil {
			q.program.last, q.faults = res, len(res.Report.Faults)
		}
		q.end()
	}
	return took, more
}

// underWay is the request that has begun and that one which has not waits for: of its own
// program where there is one, else the first.
func (m *Machine) underWay(q *request) (first *request) {
	for _, id := range slices.Sorted(maps.Keys(m.pending)) {
		o := m.pending[id]
		switch {
		case o == q || o.pass == nil || o.done:
		case o.procedure == q.procedure:
			return o
		case first == nil:
			first = o
		}
	}
	return first
}

// begin binds the call's buffers and values, and starts it.
func (q *request) begin() error {
	l := q.procedure.loaded
	err := q.bind(l)
	if err != nil {
		return err
	}
	if q.pass, err = l.Start(q.machine.ctx); err != nil {
		q.unbind()
	}
	return err
}

// bind gives the program's ports the call's buffers and its parameters the call's values,
// for as long as the call takes.
func (q *request) bind(l *engine.Loaded) (err error) {
	var buffers []engine.Binding
	for _, b := range q.call.Buffers {
		port := &l.Program().Ports[b.Port]
		buffers = append(buffers, engine.Binding{Port: port.Name, Direction: port.Direction, Address: b.Address})
	}
	var settings []engine.Setting
	for _, b := range q.call.Bars {
		if int64(b.Parameter) < int64(len(q.procedure.bars)) { // no relocation takes others
			settings = append(settings, engine.Setting{Name: q.procedure.bars[b.Parameter], Value: b.Value})
		}
	}
	q.unbind, err = l.Borrow(buffers, settings)
	return err
}

// end is the end of the call: what it signals is signalled, and the host is told.
func (q *request) end() {
	q.done = true
	if q.unbind != nil {
		q.unbind()
	}
	q.program.calls++
	q.program.err = q.err
	for _, e := range q.call.Signal {
		q.machine.events.Signal(e)
	}
	for _, e := range q.call.Shared {
		q.machine.events.Signal(e)
	}
	q.machine.controller.Ended(q.header, q.status())
	q.machine.notices()
}

// Abort drops what has not run.
func (q *request) Abort() {
	if q.pass != nil {
		q.pass.Abort()
	}
	if q.unbind != nil {
		q.unbind()
	}
	q.done, q.err = true, engine.ErrAborted
}
