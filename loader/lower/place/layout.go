package place

import (
	"cmp"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A Layout places a tile in the L2, in bytes: [row][channel][x].
type Layout struct {
	Base, Channel, Row, Depth, Group int
}

// Moved returns the layout at another base.
func (l Layout) WithBase(base int) Layout {
	l.Base = base
	return l
}

// Packed returns the layout of s without a skew between rows, columns whole.
func Packed(s regs.Shape) Layout { return PackedColumns(s, s.Width) }

// PackedColumns returns the packed layout with so many columns of a channel side by side.
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

// Skewed makes rows long enough that the rows of every fetch, stride rows apart, do not
// meet in a bank: the smallest u at or above the row's units with d*stride*u mod 64 >=
// apart for d = 1 ... rows-1. What is asked is one-sided: a row may end in the banks
// where an earlier one begins.
//
//	row 0: | c0 c1 c2 ...            |skew|
//	row 1:      | c0 c1 c2 ...            |skew|
func (l Layout) Skew(stride int, fetches ...Fetch) Layout {
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

// ResultTile returns the layout of a result of shape s that the planar engine reads next.
func ResultTile(s regs.Shape) Layout {
	l := Packed(s)
	if s.Height == 1 {
		return l
	}
	return l.Skew(1, PlanarFetch)
}

// EngineColumns returns how many columns of a source of the MAC engines stand side by side:
// wider ones run in slices of 128 (156/160).
func EngineColumns(width int) int { return min(width, SliceColumns) }

const SliceColumns = 128

// TransposeSource returns the layout of the tile a transpose reads: pieces of at most 128
// pixels (7/7).
func TransposeSource(m, k int) Layout {
	return Packed(regs.Shape{Channels: m, Width: min(k, 128)})
}

// Of gives strides of axes that are one long what a packed tile has, and reports whether all
// are such as the L2 takes.
func (at Layout) CompleteStrides(planes, rows, width int) (Layout, bool) {
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

// SecondBase returns where the second tile stands behind a first of n bytes: at a multiple of
// 64, but not in the bank where the first begins, of 64 banks of 16 bytes (8/8).
func SecondBase(n int) int {
	n = layer.RoundUp(n, 64)
	if n%0x400 == 0 {
		n += 64
	}
	return n
}
