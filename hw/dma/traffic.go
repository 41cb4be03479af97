package dma

import (
	"anesim/hw/clock"
	"anesim/hw/regs"
)

// Traffic counts the bytes that one descriptor moves between device memory and the engine, by
// operand, as [regs.Operands] has counted them. Rows count as if padded to 64 bytes, and weight buffers
// count in full, as in the cost estimate that Apple's compiler stores with each descriptor.
type Traffic struct {
	Source1, Source2, Kernel, Destination uint64
}

// TrafficOf returns the bytes that a task with operands o moves. An operand that stays in L2 counts
// as 0.
func TrafficOf(o *regs.Operands) Traffic {
	return Traffic{
		Source1: o.Source1.Bytes, Source2: o.Source2.Bytes,
		Kernel: o.Kernel.Bytes, Destination: o.Result.Bytes,
	}
}

// AddRuns adds n times the bytes of u to t.
func (t *Traffic) AddRuns(u *Traffic, n int) {
	runs := uint64(n)
	t.Source1 += runs * u.Source1
	t.Source2 += runs * u.Source2
	t.Kernel += runs * u.Kernel
	t.Destination += runs * u.Destination
}

// Add adds the bytes of u to t, operand by operand.
func (t *Traffic) Add(u *Traffic) {
	t.Source1 += u.Source1
	t.Source2 += u.Source2
	t.Kernel += u.Kernel
	t.Destination += u.Destination
}

// Total returns the number of bytes read and written.
func (t Traffic) Total() uint64 { return t.Read() + t.Destination }

// Read returns the number of bytes read: both sources and the weights.
func (t Traffic) Read() uint64 { return t.Source1 + t.Source2 + t.Kernel }

// Params holds the speed limits of a chip's memory, in bytes per cycle of the engine's clock.
type Params struct {
	Read      clock.Rate // of memory, for reads alone
	ReadWrite clock.Rate // of memory, for reads and writes together
	// Tile is the highest rate of the DMA that moves tensors, in each direction. Lane is the
	// highest rate at which one MAC engine reads its weights.
	Tile, Lane clock.Rate
	// BusyLane is the highest rate of a weight stream in a task of more than fewPixels results a channel.
	BusyLane clock.Rate
	// Stream is the highest rate of reads of a source of more than cacheBytes; see [Params.StreamSource].
	Stream  clock.Rate
	Latency clock.Cycles // from a request to its answer
}

// Cycles holds the time to move each operand of a task alone, and the total time to move all of
// them. Memory limits reads to its read rate and all transfers together to its total rate. Each DMA
// also has its own limit.
type Cycles struct {
	Source, Kernel, Destination, Total clock.Cycles
}

// fewPixels is the largest number of results a channel for which weights come at the full rate of the memory. On an
// M5 Pro, products of 1, 32 and 64 rows with 16 million weights read them at 148 GB/s, tasks of 128 rows at 67.
const fewPixels = 64

// Cycles returns the times that memory needs for traffic t of a task with the given number of results a channel. The
// argument lane is the number of weight bytes of the MAC engine that reads the most.
func (p Params) Cycles(t Traffic, lane uint64, pixels int) Cycles {
	c := Cycles{
		Source:      max(p.Read.Cycles(t.Source1+t.Source2), p.Tile.Cycles(t.Source1+t.Source2)),
		Kernel:      max(p.Read.Cycles(t.Kernel), p.Lane.Cycles(lane)),
		Destination: max(p.ReadWrite.Cycles(t.Destination), p.Tile.Cycles(t.Destination)),
	}
	if pixels > fewPixels {
		c.Kernel = max(c.Kernel, p.BusyLane.Cycles(lane))
	}
	c.Total = max(p.Read.Cycles(t.Read()), p.ReadWrite.Cycles(t.Total()), c.Source, c.Kernel, c.Destination)
	return c
}

// cacheBytes is the size from which on a system cache no longer holds a source between two reads. On later machines,
// sources of 8 MB are read at its rate, and those of 33 MB at the memory's (inferred; the size is that of an A14's cache).
const cacheBytes = 16 << 20

// StreamSource makes c the times of a task with traffic t whose first source comes from memory each time that a task
// reads it, if no system cache holds it.
func (p Params) StreamSource(c *Cycles, t Traffic) {
	if t.Source1 > cacheBytes {
		c.Source = max(c.Source, p.Stream.Cycles(t.Source1))
		c.Total = max(c.Total, c.Source)
	}
}
