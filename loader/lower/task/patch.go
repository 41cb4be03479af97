package task

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// outputGroups sets OCGSize: log2 of the channels an engine takes in one pass, at most
// 4, or 5 where the source is small; 0 for channels by themselves (104/104, the 5 from
// the coefficients' layout only).
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

// densePatch is the patch of a multiply-accumulate, 128 pixels, 1<<ShMax of them high and between
// ShMin and ShMax as the engines see fit unless the two are the same: the small source mode up to
// 8 columns, 7 - log2 of the columns above (95/96), 0 in a single row. A long reduction fixes it,
// unless every channel is convolved by itself.
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

// longReduction reports whether a reduction is long enough to fix the patch of a result of
// so many columns and channels (81/84; any threshold from 289 to 512 fits up to 32
// columns, above them one between 576 and 2304). Few channels at a stride, or of more than
// 32 columns, leave it open (6/6).
func isLongReduction(c *regs.Common, columns, channels int, w *layer.Window) bool {
	long := 512
	if columns > 32 {
		long = 1024
	}
	few := channels <= 64 && (max(w.Sy, w.Sx) > 1 || columns > 32)
	return !few && int(c.Cin.Cin())*w.Kh*w.Kw >= long
}

// passPatch is the patch of a task that passes its source through: 7 - log2 of the
// columns, but no higher than the source (44/52), and fixed where that is 4 at up to 8
// columns (6/6). Columns that are no whole patches of 128 take the highest (2/2, both
// copies without a table), a single row none.
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

// A Patch is how a task cuts its result: the pixels of a patch, or the rows that it makes at a
// time. What a task computes has a patch of its own; [Task.Cut] gives it another.
type Patch func(t *Task)

// Cut gives a task a patch.
func (t *Task) SetPatch(p Patch) { p(t) }

// KeptPatch is the patch of a pass-through or maximum whose source a planar task reads
// after it: a row higher than passPatch where the source is lower than the patch, and
// fixed (6/6).
func KeptPatch(s regs.Shape) Patch {
	return func(t *Task) {
		if s.Height > 1 {
			t.SetPatch(FixedPatch(min(7-min(7, Log2Ceil(s.Width)), 4, uint32(bits.Len(uint(s.Height))))))
		}
	}
}

// PassedFixed is log2 of the rows of a patch that a planar task hands over tile by tile
// (14/15).
func LinkedPatchLog2(s regs.Shape) uint32 {
	if s.Height > 1 {
		return 4
	}
	return 7 - min(7, Log2Ceil(s.Width))
}

// FixedPatch leaves a task on the MAC engines one patch, of 1<<sh rows.
func FixedPatch(sh uint32) Patch {
	return func(t *Task) {
		c := &t.g.Common
		c.Cfg = c.Cfg.WithShMax(sh).WithShMin(sh).WithShPref(sh)
	}
}

// HandedPatch makes a planar task's patch that of the next task, which takes its tiles one
// by one (15/15).
func LinkedPatch(sh uint32) Patch { return PlanarPatch(max(4, 7-sh), sh) }

// PlanarPatch is a patch of 1<<w columns and 1<<h rows on the planar engine.
func PlanarPatch(w, h uint32) Patch {
	return func(t *Task) {
		c := &t.g.Common
		c.PlanarPatch = c.PlanarPatch.WithLog2W(w).WithLog2H(h)
	}
}

// TileRows makes the task take so many rows of the result at a time.
func (t *registers) SetTileHeight(rows int) {
	t.g.Common.TileCfg = t.g.Common.TileCfg.WithTileHeight(uint32(rows))
}

// RowsByPatch takes the rows of one patch at a time.
func OnePatchPerTile(t *Task) {
	high := t.g.Common.Cfg.ShMax()
	if t.Planar() {
		high = t.g.Common.PlanarPatch.Log2H()
	}
	if rows := 1 << high; rows < t.TileHeight() {
		t.SetTileHeight(rows)
	}
}

// SlicedPatch lets a copy of rows that are no whole slices of 128 columns take the highest
// patch (2/2).
func SlicedPatch(s regs.Shape) Patch {
	return func(t *Task) {
		if s.Width > place.SliceColumns && s.Width%place.SliceColumns != 0 && s.Height > 1 {
			c := &t.g.Common
			c.Cfg = c.Cfg.WithShMax(min(4, Log2Ceil(s.Height)))
		}
	}
}

// FoldedPatch is the planar patch of a folded row: that of the row, folded (5/5).
func FoldedPatch(t *Task) {
	w, _ := planarPatchLog2(regs.FormConstant, t.InShape().Width*place.FoldRows, 1)
	t.SetPatch(PlanarPatch(w-place.FoldLog2, place.FoldLog2))
}

// ringPatch is the patch of a ring.
func ringPatch(t *Task) {
	if t.Planar() {
		t.SetPatch(PlanarPatch(RingLog2, RingLog2))
	} else {
		t.SetPatch(FixedPatch(RingLog2))
	}
	t.SetTileHeight(RingRows)
}

// WidePatch widens a planar task's patch to 512 columns where rows are wider than 256.
func WidePatch(width int) Patch {
	return func(t *Task) {
		if width > 256 {
			t.SetPatch(PlanarPatch(9, 0))
		}
	}
}

// smallHeight is the least height of a block that products read in the small source mode.
const smallHeight = 8

// blockPatch is the patch of a product of blocks: the block's height where that is less
// than the small source mode takes (111 for two rows, 222 for four; 8 as 64 rows, 4/4).
func setBlockPatch(c *regs.Common, height int) {
	if height >= smallHeight {
		return
	}
	sh := uint32(bits.Len(uint(height)) - 1)
	c.Cfg = c.Cfg.WithSmallSourceMode(false).WithShPref(sh).WithShMin(sh).WithShMax(sh)
}

// BlockFetch is how a product reads blocks of a height.
func BlockFetch(height int) place.Fetch {
	if height >= smallHeight {
		return place.SmallFetch
	}
	units := place.UnitBytes >> (bits.Len(uint(height)) - 1)
	return place.Fetch{Rows: 8 / units, Apart: units + 1}
}
