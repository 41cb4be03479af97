package hw

import (
	"runtime"

	"anesim/hw/clock"
	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// DefaultBudget is the default limit on the work spent on the values of one program, in steps: a
// step is one multiply-accumulate. A fast machine needs some seconds for it. ResNet-50 takes 4e9
// steps.
const DefaultBudget = 1 << 35

// Options configures a Device.
type Options struct {
	Chip    Chip
	Values  bool   // compute values as well as timing
	Workers int    // goroutines that compute values; 0 means one per processor
	Budget  uint64 // limit on the steps of values; 0 means DefaultBudget
	// List is the number of descriptors that the report lists, 0 for all. The others are summed in
	// Report.Rest. With Values all are listed.
	List int
	// Each, if not nil, is called for every descriptor in order, listed or not, after its figures
	// are final. They are final when the next descriptor has been timed. The callee must not modify
	// the report. With Values, Each is not called.
	Each func(*DescriptorReport)
	// PowerBudget is the highest mean power of any descriptor in watts, 0 for no limit. A
	// descriptor that would exceed it runs slower. It must be larger than the chip's ActivePower.
	PowerBudget float64
}

// A Device models one engine. The firmware model drives it through its methods.
type Device struct {
	p      params
	opts   Options
	open   tiles.Enables
	mem    *dma.Memory
	pad    *l2.Memory
	steps  uint64 // of values computed so far
	zeros  uint64 // multiplications of the current descriptor with a zero operand
	line   pipeline
	ops    *regs.Operands // of the executing task
	room   regs.Operands  // storage for the operands of tasks that do not carry them
	held   *held          // task whose result is a ring, waiting for its reader
	sums   sums           // of the report, without its last descriptor
	lost   bool           // a result of this dispatch was not finite
	broken int            // descriptor whose values could not be computed, -1 for none
	rest   groups         // groups of the descriptors that the report does not list
	shown  int            // number of listed descriptors that Each has seen
	report Report
}

// New returns a device that works on a program's memory, with every tile open. Without
// Options.Values the memory is used only to check addresses.
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

// Dispatch starts a new chain of descriptors and adds the energy of one dispatch to the report. The
// memory and the L2 keep their contents. New makes the first dispatch.
func (d *Device) Dispatch() {
	d.finish()
	d.broken, d.lost = -1, false
	d.line = pipeline{}
	d.report.AddDispatches(d.p.dispatch)
}

// Count ends the chain and removes the descriptors from index first on from the report's list, but
// keeps their sums. The report counts them as another run of the same number of descriptors listed
// before them. The caller must make sure that both took equally long.
func (d *Device) Count(first int) {
	d.finish()
	d.line = pipeline{}
	rep := &d.report
	rep.Again, rep.Per = rep.Again+1, len(rep.Descriptors)-first
	clear(rep.Descriptors[first:])
	rep.Descriptors = rep.Descriptors[:first]
}

// SetTileEnables opens the tiles whose bits are set in mask and closes the others. Bit 2e+h is half
// h of engine e. Bits of tiles that the chip lacks are ignored.
func (d *Device) SetTileEnables(mask uint32) {
	d.open = tiles.Enables(mask) & d.p.tiles.Present()
}

// Accepts reports whether the registers and addresses of t allow the device to start it. Execute
// returns a fault for a task that is not accepted.
func (d *Device) Accepts(t *regs.Task) bool {
	d.ops = t.Resolved(&d.room)
	_, what := d.findFault(t)
	return what == ""
}

// Execute runs one task and adds it to the report. It returns true if the task faulted; the report
// then holds the fault instead of a descriptor.
func (d *Device) Execute(t *regs.Task) (halt bool) {
	// Descriptors are large, so each is built in place.
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
	if n > 0 && r.preparedBy(&rep.Descriptors[n-1], &before, &d.line) {
		rep.Descriptors[n-1].Prepares = true
	}
	d.sums = rep.sums()
	rep.Add(r)
	d.trimList(1)
	return false
}

// trimList removes the descriptors that should not be listed from the report, except for the last
// open ones. The figures of the last descriptor are final only when the chain continues or ends.
func (d *Device) trimList(open int) {
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
		d.report.trimList(d.opts.List, open, d.rest)
		d.shown = min(d.shown, d.opts.List)
	}
}

// check returns the fault that stops a timed task on the silicon, or nil. It computes the task's
// values if the options ask for them.
func (d *Device) check(r *DescriptorReport, t *regs.Task) *Fault {
	if unit, what := d.findFault(t); what != "" {
		return &Fault{Unit: unit, What: what}
	}
	if d.opts.Values {
		return d.computeValues(r, t)
	}
	return nil
}

// Report ends the chain and returns the report of all work since New. A task that is executed
// afterwards waits for all earlier ones.
func (d *Device) Report() *Report {
	d.finish()
	return &d.report
}

// finish ends a chain: its last descriptor waits until its results are in memory.
func (d *Device) finish() {
	d.abandon()
	if n := len(d.report.Descriptors); n > 0 && d.line.drain > 0 {
		r := &d.report.Descriptors[n-1]
		d.p.finish(r, d.open, &d.line)
		d.report.restore(d.sums)
		d.report.Add(r)
	}
	d.trimList(0)
}

// A Timer times one task after another without computing values and without allocating memory. Its
// numbers equal those of Device.Execute. It leaves out Prepares, which depends on the task after.
type Timer struct {
	p    params
	line pipeline
	ops  regs.Operands
}

// NewTimer returns a timer for chip c with every tile open.
func NewTimer(c Chip) *Timer { return &Timer{p: c.params()} }

// Time fills d with all figures of t except its values, as the next descriptor of the chain.
func (m *Timer) Time(d *DescriptorReport, t *regs.Task) {
	m.p.time(d, t, t.Resolved(&m.ops), m.p.tiles.Present(), &m.line)
}

// Frequency returns the engine's clock frequency.
func (m *Timer) Frequency() clock.Hertz { return m.p.clock }

// Finish ends a chain. It adds to d, the chain's last descriptor, the cycles that memory still
// needs for the results. The next task starts a new chain.
func (m *Timer) Finish(d *DescriptorReport) {
	m.p.finish(d, m.p.tiles.Present(), &m.line)
	m.line = pipeline{}
}

// Frequency returns the engine's clock frequency.
func (d *Device) Frequency() clock.Hertz { return d.p.clock }
