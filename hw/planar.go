package hw

import (
	"errors"
	"fmt"
	"math"

	"anesim/hw/evidence"
	"anesim/hw/regs"
	"anesim/internal/datapath/planar"
	"anesim/internal/datapath/tiles"
)

// maxPlane is the largest number of elements that a task may hold at once, such as one plane of a
// reduction or the source rows for one row of results. It is 32 MiB, 16 times the size of L2.
const maxPlane = 16 << 20

// A planarTask is a task of the planar engine that is ready to run.
type planarTask struct {
	form   regs.PlanarForm
	cfg    planar.Config
	window regs.ConvCfg // its window, zero if that is one element of the source
}

// readOperation reads the operation of a planar task from its registers. If the model does not know
// the operation, it returns the reason as a limit. If the task needs too much memory, it returns a
// fault.
func (p *planarTask) readOperation(g *regs.Groups, o *regs.Operands) (*evidence.Limit, *Fault) {
	p.form = g.Common.Cfg.PlanarForm()
	var limit *evidence.Limit
	if p.cfg, limit = readPlanarConfig(g); limit != nil {
		return limit, nil
	}
	in, out := g.InShape(), g.OutShape()
	switch {
	case in.Channels != out.Channels:
		return evidence.Unspecified("planar task has %d input channels and %d output channels; want equal numbers", in.Channels, out.Channels), nil
	case p.form.Reduces():
		if n := in.Height * in.Width * in.Planes(); n > maxPlane {
			return nil, &Fault{Unit: "planar", What: fmt.Sprintf("reduction needs %d elements of a channel at once; want at most %d", n, maxPlane)}
		}
	case g.Windowed():
		w := g.Common.ConvCfg
		p.window = w
		if w.Py() >= w.Kh() || w.Px() >= w.Kw() || (out.Height-1)*int(w.Sy())-int(w.Py()) >= in.Height || (out.Width-1)*int(w.Sx())-int(w.Px()) >= in.Width {
			return evidence.Unspecified("planar task has windows of %dx%d, stride %dx%d and padding %dx%d, for %dx%d results of %dx%d elements; want an element in each window", w.Kh(), w.Kw(), w.Sy(), w.Sx(), w.Py(), w.Px(), out.Height, out.Width, in.Height, in.Width), nil
		}
		if n := int(p.window.Kh()) * in.Width; n > maxPlane {
			return nil, &Fault{Unit: "planar", What: fmt.Sprintf("window needs %d elements of a channel at once; want at most %d", n, maxPlane)}
		}
	case in.Height != out.Height || in.Width != out.Width:
		return evidence.Unspecified("planar task has a source of %dx%d and a result of %dx%d; want equal sizes", in.Height, in.Width, out.Height, out.Width), nil
	case in.Planes() != out.Planes():
		return evidence.Unspecified("planar task has input depth %d and output depth %d; want equal depths", in.Planes(), out.Planes()), nil
	}
	return nil, nil
}

// readPlanarConfig returns what a planar task with registers g does with its elements. If no program
// shows the meaning of a value, it returns an [evidence.Limit] that names the register.
func readPlanarConfig(g *regs.Groups) (planar.Config, *evidence.Limit) {
	form, p := g.Common.Cfg.PlanarForm(), &g.PE
	if u := p.Cfg.Unnamed(); !u.IsZero() {
		return planar.Config{}, evidence.Unspecified("planar: PE.Cfg %v: unknown bits %v", p.Cfg, u)
	}
	c, err := planar.FromFields(planar.Form(form), planar.Fields{
		Op: planar.Op(p.Cfg.OpMode()), Maximum: p.Cfg.Maximum(), ReLU: p.Cfg.ReluEn(),
		Absolute: p.Cfg.Absolute(), Reciprocal: p.Cfg.Reciprocal(), Rsqrt: p.Cfg.Rsqrt(),
		Negate1: p.Cfg.FirstSrc(), Second: p.Cfg.SecSrc(), ReLU2: g.L2.Cfg.InputReLU2(),
		Bias: halfFromBits(p.BiasScale.Bias()), Scale: halfFromBits(p.BiasScale.Scale()),
		Epsilon: halfFromBits(p.PreScale.PreScale()), PreScale: halfFromBits(p.PreScale.Scale()),
		FinalScale: math.Float32frombits(p.FinalScale.FinalScale()),
	})
	var unknown *planar.FieldError
	switch {
	case err == nil:
		return c, nil
	case errors.As(err, &unknown) && unknown.Register == "PE.Cfg":
		return c, evidence.Unspecified("planar: PE.Cfg %v: %s", p.Cfg, unknown.What)
	case unknown != nil:
		return c, evidence.Unspecified("planar: %s %#x: %s", unknown.Register, uint32(form), unknown.What)
	}
	return c, evidence.Unspecified("%v", err)
}

// computeRows computes rows first to last-1 of one part of the task. A reduction always computes
// all rows.
func (p *planarTask) computeRows(d *Device, j *job, at part, first, last int) *Fault {
	e := element{cfg: &p.cfg, dst: at.dst, shape: j.task.Groups.InShape(), first: first, last: last}
	e.a = operand{src: at.src, shape: j.ops.Source1.Shape}
	// Source 1 passes this ReLU when it is read from the L2. That of source 2 is a stage of the operation,
	// see planar.Fields.
	if j.task.Groups.L2.Cfg.InputReLU() {
		e.a.src = reluSource{at.src}
	}
	if p.form.Sources() == 2 {
		second, err := d.openSource(j, &j.ops.Source2, at.group, at.depth)
		if err != nil {
			return &Fault{Unit: "l2", What: err.Error()}
		}
		e.b = operand{src: second, shape: j.ops.Source2.Shape}
	}
	var err error
	switch p.form {
	case regs.FormConstant:
		if !p.window.IsZero() {
			err = e.reduceWindows(j.ops.Result.Width, p.window)
			break
		}
		e.forEachRow(e.applyOneSource)
	case regs.FormTwoSources:
		e.forEachRow(e.applyTwoSources)
	case regs.FormBiasScale:
		err = e.applyBiasAndScale()
	default:
		err = e.reduceGroup(d, j, at.group)
	}
	if err != nil {
		return &Fault{Unit: "planar", What: err.Error()}
	}
	return nil
}

// A reluSource is a view of a tensor to which ReLU is applied (L2.Cfg.InputReLU). NaNs do not
// change.
type reluSource struct{ src tiles.Source }

func (r reluSource) Row(dst []half, c, y int) {
	r.src.Row(dst, c, y)
	for i, h := range dst {
		if h.Signbit() && !h.IsNaN() {
			dst[i] = 0
		}
	}
}

// An operand is a source tensor whose axes of extent 1 are repeated.
type operand struct {
	src   tiles.Source
	shape regs.Shape
}

// readRow copies row y of channel c to dst. If the operand has width 1, it copies the single
// element only.
func (o *operand) readRow(dst []half, c, y int) {
	n := min(o.shape.Width, len(dst))
	o.src.Row(dst[:n], min(c, o.shape.Channels-1), min(y, o.shape.Height-1))
}

// readRowRepeated copies row y of channel c to dst. If the operand has width 1, it repeats the
// single element over all of dst.
func (o *operand) readRowRepeated(dst []half, c, y int) {
	o.readRow(dst, c, y)
	if o.shape.Width == 1 {
		for i := range dst {
			dst[i] = dst[0]
		}
	}
}

// An element is the part of a planar task that computes one depth plane of one group.
type element struct {
	cfg  *planar.Config
	dst  tiles.Sink
	a, b operand

	shape       regs.Shape
	first, last int // rows to compute: first to last-1
}

// forEachRow calls f for every row and writes the row that f computes to the sink. When f is
// called, a holds a row of source 1; f must overwrite a with the result. f may use b as a buffer
// for a row of source 2.
func (e *element) forEachRow(f func(a, b []half, c, y int)) {
	a, b := make([]half, e.shape.Width), make([]half, e.shape.Width)
	for c := range e.shape.Channels {
		for y := e.first; y < e.last; y++ {
			e.a.readRowRepeated(a, c, y)
			f(a, b, c, y)
			e.dst.SetRow(a, c, y, 0)
		}
	}
}

// applyOneSource replaces the row a of source 1 by the results of a task with one source.
func (e *element) applyOneSource(a, _ []half, _, _ int) { e.cfg.ApplyOne(a, a) }

// applyTwoSources replaces the row a of source 1 by the results of the operation on it and on row y
// of channel c of source 2, which it reads into b.
func (e *element) applyTwoSources(a, b []half, c, y int) {
	if e.b.shape.Width == 1 {
		e.b.readRow(b[:1], c, y)
		e.cfg.ApplyConst(a, a, b[0])
		return
	}
	e.b.readRow(b, c, y)
	e.cfg.Apply(a, a, b)
}

// applyBiasAndScale combines source 1 with row 0 of source 2 and multiplies the result by row 1.
// Both rows hold one value per channel.
func (e *element) applyBiasAndScale() (err error) {
	one := planar.Shape{C: 1, H: 1, W: 1}
	e.forEachRow(func(a, b []half, c, _ int) {
		var addend, factor [1]half
		e.b.readRow(addend[:], c, 0)
		e.b.readRow(factor[:], c, 1)
		row := planar.Source{Data: a, Shape: planar.Shape{C: 1, H: 1, W: len(a)}}
		if e2 := e.cfg.ApplyChannel(a, row, planar.Source{Data: addend[:], Shape: one}, planar.Source{Data: factor[:], Shape: one}); e2 != nil {
			err = e2
		}
	})
	return err
}

// reduceWindows computes rows of the given width from the windows of a source, row by row.
func (e *element) reduceWindows(width int, w regs.ConvCfg) error {
	along := planar.Window{Columns: int(w.Kw()), Stride: int(w.Sx()), Before: int(w.Px())}
	in := e.shape
	rows, out := make([]half, int(w.Kh())*in.Width), make([]half, width)
	for c := range in.Channels {
		for y := e.first; y < e.last; y++ {
			begin := y*int(w.Sy()) - int(w.Py())
			first, n := max(0, begin), 0
			for at := first; at < min(in.Height, begin+int(w.Kh())); at++ {
				e.a.readRowRepeated(rows[n*in.Width:][:in.Width], c, at)
				n++
			}
			if err := e.cfg.ReduceWindows(out, planar.Source{Data: rows, Shape: planar.Shape{C: 1, H: n, W: in.Width}}, along); err != nil {
				return err
			}
			e.dst.SetRow(out, c, y, 0)
		}
	}
	return nil
}

// reduceGroup combines the depth, height and width of each channel into one value.
func (e *element) reduceGroup(d *Device, j *job, group int) error {
	first, err := newPlanes(d, j, &j.ops.Source1, group)
	if err != nil {
		return err
	}
	if j.ops.Source2.Used {
		second, err := newPlanes(d, j, &j.ops.Source2, group)
		if err != nil {
			return err
		}
		return e.writeReducedChannels(1, func(out []half, c int) error {
			return e.cfg.ReduceTwo(out, planar.AxisH|planar.AxisW, first.readChannels(c, 1), second.readChannels(c, 1))
		})
	}
	return e.writeReducedChannels(max(1, min(reduceChannels, maxPlane/first.planeSize())), func(out []half, c int) error {
		return e.cfg.Reduce(out, planar.AxisH|planar.AxisW, first.readChannels(c, len(out)))
	})
}

// reduceChannels is the number of channels that are reduced at a time. [planar.Config.Reduce] has
// loops for sixteen.
const reduceChannels = 16

// writeReducedChannels splits the channels of the result into groups of up to n and calls f for
// each group. The argument c of f is the first channel of the group, and out receives one value for
// each channel. writeReducedChannels writes these values to the sink.
func (e *element) writeReducedChannels(n int, f func(out []half, c int) error) error {
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

// planes reads the source of a reduction, several channels at a time, and repeats axes of extent 1.
type planes struct {
	shape  regs.Shape
	depths []operand
	data   []half
}

// newPlanes returns the planes of operand o in the given group.
func newPlanes(d *Device, j *job, o *regs.Operand, group int) (*planes, error) {
	s := j.task.Groups.InShape()
	p := &planes{shape: s}
	for z := range s.Planes() {
		src, err := d.openSource(j, o, group, z)
		if err != nil {
			return nil, err
		}
		if o.Role == regs.FirstSource && j.task.Groups.L2.Cfg.InputReLU() {
			src = reluSource{src}
		}
		p.depths = append(p.depths, operand{src: src, shape: o.Shape})
	}
	return p, nil
}

// planeSize returns the number of elements of one channel.
func (p *planes) planeSize() int { return len(p.depths) * p.shape.Height * p.shape.Width }

// readChannels reads n channels from channel c on. The depth planes of each channel follow each
// other as if they were more rows. The result is valid until the next call.
func (p *planes) readChannels(c, n int) planar.Source {
	if p.data == nil {
		p.data = make([]half, n*p.planeSize())
	}
	at := p.data
	for i := range n {
		for _, o := range p.depths {
			for y := range p.shape.Height {
				o.readRowRepeated(at[:p.shape.Width], c+i, y)
				at = at[p.shape.Width:]
			}
		}
	}
	return planar.Source{Data: p.data, Shape: planar.Shape{C: n, H: len(p.depths) * p.shape.Height, W: p.shape.Width}}
}
