package task

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/place"
)

// A convolution whose source does not fit the L2 whole takes it in tiles of rows, or, where
// a window of several rows would read some of them twice, in columns over the whole height:
// so many side by side as fit beside the result, of which 32 stand there, the 64 bytes that
// the DMA writes at once. A patch is a few columns of them.
//
//	        56 columns           32
//	source |##########|    |   result |####|####|
//	       |##########| -> |          |####|    |   64 rows
//	       |##########|    |          |####|    |
//
// Read from the two tasks that do so among six of a source of 2 MiB. The four others are
// of 62 columns (two), of 64 channels at stride 2, and of so many channels that what two
// patches read does not fit beside the result.

// columnTile is how many columns a DMA writes at once.
const columnTile = 32

// columnPatches is log2 of how many times as high as the usual patch that of a tile of
// columns is (2/2).
const columnPatches = 2

// TakeColumns makes a convolution take its source in columns in a scratchpad of l2 bytes, and
// returns where the source and the result are in the L2. It reports false where that is not what
// the compiler does.
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
	// Rows of a patch that are written together do not meet in a bank; no halo is beside
	// them (2/2).
	units := place.UnitBytes >> high
	result = place.PackedColumns(regs.Shape{Channels: out.Channels, Width: out.Width}, columnTile).Skew(1, place.Fetch{Rows: 8 / units, Apart: units})
	least := (2*PatchPixels>>high-1)*w.Sx + w.Kw // what two patches read
	room := l2 - result.Row*out.Height
	for columns := room / in.Height / in.Channels / place.UnitBytes * (place.UnitBytes / layer.ElementBytes); columns >= least; columns -= place.UnitBytes / layer.ElementBytes {
		source = place.PackedColumns(in, min(columns, in.Width)).Skew(w.Sy, engineFetches(c)...)
		if source.Row*in.Height <= room {
			return source, result.WithBase(source.Row * in.Height), true
		}
	}
	*c = saved
	return source, result, false
}
