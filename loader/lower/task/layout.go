package task

import (
	"cmp"
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A Layout places a tile in the L2, in bytes: [row][channel][x].
type Layout struct {
	Base, Channel, Row, Depth, Group int
}

// Moved is the layout at another base.
func (l Layout) Moved(base int) Layout {
	l.Base = base
	return l
}

// Packed is the layout of s without a skew between rows, columns whole.
func Packed(s regs.Shape) Layout { return PackedColumns(s, s.Width) }

// PackedColumns is packed with so many columns of a channel side by side.
func PackedColumns(s regs.Shape, columns int) Layout {
	channel := layer.RoundUp(columns*layer.ElementBytes, UnitBytes)
	row := channel * s.Channels
	return Layout{Channel: channel, Row: row, Depth: row, Group: row}
}

// The L2 is 64 banks of 16 bytes (inferred from the row strides below).
const (
	UnitBytes = 16
	banks     = 64
)

// A Fetch is what a reader takes of a tile at a time: so many rows, whose first units
// must stand so many banks apart. R rows of n units are the 8 units of 128 bytes, and a
// unit more is room for the window's halo.
type Fetch struct{ Rows, Apart int }

// Fetches of the readers and writers of a tile.
var (
	// planarFetch: the planar engine reads or writes it, also where the MAC engines read
	// it too (107/108, 8/8 read afterwards).
	PlanarFetch = Fetch{4, 2}
	// transposeFetch: written with channel and x transposed (9/10).
	TransposeFetch = Fetch{16, 2}
	// smallFetch: the small source mode of the MAC engines.
	smallFetch = Fetch{4, 3}
)

// engineFetches are those of a task on the MAC engines: one for each height of a patch
// that it may take, of 1<<sh rows by 128>>sh pixels. Patches below the highest that are
// wider than the output are not taken. (Small source mode, convolutions and products
// together 111/114; all tasks 303/317.)
func engineFetches(c *regs.Common) []Fetch {
	cfg := c.Cfg
	if cfg.SmallSourceMode() {
		return []Fetch{smallFetch}
	}
	top := min(int(cfg.ShMax()), bits.Len32(c.InDim.Hin())-1)
	var list []Fetch
	for sh := int(cfg.ShMin()); sh <= top; sh++ {
		if sh < top && PatchPixels>>sh > 1<<Log2Ceil(int(c.OutDim.Wout())) {
			continue
		}
		units := UnitBytes >> sh
		if rows := 8 / max(1, units); rows > 1 {
			list = append(list, Fetch{rows, units + 1})
		}
	}
	return list
}

// Skewed makes rows long enough that the rows of every fetch, stride rows apart, do not
// meet in a bank: the smallest u at or above the row's units with d*stride*u mod 64 >=
// apart for d = 1 ... rows-1. What is asked is one-sided: a row may end in the banks
// where an earlier one begins.
//
//	row 0: | c0 c1 c2 ...            |skew|
//	row 1:      | c0 c1 c2 ...            |skew|
func (l Layout) Skewed(stride int, fetches ...Fetch) Layout {
	meet := func(u int) bool {
		for _, f := range fetches {
			for d := 1; d < f.Rows; d++ {
				if d*stride*u%banks < f.Apart {
					return true
				}
			}
		}
		return false
	}
	base := l.Group / UnitBytes
	for u := base; u < base+banks; u++ {
		if !meet(u) {
			l.Row = u * UnitBytes
			return l
		}
	}
	return l
}

// EngineColumns is how many columns of a source of the MAC engines stand side by side:
// wider ones run in slices of 128 (156/160).
func EngineColumns(width int) int { return min(width, SliceColumns) }

const SliceColumns = 128

// SourceTile is the layout of the first source of a task on the MAC engines or the
// planar engine, loaded by DMA. A single row of several pixels has no skew (90/93), on
// the MAC engines but in small source mode.
func (t *Task) SourceTile() Layout {
	if t.Planar() {
		return t.PlanarTile()
	}
	c := &t.g.Common
	s := t.g.InShape()
	l := PackedColumns(s, EngineColumns(s.Width))
	if t.columns > 0 {
		l = PackedColumns(s, min(s.Width, t.columns))
	}
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skewed(max(1, int(c.ConvCfg.Sy())), engineFetches(c)...)
}

// PlanarTile is the layout of a source of a planar task.
func (t *Task) PlanarTile() Layout {
	if s := t.g.InShape(); s.Height == 1 && s.Width > 1 {
		return t.PlanarColumns()
	}
	return t.SkewedPlanar()
}

// KeptTile is planarTile of a source that later tasks read in the L2: whole rows, where a
// source that comes and goes has the columns of a patch (inferred: 375 rows of 1024 are read
// from memory by each of three tasks, and their tile has room for 512 columns).
func (t *Task) KeptTile() Layout {
	s := t.g.InShape()
	l := Packed(s)
	l.Group *= max(1, int(t.g.Common.InDepth.Din()))
	l.Row = l.Group
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.Skewed(1, PlanarFetch)
}

// PlanarColumns is the layout of a planar task's source without a skew: the columns of
// its patch side by side (81/83).
func (t *Task) PlanarColumns() Layout {
	c := &t.g.Common
	s := t.g.InShape()
	l := PackedColumns(s, min(s.Width, 1<<c.PlanarPatch.Log2W()))
	l.Group *= max(1, int(c.InDepth.Din()))
	l.Row = l.Group
	return l
}

// SkewedPlanar is the layout of a planar source with a skew whatever its height: that of
// a reduction which nothing else reads has one even in a single row (5/5).
func (t *Task) SkewedPlanar() Layout { return t.PlanarColumns().Skewed(1, PlanarFetch) }

// ResultTile is the layout of a result of shape s that the planar engine reads next.
func (t *Task) ResultTile(s regs.Shape) Layout {
	l := Packed(s)
	if s.Height == 1 {
		return l
	}
	return l.Skewed(1, PlanarFetch)
}

// planarPatch is log2 of the planar engine's patch: at most 256 pixels, 512 of forms 4
// and 5 and of form 6 from that width on (140/145). Form 6 takes rows before columns
// (2/2).
func planarPatch(form regs.PlanarForm, width, height int) (w, h uint32) {
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

// Surface is a tensor in memory: rows padded to 64 bytes, planes of rows, one element
// of the batch behind the other. A group is a part of the channels when groups divide
// them, else an element of the batch.
func Surface(bar uint32, s layer.Shape) Memory {
	row := max(64, layer.RoundUp(s.W*layer.ElementBytes, 64))
	plane := row * s.H
	depth := plane * s.C
	return Memory{Bar: bar, Row: row, Plane: plane, Depth: depth, Group: depth}
}

// Matrix is a rows x columns matrix in memory as the engine reads it: a channel a row.
func Matrix(bar uint32, rows, columns int) Memory {
	plane := max(64, layer.RoundUp(columns*layer.ElementBytes, 64))
	depth := plane * rows
	return Memory{Bar: bar, Row: depth, Plane: plane, Depth: depth, Group: depth}
}

// overlaps reports whether two tiles share memory in the L2.
func (t *Tile) overlaps(u *Tile) bool {
	if t == nil || u == nil {
		return false
	}
	return t.At.Base < u.At.Base+max(u.Bytes, 1) && u.At.Base < t.At.Base+max(t.Bytes, 1)
}

// TransposeSource is the layout of the tile a transpose reads: pieces of at most 128
// pixels (7/7).
func TransposeSource(m, k int) Layout {
	return Packed(regs.Shape{Channels: m, Width: min(k, 128)})
}

// Of gives strides of axes that are one long what a packed tile has, and reports whether all
// are such as the L2 takes.
func (at Layout) Of(planes, rows, width int) (Layout, bool) {
	if planes <= 1 {
		at.Channel = cmp.Or(at.Channel, layer.RoundUp(width*layer.ElementBytes, 16))
	}
	if at.Row == 0 && rows <= 1 {
		at.Row = at.Channel * max(1, planes)
	}
	at.Depth = at.Channel * max(1, planes)
	ok := true
	for _, n := range [...]int{at.Channel, at.Row, at.Group} {
		ok = ok && n < layer.MaxL2 && n%16 == 0
	}
	return at, ok
}

// SecondBase is where the second tile stands behind a first of n bytes: at a multiple of
// 64, but not in the bank where the first begins, of 64 banks of 16 bytes (8/8).
func SecondBase(n int) int {
	n = layer.RoundUp(n, 64)
	if n%0x400 == 0 {
		n += 64
	}
	return n
}
