package machine

import (
	"slices"

	"anesim/firmware/command"
	"anesim/firmware/engine"
	"anesim/firmware/queue"
	"anesim/hw/clock"
	"anesim/loader"
)

// An image is a model that load commands can name.
type image struct {
	name       string
	model      engine.Source
	procedures []*loader.Program // made at its first load
}

// A resident is a program in one of the controller's slots.
type resident struct {
	image      *image
	procedures []procedure
	last       *engine.Result
	err        error
	calls      int
}

// A procedure is a chain of a program, in memory.
type procedure struct {
	loaded *engine.Loaded
	bars   []string // run-time parameters, by the number that custom bars name them by
}

// Load loads the model that a load command names, each of its procedures with a copy of the
// container's segments (ours: on the engine they share them).
func (m *Machine) Load(slot int32, p command.Program) (procedures uint32, s command.Status) {
	i := int((p.Address - imageBase) / imageSize)
	if p.Address < imageBase || i >= len(m.models) || p.Address != imageBase+uint64(i)*imageSize {
		return 0, command.NotFound
	}
	x := m.models[i]
	if x.procedures == nil {
		list, err := x.model.Procedures(m.ctx, m.session.Options())
		if err != nil {
			return 0, command.Failed
		}
		x.procedures = list
	}
	programs := x.procedures
	switch {
	case int64(p.Procedures) > int64(len(programs)):
		return 0, command.NotFound
	case p.Procedures > 0:
		programs = programs[:p.Procedures]
	}
	r := &resident{image: x}
	for _, x := range programs {
		l, err := m.session.Load(x)
		if err != nil {
			for _, p := range r.procedures {
				p.loaded.Unload()
			}
			return 0, command.Failed
		}
		r.procedures = append(r.procedures, procedure{l, engine.Parameters(x)})
	}
	m.programs[slot] = r
	return uint32(len(programs)), command.OK
}

// Unload takes a slot's program out of memory, with what is left of its calls.
func (m *Machine) Unload(slot int32) {
	r := m.programs[slot]
	if r == nil {
		return
	}
	m.abort(func(q *request) bool { return q.header.Program == slot })
	for _, p := range r.procedures {
		p.loaded.Unload()
	}
	delete(m.programs, slot)
}

// Terminate drops what a process has not done yet.
func (m *Machine) Terminate(slot, process int32) {
	m.abort(func(q *request) bool { return q.header.Program == slot && q.header.Process == process })
}

// abort drops the requests that match, in queues and before them.
func (m *Machine) abort(match func(*request) bool) {
	var ids []queue.ID
	for id, q := range m.pending {
		if match(q) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		m.queue.Abort(id)
	}
	before := len(m.parked)
	m.parked = slices.DeleteFunc(m.parked, match)
	m.dropped += uint64(before - len(m.parked))
}

// Call puts a call into the queue of its priority, once the events that it waits for are
// there, and runs it unless calls are held.
func (m *Machine) Call(h command.Header, c command.Call) command.Status {
	r := m.programs[h.Program]
	if r == nil || int64(h.Procedure) >= int64(len(r.procedures)) {
		return command.NotFound
	}
	q := &request{machine: m, program: r, procedure: &r.procedures[h.Procedure], header: h, call: c}
	if s := q.check(); s != command.OK {
		return s
	}
	if !m.events.Reached(c.Wait) {
		m.parked = append(m.parked, q)
		return command.OK
	}
	if s := m.submit(q); s != command.OK || m.held {
		return s
	}
	if err := m.Drain(); err != nil {
		return command.Failed
	}
	if q.done {
		return q.status()
	}
	return command.OK
}

func (m *Machine) submit(q *request) command.Status {
	h := &q.header
	id, err := m.queue.Submit(queue.Request{
		Priority: queue.Priority(h.Priority), Network: uint8(h.Program + 1), Program: h.Program, Process: h.Process, Work: q,
	})
	if err != nil {
		return command.NoRoom
	}
	m.pending[id] = q
	return command.OK
}

// wake puts the requests into their queues whose events are there. One that its queue has
// no room for waits on.
func (m *Machine) wake() {
	m.parked = slices.DeleteFunc(m.parked, func(q *request) bool {
		return m.events.Reached(q.call.Wait) && m.submit(q) == command.OK
	})
	m.notices()
}

// Quiesce runs what the queues hold to its end; what takes longer than a queue may is
// aborted.
func (m *Machine) Quiesce() command.Status {
	for n := queue.Queues - 1; n >= 0; n-- {
		if _, err := m.queue.Quiesce(n); err != nil {
			return command.Failed
		}
	}
	return command.OK
}

// Power switches the power domains.
func (m *Machine) Power(on bool) command.Status {
	if on {
		m.session.Controller().Wake(1)
	} else {
		m.session.Controller().PowerDown()
	}
	return command.OK
}

// pass lets time pass without work.
func (m *Machine) pass(t clock.Nanoseconds) {
	m.queue.Wait(m.queue.Now() + t)
	m.session.Controller().Idle(t)
}

// Boot starts the queues.
func (m *Machine) Boot() command.Status {
	if m.queue.State() == queue.Init && m.queue.Start() != nil {
		return command.WrongState
	}
	return command.OK
}

// Pause stops the queues between two runs of descriptors, or starts them.
func (m *Machine) Pause(on bool) command.Status {
	change := m.queue.Start
	if on {
		change = m.queue.Pause
	}
	if change() != nil {
		return command.WrongState
	}
	return command.OK
}

// Secure enters or leaves secure mode: the queues quiesce and the power is cycled.
func (m *Machine) Secure(on bool) command.Status {
	if _, err := m.queue.SecureBoundary(on, m.session.Controller().PowerDown); err != nil {
		return command.WrongState
	}
	return command.OK
}
