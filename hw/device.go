package hw

import (
	"runtime"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// DefaultBudget is the steps (multiply-accumulates, or element operations) that the
// values of one program may take: some seconds of a fast machine. ResNet-50 takes 4e9.
const DefaultBudget = 1 << 35

// Options say how a device runs.
type Options struct {
	Chip    Chip
	Values  bool   // compute values, not timing alone
	Workers int    // goroutines for values; 0 is one for each processor
	Budget  uint64 // steps of values; 0 is DefaultBudget
}

// A Device is one engine. Its methods are what the firmware drives it through.
type Device struct {
	p      params
	opts   Options
	open   tiles.Enables
	mem    *dma.Memory
	pad    *l2.Scratchpad
	steps  uint64 // of values so far
	line   pipeline
	last   bool // the report's last descriptor is not in its sums: it may have results to write
	broken int  // descriptor whose values could not be computed, -1 for none
	report Report
}

// New returns a device over a program's memory with every tile open. Without values the
// memory is used for checks only.
func New(mem *dma.Memory, opts Options) *Device {
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	d := &Device{p: opts.Chip.params(), opts: opts, open: tiles.AllTiles, mem: mem, broken: -1}
	d.Dispatch()
	return d
}

// Dispatch starts a run of a chain on the device as it stands: the descriptors that
// follow join the report, and the dispatch's own energy is added. New does the first.
func (d *Device) Dispatch() {
	d.finish()
	d.broken = -1
	d.line = pipeline{}
	d.report.Dispatch += d.p.dispatch
	d.report.Energy += d.p.dispatch
}

// SetTileEnables opens and gates tiles: bit 2e+h is half h of engine e.
func (d *Device) SetTileEnables(mask uint32) { d.open = tiles.Enables(mask) }

// Execute runs one task. It returns true after a fault, which the report keeps.
func (d *Device) Execute(t *regs.Task) (halt bool) {
	// Descriptors are large: each is made where it stays.
	rep := &d.report
	n := len(rep.Descriptors)
	rep.Descriptors = append(rep.Descriptors, DescriptorReport{})
	r, before := &rep.Descriptors[n], d.line
	d.p.time(r, t, d.open, &d.line)
	if f := d.run(r, t); f != nil {
		rep.Descriptors, d.line = rep.Descriptors[:n], before
		f.Descriptor, f.Cycle = t.Index, d.now()
		rep.Faults = append(rep.Faults, *f)
		return true
	}
	if d.last {
		d.add(&rep.Descriptors[n-1])
	}
	d.last = true
	return false
}

// now is the cycles since the chain's start in which every task so far left the array.
func (d *Device) now() clock.Cycles {
	n := d.report.Cycles
	if d.last {
		n += d.report.Descriptors[len(d.report.Descriptors)-1].Cycles.Total()
	}
	return n
}

// add adds a descriptor to the report's sums.
func (d *Device) add(r *DescriptorReport) {
	rep := &d.report
	rep.Cycles += r.Cycles.Total()
	rep.Time += r.Time
	rep.Energy += r.Energy
	rep.MACs += r.MACs
	rep.DMA.Source1 += r.DMA.Source1
	rep.DMA.Source2 += r.DMA.Source2
	rep.DMA.Kernel += r.DMA.Kernel
	rep.DMA.Destination += r.DMA.Destination
}

// run checks a timed task and computes its values when they are asked for.
func (d *Device) run(r *DescriptorReport, t *regs.Task) *Fault {
	if unit, what := d.fault(t); what != "" {
		return &Fault{Unit: unit, What: what}
	}
	if d.opts.Values {
		return d.values(r, t)
	}
	return nil
}

// Report is what the device did since it was made. It ends the chain: a task after it
// waits for all before.
func (d *Device) Report() *Report {
	d.finish()
	return &d.report
}

// finish ends a chain: its last descriptor waits for its results to land.
func (d *Device) finish() {
	if d.last {
		r := &d.report.Descriptors[len(d.report.Descriptors)-1]
		d.p.finish(r, d.open, &d.line)
		d.add(r)
		d.last = false
	}
}

// A Timer times tasks one by one without values or allocation: the same numbers as
// Device.Execute's.
type Timer struct {
	p    params
	open tiles.Enables
	line pipeline
}

// NewTimer returns a timer of a chip with every tile open.
func NewTimer(c Chip) *Timer { return &Timer{p: c.params(), open: tiles.AllTiles} }

// Time fills d in with everything about t but its values, as the next of a chain.
func (m *Timer) Time(d *DescriptorReport, t *regs.Task) { m.p.time(d, t, m.open, &m.line) }

// Frequency is the engine's clock.
func (m *Timer) Frequency() clock.Hertz { return m.p.clock }

// Finish ends a chain: it adds to its last descriptor what memory still takes of the
// results. A task after it starts a new chain.
func (m *Timer) Finish(d *DescriptorReport) {
	m.p.finish(d, m.open, &m.line)
	m.line = pipeline{}
}

// Frequency is the engine's clock.
func (d *Device) Frequency() clock.Hertz { return d.p.clock }
