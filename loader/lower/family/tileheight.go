package family

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// tileSource returns where the source of a task is that does not fit the L2 whole, and how many
// of its rows are there at a time; result is zero if the result streams out.
func tileSource(l *layer.Layer, t *task.Task, src regs.Shape, out layer.Shape, w *layer.Window) (at, result place.Layout, rows int) {
	if at, result, ok := task.TakeColumns(t, w, l.L2Bytes()); ok {
		return at, result, src.Height
	}
	at = t.SourceTile()
	rows, tile := TileHeight(l, src, out, w, &at, t.HasFixedPatch())
	t.SetTileHeight(tile)
	return at, result, min(rows, src.Height)
}

// TileHeight returns how many source rows are in the L2 at a time and how many output rows they
// make. A source up to [layer.LargestTile] bytes stands there whole. A larger one comes in whole
// patches, as many as leave room for 256 pixels, or 16 rows, of every result channel; the skew
// stays unless it makes them fewer (11/11, of the heights 7/11). One that the L2 holds by itself,
// but not beside its result, comes a patch at a time for one row of taps. For several, without a
// stride, it comes in two halves, but as high as fits where the patch is fixed and that takes no
// more runs of 256 pixels (5/5, all of 2 MiB to the byte: that smaller ones which do not fit
// beside the result are such is inferred).
func TileHeight(l *layer.Layer, src regs.Shape, out layer.Shape, w *layer.Window, at *place.Layout, fixed bool) (rows, tile int) {
	if at.Row*src.Height <= l.LargestTile() {
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
	if tile = most(at.Row); tile < most(at.Depth) {
		at.Row = at.Depth
		tile = most(at.Row)
	}
	if whole := at.Depth*src.Height <= l.L2Bytes(); whole && w.Kh == 1 {
		tile = patch
	} else if whole && w.Sy == 1 {
		half := layer.RoundUp((out.H+1)/2, patch)
		runs := func(rows int) int { return (rows*out.W + 255) / 256 }
		if !fixed || tile < half || runs(tile)+runs(out.H-tile) > runs(half)+runs(out.H-half) {
			tile = half
		}
	}
	tile = min(max(tile, 1), out.H)
	// The first tile starts with the padding, which takes no memory.
	return min(src.Height, layer.RoundUp((tile-1)*w.Sy+w.Kh-w.Py, w.Sy)), tile
}

// checkTile refuses a source of which not even the rows of one window fit the L2.
func checkTile(l *layer.Layer, src regs.Shape, kh int) error {
	return layer.CheckLimit("bytes of one window's rows in the L2", place.Packed(src).Row*kh, l.LargestTile(),
		"split the width or the input channels until it is at most %d")
}

// beyondL2 reports whether a tensor takes the patches of the compiler of 2023.
func beyondL2(l *layer.Layer, s regs.Shape) bool {
	return l.Release == layer.Release2023 && place.Packed(s).Row*s.Height > l.LargestTile()
}
