package bench

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// This file builds the passes over tensors larger than L2, and the batched matmuls with a
// cache of keys, which package lower supports only as single tasks.

// newStep returns a step with the registers g. If its DMAs are enabled, it reads tensor 0 and
// writes tensor 1.
func newStep(g *regs.Groups) Step {
	t := &regs.Task{Groups: *g}
	t.Bases.Source1, t.Bases.Destination = tensorAddress(0), tensorAddress(1)
	return Step{Task: t, Count: 1}
}

// newPlanarPass returns a step in which the planar engine processes m rows of k elements. The
// engine reads its source from memory if read is true, and writes its result to memory if write is
// true.
func newPlanarPass(form regs.PlanarForm, m, k int, read, write bool) Step {
	return newStep(lower.PlanarPass(form, m, k, read, write))
}

// newTablePass returns a step in which the MAC engines look up m rows of k elements in an
// activation table. They read their source from memory if read is true, and write their result to
// memory if write is true.
func newTablePass(m, k int, read, write bool) Step {
	return newStep(lower.TablePass(m, k, read, write))
}

// A sweep is one pass of an operation over all elements of its tensor.
type sweep struct {
	write bool // the result is as large as the source, otherwise one element per row
	table bool // on the MAC engines, otherwise planar
	rows  bool // over one element per row, a table of the statistics
}

// listSweeps returns the passes that an operation makes over its rows. A reduction only reads the
// tensor; any other pass reads and writes it. The order of softmax and layer norm on tensors larger
// than L2 was studied; the other norms are assumed to be alike.
func listSweeps(op string) []sweep {
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

// newPasses returns the steps of an operation over m rows of k elements. A tensor that fits in L2
// is read from memory once and written once.
func newPasses(op string, m, k int) []Step {
	sweeps := listSweeps(op)
	resident := fp16Bytes(m*k) <= layer.MaxTile
	var steps []Step
	written := 0 // tensors so far
	for i, s := range sweeps {
		read, write := !resident || i == 0, s.write && (!resident || i == len(sweeps)-1)
		var step Step
		switch {
		case s.rows:
			step = newTablePass(1, min(m, layer.MaxExtent), false, false)
		case s.table:
			step = newTablePass(m, k, read, write)
		case s.write:
			step = newPlanarPass(regs.FormTwoSources, m, k, read, write)
		default:
			step = newPlanarPass(regs.FormReduction, m, k, read, write)
		}
		steps = append(steps, swapTensors([]Step{step}, written)...)
		if write {
			written++
		}
	}
	return steps
}

// newCachedMatMul returns a matmul of one row per head with a cache, which is an input. Like any
// matmul of two inputs, it is a pair of tasks, here over all heads of n sequences.
func newCachedMatMul(n, heads, k, columns int) []Step {
	write, multiply := lower.CachedProduct(n*heads, k, columns)
	first, second := newStep(write), newStep(multiply)
	first.Task.Bases.Destination, second.Task.Bases.Kernel = scratch, scratch
	second.Task.Bases.Source1, second.Task.Bases.Destination = 0, 0
	return []Step{first, second}
}

// weightBits returns the number of bits per weight in the named format, or 0 for an unknown format.
func weightBits(format string) uint32 {
	switch format {
	case "", "fp16":
		return 16
	case "int8", "uint8", "lut8":
		return 8
	case "lut6", "sparse":
		return 6 // of sparse ones a bit each, and a third of the values
	case "sp50":
		return 9
	case "sp75":
		return 5
	case "int4", "lut4":
		return 4
	case "lut2":
		return 2
	case "lut1":
		return 1
	}
	return 0
}

// narrowWeights returns a copy of steps in which weights have the given number of bits instead of
// 16. Tables, and operands that are loaded like weights, keep their size.
func narrowWeights(steps []Step, bits uint32) []Step {
	if bits == 16 {
		return steps
	}
	return copyWithChanges(steps, func(t *regs.Task) {
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
