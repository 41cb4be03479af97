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
