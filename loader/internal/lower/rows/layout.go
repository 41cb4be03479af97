package rows

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// rowsShape returns the shape of v as rows of one channel.
func (v *value) rowsShape() regs.Shape {
	return regs.Shape{Groups: 1, Channels: 1, Height: v.rows, Width: v.width}
}

// channelShape returns the shape of v as channels of one row.
func (v *value) channelShape() regs.Shape {
	return regs.Shape{Groups: 1, Channels: v.rows, Height: 1, Width: v.width}
}

// rowsLayout returns the layout in which a task reads v from tile h as rows of one channel.
func (h *heldTile) rowsLayout(v *value) place.Layout {
	if h.at.Row == h.pitch && h.at.Channel != h.pitch {
		return h.at
	}
	n := h.pitch * v.rows
	return place.Layout{Base: h.at.Base, Channel: n, Row: h.pitch, Depth: n}
}

// channelsLayout returns the layout in which a task reads the rows in tile h as channels of one
// row.
func (h *heldTile) channelsLayout() place.Layout {
	at := h.at
	at.Channel, at.Row = h.pitch, at.Depth
	return at
}

// rowsSurface returns the place of v in memory as rows of one channel. v must be an input of the
// chain.
func (v *value) rowsSurface() place.Memory {
	m := *v.mem
	m.Plane = m.Row * v.rows
	m.Depth, m.Group = m.Plane, m.Plane
	return m
}

// channelsSurface returns the place of v in memory as channels of one row. v must be an input of
// the chain.
func (v *value) channelsSurface() place.Memory {
	m := *v.mem
	m.Plane = m.Row
	m.Row = m.Plane * v.rows
	m.Depth, m.Group = m.Row, m.Row
	return m
}

// scratchSurface returns the place in the scratch buffer that a task names in its registers while
// it transposes v to L2. The task does not access it. If block is set, columns are stored in blocks
// of eight.
func (v *value) scratchSurface(block bool) place.Memory {
	m := place.Matrix(place.BarScratch, v.width, v.rows)
	m.Row = m.Plane
	if block {
		m = place.Surface(place.BarScratch, layer.Shape{N: 1, C: v.width, H: v.rows / blockWidth, W: blockWidth})
	}
	return m
}

// pieceLayout returns the layout in L2 of a source of shape s that is loaded from memory, in pieces
// of up to 128 columns of each row (seen in 156 of 160 tasks).
func pieceLayout(s regs.Shape) place.Layout {
	return place.Packed(regs.Shape{Channels: s.Channels, Width: min(s.Width, task.PatchPixels)})
}

// planarRowLayout returns the layout of a tensor of shape s in L2 in which the planar engine reads
// rows without bank conflicts.
func planarRowLayout(s regs.Shape) place.Layout {
	at := place.Packed(s)
	if s.Height > 1 {
		at = at.Skew(place.PlanarFetch)
	}
	return at
}

// blockWidth is the number of columns in a block.
const blockWidth = 8

// columnLayout returns the layout in L2 of the result of a transpose with the given extents.
// Channels are an odd number of 16-byte units apart, so that they begin in different banks (seen in
// 20 of 20 tiles). If block is set, columns are stored in blocks of eight, whose rows are three
// units apart.
func columnLayout(channels, width, height int, block bool) place.Layout {
	unit := (width + 7) / 8
	if !block {
		unit |= 1
	}
	l := place.Layout{Channel: unit * 16}
	l.Depth = l.Channel * channels
	l.Row, l.Group = l.Depth, l.Depth
	if block && height > 1 {
		l = l.Skew(task.BlockFetch(height))
	}
	return l
}
