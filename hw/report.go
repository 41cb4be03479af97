package hw

import (
	"fmt"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/l2"
)

// Accounting gives every engine cycle of a descriptor one cause.
type Accounting struct {
	Compute      clock.Cycles
	InputStall   clock.Cycles // waiting for the tile DMA's source
	OutputStall  clock.Cycles // waiting for the tile DMA to take results
	KernelStall  clock.Cycles // waiting for coefficients
	Throttle     clock.Cycles
	L2ReadStall  clock.Cycles
	L2WriteStall clock.Cycles
	Overhead     clock.Cycles // descriptor fetch and start
	Idle         clock.Cycles
}

// Total is the descriptor's cycles.
func (a *Accounting) Total() clock.Cycles {
	return a.Compute + a.InputStall + a.OutputStall + a.KernelStall + a.Throttle +
		a.L2ReadStall + a.L2WriteStall + a.Overhead + a.Idle
}

// Add adds another descriptor's cycles, cause by cause.
func (a *Accounting) Add(b *Accounting) {
	a.Compute += b.Compute
	a.InputStall += b.InputStall
	a.OutputStall += b.OutputStall
	a.KernelStall += b.KernelStall
	a.Throttle += b.Throttle
	a.L2ReadStall += b.L2ReadStall
	a.L2WriteStall += b.L2WriteStall
	a.Overhead += b.Overhead
	a.Idle += b.Idle
}

// Bound names the cause with the most cycles: what to relieve first. The overhead is
// named only when it is more than all the rest together.
func (a *Accounting) Bound() string {
	if rest := a.Total() - a.Overhead; a.Overhead > rest {
		return "overhead"
	}
	name, most := "compute", a.Compute
	for _, c := range [...]struct {
		name string
		n    clock.Cycles
	}{
		{"kernel_stall", a.KernelStall}, {"input_stall", a.InputStall}, {"output_stall", a.OutputStall},
		{"l2_read_stall", a.L2ReadStall}, {"l2_write_stall", a.L2WriteStall}, {"throttle", a.Throttle},
	} {
		if c.n > most {
			name, most = c.name, c.n
		}
	}
	return name
}

// EnergyParts are a descriptor's energy by what takes it.
type EnergyParts struct {
	MAC    clock.Nanojoules // multiply-accumulates
	Table  clock.Nanojoules // activation-table look-ups
	L2     clock.Nanojoules // bytes in and out of the scratchpad
	DRAM   clock.Nanojoules // bytes in and out of device memory, as far as the engine's rail feeds them
	Active clock.Nanojoules // engines that are powered, for as long as it runs
}

// Add adds another descriptor's energy, part by part.
func (e *EnergyParts) Add(x *EnergyParts) {
	e.MAC += x.MAC
	e.Table += x.Table
	e.L2 += x.L2
	e.DRAM += x.DRAM
	e.Active += x.Active
}

// Total is the sum.
func (e *EnergyParts) Total() clock.Nanojoules { return e.MAC + e.Table + e.L2 + e.DRAM + e.Active }

// Units are the columns of the vendor compiler's cost dump.
type Units struct {
	WorkUnits       int
	MACCyclesPerWU  int // multiply-accumulate cycles per work unit
	PostCyclesPerWU int // post-processing cycles per work unit
	NESingle        clock.Cycles
	NEDouble        clock.Cycles
	Planar          clock.Cycles
	L2Broadcast     clock.Cycles
	L2Writeback     clock.Cycles
	KernelBytes     uint64 // weights, unpadded
}

// Shape is a descriptor's work in whole tensors: channels over all groups.
type Shape struct {
	Win, Hin, Cin    int
	Wout, Hout, Cout int
	Kw, Kh           int
	Groups           int
}

// ExeCycles is the vendor's own estimate of a descriptor, in microseconds.
type ExeCycles struct {
	Stored uint16 // as the program has it, 0 when its compiler left it out
	Model  uint16 // by the rule read from real programs
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
	Cycles  Accounting // those it adds to the chain
	// Saved is the cycles that running beside the descriptor before it saves, its last
	// results' way to memory among them.
	Saved    clock.Cycles
	Units    Units
	DMA      dma.Traffic
	L2       l2.Traffic
	Exe      ExeCycles
	MACs     uint64
	Skipped  uint64 // of MACs, those by zeros that sparse weights leave out
	Lookups  uint64 // of the activation table
	Time     clock.Nanoseconds
	Energy   clock.Nanojoules
	Parts    EnergyParts // of Energy
	Counters Counters
	Computed bool   // values were computed
	Note     string // why they were not, when they were asked for
	Caveat   string // what computed values rest on that is not known of real programs
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
	Faults      []Fault
	Cycles      clock.Cycles
	Time        clock.Nanoseconds
	Energy      clock.Nanojoules // the descriptors' and the dispatch's own
	Dispatch    clock.Nanojoules // of Energy, what a dispatch costs whatever it does
	MACs        uint64
	DMA         dma.Traffic
}

// Accounting is the chain's cycles by cause.
func (r *Report) Accounting() (a Accounting) {
	for i := range r.Descriptors {
		a.Add(&r.Descriptors[i].Cycles)
	}
	return a
}

// Parts is the descriptors' energy by what takes it.
func (r *Report) Parts() (e EnergyParts) {
	for i := range r.Descriptors {
		e.Add(&r.Descriptors[i].Parts)
	}
	return e
}

// Saved is the cycles that running beside each other saves the descriptors.
func (r *Report) Saved() (n clock.Cycles) {
	for i := range r.Descriptors {
		n += r.Descriptors[i].Saved
	}
	return n
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
	for i := range r.Descriptors {
		if !r.Descriptors[i].Computed {
			return false
		}
	}
	return len(r.Faults) == 0
}
