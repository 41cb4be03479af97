package hw

import (
	"fmt"

	"anesim/hw/planar"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// maxPlane is the elements a task may hold at a time, a plane of a reduction or the
// source rows of a row of results: 32 MiB, sixteen times what the L2 has.
const maxPlane = 16 << 20

// planar computes a group of a task on the planar engine, a row or a plane at a time.
func (d *Device) planar(t *regs.Task, dst tiles.Sink, src tiles.Source, group int) (note string, f *Fault) {
	g := &t.Groups
	form := g.Common.Cfg.PlanarForm()
	cfg, err := planar.FromWords(planar.Form(form), planar.Words{
		Cfg: uint32(g.PE.Cfg), BiasScale: uint32(g.PE.BiasScale),
		PreScale: uint32(g.PE.PreScale), FinalScale: uint32(g.PE.FinalScale),
	}, g.L2.Cfg.InputReLU2())
	if err != nil {
		return err.Error(), nil
	}
	s := g.InShape()
	out := g.OutShape()
	if s.Channels != out.Channels {
		return fmt.Sprintf("a planar task from %d to %d channels is not modelled", s.Channels, out.Channels), nil
	}
	reduces := form == regs.FormReduction || form == regs.FormTwoReduced
	if !reduces && (s.Height != out.Height || s.Width != out.Width) {
		return fmt.Sprintf("a planar task from %dx%d to %dx%d is not modelled", s.Height, s.Width, out.Height, out.Width), nil
	}
	if reduces && s.Height*s.Width > maxPlane {
		return "", &Fault{Unit: "planar", What: fmt.Sprintf("a reduction over %dx%d holds more than %d elements at once", s.Height, s.Width, maxPlane)}
	}
	a := operand{src: src, shape: operandShape(g, 1)}
	var b operand
	switch form {
	case regs.FormTwoSources, regs.FormBiasScale, regs.FormTwoReduced:
		second, err := d.source(t, 2, group)
		if err != nil {
			return "", &Fault{Unit: "l2", What: err.Error()}
		}
		b = operand{src: second, shape: operandShape(g, 2)}
	}
	e := element{cfg: &cfg, dst: dst, a: a, b: b, shape: s}
	switch form {
	case regs.FormConstant:
		e.rows(e.one)
	case regs.FormTwoSources:
		e.rows(e.two)
	case regs.FormBiasScale:
		err = e.biasScale()
	case regs.FormReduction, regs.FormTwoReduced:
		err = e.reduce(form == regs.FormTwoReduced)
	default:
		return fmt.Sprintf("planar form %v is not modelled", form), nil
	}
	if err != nil {
		return err.Error(), nil
	}
	return "", nil
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

// An element is one group of a planar task.
type element struct {
	cfg  *planar.Config
	dst  tiles.Sink
	a, b operand

	shape regs.Shape
}

// rows runs f on every row: a is its first operand, b room for the second.
func (e *element) rows(f func(a, b []half, c, y int)) {
	a, b := make([]half, e.shape.Width), make([]half, e.shape.Width)
	for c := range e.shape.Channels {
		for y := range e.shape.Height {
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

// reduce joins height and width of each channel to one value.
func (e *element) reduce(two bool) error {
	a := make([]half, e.a.shape.Height*e.a.shape.Width)
	var b []half
	if two {
		b = make([]half, e.b.shape.Height*e.b.shape.Width)
	}
	var out [1]half
	for c := range e.shape.Channels {
		first := e.a.plane(a, c)
		var err error
		if two {
			err = e.cfg.ReduceTwo(out[:], planar.AxisH|planar.AxisW, first, e.b.plane(b, c))
		} else {
			err = e.cfg.Reduce(out[:], planar.AxisH|planar.AxisW, first)
		}
		if err != nil {
			return err
		}
		e.dst.SetRow(out[:], c, 0, 0)
	}
	return nil
}

// plane reads one channel.
func (o *operand) plane(dst []half, c int) planar.Source {
	w := o.shape.Width
	for y := range o.shape.Height {
		o.row(dst[y*w:(y+1)*w], c, y)
	}
	return planar.Source{Data: dst, Shape: planar.Shape{C: 1, H: o.shape.Height, W: w}}
}
