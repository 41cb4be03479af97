package hw

import (
	"fmt"
	"sync/atomic"

	"anesim/hw/evidence"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// values computes a task. What the model cannot compute goes to r.Limits; a fault of the
// device is returned.
func (d *Device) values(r *DescriptorReport, t *regs.Task) *Fault {
	if d.broken >= 0 {
		r.limit(&evidence.Limit{Kind: evidence.NotModelled, What: fmt.Sprintf("the values of descriptor %d, before it, are not known", d.broken)})
		return nil
	}
	g := &t.Groups
	if d.steps += stepsOf(g); d.steps > d.opts.Budget {
		return &Fault{Unit: "device", What: fmt.Sprintf("the values take %d steps or more, beyond the budget of %d", d.steps, d.opts.Budget)}
	}
	d.zeros = 0
	limit := unmodelled(g, d.ops)
	if limit == nil {
		var f *Fault
		if limit, f = d.compute(r, t); f != nil {
			return f
		}
	}
	if limit != nil {
		r.limit(limit)
		d.broken = t.Index
		return nil
	}
	if d.ops.Result.L2 == regs.Circular {
		return nil // computed beside the descriptor that reads the ring
	}
	if r.computed(g); r.Skipped == 0 { // what is skipped was taken for zeros already
		r.ZeroMACs = min(d.zeros, r.MACs)
		r.ZeroSaves = max(0, d.p.mac.Times(r.ZeroMACs)-d.p.zeroMAC.Times(r.ZeroMACs))
	}
	return nil
}

// elementSteps is how many multiply-accumulates one element operation weighs in the budget.
const elementSteps = 16

func stepsOf(g *regs.Groups) uint64 {
	n := uint64(max(g.InShape().Elements(), g.OutShape().Elements())) * elementSteps
	if !g.Planar() {
		n = max(n, uint64(g.OutShape().Elements())*uint64(tiles.Taps(g)))
	}
	return n
}

// A job is a task made ready to run part by part.
type job struct {
	task   *regs.Task
	ops    *regs.Operands
	engine engineTask // of a task on the MAC engines
	planar planarTask
	ring   *ring        // of a source or a result that is one
	beyond *atomic.Bool // an 8-bit element whose number is not known
}

// A part is one depth of one group of a task.
type part struct {
	group, depth int
	dst          tiles.Sink
	src          tiles.Source
}

// prepare makes a task ready: its coefficients, its operations.
func (d *Device) prepare(j *job, t *regs.Task, o *regs.Operands) (limit *evidence.Limit, f *Fault) {
	*j = job{task: t, ops: o, beyond: new(atomic.Bool)}
	if d.pad == nil {
		d.pad = l2.New(d.p.l2.Bytes)
	}
	if err := d.pad.Reserve(scratchpadEnd(o)); err != nil {
		return nil, &Fault{Unit: "l2", What: err.Error()}
	}
	if t.Groups.Planar() {
		return j.planar.prepare(&t.Groups, o)
	}
	return d.prepareEngine(&j.engine, t)
}

// compute runs a task part by part. One whose result is a ring waits for its reader.
func (d *Device) compute(r *DescriptorReport, t *regs.Task) (limit *evidence.Limit, f *Fault) {
	if d.ops.Result.L2 == regs.Circular {
		return d.hold(t)
	}
	var j job
	if limit, f = d.prepare(&j, t, d.ops); limit != nil || f != nil {
		return limit, f
	}
	if d.ops.Source1.L2 == regs.Circular {
		if limit, f = d.pair(&j); limit == nil && f == nil {
			r.Overflow = d.overflow(&j)
		}
		return limit, f
	}
	for group := range t.Groups.GroupCount() {
		for depth := range j.depths() {
			p, f := d.part(&j, group, depth)
			if f != nil {
				return nil, f
			}
			if f := d.run(&j, p, 0, j.ops.Result.Height); f != nil {
				return nil, f
			}
		}
	}
	r.Overflow = d.overflow(&j)
	return j.unsigned(), nil
}

// depths is how many planes a task works through one by one: a reduction joins them.
func (j *job) depths() int {
	if j.task.Groups.Planar() && j.task.Groups.Common.Cfg.PlanarForm().Reduces() {
		return 1
	}
	return j.ops.Result.Planes()
}

// part finds the operands of a part, and leaves a source in the L2 that is to be kept.
func (d *Device) part(j *job, group, depth int) (p part, f *Fault) {
	p = part{group: group, depth: depth}
	var err error
	if p.src, err = d.source(j, &j.ops.Source1, group, depth); err == nil {
		p.dst, err = d.sink(j, group, depth)
	}
	if err != nil {
		return p, &Fault{Unit: "dma", What: err.Error()}
	}
	if s := &j.ops.Source1; s.DRAM && s.L2 == regs.Resident {
		if err := d.keep(j, group, depth); err != nil {
			return p, &Fault{Unit: "l2", What: err.Error()}
		}
	}
	return p, nil
}

// run computes the rows from first to last, without it, of a part.
func (d *Device) run(j *job, p part, first, last int) *Fault {
	if j.task.Groups.Planar() {
		return j.planar.run(d, j, p, first, last)
	}
	if e := &j.engine; e.conv.Kernel != nil && j.ops.Source1.L2 != regs.Circular {
		d.zeros += e.conv.Zeros(p.src)
	}
	j.engine.run(&j.task.Groups, p, first, last, d.opts.Workers)
	return nil
}

// source is where a part of a source comes from: device memory while its DMA is on, the
// ring that another task fills, else the L2.
func (d *Device) source(j *job, o *regs.Operand, group, depth int) (tiles.Source, error) {
	depth = min(depth, o.Planes()-1)
	switch {
	case o.DRAM && o.Element == 1:
		v, err := d.mem.ByteView(j.task.Bases.Source1, &o.Surface, group, depth)
		return byteRows{v, j.beyond}, err
	case o.DRAM && o.Role == regs.FirstSource:
		return d.mem.View(j.task.Bases.Source1, &o.Surface, group, depth)
	case o.DRAM:
		return d.mem.View(j.task.Bases.Source2, &o.Surface, group, depth)
	case o.L2 == regs.Circular:
		return j.ring, nil
	}
	return d.pad.View(o.Tile, o.Shape, group, depth)
}

// both writes results to two places.
type both struct{ a, b tiles.Sink }

func (s both) SetRow(src []half, c, y, x int) {
	s.a.SetRow(src, c, y, x)
	s.b.SetRow(src, c, y, x)
}

// sink is where a part of the result goes.
func (d *Device) sink(j *job, group, depth int) (tiles.Sink, error) {
	o := &j.ops.Result
	switch {
	case o.L2 == regs.Circular:
		return j.ring, nil
	case o.L2 == regs.Streamed && o.Element == 1:
		v, err := d.mem.ByteView(j.task.Bases.Destination, &o.Surface, group, depth)
		return byteRows{v, j.beyond}, err
	case o.L2 == regs.Streamed:
		return d.mem.View(j.task.Bases.Destination, &o.Surface, group, depth)
	}
	pad, err := d.pad.View(o.Tile, o.Shape, group, depth)
	if err != nil || !o.DRAM {
		return pad, err
	}
	mem, err := d.mem.View(j.task.Bases.Destination, &o.Surface, group, depth)
	return both{mem, pad}, err
}

// keep leaves a copy of the source in the L2 for a later descriptor.
func (d *Device) keep(j *job, group, depth int) error {
	o := &j.ops.Source1
	depths := 1
	if j.depths() == 1 {
		depths = o.Planes() // a reduction takes them all at once
	}
	row := make([]half, o.Width)
	for z := depth; z < min(depth+depths, o.Planes()); z++ {
		src, err := d.source(j, o, group, z)
		if err != nil {
			return err
		}
		v, err := d.pad.View(o.Tile, o.Shape, group, z)
		if err != nil {
			return err
		}
		for c := range o.Channels {
			for y := range o.Height {
				src.Row(row, c, y)
				v.SetRow(row, c, y, 0)
			}
		}
	}
	return nil
}
