package dma

import (
	"anesim/hw/clock"
	"anesim/hw/regs"
)

// Traffic counts the bytes that one descriptor moves between device memory and the engine. It
// counts them like the stored ExeCycles: rows padded to 64 bytes and whole coefficient buffers,
// each once.
type Traffic struct {
	Source1, Source2, Kernel, Destination uint64
}

// TrafficOf returns the traffic of a task's operands. Buffers that stay in the L2 cause none.
func TrafficOf(o *regs.Operands) Traffic {
	return Traffic{
		Source1: o.Source1.Bytes, Source2: o.Source2.Bytes,
		Kernel: o.Kernel.Bytes, Destination: o.Result.Bytes,
	}
}

// Add adds u to t.
func (t *Traffic) Add(u *Traffic) {
	t.Source1 += u.Source1
	t.Source2 += u.Source2
	t.Kernel += u.Kernel
	t.Destination += u.Destination
}

// Total returns all bytes moved.
func (t Traffic) Total() uint64 { return t.Read() + t.Destination }

// Read returns the bytes read.
func (t Traffic) Read() uint64 { return t.Source1 + t.Source2 + t.Kernel }

// Params holds the rates and the latency of a chip's memory, in bytes and engine cycles.
type Params struct {
	Read      clock.Rate // of memory, for reads alone
	ReadWrite clock.Rate // of memory, for reads and writes together
	// Tile is the rate of the tile DMA in each direction, and Lane is the read rate of one
	// coefficient lane, as their outstanding transfers allow.
	Tile, Lane clock.Rate
	Latency    clock.Cycles // from a request to its answer
}

// Cycles holds the time of each part of a traffic on its own, and the time of all of it. Each DMA
// is limited by its own rate, reads by the read rate, and everything together by the total rate.
type Cycles struct {
	Source, Kernel, Destination, Total clock.Cycles
}

// Cycles returns the time that traffic t takes. lane is the size of the longest coefficient lane in
// bytes.
func (p Params) Cycles(t Traffic, lane uint64) Cycles {
	c := Cycles{
		Source:      max(p.Read.Cycles(t.Source1+t.Source2), p.Tile.Cycles(t.Source1+t.Source2)),
		Kernel:      max(p.Read.Cycles(t.Kernel), p.Lane.Cycles(lane)),
		Destination: max(p.ReadWrite.Cycles(t.Destination), p.Tile.Cycles(t.Destination)),
	}
	c.Total = max(p.Read.Cycles(t.Read()), p.ReadWrite.Cycles(t.Total()), c.Source, c.Kernel, c.Destination)
	return c
}
