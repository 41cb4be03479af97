package rows

import (
	"slices"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/pass"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// A pixelChain lowers a pixel chain: layers over the channels of a single row of pixels, as the compiler
// of 2026 writes them. Its tensors are the columns of row chains, [channel][pixel], and like those they
// have three places in L2:
//
//	columns  [channel][pixel]       what planar tasks work on
//	rows     [pixel][channel]       columns, transposed: what a mean over channels reads
//	blocks   [channel][8 pixels]    rows, transposed: what a convolution reads
//
// The rules, each with the number of places in the three known programs that show it, of those that
// could (they are one layer norm, one norm with a feed-forward, one norm with three projections):
//
//	a mean over channels reads rows, four to a channel                          6 of 6
//	the squares of a mean of squares, and the addend after it, cost no task     3 of 3
//	a factor after a sum or a product costs no task                             3 of 3
//	an operand with one channel is read as it is, without a copy                6 of 6
//	a square has one source and the operation of squares                        1 of 1
//	a power by a number is two tables, the second after a factor                3 of 3
//	a convolution of one tap reads blocks, by two transposes                    4 of 4
//	its result stays in blocks up to the next convolution                       1 of 1
//	... or else is transposed to rows, and these to columns                     4 of 4
//	a transposed tensor serves all convolutions that read it                    1 of 1
//	weights are not split                                                       5 of 5
//	a result is written over the operand that nothing else reads                9 of 10
//
// (The tenth is a product whose only reader streams to memory.) Rows and blocks that no other tensor
// outlives are described in the scratch buffer (1 of 1).
type pixelChain struct {
	*chain
	results   map[string]uint32    // buffers of the results of the chain
	left      map[string]int       // readers of a tensor that are still to come
	regrouped map[string]*heldTile // tensors in blocks, beside their columns
	tables    []channelTable
	prepared  map[int]*value // the transposes to blocks, by their tasks
}

// A channelTable is a row of addends and a row of factors that a task loads. It is stored after all
// weights.
type channelTable struct {
	task *task.Task
	data []byte
}

// LowerPixels compiles a pixel chain. shapes maps the names of the inputs and results to their
// shapes. The tensors in results are in the buffers from 4 on, and the inputs in those after them. If
// dryRun is true, the tasks have no weights, which is enough to find out whether the groups fit.
// LowerPixels reports false if they do not fit in L2 or have too many inputs.
func LowerPixels(groups []Group, results []string, shapes map[string]layer.Shape, dryRun bool) (*Lowered, bool) {
	c := &pixelChain{chain: newChain(groups), results: map[string]uint32{}, left: map[string]int{}, regrouped: map[string]*heldTile{}, prepared: map[int]*value{}}
	c.dryRun = dryRun
	out := &Lowered{}
	for i, name := range results {
		c.results[name] = uint32(place.Bar4 + i)
	}
	for i := range groups {
		for _, in := range groups[i].Inputs {
			c.left[in]++
			if c.makers[in] != nil || slices.Contains(out.Inputs, in) {
				continue
			}
			if len(results)+len(out.Inputs) > MaxInputs {
				return nil, false
			}
			s := shapes[in]
			m := place.Surface(uint32(place.Bar4+len(results)+len(out.Inputs)), s)
			c.values[in] = &value{name: in, rows: s.W, width: s.C, mem: &m}
			out.Ports = append(out.Ports, m.ToPort(in, loader.Input, s))
			out.Inputs = append(out.Inputs, in)
		}
	}
	for i := range groups {
		g := &groups[i]
		c.step = i
		out.Starts = append(out.Starts, c.taskIndex())
		v := &value{name: g.Output, rows: g.Rows, width: g.Width}
		c.values[g.Output] = v
		if !c.emitPixels(g, v) {
			return nil, false
		}
		for _, in := range g.Inputs {
			c.left[in]--
		}
	}
	c.storeChannelTables()
	c.holdLinkedSources()
	if !c.placeTiles() {
		return nil, false
	}
	c.markPlanarRuns()
	c.fixLinkedPatches()
	c.describeLoneBlocks()
	out.Tasks, out.Constants, out.Scratch = c.tasks, c.constants, c.described
	return out, task.FirstError(c.tasks) == nil
}

// emitPixels appends the tasks of group g, whose result is v. It reports false if it cannot lower g.
func (c *pixelChain) emitPixels(g *Group, v *value) bool {
	x := c.values[g.Inputs[0]]
	switch g.Kind {
	case ChannelMean:
		c.emitChannelMean(g, v)
	case Product:
		return c.emitPixelProduct(g, v)
	case Affine:
		c.emitAffine(g, v)
	case Binary:
		c.emitPixelBinary(g, v)
	case Power:
		c.emitPower(g, v)
	case Square:
		t := task.Planar{Form: regs.FormConstant, In: v.pixelShape(g.Block), Op: task.Squares, ReLU: g.Activation == layer.ReLU}.Task()
		c.appendPixels(g, t, v, x)
	case Scalar:
		op := pass.Scalar(&g.Layer, v.pixelShape(g.Block), uint16(layer.ValueAt(g.Weights.Second, 0)))
		op.ReLU = g.Activation == layer.ReLU
		c.appendPixels(g, op.Task(), v, x)
	case Activation:
		t := pass.Activation(g.Layer.Op, v.pixelShape(g.Block), g.Layer.Epsilon).Task()
		if g.Layer.Op != layer.ReLU {
			c.setActivationTable(t, g.Weights.Table)
		}
		c.appendPixels(g, t, v, x)
	}
	return true
}

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
	// The copy does not wait for the planar task before it (seen in 2 of 3 tasks; the third writes over a
	// source of that task, and waits).
	kept.extent.First, kept.extent.Lowest = max(0, kept.extent.First-1), true
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

// storeChannelTables stores the tables of addends and factors, after the weights.
func (c *pixelChain) storeChannelTables() {
	for _, t := range c.tables {
		c.constants.Pad(64)
		t.task.MoveTo(task.Operand1, c.constants.Bytes)
		c.constants.Add(t.data)
	}
}

// isPlainCopy reports whether t moves its source without a table.
func isPlainCopy(t *task.Task) bool { return t.IsPassThrough() && t.Table == nil }

// markPlanarRuns records in the registers of tasks that they belong to a run of planar tasks. Copies
// between two planar tasks count, those before the first and after the last do not (seen in 50 of 50
// tasks).
func (c *pixelChain) markPlanarRuns() {
	for _, t := range c.tasks {
		t.Pixels = true
	}
	for i := 0; i < len(c.tasks); i++ {
		if !c.tasks[i].Planar() {
			continue
		}
		first, last := i, i
		for ; i < len(c.tasks) && (c.tasks[i].Planar() || isPlainCopy(c.tasks[i])); i++ {
			if c.tasks[i].Planar() {
				last = i
			}
		}
		for k := first; k <= last; k++ {
			c.tasks[k].MarkPlanarNeighbours(k > first && c.tasks[k].Planar(), k < last)
		}
	}
}

// holdLinkedSources keeps the sources of each task in L2 for the next one too, if that one can read the
// result while it is computed (seen in 2 of 2 tensors that it decides about). Sources that a DMA loads are
// not kept: a task that writes over one waits.
func (c *pixelChain) holdLinkedSources() {
	next := map[*task.Task]int{}
	for i, t := range c.tasks {
		if task.IsLinked(c.tasks, i+1) {
			next[t] = i + 1
		}
	}
	for _, f := range c.fixups {
		if i, ok := next[f.task]; ok && f.which != task.OperandResult && !f.extent.Streams {
			f.extent.Last = max(f.extent.Last, i)
		}
	}
}

// fixLinkedPatches gives tasks that pass a tile from engine to engine while it is computed patches that
// suit each other. It comes after the tiles have their places, which decide what is linked.
func (c *pixelChain) fixLinkedPatches() {
	for i, t := range c.tasks {
		if !task.IsLinked(c.tasks, i) {
			continue
		}
		before := c.tasks[i-1]
		switch sh := task.LinkedPatchLog2(t.InShape()); {
		case t.Planar() && !before.Planar() && t.InShape().Height > 1:
			t.SetPatch(task.LinkedPatch(before.PatchLog2()))
		case !t.Planar() && before.Planar() && t.IsPassThrough():
			t.SetPatch(task.FixedPatch(sh))
		}
	}
	for i, t := range c.tasks {
		if t.Planar() && task.IsLinked(c.tasks, i+1) && !c.tasks[i+1].Planar() && (t.InShape().Height == 1 || !c.tasks[i+1].IsPassThrough()) {
			t.SetPatch(task.LinkedPatch(c.tasks[i+1].PatchLog2()))
		}
	}
}

// describeLoneBlocks describes in the scratch buffer each tensor in blocks that is all that L2 holds
// between its transpose and the convolution: another program may get the engine there.
func (c *pixelChain) describeLoneBlocks() {
	for i, x := range c.prepared {
		alone := true
		for _, e := range c.extents {
			alone = alone && (e == c.regrouped[x.name].extent || e.First > i || e.Last <= i)
		}
		if alone && i+1 < len(c.tasks) && c.tasks[i+1].First == c.tasks[i].Result {
			m := x.scratchSurface(true)
			c.tasks[i].MarkResultDescribed(m)
			c.tasks[i+1].MarkSourceDescribed(m)
			c.described = max(c.described, m.Depth)
		}
	}
}

// ChoosePixelBlocks decides which convolutions of groups read blocks and which results stay in blocks,
// and sets FromBlocks and Block of the groups.
//
// A convolution reads blocks if a matmul of its shape does, see [UsesBlocks], or one with which it
// shares them (seen in 1 of 1 programs); others read columns, as single convolutions do (inferred). A
// result stays in blocks if all its readers are convolutions that do, or element by element with results
// that stay.
func ChoosePixelBlocks(groups []Group, results []string) {
	makers, uses := map[string]*Group{}, findUses(groups)
	for i := range groups {
		g := &groups[i]
		makers[g.Output] = g
		g.Block = g.Kind != ChannelMean && len(uses[g.Output]) > 0 && g.Rows%blockWidth == 0 && g.Rows > blockWidth && !slices.Contains(results, g.Output)
	}
	for changed := true; changed; {
		changed = false
		for i := range groups {
			if g := &groups[i]; g.Block && !g.canStayInBlocks(makers, uses[g.Output]) {
				g.Block, changed = false, true
			}
		}
	}
	// Groups that share blocks form a set. Its first product that uses blocks decides for all.
	set := map[*Group]*Group{}
	var first func(g *Group) *Group
	first = func(g *Group) *Group {
		if up := set[g]; up != nil {
			top := first(up)
			set[g] = top
			return top
		}
		return g
	}
	join := func(a, b *Group) {
		if a, b = first(a), first(b); a != b {
			set[a] = b
		}
	}
	inputs := map[string]*Group{} // a product that reads a tensor
	for i := range groups {
		g := &groups[i]
		for _, in := range g.Inputs {
			if m := makers[in]; m != nil && m.Block {
				join(g, m)
			}
		}
		if g.Kind == Product {
			if p := inputs[g.Inputs[0]]; p != nil {
				join(g, p)
			}
			inputs[g.Inputs[0]] = g
		}
	}
	blocks := map[*Group]bool{}
	for i := range groups {
		g := &groups[i]
		if g.Kind == Product && g.Rows%blockWidth == 0 && UsesBlocks(g.Rows, g.Layer.In.W, g.Width) {
			blocks[first(g)] = true
		}
	}
	for i := range groups {
		g := &groups[i]
		g.Block = g.Block && blocks[first(g)]
		g.FromBlocks = g.Kind == Product && blocks[first(g)]
	}
}

// canStayInBlocks reports whether the result of g can stay in blocks, given which others do.
func (g *Group) canStayInBlocks(makers map[string]*Group, uses []use) bool {
	for _, u := range uses {
		if u.group.Kind != Product && !u.group.Block {
			return false
		}
	}
	if g.Kind == Product {
		return true
	}
	for _, in := range g.Inputs {
		if m := makers[in]; m == nil || !m.Block {
			return false
		}
	}
	return true
}
