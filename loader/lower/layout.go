package lower

import (
	"math/bits"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A layout places a tile in the L2, in bytes: [row][channel][x].
type layout struct {
	base, channel, row, depth, group int
}

func (l layout) moved(base int) layout {
	l.base = base
	return l
}

// packed is the layout of s without a skew between rows, columns whole.
func packed(s regs.Shape) layout { return packedColumns(s, s.Width) }

// packedColumns is packed with so many columns of a channel side by side.
func packedColumns(s regs.Shape, columns int) layout {
	channel := layer.RoundUp(columns*layer.ElementBytes, unitBytes)
	row := channel * s.Channels
	return layout{channel: channel, row: row, depth: row, group: row}
}

// The L2 is 64 banks of 16 bytes (inferred from the row strides below).
const (
	unitBytes = 16
	banks     = 64
)

// A fetch is what a reader takes of a tile at a time: so many rows, whose first units
// must stand so many banks apart. R rows of n units are the 8 units of 128 bytes, and a
// unit more is room for the window's halo.
type fetch struct{ rows, apart int }

// Fetches of the readers and writers of a tile.
var (
	// planarFetch: the planar engine reads or writes it, also where the MAC engines read
	// it too (107/108, 8/8 read afterwards).
	planarFetch = fetch{4, 2}
	// transposeFetch: written with channel and x transposed (9/10).
	transposeFetch = fetch{16, 2}
	// smallFetch: the small source mode of the MAC engines.
	smallFetch = fetch{4, 3}
)

// engineFetches are those of a task on the MAC engines: one for each height of a patch
// that it may take, of 1<<sh rows by 128>>sh pixels. Patches below the highest that are
// wider than the output are not taken. (Small source mode, convolutions and products
// together 111/114; all tasks 303/317.)
func engineFetches(c *regs.Common) []fetch {
	cfg := c.Cfg
	if cfg.SmallSourceMode() {
		return []fetch{smallFetch}
	}
	top := min(int(cfg.ShMax()), bits.Len32(c.InDim.Hin())-1)
	var list []fetch
	for sh := int(cfg.ShMin()); sh <= top; sh++ {
		if sh < top && patchPixels>>sh > 1<<log2Ceil(int(c.OutDim.Wout())) {
			continue
		}
		units := unitBytes >> sh
		if rows := 8 / max(1, units); rows > 1 {
			list = append(list, fetch{rows, units + 1})
		}
	}
	return list
}

// skewed makes rows long enough that the rows of every fetch, stride rows apart, do not
// meet in a bank: the smallest u at or above the row's units with d*stride*u mod 64 >=
// apart for d = 1 ... rows-1. What is asked is one-sided: a row may end in the banks
// where an earlier one begins.
//
//	row 0: | c0 c1 c2 ...            |skew|
//	row 1:      | c0 c1 c2 ...            |skew|
func (l layout) skewed(stride int, fetches ...fetch) layout {
	meet := func(u int) bool {
		for _, f := range fetches {
			for d := 1; d < f.rows; d++ {
				if d*stride*u%banks < f.apart {
					return true
				}
			}
		}
		return false
	}
	base := l.group / unitBytes
	for u := base; u < base+banks; u++ {
		if !meet(u) {
			l.row = u * unitBytes
			return l
		}
	}
	return l
}

// engineColumns is how many columns of a source of the MAC engines stand side by side:
// wider ones run in slices of 128 (156/160).
func engineColumns(width int) int { return min(width, sliceColumns) }

const sliceColumns = 128

// sourceTile is the layout of the first source of a task on the MAC engines or the
// planar engine, loaded by DMA. A single row of several pixels has no skew (90/93), on
// the MAC engines but in small source mode.
func (t *task) sourceTile() layout {
	if t.planar() {
		return t.planarTile()
	}
	c := &t.g.Common
	s := t.g.InShape()
	l := packedColumns(s, engineColumns(s.Width))
	if t.columns > 0 {
		l = packedColumns(s, min(s.Width, t.columns))
	}
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.skewed(max(1, int(c.ConvCfg.Sy())), engineFetches(c)...)
}

// planarTile is the layout of a source of a planar task.
func (t *task) planarTile() layout {
	if s := t.g.InShape(); s.Height == 1 && s.Width > 1 {
		return t.planarColumns()
	}
	return t.skewedPlanar()
}

// keptTile is planarTile of a source that later tasks read in the L2: whole rows, where a
// source that comes and goes has the columns of a patch (inferred: 375 rows of 1024 are read
// from memory by each of three tasks, and their tile has room for 512 columns).
func (t *task) keptTile() layout {
	s := t.g.InShape()
	l := packed(s)
	l.group *= max(1, int(t.g.Common.InDepth.Din()))
	l.row = l.group
	if s.Height == 1 && s.Width > 1 {
		return l
	}
	return l.skewed(1, planarFetch)
}

// planarColumns is the layout of a planar task's source without a skew: the columns of
// its patch side by side (81/83).
func (t *task) planarColumns() layout {
	c := &t.g.Common
	s := t.g.InShape()
	l := packedColumns(s, min(s.Width, 1<<c.PlanarPatch.Log2W()))
	l.group *= max(1, int(c.InDepth.Din()))
	l.row = l.group
	return l
}

// skewedPlanar is the layout of a planar source with a skew whatever its height: that of
// a reduction which nothing else reads has one even in a single row (5/5).
func (t *task) skewedPlanar() layout { return t.planarColumns().skewed(1, planarFetch) }

// resultTile is the layout of a result of shape s that the planar engine reads next.
func (t *task) resultTile(s regs.Shape) layout {
	l := packed(s)
	if s.Height == 1 {
		return l
	}
	return l.skewed(1, planarFetch)
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
		h = min(log2Ceil(height), most-least)
		return min(max(log2Ceil(width), least), most-h), h
	}
	w = min(max(log2Ceil(width), least), most)
	return w, min(log2Ceil(height), most-w)
}

// surface is a tensor in memory: rows padded to 64 bytes, planes of rows, one element
// of the batch behind the other. A group is a part of the channels when groups divide
// them, else an element of the batch.
func surface(bar uint32, s layer.Shape) memory {
	row := max(64, layer.RoundUp(s.W*layer.ElementBytes, 64))
	plane := row * s.H
	depth := plane * s.C
	return memory{bar: bar, row: row, plane: plane, depth: depth, group: depth}
}

// matrix is a rows x columns matrix in memory as the engine reads it: a channel a row.
func matrix(bar uint32, rows, columns int) memory {
	plane := max(64, layer.RoundUp(columns*layer.ElementBytes, 64))
	depth := plane * rows
	return memory{bar: bar, row: depth, plane: plane, depth: depth, group: depth}
}

// overlaps reports whether two tiles share memory in the L2.
func (t *tile) overlaps(u *tile) bool {
	if t == nil || u == nil {
		return false
	}
	return t.at.base < u.at.base+max(u.bytes, 1) && u.at.base < t.at.base+max(t.bytes, 1)
}
