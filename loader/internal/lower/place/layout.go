package place

import (
	"cmp"

	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A Layout describes the place of a tensor in L2, in the order [row][channel][column]. Base is the
// address of the first element. Channel, Row, Depth and Group are the strides of these axes. All
// fields are in bytes.
type Layout struct {
	Base, Channel, Row, Depth, Group int
}

// Rebase returns a layout at address base with the strides of l.
func (l Layout) Rebase(base int) Layout {
	l.Base = base
	return l
}

// Packed returns a layout at address 0 for a tensor of shape s, with no gaps between rows. In each
// row, the columns of each channel are padded to a multiple of 16 bytes.
func Packed(s regs.Shape) Layout { return PackedColumns(s, s.Width) }

// PackedColumns returns a layout at address 0 for the given number of columns of a tensor of shape
// s, in all rows and channels. There are no gaps between rows. In each row, the columns of each
// channel are padded to a multiple of 16 bytes.
func PackedColumns(s regs.Shape, columns int) Layout {
	channel := layer.RoundUp(columns*layer.ElementBytes, UnitBytes)
	row := channel * s.Channels
	return Layout{Channel: channel, Row: row, Depth: row, Group: row}
}

// L2 has 64 banks of 16 bytes, as inferred from the row strides in [Layout.Skew].
const (
	UnitBytes = 16
	banks     = 64
)

// Skew returns l with longer rows, so that the rows that a fetch accesses at the same time begin in
// different banks. The row stride becomes u units of 16 bytes, where u is the smallest number with
//
//	d*Stride*u mod 64 >= Apart    for every fetch and every d from 1 to Rows-1
//
// and at least l.Group bytes. The end of a row may still share banks with the start of an earlier
// row. If there is no such u, Skew returns l unchanged.
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
	for skew := range banks {
		if u := l.Group/UnitBytes + skew; !meet(u) {
			l.Row = u * UnitBytes
			return l
		}
	}
	return l
}

// ResultTile returns the layout at address 0 for a result of shape s that a later planar task
// reads. If there are several rows, they are spaced so that the planar engine reads them without
// bank conflicts.
func ResultTile(s regs.Shape) Layout {
	l := Packed(s)
	if s.Height == 1 {
		return l
	}
	return l.Skew(PlanarFetch)
}

// EngineColumns returns how many columns of a source the MAC engines hold in L2 at a time. width is
// the number of columns of the source. The engines hold all of them if width is at most 128, and
// otherwise a slice of 128 (seen in 156 of 160 tasks).
func EngineColumns(width int) int { return min(width, SliceColumns) }

// SliceColumns is the number of columns in a slice of a wide source.
const SliceColumns = 128

// TransposeSource returns the layout at address 0 for the source of a transpose. The source has m
// channels of k pixels, and the layout has room for up to 128 pixels of each channel at a time
// (seen in 7 of 7 tasks).
func TransposeSource(m, k int) Layout {
	return Packed(regs.Shape{Channels: m, Width: min(k, 128)})
}

// CompleteStrides returns the layout with missing strides filled in, as for a tensor without gaps.
// Missing are the depth stride, and the channel or row stride if it is 0 and the tensor has only
// one channel or row. planes, rows and width are the extents of the tensor in elements.
// CompleteStrides reports false if a stride is not a multiple of 16 bytes or is too large for L2.
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

// SecondBase returns the address in L2 of a task's second source if its first source occupies the
// first n bytes. That is n, unless n is in the four banks in which the first source begins; then it
// is the first address after them (seen in 12 of 12 tasks that load both: 0x610 remains, 0x8000
// and 0x8020 become 0x8040).
func SecondBase(n int) int {
	const first = 4 * UnitBytes
	if at := n % (banks * UnitBytes); at < first {
		n += first - at
	}
	return n
}
