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
	procedures []*loader.Program // made when it is first loaded
}

// A loadedModel is a program in one of the controller's slots.
type loadedModel struct {
	image      *image
	procedures []procedure
	last       *engine.Result
	err        error
	calls      int
}

// A procedure is one chain of a program, in memory.
type procedure struct {
	loaded *engine.Loaded
	bars   []string // run-time parameters, indexed by their number in custom bars
}

// Load loads the model that a load command names. Each procedure gets its own copy of the
// container's segments; on a real engine they share them.
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
	r := &loadedModel{image: x}
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

// Unload removes a slot's program from memory and drops its remaining calls.
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

// Terminate drops the remaining requests of a process.
func (m *Machine) Terminate(slot, process int32) {
	m.abort(func(q *request) bool { return q.header.Program == slot && q.header.Process == process })
}

// abort drops the requests that match, both in the queues and waiting for events.
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

// Call puts a call in the queue of its priority once the events it waits for have occurred.
// It runs the queues unless calls are held.
func (m *Machine) Call(h command.Header, c command.Call) command.Status {
	r := m.programs[h.Program]
	if r == nil || int64(h.Procedure) >= int64(len(r.procedures)) {
		return command.NotFound
	}
	q := &request{machine: m, program: r, procedure: &r.procedures[h.Procedure], header: h, call: c}
	if s := q.validate(); s != command.OK {
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

// submitReady moves requests whose events have occurred to their queues. A request whose
// queue is full keeps waiting.
func (m *Machine) submitReady() {
	m.parked = slices.DeleteFunc(m.parked, func(q *request) bool {
		return m.events.Reached(q.call.Wait) && m.submit(q) == command.OK
	})
	m.takeNotifications()
}

// Quiesce runs all requests in the queues to their end. Requests that exceed the time limit
// of a queue are aborted.
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

// wait lets time pass without work.
func (m *Machine) wait(t clock.Nanoseconds) {
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

// Pause stops the queues between two runs of descriptors, or starts them again.
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

// Secure enters or leaves secure mode. The queues quiesce and the power is cycled.
func (m *Machine) Secure(on bool) command.Status {
	if _, err := m.queue.SecureBoundary(on, m.session.Controller().PowerDown); err != nil {
		return command.WrongState
	}
	return command.OK
}
