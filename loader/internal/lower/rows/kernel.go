package rows

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// interleaveRows returns the place in the scratch buffer of the rows of v as weights, for matmuls
// whose left sides have m rows. If the rows are not there yet, it appends a planar task that copies
// them, and transposes them if columns is set: then memory has the columns of v. (That one task does both is
// known from a table, which counts 2 tasks and room for one copy. That it is this one is inferred.)
func (c *chain) interleaveRows(v *value, m int, columns bool) *kernelSurface {
	if v.kernel != nil && v.kernel.m == m {
		return v.kernel
	}
	s := v.channelShape()
	if columns {
		s.Channels, s.Width = s.Width, s.Channels
		t, from := task.NewTranspose(s), place.Matrix(v.mem.Bar, v.width, v.rows)
		from.Base = v.mem.Base
		c.loadFirstSource(t, from, t.SourceTile(), false)
		c.writeRowsAsWeights(t, v, m)
		c.appendTask(t)
		return v.kernel
	}
	t := task.Planar{Form: regs.FormConstant, In: s}.Task()
	at := place.Packed(s)
	if v.rowTile != nil {
		c.readFirstFromTile(t, v.rowTile, v.rowTile.channelsLayout())
	} else {
		v.rowTile = c.loadFirstSource(t, v.channelsSurface(), at, c.hasSeveralReaders(v))
		if !c.hasSeveralReaders(v) {
			v.rowTile = nil
		}
	}
	c.writeRowsAsWeights(t, v, m)
	c.appendTask(t)
	return v.kernel
}

// hasSeveralReaders reports whether more than one group of the chain reads v.
func (c *chain) hasSeveralReaders(v *value) bool {
	return c.reads[v.name] > 1
}

// rowsPerEngine returns how many of the given rows of a left side one engine multiplies at a
// time. This is the largest power of two that is at most rows/16 and at most task.MaxInterleave, or
// 1 if there is none.
func rowsPerEngine(rows int) int {
	each := 1
	for 2*each <= min(task.MaxInterleave, rows/task.Engines) {
		each *= 2
	}
	return each
}

// writeRowsAsWeights makes planar task t write the rows of v to the scratch buffer as weights, for
// matmuls whose left sides have m rows. It records their place in v.kernel.
func (c *chain) writeRowsAsWeights(t *task.Task, v *value, m int) {
	each := rowsPerEngine(m)
	plane := layer.RoundUp(each*v.width*layer.ElementBytes, 64)
	dst := place.Memory{Bar: place.BarScratch, Row: plane, Plane: plane}
	dst.Depth = plane * (v.rows / each)
	dst.Group = dst.Depth
	// The result of a matmul keeps its place until the matmul of the tensor that is computed from
	// it (seen in 3 of 3 chains, from the size of the scratch buffer). Other values give it up.
	until := max(c.step, c.lastLeft[v.name])
	if v.product && c.nextPair[until+1] < len(c.groups) {
		until = c.nextPair[until+1]
	}
	dst.Base = c.kernelScratch.Allocate(dst.Depth, c.step, until)
	c.streamInterleavedRows(t, dst, each)
	v.kernel = &kernelSurface{m, dst.Base, each, plane}
}

// lanesForRows returns the lanes (the weights of one engine each) for n rows, starting at row
// first.
func (l *kernelSurface) lanesForRows(first, n int) []coeff.Lane {
	lanes := make([]coeff.Lane, max(1, n/l.each))
	for i := range lanes {
		lanes[i] = coeff.Lane{Base: l.base + (first/l.each+i)*l.plane, Size: l.plane}
	}
	return lanes
}

// placeRightSide returns the tile that holds the right side z of a matmul of two tensors, and the
// layout of one head's matrix of k rows in it. The tile is nil if z is in memory. If the group
// reads z transposed, placeRightSide may append a transpose.
func (c *chain) placeRightSide(g *Group, z *value, head, k int) (*heldTile, place.Layout) {
	switch {
	case g.Transposed:
		src := c.transposeToColumns(z, g.Heads, head, false)
		return src, src.at
	case z.rowTile != nil:
		at := z.rowTile.channelsLayout()
		return z.rowTile, at.Rebase(at.Base + head*k*z.rowTile.pitch)
	}
	return nil, place.Layout{}
}

// emitPairProduct appends the tasks that compute v, the matmul of two tensors. The rows of the left
// tensor become weights, up to 128 in one task. The rows of the right tensor, or its columns if it
// is transposed, become the channels of the source. out says whether v is the output of the chain.
// emitPairProduct reports false if the shapes do not match or if the rows of the left tensor do not
// divide evenly.
func (c *chain) emitPairProduct(g *Group, v *value, out bool) bool {
	x, z := c.values[g.Inputs[0]], c.values[g.Inputs[1]]
	m, k, n := g.Rows, x.width, g.Width
	if m%min(m, rowsPerEngine(m)*task.Engines) != 0 {
		return false // the parts of the left side would be interleaved differently
	}
	rows, width := k, n // of one matrix on the right, as stored
	if g.Transposed {
		rows, width = n, k
	}
	if x.rows != g.Heads*m || z.rows != g.Heads*rows || z.width != width {
		return false
	}
	left := c.interleaveRows(x, m, g.LeftColumns)
	columns := !out && wantsColumns(c.uses[g.Output], false) && g.Heads == 1
	var e *place.Extent
	for head := range g.Heads {
		src, from := c.placeRightSide(g, z, head, k)
		pixels := n
		if columns {
			pixels = min(n, task.PatchPixels) // a transposed result has at most 128 columns (seen in 2 of 2 chains, from the number of tasks)
		}
		each := min(m, max(1, left.each)*task.Engines)
		for first := 0; first < m; first += each {
			rows := min(each, m-first)
			for p := 0; p < n; p += pixels {
				in := regs.Shape{Groups: 1, Channels: k, Height: 1, Width: min(pixels, n-p)}
				to := in
				to.Channels = rows
				t := g.addEpilogue(task.MAC{In: in, Out: to, Transpose: columns}).Task()
				t.SetKernelInBuffer(place.BarScratch, left.lanesForRows(head*m+first, rows))
				if src != nil {
					c.readFirstFromTile(t, src, from.Rebase(from.Base+p*layer.ElementBytes))
				} else {
					s := place.Matrix(z.mem.Bar, k, n)
					s.Base = z.mem.Base + head*k*z.mem.Row + p*layer.ElementBytes
					several := pixels == n && each < m // the right side stays in L2 for the other tasks (inferred)
					held := c.loadFirstSource(t, s, place.Packed(in), several)
					if several {
						src, from = held, place.Packed(in)
					}
				}
				switch {
				case out:
					dst := place.Matrix(c.output.Bar, rows, n)
					dst.Base = (head*m + first) * c.output.Row
					c.streamResultToMemory(t, dst)
				case columns:
					at := place.Packed(regs.Shape{Channels: n, Width: m})
					h := c.keepResultInL2(t, at.Rebase(p*at.Channel+first*layer.ElementBytes), at.Row, e)
					e, h.at.Base, v.columnTile = h.extent, 0, h
				default:
					ch := layer.RoundUp(n*layer.ElementBytes, 16)
					at := place.Layout{Base: (head*m + first) * ch, Channel: ch, Row: m * ch, Depth: m * ch}
					h := c.keepResultInL2(t, at, g.Heads*m*ch, e)
					e, h.at.Base, h.pitch, v.rowTile = h.extent, 0, ch, h
				}
				c.appendTask(t)
			}
		}
	}
	v.scores = true
	return true
}
