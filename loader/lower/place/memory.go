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

// A Memory is a surface in the buffer with index Bar. The base and the strides are in bytes.
type Memory struct {
	Bar                            uint32
	Base, Row, Plane, Depth, Group int
}

// Surface returns the surface of a tensor in memory. Its rows are padded to 64 bytes, a plane is
// the rows of a channel, and the elements of the batch follow each other. A group is one element
// of the batch.
func Surface(bar uint32, s layer.Shape) Memory {
	row := max(64, layer.RoundUp(s.W*layer.ElementBytes, 64))
	plane := row * s.H
	depth := plane * s.C
	return Memory{Bar: bar, Row: row, Plane: plane, Depth: depth, Group: depth}
}

// Matrix returns the surface of a rows x columns matrix in which each row is a channel.
func Matrix(bar uint32, rows, columns int) Memory {
	plane := max(64, layer.RoundUp(columns*layer.ElementBytes, 64))
	depth := plane * rows
	return Memory{Bar: bar, Row: depth, Plane: plane, Depth: depth, Group: depth}
}

// BatchElement returns the surface of element n of the batch.
func (m Memory) BatchElement(n int) Memory {
	m.Base += n * m.Depth
	return m
}

// ToPort returns a program's port for the surface.
func (m Memory) ToPort(name string, d loader.Direction, s layer.Shape) loader.Port {
	return loader.Port{
		Name: name, Direction: d, BAR: int(m.Bar), Shape: [4]int{s.N, s.C, s.H, s.W},
		Strides: [4]uint64{uint64(m.Depth), uint64(m.Plane), uint64(m.Row), layer.ElementBytes},
		Bytes:   uint64(m.Depth) * uint64(s.N),
	}
}

// A Spot is an offset in a buffer.
type Spot struct {
	Bar  uint32
	Base int
}

// Spots holds the places in a program for the buffers of one of its parts, by index.
type Spots [len(regs.BARs{})]Spot
