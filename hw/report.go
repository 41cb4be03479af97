package hw

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/internal/limits"
	"anesim/hw/l2"
	"anesim/hw/regs"
)

// Shape holds the dimensions of a descriptor's source, result and window. Cin and Cout count the
// channels of all groups together.
type Shape struct {
	Win, Hin, Cin    int
	Wout, Hout, Cout int
	Kw, Kh           int
	Groups           int
}

// A DescriptorReport holds all figures of one executed descriptor: its shape, cycles, traffic,
// energy and limits.
type DescriptorReport struct {
	Index  int
	Offset uint32
	Op     Op
	// Prepares is true for one that only moves data, if its result is an operand of the matmul that
	// follows.
	Prepares bool
	// Depthwise is true for a convolution in which each source channel makes one result channel.
	// Its Shape has one group.
	Depthwise bool
	Planar    bool    // runs on the planar engine only
	Computed  bool    // values were computed
	Packing   Packing // storage format of the weights of a multiply-accumulate
	Shape     Shape
	Engines   int
	Tiles     int
	// Crew says how the engines divide the work into rounds. HalfEngine is the first engine with
	// exactly one enabled tile, or -1 if there is none.
	Crew       Crew
	HalfEngine int
	// PaletteBits is the number of bits of a palette index of the weights.
	PaletteBits int
	Cycles      Accounting // cycles that it adds to the chain
	// Saved is the number of cycles by which overlapping with the previous descriptor shortens the
	// chain. It includes the time in which the previous descriptor's last results are stored.
	Saved clock.Cycles
	// Time is only what the descriptor adds to the chain. Lead is how long it already works before
	// that time, and Trail how long its last results are still being stored after it.
	Lead, Trail clock.Nanoseconds
	Units       Units
	DMA         dma.Traffic
	L2          l2.Traffic
	Exe         ExeCycles
	MACs        uint64
	Skipped     uint64 // of MACs, multiplications by zeros that sparse weights leave out
	// ZeroTaps is the number of multiplications by zeros that fill a row or a column of the window,
	// such as those between the taps of a dilated window. The array performs them, but the values do
	// not need them, so they are not part of MACs. Their energy is that of a zero operand (assumed).
	ZeroTaps uint64
	Lookups  uint64 // look-ups in the activation table
	// PlanarElements is the number of source elements that the planar engine processed.
	PlanarElements uint64
	// ZeroMACs is the number of multiply-accumulates with a zero operand, and ZeroSaves the energy
	// that the engine saves on them. Both are 0 unless values were computed. Energy does not
	// include the saving, so that it does not depend on whether values are computed.
	ZeroMACs  uint64
	ZeroSaves clock.Nanojoules
	Time      clock.Nanoseconds
	Energy    clock.Nanojoules
	Parts     EnergyParts // split of Energy
	Counters  Counters
	// Precision is set for a multiply-accumulate if Options.Precision is.
	Precision *Precision
	// Overflow is not nil for the first descriptor of a dispatch whose result contains an infinity
	// or a NaN.
	Overflow *Overflow
	Spread   *Spread // of the chip, or nil if it has none; see Chip
	// Limits holds the reasons why requested values were not computed, or the unconfirmed
	// assumptions that the computed values depend on.
	Limits []evidence.Limit
}

// Working returns the time from the descriptor's first transfer to its last. This exceeds Time if
// the descriptor overlaps with its neighbors, so rates are computed from Working.
func (d *DescriptorReport) Working() clock.Nanoseconds { return d.Lead + d.Time + d.Trail }

// Watts returns the mean power of the descriptor while it works. It returns 0 if the descriptor
// takes no time.
func (d *DescriptorReport) Watts() float64 {
	t := d.Working()
	if t <= 0 {
		return 0
	}
	return float64(d.Energy) / float64(t)
}

// Note returns the reasons why requested values were not computed, separated by "; ". It returns ""
// if they were computed.
func (d *DescriptorReport) Note() string { return d.joinLimitTexts(true) }

// Caveat returns the unconfirmed assumptions that the computed values depend on, separated by "; ".
// It returns "" if there are none.
func (d *DescriptorReport) Caveat() string { return d.joinLimitTexts(false) }

// joinLimitTexts joins the texts of limits of d with "; ". If blocking is true, it uses the limits
// that prevent values from being computed, and otherwise all others.
func (d *DescriptorReport) joinLimitTexts(blocking bool) (s string) {
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

// A Fault describes an error that the modelled device would raise for a task, such as an access
// outside the program's memory. Faults are results of the model, not Go errors.
type Fault struct {
	Unit       string
	Descriptor int
	Cycle      clock.Cycles // since the start of the chain
	What       string
}

// String returns the fault on one line, with the descriptor, unit and cycle.
func (f Fault) String() string {
	return fmt.Sprintf("descriptor %d, %s, cycle %d: %s", f.Descriptor, f.Unit, f.Cycle, f.What)
}

// A Report holds the figures of all descriptors that a device executed, and their sums.
type Report struct {
	Descriptors []DescriptorReport
	// Again is the number of times that the last Per descriptors were repeated with the same
	// figures. The sums include the repetitions; the list does not.
	Again, Per int
	// Rest holds the sums of the descriptors that are not listed. The totals below include them.
	Rest Rest

	Faults   []Fault
	Cycles   clock.Cycles
	Time     clock.Nanoseconds
	Energy   clock.Nanojoules // of the descriptors and the dispatches
	Dispatch clock.Nanojoules // part of Energy: the fixed cost of dispatches
	MACs     uint64
	DMA      dma.Traffic
}

// Add adds the figures of d to the sums of r. It does not append d to the list of descriptors.
func (r *Report) Add(d *DescriptorReport) {
	r.Cycles += d.Cycles.Total()
	r.Time += d.Time
	r.Energy += d.Energy
	r.MACs += d.MACs
	r.DMA.Add(&d.DMA)
}

// AddDispatches adds e, the fixed energy of one or more dispatches, to the energy of r.
func (r *Report) AddDispatches(e clock.Nanojoules) {
	r.Dispatch += e
	r.Energy += e
}

// DescriptorEnergy returns the energy of the descriptors, without the fixed energy of the
// dispatches. Use it to compare two programs.
func (r *Report) DescriptorEnergy() clock.Nanojoules { return r.Energy - r.Dispatch }

// Repeat adds the figures of the last n descriptors to the sums, count times, where n is length. It
// does not add the repetitions to the list, and does nothing if count is not positive. Repeat may
// be called only once, after the last descriptor was added.
func (r *Report) Repeat(count, length int) {
	if count <= 0 {
		return
	}
	r.Again, r.Per = count, length
	for i := len(r.Descriptors) - length; i < len(r.Descriptors); i++ {
		d, n := &r.Descriptors[i], uint64(count)
		r.Cycles += clock.Cycles(n) * d.Cycles.Total()
		r.Time += clock.Nanoseconds(float64(count) * float64(d.Time))
		r.Energy += clock.Nanojoules(float64(count) * float64(d.Energy))
		r.MACs += n * d.MACs
		r.DMA.AddRuns(&d.DMA, count)
	}
}

// countRuns returns how often the descriptor with index i in the list ran, including repetitions.
func (r *Report) countRuns(i int) int {
	if i >= len(r.Descriptors)-r.Per {
		return 1 + r.Again
	}
	return 1
}

// Count returns the number of descriptors that ran, listed or not.
func (r *Report) Count() int { return len(r.Descriptors) + r.Again*r.Per + r.Rest.Count }

// sums holds a copy of the sums of a report.
type sums struct {
	cycles clock.Cycles
	time   clock.Nanoseconds
	energy clock.Nanojoules
	macs   uint64
	dma    dma.Traffic
}

func (r *Report) currentSums() sums { return sums{r.Cycles, r.Time, r.Energy, r.MACs, r.DMA} }

func (r *Report) restoreSums(s sums) {
	r.Cycles, r.Time, r.Energy, r.MACs, r.DMA = s.cycles, s.time, s.energy, s.macs, s.dma
}

// Accounting returns the cycles of the whole chain by cause.
func (r *Report) Accounting() (a Accounting) {
	if r.Rest.Count > 0 {
		return r.Rest.Cycles
	}
	for i := range r.Descriptors {
		a.AddRuns(&r.Descriptors[i].Cycles, r.countRuns(i))
	}
	return a
}

// PlanarCompute returns the part of the chain's compute cycles in which the planar engine works. In
// the other compute cycles the MAC array works.
func (r *Report) PlanarCompute() (n clock.Cycles) {
	if r.Rest.Count > 0 {
		return r.Rest.Planar
	}
	for i := range r.Descriptors {
		if d := &r.Descriptors[i]; d.Planar {
			n += clock.Cycles(r.countRuns(i)) * d.Cycles.Compute
		}
	}
	return n
}

// Parts returns the energy of all descriptors by consumer.
func (r *Report) Parts() (e EnergyParts) {
	if r.Rest.Count > 0 {
		return r.Rest.Parts
	}
	for i := range r.Descriptors {
		e.AddRuns(&r.Descriptors[i].Parts, r.countRuns(i))
	}
	return e
}

// Saved returns the number of cycles that the chain saves because descriptors overlap.
func (r *Report) Saved() (n clock.Cycles) {
	if r.Rest.Count > 0 {
		return r.Rest.Saved
	}
	for i := range r.Descriptors {
		n += clock.Cycles(r.countRuns(i)) * r.Descriptors[i].Saved
	}
	return n
}

// Working returns the time from the first transfer of the first descriptor to the last transfer of
// the last one. This exceeds the report's Time if the descriptors are a part of a chain and overlap
// with the rest of it.
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

// Engines returns the largest number of MAC engines that any descriptor in list uses, or 0 for an
// empty list.
func Engines(list []DescriptorReport) (n int) {
	for i := range list {
		n = max(n, list[i].Engines)
	}
	return n
}

// Complete reports whether the values of all descriptors were computed and no descriptor faulted.
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

// SinglePatchPixels is the largest number of result pixels, over all groups, for which a
// multiply-accumulate loads its whole source before it starts (inferred).
const SinglePatchPixels = partElements

// SinglePatch reports whether the descriptor is a multiply-accumulate with at most
// [SinglePatchPixels] result pixels. Such a descriptor loads its whole source before it computes.
// It stores results after each round of output-channel groups, so stores overlap with computing
// only if there are several rounds (Crew.Own > 1).
func (d *DescriptorReport) SinglePatch() bool {
	return d.MACs > 0 && d.Shape.Wout*d.Shape.Hout*max(1, d.Shape.Groups) <= SinglePatchPixels
}

// addLimit appends l to the limits in the report.
func (r *DescriptorReport) addLimit(l *evidence.Limit) { r.Limits = append(r.Limits, *l) }

// markComputed records in the report that the values of a task with registers g were computed, and the
// assumptions on which they rest.
func (r *DescriptorReport) markComputed(g *regs.Groups) {
	r.Computed = true
	r.Limits = append(r.Limits, limits.Assumptions(g)...)
}
