package rows

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// emitProduct appends the tasks that compute v, a matmul with constants, from the columns of its
// input. They leave v in L2 as columns if all readers of v want columns, and as rows otherwise. out
// says whether v is the output of the chain. emitProduct reports false if the weights of one column
// do not fit in an engine's memory.
func (c *chain) emitProduct(g *Group, v *value, out bool) bool {
	x := c.values[g.Inputs[0]]
	cols := c.transposeToColumns(x, 1, 0, g.Block)
	k, n, m := x.width, g.Width, g.Rows
	in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: m}
	if g.Block {
		in.Height, in.Width = m/blockWidth, blockWidth
	}
	columns := !out && wantsColumns(c.uses[g.Output], g.Block)
	shares := []coeff.Share{{Group: 0, Groups: 1, First: 0, Channels: n}}
	if m > task.PatchPixels {
		var ok bool
		if shares, ok = g.Shares(n, k); !ok {
			return false
		}
	}
	at := c.productLayout(g, in, columns)
	var e *place.Extent
	for i, s := range shares {
		to := in
		to.Channels = s.Channels
		t := g.addEpilogue(task.MAC{In: in, Out: to, Transpose: !columns, Blocks: g.Block}).Task()
		from := cols.at
		c.readFirstFromTile(t, cols, from)
		// Both tasks of such a pair describe the tensor between them in the scratch buffer, although it
		// stays in L2.
		if i == 0 && len(c.tasks) > 0 && c.tasks[len(c.tasks)-1].DescribesResult && c.tasks[len(c.tasks)-1].Result == cols.tile {
			t.MarkSourceDescribed(x.scratchSurface(g.Block))
		}
		c.packAndSetWeights(t, g, s)
		switch {
		case out && !g.Block:
			dst := place.Matrix(c.output.Bar, m, n)
			dst.Base = s.First * layer.ElementBytes
			c.streamResultToMemory(t, dst)
		case columns:
			h := c.keepResultInL2(t, at.Rebase(s.First*at.Channel), at.Row*in.Height, e)
			e, h.at.Base, h.block = h.extent, 0, g.Block
			v.columnTile = h
		default:
			h := c.keepResultInL2(t, at.Rebase(s.First*layer.ElementBytes), at.Depth, e)
			e, h.at.Base, h.pitch = h.extent, 0, at.Channel
			v.rowTile = h
		}
		c.appendTask(t)
	}
	v.product = true
	if out && g.Block {
		// A copy of its own writes rows of blocks to memory.
		s := regs.Shape{Groups: 1, Channels: m, Height: 1, Width: n}
		t := task.NewCopy(s)
		c.readFirstFromTile(t, v.rowTile, v.rowTile.channelsLayout())
		c.streamResultToMemory(t, place.Matrix(c.output.Bar, m, n))
		c.appendTask(t)
	}
	return true
}

// productLayout returns the layout in L2 of the result of matmul g with source shape in: columns if
// columns is set, and rows otherwise.
func (c *chain) productLayout(g *Group, in regs.Shape, columns bool) place.Layout {
	if columns {
		at := place.Packed(regs.Shape{Channels: g.Width, Width: in.Width})
		if g.Block && in.Height > 1 {
			at = at.Skew(task.BlockFetch(in.Height))
		}
		return at
	}
	pitch := layer.RoundUp(g.Width*layer.ElementBytes, 16)
	if g.Block {
		return place.Layout{Channel: pitch, Row: blockWidth * pitch, Depth: g.Rows * pitch}
	}
	if !c.blocks {
		pitch = planarRowLayout(regs.Shape{Channels: 1, Height: g.Rows, Width: g.Width}).Row
	}
	return place.Layout{Channel: pitch, Row: g.Rows * pitch, Depth: g.Rows * pitch}
}

// Shares divides the n result columns of a matmul into shares, each of which is spread over all
// engines. The weights that an engine holds for a share fit in its memory together with the table.
// k is the number of columns of the left side. If n is a multiple of the largest share, all shares
// have that size and are in ascending order of columns. Otherwise they are in descending order, and
// the first one is smaller: 2048 columns with a table become shares of 512, 768 and 768 columns.
// Each order was seen in one chain. Shares reports false if the weights of a single column do not
// fit.
func (g *Group) Shares(n, k int) ([]coeff.Share, bool) {
	each := coeff.RoundToPasses((g.Layer.LaneBytes() - len(g.Table)) / ((k + coeff.BiasRows(g.Bias != nil)) * layer.ElementBytes))
	if each == 0 {
		return nil, false
	}
	each *= task.Engines
	var s []coeff.Share
	if n%each == 0 {
		for first := 0; first < n; first += each {
			s = append(s, coeff.Share{Group: 0, Groups: 1, First: first, Channels: each})
		}
		return s, true
	}
	for end := n; end > 0; {
		size := min(end, each)
		if r := end % each; len(s) == 0 {
			size = r
		}
		end -= size
		s = append(s, coeff.Share{Group: 0, Groups: 1, First: end, Channels: size})
	}
	return s, true
}

// packAndSetWeights packs the weights of share s and makes t load them, unless this is a dry run.
// An activation table comes first in the memory of every engine. Programs show that it is there (5
// of 5 tasks); that it comes first is inferred from tables without weights.
func (c *chain) packAndSetWeights(t *task.Task, g *Group, s coeff.Share) {
	if c.dryRun {
		return
	}
	kernel := coeff.PackProduct(&g.Layer, &g.Weights, s, t.PlaneWidth(c.values[g.Inputs[0]].width), nil, nil)
	lanes := kernel.Lanes
	c.constants.Pad(64)
	base := c.constants.Bytes
	if g.Table != nil {
		lanes = nil
		all := coeff.Section{Data: kernel.Data}
		for _, l := range kernel.Lanes {
			lanes = append(lanes, coeff.Lane{Base: c.constants.Bytes - base, Size: coeff.TableBytes + l.Size})
			c.constants.Add(slices.Clone(g.Table))
			c.constants.Copy(&all, l.Base, l.Size)
		}
	} else {
		c.constants.AddKernel(kernel)
	}
	t.SetKernel(base, lanes)
	t.SetCoding(kernel.Coding)
}

// addEpilogue returns m with the bias, the factor, and the activation (ReLU or a table) of group g.
func (g *Group) addEpilogue(m task.MAC) task.MAC {
	m.Op, m.Window = regs.MultiplyAccumulate, task.Pointwise
	m.Bias, m.Table, m.ReLU = g.Bias != nil, g.Table, g.Activation == layer.ReLU
	if g.Scale != 0 {
		m.Scale = task.NewFactor(uint16(g.Scale))
	}
	return m
}
