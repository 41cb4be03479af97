package bench

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/task"
)

// This file makes chains of the passes over tensors beyond the L2, and of the products
// with a cache of keys for a batch of heads, that package lower has as single tasks.

// streaming is a task that reads tensor 0 and writes tensor 1, where it moves them.
func streaming(g *regs.Groups) Step {
	t := &regs.Task{Groups: *g}
	t.Bases.Source1, t.Bases.Destination = tensorBuffer(0), tensorBuffer(1)
	return Step{Task: t, Count: 1}
}

// pass is a planar task over m rows of k elements.
func pass(form regs.PlanarForm, m, k int, read, write bool) Step {
	return streaming(task.PlanarPass(form, m, k, read, write))
}

// lookup is a pass of the MAC engines with a table.
func lookup(m, k int, read, write bool) Step {
	return streaming(task.TablePass(m, k, read, write))
}

// A sweep is one pass of an operation over its tensor.
type sweep struct {
	write bool // results as large as the source, else one a row
	table bool // on the MAC engines, else planar
	rows  bool // over one element a row: a table of the statistics
}

// sweepsOf is how an operation along rows goes over its tensor: a reduction reads it, a
// change reads and writes it. (The studied order of softmax and layer norm on tensors
// beyond the L2; the norms alike.)
func sweepsOf(op string) []sweep {
	reads, writes, exps, stats := sweep{}, sweep{write: true}, sweep{write: true, table: true}, sweep{table: true, rows: true}
	switch op {
	case "reduce_sum":
		return []sweep{reads}
	case "softmax":
		return []sweep{reads, exps, reads, stats, writes}
	case "rms_norm":
		return []sweep{reads, stats, writes, writes}
	}
	return []sweep{reads, writes, reads, stats, writes, writes} // layer norm, group norm
}

// passesOf are an operation's tasks over m rows of k elements. A tensor that fits the L2
// is read once and written once.
func passesOf(op string, m, k int) []Step {
	sweeps := sweepsOf(op)
	resident := fp16(m*k) <= layer.MaxTile
	var steps []Step
	written := 0 // tensors so far
	for i, s := range sweeps {
		read, write := !resident || i == 0, s.write && (!resident || i == len(sweeps)-1)
		var step Step
		switch {
		case s.rows:
			step = lookup(1, min(m, layer.MaxExtent), false, false)
		case s.table:
			step = lookup(m, k, read, write)
		case s.write:
			step = pass(regs.FormTwoSources, m, k, read, write)
		default:
			step = pass(regs.FormReduction, m, k, read, write)
		}
		steps = append(steps, flow([]Step{step}, written)...)
		if write {
			written++
		}
	}
	return steps
}

// cached is a product of one row a head with a cache that is an input: a pair of tasks
// as in any product of two inputs, over all heads of n sequences.
func cached(n, heads, k, columns int) []Step {
	write, multiply := task.CachedProduct(n*heads, k, columns)
	first, second := streaming(write), streaming(multiply)
	first.Task.Bases.Destination, second.Task.Bases.Kernel = scratch, scratch
	second.Task.Bases.Source1, second.Task.Bases.Destination = 0, 0
	return []Step{first, second}
}

// weightBits are the bits of a weight by format, 0 for formats that are not known.
func weightBits(format string) uint32 {
	switch format {
	case "", "fp16":
		return 16
	case "int8", "lut8":
		return 8
	case "lut6":
		return 6
	case "int4", "lut4":
		return 4
	}
	return 0
}

// narrow scales the kernels of weights to their bits. Tables and operands that come as
// kernels stay.
func narrow(steps []Step, bits uint32) []Step {
	if bits == 16 {
		return steps
	}
	return changed(steps, func(t *regs.Task) {
		g := &t.Groups
		if g.NE.MACCfg.OpMode() != regs.MultiplyAccumulate || g.NE.KernelCfg.KernelFromScratch() {
			return
		}
		b := &g.KernelDMASrc.CoeffBfrSize
		for j := range b {
			b[j] = b[j].WithBytes(uint32((uint64(b[j].Bytes())*uint64(bits)/16 + 63) &^ 63))
		}
	})
}
