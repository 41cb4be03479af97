package task

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/lower/place"
)

// engineFetches are those of a task on the MAC engines: one for each height of a patch
// that it may take, of 1<<sh rows by 128>>sh pixels. Patches below the highest that are
// wider than the output are not taken. (Small source mode, convolutions and products
// together 111/114; all tasks 303/317.)
func engineFetches(c *regs.Common) []place.Fetch {
	cfg := c.Cfg
	if cfg.SmallSourceMode() {
		return []place.Fetch{place.SmallFetch}
	}
	top := min(int(cfg.ShMax()), bits.Len32(c.InDim.Hin())-1)
	var list []place.Fetch
	for sh := int(cfg.ShMin()); sh <= top; sh++ {
		if sh < top && PatchPixels>>sh > 1<<Log2Ceil(int(c.OutDim.Wout())) {
			continue
		}
		units := place.UnitBytes >> sh
		if rows := 8 / max(1, units); rows > 1 {
			list = append(list, place.Fetch{Rows: rows, Apart: units + 1})
		}
	}
	return list
}

// SourceTile is the layout of the first source of a task on the MAC engines or the
// planar engine, loaded by DMA. A single row of several pixels has no skew (90/93), on
// the MAC engines but in small source mode.
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
	return l.Skew(max(1, int(c.ConvCfg.Sy())), engineFetches(c)...)
}

// PlanarTile is the layout of a source of a planar task.
func (t *Task) PlanarTile() place.Layout {
	if s := t.g.InShape(); s.Height == 1 && s.Width > 1 {
		return t.PackedPlanarTile()
	}
	return t.SkewedPlanarTile()
}

// KeptTile is planarTile of a source that later tasks read in the L2: whole rows, where a
// source that comes and goes has the columns of a patch (inferred: 375 rows of 1024 are read
// from memory by each of three tasks, and their tile has room for 512 columns).
func (t *Task) KeptTile() place.Layout {
	s := t.g.InShape()
	l := place.Packed(s)
	l.Group *= max(1, int(t.g.Common.InDepth.Din()))
	l.Row = l.Group
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skew(1, place.PlanarFetch)
}

// PlanarColumns is the layout of a planar task's source without a skew: the columns of
// its patch side by side (81/83).
func (t *Task) PackedPlanarTile() place.Layout {
	c := &t.g.Common
	s := t.g.InShape()
	l := place.PackedColumns(s, min(s.Width, 1<<c.PlanarPatch.Log2W()))
	l.Group *= max(1, int(c.InDepth.Din()))
	l.Row = l.Group
	return l
}

// SkewedPlanar is the layout of a planar source with a skew whatever its height: that of
// a reduction which nothing else reads has one even in a single row (5/5).
func (t *Task) SkewedPlanarTile() place.Layout {
	return t.PackedPlanarTile().Skew(1, place.PlanarFetch)
}

// planarPatch is log2 of the planar engine's patch: at most 256 pixels, 512 of forms 4
// and 5 and of form 6 from that width on (140/145). Form 6 takes rows before columns
// (2/2).
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

// Overlaps reports whether two tiles share memory in the L2.
func (t *Tile) Overlaps(u *Tile) bool {
	if t == nil || u == nil {
		return false
	}
	return t.At.Base < u.At.Base+max(u.Bytes, 1) && u.At.Base < t.At.Base+max(t.Bytes, 1)
}
