package dma

import (
	"anesim/hw/clock"
	"anesim/hw/regs"
)

// Traffic is the bytes one descriptor moves between device memory and the engine, in
// the measure of the stored ExeCycles: padded rows and whole coefficient buffers.
type Traffic struct {
	Source1, Source2, Kernel, Destination uint64
}

// TrafficOf counts a task's bytes. Tiles that stay in the L2 move none.
func TrafficOf(g *regs.Groups) Traffic {
	var t Traffic
	if g.Source1On() {
		t.Source1 = g.Source1().Moved()
	}
	if g.Source2On() {
		t.Source2 = g.Source2().Moved()
	}
	if g.DestinationOn() {
		t.Destination = g.Destination().Moved()
	}
	t.Kernel = g.KernelBytes()
	return t
}

// Total is all bytes moved.
func (t Traffic) Total() uint64 { return t.Read() + t.Destination }

// Read is the bytes read.
func (t Traffic) Read() uint64 { return t.Source1 + t.Source2 + t.Kernel }

// Params are a chip's memory bandwidth as the engine sees it, in bytes a cycle.
type Params struct {
	Read      clock.Rate // reads alone
	ReadWrite clock.Rate // reads and writes together
}

// Cycles is how long a part of the traffic takes on its own, and how long all of it
// takes: reads are bound by the read rate, everything together by the total rate.
type Cycles struct {
	Source, Kernel, Destination, Total clock.Cycles
}

// Cycles times the traffic.
func (p Params) Cycles(t Traffic) Cycles {
	return Cycles{
		Source:      p.Read.Cycles(t.Source1 + t.Source2),
		Kernel:      p.Read.Cycles(t.Kernel),
		Destination: p.ReadWrite.Cycles(t.Destination),
		Total:       max(p.Read.Cycles(t.Read()), p.ReadWrite.Cycles(t.Total())),
	}
}
