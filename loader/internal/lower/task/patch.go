package task

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/layer"
)

// setOutputGroupSize sets the field OCGSize, the base-2 logarithm of the number of channels that an
// engine computes in one pass. OCGSize is at most 4, or 5 in the small source mode. If unicast is
// set, each result channel reads only its own source channel and the value stays 0 (seen in 104 of
// 104 tasks; the value 5 is known only from the order of weights).
func setOutputGroupSize(c *regs.Common, channels int, unicast bool) {
	if unicast {
		return
	}
	most := uint32(4)
	if c.Cfg.SmallSourceMode() && !c.Cfg.Transpose() {
		most = 5
	}
	n := min(most, Log2Ceil((channels+Engines-1)/Engines))
	c.ConvCfg = c.ConvCfg.WithOCGSize(n)
}

// setDensePatch sets the patch of a multiply-accumulate task. A patch has 128 pixels and 1<<ShMax
// rows, and the engines may choose any height from ShMin to ShMax.
//
// Results of up to 8 columns use the small source mode, but not a column of which each channel is
// convolved on its own (one program, of 375 rows). For others ShMax is 7 - log2 of the columns, at
// most 4 (seen in 96 of 97 tasks), and 0 for a single row. A long reduction fixes the height, unless
// every channel is convolved on its own.
func setDensePatch(c *regs.Common, out regs.Shape, unicast bool, w *layer.Window) {
	column := unicast && out.Width == 1 && out.Height > 1
	if out.Width <= 8 && !column {
		c.Cfg = c.Cfg.WithSmallSourceMode(true).WithShPref(4).WithShMin(4).WithShMax(4)
		return
	}
	top := uint32(0)
	if out.Height > 1 {
		top = min(4, 7-min(7, Log2Ceil(out.Width)))
	}
	c.Cfg = c.Cfg.WithShMax(top)
	if !unicast && isLongReduction(c, out.Width, out.Channels, w) {
		c.Cfg = c.Cfg.WithShMin(top).WithShPref(top)
	}
}

// isLongReduction reports whether each result element sums so many products that the compiler fixes
// the patch height of the task. columns and channels are the extents of the result. The rule is
// right for 81 of 84 tasks: any threshold from 289 to 512 products fits results of up to 32
// columns, and any from 576 to 2304 fits wider ones. Results of up to 64 channels never fix the
// height if they have a window of one tap, a stride or more than 32 columns (seen in 7 of 7 tasks;
// no dense task of 46 speaks against it).
func isLongReduction(c *regs.Common, columns, channels int, w *layer.Window) bool {
	long := 512
	if columns > 32 {
		long = 1024
	}
	few := channels <= 64 && (w.Kh*w.Kw == 1 || max(w.Sy, w.Sx) > 1 || columns > 32)
	return !few && int(c.Cin.Cin())*w.Kh*w.Kw >= long
}

// setCopyPatch sets the patch of a task that copies its source through the MAC engines to a result
// of shape out. The base-2 logarithm of its height is 7 less that of the columns, limited to 4 and
// to the height of the source (seen in 44 of 52 tasks). For up to 8 columns a height of 16 is fixed
// (seen in 6 of 6 tasks). A single row has a patch of one row.
func setCopyPatch(c *regs.Common, out regs.Shape) {
	if out.Height == 1 {
		return
	}
	top := min(7-min(7, Log2Ceil(out.Width)), 4, uint32(bits.Len(uint(out.Height))-1))
	c.Cfg = c.Cfg.WithShMax(top)
	if top == 4 && out.Width <= 8 {
		c.Cfg = c.Cfg.WithShMin(4).WithShPref(4)
	}
}

// A Patch is a function that changes how a task divides its result: either into patches (blocks of
// pixels that the engine computes at the same time) or into tiles (runs of rows). A new task
// already has the patch that suits its operation. To replace it, call [Task.SetPatch].
type Patch func(t *Task)

// SetPatch calls p, which replaces the patches or the tile height of the task.
func (t *Task) SetPatch(p Patch) { p(t) }

// KeptPatch returns the patch for a MAC copy or maximum whose source a planar task reads too. s is
// the shape of the source. The patch has a fixed height. Where the number of source rows would
// limit the usual height, the patch is twice as high (seen in 6 of 6 tasks). For a source of one
// row, KeptPatch keeps the usual patch.
func KeptPatch(s regs.Shape) Patch {
	return func(t *Task) {
		if s.Height > 1 {
			t.SetPatch(FixedPatch(min(7-min(7, Log2Ceil(s.Width)), 4, uint32(bits.Len(uint(s.Height))))))
		}
	}
}

// LinkedPatchLog2 returns the base-2 logarithm of the patch height of two linked tasks (seen in 14
// of 15 tasks). The first is a planar task, whose source has shape s. The second reads the result
// of the first tile by tile while it is computed.
func LinkedPatchLog2(s regs.Shape) uint32 {
	if s.Height > 1 {
		return 4
	}
	return 7 - min(7, Log2Ceil(s.Width))
}

// FixedPatch returns a patch of exactly 1<<sh rows for a task on the MAC engines. Without it, the
// engines choose the height themselves.
func FixedPatch(sh uint32) Patch {
	return func(t *Task) {
		c := &t.g.Common
		c.Cfg = c.Cfg.WithShMax(sh).WithShMin(sh).WithShPref(sh)
	}
}

// LinkedPatch returns the patch of a planar task whose result the next task reads while it is still
// being computed, tile by tile. sh is the base-2 logarithm of the patch height of the next task
// (seen in 15 of 15 tasks).
func LinkedPatch(sh uint32) Patch { return PlanarPatch(max(4, 7-sh), sh) }

// PlanarPatch returns a patch of 1<<w columns and 1<<h rows for a task on the planar engine.
func PlanarPatch(w, h uint32) Patch {
	return func(t *Task) {
		c := &t.g.Common
		c.PlanarPatch = c.PlanarPatch.WithLog2W(w).WithLog2H(h)
	}
}

// planarPatchLog2 returns the base-2 logarithms of the columns (w) and rows (h) of the planar
// engine's patch, the block of pixels that it computes at a time. A patch has up to 256 pixels. It
// has up to 512 for forms FormBiasScale and FormReduction, for two sources of at least 512 columns
// (seen in 140 of 145 tasks), and for one source of several rows of at least 256 columns (1 of 1).
// FormTwoReduced fills rows before columns (seen in 2 of 2 tasks).
func planarPatchLog2(form regs.PlanarForm, width, height int) (w, h uint32) {
	most := uint32(8)
	switch form {
	case regs.FormBiasScale, regs.FormReduction:
		most = 9
	case regs.FormTwoReduced, regs.FormTwoSources:
		if width >= 512 {
			most = 9
		}
	case regs.FormConstant:
		if width >= 256 && height > 1 {
			most = 9
		}
	}
	const least = 4
	if form == regs.FormTwoReduced {
		h = min(Log2Ceil(height), most-least)
		return min(max(Log2Ceil(width), least), most-h), h
	}
	w = min(max(Log2Ceil(width), least), most)
	return w, min(Log2Ceil(height), most-w)
}

// NarrowPlanarPatch halves the columns of the patch of planar task t, so that its sources need room
// for fewer columns in L2. It reports false if the patch has 16 columns, the fewest seen.
func NarrowPlanarPatch(t *Task) bool {
	p := t.g.Common.PlanarPatch
	if p.Log2W() <= 4 {
		return false
	}
	t.SetPatch(PlanarPatch(p.Log2W()-1, p.Log2H()))
	return true
}

// SetTileHeight makes the task compute its result in tiles of the given number of rows.
func (t *registers) SetTileHeight(rows int) {
	t.g.Common.TileCfg = t.g.Common.TileCfg.WithTileHeight(uint32(rows))
}

// OnePatchPerTile divides the result of t into tiles that are at most one patch high. A patch is
// the block of pixels that the engine computes at the same time.
func OnePatchPerTile(t *Task) {
	high := t.g.Common.Cfg.ShMax()
	if t.Planar() {
		high = t.g.Common.PlanarPatch.Log2H()
	}
	t.SetTileHeight(min(t.TileHeight(), 1<<high))
}

// SlicedPatch returns the patch of a MAC copy of a tensor of shape s. It differs from the usual
// patch only if the width exceeds 128 and is not a multiple of 128. The engine may then choose
// patches of up to 16 rows, or the height of s rounded up to a power of two if that is less (seen
// in 2 of 2 tasks).
func SlicedPatch(s regs.Shape) Patch {
	return func(t *Task) {
		if s.Width > place.SliceColumns && s.Width%place.SliceColumns != 0 {
			c := &t.g.Common
			c.Cfg = c.Cfg.WithShMax(min(4, Log2Ceil(s.Height)))
		}
	}
}

// FoldedPatch sets the patch of a planar task whose source is one long row, stored as four shorter
// rows. The patch covers the same pixels as the usual patch of the long row (seen in 5 of 5 tasks).
func FoldedPatch(t *Task) {
	w, _ := planarPatchLog2(regs.FormConstant, t.InShape().Width*place.FoldRows, 1)
	t.SetPatch(PlanarPatch(w-place.FoldLog2, place.FoldLog2))
}

// setRingPatch sets the patch and the tile height of a task that passes its result through a ring,
// a small buffer in L2 that the next task empties while this task fills it.
func setRingPatch(t *Task) {
	if t.Planar() {
		t.SetPatch(PlanarPatch(RingLog2, RingLog2))
	} else {
		t.SetPatch(FixedPatch(RingLog2))
	}
	t.SetTileHeight(RingRows)
}

// WidePatch returns the patch of a planar task whose rows have the given number of columns: one row
// of 512 columns if there are more than 256, and otherwise the usual patch.
func WidePatch(width int) Patch {
	return func(t *Task) {
		if width > 256 {
			t.SetPatch(PlanarPatch(9, 0))
		}
	}
}

// smallHeight is the least height of a block that matmuls read in the small source mode.
const smallHeight = 8

// setBlockPatch sets the patch of a matmul that reads blocks of the given height, in rows of eight
// pixels. Blocks of fewer than 8 rows have a patch of their own height, rounded down to a power of
// two; others keep the usual patch (seen in 4 of 4 tasks, with 2, 4, 8 and 64 rows).
func setBlockPatch(c *regs.Common, height int) {
	if height >= smallHeight {
		return
	}
	sh := uint32(bits.Len(uint(height)) - 1)
	c.Cfg = c.Cfg.WithSmallSourceMode(false).WithShPref(sh).WithShMin(sh).WithShMax(sh)
}

// BlockFetch returns how the engines read the source of a matmul that works on blocks. A block has
// eight columns and the given height in rows.
func BlockFetch(height int) place.Fetch {
	if height >= smallHeight {
		return place.SmallFetch
	}
	units := place.UnitBytes >> (bits.Len(uint(height)) - 1)
	return place.Fetch{Rows: 8 / units, Stride: 1, Apart: units + 1}
}
