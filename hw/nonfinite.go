package hw

import (
	"math"

	"anesim/hw/regs"
	"anesim/internal/datapath/tiles"
)

// An Overflow describes the first descriptor of a dispatch whose result contains an infinity or a
// NaN. The engine does not saturate, so values that later descriptors compute from this result are
// useless too.
type Overflow struct {
	Infinite, NaN uint64  // elements of the result
	Elements      uint64  // size of the result
	Largest       float64 // largest finite magnitude in the result
	// Read is the largest finite magnitude among the elements that the descriptor read from memory.
	// Given reports whether it read an infinity or a NaN, in which case the overflow happened
	// before the dispatch.
	Read  float64
	Given bool
}

// findOverflow returns a description of the result of job j if it is the first result of the
// dispatch with an infinity or a NaN, and nil otherwise. It skips results with 8-bit elements, and
// results in a ring buffer because the result of their reader is checked instead.
func (d *Device) findOverflow(j *job) *Overflow {
	o := &j.ops.Result
	if d.lost || o.Element == 1 || o.L2 == regs.Circular {
		return nil
	}
	var m magnitudes
	if d.visitOperandRows(j, o, m.checkRowIsFinite); m.allFinite() {
		return nil
	}
	d.lost = true
	m = magnitudes{}
	d.visitOperandRows(j, o, m.measureRow)
	found := &Overflow{Infinite: m.infinite, NaN: m.nan, Elements: m.elements, Largest: m.largest}
	for _, source := range [...]*regs.Operand{&j.ops.Source1, &j.ops.Source2} {
		if !source.DRAM || source.Element == 1 {
			continue // another buffer may have overwritten this one in L2
		}
		var read magnitudes
		d.visitOperandRows(j, source, read.measureRow)
		found.Read = max(found.Read, read.largest)
		found.Given = found.Given || read.infinite+read.nan > 0
	}
	return found
}

// visitOperandRows calls visit for every row of an operand, ordered by group, plane, channel and
// row. It stops when visit returns false, and at the first part that has no view of its own, such
// as a part of an operand that all groups share.
func (d *Device) visitOperandRows(j *job, o *regs.Operand, visit func(row []half) bool) {
	row := make([]half, o.Width)
	for group := range j.task.Groups.GroupCount() {
		for depth := range o.Planes() {
			view, err := d.openOperandView(j, o, group, depth)
			if err != nil {
				return
			}
			for c := range o.Channels {
				for y := range o.Height {
					view.Row(row, c, y)
					if !visit(row) {
						return
					}
				}
			}
		}
	}
}

// openOperandView returns a view that reads operand o of job j back from memory or L2, for one
// group and depth.
func (d *Device) openOperandView(j *job, o *regs.Operand, group, depth int) (tiles.Source, error) {
	switch {
	case o.Role != regs.Destination:
		return d.openSource(j, o, group, depth)
	case o.DRAM:
		return d.mem.View(j.task.Bases.Destination, &o.Surface, group, depth)
	}
	return d.l2.View(o.Tile, o.Shape, group, depth)
}

// magnitudes counts elements by class and keeps the largest finite magnitude.
type magnitudes struct {
	elements, infinite, nan uint64
	largest                 float64
}

func (m *magnitudes) allFinite() bool { return m.infinite+m.nan == 0 }

// checkRowIsFinite records whether row contains an infinity or a NaN. It tests four elements at a
// time and measures nothing else. It reports whether all rows so far were finite.
func (m *magnitudes) checkRowIsFinite(row []half) bool {
	const exponents, carry, top = 0x7c00_7c00_7c00_7c00, 0x0400_0400_0400_0400, 0x8000_8000_8000_8000
	var all uint64
	for ; len(row) >= 4; row = row[4:] {
		four := uint64(row[0]) | uint64(row[1])<<16 | uint64(row[2])<<32 | uint64(row[3])<<48
		all |= four&exponents + carry // carries out where an exponent is all ones
	}
	for _, h := range row {
		all |= uint64(h)&0x7c00 + 0x0400
	}
	if all&top != 0 {
		m.infinite++
	}
	return m.allFinite()
}

// measureRow adds the elements of row to the counts in m. It always returns true, so that
// visitOperandRows continues.
func (m *magnitudes) measureRow(row []half) bool {
	for _, h := range row {
		m.elements++
		switch v := math.Abs(float64(h.Float32())); {
		case v != v:
			m.nan++
		case v > 65504:
			m.infinite++
		default:
			m.largest = max(m.largest, v)
		}
	}
	return true
}
