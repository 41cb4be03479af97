package hw

import (
	"slices"

	"anesim/hw/clock"
	"anesim/hw/dma"
)

// A Rest holds the sums of the descriptors that a report does not list. It is empty unless
// Options.List limits the list.
type Rest struct {
	Count   int
	Time    clock.Nanoseconds
	Energy  clock.Nanojoules
	Engines int    // largest number of engines that an unlisted descriptor used
	Weights uint64 // bytes of weights that the unlisted convolutions read

	// The following fields are sums over all descriptors of the chain, listed or not. They are
	// added up in chain order, so they equal the sums of a report that lists all descriptors to the
	// last bit.
	Cycles   Accounting
	Planar   clock.Cycles // part of Cycles.Compute in which the planar engine works
	Saved    clock.Cycles
	Parts    EnergyParts
	Interval Interval

	Groups []Group // the unlisted descriptors by operation and shape, in order of first appearance
}

// A Group holds the sums of all unlisted descriptors with one operation and shape.
type Group struct {
	Op     Op
	Shape  Shape // zero for all shapes after the first maxGroups
	Count  int
	Cycles Accounting
	Time   clock.Nanoseconds
	Energy clock.Nanojoules
	Parts  EnergyParts
	DMA    dma.Traffic
	MACs   uint64
}

// maxGroups limits the number of distinct shapes. Descriptors with further shapes are grouped by
// operation alone.
const maxGroups = 1 << 10

// moveToRest keeps the first list descriptors in the report's list and moves the others to its
// Rest. It does not move the last open descriptors, whose figures are not final.
func (r *Report) moveToRest(list, open int, g groups) {
	end := len(r.Descriptors) - open
	if end <= list {
		return
	}
	if r.Rest.Count == 0 {
		head := Report{Descriptors: r.Descriptors[:list]}
		r.Rest = Rest{Cycles: head.Accounting(), Planar: head.PlanarCompute(), Saved: head.Saved(), Parts: head.Parts(), Interval: head.Bounds()}
	}
	for i := list; i < end; i++ {
		r.Rest.addDescriptor(&r.Descriptors[i])
		g.addDescriptor(&r.Rest, &r.Descriptors[i])
	}
	r.Descriptors = slices.Delete(r.Descriptors, list, end)
}

// addDescriptor adds the figures of d to x.
func (x *Rest) addDescriptor(d *DescriptorReport) {
	x.Count++
	x.Time += d.Time
	x.Energy += d.Energy
	x.Engines = max(x.Engines, d.Engines)
	if d.Op == Conv {
		x.Weights += d.DMA.Kernel
	}
	x.Cycles.Add(&d.Cycles)
	if d.Planar {
		x.Planar += d.Cycles.Compute
	}
	x.Saved += d.Saved
	x.Parts.Add(&d.Parts)
	x.Interval.addDescriptor(d.Bounds(), 1)
}

// groups maps an operation and shape to the index of its Group in Rest.Groups.
type groups map[groupKey]int

type groupKey struct {
	op    Op
	shape Shape
}

// addDescriptor adds the figures of d to the group in x that has the operation and shape of d. It
// creates the group if x has none.
func (g groups) addDescriptor(x *Rest, d *DescriptorReport) {
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
	x.Groups[at].addDescriptor(d)
}

func (g *Group) addDescriptor(d *DescriptorReport) {
	g.Count++
	g.Cycles.Add(&d.Cycles)
	g.Time += d.Time
	g.Energy += d.Energy
	g.Parts.Add(&d.Parts)
	g.DMA.Add(&d.DMA)
	g.MACs += d.MACs
}
