package machine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"anesim/hw/clock"
	"anesim/hw/host"
	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
)

// A timeline moves the machine's clock. It knows the calls of clients that are outstanding and what
// happens to them when, and lets runs of descriptors take their time meanwhile.
//
// A client's call passes the stages of the host as in package traffic:
//
//	call --> outside | gate | before | ring, controller, queue: runs | after --> completion
//	         (overlaps (InFlight      engine                         |
//	          others)   commands)                                    +-> next of the gate
//
// Messages that a script sends to the ring itself take no time before they arrive.
type timeline struct {
	machine  *Machine
	inFlight int // calls past the gate at a time
	events   []timedEvent
	gate     []*clientCall // calls at the gate, the oldest first
	inside   int           // calls past the gate
	open     []*clientCall // calls whose clients do not know their end yet, the oldest first

	// Counts of calls, which the statistics report.
	posted, completed, expired, closed, late uint64
	stuck                                    string // why the last call whose client waited would never have ended, or ""
}

// A timedEvent is something that happens to a call at a time.
type timedEvent struct {
	at   clock.Nanoseconds
	do   func(*clientCall)
	call *clientCall
}

// A clientCall is a client's call from its start until its completion.
type clientCall struct {
	*driver.Submission
	path    host.Path
	extra   clock.Nanoseconds // further time of the client's process, which depends on the results
	state   callState
	gated   bool     // it is past the gate, which opens when it ends
	request *request // the request that its command became
	reply   command.Reply
	over    bool // Done was called
}

// A callState says where a call is.
type callState uint8

const (
	outside   callState = iota // before the gate, or at it
	admitted                   // past the gate
	posted                     // the controller has the command
	answered                   // the controller has answered; the host completes the call
	forgotten                  // nobody waits for it
)

// Submit performs a call of a client. It implements [driver.Backend].
func (m *Machine) Submit(s *driver.Submission) bool {
	t := m.timeline
	if len(t.open) >= m.mailbox.Depth() {
		return false
	}
	o := &clientCall{Submission: s}
	hung := slices.ContainsFunc(t.open, func(x *clientCall) bool { return x.Process == s.Process })
	t.open = append(t.open, o)
	switch h := m.engine.session.Options().Host; {
	case m.engine.held: // a script decides when the request runs: it costs no time of the host
		t.beginAtOnce(o)
	case m.Procedure(s.Message.Program, s.Message.Procedure) == nil:
		o.path = h.Path(0)
		t.begin(o, hung)
	default:
		o.path = h.Path(m.Procedure(s.Message.Program, s.Message.Procedure).HostTime())
		t.begin(o, hung)
	}
	return true
}

// SendWithin sends the message of a call on the execution channel as [Machine.Send] does, and waits at
// most for the given time until the call ends. The message arrives at once.
func (m *Machine) SendWithin(msg *command.Message, limit time.Duration) (end driver.End) {
	t := m.timeline
	o := &clientCall{Submission: &driver.Submission{Message: msg, Wait: true, Timeout: limit, Done: func(e driver.End) { end = e }}}
	t.open = append(t.open, o)
	t.beginAtOnce(o)
	return end
}

// begin starts call o now. A hung call makes no progress.
func (t *timeline) begin(o *clientCall, hung bool) {
	t.startTimeout(o)
	if !hung {
		t.schedule(o.path.Outside, o, t.waitAtGate)
	}
	t.await(o)
}

// beginAtOnce starts call o at the ring. If requests are held, its client does not wait.
func (t *timeline) beginAtOnce(o *clientCall) {
	t.startTimeout(o)
	t.post(o)
	if t.machine.engine.held && o.Wait && !o.over {
		if o.request != nil {
			o.request.owner = nil
		}
		t.reportEnd(o)
	}
	t.await(o)
}

// explain says why nothing can end the outstanding calls.
func (t *timeline) explain() string {
	var list []string
	for _, o := range t.open {
		switch x := t.machine.engine; {
		case o.request != nil && slices.Contains(x.parked, o.request):
			for _, e := range o.request.call.Wait {
				if x.events.Value(e.ID) < e.Value {
					list = append(list, fmt.Sprintf("a call of program slot %d waits for event %d to reach %d", o.Message.Program, e.ID, e.Value))
				}
			}
		case o.state == outside:
			list = append(list, fmt.Sprintf("a call of program slot %d overlaps with another one of its process", o.Message.Program))
		default:
			list = append(list, fmt.Sprintf("a call of program slot %d does not run", o.Message.Program))
		}
	}
	return strings.Join(list, "; ")
}

// startTimeout makes call o expire when its time is up, counted from now.
func (t *timeline) startTimeout(o *clientCall) {
	if o.Timeout > 0 {
		t.schedule(clock.Nanoseconds(o.Timeout.Nanoseconds()), o, t.expire)
	}
}

// await runs the clock until call o ends, if its client waits. If nothing can happen any more, it
// gives up.
func (t *timeline) await(o *clientCall) {
	t.stuck = ""
	for o.Wait && !o.over {
		if more, err := t.advance(true); !more || err != nil {
			t.stuck = t.explain()
			t.drop(o)
			o.over = true
			o.Done(driver.End{Stuck: true})
		}
	}
}

// schedule makes do happen to call o after a time from now. Things that happen at the same time
// happen in the order in which they were scheduled.
func (t *timeline) schedule(after clock.Nanoseconds, o *clientCall, do func(*clientCall)) {
	at := t.machine.engine.queue.Now() + after
	i := len(t.events)
	for i > 0 && t.events[i-1].at > at {
		i--
	}
	t.events = slices.Insert(t.events, i, timedEvent{at, do, o})
}

// advance moves the clock to the next thing that happens: the end of a run of descriptors, which
// comes before other things at the same time, or an event of a call. If run is true, it first starts
// the next run if the engine is idle. It returns false if nothing can happen.
func (t *timeline) advance(run bool) (bool, error) {
	x := t.machine.engine
	end, busy := x.queue.Running()
	if !busy && run {
		began, err := x.queue.Begin()
		if err != nil && len(t.events) == 0 {
			return false, err // otherwise an event may end the wait of the requests
		}
		if began {
			return true, nil
		}
	}
	switch {
	case busy && (len(t.events) == 0 || end <= t.events[0].at):
		x.endRun()
	case len(t.events) > 0:
		e := t.events[0]
		t.events = slices.Delete(t.events, 0, 1)
		x.passTime(e.at)
		e.do(e.call)
	default:
		return false, nil
	}
	return true, nil
}

// next returns the time of the next thing that happens without a new run, and whether there is one.
func (t *timeline) next() (at clock.Nanoseconds, ok bool) {
	at, ok = t.machine.engine.queue.Running()
	if len(t.events) > 0 && (!ok || t.events[0].at < at) {
		return t.events[0].at, true
	}
	return at, ok
}

// sameTime is the largest difference of two times that count as one, in nanoseconds. Recorded times are
// rounded to 0.001 ns. A call that was let in when a run ended must not come before that end.
const sameTime clock.Nanoseconds = 0.01

// runUntil moves the clock to the time at. If run is true, the engine starts every run that it can
// start by then: of two requests that are submitted at one time with a runUntil between them, the first
// gets an idle engine, however urgent the second is.
func (t *timeline) runUntil(at clock.Nanoseconds, run bool) error {
	x := t.machine.engine
	for {
		if _, busy := x.queue.Running(); !busy && run && x.queue.Now() <= at+sameTime {
			if _, err := x.queue.Begin(); err != nil && len(t.events) == 0 {
				return err
			}
		}
		next, ok := t.next()
		if !ok || next > at+sameTime {
			x.passTime(max(at, x.queue.Now()))
			return nil
		}
		if _, err := t.advance(false); err != nil {
			return err
		}
	}
}

// waitAtGate makes o wait at the gate.
func (t *timeline) waitAtGate(o *clientCall) {
	if o.state == forgotten {
		return
	}
	t.gate = append(t.gate, o)
	t.admit()
}

// admit lets waiting calls pass the gate, the most urgent first, until the permitted number has.
func (t *timeline) admit() {
	for t.inside < t.inFlight && len(t.gate) > 0 {
		first := 0
		for i, o := range t.gate {
			if o.Message.Priority < t.gate[first].Message.Priority {
				first = i
			}
		}
		o := t.gate[first]
		t.gate = slices.Delete(t.gate, first, first+1)
		o.state, o.gated = admitted, true
		t.inside++
		t.schedule(o.path.Before, o, t.post)
	}
}

// post puts the command of o on the ring and rings the doorbell.
func (t *timeline) post(o *clientCall) {
	if o.state == forgotten {
		return
	}
	x := t.machine.engine
	o.state = posted
	t.posted++
	x.posting, x.latest = true, nil
	o.reply = t.machine.Send(command.Execution, o.Message)
	x.posting = false
	if o.reply.Status == command.OK && !o.reply.Dropped && x.latest != nil {
		o.request = x.latest
		o.request.owner = o
		return
	}
	t.answer(o)
}

// requestEnded notes that the request of o has finished, or was aborted. A client whose request was
// aborted learns that it was dropped.
func (t *timeline) requestEnded(q *request, dropped bool) {
	o := q.owner
	if o == nil {
		return
	}
	o.reply = command.Reply{Header: q.header, Status: q.resultStatus(), Dropped: dropped}
	if q.pass != nil && o.path.Total() > 0 {
		if res, err := q.pass.Result(); err == nil {
			o.extra = max(0, res.Host-o.path.Total())
		}
	}
	t.answer(o)
}

// answer notes that the controller has answered the command of o. The host still needs its time; the
// client's part of it does not hold up other calls.
func (t *timeline) answer(o *clientCall) {
	if o.state == posted {
		o.state = answered
	}
	if o.extra > 0 {
		t.schedule(o.path.After, o, t.openGate)
	}
	if after := o.path.After + o.extra; after > 0 {
		t.schedule(after, o, t.complete)
	} else {
		t.complete(o)
	}
}

// complete opens the gate again, and tells the client how its call ended unless it no longer waits.
func (t *timeline) complete(o *clientCall) {
	if o.state == forgotten {
		t.late++
	} else {
		t.completed++
		t.reportEnd(o)
	}
	t.openGate(o)
}

// reportEnd tells the client of o how its call ended.
func (t *timeline) reportEnd(o *clientCall) {
	o.over = true
	t.removeCall(o)
	o.Done(driver.End{Reply: o.reply})
}

// expire ends call o, whose time is up. Its request is aborted.
func (t *timeline) expire(o *clientCall) {
	if o.over {
		return
	}
	t.expired++
	t.drop(o)
	o.over = true
	o.Done(driver.End{Expired: true})
}

// Cancel ends the calls of a process whose client closes the device. It implements [driver.Backend].
func (m *Machine) Cancel(process uint64) {
	t := m.timeline
	for _, o := range slices.Clone(t.open) { // drop changes the list, and may end other calls
		if o.Process != process || o.over {
			continue
		}
		t.closed++
		t.drop(o)
		o.over = true
		o.Done(driver.End{Closed: true})
	}
}

// drop forgets call o, which has not ended, and aborts its request. If the engine executes a run of
// the request, the completion still comes, but late.
func (t *timeline) drop(o *clientCall) {
	t.removeCall(o)
	was := o.state
	o.state = forgotten
	switch {
	case was == outside:
		t.gate = slices.DeleteFunc(t.gate, func(x *clientCall) bool { return x == o })
	case was == answered || was == posted && t.machine.engine.abortInRun(o.request):
		// It completes later.
	case was == posted:
		o.request.owner = nil
		t.machine.engine.dropRequests(func(q *request) bool { return q == o.request })
		t.openGate(o)
	default:
		t.openGate(o)
	}
}

// openGate opens the gate for the next call if o has passed it.
func (t *timeline) openGate(o *clientCall) {
	if o.gated {
		o.gated = false
		t.inside--
		t.admit()
	}
}

func (t *timeline) removeCall(o *clientCall) {
	t.open = slices.DeleteFunc(t.open, func(x *clientCall) bool { return x == o })
}
