package hw

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/l2"
	"anesim/hw/tiles"
)

// Shape holds a descriptor's dimensions in whole tensors. Channels are counted over all groups.
type Shape struct {
	Win, Hin, Cin    int
	Wout, Hout, Cout int
	Kw, Kh           int
	Groups           int
}

// A DescriptorReport holds the device's figures for one task.
type DescriptorReport struct {
	Index  int
	Offset uint32
	Op     Op
	Shape  Shape
	// Prepares is set on a pass or a copy whose result is an operand of the matmul that follows.
	Prepares bool
	// Depthwise is set on a convolution in which each channel of the source makes one of the result.
	// Its Shape has one group.
	Depthwise bool
	Planar    bool // runs on the planar engine only
	Engines   int
	Tiles     int
	// Crew holds the number of rounds in which the engines do the work. HalfEngine is the first
	// engine with exactly one open tile, -1 if there is none.
	Crew       tiles.Crew
	HalfEngine int
	// Packing is the format of a multiply-accumulate's weights. PaletteBits is the width of palette
	// indices in bits.
	Packing     tiles.Packing
	PaletteBits int
	Cycles      Accounting // cycles that it adds to the chain
	// Saved is the number of cycles saved by overlapping with the previous descriptor, including
	// the drain of that one's last results.
	Saved clock.Cycles
	// Lead is the time for which the descriptor works before the time that it adds to the chain.
	// Trail is the time that its last results take after it.
	Lead, Trail clock.Nanoseconds
	Units       Units
	DMA         dma.Traffic
	L2          l2.Traffic
	Exe         ExeCycles
	MACs        uint64
	Skipped     uint64 // of MACs, multiplications by zeros that sparse weights leave out
	Lookups     uint64 // look-ups in the activation table
	// PlanarElements is the number of source elements processed by the planar engine.
	PlanarElements uint64
	// ZeroMACs is the number of MACs with a zero operand, set if values were computed. ZeroSaves is
	// the energy that they save. Energy does not include the saving, so that it is the same with
	// and without values.
	ZeroMACs  uint64
	ZeroSaves clock.Nanojoules
	Time      clock.Nanoseconds
	Energy    clock.Nanojoules
	Parts     EnergyParts // split of Energy
	Counters  Counters
	Computed  bool // values were computed
	// Overflow is set on the first descriptor of a dispatch whose result is not finite.
	Overflow *Overflow
	// Limits says why requested values were not computed, and which unverified assumptions the
	// computed values depend on.
	Limits []evidence.Limit
}

// Working returns the time for which the descriptor works. Rates are computed from this time,
// because Time is shorter if the descriptor overlaps with others.
func (d *DescriptorReport) Working() clock.Nanoseconds { return d.Lead + d.Time + d.Trail }

// Watts returns the descriptor's mean power while it works, 0 if it takes no time.
func (d *DescriptorReport) Watts() float64 {
	t := d.Working()
	if t <= 0 {
		return 0
	}
	return float64(d.Energy) / float64(t)
}

// Note returns the reasons why requested values were not computed, joined with "; ". It is empty if
// they were computed.
func (d *DescriptorReport) Note() string { return d.joinLimits(true) }

// Caveat returns the assumptions that computed values depend on and that real programs do not
// confirm.
func (d *DescriptorReport) Caveat() string { return d.joinLimits(false) }

// joinLimits joins the texts of the limits that block values, or of the others.
func (d *DescriptorReport) joinLimits(blocking bool) (s string) {
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

// A Fault describes why the modelled device would not survive a task. It is a result of the model,
// not an error of the program that runs it.
type Fault struct {
	Unit       string
	Descriptor int
	Cycle      clock.Cycles // since the start of the chain
	What       string
}

// String returns the fault on one line.
func (f Fault) String() string {
	return fmt.Sprintf("descriptor %d, %s, cycle %d: %s", f.Descriptor, f.Unit, f.Cycle, f.What)
}

// A Report holds the figures of a chain.
type Report struct {
	Descriptors []DescriptorReport
	// Again is the number of further runs of the last Per descriptors, with the same figures. Those
	// runs are included in the sums but not listed.
	Again, Per int
	// Rest sums up the descriptors that are not listed. The totals below include them.
	Rest Rest

	Faults   []Fault
	Cycles   clock.Cycles
	Time     clock.Nanoseconds
	Energy   clock.Nanojoules // of the descriptors and the dispatches
	Dispatch clock.Nanojoules // part of Energy: the fixed cost of dispatches
	MACs     uint64
	DMA      dma.Traffic
}

// Add adds a descriptor's figures to the report's sums. It does not list the descriptor.
func (r *Report) Add(d *DescriptorReport) {
	r.Cycles += d.Cycles.Total()
	r.Time += d.Time
	r.Energy += d.Energy
	r.MACs += d.MACs
	r.DMA.Add(&d.DMA)
}

// AddDispatches adds e, the fixed energy cost of dispatches, to the report's energy.
func (r *Report) AddDispatches(e clock.Nanojoules) {
	r.Dispatch += e
	r.Energy += e
}

// DescriptorEnergy returns the energy without the fixed cost of dispatches. Comparisons of programs
// use it.
func (r *Report) DescriptorEnergy() clock.Nanojoules { return r.Energy - r.Dispatch }

// Repeat adds the last per descriptors to the sums another times times, without listing them. It
// does nothing if times is not positive. Call it at most once, after the last descriptor was added.
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

// runCount returns how often the i-th listed descriptor ran.
func (r *Report) runCount(i int) int {
	if i >= len(r.Descriptors)-r.Per {
		return 1 + r.Again
	}
	return 1
}

// Count returns the number of descriptors that ran, including those that are not listed.
func (r *Report) Count() int { return len(r.Descriptors) + r.Again*r.Per + r.Rest.Count }

// sums is a copy of a report's totals.
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

// Accounting returns the chain's cycles by cause.
func (r *Report) Accounting() (a Accounting) {
	if r.Rest.Count > 0 {
		return r.Rest.Cycles
	}
	for i := range r.Descriptors {
		for c, n := range r.Descriptors[i].Cycles.All() {
			*a.Of(c) += clock.Cycles(r.runCount(i)) * n
		}
	}
	return a
}

// Parts returns the energy of the descriptors by consumer.
func (r *Report) Parts() (e EnergyParts) {
	if r.Rest.Count > 0 {
		return r.Rest.Parts
	}
	for i := range r.Descriptors {
		x, n := &r.Descriptors[i].Parts, float64(r.runCount(i))
		e.MAC += clock.Nanojoules(n * float64(x.MAC))
		e.Table += clock.Nanojoules(n * float64(x.Table))
		e.L2 += clock.Nanojoules(n * float64(x.L2))
		e.DRAM += clock.Nanojoules(n * float64(x.DRAM))
		e.Planar += clock.Nanojoules(n * float64(x.Planar))
		e.Active += clock.Nanojoules(n * float64(x.Active))
	}
	return e
}

// Saved returns the cycles that the descriptors save by overlapping.
func (r *Report) Saved() (n clock.Cycles) {
	if r.Rest.Count > 0 {
		return r.Rest.Saved
	}
	for i := range r.Descriptors {
		n += clock.Cycles(r.runCount(i)) * r.Descriptors[i].Saved
	}
	return n
}

// Working returns the time from the first to the last work of the report's descriptors. It is
// longer than Time if they are part of a chain and overlap with other descriptors of it.
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

// Engines returns the largest number of engines that a descriptor in list uses.
func Engines(list []DescriptorReport) (n int) {
	for i := range list {
		n = max(n, list[i].Engines)
	}
	return n
}

// Complete reports whether the values of every descriptor were computed and none faulted.
func (r *Report) Complete() bool {
	if r.Rest.Count > 0 {
		return false // only a chain without values leaves descriptors off its list
	}
	for i := range r.Descriptors {
		if !r.Descriptors[i].Computed {
			return false
		}
	}
	return len(r.Faults) == 0
}

// SinglePatchPixels is the largest output, over all groups, that a multiply-accumulate loads and
// stores as a whole.
const SinglePatchPixels = partElements

// SinglePatch reports whether the descriptor is a multiply-accumulate of one patch. Its sums need
// the whole source, and its results leave after them, so no memory traffic overlaps with the array.
func (d *DescriptorReport) SinglePatch() bool {
	return d.MACs > 0 && d.Shape.Wout*d.Shape.Hout*max(1, d.Shape.Groups) <= SinglePatchPixels
}
