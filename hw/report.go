package hw

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/l2"
	"anesim/hw/tiles"
)

// Shape is a descriptor's work in whole tensors: channels over all groups.
type Shape struct {
	Win, Hin, Cin    int
	Wout, Hout, Cout int
	Kw, Kh           int
	Groups           int
}

// A DescriptorReport is what the device says of one task.
type DescriptorReport struct {
	Index   int
	Offset  uint32
	Op      Op
	Shape   Shape
	Planar  bool // on the planar engine alone
	Engines int
	Tiles   int
	// Crew says in how many rounds the engines do the work, and HalfEngine is the first
	// that has one tile open, -1 where none has.
	Crew       tiles.Crew
	HalfEngine int
	// Packing is the form of a multiply-accumulate's weights, and PaletteBits the width of a
	// palette's indices.
	Packing     tiles.Packing
	PaletteBits int
	Cycles      Accounting // those it adds to the chain
	// Saved is the cycles that running beside the descriptor before it saves, its last
	// results' way to memory among them.
	Saved clock.Cycles
	// Lead is how long the descriptor works before the time that it adds to the chain, beside
	// the one before, and Trail how long its last results take behind it.
	Lead, Trail clock.Nanoseconds
	Units       Units
	DMA         dma.Traffic
	L2          l2.Traffic
	Exe         ExeCycles
	MACs        uint64
	Skipped     uint64 // of MACs, those by zeros that sparse weights leave out
	Lookups     uint64 // of the activation table
	// PlanarElements are those of the source that go through the planar engine.
	PlanarElements uint64
	// ZeroMACs are those of MACs with an operand of zero, where values were computed, and
	// ZeroSaves what they take less than others. Energy leaves that out: it is the same
	// with and without values.
	ZeroMACs  uint64
	ZeroSaves clock.Nanojoules
	Time      clock.Nanoseconds
	Energy    clock.Nanojoules
	Parts     EnergyParts // of Energy
	Counters  Counters
	Computed  bool // values were computed
	// Overflow is set on the first descriptor of a dispatch whose result is not finite.
	Overflow *Overflow
	// Limits say why values that were asked for were not computed, and what those that
	// were rest on that is not known of real programs.
	Limits []evidence.Limit
}

// Working returns the time in which the descriptor works. Rates are of this time: that which
// it adds to the chain is less where it runs beside others.
func (d *DescriptorReport) Working() clock.Nanoseconds { return d.Lead + d.Time + d.Trail }

// Watts returns the descriptor's mean power while it works.
func (d *DescriptorReport) Watts() float64 {
	t := d.Working()
	if t <= 0 {
		return 0
	}
	return float64(d.Energy) / float64(t)
}

// Note is why values that were asked for were not computed, empty when they were.
func (d *DescriptorReport) Note() string { return d.limits(true) }

// Caveat is what computed values rest on that is not known of real programs.
func (d *DescriptorReport) Caveat() string { return d.limits(false) }

func (d *DescriptorReport) limits(blocking bool) (s string) {
	for i := range d.Limits {
		if l := &d.Limits[i]; l.Blocks() == blocking {
			if s != "" {
				s += "; "
			}
			s += l.What
		}
	}
	return s
}

// A Fault is what the modelled device would not survive: a result, not an error of the
// program that runs the model.
type Fault struct {
	Unit       string
	Descriptor int
	Cycle      clock.Cycles // since the chain's start
	What       string
}

// String is the fault on one line.
func (f Fault) String() string {
	return fmt.Sprintf("descriptor %d, %s, cycle %d: %s", f.Descriptor, f.Unit, f.Cycle, f.What)
}

// A Report is what a chain did.
type Report struct {
	Descriptors []DescriptorReport
	// Again is how many more times the last Per of Descriptors ran, with the same figures.
	// They are in the sums and not listed.
	Again, Per int
	// Rest is what descriptors behind those did that are not listed, in the sums too.
	Rest Rest

	Faults   []Fault
	Cycles   clock.Cycles
	Time     clock.Nanoseconds
	Energy   clock.Nanojoules // the descriptors' and the dispatch's own
	Dispatch clock.Nanojoules // of Energy, what a dispatch costs whatever it does
	MACs     uint64
	DMA      dma.Traffic
}

// Add adds a descriptor's numbers to the report's sums. It does not list the descriptor.
func (r *Report) Add(d *DescriptorReport) {
	r.Cycles += d.Cycles.Total()
	r.Time += d.Time
	r.Energy += d.Energy
	r.MACs += d.MACs
	r.DMA.Add(&d.DMA)
}

// AddDispatches adds what dispatches cost whatever they do to the report's energy.
func (r *Report) AddDispatches(e clock.Nanojoules) {
	r.Dispatch += e
	r.Energy += e
}

// DescriptorEnergy returns the energy of the descriptors: all of it but what the dispatches
// cost whatever they do, which a comparison of programs leaves out.
func (r *Report) DescriptorEnergy() clock.Nanojoules { return r.Energy - r.Dispatch }

// Repeat adds the last per descriptors so many more times to the sums, without listing
// them. A report repeats once, behind its last descriptor.
func (r *Report) Repeat(times, per int) {
	if times <= 0 {
		return
	}
	r.Again, r.Per = times, per
	for i := len(r.Descriptors) - per; i < len(r.Descriptors); i++ {
		d, n := &r.Descriptors[i], uint64(times)
		r.Cycles += clock.Cycles(n) * d.Cycles.Total()
		r.Time += clock.Nanoseconds(float64(times) * float64(d.Time))
		r.Energy += clock.Nanojoules(float64(times) * float64(d.Energy))
		r.MACs += n * d.MACs
		r.DMA.Source1 += n * d.DMA.Source1
		r.DMA.Source2 += n * d.DMA.Source2
		r.DMA.Kernel += n * d.DMA.Kernel
		r.DMA.Destination += n * d.DMA.Destination
	}
}

// runs is how often the i-th descriptor ran.
func (r *Report) runs(i int) int {
	if i >= len(r.Descriptors)-r.Per {
		return 1 + r.Again
	}
	return 1
}

// Count is the number of descriptors that ran, those that are not listed among them.
func (r *Report) Count() int { return len(r.Descriptors) + r.Again*r.Per + r.Rest.Count }

// sums are a report's sums at some time.
type sums struct {
	cycles clock.Cycles
	time   clock.Nanoseconds
	energy clock.Nanojoules
	macs   uint64
	dma    dma.Traffic
}

func (r *Report) sums() sums { return sums{r.Cycles, r.Time, r.Energy, r.MACs, r.DMA} }

func (r *Report) restore(s sums) {
	r.Cycles, r.Time, r.Energy, r.MACs, r.DMA = s.cycles, s.time, s.energy, s.macs, s.dma
}

// Accounting is the chain's cycles by cause.
func (r *Report) Accounting() (a Accounting) {
	if r.Rest.Count > 0 {
		return r.Rest.Cycles
	}
	for i := range r.Descriptors {
		for c, n := range r.Descriptors[i].Cycles.All() {
			*a.Of(c) += clock.Cycles(r.runs(i)) * n
		}
	}
	return a
}

// Parts is the descriptors' energy by what takes it.
func (r *Report) Parts() (e EnergyParts) {
	if r.Rest.Count > 0 {
		return r.Rest.Parts
	}
	for i := range r.Descriptors {
		x, n := &r.Descriptors[i].Parts, float64(r.runs(i))
		e.MAC += clock.Nanojoules(n * float64(x.MAC))
		e.Table += clock.Nanojoules(n * float64(x.Table))
		e.L2 += clock.Nanojoules(n * float64(x.L2))
		e.DRAM += clock.Nanojoules(n * float64(x.DRAM))
		e.Planar += clock.Nanojoules(n * float64(x.Planar))
		e.Active += clock.Nanojoules(n * float64(x.Active))
	}
	return e
}

// Saved is the cycles that running beside each other saves the descriptors.
func (r *Report) Saved() (n clock.Cycles) {
	if r.Rest.Count > 0 {
		return r.Rest.Saved
	}
	for i := range r.Descriptors {
		n += clock.Cycles(r.runs(i)) * r.Descriptors[i].Saved
	}
	return n
}

// Working returns the time from the first work of the report's descriptors to the last. It is
// more than Time where they are part of a chain and work beside others of it.
func (r *Report) Working() clock.Nanoseconds {
	if r.Rest.Count > 0 {
		return r.Time
	}
	var at, low, high clock.Nanoseconds
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		low = min(low, at-d.Lead)
		at += d.Time
		high = max(high, at+d.Trail)
	}
	return max(high-at, 0) + r.Time - low
}

// Engines is the most engines that a descriptor had at work.
func Engines(list []DescriptorReport) (n int) {
	for i := range list {
		n = max(n, list[i].Engines)
	}
	return n
}

// Complete reports whether every descriptor's values were computed without a fault.
func (r *Report) Complete() bool {
	if r.Rest.Count > 0 {
		return false // only a chain that is timed leaves descriptors off its list
	}
	for i := range r.Descriptors {
		if !r.Descriptors[i].Computed {
			return false
		}
	}
	return len(r.Faults) == 0
}
