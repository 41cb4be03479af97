package place

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A View is a tensor in memory with its axes in the order of an operation. An operation may, for
// example, read rows as channels, or channels as rows.
type View struct {
	S      regs.Shape
	M      Memory
	Folded bool // one row, divided into four
}

// NewView returns a view of a tensor with its axes in their usual order.
func NewView(m Memory, s layer.Shape) View {
	return View{S: regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}, M: m}
}

// SwapChannelsAndRows returns the view with channels and rows exchanged.
func (v View) SwapChannelsAndRows() View {
	v.S.Channels, v.S.Height = v.S.Height, v.S.Channels
	v.M.Plane, v.M.Row = v.M.Row, v.M.Plane
	return v
}

// GroupRows returns the view with each row as a group of one row.
func (v View) GroupRows() View {
	v.S.Groups, v.S.Height = v.S.Height, 1
	v.M.Group, v.M.Row = v.M.Row, v.M.Depth
	return v
}

// RowsAsChannels returns the view with each row as a channel of one row.
func (v View) RowsAsChannels() View {
	v.S.Channels, v.S.Height = v.S.Channels*v.S.Height, 1
	v.M.Plane = v.M.Row
	v.M.Row = v.M.Depth
	if v.S.Width == 1 {
		v.M.Row = v.M.Plane
	}
	return v
}

// ChannelsAsRows returns the view with each channel of one pixel as a row of a single channel.
func (v View) ChannelsAsRows() View {
	v.S.Channels, v.S.Height = 1, v.S.Channels
	v.M.Row = v.M.Plane
	return v
}

// FoldRow returns the view with its only row divided into four rows, so that it fills the rows of
// a patch. It returns v itself if there are several rows, or if a quarter is not a multiple of 64
// bytes.
func (v View) FoldRow() View {
	if v.S.Height != 1 || v.S.Width%FoldColumns != 0 {
		return v
	}
	v.S.Height, v.S.Width = FoldRows, v.S.Width/FoldRows
	v.M.Row = v.S.Width * layer.ElementBytes
	v.Folded = true
	return v
}

// FoldColumns is the number that the columns of a row must be a multiple of to fold into FoldRows
// rows. FoldLog2 is log2 of FoldRows.
const FoldColumns, FoldRows, FoldLog2 = 128, 4, 2

// BatchElement returns the view of element n of the batch.
func (v View) BatchElement(n int) View {
	v.S.Groups = 1
	v.M = v.M.BatchElement(n)
	return v
}

// SliceChannels returns the view of m channels, starting with channel first.
func (v View) SliceChannels(first, m int) View {
	v.M.Base += first * v.M.Plane
	v.S.Channels = m
	return v
}

// SliceRows returns the view of m rows, starting with row first.
func (v View) SliceRows(first, m int) View {
	v.M.Base += first * v.M.Row
	v.S.Height = m
	return v
}
