package task

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/lower/place"
)

// engineFetches returns how a task on the MAC engines reads its source: one fetch for each patch
// height it may use, with 1<<sh rows of 128>>sh pixels. Patches that are wider than the output are
// only used if they are the highest. The rule holds for 111 of 114 tasks with convolutions, matmuls
// or the small source mode, and for 303 of 317 tasks of all kinds.
func engineFetches(c *regs.Common) []place.Fetch {
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

// TileFetches returns the accesses that must be free of bank conflicts in a tile that stays in the
// L2 between tasks. readers are the tasks that read the tile row by row; planar says whether the
// planar engine reads or writes it. Every tile is laid out for the planar engine (seen in 107 of 108
// tiles that the planar engine accesses and in 10 of 13 others) and for its readers on the MAC
// engines.
//
// In tiles of up to 8 columns only a multiply-accumulate counts as a reader, and only if the planar
// engine does not access the tile. Programs have no tile of 9 to 63 columns that one task on the MAC
// engines reads and another task writes. That every reader of such a tile counts is inferred from
// the tiles that a DMA loads (the rule holds for 303 of 317).
func TileFetches(planar bool, readers []*Task) []place.Fetch {
	list := []place.Fetch{place.PlanarFetch}
	for _, t := range readers {
		narrow := t.InShape().Width <= 8
		if t.Planar() || narrow && (planar || t.IsPassThrough()) {
			continue
		}
		list = append(list, engineFetches(&t.g.Common)...)
	}
	return list
}

// SourceTile returns the layout of the first source in the L2 if the DMA loads it. On the MAC
// engines a single row of several pixels has no skew (seen in 90 of 93 tasks).
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
	return l.Skew(engineFetches(c)...)
}

// PlanarTile returns the layout of a source of a planar task in the L2.
func (t *Task) PlanarTile() place.Layout {
	if s := t.g.InShape(); s.Height == 1 && s.Width > 1 {
		return t.PackedPlanarTile()
	}
	return t.SkewedPlanarTile()
}

// KeptTile returns the layout of a planar task's source that stays in the L2 for later tasks. It
// holds whole rows, whereas a source for one task holds only the columns of a patch. This is
// inferred from a program in which three tasks each load 375 rows of 1024 and their tile has room
// for 512 columns.
func (t *Task) KeptTile() place.Layout {
	s := t.g.InShape()
	l := place.Packed(s)
	l.Group *= max(1, int(t.g.Common.InDepth.Din()))
	l.Row = l.Group
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skew(place.PlanarFetch)
}

// PackedPlanarTile returns the layout of a planar task's source without a skew. A row has as many
// columns as a patch (seen in 81 of 83 tasks).
func (t *Task) PackedPlanarTile() place.Layout {
	c := &t.g.Common
	s := t.g.InShape()
	l := place.PackedColumns(s, min(s.Width, 1<<c.PlanarPatch.Log2W()))
	l.Group *= max(1, int(c.InDepth.Din()))
	l.Row = l.Group
	return l
}

// SkewedPlanarTile returns a skewed layout for a planar source of any height. The source of a
// reduction with no other reader is skewed even when it has one row (seen in 5 of 5 programs).
func (t *Task) SkewedPlanarTile() place.Layout {
	return t.PackedPlanarTile().Skew(place.PlanarFetch)
}

// planarPatchLog2 returns log2 of the width and height of the planar engine's patch. A patch has
// at most 256 pixels, or 512 in forms 4 and 5 and in form 6 if the source is at least 512 wide
// (seen in 140 of 145 tasks). Form 6 fills rows before columns (seen in 2 of 2 tasks).
func planarPatchLog2(form regs.PlanarForm, width, height int) (w, h uint32) {
	most := uint32(8)
	if form == regs.FormBiasScale || form == regs.FormReduction || form == regs.FormTwoReduced && width >= 512 {
		most = 9
	}
	const least = 4
	if form == regs.FormTwoReduced {
		h = min(Log2Ceil(height), most-least)
		return min(max(Log2Ceil(width), least), most-h), h
	}
	w = min(max(Log2Ceil(width), least), most)
	return w, min(Log2Ceil(height), most-w)
}

// Overlaps reports whether two tiles share bytes of the L2. A nil tile overlaps with nothing.
func (t *Tile) Overlaps(u *Tile) bool {
	if t == nil || u == nil {
		return false
	}
	return t.At.Base < u.At.Base+max(u.Bytes, 1) && u.At.Base < t.At.Base+max(t.Bytes, 1)
}
