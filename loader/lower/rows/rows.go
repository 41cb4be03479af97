package rows

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// A chain is groups on their way to tasks. Columns are one row of pixels, or a block eight
// pixels wide where that lets the engines take 32 channels a pass (see [chain.plan]).
type chain struct {
	l2     int  // bytes of the scratchpad
	dryRun bool // without coefficients, whether it fits
	groups []Group
	values map[string]*value
	reads  map[string]int // groups that still read a tensor
	uses   map[string][]use

	tasks         []*task.Task
	extents       []*place.Extent
	results       map[*place.Extent]*task.Tile // the last in each
	fixups        []fixup
	constants     coeff.Section
	kernelScratch place.Scratch // coefficients that tasks make, by group
	step          int           // the group in the making
	described     int           // bytes of the scratch buffer that a preparation describes
	output        place.Memory
}

// A use is an input of a group.
type use struct {
	group *Group
	input int
}

// usesOf are all uses of tensors, in order.
func findUses(groups []Group) map[string][]use {
	uses := map[string][]use{}
	for i := range groups {
		for k, in := range groups[i].Inputs {
			uses[in] = append(uses[in], use{&groups[i], k})
		}
	}
	return uses
}

// A value is a tensor of rows and where it stands. Rows and width are those of the whole
// tensor and never change: how many matrices a reader sees in them is the reader's own.
type value struct {
	rows, width int
	mem         *place.Memory // in memory, where it comes from outside
	rowTile     *heldTile     // rows
	columnTile  *heldTile
	kernel      *kernelSurface // rows as a product's coefficients
	name        string
	product     bool // made by a product with constants
	scores      bool // made by a product of two
}

// A held is a tile that stays.
type heldTile struct {
	extent *place.Extent
	at     place.Layout // relative to the extent
	pitch  int          // bytes from row to row, of rows
	block  bool         // eight pixels wide
	tile   *task.Tile
	source bool // loaded, not computed
}

// interleaved is a surface in the scratch buffer that a kernel is read from: the rows of
// matrices of m rows, each of them side by side in a plane.
type kernelSurface struct {
	m                 int
	base, each, plane int
}

// A fix is an operand to move once extents have their places.
type fixup struct {
	task   *task.Task
	which  task.Operand
	extent *place.Extent
	tile   *task.Tile
}

// now is the number of the task in the making.
func (c *chain) taskIndex() int { return len(c.tasks) }

func (c *chain) appendTask(t *task.Task) { c.tasks = append(c.tasks, t) }

func (c *chain) newExtent(bytes int) *place.Extent {
	e := &place.Extent{Bytes: layer.RoundUp(bytes, 16), First: c.taskIndex(), Last: c.taskIndex()}
	c.extents = append(c.extents, e)
	return e
}

func (c *chain) newStreamExtent(bytes int) *place.Extent {
	e := c.newExtent(bytes)
	e.Streams, e.Above = true, true
	return e
}

// load reads a surface into a tile, which stays when keep is set.
func (c *chain) load(t *task.Task, m place.Memory, at place.Layout, keep bool) *heldTile {
	tl := t.LoadSource1(m, at, keep)
	bytes := max(at.Row*t.InShape().Height, at.Base+at.Channel*t.InShape().Channels)
	tl.Bytes = bytes
	e := c.newStreamExtent(bytes)
	c.fixups = append(c.fixups, fixup{t, task.Operand1, e, tl})
	return &heldTile{extent: e, at: at, pitch: at.Channel, tile: tl, source: true}
}

// load2 reads a second source from memory.
func (c *chain) loadSecond(t *task.Task, m place.Memory, at place.Layout) {
	t.LoadSource2(m, at)
	e := c.newStreamExtent(at.Row * t.InShape().Height)
	c.fixups = append(c.fixups, fixup{t, task.Operand2, e, nil})
	t.SetSourceFlags()
}

// from takes a source from what is held; at is relative to its extent.
func (c *chain) readTile(t *task.Task, h *heldTile, at place.Layout) {
	t.ReadTile(h.tile, at)
	h.extent.Last = max(h.extent.Last, c.taskIndex())
	c.fixups = append(c.fixups, fixup{t, task.Operand1, h.extent, nil})
}

// with takes the second source from what is held.
func (c *chain) readSecondTile(t *task.Task, h *heldTile, at place.Layout) {
	t.ReadSecondTile(h.tile, at)
	h.extent.Last = max(h.extent.Last, c.taskIndex())
	c.fixups = append(c.fixups, fixup{t, task.Operand2, h.extent, nil})
}

// hold leaves the result in the L2, in an extent of its own where e is nil.
func (c *chain) hold(t *task.Task, at place.Layout, bytes int, e *place.Extent) *heldTile {
	if e == nil {
		e = c.newExtent(bytes)
	}
	e.Last = max(e.Last, c.taskIndex())
	tl := t.KeepResult(at, bytes)
	tl.Previous, c.results[e] = c.results[e], tl
	c.fixups = append(c.fixups, fixup{t, task.OperandResult, e, tl})
	return &heldTile{extent: e, at: at, tile: tl}
}

// write streams the result to memory.
func (c *chain) write(t *task.Task, m place.Memory) {
	t.WriteResult(m, 0)
	c.placeStreamedResult(t)
}

// writeBeside is write of so many channels side by side.
func (c *chain) writeInterleaved(t *task.Task, m place.Memory, interleave int) {
	t.WriteInterleaved(m, 0, interleave)
	c.placeStreamedResult(t)
}

// streamed gives a result on its way to memory its place in the L2.
func (c *chain) placeStreamedResult(t *task.Task) {
	o := t.OutShape()
	e := c.newStreamExtent(min(c.l2-layer.LargestTile(c.l2), place.Packed(o).Row*o.Height))
	c.fixups = append(c.fixups, fixup{t, task.OperandResult, e, t.Result})
}

// finish places the tiles. It fails where the chain does not fit the L2.
func (c *chain) placeTiles() bool {
	if place.Allocate(c.extents, c.l2) != nil {
		return false
	}
	resident := 0
	for _, e := range c.extents {
		if !e.Streams {
			resident = max(resident, e.Base+e.Bytes)
		}
	}
	if resident > layer.LargestTile(c.l2) {
		return false
	}
	for _, f := range c.fixups {
		f.task.Shift(f.which, f.extent.Base)
		if f.tile != nil {
			f.tile.At.Base += f.extent.Base
		}
	}
	for i, t := range c.tasks {
		if t.Planar() && task.IsLinked(c.tasks, i+1) && !c.tasks[i+1].Planar() {
			t.SetPatch(task.LinkedPatch(c.tasks[i+1].PatchLog2()))
		}
	}
	return task.FirstError(c.tasks) == nil
}

// table gives a task that is all table its table: once a program, in a section of 128
// bytes for each engine the task has.
func (c *chain) setTable(t *task.Task, table []byte) {
	if c.dryRun {
		return
	}
	t.SetTable(c.constants.PlaceTable(table, t.TableLanes()), table)
}

// rowsShape is rows as one channel, channelShape as one row of channels.
func (v *value) rowsShape() regs.Shape {
	return regs.Shape{Groups: 1, Channels: 1, Height: v.rows, Width: v.width}
}

func (v *value) channelShape() regs.Shape {
	return regs.Shape{Groups: 1, Channels: v.rows, Height: 1, Width: v.width}
}

// rowsAt is a held value seen as one channel of rows, channelsAt as channels of one row.
func (h *heldTile) rowsLayout(v *value) place.Layout {
	if h.at.Row == h.pitch && h.at.Channel != h.pitch {
		return h.at
	}
	n := h.pitch * v.rows
	return place.Layout{Base: h.at.Base, Channel: n, Row: h.pitch, Depth: n}
}

func (h *heldTile) channelsLayout() place.Layout {
	at := h.at
	at.Channel, at.Row = h.pitch, at.Depth
	return at
}

// surfaceOf is a value in memory seen as rows.
func (v *value) rowsSurface() place.Memory {
	m := *v.mem
	m.Plane = m.Row * v.rows
	m.Depth, m.Group = m.Plane, m.Plane
	return m
}

// channelsOf is a value in memory seen as channels.
func (v *value) channelsSurface() place.Memory {
	m := *v.mem
	m.Plane = m.Row
	m.Row = m.Plane * v.rows
	m.Depth, m.Group = m.Row, m.Row
	return m
}

// pieces is how a source from memory stands in the L2: rows wider than 128 pixels come in
// pieces of 128 (156/160).
func pieceLayout(s regs.Shape) place.Layout {
	return place.Packed(regs.Shape{Channels: s.Channels, Width: min(s.Width, task.PatchPixels)})
}

// natural makes a value stand in the L2 as rows: a copy, which is the chain's first task
// where a product's input is added to its result (2/2).
func (c *chain) copyToL2(v *value) *heldTile {
	if v.rowTile != nil {
		return v.rowTile
	}
	s := v.rowsShape()
	t := task.NewCopy(s)
	h := c.holdRows(t, v)
	c.load(t, v.rowsSurface(), pieceLayout(s), false)
	c.appendTask(t)
	v.rowTile = h
	return h
}

// rows holds the result of a task over rows as one channel. Its pitch is skewed for the
// planar engine, but where products of blocks read or write rows, which cannot be.
func (c *chain) holdRows(t *task.Task, v *value) *heldTile {
	s := v.rowsShape()
	at := planarRowLayout(s)
	if hasBlocks(c.groups) {
		at = place.Layout{Channel: at.Depth * s.Height, Row: at.Depth, Depth: at.Depth * s.Height}
	}
	h := c.hold(t, at, at.Row*s.Height, nil)
	h.pitch = at.Row
	return h
}

// planarRows is the layout of rows that the planar engine reads: rows that are read
// together meet in no bank.
func planarRowLayout(s regs.Shape) place.Layout {
	at := place.Packed(s)
	if s.Height > 1 {
		at = at.Skew(1, place.PlanarFetch)
	}
	return at
}

// blocks reports whether any product of the chain works on blocks of eight pixels.
func hasBlocks(groups []Group) bool {
	for i := range groups {
		if groups[i].Block {
			return true
		}
	}
	return false
}

// columnsOf makes the rows of one of the heads of a value stand in the L2 as columns of
// pixels. Where the value is a single matrix, one transpose serves all that read it.
func (c *chain) transposeToColumns(v *value, heads, head int, block bool) *heldTile {
	if v.columnTile != nil && heads == 1 && v.columnTile.block == block {
		return v.columnTile
	}
	rows := v.rows / heads
	s := regs.Shape{Groups: 1, Channels: rows, Height: 1, Width: v.width}
	if block {
		s.Channels, s.Height = blockWidth, rows/blockWidth
	}
	after := columnLayout(v.width, s.Channels, s.Height, block)
	t := task.NewTranspose(s)
	var h *heldTile
	switch {
	case v.rowTile != nil:
		at := v.rowTile.channelsLayout()
		at.Base += head * rows * v.rowTile.pitch
		if block {
			at.Row, at.Depth = blockWidth*v.rowTile.pitch, rows*v.rowTile.pitch
		}
		h = c.hold(t, after, after.Row*s.Height, nil)
		c.readTile(t, v.rowTile, at)
	default:
		m := place.Matrix(v.mem.Bar, rows, v.width)
		m.Base = v.mem.Base + head*rows*v.mem.Row
		at := place.TransposeSource(rows, v.width)
		if block {
			// (1/1; the plain rule would take pieces of 128 pixels.)
			at = place.Packed(regs.Shape{Channels: s.Channels, Width: min(v.width, 32)})
			at = at.Skew(1, task.BlockFetch(s.Height))
			m.Row = m.Plane * blockWidth
		}
		h = c.hold(t, after, after.Row*s.Height, nil)
		if heads == 1 && !hasPairProduct(c.groups) {
			staged := v.stagedSurface(block)
			t.MarkResultDescribed(staged)
			c.described = max(c.described, staged.Depth)
		}
		c.load(t, m, at, false)
	}
	h.block = block
	c.appendTask(t)
	if heads == 1 {
		v.columnTile = h
	}
	return h
}

// staged is the surface that a preparation from memory describes in the scratch buffer.
func (v *value) stagedSurface(block bool) place.Memory {
	m := place.Matrix(place.BarScratch, v.width, v.rows)
	m.Row = m.Plane
	if block {
		m = place.Surface(place.BarScratch, layer.Shape{N: 1, C: v.width, H: v.rows / blockWidth, W: blockWidth})
	}
	return m
}

// runtime reports whether the chain has a product of two inputs; its preparations are
// described nowhere.
func hasPairProduct(groups []Group) bool {
	for i := range groups {
		if groups[i].Kind == PairProduct {
			return true
		}
	}
	return false
}

// blockWidth is the width of columns in blocks.
const blockWidth = 8

// columnLayout is a tile of channels that a transpose writes: an odd number of 16-byte
// units a channel, so that channels stand in different banks (20/20); rows of a block
// are three units apart, as the small source mode reads them.
func columnLayout(channels, width, height int, block bool) place.Layout {
	unit := (width + 7) / 8
	if !block {
		unit |= 1
	}
	l := place.Layout{Channel: unit * 16}
	l.Depth = l.Channel * channels
	l.Row, l.Group = l.Depth, l.Depth
	if block && height > 1 {
		l = l.Skew(1, task.BlockFetch(height))
	}
	return l
}
