package hw

import (
	"fmt"

	"anesim/hw/evidence"
	"anesim/hw/planar"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// maxPlane is the elements a task may hold at a time, a plane of a reduction or the
// source rows of a row of results: 32 MiB, sixteen times what the L2 has.
const maxPlane = 16 << 20

// A planarTask is a task on the planar engine, ready to run.
type planarTask struct {
	form regs.PlanarForm
	cfg  planar.Config
}

// prepare reads the operation from the registers.
func (p *planarTask) prepare(g *regs.Groups, o *regs.Operands) (*evidence.Limit, *Fault) {
	p.form = g.Common.Cfg.PlanarForm()
	var err error
	p.cfg, err = planar.FromWords(planar.Form(p.form), planar.Words{
		Cfg: uint32(g.PE.Cfg), BiasScale: uint32(g.PE.BiasScale),
		PreScale: uint32(g.PE.PreScale), FinalScale: uint32(g.PE.FinalScale),
	}, g.L2.Cfg.InputReLU2())
	if err != nil {
		return unspecified("%v", err), nil
	}
	in, out := g.InShape(), g.OutShape()
	switch {
	case in.Channels != out.Channels:
		return unspecified("a planar task from %d to %d channels", in.Channels, out.Channels), nil
	case p.form.Reduces():
		if n := in.Height * in.Width * in.Planes(); n > maxPlane {
			return nil, &Fault{Unit: "planar", What: fmt.Sprintf("a reduction of %d elements a channel holds more than %d at once", n, maxPlane)}
		}
	case in.Height != out.Height || in.Width != out.Width:
		return unspecified("a planar task from %dx%d to %dx%d", in.Height, in.Width, out.Height, out.Width), nil
	case in.Planes() != out.Planes():
		return unspecified("a planar task from a depth of %d to %d", in.Planes(), out.Planes()), nil
	}
	return nil, nil
}

// run computes the rows from first to last of a part; a reduction computes all.
func (p *planarTask) run(d *Device, j *job, at part, first, last int) *Fault {
	e := element{cfg: &p.cfg, dst: at.dst, shape: j.task.Groups.InShape(), first: first, last: last}
	e.a = operand{src: at.src, shape: j.ops.Source1.Shape}
	if j.task.Groups.L2.Cfg.InputReLU() {
		e.a.src = rectified{at.src}
	}
	if p.form.Sources() == 2 {
		second, err := d.source(j, &j.ops.Source2, at.group, at.depth)
		if err != nil {
			return &Fault{Unit: "l2", What: err.Error()}
		}
		e.b = operand{src: second, shape: j.ops.Source2.Shape}
	}
	var err error
	switch p.form {
	case regs.FormConstant:
		e.rows(e.one)
	case regs.FormTwoSources:
		e.rows(e.two)
	case regs.FormBiasScale:
		err = e.biasScale()
	default:
		err = e.reduce(d, j, at.group)
	}
	if err != nil {
		return &Fault{Unit: "planar", What: err.Error()}
	}
	return nil
}

// rectified is a source behind a ReLU (L2.Cfg.InputReLU).
type rectified struct{ src tiles.Source }

func (r rectified) Row(dst []half, c, y int) {
	r.src.Row(dst, c, y)
	for i, h := range dst {
		if h.Signbit() && !h.IsNaN() {
			dst[i] = 0
		}
	}
}

// An operand is a source whose axes of length one repeat.
type operand struct {
	src   tiles.Source
	shape regs.Shape
}

// row reads the operand's row for (c, y) into dst, one element or a whole row.
func (o *operand) row(dst []half, c, y int) {
	n := min(o.shape.Width, len(dst))
	o.src.Row(dst[:n], min(c, o.shape.Channels-1), min(y, o.shape.Height-1))
}

// fill is row with a single element repeated over the width.
func (o *operand) fill(dst []half, c, y int) {
	o.row(dst, c, y)
	if o.shape.Width == 1 {
		for i := range dst {
			dst[i] = dst[0]
		}
	}
}

// An element is one part of a planar task.
type element struct {
	cfg  *planar.Config
	dst  tiles.Sink
	a, b operand

	shape       regs.Shape
	first, last int // rows
}

// rows runs f on every row: a is its first operand, b room for the second.
func (e *element) rows(f func(a, b []half, c, y int)) {
	a, b := make([]half, e.shape.Width), make([]half, e.shape.Width)
	for c := range e.shape.Channels {
		for y := e.first; y < e.last; y++ {
			e.a.fill(a, c, y)
			f(a, b, c, y)
			e.dst.SetRow(a, c, y, 0)
		}
	}
}

func (e *element) one(a, _ []half, _, _ int) { e.cfg.ApplyOne(a, a) }

func (e *element) two(a, b []half, c, y int) {
	if e.b.shape.Width == 1 {
		e.b.row(b[:1], c, y)
		e.cfg.ApplyConst(a, a, b[0])
		return
	}
	e.b.row(b, c, y)
	e.cfg.Apply(a, a, b)
}

// biasScale is source 1 joined with row 0 of source 2 and multiplied by row 1, both one
// value a channel.
func (e *element) biasScale() (err error) {
	one := planar.Shape{C: 1, H: 1, W: 1}
	e.rows(func(a, b []half, c, _ int) {
		var addend, factor [1]half
		e.b.row(addend[:], c, 0)
		e.b.row(factor[:], c, 1)
		row := planar.Source{Data: a, Shape: planar.Shape{C: 1, H: 1, W: len(a)}}
		if e2 := e.cfg.ApplyChannel(a, row, planar.Source{Data: addend[:], Shape: one}, planar.Source{Data: factor[:], Shape: one}); e2 != nil {
			err = e2
		}
	})
	return err
}

// reduce joins depth, height and width of each channel to one value.
func (e *element) reduce(d *Device, j *job, group int) error {
	first, err := planesOf(d, j, &j.ops.Source1, group)
	if err != nil {
		return err
	}
	if j.ops.Source2.Used {
		second, err := planesOf(d, j, &j.ops.Source2, group)
		if err != nil {
			return err
		}
		return e.reduced(1, func(out []half, c int) error {
			return e.cfg.ReduceTwo(out, planar.AxisH|planar.AxisW, first.channels(c, 1), second.channels(c, 1))
		})
	}
	return e.reduced(max(1, min(channelsBeside, maxPlane/first.plane())), func(out []half, c int) error {
		return e.cfg.Reduce(out, planar.AxisH|planar.AxisW, first.channels(c, len(out)))
	})
}

// channelsBeside is how many channels are joined beside each other: [planar.Config.Reduce]
// has loops for sixteen.
const channelsBeside = 16

// reduced writes what f makes of the channels from c on, so many at a time.
func (e *element) reduced(n int, f func(out []half, c int) error) error {
	room := make([]half, n)
	for c := 0; c < e.shape.Channels; c += n {
		out := room[:min(n, e.shape.Channels-c)]
		if err := f(out, c); err != nil {
			return err
		}
		for i := range out {
			e.dst.SetRow(out[i:i+1], c+i, 0, 0)
		}
	}
	return nil
}

// planes is one group of a reduction's source, read some channels at a time, with the axes
// that repeat filled in.
type planes struct {
	shape  regs.Shape
	depths []operand
	data   []half
}

func planesOf(d *Device, j *job, o *regs.Operand, group int) (*planes, error) {
	s := j.task.Groups.InShape()
	p := &planes{shape: s}
	for z := range s.Planes() {
		src, err := d.source(j, o, group, z)
		if err != nil {
			return nil, err
		}
		if o.Role == regs.FirstSource && j.task.Groups.L2.Cfg.InputReLU() {
			src = rectified{src}
		}
		p.depths = append(p.depths, operand{src: src, shape: o.Shape})
	}
	return p, nil
}

// plane is the elements of a channel.
func (p *planes) plane() int { return len(p.depths) * p.shape.Height * p.shape.Width }

// channels reads n channels from c on, the depths of each one below the other. What it
// returns stands until it is called again.
func (p *planes) channels(c, n int) planar.Source {
	if p.data == nil {
		p.data = make([]half, n*p.plane())
	}
	at := p.data
	for i := range n {
		for _, o := range p.depths {
			for y := range p.shape.Height {
				o.fill(at[:p.shape.Width], c+i, y)
				at = at[p.shape.Width:]
			}
		}
	}
	return planar.Source{Data: p.data, Shape: planar.Shape{C: n, H: len(p.depths) * p.shape.Height, W: p.shape.Width}}
}
