package task

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
)

// sourceFetches returns how a MAC task reads its source: one fetch for each height of a patch that
// the task may use. A patch has 1<<sh rows of 128>>sh pixels. A patch that is wider than the output
// counts only if it is the highest. The rule holds for 111 of 114 convolutions, matmuls and tasks
// in the small source mode, and for 303 of 317 tasks of all kinds.
func sourceFetches(c *regs.Common) []place.Fetch {
	cfg, stride := c.Cfg, max(1, int(c.ConvCfg.Sy()))
	if cfg.SmallSourceMode() {
		small := place.SmallFetch
		small.Stride = stride
		return []place.Fetch{small}
	}
	top := min(int(cfg.ShMax()), bits.Len32(c.InDim.Hin())-1)
	var list []place.Fetch
	for sh := int(cfg.ShMin()); sh <= top; sh++ {
		if sh < top && PatchPixels>>sh > 1<<Log2Ceil(int(c.OutDim.Wout())) {
			continue
		}
		units := place.UnitBytes >> sh
		if rows := 8 / max(1, units); rows > 1 {
			list = append(list, place.Fetch{Rows: rows, Stride: stride, Apart: units + 1})
		}
	}
	return list
}

// TileFetches returns the accesses that must be free of bank conflicts in a tile that stays in L2
// between tasks. readers lists the tasks that read the tile row by row. planar says whether the
// planar engine reads or writes the tile.
//
// The result includes the accesses of the planar engine (seen in 107 of 108 tiles that it accesses,
// and in 10 of 13 others) and of the readers on the MAC engines. For a tile of up to 8 columns,
// only multiply-accumulate tasks count as readers, and only if the planar engine does not access
// the tile.
//
// In no program does a MAC task pass a tile of 9 to 63 columns to another MAC task. The rule for
// such tiles is inferred from tiles that a DMA loads (right for 303 of 317).
func TileFetches(planar bool, readers []*Task) []place.Fetch {
	list := []place.Fetch{place.PlanarFetch}
	for _, t := range readers {
		narrow := t.InShape().Width <= 8
		if t.Planar() || narrow && (planar || t.IsPassThrough()) {
			continue
		}
		list = append(list, sourceFetches(&t.g.Common)...)
	}
	return list
}

// SourceTile returns the layout in L2 of the task's first source if it is loaded from memory. Rows
// get extra bytes to avoid bank conflicts, except for a single row of several pixels (seen in 90 of
// 93 tasks of the MAC engines).
func (t *Task) SourceTile() place.Layout {
	if t.Planar() {
		return t.PlanarTile()
	}
	c := &t.g.Common
	s := t.g.InShape()
	l := place.PackedColumns(s, place.EngineColumns(s.Width))
	if t.columns > 0 {
		l = place.PackedColumns(s, min(s.Width, t.columns))
	}
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skew(sourceFetches(c)...)
}

// PlanarTile returns the layout in L2 of a source that a planar task loads. Rows get extra bytes to
// avoid bank conflicts, except for a single row of several pixels.
func (t *Task) PlanarTile() place.Layout {
	if s := t.g.InShape(); s.Height == 1 && s.Width > 1 {
		return t.PackedPlanarTile()
	}
	return t.SkewedPlanarTile()
}

// KeptTile returns the layout in L2 of a source that later tasks read too. The layout holds whole
// rows (seen in the convolution of a row of 375 pixels in four tasks). A source that only one task
// reads needs only the columns of one patch, a block of pixels, on the planar engine, and those of a
// slice on the MAC engines. For the planar engine the difference is inferred from a program in which
// three tasks each load 375 rows of 1024 columns, with room for only 512 columns in L2.
func (t *Task) KeptTile() place.Layout {
	s := t.g.InShape()
	l := place.Packed(s)
	if !t.Planar() {
		if s.Height == 1 && s.Width > 1 {
			return l
		}
		return l.Skew(sourceFetches(&t.g.Common)...)
	}
	l.Group *= max(1, int(t.g.Common.InDepth.Din()))
	l.Row = l.Group
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skew(place.PlanarFetch)
}

// PackedPlanarTile returns the layout in L2 of a planar task's source, with no extra bytes between
// rows. Each row has room for the columns of one patch, the block of pixels that the engine
// computes at a time (seen in 81 of 83 tasks).
func (t *Task) PackedPlanarTile() place.Layout {
	c := &t.g.Common
	s := t.g.InShape()
	l := place.PackedColumns(s, min(s.Width, 1<<c.PlanarPatch.Log2W()))
	l.Group *= max(1, int(c.InDepth.Din()))
	l.Row = l.Group
	return l
}

// SkewedPlanarTile returns the layout of [Task.PackedPlanarTile], but with longer rows, which avoid
// bank conflicts among the rows of a patch, up to four. A patch of one row in a tile of several has
// none (seen in 1 of 1 tasks of 256 columns; a patch of 32 rows of 512 columns is skewed). The
// compiler also uses it for the reduction of a single row that no other task reads (seen in 5 of 5
// programs).
func (t *Task) SkewedPlanarTile() place.Layout {
	fetch := place.PlanarFetch
	if t.g.InShape().Height > 1 {
		fetch.Rows = min(fetch.Rows, 1<<t.g.Common.PlanarPatch.Log2H())
	}
	return t.PackedPlanarTile().Skew(fetch)
}

// Overlaps reports whether two tiles share any byte of L2. It reports false if either tile is nil.
func (t *Tile) Overlaps(u *Tile) bool {
	if t == nil || u == nil {
		return false
	}
	return t.At.Base < u.At.Base+max(u.Bytes, 1) && u.At.Base < t.At.Base+max(t.Bytes, 1)
}
