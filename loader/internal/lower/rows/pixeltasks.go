package rows

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/pass"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// pixelShape returns the shape of v as channels of pixels: of eight in each row if block is set, and
// otherwise of all in one row.
func (v *value) pixelShape(block bool) regs.Shape {
	s := regs.Shape{Groups: 1, Channels: v.width, Height: 1, Width: v.rows}
	if block {
		s.Height, s.Width = v.rows/blockWidth, blockWidth
	}
	return s
}

// appendPixels appends t, which reads x and computes v element by element.
func (c *pixelChain) appendPixels(g *Group, t *task.Task, v, x *value) {
	c.readPixels(t, x)
	c.writePixels(g, t, v, x)
}

// readPixels makes t read x as its first source, from L2 or from memory. A tensor from memory stays
// in L2 if other groups read it.
func (c *pixelChain) readPixels(t *task.Task, x *value) {
	if x.columnTile != nil {
		c.readFirstFromTile(t, x.columnTile, x.columnTile.at)
		return
	}
	keep := c.left[x.name] > 1
	at := t.SourceTile()
	if keep {
		at = t.KeptTile()
	}
	if h := c.loadFirstSource(t, *x.mem, at, keep); keep {
		x.columnTile = h
	}
}

// copyPixels returns the tile in L2 that holds the columns of x. It appends a task that loads x if
// there is none.
func (c *pixelChain) copyPixels(x *value) *heldTile {
	if x.columnTile == nil {
		s := x.pixelShape(false)
		t, at := task.NewCopy(s), place.Packed(s)
		c.loadFirstSource(t, *x.mem, t.SourceTile(), false)
		x.columnTile = c.keepResultInL2(t, at, at.Row, nil)
		c.appendTask(t)
	}
	return x.columnTile
}

// writePixels makes t write v, the result of g, and appends t. A result that stays in L2 is written
// over one of the operands if it can be.
func (c *pixelChain) writePixels(g *Group, t *task.Task, v *value, operands ...*value) {
	if bar, ok := c.results[g.Output]; ok {
		c.streamResultToMemory(t, place.Surface(bar, layer.Shape{N: 1, C: v.width, H: 1, W: v.rows}))
		c.appendTask(t)
		return
	}
	s := v.pixelShape(g.Block)
	at := c.pixelLayout(g, s)
	var e *place.Extent
	for _, x := range operands {
		if h := x.columnTile; h != nil && !h.source && h.at == at && c.isLastRead(g, x) && !c.feedsStream(g) {
			e = h.extent
			break
		}
	}
	v.columnTile = c.keepResultInL2(t, at, at.Row*s.Height, e)
	v.columnTile.block = g.Block
	if e == nil && v.width == 1 {
		c.placeStatistics(v)
	}
	c.appendTask(t)
}

// isLastRead reports whether nothing reads x after group g.
func (c *pixelChain) isLastRead(g *Group, x *value) bool {
	reads := 0
	for _, in := range g.Inputs {
		if in == x.name {
			reads++
		}
	}
	return c.left[x.name] == reads
}

// feedsStream reports whether the only group that reads the result of g streams its own to memory.
func (c *pixelChain) feedsStream(g *Group) bool {
	uses := c.uses[g.Output]
	if len(uses) != 1 || uses[0].group.Kind == Product {
		return false
	}
	_, streams := c.results[uses[0].group.Output]
	return streams
}

// pixelLayout returns the layout in L2 of the result of g, which has shape s. Rows of blocks are
// spaced for the planar engine if it writes or reads them, and else for the convolutions.
func (c *pixelChain) pixelLayout(g *Group, s regs.Shape) place.Layout {
	at := place.Packed(s)
	if !g.Block {
		return at
	}
	fetches, planar := []place.Fetch{place.PlanarFetch}, isPlanar(g)
	for _, u := range c.uses[g.Output] {
		planar = planar || isPlanar(u.group)
	}
	if !planar {
		fetches = append(fetches, c.convolutionFetches(g.Output)...)
	}
	return at.Skew(fetches...)
}

// isPlanar reports whether a group runs on the planar engine.
func isPlanar(g *Group) bool {
	return g.Kind != Product && g.Kind != Activation && g.Kind != Power
}

// convolutionFetches returns how the convolutions that read a tensor in blocks do it. Those whose
// result stays in blocks use the small source mode (seen in 1 of 1 tasks; 4 of 4 others do not).
func (c *pixelChain) convolutionFetches(name string) []place.Fetch {
	var list []place.Fetch
	for _, u := range c.uses[name] {
		switch {
		case !u.group.FromBlocks:
		case u.group.Block:
			list = append(list, place.SmallFetch)
		default:
			list = append(list, task.BlockFetch(u.group.Rows/blockWidth))
		}
	}
	return list
}

// turnPixels returns the tile that holds the rows of x. It appends a transpose if there is none.
func (c *pixelChain) turnPixels(x *value, mean bool) *heldTile {
	if x.rowTile != nil {
		return x.rowTile
	}
	t := task.NewTranspose(x.pixelShape(false))
	c.readPixels(t, x)
	at := place.Packed(regs.Shape{Channels: x.rows, Width: x.width})
	bytes := at.Row
	if mean {
		at.Row = at.Channel
	}
	h := c.keepResultInL2(t, at, bytes, nil)
	h.pitch, h.tile.Bytes = at.Channel, bytes
	c.appendTask(t)
	x.rowTile = h
	return h
}

// emitChannelMean appends the tasks that compute v, the mean of the channels of each pixel of its
// input or of their squares: a transpose to rows, and a reduction of those.
func (c *pixelChain) emitChannelMean(g *Group, v *value) {
	x := c.values[g.Inputs[0]]
	from := c.turnPixels(x, true)
	view := place.View{S: x.channelShape()}.FoldRow()
	r := task.Planar{Form: regs.FormReduction, In: view.S, Mean: x.width, Transposed: true, Addend: uint16(g.Addend)}
	if g.Squares {
		r.Op = task.Squares
	}
	t := r.Task()
	at := from.channelsLayout()
	at.Row = from.pitch * x.rows
	at.Depth, at.Group = at.Row, 0
	if view.Folded {
		t.SetPatch(task.FoldedPatch)
		at.Row = view.S.Width * layer.ElementBytes
	}
	c.readFirstFromTile(t, from, at)
	result := place.Packed(v.pixelShape(false))
	if bar, ok := c.results[g.Output]; ok {
		t.WriteThroughTile(place.Surface(bar, layer.Shape{N: 1, C: 1, H: 1, W: v.rows}), result)
		c.fixups = append(c.fixups, fixup{t, task.OperandResult, c.newStreamExtent(result.Row), t.Result})
	} else {
		v.columnTile = c.keepResultInL2(t, result, result.Row, nil)
		c.placeStatistics(v)
	}
	c.appendTask(t)
}

// placeStatistics chooses the place in L2 of v, if it has one channel. What a planar task reads for each
// channel of another tensor is lowest in L2 (seen in 6 of 6 tensors), and another such tensor is above all
// others (3 of 3).
func (c *pixelChain) placeStatistics(v *value) {
	e := v.columnTile.extent
	for _, u := range c.uses[v.name] {
		e.Lowest = e.Lowest || u.group.Kind == Binary && u.input == 1 && u.group.Width > 1
	}
	e.Above = !e.Lowest
}

// emitPixelBinary appends the task that computes v, an operation on two tensors. The second may have
// one channel, which is read for each channel of the first.
func (c *pixelChain) emitPixelBinary(g *Group, v *value) {
	x, z := c.values[g.Inputs[0]], c.values[g.Inputs[1]]
	second := c.copyPixels(z)
	op := pass.Elementwise(&g.Layer, v.pixelShape(g.Block))
	op.ReLU = g.Activation == layer.ReLU
	op.Second.Repeat = task.C.If(z.width < v.width)
	if g.Scale != 0 {
		if f := task.NewFactor(uint16(g.Scale)); g.Layer.Op == layer.Mul {
			op.AfterScale = f
		} else {
			op.Scale = f
		}
	}
	t := op.Task()
	c.readPixels(t, x)
	c.readSecondFromTile(t, second, second.at)
	t.SetSourceFlags()
	c.writePixels(g, t, v, x, z)
}

// emitPower appends the tasks that compute v, its input to the power of a number: a table of log2,
// and a table of 2^x for the product of the number and the logarithm.
func (c *pixelChain) emitPower(g *Group, v *value) {
	x, s := c.values[g.Inputs[0]], v.pixelShape(g.Block)
	logarithm := *g
	logarithm.Output = g.Output + " log2"
	between := &value{name: logarithm.Output, rows: v.rows, width: v.width}
	t := task.NewCopy(s)
	c.setActivationTable(t, g.Weights.Table)
	c.appendPixels(&logarithm, t, between, x)

	m := task.MAC{Op: regs.PassThrough, In: s, Out: s, PerChannel: true, Scale: task.NewFactor(uint16(layer.ValueAt(g.Weights.Second, 0)))}
	t = m.Task()
	if len(g.Weights.Tables) > 0 {
		c.setActivationTable(t, g.Weights.Tables[0])
	}
	c.readPixels(t, between)
	c.writePixels(g, t, v) // over no operand (3 of 3 tasks)
}

// emitAffine appends the tasks that compute v by one addend and one factor for each channel: a copy of
// both to L2, and a planar task.
func (c *pixelChain) emitAffine(g *Group, v *value) {
	x := c.values[g.Inputs[0]]
	s := regs.Shape{Groups: 1, Channels: 1, Height: 2, Width: v.width}
	prep := task.NewCopy(s)
	at := place.ResultTile(s)
	m := place.Surface(regs.BARWeights, layer.Shape{N: 1, C: 1, H: 2, W: v.width})
	kept := c.keepResultInL2(prep, at, at.Row*s.Height, nil)
	// The copy does not wait for the planar task before it (2 of 2 tasks), unless an input of the chain stays
	// in L2 for a later task: then it may write over a source of that task, and wait (1 of 1).
	if kept.extent.Lowest = true; !c.holdsInput() {
		kept.extent.First = max(0, kept.extent.First-1)
	}
	c.loadFirstSource(prep, m, prep.SourceTile(), false)
	c.appendTask(prep)
	if !c.dryRun {
		data, err := coeff.ChannelTable(&g.Layer, &g.Weights)
		if err != nil {
			data = make([]byte, m.Depth) // LowerPixels gets layers that were lowered on their own
		}
		c.tables = append(c.tables, channelTable{prep, data})
	}
	t := task.Planar{
		Form: regs.FormBiasScale, In: v.pixelShape(g.Block), Op: task.Sum, Second: task.SourceView{Transposed: true},
		ReLU: g.Activation == layer.ReLU,
	}.Task()
	c.readPixels(t, x)
	c.readSecondFromTile(t, kept, at)
	c.writePixels(g, t, v, x)
}

// holdsInput reports whether L2 has an input of the chain that a later group reads.
func (c *pixelChain) holdsInput() bool {
	for name, v := range c.values {
		if v.columnTile != nil && v.columnTile.source && c.left[name] > 0 {
			return true
		}
	}
	return false
}

// regroupPixels returns the tile that holds x in blocks. It appends transposes if there is none.
func (c *pixelChain) regroupPixels(x *value) *heldTile {
	if x.columnTile != nil && x.columnTile.block {
		return x.columnTile
	}
	if h := c.regrouped[x.name]; h != nil {
		return h
	}
	from := c.turnPixels(x, false)
	s := regs.Shape{Groups: 1, Channels: blockWidth, Height: x.rows / blockWidth, Width: x.width}
	t := task.NewTranspose(s)
	c.readFirstFromTile(t, from, place.Layout{Channel: from.pitch, Row: blockWidth * from.pitch, Depth: x.rows * from.pitch})
	at := place.Packed(regs.Shape{Channels: x.width, Width: blockWidth})
	at = at.Skew(append(c.convolutionFetches(x.name), place.PlanarFetch)...)
	h := c.keepResultInL2(t, at, at.Row*s.Height, nil)
	c.prepared[c.taskIndex()] = x
	c.appendTask(t)
	h.block = true
	c.regrouped[x.name] = h
	return h
}

// emitPixelProduct appends the tasks that compute v, a convolution of one tap. If it reads blocks but v
// does not stay in them, its task transposes v to rows, and another one these to columns.
func (c *pixelChain) emitPixelProduct(g *Group, v *value) bool {
	if !g.FromBlocks {
		return c.emitColumnProduct(g, v)
	}
	x := c.values[g.Inputs[0]]
	from := c.regroupPixels(x)
	in := x.pixelShape(true)
	out := in
	out.Channels = v.width
	t := g.addEpilogue(task.MAC{In: in, Out: out, Transpose: !g.Block, Blocks: !g.Block}).Task()
	c.readFirstFromTile(t, from, from.at)
	c.packAndSetWeights(t, g, coeff.Share{Group: 0, Groups: 1, First: 0, Channels: v.width})
	if g.Block {
		c.writePixels(g, t, v)
		return true
	}
	pitch := layer.RoundUp(v.width*layer.ElementBytes, place.UnitBytes)
	at := place.Layout{Channel: pitch, Row: blockWidth * pitch, Depth: v.rows * pitch}
	h := c.keepResultInL2(t, at, at.Depth, nil)
	h.pitch = pitch
	v.rowTile = h
	c.appendTask(t)

	s := v.channelShape()
	// Blocks end here: all other readers want columns.
	back := task.NewTranspose(s)
	at.Row = at.Depth
	c.readFirstFromTile(back, h, at)
	if bar, ok := c.results[g.Output]; ok {
		to := place.Packed(v.pixelShape(false))
		back.StageResult(place.Surface(bar, layer.Shape{N: 1, C: v.width, H: 1, W: v.rows}), to)
		c.fixups = append(c.fixups, fixup{back, task.OperandResult, c.newStreamExtent(to.Row), back.Result})
	} else {
		to := columnLayout(v.width, v.rows, 1, false)
		v.columnTile = c.keepResultInL2(back, to, to.Row, nil)
		v.columnTile.extent.Above = true // seen in 1 of 1 tensors
	}
	c.appendTask(back)
	return true
}

// emitColumnProduct appends the tasks that compute v, a convolution of one tap, from columns: one, or
// several if there are more pixels than a patch has, as for matmuls. It reports false if the weights of
// one channel do not fit in an engine's memory.
func (c *pixelChain) emitColumnProduct(g *Group, v *value) bool {
	x := c.values[g.Inputs[0]]
	shares := []coeff.Share{{Group: 0, Groups: 1, First: 0, Channels: v.width}}
	// With more pixels than one patch, each engine reads its weights again for every patch, so they must
	// fit its memory.
	if v.rows > task.PatchPixels {
		var ok bool
		if shares, ok = g.Shares(v.width, x.width); !ok {
			return false
		}
	}
	if len(shares) > 1 {
		c.copyPixels(x) // all of them read it
	}
	in, at := x.pixelShape(false), place.Packed(v.pixelShape(false))
	bar, streams := c.results[g.Output]
	var e *place.Extent
	for _, s := range shares {
		out := in
		out.Channels = s.Channels
		t := g.addEpilogue(task.MAC{In: in, Out: out}).Task()
		c.readPixels(t, x)
		c.packAndSetWeights(t, g, s)
		if streams {
			m := place.Surface(bar, layer.Shape{N: 1, C: v.width, H: 1, W: v.rows})
			m.Base = s.First * m.Plane
			c.streamResultToMemory(t, m)
		} else {
			h := c.keepResultInL2(t, at.Rebase(s.First*at.Channel), at.Row, e)
			h.at.Base, e = 0, h.extent
			v.columnTile = h
		}
		c.appendTask(t)
	}
	return true
}
