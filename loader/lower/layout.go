package lower

import "anesim/hw/regs"

// A layout places a tile in the L2, in bytes: [row][channel][x].
type layout struct {
	base, channel, row, depth, group int
}

func (l layout) moved(base int) layout {
	l.base = base
	return l
}

// packed is the layout of s without a skew between rows (68/77; the others are tiled
// in width).
func packed(s regs.Shape) layout {
	channel := roundUp(s.Width*elementBytes, 16)
	row := channel * s.Channels
	return layout{channel: channel, row: row, depth: row, group: row}
}

// skewed spreads the rows of a tile over the L2's banks: (row/16) mod 8 becomes want.
//
//	row 0: | c0 c1 c2 ...            |skew|
//	row 1:      | c0 c1 c2 ...            |skew|
//
// A patch reads several rows at a time, and want is the 16-byte units of a patch's row,
// halo included, so that they fall into different banks.
func (l layout) skewed(want int) layout {
	l.row += (want + 8 - l.row/16%8) % 8 * 16
	return l
}

// engineTile is the source layout of a task on the MAC engines: tiles up to 16 wide
// take 3, up to 32 wide 5; wider ones, and a single row passed through, none. A stride
// reads 2 up to 16 wide and 3 above, a group 2. (Holds 50/52: two tasks of one 3x3
// convolution of 256 channels at 32x32, same padding, have 3 where this gives 5.)
func engineTile(s regs.Shape, reduces bool, stride int, grouped bool) layout {
	l := packed(s)
	switch {
	case s.Height == 1 && (!reduces || s.Width > 1):
		return l
	case stride > 1 && s.Width <= 16, grouped && s.Width <= 16:
		return l.skewed(2)
	case stride > 1 && s.Width <= 64, s.Width <= 16:
		return l.skewed(3)
	case s.Width <= 32:
		return l.skewed(5)
	}
	return l
}

// planarTile is the source layout of a planar task: its patch is two units wide up to
// 16 pixels (11/11), and above 128 pixels it has one row (2/2). Between, the units of the
// patch are taken (applies to no example).
func planarTile(s regs.Shape) layout {
	l := packed(s)
	w, h := planarPatch(s)
	if s.Width > 16 && (h == 0 || s.Height == 1) {
		return l
	}
	units := 1 << (w - 3)
	return l.skewed(units % 8)
}

// planarPatch is log2 of the planar engine's patch: 16 to 256 wide, and as high as
// 256 pixels allow (26/26).
func planarPatch(s regs.Shape) (w, h uint32) {
	w = min(max(log2Ceil(s.Width), 4), 8)
	return w, min(log2Ceil(s.Height), 8-w)
}

// surface is a tensor in memory: rows padded to 64 bytes, planes of rows, one element
// of the batch behind the other. A group is a part of the channels when groups divide
// them, else an element of the batch.
func surface(bar uint32, s Shape) memory {
	row := max(64, roundUp(s.W*elementBytes, 64))
	plane := row * s.H
	depth := plane * s.C
	return memory{bar: bar, row: row, plane: plane, depth: depth, group: depth}
}

// matrix is a rows x columns matrix in memory as the engine reads it: a channel a row.
func matrix(bar uint32, rows, columns int) memory {
	plane := max(64, roundUp(columns*elementBytes, 64))
	depth := plane * rows
	return memory{bar: bar, row: depth, plane: plane, depth: depth, group: depth}
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// overlaps reports whether two tiles share memory in the L2.
func (t *tile) overlaps(u *tile) bool {
	if t == nil || u == nil {
		return false
	}
	return t.at.base < u.at.base+max(u.bytes, 1) && u.at.base < t.at.base+max(t.bytes, 1)
}
