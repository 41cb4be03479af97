package family

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// placeLargeSource returns the layout in L2 of a source that does not fit there as a whole, and how
// many of its rows L2 holds at a time. It sets the patch and the tile height of t. If the result
// needs a tile of its own, result is its layout; otherwise it is zero.
func placeLargeSource(l *layer.Layer, t *task.Task, src regs.Shape, out layer.Shape, w *layer.Window) (at, result place.Layout, rows int) {
	if at, result, ok := task.TakeColumns(t, w, l.L2Bytes()); ok {
		return at, result, src.Height
	}
	at = t.SourceTile()
	rows, tile := TileHeight(l, src, out, w, &at, t.HasFixedPatch())
	t.SetTileHeight(tile)
	return at, result, min(rows, src.Height)
}

// TileHeight returns how many source rows the task of layer l keeps in L2 at a time, and how many
// result rows (a tile) it computes from them. src and out are the shapes of source and result, w is
// the window, and *layout is the layout of the source in L2. TileHeight may remove the gaps between
// rows that *layout has to avoid bank conflicts.
//
// A source of at most [layer.Layer.LargestTile] bytes is loaded whole. For a larger one, a tile has
// as many patches as leave room for 256 pixels, or 16 rows, of each result channel. The gaps
// between rows are removed only if the tile then has more rows (seen in 11 of 11 programs, with the
// same height in 7 of 11).
//
// A source that is larger than LargestTile but fits in L2 is loaded one patch at a time if the
// window has one row, and in two halves if the window has several rows and no stride. If fixed is
// true, tiles are as high as possible instead of two halves, unless that needs more runs of 256
// pixels. This was seen for 5 of 5 sources of exactly 2 MiB. For smaller ones it is inferred.
func TileHeight(l *layer.Layer, src regs.Shape, out layer.Shape, w *layer.Window, layout *place.Layout, fixed bool) (rows, tile int) {
	if layout.Row*src.Height <= l.LargestTile() {
		return src.Height, out.H
	}
	patch := 1 << min(4, 7-min(7, task.Log2Ceil(out.W)))
	unit := 16
	if w.Sy == 1 && w.Sx == 1 && src.Channels != out.C || l.Op == layer.Convolution && !l.IsDepthwise() {
		unit = min(unit, max(1, 256/out.W))
	}
	room := l.L2Bytes() - unit*out.C*layer.RoundUp(out.W*layer.ElementBytes, place.UnitBytes)
	most := func(row int) int {
		n := (room/row - (w.Kh - 1)) / w.Sy
		if n > patch {
			n = n / patch * patch
		}
		return n
	}
	// Rows without gaps have bank conflicts, and are worth it only if the tile becomes higher.
	if tile = most(layout.Row); tile < most(layout.Depth) {
		layout.Row = layout.Depth
		tile = most(layout.Row)
	}
	if whole := layout.Depth*src.Height <= l.L2Bytes(); whole && w.Kh == 1 {
		tile = patch
	} else if whole && w.Sy == 1 {
		half := layer.RoundUp((out.H+1)/2, patch)
		runs := func(rows int) int { return (rows*out.W + 255) / 256 }
		if !fixed || tile < half || runs(tile)+runs(out.H-tile) > runs(half)+runs(out.H-half) {
			tile = half
		}
	}
	tile = min(max(tile, 1), out.H)
	// The first tile starts with padding, which needs no memory.
	return min(src.Height, layer.RoundUp((tile-1)*w.Sy+w.Kh-w.Py, w.Sy)), tile
}

// checkRowsFit returns a *layer.LimitError if L2 cannot hold kh rows of a source with layout at, the
// rows that one window covers. A source that is loaded once and read in patches needs room only for
// the columns of a slice or a patch; the layout says for how many.
func checkRowsFit(l *layer.Layer, at place.Layout, kh int) error {
	return layer.CheckLimit("size in bytes of the rows of one window in L2", at.Depth*kh, l.LargestTile(),
		"split the width or the input channels until they have at most %d bytes")
}

// usesStreamedPatch reports whether a task on a tensor of shape s streams it from memory in small
// patches. That is the case if the layer asks for the form of the 2023 compiler and the tensor does
// not fit in L2.
func usesStreamedPatch(l *layer.Layer, s regs.Shape) bool {
	return l.Release == layer.Release2023 && place.Packed(s).Row*s.Height > l.LargestTile()
}
