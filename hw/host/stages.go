package host

import "anesim/hw/evidence"

// A Stage is a part of what a call costs outside the engine, in microseconds.
type Stage struct {
	Name string
	Time evidence.Constant
}

// budget are the stages of a small call on an M1 under macOS, in the order they happen
// (measured: the documents' latency budget). They sum to 183.5 us; the documents also give
// 190 us for the whole call and 163 us for the kernel's part of it.
var budget = [...]Stage{
	{"binding and copies", evidence.New(25, "us", evidence.Measured, "latency budget of a small dispatch: user-space binding, runtime and host copies")},
	{"request", evidence.New(16, "us", evidence.Measured, "the same: building the firmware request")},
	{"kick", evidence.New(2.5, "us", evidence.Measured, "the same: the doorbell, 2 to 3 us")},
	{"firmware", evidence.New(130, "us", evidence.Measured, "the same: the firmware's round trip, with the engine's own time in it")},
	{"completion", evidence.New(10, "us", evidence.Measured, "the same: kernel-side completion, about two interrupts a call")},
}

// interrupts are those that a call raises at the host: most likely the controller's answer
// and its completion event.
var interrupts = evidence.New(2, "interrupts/call", evidence.Measured, "latency budget of a small dispatch: about two a call")

// Interrupts is how many a call raises at the host.
func Interrupts() evidence.Constant { return interrupts }

// BudgetSum is what the measured stages sum to, in microseconds.
func BudgetSum() float64 {
	sum := 0.0
	for _, s := range budget {
		sum += s.Time.Value
	}
	return sum
}

// Stages are the stages of a call on this host. The split was measured on one machine; here
// it is scaled to the host's own floor, so that the stages sum to it. A host without a
// floor has none.
func (h *Host) Stages() []Stage {
	if h.Floor.Value <= 0 {
		return nil
	}
	list := append([]Stage(nil), budget[:]...)
	share := h.Floor.Value / BudgetSum()
	for i := range list {
		c := &list[i].Time
		c.Value = float64(c.Value * share)
		c.Evidence = evidence.Inferred
		c.Source = "measured split of a 183.5 us call, scaled to this host's floor: " + h.Floor.Source
	}
	return list
}

// twoThreads is the rate of two threads that submit back to back, one command in flight,
// against that of one. All of a call but what runs beside the other's holds the gate, so
// that the rate is that of the call over what holds it.
var twoThreads = evidence.New(1.04, "x", evidence.Measured, "two submitting threads against one; small calls, M1 under macOS")

// engineAhead is the part of the firmware's round trip that lies ahead of the engine: no
// document says.
var engineAhead = evidence.New(0.5, "", evidence.Assumed, "nothing tells the way in from the way out")

// A Split is a call's time outside the engine, in microseconds: beside other calls, and
// behind the gate that lets one command through at a time, ahead of the engine and behind.
type Split struct{ Beside, Before, After evidence.Constant }

// Split divides the floor for calls that share the engine. About 7 us of a call of 183.5 us
// run beside others; they are part of binding and copies.
func (h *Host) Split() Split {
	us := func(v float64, why string) evidence.Constant {
		return evidence.New(v, "us", evidence.Inferred, why+"; "+h.Floor.Source)
	}
	stages := h.Stages()
	if stages == nil {
		return Split{us(0, "no floor"), us(0, "no floor"), us(0, "no floor")}
	}
	beside := float64(h.Floor.Value * (1 - 1/twoThreads.Value))
	before, after := -beside, 0.0
	for _, s := range stages {
		switch s.Name {
		case "firmware":
			ahead := float64(s.Time.Value * engineAhead.Value)
			before += ahead
			after += s.Time.Value - ahead
		case "completion":
			after += s.Time.Value
		default:
			before += s.Time.Value
		}
	}
	return Split{
		us(beside, "two threads get 1.04 times done what one does: the rest of a call holds the gate"),
		us(before, "stages up to the firmware, and half of its round trip (assumed)"),
		us(after, "the other half, and completion"),
	}
}
