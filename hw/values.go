package hw

import (
	"fmt"
	"sync/atomic"

	"anesim/hw/evidence"
	"anesim/hw/internal/limits"
	"anesim/hw/l2"
	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
)

// computeValues computes the values of a task and returns the device's fault, or nil. If the model
// cannot compute the values, it adds the reason to the limits in r.
func (d *Device) computeValues(r *DescriptorReport, t *regs.Task) *Fault {
	if d.broken >= 0 {
		r.addLimit(&evidence.Limit{Kind: evidence.NotModelled, What: fmt.Sprintf("values of the earlier descriptor %d are not known", d.broken)})
		return nil
	}
	g := &t.Groups
	if d.steps += countValueSteps(g); d.steps > d.opts.Budget {
		return &Fault{Unit: "device", What: fmt.Sprintf("computing the values takes at least %d steps; want at most %d", d.steps, d.opts.Budget)}
	}
	d.zeros = 0
	limit := limits.Find(g, d.ops)
	if limit == nil {
		var f *Fault
		if limit, f = d.computeTask(r, t); f != nil {
			return f
		}
	}
	if limit != nil {
		r.addLimit(limit)
		d.broken = t.Index
		return nil
	}
	if d.ops.Result.L2 == regs.Circular {
		return nil // computed together with the descriptor that reads the ring
	}
	if r.markComputed(g); r.Skipped == 0 { // skipped weights are counted as zeros already
		r.ZeroMACs = min(d.zeros, r.MACs)
		r.ZeroSaves = max(0, d.p.mac.Times(r.ZeroMACs)-d.p.zeroMAC.Times(r.ZeroMACs))
	}
	return nil
}

// elementSteps is the number of budget steps that an elementwise operation on one element costs.
const elementSteps = 16

// countValueSteps returns how many steps of the budget are used up by computing the values of a
// task.
func countValueSteps(g *regs.Groups) uint64 {
	n := uint64(max(g.InShape().Elements(), g.OutShape().Elements())) * elementSteps
	if g.Windowed() {
		n *= uint64(g.Common.ConvCfg.Kh()) * uint64(g.Common.ConvCfg.Kw())
	}
	if !g.Planar() {
		n = max(n, uint64(g.OutShape().Elements())*uint64(tiles.Taps(g)))
	}
	return n
}

// A job is a task that is ready to run part by part.
type job struct {
	task   *regs.Task
	ops    *regs.Operands
	engine engineTask // set for a task of the MAC engines
	planar planarTask
	ring   *ring        // ring that the task reads or writes, nil if none
	beyond *atomic.Bool // set if an 8-bit element has no known number
}

// A part is the piece of a task that computes one depth plane of one group.
type part struct {
	group, depth int
	dst          tiles.Sink
	src          tiles.Source
}

// prepareJob reads the operation and the weights of task t into j. If the model cannot compute the
// task, it returns the reason as a limit. If the device could not start the task, it returns a
// fault.
func (d *Device) prepareJob(j *job, t *regs.Task, o *regs.Operands) (limit *evidence.Limit, f *Fault) {
	*j = job{task: t, ops: o, beyond: new(atomic.Bool)}
	if d.l2 == nil {
		d.l2 = l2.New(d.p.l2.Bytes)
	}
	if err := d.l2.Reserve(endOfL2Operands(o)); err != nil {
		return nil, &Fault{Unit: "l2", What: err.Error()}
	}
	if t.Groups.Planar() {
		return j.planar.readOperation(&t.Groups, o)
	}
	return d.loadTableAndWeights(&j.engine, t)
}

// computeTask computes the values of task t, part by part. If the result is a ring buffer, it
// postpones the task until the task that reads the ring runs. If the values cannot be computed, it
// returns the reason as a limit or as a fault of the device.
func (d *Device) computeTask(r *DescriptorReport, t *regs.Task) (limit *evidence.Limit, f *Fault) {
	if d.ops.Result.L2 == regs.Circular {
		return d.postponeTask(t)
	}
	var j job
	if limit, f = d.prepareJob(&j, t, d.ops); limit != nil || f != nil {
		return limit, f
	}
	if c := &j.engine.conv; d.opts.Precision && c.Kernel != nil {
		r.Precision = new(Precision)
		c.Precision, c.Parts = r.Precision, t.Groups.GroupCount()*j.countPlanes()
	}
	// A ring holds fewer rows than the tensor, so its writer, which was postponed, and this reader have to
	// take turns.
	if d.ops.Source1.L2 == regs.Circular {
		if limit, f = d.runRingPair(&j); limit == nil && f == nil {
			r.Overflow = d.findOverflow(&j)
		}
		return limit, f
	}
	for group := range t.Groups.GroupCount() {
		for depth := range j.countPlanes() {
			p, f := d.openPart(&j, group, depth)
			if f != nil {
				return nil, f
			}
			if f := d.runPart(&j, p, 0, j.ops.Result.Height); f != nil {
				return nil, f
			}
		}
	}
	r.Overflow = d.findOverflow(&j)
	return j.findByteRangeLimit(), nil
}

// countPlanes returns the number of depth planes that the task computes one by one. It returns 1
// for a reduction, which combines all planes.
func (j *job) countPlanes() int {
	if j.task.Groups.Planar() && j.task.Groups.Common.Cfg.PlanarForm().Reduces() {
		return 1
	}
	return j.ops.Result.Planes()
}

// openPart opens the source and the result of the task for one group and depth. If the source must
// be kept in L2, openPart copies it there.
func (d *Device) openPart(j *job, group, depth int) (p part, f *Fault) {
	p = part{group: group, depth: depth}
	var err error
	if p.src, err = d.openSource(j, &j.ops.Source1, group, depth); err == nil {
		p.dst, err = d.openSink(j, group, depth)
	}
	if err != nil {
		return p, &Fault{Unit: "dma", What: err.Error()}
	}
	if s := &j.ops.Source1; s.DRAM && s.L2 == regs.Resident {
		if err := d.keepSourceInL2(j, group, depth); err != nil {
			return p, &Fault{Unit: "l2", What: err.Error()}
		}
	}
	return p, nil
}

// runPart computes rows first to last-1 of part p of job j. It returns a fault if an operand cannot
// be read or written.
func (d *Device) runPart(j *job, p part, first, last int) *Fault {
	if j.task.Groups.Planar() {
		return j.planar.computeRows(d, j, p, first, last)
	}
	if e := &j.engine; e.conv.Kernel != nil && j.ops.Source1.L2 != regs.Circular {
		d.zeros += e.conv.Zeros(p.src)
	}
	j.engine.computeRows(&j.task.Groups, p, first, last, d.opts.Workers)
	return nil
}

// openSource returns a view of one group and depth of the source o. The source is in device memory
// if its DMA is on, in the ring that another task fills, or in L2.
func (d *Device) openSource(j *job, o *regs.Operand, group, depth int) (tiles.Source, error) {
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
	return d.l2.View(o.Tile, o.Shape, group, depth)
}

// A teeSink writes results to two tensors.
type teeSink struct{ a, b tiles.Sink }

func (s teeSink) SetRow(src []half, c, y, x int) {
	s.a.SetRow(src, c, y, x)
	s.b.SetRow(src, c, y, x)
}

// openSink returns the view to which one group and depth of the result is written.
func (d *Device) openSink(j *job, group, depth int) (tiles.Sink, error) {
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
	inL2, err := d.l2.View(o.Tile, o.Shape, group, depth)
	if err != nil || !o.DRAM {
		return inL2, err
	}
	mem, err := d.mem.View(j.task.Bases.Destination, &o.Surface, group, depth)
	return teeSink{mem, inL2}, err
}

// keepSourceInL2 copies one group and depth of the source to L2, where a later descriptor reads it.
func (d *Device) keepSourceInL2(j *job, group, depth int) error {
	o := &j.ops.Source1
	depths := 1
	if j.countPlanes() == 1 {
		depths = o.Planes() // a reduction reads all of them at once
	}
	row := make([]half, o.Width)
	for z := depth; z < min(depth+depths, o.Planes()); z++ {
		src, err := d.openSource(j, o, group, z)
		if err != nil {
			return err
		}
		v, err := d.l2.View(o.Tile, o.Shape, group, z)
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
