package task

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// setOutputGroups sets OCGSize, log2 of the channels that an engine computes in one pass. It is
// at most 4, or 5 if the source is small, and 0 if every channel is convolved on its own (seen in
// 104 of 104 tasks; the value 5 is known only from the layout of weights).
func setOutputGroups(c *regs.Common, channels int, unicast bool) {
	if unicast || channels <= Engines {
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
// Results of up to 8 columns use the small source mode. For wider ones ShMax is 7 - log2 of the
// columns (seen in 95 of 96 tasks), and 0 for a single row. A long reduction fixes the height,
// unless every channel is convolved on its own.
func setDensePatch(c *regs.Common, out regs.Shape, unicast bool, w *layer.Window) {
	if out.Width <= 8 {
		c.Cfg = c.Cfg.WithSmallSourceMode(true).WithShPref(4).WithShMin(4).WithShMax(4)
		return
	}
	top := uint32(0)
	if out.Height > 1 {
		top = 7 - min(7, Log2Ceil(out.Width))
	}
	c.Cfg = c.Cfg.WithShMax(top)
	if !unicast && isLongReduction(c, out.Width, out.Channels, w) {
		c.Cfg = c.Cfg.WithShMin(top).WithShPref(top)
	}
}

// isLongReduction reports whether a reduction is long enough to fix the patch height of a result
// with the given columns and channels (right for 81 of 84 tasks). Any threshold from 289 to 512
// would fit up to 32 columns, and any from 576 to 2304 above. Results of up to 64 channels do not
// fix it if they have a stride or more than 32 columns (seen in 6 of 6 tasks).
func isLongReduction(c *regs.Common, columns, channels int, w *layer.Window) bool {
	long := 512
	if columns > 32 {
		long = 1024
	}
	few := channels <= 64 && (max(w.Sy, w.Sx) > 1 || columns > 32)
	return !few && int(c.Cin.Cin())*w.Kh*w.Kw >= long
}

// setPassPatch sets the patch of a task that passes its source through. Its log2 is 7 - log2 of
// the columns, but no higher than the source and at most 4 (seen in 44 of 52 tasks). At up to 8
// columns a log2 of 4 is fixed (seen in 6 of 6 tasks). A single row keeps 0.
func setPassPatch(c *regs.Common, out regs.Shape) {
	if out.Height == 1 {
		return
	}
	top := min(7-min(7, Log2Ceil(out.Width)), 4, uint32(bits.Len(uint(out.Height))-1))
	c.Cfg = c.Cfg.WithShMax(top)
	if top == 4 && out.Width <= 8 {
		c.Cfg = c.Cfg.WithShMin(4).WithShPref(4)
	}
}

// A Patch sets how a task divides its result: the pixels of a patch, or the rows of a tile. A new
// task has the patch that fits its computation, and [Task.SetPatch] replaces it.
type Patch func(t *Task)

// SetPatch applies p to the task.
func (t *Task) SetPatch(p Patch) { p(t) }

// KeptPatch returns the patch of a pass-through or maximum whose source has shape s and is read
// by a planar task later. It is fixed, and twice as high as the usual patch if the source is
// lower than the patch (seen in 6 of 6 tasks). Sources of one row keep the usual patch.
func KeptPatch(s regs.Shape) Patch {
	return func(t *Task) {
		if s.Height > 1 {
			t.SetPatch(FixedPatch(min(7-min(7, Log2Ceil(s.Width)), 4, uint32(bits.Len(uint(s.Height))))))
		}
	}
}

// LinkedPatchLog2 returns log2 of the patch height for a planar task over shape s and the task
// that reads its tiles while they are produced (seen in 14 of 15 tasks).
func LinkedPatchLog2(s regs.Shape) uint32 {
	if s.Height > 1 {
		return 4
	}
	return 7 - min(7, Log2Ceil(s.Width))
}

// FixedPatch returns a patch of exactly 1<<sh rows for a task on the MAC engines.
func FixedPatch(sh uint32) Patch {
	return func(t *Task) {
		c := &t.g.Common
		c.Cfg = c.Cfg.WithShMax(sh).WithShMin(sh).WithShPref(sh)
	}
}

// LinkedPatch returns the patch of a planar task whose result the next task reads tile by tile
// while it is produced. It matches the next task's patches of 1<<sh rows (seen in 15 of 15
// tasks).
func LinkedPatch(sh uint32) Patch { return PlanarPatch(max(4, 7-sh), sh) }

// PlanarPatch returns a patch of 1<<w columns and 1<<h rows for the planar engine.
func PlanarPatch(w, h uint32) Patch {
	return func(t *Task) {
		c := &t.g.Common
		c.PlanarPatch = c.PlanarPatch.WithLog2W(w).WithLog2H(h)
	}
}

// SetTileHeight sets how many rows of the result the task computes per tile.
func (t *registers) SetTileHeight(rows int) {
	t.g.Common.TileCfg = t.g.Common.TileCfg.WithTileHeight(uint32(rows))
}

// OnePatchPerTile limits a task's tiles to the height of one patch.
func OnePatchPerTile(t *Task) {
	high := t.g.Common.Cfg.ShMax()
	if t.Planar() {
		high = t.g.Common.PlanarPatch.Log2H()
	}
	if rows := 1 << high; rows < t.TileHeight() {
		t.SetTileHeight(rows)
	}
}

// SlicedPatch returns the patch of a copy of shape s. It is the highest possible one if the rows
// are wider than 128 columns and not a multiple of 128 (seen in 2 of 2 tasks), and the usual one
// otherwise.
func SlicedPatch(s regs.Shape) Patch {
	return func(t *Task) {
		if s.Width > place.SliceColumns && s.Width%place.SliceColumns != 0 && s.Height > 1 {
			c := &t.g.Common
			c.Cfg = c.Cfg.WithShMax(min(4, Log2Ceil(s.Height)))
		}
	}
}

// FoldedPatch gives a planar task over a folded row the patch of the unfolded row, folded in the
// same way (seen in 5 of 5 tasks).
func FoldedPatch(t *Task) {
	w, _ := planarPatchLog2(regs.FormConstant, t.InShape().Width*place.FoldRows, 1)
	t.SetPatch(PlanarPatch(w-place.FoldLog2, place.FoldLog2))
}

// ringPatch gives a task the patch and the tile height of a ring.
func ringPatch(t *Task) {
	if t.Planar() {
		t.SetPatch(PlanarPatch(RingLog2, RingLog2))
	} else {
		t.SetPatch(FixedPatch(RingLog2))
	}
	t.SetTileHeight(RingRows)
}

// WidePatch returns the patch of a planar task over rows of the given width: 512 columns if they
// are wider than 256, and the usual patch otherwise.
func WidePatch(width int) Patch {
	return func(t *Task) {
		if width > 256 {
			t.SetPatch(PlanarPatch(9, 0))
		}
	}
}

// smallHeight is the least height of a block that matmuls read in the small source mode.
const smallHeight = 8

// setBlockPatch sets the patch of a matmul over blocks. Blocks that are too low for the small
// source mode have a patch of their own height (seen in 4 of 4 tasks: 2 and 4 rows have fixed
// patches, 8 rows are like 64).
func setBlockPatch(c *regs.Common, height int) {
	if height >= smallHeight {
		return
	}
	sh := uint32(bits.Len(uint(height)) - 1)
	c.Cfg = c.Cfg.WithSmallSourceMode(false).WithShPref(sh).WithShMin(sh).WithShMax(sh)
}

// BlockFetch returns how a matmul reads blocks of the given height.
func BlockFetch(height int) place.Fetch {
	if height >= smallHeight {
		return place.SmallFetch
	}
	units := place.UnitBytes >> (bits.Len(uint(height)) - 1)
	return place.Fetch{Rows: 8 / units, Stride: 1, Apart: units + 1}
}
