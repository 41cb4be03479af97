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
	// List is how many descriptors the report lists, 0 for all; the others are counted in
	// its Rest. With Values all are listed.
	List int
	// Each, when it is not nil, is shown every descriptor in order, listed or not, once its
	// figures are final, which they are when the next one is timed. The report is the
	// device's own. With Values it is shown none.
	Each func(*DescriptorReport)
	// PowerBudget is the watts that no descriptor exceeds on average, 0 for any: it runs
	// slower where it would. It must be more than the chip's ActivePower.
	PowerBudget float64
}

// A Device is one engine. Its methods are what the firmware drives it through.
type Device struct {
	p      params
	opts   Options
	open   tiles.Enables
	mem    *dma.Memory
	pad    *l2.Scratchpad
	steps  uint64 // of values so far
	zeros  uint64 // multiplications of the current descriptor with an operand of zero
	line   pipeline
	ops    *regs.Operands // of the task that executes
	room   regs.Operands  // for those of a task that does not carry them
	held   *held          // a task that waits for the one that reads its ring
	sums   sums           // of the report, without its last descriptor
	lost   bool           // a result of the dispatch was not finite
	broken int            // descriptor whose values could not be computed, -1 for none
	rest   groups         // of those that the report does not list
	shown  int            // descriptors of the report's list that Each has seen
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
	d := &Device{p: opts.Chip.params(), opts: opts, mem: mem}
	d.open = d.p.tiles.Present()
	d.p.budget = opts.PowerBudget
	d.Dispatch()
	return d
}

// Dispatch starts a run of a chain on the device as it stands: the descriptors that
// follow join the report, and the dispatch's own energy is added. New does the first.
func (d *Device) Dispatch() {
	d.finish()
	d.broken, d.lost = -1, false
	d.line = pipeline{}
	d.report.AddDispatches(d.p.dispatch)
}

// Count ends the chain and takes its descriptors, those from first on, off the list. The
// report counts them as further runs of as many descriptors before them, which must have
// taken as long. Their sums stay.
func (d *Device) Count(first int) {
	d.finish()
	d.line = pipeline{}
	rep := &d.report
	rep.Again, rep.Per = rep.Again+1, len(rep.Descriptors)-first
	clear(rep.Descriptors[first:])
	rep.Descriptors = rep.Descriptors[:first]
}

// SetTileEnables opens and gates tiles: bit 2e+h is half h of engine e.
func (d *Device) SetTileEnables(mask uint32) {
	d.open = tiles.Enables(mask) & d.p.tiles.Present()
}

// Accepts reports whether a task's registers and addresses let the device start it. Execute
// of a task that the device does not accept is a fault.
func (d *Device) Accepts(t *regs.Task) bool {
	d.ops = t.Resolved(&d.room)
	_, what := d.fault(t)
	return what == ""
}

// Execute runs one task. It returns true after a fault, which the report keeps.
func (d *Device) Execute(t *regs.Task) (halt bool) {
	// Descriptors are large: each is made where it stays.
	rep := &d.report
	n := len(rep.Descriptors)
	rep.Descriptors = append(rep.Descriptors, DescriptorReport{})
	r, before := &rep.Descriptors[n], d.line
	d.ops = t.Resolved(&d.room)
	d.p.time(r, t, d.ops, d.open, &d.line)
	if d.held != nil && d.ops.Source1.L2 != regs.Circular {
		d.abandon()
	}
	if f := d.check(r, t); f != nil {
		d.abandon()
		rep.Descriptors, d.line = rep.Descriptors[:n], before
		f.Descriptor, f.Cycle = t.Index, rep.Cycles
		rep.Faults = append(rep.Faults, *f)
		return true
	}
	d.sums = rep.sums()
	rep.Add(r)
	d.shorten(1)
	return false
}

// shorten takes the descriptors that are not to be listed off the report, but for the last
// so many: what the last one takes is known when the chain goes on or ends.
func (d *Device) shorten(open int) {
	if d.opts.Values {
		return
	}
	if d.opts.Each != nil {
		for end := len(d.report.Descriptors) - open; d.shown < end; d.shown++ {
			d.opts.Each(&d.report.Descriptors[d.shown])
		}
	}
	if d.opts.List > 0 {
		if d.rest == nil {
			d.rest = groups{}
		}
		d.report.shorten(d.opts.List, open, d.rest)
		d.shown = min(d.shown, d.opts.List)
	}
}

// check holds a timed task against what the silicon needs, and computes its values when
// they are asked for.
func (d *Device) check(r *DescriptorReport, t *regs.Task) *Fault {
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
	d.abandon()
	if n := len(d.report.Descriptors); n > 0 && d.line.drain > 0 {
		r := &d.report.Descriptors[n-1]
		d.p.finish(r, d.open, &d.line)
		d.report.restore(d.sums)
		d.report.Add(r)
	}
	d.shorten(0)
}

// A Timer times tasks one by one without values or allocation: the same numbers as
// Device.Execute's.
type Timer struct {
	p    params
	line pipeline
	ops  regs.Operands
}

// NewTimer returns a timer of a chip with every tile open.
func NewTimer(c Chip) *Timer { return &Timer{p: c.params()} }

// Time fills d in with everything about t but its values, as the next of a chain.
func (m *Timer) Time(d *DescriptorReport, t *regs.Task) {
	m.p.time(d, t, t.Resolved(&m.ops), m.p.tiles.Present(), &m.line)
}

// Frequency is the engine's clock.
func (m *Timer) Frequency() clock.Hertz { return m.p.clock }

// Finish ends a chain: it adds to its last descriptor what memory still takes of the
// results. A task after it starts a new chain.
func (m *Timer) Finish(d *DescriptorReport) {
	m.p.finish(d, m.p.tiles.Present(), &m.line)
	m.line = pipeline{}
}

// Frequency is the engine's clock.
func (d *Device) Frequency() clock.Hertz { return d.p.clock }
