package hw

import (
	"fmt"

	"anesim/hw/evidence"
	"anesim/hw/regs"
)

// A ring models a ring buffer in L2 between two descriptors that run at the same time: the
// first writes a few rows, the second reads them and frees their space (seen in 9 of 9 pairs of
// neighbors on different engines in Apple's programs). It stores the elements of the rows, but not
// their addresses in L2.
type ring struct {
	channels, rows, width int
	data                  []half
}

func (r *ring) rowAt(c, y int) []half {
	at := (c*r.rows + y%r.rows) * r.width
	return r.data[at : at+r.width]
}

// Row reads row y of channel c into dst. The row must be among the last r.rows rows written.
func (r *ring) Row(dst []half, c, y int) { copy(dst, r.rowAt(c, y)) }

// SetRow writes src to row y of channel c, starting at column x. It overwrites the oldest row.
func (r *ring) SetRow(src []half, c, y, x int) { copy(r.rowAt(c, y)[x:], src) }

// A heldTask is a task that has a ring as its result and waits for the task that
// reads it.
type heldTask struct {
	task   regs.Task
	ops    regs.Operands
	report int // index in Report.Descriptors
}

// postponeTask delays task t, whose result is a ring buffer, until the task that reads the ring
// runs. It returns a limit or a fault if t cannot be computed.
func (d *Device) postponeTask(t *regs.Task) (*evidence.Limit, *Fault) {
	d.held = &heldTask{task: *t, ops: *d.ops, report: len(d.report.Descriptors) - 1}
	return nil, nil
}

// dropPostponed drops the postponed task if no other task reads its ring buffer. It adds a limit to
// the report of the dropped task.
func (d *Device) dropPostponed() {
	if h := d.held; h != nil {
		d.report.Descriptors[h.report].addLimit(&evidence.Limit{
			Kind: evidence.NotModelled, What: "next descriptor does not read the ring that this one fills in L2",
		})
		d.broken = h.task.Index
		d.held = nil
	}
}

// runRingPair computes the postponed task together with second, the task that reads its ring
// buffer. The two take turns, a few rows at a time.
func (d *Device) runRingPair(second *job) (*evidence.Limit, *Fault) {
	h := d.held
	if h == nil {
		return &evidence.Limit{Kind: evidence.NotModelled, What: "previous descriptor does not fill the ring that this one reads"}, nil
	}
	d.held = nil
	fail := func(l *evidence.Limit) *evidence.Limit {
		d.report.Descriptors[h.report].addLimit(l)
		return l
	}
	var first job
	if limit, f := d.prepareJob(&first, &h.task, &h.ops); f != nil {
		return nil, f
	} else if limit != nil {
		return fail(limit), nil
	}
	// The ring's own rows have no place in L2, but the other buffers of the second task do.
	if err := d.l2.Reserve(endOfL2Operands(second.ops)); err != nil {
		return nil, &Fault{Unit: "l2", What: err.Error()}
	}
	s, in := first.ops.Result.Shape, second.ops.Source1.Shape
	switch {
	case s != in:
		return fail(evidence.NotInModel("ring is written with shape %v but read with shape %v; want equal shapes", s, in)), nil
	case s.Groups != 1 || s.Planes() != 1:
		return fail(evidence.NotInModel("ring has %d groups and depth %d; want one group and depth 1", s.Groups, s.Planes())), nil
	case !first.isRowwise() || !second.isRowwise():
		return fail(evidence.NotInModel("ring connects a task that is not elementwise; want elementwise tasks on both sides")), nil
	}
	// The ring has room for one tile of the first task. Both advance by as many rows: a row that the second
	// has not read by then is overwritten.
	rows := min(max(1, int(h.task.Groups.Common.TileCfg.TileHeight())), s.Height)
	if n := s.Channels * rows * s.Width; n > maxPlane {
		return nil, &Fault{Unit: "l2", What: fmt.Sprintf("ring of %d rows holds %d elements; want at most %d", rows, n, maxPlane)}
	}
	r := &ring{s.Channels, rows, s.Width, make([]half, s.Channels*rows*s.Width)}
	first.ring, second.ring = r, r
	from, f := d.openPart(&first, 0, 0)
	if f != nil {
		return nil, f
	}
	to, f := d.openPart(second, 0, 0)
	if f != nil {
		return nil, f
	}
	for y := 0; y < s.Height; y += rows {
		end := min(y+rows, s.Height)
		if f := d.runPart(&first, from, y, end); f != nil {
			return nil, f
		}
		if f := d.runPart(second, to, y, end); f != nil {
			return nil, f
		}
	}
	d.report.Descriptors[h.report].markComputed(&h.task.Groups)
	return nil, nil
}

// isRowwise reports whether each row of a task's result depends only on the same row of its
// sources.
func (j *job) isRowwise() bool {
	g := &j.task.Groups
	if g.Planar() {
		return !g.Common.Cfg.PlanarForm().Reduces() && !g.Windowed()
	}
	return g.NE.MACCfg.OpMode() == regs.PassThrough
}
