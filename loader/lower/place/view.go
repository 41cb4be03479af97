package place

import (
	"anesim/hw/regs"
	"anesim/loader/layer"
)

// A View is a tensor in memory with its axes in an order of the operation's own: strides
// name any of them channel or row, and a run of rows is one row of channels.
type View struct {
	S      regs.Shape
	M      Memory
	Folded bool // four rows that are one
}

// ViewOf is the tensor as it is.
func NewView(m Memory, s layer.Shape) View {
	return View{S: regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}, M: m}
}

// Swapped transposes channels and rows.
func (v View) SwapChannelsAndRows() View {
	v.S.Channels, v.S.Height = v.S.Height, v.S.Channels
	v.M.Plane, v.M.Row = v.M.Row, v.M.Plane
	return v
}

// Grouped makes every row a group of one row, so that a channel is one row.
func (v View) GroupRows() View {
	v.S.Groups, v.S.Height = v.S.Height, 1
	v.M.Group, v.M.Row = v.M.Row, v.M.Depth
	return v
}

// Rows makes every row of one channel a channel of one row.
func (v View) RowsAsChannels() View {
	v.S.Channels, v.S.Height = v.S.Channels*v.S.Height, 1
	v.M.Plane = v.M.Row
	v.M.Row = v.M.Depth
	if v.S.Width == 1 {
		v.M.Row = v.M.Plane
	}
	return v
}

// Column makes every channel of one pixel a row of one channel.
func (v View) ChannelsAsRows() View {
	v.S.Channels, v.S.Height = 1, v.S.Channels
	v.M.Row = v.M.Plane
	return v
}

// Folded makes a row of columns four rows of a quarter, which fills the patch's rows. It
// takes a single row whose quarters are whole 64 bytes.
func (v View) FoldRow() View {
	if v.S.Height != 1 || v.S.Width%FoldColumns != 0 {
		return v
	}
	v.S.Height, v.S.Width = FoldRows, v.S.Width/FoldRows
	v.M.Row = v.S.Width * layer.ElementBytes
	v.Folded = true
	return v
}

// A row whose columns are a multiple of FoldColumns folds to FoldRows rows, 1<<FoldLog2.
const FoldColumns, FoldRows, FoldLog2 = 128, 4, 2

// Element is one element of the batch.
func (v View) BatchElement(n int) View {
	v.S.Groups = 1
	v.M = v.M.BatchElement(n)
	return v
}

// ChannelRun is m channels from first on.
func (v View) SliceChannels(first, m int) View {
	v.M.Base += first * v.M.Plane
	v.S.Channels = m
	return v
}

// Run is m rows from first on.
func (v View) SliceRows(first, m int) View {
	v.M.Base += first * v.M.Row
	v.S.Height = m
	return v
}
