package place

import (
	"cmp"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A Layout places a tile in the L2: [row][channel][column]. The base and the strides are in
// bytes.
type Layout struct {
	Base, Channel, Row, Depth, Group int
}

// Rebase returns the layout moved to another base address.
func (l Layout) Rebase(base int) Layout {
	l.Base = base
	return l
}

// Packed returns a layout for s with whole rows and no skew.
func Packed(s regs.Shape) Layout { return PackedColumns(s, s.Width) }

// PackedColumns returns a layout for s with the given number of columns per channel and no skew.
func PackedColumns(s regs.Shape, columns int) Layout {
	channel := layer.RoundUp(columns*layer.ElementBytes, UnitBytes)
	row := channel * s.Channels
	return Layout{Channel: channel, Row: row, Depth: row, Group: row}
}

// The L2 has 64 banks of 16 bytes, as inferred from the row strides in [Layout.Skew].
const (
	UnitBytes = 16
	banks     = 64
)

// Skew returns the layout with rows long enough that the rows of each fetch do not share a bank.
// The row stride is the smallest number of units u, not below that of the layout, with
// d*Stride*u mod 64 >= Apart for every fetch and every d from 1 to Rows-1. The condition has one
// side only: a row may end in the banks in which an earlier one begins. If no number of units
// satisfies all fetches, Skew returns the layout unchanged.
//
//	row 0: | c0 c1 c2 ...            |skew|
//	row 1:      | c0 c1 c2 ...            |skew|
func (l Layout) Skew(fetches ...Fetch) Layout {
	meet := func(u int) bool {
		for _, f := range fetches {
			for d := 1; d < f.Rows; d++ {
				if d*f.Stride*u%banks < f.Apart {
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
	return l.Skew(PlanarFetch)
}

// EngineColumns returns the number of columns per channel in a source of the MAC engines. Wider
// sources are loaded in slices of 128 columns (seen in 156 of 160 tasks).
func EngineColumns(width int) int { return min(width, SliceColumns) }

// SliceColumns is the number of columns in a slice of a wide source.
const SliceColumns = 128

// TransposeSource returns the layout of the source of a transpose with m channels of k pixels. It
// holds at most 128 pixels per channel (seen in 7 of 7 tasks).
func TransposeSource(m, k int) Layout {
	return Packed(regs.Shape{Channels: m, Width: min(k, 128)})
}

// CompleteStrides returns the layout with the missing strides of axes of extent 1 computed as for a
// packed tile, and with a depth stride. It reports false if a stride is not a multiple of 16 or
// exceeds the L2.
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

// SecondBase returns the address of the second source, if the first occupies n bytes from address
// 0. It is a multiple of 64 that is not in the bank in which the first source begins (seen in 8
// of 8 tasks).
func SecondBase(n int) int {
	n = layer.RoundUp(n, 64)
	if n%0x400 == 0 {
		n += 64
	}
	return n
}
