package machine

import (
	"cmp"
	"slices"

	"anesim/internal/firmware/command"
)

// check fails the test if a condition that must hold at all times does not hold for the machine.
func (w *walk) check() {
	m := w.m
	fail := func(format string, args ...any) { w.t.Helper(); w.t.Errorf(format, args...) }
	l := m.Ledger()
	if !l.Balanced() || l.Lost > 0 {
		fail("ledger %+v", l)
	}
	if down, up, notes := m.Mailbox().Waiting(); down+up+notes > 0 || !m.Mailbox().Window().AtRest() || m.Mailbox().Window().Host != 0 {
		fail("between steps %d commands, %d completions, %d notifications, doorbells %#x", down, up, notes, m.Mailbox().Window().Host)
	}
	if win := m.Mailbox().Window(); win.Stores != l.Answered+l.Refused+l.Notified {
		fail("%d doorbells of the host for %+v", win.Stores, l)
	}
	q := m.Queue().Stats()
	if q.Submitted != q.Finished+q.Aborted+uint64(m.Queue().Waiting()) || len(m.engine.pending) != m.Queue().Waiting() {
		fail("queues %+v, %d wait, %d known", q, m.Queue().Waiting(), len(m.engine.pending))
	}
	if m.controller.Programs() != len(m.engine.programs) {
		fail("the controller has %d programs, the engine %d", m.controller.Programs(), len(m.engine.programs))
	}
	used := uint64(0)
	for _, r := range m.engine.programs {
		for i := range r.procedures {
			l := r.procedures[i].loaded
			used += l.Bytes()
			if l.Unloaded() {
				fail("a program in a slot is unloaded")
			}
		}
	}
	n, bytes := 0, uint64(0)
	for _, size := range m.engine.buffers {
		n, bytes = n+1, bytes+size
	}
	if mapped, total := m.Driver().Buffers(); mapped != n || total != bytes {
		fail("the driver has %d buffers of %d bytes, the engine %d of %d", mapped, total, n, bytes)
	}
	if m.engine.session.Used() != used+bytes {
		fail("%d bytes are used: programs have %d, buffers %d", m.engine.session.Used(), used, bytes)
	}
	if m.Driver().Clients() != len(w.clients) {
		fail("%d clients, the driver has %d", len(w.clients), m.Driver().Clients())
	}
	w.checkMemory()
}

// checkMemory fails the test if programs or buffers overlap.
func (w *walk) checkMemory() {
	var spans [][2]uint64
	for _, r := range w.m.engine.programs {
		for i := range r.procedures {
			for _, s := range r.procedures[i].loaded.Program().Segments {
				if _, mapped := w.m.engine.buffers[s.Addr]; !mapped { // a call's buffers are its program's while it runs
					spans = append(spans, [2]uint64{s.Addr, s.End()})
				}
			}
		}
	}
	for at, size := range w.m.engine.buffers {
		spans = append(spans, [2]uint64{at, at + size})
	}
	slices.SortFunc(spans, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(spans); i++ {
		if spans[i-1][1] > spans[i][0] {
			w.t.Errorf("memory overlaps: %#x and %#x", spans[i-1], spans[i])
		}
	}
}

// end closes all clients and fails the test if programs, buffers or requests remain.
func (w *walk) end() {
	m := w.m
	for len(w.clients) > 0 {
		w.leave(0)
		w.check()
	}
	m.Hold(false)
	for _, id := range []command.ID{command.Boot, command.Reset} {
		if r := m.Send(command.Control, &command.Message{Header: command.Header{ID: id, Program: -1, Process: -1}}); r.Status != command.OK {
			w.t.Errorf("%v at the end: %s", id, r.Why)
		}
	}
	if err := m.Drain(); err != nil {
		w.t.Errorf("drain at the end: %v", err)
	}
	w.check()
	if len(m.timeline.open) != 0 || m.timeline.inside != 0 || w.posted != w.completed {
		w.t.Errorf("at rest %d calls are outstanding, %d past the gate; %d of %d completed", len(m.timeline.open), m.timeline.inside, w.completed, w.posted)
	}
	if m.engine.session.Used() != 0 || len(m.engine.programs) != 0 || len(m.engine.buffers) != 0 || m.Queue().Waiting() != 0 || m.Waiting() != 0 {
		w.t.Errorf("at rest %d bytes, %d programs, %d buffers, %d and %d requests", m.engine.session.Used(), len(m.engine.programs), len(m.engine.buffers), m.Queue().Waiting(), m.Waiting())
	}
	if d := m.Driver(); d.Handles() != 0 || d.Clients() != 0 {
		w.t.Errorf("at rest %d handles, %d clients", d.Handles(), d.Clients())
	}
	if n, bytes := m.Broker().Resident(); n != 0 || bytes != 0 || m.Broker().Clients() != 0 {
		w.t.Errorf("at rest the broker has %d models, %d bytes, %d clients", n, bytes, m.Broker().Clients())
	}
	q, l := m.Queue().Stats(), m.Ledger()
	for id, n := range w.ended {
		if n != 1 {
			w.t.Errorf("request %d ended %d times", id, n)
		}
	}
	if uint64(len(w.ended)) != q.Submitted {
		w.t.Errorf("%d requests, %d ended", q.Submitted, len(w.ended))
	}
	w.counts.answered, w.counts.refused, w.counts.dropped, w.counts.notified = l.Answered, l.Refused, l.Dropped, l.Notified
	w.counts.finished, w.counts.aborted, w.counts.runs, w.counts.switches = q.Finished, q.Aborted, q.Runs, q.Switches
	w.counts.stops, w.counts.expired, w.counts.late = q.Stops, m.timeline.expired, m.timeline.late
}
