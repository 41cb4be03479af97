package hw

import (
	"errors"
	"fmt"

	"anesim/hw/dma"
	"anesim/hw/l2"
	"anesim/hw/mac"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// values computes a task. What the model cannot compute goes to r.Note; a fault of the
// device is returned.
func (d *Device) values(r *DescriptorReport, t *regs.Task) *Fault {
	if d.broken >= 0 {
		r.Note = fmt.Sprintf("the values of descriptor %d, before it, are not known", d.broken)
		return nil
	}
	g := &t.Groups
	if d.steps += stepsOf(g); d.steps > d.opts.Budget {
		return &Fault{Unit: "device", What: fmt.Sprintf("the values take %d steps or more, beyond the budget of %d", d.steps, d.opts.Budget)}
	}
	note := unmodelled(g)
	if note == "" {
		var f *Fault
		if note, f = d.compute(t); f != nil {
			return f
		}
	}
	if note != "" {
		r.Note, d.broken = note, t.Index
		return nil
	}
	r.Computed, r.Caveat = true, caveat(g)
	return nil
}

// caveat says what of a task's weights is inferred or assumed, empty for forms whose
// bytes are known from real programs.
func caveat(g *regs.Groups) string {
	if g.Planar() || g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate {
		return ""
	}
	switch p, _ := tiles.PackingOf(g); p {
	case tiles.Dense:
		return ""
	case tiles.ZeroSkipping:
		if cc := g.Common.ConvCfg; cc.Kw() == 1 && cc.Kh() == 1 {
			return ""
		}
		return "the order of the entries in zero-skipping weights of several taps is inferred: right for programs of our own lowering, unproved for the vendor compiler's"
	default:
		return fmt.Sprintf("where %v weights stand in a coefficient lane is assumed: no program shows it", p)
	}
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

// unmodelled names what a task uses that the values do not cover, empty when nothing.
func unmodelled(g *regs.Groups) string {
	c, n := &g.Common, &g.NE
	switch {
	case c.ChCfg.InFmt() != regs.FormatFP16 || c.ChCfg.OutFmt() != regs.FormatFP16:
		return "8-bit elements are not modelled"
	case g.L2.Cfg.InputReLU():
		return "ReLU on the first source is not modelled: no program shows it"
	case g.Planar():
		return ""
	case n.MACCfg.MatrixBiasEn() || n.MACCfg.KernelMode() || n.MACCfg.PostScaleMode():
		return "matrix bias, kernel mode and post-scale mode are not modelled: no program shows them"
	case n.MACCfg.OpMode() != regs.MultiplyAccumulate && n.MACCfg.BiasMode():
		return "a bias stream without a kernel is not modelled: no program shows it"
	case n.MACCfg.NonlinearMode() > regs.ActivationTable:
		return fmt.Sprintf("nonlinear mode %d is not modelled", n.MACCfg.NonlinearMode())
	}
	switch op := n.MACCfg.OpMode(); op {
	case regs.PassThrough, regs.ChannelMaximum, regs.MantissaTable:
		in, out := g.InShape(), g.OutShape()
		switch {
		case in.Height != out.Height || in.Width != out.Width:
			return fmt.Sprintf("a %v from %dx%d to %dx%d is not modelled", op, in.Height, in.Width, out.Height, out.Width)
		case op == regs.ChannelMaximum && (out.Channels != 1 || int(c.GroupConvCfg.UnicastCin()) != in.Channels):
			return fmt.Sprintf("a maximum over %d of %d channels with %d results is not modelled", c.GroupConvCfg.UnicastCin(), in.Channels, out.Channels)
		case op == regs.MantissaTable && !c.GroupConvCfg.UnicastEn() && out.Channels != 1:
			return fmt.Sprintf("a sum of channels with %d results is not modelled", out.Channels)
		case op == regs.MantissaTable && c.GroupConvCfg.UnicastEn() && out.Channels != in.Channels:
			return "unicast with several results a channel is not modelled"
		}
		return ""
	case regs.MultiplyAccumulate:
	default:
		return fmt.Sprintf("MAC operation %d is not modelled: it gave zeros on silicon or was never tried", op)
	}
	switch cc := c.ConvCfg; {
	case cc.Oy() != 1 || cc.Ox() == 0 || cc.Sx()%cc.Ox() != 0:
		return fmt.Sprintf("%dx%d outputs a step at stride %dx%d are not modelled", cc.Oy(), cc.Ox(), cc.Sy(), cc.Sx())
	case n.MACCfg.NonlinearMode() == regs.ActivationTable:
		return "a table behind a multiply-accumulate is not modelled: no program shows where it stands"
	case c.GroupConvCfg.UnicastEn() && c.GroupConvCfg.UnicastCin() != 1:
		return "unicast over several input channels is not modelled"
	case c.GroupConvCfg.UnicastEn() && c.Cin.Cin() != c.Cout.Cout():
		return "unicast with several results a channel is not modelled"
	case g.L2.Cfg.PaddingMode() != 0 && (cc.Px() != 0 || cc.Py() != 0):
		return fmt.Sprintf("padding mode %d is not modelled", g.L2.Cfg.PaddingMode())
	}
	_, note := tiles.PackingOf(g)
	return note
}

// compute runs a task group by group.
func (d *Device) compute(t *regs.Task) (note string, f *Fault) {
	g := &t.Groups
	if d.pad == nil {
		d.pad = l2.New(d.p.l2.Bytes)
	}
	if err := d.pad.Reserve(d.scratchpadEnd(g)); err != nil {
		return "", &Fault{Unit: "l2", What: err.Error()}
	}
	var e engineTask
	if !g.Planar() {
		if e, note, f = d.prepare(t); note != "" || f != nil {
			return note, f
		}
	}
	for group := range g.GroupCount() {
		src, err := d.source(t, 1, group)
		if err != nil {
			return "", &Fault{Unit: "dma", What: err.Error()}
		}
		dst, err := d.sink(t, group)
		if err != nil {
			return "", &Fault{Unit: "dma", What: err.Error()}
		}
		if keepsSource(g) {
			if err := d.keep(g, src, group); err != nil {
				return "", &Fault{Unit: "l2", What: err.Error()}
			}
		}
		if !g.Planar() {
			e.run(g, dst, src, group, d.opts.Workers)
			continue
		}
		if note, f = d.planar(t, dst, src, group); note != "" || f != nil {
			return note, f
		}
	}
	return "", nil
}

// source is where a group of a source comes from: device memory while its DMA is on,
// else the L2.
func (d *Device) source(t *regs.Task, which, group int) (tiles.Source, error) {
	g := &t.Groups
	switch {
	case which == 1 && g.Source1On():
		return d.mem.View(t.Bases.Source1, g.Source1(), group)
	case which == 1:
		return d.pad.View(l2.Source1(g), operandShape(g, 1), group)
	case g.Source2On():
		return d.mem.View(t.Bases.Source2, g.Source2(), group)
	}
	return d.pad.View(l2.Source2(g), operandShape(g, 2), group)
}

// both writes results to two places.
type both struct{ a, b tiles.Sink }

func (s both) SetRow(src []half, c, y, x int) {
	s.a.SetRow(src, c, y, x)
	s.b.SetRow(src, c, y, x)
}

// sink is where a group of the result goes.
func (d *Device) sink(t *regs.Task, group int) (tiles.Sink, error) {
	g := &t.Groups
	if !keepsResult(g) {
		return d.mem.View(t.Bases.Destination, g.Destination(), group)
	}
	pad, err := d.pad.View(l2.Result(g), g.OutShape(), group)
	if err != nil || !g.DestinationOn() {
		return pad, err
	}
	mem, err := d.mem.View(t.Bases.Destination, g.Destination(), group)
	return both{mem, pad}, err
}

// keep leaves a copy of the source in the L2 for a later descriptor.
func (d *Device) keep(g *regs.Groups, src tiles.Source, group int) error {
	s := g.InShape()
	v, err := d.pad.View(l2.Source1(g), s, group)
	if err != nil {
		return err
	}
	row := make([]half, s.Width)
	for c := range s.Channels {
		for y := range s.Height {
			src.Row(row, c, y)
			v.SetRow(row, c, y, 0)
		}
	}
	return nil
}

// An engineTask is a task on the MAC engines, ready to run group by group.
type engineTask struct {
	post mac.Post
	conv tiles.Convolution // of a multiply-accumulate
}

// prepare reads a task's coefficients: its activation table, its kernel.
func (d *Device) prepare(t *regs.Task) (e engineTask, note string, f *Fault) {
	g := &t.Groups
	lanes, err := d.lanes(t)
	if err != nil {
		return e, "", &Fault{Unit: "kernel-dma", What: err.Error()}
	}
	e.post = mac.Post{
		Scale: mac.PostScale(float(g.NE.PostScale.PostScale()), uint(g.NE.PostScale.PostScaleRightShift())),
		Bias:  mac.AccBias(float(g.NE.AccBias.AccBias()), uint(g.NE.AccBias.AccBiasShift())),
		ReLU:  g.NE.MACCfg.NonlinearMode() == regs.ReLU,
		Port:  mac.PortFull,
	}
	if g.NE.MACCfg.NonlinearMode() == regs.ActivationTable {
		if e.post.Table, err = tableOf(lanes); err != nil {
			return e, "activation table: " + err.Error(), nil
		}
	}
	switch g.NE.MACCfg.OpMode() {
	case regs.MantissaTable:
		e.post.Port = mac.PortCeiling
	case regs.MultiplyAccumulate:
		if tiles.Taps(g) > 1 {
			e.post.Port = mac.PortCeiling
		}
		e.conv = tiles.NewConvolution(g)
		e.conv.Post = e.post
		if n := e.conv.Staged(); n > maxPlane {
			return e, "", &Fault{Unit: "tile-dma-source", What: fmt.Sprintf("one row of results needs %d source elements at once, more than %d", n, maxPlane)}
		}
		e.conv.Kernel, err = tiles.NewKernel(g, lanes)
		var short *tiles.KernelError
		switch packing, _ := tiles.PackingOf(g); {
		case err == nil:
		case packing == tiles.Dense && errors.As(err, &short):
			return e, "", &Fault{Unit: "kernel-dma", What: err.Error()}
		default:
			// What silicon makes of weights that do not unpack is not known: a bare
			// chain's made-up ones are such.
			return e, err.Error(), nil
		}
	}
	return e, "", nil
}

// run computes one group.
func (e *engineTask) run(g *regs.Groups, dst tiles.Sink, src tiles.Source, group, workers int) {
	s := g.OutShape()
	channels := g.InShape().Channels
	switch op := g.NE.MACCfg.OpMode(); {
	case op == regs.MultiplyAccumulate:
		e.conv.Group = group
		e.conv.Run(dst, src, workers)
	case op == regs.ChannelMaximum:
		tiles.ChannelMaximum(dst, src, s, channels, e.post)
	case op == regs.MantissaTable && !g.Common.GroupConvCfg.UnicastEn():
		tiles.ChannelSum(dst, src, s, channels, e.post)
	default:
		tiles.PassThrough(dst, src, s, e.post, workers)
	}
}

// lanes are the bytes of the coefficient buffers that are on.
func (d *Device) lanes(t *regs.Task) (b [tiles.Engines][]byte, err error) {
	for i, l := range dma.Lanes(&t.Groups, t.Bases.Kernel) {
		if l.On {
			if b[i], err = d.mem.Bytes(l.Addr, uint64(l.Size)); err != nil {
				return b, fmt.Errorf("lane %d: %w", i, err)
			}
		}
	}
	return b, nil
}

// tableOf reads the activation table at the start of the first lane that is on: the
// lanes of a task without weights all read the same 128 bytes (bytes).
func tableOf(lanes [tiles.Engines][]byte) (*mac.Table, error) {
	for i, b := range lanes {
		switch {
		case b == nil:
		case len(b) < mac.TableBytes:
			return nil, &tiles.KernelError{Lane: i, Need: mac.TableBytes, Have: len(b)}
		default:
			return mac.ParseTable(b[:mac.TableBytes])
		}
	}
	return nil, fmt.Errorf("no coefficient lane is on")
}
