package hw

import (
	"errors"
	"fmt"

	"anesim/hw/dma"
	"anesim/hw/evidence"
	"anesim/hw/mac"
	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// An engineTask is a task on the MAC engines, ready to run.
type engineTask struct {
	post mac.Post
	conv tiles.Convolution // of a multiply-accumulate
}

// prepareEngine reads a task's coefficients: its activation table, its kernel.
func (d *Device) prepareEngine(e *engineTask, t *regs.Task) (limit *evidence.Limit, f *Fault) {
	g := &t.Groups
	lanes, err := d.lanes(t)
	if err != nil {
		return nil, &Fault{Unit: "kernel-dma", What: err.Error()}
	}
	e.post = mac.Post{
		Scale: mac.PostScale(float(g.NE.PostScale.PostScale()), uint(g.NE.PostScale.PostScaleRightShift())),
		Bias:  mac.AccBias(float(g.NE.AccBias.AccBias()), uint(g.NE.AccBias.AccBiasShift())),
		ReLU:  g.NE.MACCfg.NonlinearMode() == regs.ReLU,
		Port:  portOf(g),
	}
	accumulates := g.NE.MACCfg.OpMode() == regs.MultiplyAccumulate
	if g.NE.MACCfg.NonlinearMode() == regs.ActivationTable {
		table := lanes
		if accumulates {
			if lanes, err = splitTables(g, lanes); err != nil {
				return nil, &Fault{Unit: "kernel-dma", What: err.Error()}
			}
		}
		if e.post.Table, err = tableOf(table); err != nil {
			return d.unreadable(t, "the activation table", err), nil
		}
	}
	if !accumulates {
		return nil, nil
	}
	e.conv = tiles.NewConvolution(g)
	e.conv.Post = e.post
	if n := e.conv.Staged(); n > maxPlane {
		return nil, &Fault{Unit: "tile-dma-source", What: fmt.Sprintf("one row of results needs %d source elements at once, more than %d", n, maxPlane)}
	}
	e.conv.Kernel, err = tiles.NewKernel(g, lanes)
	var short *tiles.KernelError
	switch packing, _ := tiles.PackingOf(g); {
	case err == nil:
	case packing == tiles.Dense && errors.As(err, &short):
		return nil, &Fault{Unit: "kernel-dma", What: err.Error()}
	default:
		return d.unreadable(t, "the weights", err), nil
	}
	return nil, nil
}

// portOf is the output port that a task of the MAC engines rounds its results in: that with the
// ceiling for products of more than one tap and for what is looked up by mantissa, else that
// with the whole range of fp16.
func portOf(g *regs.Groups) mac.Port {
	switch g.NE.MACCfg.OpMode() {
	case regs.MantissaTable:
		return mac.PortCeiling
	case regs.MultiplyAccumulate:
		if tiles.Taps(g) > 1 {
			return mac.PortCeiling
		}
	}
	return mac.PortFull
}

// unreadable says why coefficients make no sense: nobody gave them, or they have a form
// that no program shows.
func (d *Device) unreadable(t *regs.Task, what string, err error) *evidence.Limit {
	k := &d.ops.Kernel
	if d.mem.MadeUp(t.Bases.Kernel+k.Low, k.End-k.Low) {
		return &evidence.Limit{Kind: evidence.MissingInput, What: what + " would stand in constants that were not given (--in weights=FILE)"}
	}
	return &evidence.Limit{Kind: evidence.MissingSpecification, What: what + ": " + err.Error()}
}

// run computes the rows from first to last of a part. Only a pass-through is asked for
// fewer than all.
func (e *engineTask) run(g *regs.Groups, p part, first, last, workers int) {
	s := g.OutShape()
	channels := g.InShape().Channels
	switch op := g.NE.MACCfg.OpMode(); {
	case op == regs.MultiplyAccumulate:
		e.conv.Group = p.group
		e.conv.Run(p.dst, p.src, workers)
	case op == regs.ChannelProduct:
		tiles.ChannelProduct(p.dst, p.src, s, e.post)
	case op == regs.ChannelMaximum:
		tiles.ChannelMaximum(p.dst, p.src, s, channels, e.post)
	case op == regs.MantissaTable && !g.Common.GroupConvCfg.UnicastEn():
		tiles.ChannelSum(p.dst, p.src, s, channels, e.post)
	case first > 0 || last < s.Height:
		s.Height = last - first
		tiles.PassThrough(lowered{dst: p.dst, by: first}, lowered{src: p.src, by: first}, s, e.post, workers)
	default:
		tiles.PassThrough(p.dst, p.src, s, e.post, workers)
	}
}

// lowered is a tensor whose row 0 is row by of another.
type lowered struct {
	src tiles.Source
	dst tiles.Sink
	by  int
}

func (l lowered) Row(dst []half, c, y int)       { l.src.Row(dst, c, y+l.by) }
func (l lowered) SetRow(src []half, c, y, x int) { l.dst.SetRow(src, c, y+l.by, x) }

// lanes are the bytes of the coefficient buffers that are on.
func (d *Device) lanes(t *regs.Task) (b [tiles.Engines][]byte, err error) {
	for i, l := range dma.Lanes(&t.Groups, t.Bases.Kernel) {
		if l.On {
			if b[i], err = d.mem.Peek(l.Addr, uint64(l.Size)); err != nil {
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

// splitTables takes the activation tables off the lanes of a multiply-accumulate: each
// lane has one of 128 bytes beside its weights (bytes: 5 of 5). That it stands ahead of
// them, where a pass-through has it, is assumed.
func splitTables(g *regs.Groups, lanes [tiles.Engines][]byte) ([tiles.Engines][]byte, error) {
	for i, b := range lanes {
		if b == nil {
			continue
		}
		if len(b) < mac.TableBytes {
			return lanes, &tiles.KernelError{Lane: i, Need: mac.TableBytes, Have: len(b)}
		}
		lanes[i] = b[mac.TableBytes:]
	}
	return lanes, nil
}
