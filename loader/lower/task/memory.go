package task

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
)

// Element is one element of the batch.
func (m Memory) Element(n int) Memory {
	m.Base += n * m.Depth
	return m
}

// Buffer indices (bytes): surfaces stand behind the scratch in the order of their
// indices, which differs by operation.
const (
	BarScratch = regs.BARScratch
	Bar4       = 4
	Bar5       = 5
	Bar6       = 6
)

// Port is the surface as a program's port.
func (m Memory) Port(name string, d loader.Direction, s layer.Shape) loader.Port {
	return loader.Port{
		Name: name, Direction: d, BAR: int(m.Bar), Shape: [4]int{s.N, s.C, s.H, s.W},
		Strides: [4]uint64{uint64(m.Depth), uint64(m.Plane), uint64(m.Row), layer.ElementBytes},
		Bytes:   uint64(m.Depth) * uint64(s.N),
	}
}

const (
	MaxInterleave = 8 // rows of an engine side by side; the format has four bits
)
