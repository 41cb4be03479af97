package place

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
)

// Buffer indices (bytes): surfaces stand behind the scratch in the order of their
// indices, which differs by operation.
const (
	BarScratch = regs.BARScratch
	Bar4       = 4
	Bar5       = 5
	Bar6       = 6
)

// A Memory is a surface in a buffer, in bytes.
type Memory struct {
	Bar                            uint32
	Base, Row, Plane, Depth, Group int
}

// Surface returns a tensor in memory: rows padded to 64 bytes, planes of rows, one element
// of the batch behind the other. A group is a part of the channels when groups divide
// them, else an element of the batch.
func Surface(bar uint32, s layer.Shape) Memory {
	row := max(64, layer.RoundUp(s.W*layer.ElementBytes, 64))
	plane := row * s.H
	depth := plane * s.C
	return Memory{Bar: bar, Row: row, Plane: plane, Depth: depth, Group: depth}
}

// Matrix returns a rows x columns matrix in memory as the engine reads it: a channel a row.
func Matrix(bar uint32, rows, columns int) Memory {
	plane := max(64, layer.RoundUp(columns*layer.ElementBytes, 64))
	depth := plane * rows
	return Memory{Bar: bar, Row: depth, Plane: plane, Depth: depth, Group: depth}
}

// Element returns one element of the batch.
func (m Memory) BatchElement(n int) Memory {
	m.Base += n * m.Depth
	return m
}

// Port returns the surface as a program's port.
func (m Memory) ToPort(name string, d loader.Direction, s layer.Shape) loader.Port {
	return loader.Port{
		Name: name, Direction: d, BAR: int(m.Bar), Shape: [4]int{s.N, s.C, s.H, s.W},
		Strides: [4]uint64{uint64(m.Depth), uint64(m.Plane), uint64(m.Row), layer.ElementBytes},
		Bytes:   uint64(m.Depth) * uint64(s.N),
	}
}

// A Spot is a place in a buffer.
type Spot struct {
	Bar  uint32
	Base int
}

// Spots are where a part's buffers are in a program, by index.
type Spots [len(regs.BARs{})]Spot
