package dma

import (
	"anesim/hw/clock"
	"anesim/hw/regs"
)

// Traffic is the bytes one descriptor moves between device memory and the engine, in
// the measure of the stored ExeCycles: rows padded to 64 bytes and whole coefficient
// buffers, each once.
type Traffic struct {
	Source1, Source2, Kernel, Destination uint64
}

// TrafficOf is the bytes of a task's operands. Tiles that stay in the L2 move none.
func TrafficOf(o *regs.Operands) Traffic {
	return Traffic{
		Source1: o.Source1.Bytes, Source2: o.Source2.Bytes,
		Kernel: o.Kernel.Bytes, Destination: o.Result.Bytes,
	}
}

// Add adds what another descriptor moves.
func (t *Traffic) Add(u *Traffic) {
	t.Source1 += u.Source1
	t.Source2 += u.Source2
	t.Kernel += u.Kernel
	t.Destination += u.Destination
}

// Total is all bytes moved.
func (t Traffic) Total() uint64 { return t.Read() + t.Destination }

// Read is the bytes read.
func (t Traffic) Read() uint64 { return t.Source1 + t.Source2 + t.Kernel }

// Params are a chip's way to memory, in bytes and cycles of the engine's clock.
type Params struct {
	Read      clock.Rate // memory's, for reads alone
	ReadWrite clock.Rate // memory's, for reads and writes together
	// Tile and Lane are what the tile DMA moves each way and what one coefficient lane
	// reads with the transfers they keep outstanding.
	Tile, Lane clock.Rate
	Latency    clock.Cycles // from a request to its answer
}

// Cycles is how long a part of the traffic takes on its own, and how long all of it
// takes: each engine is bound by its own rate, reads by the read rate, everything
// together by the total rate.
type Cycles struct {
	Source, Kernel, Destination, Total clock.Cycles
}

// Cycles times the traffic; lane is the bytes of the longest coefficient lane.
func (p Params) Cycles(t Traffic, lane uint64) Cycles {
	c := Cycles{
		Source:      max(p.Read.Cycles(t.Source1+t.Source2), p.Tile.Cycles(t.Source1+t.Source2)),
		Kernel:      max(p.Read.Cycles(t.Kernel), p.Lane.Cycles(lane)),
		Destination: max(p.ReadWrite.Cycles(t.Destination), p.Tile.Cycles(t.Destination)),
	}
	c.Total = max(p.Read.Cycles(t.Read()), p.ReadWrite.Cycles(t.Total()), c.Source, c.Kernel, c.Destination)
	return c
}
