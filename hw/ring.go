package hw

import (
	"fmt"

	"anesim/hw/evidence"
	"anesim/hw/regs"
)

// A ring is the rows that stand in the L2 between two descriptors that run beside each
// other: the first writes a tile of rows, the second reads it and makes room for the next
// (bytes: residency.md, 9 of 9 between neighbours on different engines). It holds the
// elements; where each stands in the L2 is not kept.
type ring struct {
	channels, rows, width int
	data                  []half
}

func (r *ring) at(c, y int) []half {
	at := (c*r.rows + y%r.rows) * r.width
	return r.data[at : at+r.width]
}

// Row reads row y of channel c, which must be among the last that were written.
func (r *ring) Row(dst []half, c, y int) { copy(dst, r.at(c, y)) }

// SetRow writes row y of channel c over the oldest.
func (r *ring) SetRow(src []half, c, y, x int) { copy(r.at(c, y)[x:], src) }

// A held task is one whose result is a ring: it waits for the task that reads it.
type held struct {
	task   regs.Task
	ops    regs.Operands
	report int // of Report.Descriptors
}

// hold puts off a task until the one that reads its ring.
func (d *Device) hold(t *regs.Task) (*evidence.Limit, *Fault) {
	d.held = &held{task: *t, ops: *d.ops, report: len(d.report.Descriptors) - 1}
	return nil, nil
}

// abandon gives up on a task whose ring nobody reads.
func (d *Device) abandon() {
	if h := d.held; h != nil {
		d.report.Descriptors[h.report].limit(&evidence.Limit{
			Kind: evidence.NotModelled, What: "the next descriptor does not read the ring that it leaves in the L2",
		})
		d.broken = h.task.Index
		d.held = nil
	}
}

// pair runs a task beside the one that fills its ring, a tile of rows at a time.
func (d *Device) pair(second *job) (*evidence.Limit, *Fault) {
	h := d.held
	if h == nil {
		return &evidence.Limit{Kind: evidence.NotModelled, What: "the descriptor before does not fill the ring that it reads"}, nil
	}
	d.held = nil
	fail := func(l *evidence.Limit) *evidence.Limit {
		d.report.Descriptors[h.report].limit(l)
		return l
	}
	var first job
	if limit, f := d.prepare(&first, &h.task, &h.ops); f != nil {
		return nil, f
	} else if limit != nil {
		return fail(limit), nil
	}
	// The ring's own tiles are not laid out in the L2, but what else the second has is.
	if err := d.pad.Reserve(scratchpadEnd(second.ops)); err != nil {
		return nil, &Fault{Unit: "l2", What: err.Error()}
	}
	s, in := first.ops.Result.Shape, second.ops.Source1.Shape
	if s != in || s.Groups != 1 || s.Planes() != 1 || !first.byRows() || !second.byRows() {
		return fail(&evidence.Limit{Kind: evidence.NotModelled, What: fmt.Sprintf("a ring between %v and %v elements of other than element operations", s, in)}), nil
	}
	rows := min(max(1, int(h.task.Groups.Common.TileCfg.TileHeight())), s.Height)
	if n := s.Channels * rows * s.Width; n > maxPlane {
		return nil, &Fault{Unit: "l2", What: fmt.Sprintf("a ring of %d rows holds %d elements, more than %d", rows, n, maxPlane)}
	}
	r := &ring{s.Channels, rows, s.Width, make([]half, s.Channels*rows*s.Width)}
	first.ring, second.ring = r, r
	from, f := d.part(&first, 0, 0)
	if f != nil {
		return nil, f
	}
	to, f := d.part(second, 0, 0)
	if f != nil {
		return nil, f
	}
	for y := 0; y < s.Height; y += rows {
		end := min(y+rows, s.Height)
		if f := d.run(&first, from, y, end); f != nil {
			return nil, f
		}
		if f := d.run(second, to, y, end); f != nil {
			return nil, f
		}
	}
	d.report.Descriptors[h.report].computed(&h.task.Groups)
	return nil, nil
}

// byRows reports whether the rows of a task's result depend on the same rows of its
// sources alone.
func (j *job) byRows() bool {
	g := &j.task.Groups
	if g.Planar() {
		return !g.Common.Cfg.PlanarForm().Reduces()
	}
	return g.NE.MACCfg.OpMode() == regs.PassThrough
}
