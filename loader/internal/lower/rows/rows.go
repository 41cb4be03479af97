package rows

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// A chain lowers groups to tasks. Columns are one row of pixels, or a block of eight pixels per
// row if that lets the engines compute 32 channels per pass (see [chooseBlockMatMuls]).
type chain struct {
	l2     int  // bytes of L2
	dryRun bool // skip the weights, to find out whether the groups fit
	groups []Group
	values map[string]*value
	reads  map[string]int    // number of groups that read a tensor
	makers map[string]*Group // by the name of the result
	uses   map[string][]use

	blocks   bool            // whether any matmul works on blocks of eight pixels
	pairs    bool            // whether any group is a matmul of two tensors
	nextPair []int           // the first of these from each group on, or the number of groups
	lastLeft map[string]int  // the last of these that reads a tensor as its left side
	byRows   map[string]bool // for isReadAsColumns

	tasks         []*task.Task
	extents       []*place.Extent
	results       map[*place.Extent]*task.Tile // last result tile in each extent
	fixups        []fixup
	constants     coeff.Section
	kernelScratch place.Scratch // weights that tasks write, by group
	step          int           // index of the group that is being lowered
	described     int           // bytes of the scratch buffer that transposes describe
	output        place.Memory
}

// A use is an input of a group.
type use struct {
	group *Group
	input int
}

// findUses returns the uses of each tensor, keyed by its name: the groups that read it, in the
// order in which they run.
func findUses(groups []Group) map[string][]use {
	uses := map[string][]use{}
	for i := range groups {
		for k, in := range groups[i].Inputs {
			uses[in] = append(uses[in], use{&groups[i], k})
		}
	}
	return uses
}

// A value is a tensor of rows and the places where it is stored. rows and width belong to the
// whole tensor; a reader may see several matrices in it.
type value struct {
	rows, width int
	mem         *place.Memory  // surface in memory, if it is an input
	rowTile     *heldTile      // tile of rows in L2, or nil
	columnTile  *heldTile      // tile of columns in L2, or nil
	kernel      *kernelSurface // rows as weights of a matmul, or nil
	name        string
	product     bool // result of a matmul with constants
	scores      bool // result of a matmul of two tensors
}

// A heldTile is a tile that stays in L2.
type heldTile struct {
	extent *place.Extent
	at     place.Layout // relative to the extent
	pitch  int          // bytes from row to row, if it holds rows
	block  bool         // columns are eight pixels wide
	tile   *task.Tile
	source bool // loaded from memory, not computed
}

// A kernelSurface holds weights in the scratch buffer: the rows of matrices of m rows, with each
// rows interleaved in a plane.
type kernelSurface struct {
	m                 int
	base, each, plane int
}

// A fixup is an operand that moves when its extent gets its address.
type fixup struct {
	task   *task.Task
	which  task.Operand
	extent *place.Extent
	tile   *task.Tile
}

// taskIndex returns the index of the task that is being built.
func (c *chain) taskIndex() int { return len(c.tasks) }

func (c *chain) appendTask(t *task.Task) { c.tasks = append(c.tasks, t) }

// newExtent returns a new extent (a range of L2 addresses and the tasks during which it is in use)
// of the given size, in use for the task that is being built. Later tasks may extend its lifetime.
func (c *chain) newExtent(bytes int) *place.Extent {
	e := &place.Extent{Bytes: layer.RoundUp(bytes, 16), First: c.taskIndex(), Last: c.taskIndex()}
	c.extents = append(c.extents, e)
	return e
}

// newStreamExtent is like newExtent for data that streams between memory and the engines, which no
// later task reads.
func (c *chain) newStreamExtent(bytes int) *place.Extent {
	e := c.newExtent(bytes)
	e.Streams, e.Above = true, true
	return e
}

// loadFirstSource makes t load its first source from m into L2 with the given layout, and returns
// the tile. If keep is set, the tile stays in L2 for later tasks.
func (c *chain) loadFirstSource(t *task.Task, m place.Memory, layout place.Layout, keep bool) *heldTile {
	tl := t.LoadSource1(m, layout, keep)
	bytes := max(layout.Row*t.InShape().Height, layout.Base+layout.Channel*t.InShape().Channels)
	e := c.newStreamExtent(bytes)
	c.fixups = append(c.fixups, fixup{t, task.Operand1, e, tl})
	return &heldTile{extent: e, at: layout, pitch: layout.Channel, tile: tl, source: true}
}

// loadSecondSource makes task t load its second source from m in memory into L2, with the given
// layout. No other task reads that source in L2.
func (c *chain) loadSecondSource(t *task.Task, m place.Memory, layout place.Layout) {
	t.LoadSource2(m, layout)
	e := c.newStreamExtent(layout.Row * t.InShape().Height)
	c.fixups = append(c.fixups, fixup{t, task.Operand2, e, nil})
	t.SetSourceFlags()
}

// readFirstFromTile makes t read its first source from tile h. The layout that t uses is relative
// to the start of the tile's extent.
func (c *chain) readFirstFromTile(t *task.Task, h *heldTile, layout place.Layout) {
	t.ReadTile(h.tile, layout)
	h.extent.Last = max(h.extent.Last, c.taskIndex())
	c.fixups = append(c.fixups, fixup{t, task.Operand1, h.extent, nil})
}

// readSecondFromTile makes t read its second source from tile h. The layout that t uses is relative
// to the start of the tile's extent.
func (c *chain) readSecondFromTile(t *task.Task, h *heldTile, layout place.Layout) {
	t.ReadSecondTile(h.tile, layout)
	h.extent.Last = max(h.extent.Last, c.taskIndex())
	c.fixups = append(c.fixups, fixup{t, task.Operand2, h.extent, nil})
}

// keepResultInL2 makes t leave its result in L2 with the given layout, and returns the tile. e is
// the extent of a tile that earlier tasks began, or nil for a new extent of the given size.
func (c *chain) keepResultInL2(t *task.Task, layout place.Layout, bytes int, e *place.Extent) *heldTile {
	if e == nil {
		e = c.newExtent(bytes)
	}
	e.Last = max(e.Last, c.taskIndex())
	tl := t.KeepResult(layout)
	tl.Previous, c.results[e] = c.results[e], tl
	c.fixups = append(c.fixups, fixup{t, task.OperandResult, e, tl})
	return &heldTile{extent: e, at: layout, tile: tl}
}

// streamResultToMemory makes t stream its result to m in memory.
func (c *chain) streamResultToMemory(t *task.Task, m place.Memory) {
	t.WriteResult(m, 0)
	c.reserveStreamBuffer(t)
}

// streamInterleavedRows makes t stream its result to m in memory, where groups of interleave
// channels alternate in each row.
func (c *chain) streamInterleavedRows(t *task.Task, m place.Memory, interleave int) {
	t.WriteInterleaved(m, 0, interleave)
	c.reserveStreamBuffer(t)
}

// reserveStreamBuffer reserves the buffer in L2 through which task t streams its result to memory.
func (c *chain) reserveStreamBuffer(t *task.Task) {
	o := t.OutShape()
	e := c.newStreamExtent(min(c.l2-layer.LargestTile(c.l2), place.Packed(o).Row*o.Height))
	c.fixups = append(c.fixups, fixup{t, task.OperandResult, e, t.Result})
}

// placeTiles assigns addresses in L2 to all tiles and writes them to the registers of the tasks. It
// reports false if the tiles do not fit or if a value does not fit its register.
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
	return task.FirstError(c.tasks) == nil
}

// setActivationTable makes t, a task without weights, apply an activation table, and stores the
// table in the constants. In a dry run it does nothing.
func (c *chain) setActivationTable(t *task.Task, table []byte) {
	if c.dryRun {
		return
	}
	t.SetTable(c.constants.PlaceTable(table, t.TableLanes()), table)
}

// copyToL2 returns the tile in L2 that holds the rows of v. If there is none yet, copyToL2 appends
// a task that copies v from memory. If the input of a matmul is later added to its result, this
// copy is the first task of the chain (seen in 2 of 2 chains).
func (c *chain) copyToL2(v *value) *heldTile {
	if v.rowTile != nil {
		return v.rowTile
	}
	s := v.rowsShape()
	t := task.NewCopy(s)
	h := c.keepRowsInL2(t, v)
	c.loadFirstSource(t, v.rowsSurface(), pieceLayout(s), false)
	c.appendTask(t)
	v.rowTile = h
	return h
}

// keepRowsInL2 makes t leave its result in L2 as rows of one channel, and returns the tile. Rows
// are placed without bank conflicts for the planar engine, unless the chain has matmuls over
// blocks, which need rows without gaps.
func (c *chain) keepRowsInL2(t *task.Task, v *value) *heldTile {
	s := v.rowsShape()
	at := planarRowLayout(s)
	if c.blocks {
		at = place.Layout{Channel: at.Depth * s.Height, Row: at.Depth, Depth: at.Depth * s.Height}
	}
	h := c.keepResultInL2(t, at, at.Row*s.Height, nil)
	h.pitch = at.Row
	return h
}

// transposeToColumns returns the tile that holds the transposed matrix of one head of v. v consists
// of the given number of heads. If there is no such tile, transposeToColumns appends a transpose;
// it keeps the tile for other readers if v is a single matrix. block says that columns are stored
// in blocks of eight.
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
		h = c.keepResultInL2(t, after, after.Row*s.Height, nil)
		c.readFirstFromTile(t, v.rowTile, at)
	default:
		m := place.Matrix(v.mem.Bar, rows, v.width)
		m.Base = v.mem.Base + head*rows*v.mem.Row
		at := place.TransposeSource(rows, v.width)
		if block {
			// Seen in 1 of 1 programs; the usual rule would take pieces of 128 pixels.
			at = place.Packed(regs.Shape{Channels: s.Channels, Width: min(v.width, 32)})
			at = at.Skew(task.BlockFetch(s.Height))
			m.Row = m.Plane * blockWidth
		}
		h = c.keepResultInL2(t, after, after.Row*s.Height, nil)
		if heads == 1 && !c.pairs { // then the registers name no place in the scratch buffer
			staged := v.scratchSurface(block)
			t.MarkResultDescribed(staged)
			c.described = max(c.described, staged.Depth)
		}
		c.loadFirstSource(t, m, at, false)
	}
	h.block = block
	c.appendTask(t)
	if heads == 1 {
		v.columnTile = h
	}
	return h
}
