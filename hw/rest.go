package hw

import (
	"slices"

	"anesim/hw/clock"
)

// A Rest is what those descriptors of a chain did that its report does not list. A report
// has it where Options.List bounds the list.
type Rest struct {
	Count   int
	Time    clock.Nanoseconds
	Energy  clock.Nanojoules
	Engines int    // the most that one of them had at work
	Weights uint64 // bytes of coefficients that convolutions among them read

	// Sums of the descriptors that are listed and of these, one after the other, so that
	// they are to the last digit what they are with all of them listed.
	Cycles   Accounting
	Saved    clock.Cycles
	Parts    EnergyParts
	Interval Interval
}

// shorten takes descriptors behind the first so many off the report's list, but for the
// last ones, open.
func (r *Report) shorten(list, open int) {
	end := len(r.Descriptors) - open
	if end <= list {
		return
	}
	if r.Rest.Count == 0 {
		head := Report{Descriptors: r.Descriptors[:list]}
		r.Rest = Rest{Cycles: head.Accounting(), Saved: head.Saved(), Parts: head.Parts(), Interval: head.Bounds()}
	}
	for i := list; i < end; i++ {
		r.Rest.add(&r.Descriptors[i])
	}
	r.Descriptors = slices.Delete(r.Descriptors, list, end)
}

// add counts a descriptor.
func (x *Rest) add(d *DescriptorReport) {
	x.Count++
	x.Time += d.Time
	x.Energy += d.Energy
	x.Engines = max(x.Engines, d.Engines)
	if d.Op == Conv {
		x.Weights += d.DMA.Kernel
	}
	x.Cycles.Add(&d.Cycles)
	x.Saved += d.Saved
	x.Parts.Add(&d.Parts)
	x.Interval.add(d.Bounds(), 1)
}
