package lower

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
)

// A rowChain lowers neighbouring layers over rows of features, as transformers have them,
// to tasks that hand each other tiles in the L2:
//
//	x [row][feature] --transpose--> columns [feature][row] --product--> columns or rows
//	                 \--layer norm, softmax, add on rows as they are
//
// A product takes columns and writes columns for the next product, rows for everything
// else. Columns are one row of pixels, or a block eight pixels wide where that lets the
// engines take 32 channels a pass (see wide).
type rowChain struct {
	l2     int  // bytes of the scratchpad
	try    bool // without coefficients, whether it fits
	groups []rowGroup
	values map[string]*rowValue
	reads  map[string]int // groups that still read a tensor
	uses   map[string][]use

	tasks     chain
	extents   []*extent
	fixes     []fix
	constants coeff.Section
	tables    map[string]int // tables by themselves, by their bytes
	kernels   scratch        // coefficients that tasks make, by group
	step      int            // the group in the making
	described int            // bytes of the scratch buffer that a preparation describes
	output    memory
}

// A use is an input of a group.
type use struct {
	group *rowGroup
	input int
}

// usesOf are all uses of tensors, in order.
func usesOf(groups []rowGroup) map[string][]use {
	uses := map[string][]use{}
	for i := range groups {
		for k, in := range groups[i].inputs {
			uses[in] = append(uses[in], use{&groups[i], k})
		}
	}
	return uses
}

// A rowValue is a tensor of rows and where it stands. Rows and width are those of the whole
// tensor and never change: how many matrices a reader sees in them is the reader's own.
type rowValue struct {
	rows, width int
	mem         *memory // in memory, where it comes from outside
	nat         *held   // rows
	columns     *held
	kernel      *interleaved // rows as a product's coefficients
	name        string
	product     bool // made by a product with constants
	scores      bool // made by a product of two
}

// A held is a tile that stays.
type held struct {
	extent *extent
	at     layout // relative to the extent
	pitch  int    // bytes from row to row, of rows
	block  bool   // eight pixels wide
	tile   *tile
	source bool // loaded, not computed
}

// interleaved is a surface in the scratch buffer that a kernel is read from: the rows of
// matrices of m rows, each of them side by side in a plane.
type interleaved struct {
	m                 int
	base, each, plane int
	writer            *task
}

// A fix is an address to write once extents have their places.
type fix struct {
	task   *task
	word   *regs.L2Word
	extent *extent
	tile   *tile
}

// now is the number of the task in the making.
func (c *rowChain) now() int { return len(c.tasks) }

func (c *rowChain) add(t *task) { c.tasks = append(c.tasks, t) }

func (c *rowChain) extent(bytes int) *extent {
	e := &extent{bytes: layer.RoundUp(bytes, 16), first: c.now(), last: c.now()}
	c.extents = append(c.extents, e)
	return e
}

func (c *rowChain) stream(bytes int) *extent {
	e := c.extent(bytes)
	e.streams, e.above = true, true
	return e
}

// load reads a surface into a tile, which stays when keep is set.
func (c *rowChain) load(t *task, m memory, at layout, keep bool) *held {
	tl := t.source1(m, at, keep)
	bytes := max(at.row*int(t.g.Common.InDim.Hin()), at.base+at.channel*int(t.g.Common.Cin.Cin()))
	tl.bytes = bytes
	e := c.stream(bytes)
	c.fixes = append(c.fixes, fix{t, &t.g.L2.Src1Base, e, tl})
	return &held{extent: e, at: at, pitch: at.channel, tile: tl, source: true}
}

// load2 reads a second source from memory.
func (c *rowChain) load2(t *task, m memory, at layout) {
	t.source2(m, at)
	e := c.stream(at.row * int(t.g.Common.InDim.Hin()))
	c.fixes = append(c.fixes, fix{t, &t.g.L2.Src2Base, e, nil})
	t.h.Control = t.h.Control.WithSrcLoc(true)
	t.inL2()
}

// from takes a source from what is held; at is relative to its extent.
func (c *rowChain) from(t *task, h *held, at layout) {
	t.reads(h.tile, at)
	h.extent.last = max(h.extent.last, c.now())
	c.fixes = append(c.fixes, fix{t, &t.g.L2.Src1Base, h.extent, nil})
}

// with takes the second source from what is held.
func (c *rowChain) with(t *task, h *held, at layout) {
	t.joins(h.tile, at)
	h.extent.last = max(h.extent.last, c.now())
	c.fixes = append(c.fixes, fix{t, &t.g.L2.Src2Base, h.extent, nil})
}

// hold leaves the result in the L2, in an extent of its own where e is nil.
func (c *rowChain) hold(t *task, at layout, bytes int, e *extent) *held {
	if e == nil {
		e = c.extent(bytes)
	}
	e.last = max(e.last, c.now())
	tl := t.leaves(at, bytes)
	c.fixes = append(c.fixes, fix{t, &t.g.L2.ResultBase, e, tl})
	return &held{extent: e, at: at, tile: tl}
}

// write streams the result to memory.
func (c *rowChain) write(t *task, m memory) {
	t.writes(m, 0)
	o := t.g.OutShape()
	e := c.stream(min(c.l2-layer.LargestTile(c.l2), packed(o).row*o.Height))
	c.fixes = append(c.fixes, fix{t, &t.g.L2.ResultBase, e, t.result})
}

// finish places the tiles. It fails where the chain does not fit the L2.
func (c *rowChain) finish() bool {
	if allocate(c.extents, c.l2) != nil {
		return false
	}
	resident := 0
	for _, e := range c.extents {
		if !e.streams {
			resident = max(resident, e.base+e.bytes)
		}
	}
	if resident > layer.LargestTile(c.l2) {
		return false
	}
	for _, f := range c.fixes {
		f.task.l2(f.word, int(f.word.Bytes())+f.extent.base)
		if f.tile != nil {
			f.tile.at.base += f.extent.base
		}
	}
	for i, t := range c.tasks {
		if t.planar() && c.tasks.linked(i+1) && !c.tasks[i+1].planar() {
			t.tilePatch(c.tasks[i+1].g.Common.Cfg.ShMax())
		}
	}
	return c.tasks.err() == nil
}

// constant appends to the constant section.
func (c *rowChain) constant(b []byte) int {
	c.constants.Pad(64)
	return c.constants.Add(b)
}

// table gives a task that is all table its table: once a program, in a section of 128
// bytes for each engine the task has.
func (c *rowChain) table(t *task, table []byte) {
	if c.try {
		return
	}
	section := coeff.TableSection(table, t.tableLanes())
	at, ok := c.tables[string(section)]
	if !ok {
		at = c.constant(section)
		c.tables[string(section)] = at
	}
	t.lookup(at, table)
}

// value is a tensor's value.
func (c *rowChain) value(name string) *rowValue { return c.values[name] }

// rowsShape is rows as one channel, channelShape as one row of channels.
func (v *rowValue) rowsShape() regs.Shape {
	return regs.Shape{Groups: 1, Channels: 1, Height: v.rows, Width: v.width}
}

func (v *rowValue) channelShape() regs.Shape {
	return regs.Shape{Groups: 1, Channels: v.rows, Height: 1, Width: v.width}
}

// rowsAt is a held value seen as one channel of rows, channelsAt as channels of one row.
func (h *held) rowsAt(v *rowValue) layout {
	if h.at.row == h.pitch && h.at.channel != h.pitch {
		return h.at
	}
	n := h.pitch * v.rows
	return layout{base: h.at.base, channel: n, row: h.pitch, depth: n}
}

func (h *held) channelsAt() layout {
	at := h.at
	at.channel, at.row = h.pitch, at.depth
	return at
}

// surfaceOf is a value in memory seen as rows.
func (v *rowValue) surfaceOf() memory {
	m := *v.mem
	m.plane = m.row * v.rows
	m.depth, m.group = m.plane, m.plane
	return m
}

// channelsOf is a value in memory seen as channels.
func (v *rowValue) channelsOf() memory {
	m := *v.mem
	m.plane = m.row
	m.row = m.plane * v.rows
	m.depth, m.group = m.row, m.row
	return m
}

// pieces is how a source from memory stands in the L2: rows wider than 128 pixels come in
// pieces of 128 (156/160).
func pieces(s regs.Shape) layout {
	return packed(regs.Shape{Channels: s.Channels, Width: min(s.Width, patchPixels)})
}

// natural makes a value stand in the L2 as rows: a copy, which is the chain's first task
// where a product's input is added to its result (2/2).
func (c *rowChain) natural(v *rowValue) *held {
	if v.nat != nil {
		return v.nat
	}
	s := v.rowsShape()
	t := engineTask(regs.PassThrough, s, s)
	t.unicast()
	t.engines(1)
	t.patch(s, true, nil)
	h := c.rows(t, v)
	c.load(t, v.surfaceOf(), pieces(s), false)
	c.add(t)
	v.nat = h
	return h
}

// rows holds the result of a task over rows as one channel. Its pitch is skewed for the
// planar engine, but where products of blocks read or write rows, which cannot be.
func (c *rowChain) rows(t *task, v *rowValue) *held {
	s := v.rowsShape()
	at := planarRows(s)
	if c.blocks() {
		at = layout{channel: at.depth * s.Height, row: at.depth, depth: at.depth * s.Height}
	}
	h := c.hold(t, at, at.row*s.Height, nil)
	h.pitch = at.row
	return h
}

// planarRows is the layout of rows that the planar engine reads: rows that are read
// together meet in no bank.
func planarRows(s regs.Shape) layout {
	at := packed(s)
	if s.Height > 1 {
		at = at.skewed(1, planarFetch)
	}
	return at
}

// blocks reports whether any product of the chain works on blocks of eight pixels.
func (c *rowChain) blocks() bool {
	for i := range c.groups {
		if c.groups[i].block {
			return true
		}
	}
	return false
}

// columnsOf makes the rows of one of the heads of a value stand in the L2 as columns of
// pixels. Where the value is a single matrix, one transpose serves all that read it.
func (c *rowChain) columnsOf(v *rowValue, heads, head int, block bool) *held {
	if v.columns != nil && heads == 1 && v.columns.block == block {
		return v.columns
	}
	rows := v.rows / heads
	s := regs.Shape{Groups: 1, Channels: rows, Height: 1, Width: v.width}
	if block {
		s.Channels, s.Height = blockWidth, rows/blockWidth
	}
	after := columnLayout(v.width, s.Channels, s.Height, block)
	t := transposing(s)
	var h *held
	switch {
	case v.nat != nil:
		at := v.nat.channelsAt()
		at.base += head * rows * v.nat.pitch
		if block {
			at.row, at.depth = blockWidth*v.nat.pitch, rows*v.nat.pitch
		}
		h = c.hold(t, after, after.row*s.Height, nil)
		c.from(t, v.nat, at)
	default:
		m := matrix(v.mem.bar, rows, v.width)
		m.base = v.mem.base + head*rows*v.mem.row
		at := transposeSource(rows, v.width)
		if block {
			// (1/1; the plain rule would take pieces of 128 pixels.)
			at = packed(regs.Shape{Channels: s.Channels, Width: min(v.width, 32)})
			at = at.skewed(1, blockFetch(s.Height))
			m.row = m.plane * blockWidth
		}
		h = c.hold(t, after, after.row*s.Height, nil)
		if heads == 1 && !c.runtime() {
			staged := c.staged(v, block)
			t.describeResult(staged)
			t.describesResult = true
			c.described = max(c.described, staged.depth)
		}
		c.load(t, m, at, false)
	}
	h.block = block
	c.add(t)
	if heads == 1 {
		v.columns = h
	}
	return h
}

// staged is the surface that a preparation from memory describes in the scratch buffer.
func (c *rowChain) staged(v *rowValue, block bool) memory {
	m := matrix(barScratch, v.width, v.rows)
	m.row = m.plane
	if block {
		m = surface(barScratch, layer.Shape{N: 1, C: v.width, H: v.rows / blockWidth, W: blockWidth})
	}
	return m
}

// runtime reports whether the chain has a product of two inputs; its preparations are
// described nowhere.
func (c *rowChain) runtime() bool {
	for i := range c.groups {
		if c.groups[i].kind == rowProduct2 {
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
func columnLayout(channels, width, height int, block bool) layout {
	unit := (width + 7) / 8
	if !block {
		unit |= 1
	}
	l := layout{channel: unit * 16}
	l.depth = l.channel * channels
	l.row, l.group = l.depth, l.depth
	if block && height > 1 {
		l = l.skewed(1, blockFetch(height))
	}
	return l
}

// smallHeight is the least height of a block that products read in the small source mode.
const smallHeight = 8

// blockPatch is the patch of a product of blocks: the block's height where that is less
// than the small source mode takes (111 for two rows, 222 for four; 8 as 64 rows, 4/4).
func (t *task) blockPatch(height int) {
	if height >= smallHeight {
		return
	}
	sh := uint32(bits.Len(uint(height)) - 1)
	c := &t.g.Common
	c.Cfg = c.Cfg.WithSmallSourceMode(false).WithShPref(sh).WithShMin(sh).WithShMax(sh)
}

// blockFetch is how a product reads blocks of a height.
func blockFetch(height int) fetch {
	if height >= smallHeight {
		return smallFetch
	}
	units := unitBytes >> (bits.Len(uint(height)) - 1)
	return fetch{8 / units, units + 1}
}
