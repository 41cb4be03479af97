package hw

import (
	"runtime"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/tiles"
)

// DefaultBudget is the default of Options.Budget. A fast machine performs that many
// multiply-accumulates in a few seconds; ResNet-50 needs 4e9.
const DefaultBudget = 1 << 35

// Options configures a [Device].
type Options struct {
	Chip   Chip
	Values bool // compute values as well as timing
	// Precision compares the results of multiply-accumulates with exact ones while it computes values.
	Precision bool
	Workers   int // goroutines that compute values; 0 means one per processor
	// Budget limits the steps that compute values: one for a multiply-accumulate, and 16 for an
	// element of another operation. A task that exceeds it faults. 0 means DefaultBudget.
	Budget uint64
	// List is the number of descriptors to keep in Report.Descriptors. The figures of later ones
	// are added up in Report.Rest. List has no effect if it is 0 or if Values is set.
	List int
	// Each is called with the final figures of every descriptor, in order, including those that
	// List drops. A descriptor's figures are final once the next one has been timed. Each must not
	// modify the report. It may be nil, and it is never called if Values is set.
	Each func(*DescriptorReport)
	// PowerBudget is the highest mean power in watts that a descriptor may draw. A descriptor that
	// would draw more runs slower. The budget must exceed the chip's ActivePower; 0 means no limit.
	PowerBudget float64
}

// A Device models one engine: it executes tasks and records how long they take, the energy they use
// and the values they compute.
type Device struct {
	p      params
	opts   Options
	open   tiles.Enables
	mem    *dma.Memory
	l2     *l2.Memory
	steps  uint64 // of values computed so far
	zeros  uint64 // multiplications of the current descriptor with a zero operand
	line   pipeline
	ops    *regs.Operands // of the executing task
	room   regs.Operands  // storage for the operands of tasks that do not carry them
	held   *heldTask      // task whose result is a ring, waiting for its reader
	sums   sums           // of the report, without its last descriptor
	lost   bool           // a result of this dispatch was not finite
	broken int            // descriptor whose values could not be computed, -1 for none
	rest   groups         // groups of the descriptors that the report does not list
	shown  int            // number of listed descriptors that Each has seen
	report Report

	tables map[[mac.TableBytes]byte]*mac.Table // by their bytes, at most maxTables
}

// New returns a device with all tiles (halves of MAC engines) enabled. The device reads and writes
// mem if opts.Values is set. Otherwise it only checks addresses against mem.
func New(mem *dma.Memory, opts Options) *Device {
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	d := &Device{p: opts.Chip.newParams(), opts: opts, mem: mem}
	d.open = d.p.tiles.Present()
	d.p.budget = opts.PowerBudget
	d.Dispatch()
	return d
}

// Dispatch starts another dispatch, which is one execution of a program's chain of descriptors. It
// adds the fixed energy of a dispatch to the report. Memory and L2 keep their contents. [New]
// starts the first dispatch, without a call to Dispatch.
func (d *Device) Dispatch() {
	d.finishChain()
	d.broken, d.lost = -1, false
	d.line = pipeline{}
	d.report.AddDispatches(d.p.dispatch)
}

// Count ends the chain and removes the descriptors with index first or higher from the report's
// list, but not from its sums. The report then counts them as a repetition of the descriptors
// before them. The list must contain at least as many descriptors before index first, with the same
// figures.
func (d *Device) Count(first int) {
	d.finishChain()
	d.line = pipeline{}
	rep := &d.report
	rep.Again, rep.Per = rep.Again+1, len(rep.Descriptors)-first
	clear(rep.Descriptors[first:])
	rep.Descriptors = rep.Descriptors[:first]
}

// SetTileEnables enables the tiles whose bits are set in mask and disables the others. Bits 2e and
// 2e+1 are the two halves of MAC engine e. Bits for tiles that the chip does not have are ignored.
func (d *Device) SetTileEnables(mask uint32) {
	d.open = tiles.Enables(mask) & d.p.tiles.Present()
}

// Accepts reports whether the registers and addresses of task t allow the device to start it.
// [Device.Execute] records a fault for a task that Accepts rejects.
func (d *Device) Accepts(t *regs.Task) bool {
	d.ops = t.Resolved(&d.room)
	_, what := d.findStartFault(t)
	return what == ""
}

// Execute runs one task and appends its figures to the report. If the task faults, Execute adds the
// fault to the report instead and returns true.
func (d *Device) Execute(t *regs.Task) (halt bool) {
	// Descriptors are large, so each is built in place.
	rep := &d.report
	n := len(rep.Descriptors)
	rep.Descriptors = append(rep.Descriptors, DescriptorReport{})
	r, before := &rep.Descriptors[n], d.line
	d.ops = t.Resolved(&d.room)
	d.p.computeFigures(r, t, d.ops, d.open, &d.line)
	if d.held != nil && d.ops.Source1.L2 != regs.Circular {
		d.dropPostponed()
	}
	if f := d.checkTask(r, t); f != nil {
		d.dropPostponed()
		rep.Descriptors, d.line = rep.Descriptors[:n], before
		f.Descriptor, f.Cycle = t.Index, rep.Cycles
		rep.Faults = append(rep.Faults, *f)
		return true
	}
	if n > 0 && r.isPreparedBy(&rep.Descriptors[n-1], &before, &d.line) {
		rep.Descriptors[n-1].Prepares = true
	}
	d.sums = rep.currentSums()
	rep.Add(r)
	d.flushReport(1)
	return false
}

// flushReport calls Options.Each for the descriptors whose figures are final, which are all but the last
// open ones. Of these, it then removes from the report's list those beyond the number in Options.List.
func (d *Device) flushReport(open int) {
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
		d.report.moveToRest(d.opts.List, open, d.rest)
		d.shown = min(d.shown, d.opts.List)
	}
}

// checkTask returns the fault that stops task t on the silicon, or nil. If the device was made to
// compute values, checkTask also computes the values of t.
func (d *Device) checkTask(r *DescriptorReport, t *regs.Task) *Fault {
	if unit, what := d.findStartFault(t); what != "" {
		return &Fault{Unit: unit, What: what}
	}
	if d.opts.Values {
		return d.computeValues(r, t)
	}
	return nil
}

// Report ends the chain and returns the figures of all work since [New]. A task that is executed
// later starts after all earlier ones have finished.
func (d *Device) Report() *Report {
	d.finishChain()
	return &d.report
}

// finishChain ends a chain: it adds the time to store the last results to the last descriptor.
func (d *Device) finishChain() {
	d.dropPostponed()
	if n := len(d.report.Descriptors); n > 0 && d.line.drain > 0 {
		r := &d.report.Descriptors[n-1]
		d.p.addLastStores(r, d.open, &d.line)
		d.report.restoreSums(d.sums)
		d.report.Add(r)
	}
	d.flushReport(0)
}

// A Timer computes how long tasks take without computing their values and without allocating
// memory. It gives the same figures as [Device.Execute], except that it never sets
// DescriptorReport.Prepares, which depends on the following task.
type Timer struct {
	p    params
	line pipeline
	ops  regs.Operands
}

// NewTimer returns a timer for an engine with the constants c and all tiles enabled.
func NewTimer(c Chip) *Timer { return &Timer{p: c.newParams()} }

// Time computes the figures of task t as the next descriptor of the chain and stores them in d.
func (m *Timer) Time(d *DescriptorReport, t *regs.Task) {
	m.p.computeFigures(d, t, t.Resolved(&m.ops), m.p.tiles.Present(), &m.line)
}

// Frequency returns the frequency of the engine's clock.
func (m *Timer) Frequency() clock.Hertz { return m.p.clock }

// Finish ends the chain whose last descriptor is d. It adds to d the cycles that memory needs to
// store the last results. The next call of Time starts a new chain.
func (m *Timer) Finish(d *DescriptorReport) {
	m.p.addLastStores(d, m.p.tiles.Present(), &m.line)
	m.line = pipeline{}
}

// frequency returns the frequency of the engine's clock.
func (d *Device) frequency() clock.Hertz { return d.p.clock }

// Elapsed returns the total time that the device has been busy. It does not include the time to
// store the last results of a chain until [Device.Report] or [Device.SwitchOut] has ended the
// chain.
func (d *Device) Elapsed() clock.Nanoseconds { return d.report.Time }

// SwitchOut gives the engine to another program between two descriptors. It waits until the results
// of earlier descriptors are in memory, discards the contents of L2, and returns how long the wait
// took. The next descriptor does not overlap with earlier ones.
func (d *Device) SwitchOut() clock.Nanoseconds {
	before := d.report.Time
	d.finishChain()
	d.line = pipeline{}
	if d.l2 != nil { // values were computed in it
		d.l2.Spoil()
	}
	return d.report.Time - before
}
