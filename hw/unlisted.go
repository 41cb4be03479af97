package hw

import (
	"slices"

	"anesim/hw/clock"
	"anesim/hw/dma"
)

// A Rest is what those descriptors of a chain did that its report does not list. A report
// has it where Options.List bounds the list.
type Rest struct {
	Count   int
	Time    clock.Nanoseconds
	Energy  clock.Nanojoules
	Engines int    // the most that one of them had at work
	Weights uint64 // bytes of coefficients that convolutions among them read

	// Sums of the descriptors that are listed and of these, one after the other, so that
	// they are to the last digit what they are with all of them listed.
	Cycles   Accounting
	Saved    clock.Cycles
	Parts    EnergyParts
	Interval Interval

	Groups []Group // the descriptors that are not listed, by what they do, in the order of the first
}

// A Group is descriptors of one operation on one shape.
type Group struct {
	Op     Op
	Shape  Shape // zero of those behind the first maxGroups
	Count  int
	Cycles Accounting
	Time   clock.Nanoseconds
	Energy clock.Nanojoules
	Parts  EnergyParts
	DMA    dma.Traffic
	MACs   uint64
}

// maxGroups bounds the shapes that are told apart: in a chain of as many shapes as
// descriptors those behind them are grouped by operation alone.
const maxGroups = 1 << 10

// shorten takes descriptors behind the first so many off the report's list, but for the
// last ones, open.
func (r *Report) shorten(list, open int, g groups) {
	end := len(r.Descriptors) - open
	if end <= list {
		return
	}
	if r.Rest.Count == 0 {
		head := Report{Descriptors: r.Descriptors[:list]}
		r.Rest = Rest{Cycles: head.Accounting(), Saved: head.Saved(), Parts: head.Parts(), Interval: head.Bounds()}
	}
	for i := list; i < end; i++ {
		r.Rest.add(&r.Descriptors[i])
		g.add(&r.Rest, &r.Descriptors[i])
	}
	r.Descriptors = slices.Delete(r.Descriptors, list, end)
}

// add counts a descriptor.
func (x *Rest) add(d *DescriptorReport) {
	x.Count++
	x.Time += d.Time
	x.Energy += d.Energy
	x.Engines = max(x.Engines, d.Engines)
	if d.Op == Conv {
		x.Weights += d.DMA.Kernel
	}
	x.Cycles.Add(&d.Cycles)
	x.Saved += d.Saved
	x.Parts.Add(&d.Parts)
	x.Interval.add(d.Bounds(), 1)
}

// groups are where the groups of a rest stand in its list.
type groups map[groupKey]int

type groupKey struct {
	op    Op
	shape Shape
}

// add counts a descriptor in its group.
func (g groups) add(x *Rest, d *DescriptorReport) {
	key := groupKey{d.Op, d.Shape}
	at, ok := g[key]
	if !ok && len(x.Groups) >= maxGroups {
		key.shape = Shape{}
		at, ok = g[key]
	}
	if !ok {
		at = len(x.Groups)
		g[key] = at
		x.Groups = append(x.Groups, Group{Op: key.op, Shape: key.shape})
	}
	x.Groups[at].add(d)
}

func (g *Group) add(d *DescriptorReport) {
	g.Count++
	g.Cycles.Add(&d.Cycles)
	g.Time += d.Time
	g.Energy += d.Energy
	g.Parts.Add(&d.Parts)
	g.DMA.Add(&d.DMA)
	g.MACs += d.MACs
}
