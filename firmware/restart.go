package firmware

import (
	"slices"

	"anesim/hw/regs"
)

// A Restart tells until when a run of descriptors can be stopped and later executed again from its
// first descriptor, as an abort in mid-flight requires. The zero Restart is at the start of a run.
//
// A run with a descriptor that has DisallowAbort cannot be stopped at all. A run that has begun to
// write, through the tile DMA, where one of its descriptors has read would read other values the
// second time, so it cannot be stopped either. Weights are assumed to stay.
type Restart struct {
	room      regs.Operands
	reads     []byteRange // sorted, without overlaps
	forbidden bool
	spoiled   bool
}

// A byteRange is a range of device addresses from lo up to, but not including, hi.
type byteRange struct{ lo, hi int64 }

// Begin adds the next descriptor of the run. It reports whether the run can still be stopped once
// this descriptor has begun, as far as the descriptors so far tell.
func (r *Restart) Begin(t *regs.Task) bool {
	o := t.Resolved(&r.room)
	if t.Groups.Source1On() {
		r.addRead(operandBytes(&o.Source1, t.Bases.Source1))
	}
	if t.Groups.Source2On() {
		r.addRead(operandBytes(&o.Source2, t.Bases.Source2))
	}
	if t.Groups.DestinationOn() {
		w := operandBytes(&o.Result, t.Bases.Destination)
		i, _ := slices.BinarySearchFunc(r.reads, w.lo, func(x byteRange, lo int64) int {
			if x.hi <= lo {
				return -1
			}
			return 1
		})
		r.spoiled = r.spoiled || i < len(r.reads) && r.reads[i].lo < w.hi
	}
	r.forbidden = r.forbidden || t.Header.Control.DisallowAbort()
	return !r.spoiled && !r.forbidden
}

// Forbidden reports whether a descriptor of the run has DisallowAbort.
func (r *Restart) Forbidden() bool { return r.forbidden }

// Reset returns r to the start of the next run.
func (r *Restart) Reset() { *r = Restart{reads: r.reads[:0]} }

// addRead adds x to the ranges that the run has read, and merges it with those that it touches.
func (r *Restart) addRead(x byteRange) {
	if x.lo >= x.hi {
		return
	}
	from := 0
	for from < len(r.reads) && r.reads[from].hi < x.lo {
		from++
	}
	to := from
	for ; to < len(r.reads) && r.reads[to].lo <= x.hi; to++ {
		x = byteRange{min(x.lo, r.reads[to].lo), max(x.hi, r.reads[to].hi)}
	}
	r.reads = slices.Replace(r.reads, from, to, x)
}

// operandBytes returns the range that operand o covers if its DMA starts at the address base.
func operandBytes(o *regs.Operand, base uint64) byteRange {
	low, high := o.Extent()
	return byteRange{int64(base) + low, int64(base) + high}
}
