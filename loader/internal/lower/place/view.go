package place

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A View is a tensor in memory whose axes have new roles. For example, an operation can read the
// rows of a tensor as channels. S is the shape in the new roles, and M is the place in memory.
type View struct {
	S      regs.Shape
	M      Memory
	Folded bool // one row, divided into four
}

// NewView returns the plain view of a tensor of shape s at m: channels, rows and columns stay what
// they are, and batch elements are groups.
func NewView(m Memory, s layer.Shape) View {
	return View{S: regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}, M: m}
}

// SwapChannelsAndRows returns the view in which the rows of v are channels and its channels are
// rows.
func (v View) SwapChannelsAndRows() View {
	v.S.Channels, v.S.Height = v.S.Height, v.S.Channels
	v.M.Plane, v.M.Row = v.M.Row, v.M.Plane
	return v
}

// GroupRows returns the view in which each row is a group (an independent tensor) of one row. The
// view must have one group.
func (v View) GroupRows() View {
	v.S.Groups, v.S.Height = v.S.Height, 1
	v.M.Group, v.M.Row = v.M.Row, v.M.Depth
	return v
}

// RowsAsChannels returns the view in which each row of each channel is a separate channel with one
// row.
func (v View) RowsAsChannels() View {
	v.S.Channels, v.S.Height = v.S.Channels*v.S.Height, 1
	v.M.Plane = v.M.Row
	v.M.Row = v.M.Depth
	if v.S.Width == 1 {
		v.M.Row = v.M.Plane
	}
	return v
}

// ChannelsAsRows returns the view in which the channels are the rows of a single channel. Each
// channel must have one row.
func (v View) ChannelsAsRows() View {
	v.S.Channels, v.S.Height = 1, v.S.Channels
	v.M.Row = v.M.Plane
	return v
}

// FoldRow returns the view in which the only row of v is divided into four rows, because the engine
// computes several rows at a time. It returns v unchanged if v has several rows or a width that is
// not a multiple of 128 columns.
func (v View) FoldRow() View {
	if v.S.Height != 1 || v.S.Width%FoldColumns != 0 {
		return v
	}
	v.S.Height, v.S.Width = FoldRows, v.S.Width/FoldRows
	v.M.Row = v.S.Width * layer.ElementBytes
	v.Folded = true
	return v
}

// FoldColumns is the number of which a row's width must be a multiple so that [View.FoldRow]
// divides the row into FoldRows rows. FoldLog2 is log2 of FoldRows.
const FoldColumns, FoldRows, FoldLog2 = 128, 4, 2

// BatchElement returns the view of group n of v, that is, of batch element n.
func (v View) BatchElement(n int) View {
	v.S.Groups = 1
	v.M = v.M.BatchElement(n)
	return v
}

// SliceChannels returns the view of m channels of v, starting with channel first.
func (v View) SliceChannels(first, m int) View {
	v.M.Base += first * v.M.Plane
	v.S.Channels = m
	return v
}

// SliceRows returns the view of m rows of v, starting with row first.
func (v View) SliceRows(first, m int) View {
	v.M.Base += first * v.M.Row
	v.S.Height = m
	return v
}
