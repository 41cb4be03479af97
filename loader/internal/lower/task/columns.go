package task

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/layer"
)

// A convolution whose source does not fit the L2 loads it in tiles of rows. If its window has
// several rows, such tiles would load some rows twice; the convolution then loads columns over
// the whole height instead. It takes as many columns as fit in the L2 together with the result,
// which is written 32 columns at a time, the 64 bytes of one DMA write. A patch is a few columns
// wide.
//
//	        56 columns           32
//	source |##########|    |   result |####|####|
//	       |##########| -> |          |####|    |   64 rows
//	       |##########|    |          |####|    |
//
// These rules follow from the two tasks that do so, among six with a source of 2 MiB. The other
// four do not: two have 62 columns, one has 64 channels at stride 2, and in one the input of two
// patches does not fit next to the result.

// columnTile is how many columns of fp16 values a DMA writes at once.
const columnTile = 32

// columnPatches is log2 of the height of a patch in such a task, relative to the usual patch
// (seen in 2 of 2 tasks).
const columnPatches = 2

// TakeColumns makes convolution t load its source in slices of columns over the whole height,
// rather than in tiles of rows, and returns the layouts of source and result in L2. w is the
// window, and l2 is the size of L2 in bytes. If Apple's compiler would not load columns, ok is
// false and t is unchanged.
func TakeColumns(t *Task, w *layer.Window, l2 int) (source, result place.Layout, ok bool) {
	c := &t.g.Common
	in, out := t.g.InShape(), t.g.OutShape()
	if in.Groups > 1 || c.GroupConvCfg.UnicastEn() || w.Kh <= w.Sy || in.Width > place.SliceColumns || out.Width%columnTile != 0 ||
		!isLongReduction(c, columnTile, out.Channels, w) {
		return source, result, false
	}
	saved := *c
	high := min(4, columnPatches+7-min(7, Log2Ceil(out.Width)))
	t.SetPatch(FixedPatch(high))
	// Rows of a patch that are written together must not share a bank; there is no halo next to
	// them (seen in 2 of 2 tasks).
	units := place.UnitBytes >> high
	result = place.PackedColumns(regs.Shape{Channels: out.Channels, Width: out.Width}, columnTile).Skew(place.Fetch{Rows: 8 / units, Stride: 1, Apart: units})
	least := (2*PatchPixels>>high-1)*w.Sx + w.Kw // columns that two patches read
	room := l2 - result.Row*out.Height
	const unit = place.UnitBytes / layer.ElementBytes
	for columns := layer.RoundUp(in.Width, unit); columns >= least; columns -= unit {
		source = place.PackedColumns(in, min(columns, in.Width)).Skew(sourceFetches(c)...)
		if source.Row*in.Height <= room {
			return source, result.Rebase(source.Row * in.Height), true
		}
	}
	*c = saved
	return source, result, false
}
