package place

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
)

// Indices of buffers. The buffers follow the scratch buffer in memory in the order of their
// indices; which tensor has which index depends on the operation.
const (
	BarScratch = regs.BARScratch
	Bar4       = 4
	Bar5       = 5
	Bar6       = 6
)

// A Memory describes the place of a tensor in main memory. The tensor starts at offset Base of the
// buffer with index Bar. Row, Plane (channel), Depth and Group (batch element) are the strides of
// its axes. Offset and strides are in bytes.
type Memory struct {
	Bar                            uint32
	Base, Row, Plane, Depth, Group int
}

// Surface returns the place of a tensor of shape s that starts at offset 0 of the buffer with index
// bar. The elements are in the usual order of programs, [batch][channel][row][column], and rows are
// padded to a multiple of 64 bytes.
func Surface(bar uint32, s layer.Shape) Memory {
	row := max(64, layer.RoundUp(s.W*layer.ElementBytes, 64))
	plane := row * s.H
	depth := plane * s.C
	return Memory{Bar: bar, Row: row, Plane: plane, Depth: depth, Group: depth}
}

// Matrix returns the place of a rows x columns matrix that starts at offset 0 of the buffer with
// index bar. Each row is a separate channel and is padded to a multiple of 64 bytes.
func Matrix(bar uint32, rows, columns int) Memory {
	plane := max(64, layer.RoundUp(columns*layer.ElementBytes, 64))
	depth := plane * rows
	return Memory{Bar: bar, Row: depth, Plane: plane, Depth: depth, Group: depth}
}

// BatchElement returns the place of element n of the batch that is stored at m.
func (m Memory) BatchElement(n int) Memory {
	m.Base += n * m.Depth
	return m
}

// ToPort returns a port, an input or output of a program, called name and with direction d. Its
// tensor has shape s and is stored at m.
func (m Memory) ToPort(name string, d loader.Direction, s layer.Shape) loader.Port {
	return loader.Port{
		Name: name, Direction: d, BAR: int(m.Bar), Shape: [4]int{s.N, s.C, s.H, s.W},
		Strides: [4]uint64{uint64(m.Depth), uint64(m.Plane), uint64(m.Row), layer.ElementBytes},
		Bytes:   uint64(m.Depth) * uint64(s.N),
	}
}

// A Spot is the place of a surface: an offset in bytes within the buffer with index Bar.
type Spot struct {
	Bar  uint32
	Base int
}

// A Spots maps each buffer that a part of a program uses to its place in the whole program. The
// index is that of the buffer in the part.
type Spots [len(regs.BARs{})]Spot
