package host

import (
	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// A Stage is one step of a call that runs outside the engine, with its duration in microseconds.
type Stage struct {
	Name string
	Time evidence.Constant
}

// Names of stages. The first one is spent in the client's process and the others in its request.
const (
	binding    = "binding and copies"
	request    = "request"
	kick       = "kick"
	firmware   = "firmware"
	completion = "completion"
)

// budget lists the stages of a small call on an M1 under macOS, in order (measured: the latency
// budget of the documents). They sum to 183.5 us. The documents also give 190 us for the whole call
// and 163 us for the kernel's part of it.
var budget = [...]Stage{
	{binding, evidence.New(25, "us", evidence.Measured, "latency budget of a small dispatch: user-space binding, runtime and host copies")},
	{request, evidence.New(16, "us", evidence.Measured, "latency budget of a small dispatch: building the firmware request")},
	{kick, evidence.New(2.5, "us", evidence.Measured, "latency budget of a small dispatch: the doorbell, 2 to 3 us")},
	{firmware, evidence.New(130, "us", evidence.Measured, "latency budget of a small dispatch: the firmware's round trip, including the engine's time")},
	{completion, evidence.New(10, "us", evidence.Measured, "latency budget of a small dispatch: completion in the kernel, about two interrupts per call")},
}

// interrupts is the number of interrupts that a call raises at the host. Most likely they are the
// controller's answer and its completion event.
var interrupts = evidence.New(2, "interrupts/call", evidence.Measured, "latency budget of a small dispatch: about two per call")

// Interrupts returns the number of interrupts that the engine raises at the host during one call.
func Interrupts() evidence.Constant { return interrupts }

// BudgetSum returns the total duration in microseconds of all stages of a call, as measured on one
// machine.
func BudgetSum() float64 {
	sum := 0.0
	for _, s := range budget {
		sum += s.Time.Value
	}
	return sum
}

// Stages returns the stages of a call on this host, or nil if the host adds no fixed time per call.
// The durations were measured on one machine and are scaled so that they sum to h.Floor, unless they
// are those of h.
func (h *Host) Stages() []Stage {
	if h.Floor.Value <= 0 {
		return nil
	}
	list := append([]Stage(nil), budget[:]...)
	if h.Floor.Value == BudgetSum() {
		return list
	}
	share := h.Floor.Value / BudgetSum()
	for i := range list {
		c := &list[i].Time
		c.Value = float64(c.Value * share)
		c.Evidence = evidence.Inferred
		c.Source = "split as in a measured call of 183.5 us, scaled to the time that an empty call takes on this host: " + h.Floor.Source
	}
	return list
}

// selectorTime is how long the selector that sends a request was measured to take, from entry to
// return, in another place of the documents than the stages.
var selectorTime = evidence.New(163, "us", evidence.Measured, "latency of a small dispatch: the selector that sends a request, from entry to return")

// SelectorTime returns how long the selector that sends a request takes in microseconds, as measured
// on one machine. The stages after binding, which make up the selector, sum to a little less.
func SelectorTime() evidence.Constant { return selectorTime }

// InSelector returns the part of a call's fixed time, in microseconds, that passes between entry and
// return of the selector that sends its request: all stages but the first.
func (h *Host) InSelector() float64 {
	sum := 0.0
	for _, s := range h.Stages() {
		if s.Name != binding {
			sum += s.Time.Value
		}
	}
	return sum
}

// twoThreads is the submission rate of two threads that submit back to back, relative to one
// thread. One command is in flight at a time. The part of a call that does not overlap with the
// other thread's call holds the gate, so the rate is the time of a call divided by the time for
// which it holds the gate.
var twoThreads = evidence.New(1.04, "x", evidence.Measured, "two submitting threads compared with one; small calls, M1 under macOS")

// engineAhead is the share of the firmware's round trip that lies before the start of the engine.
// No document gives it, so it is assumed.
var engineAhead = evidence.New(0.5, "", evidence.Assumed, "no measurement separates the way to the engine from the way back")

// A Split divides the fixed host time of a call, in microseconds, by when it is spent: Beside while
// other calls may be in progress, Before ahead of the engine's work, and After following it. Only
// one call at a time can be between the start of Before and the end of After.
type Split struct{ Beside, Before, After evidence.Constant }

// Split divides the fixed time of a call into a part that overlaps with other calls and the parts
// before and after the engine's work. About 7 us of a call of 183.5 us overlap: part of the time
// for binding and copying tensors.
func (h *Host) Split() Split {
	us := func(v float64, why string) evidence.Constant {
		return evidence.New(v, "us", evidence.Inferred, why+"; "+h.Floor.Source)
	}
	stages := h.Stages()
	if stages == nil {
		return Split{us(0, "no fixed time"), us(0, "no fixed time"), us(0, "no fixed time")}
	}
	beside := float64(h.Floor.Value * (1 - 1/twoThreads.Value))
	before, after := -beside, 0.0
	for _, s := range stages {
		switch s.Name {
		case firmware:
			ahead := float64(s.Time.Value * engineAhead.Value)
			before += ahead
			after += s.Time.Value - ahead
		case completion:
			after += s.Time.Value
		default:
			before += s.Time.Value
		}
	}
	return Split{
		us(beside, "two threads complete 1.04 times as many calls as one, so the rest of a call excludes other calls"),
		us(before, "stages before the firmware, and half of the firmware's round trip (assumed)"),
		us(after, "the other half of the firmware's round trip, and completion"),
	}
}

// A Path divides the time that a host adds to one call by when it is spent, in order.
type Path struct {
	Outside clock.Nanoseconds // overlaps with other calls: a part of the fixed time, and the copies
	Before  clock.Nanoseconds // after the gate and before the engine
	After   clock.Nanoseconds // after the engine, until the gate opens
}

// Total returns how long a call spends outside the engine, not counting waits.
func (p *Path) Total() clock.Nanoseconds { return p.Outside + p.Before + p.After }

// Path divides the time total, which [Host.Time] returned for a call. The calling thread is assumed
// to make the copies, and all of them before the call.
func (h *Host) Path(total clock.Nanoseconds) Path {
	ns := func(us float64) clock.Nanoseconds { return clock.Nanoseconds(1e3 * us) }
	s := h.Split()
	return Path{ns(s.Beside.Value) + max(0, total-ns(h.Floor.Value)), ns(s.Before.Value), ns(s.After.Value)}
}
