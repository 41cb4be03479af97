package hw

import (
	"math"

	"anesim/hw/regs"
	"anesim/hw/tiles"
)

// An Overflow is where values leave fp16: the first descriptor of a dispatch whose result has
// an infinity or a NaN. The engine saturates nothing, so that whatever is computed from such a
// result is lost as well.
type Overflow struct {
	Infinite, NaN uint64  // elements of the result
	Elements      uint64  // of the result
	Largest       float64 // magnitude among the finite elements of the result
	// Read is the largest magnitude among the finite elements that the descriptor read from
	// memory. Given reports that it read an infinity or a NaN from there: the values were
	// lost before the dispatch.
	Read  float64
	Given bool
}

// overflow looks for the first result of the dispatch that is not finite, which is that of the
// job's task, and returns nil where there is none. Results of 8-bit elements and those that
// never leave a ring are not looked at: another descriptor reads them.
func (d *Device) overflow(j *job) *Overflow {
	o := &j.ops.Result
	if d.lost || o.Element == 1 || o.L2 == regs.Circular {
		return nil
	}
	var m magnitudes
	if d.eachRow(j, o, m.lookThrough); m.finite() {
		return nil
	}
	d.lost = true
	m = magnitudes{}
	d.eachRow(j, o, m.measure)
	found := &Overflow{Infinite: m.infinite, NaN: m.nan, Elements: m.elements, Largest: m.largest}
	for _, source := range [...]*regs.Operand{&j.ops.Source1, &j.ops.Source2} {
		if !source.DRAM || source.Element == 1 {
			continue // a tile in the L2 may have the result's place by now
		}
		var read magnitudes
		d.eachRow(j, source, read.measure)
		found.Read = max(found.Read, read.largest)
		found.Given = found.Given || read.infinite+read.nan > 0
	}
	return found
}

// eachRow calls visit with every row of an operand, in the order of its groups and planes,
// until visit returns false. It stops at a part that has no view of its own, such as one of an
// operand that every group reads.
func (d *Device) eachRow(j *job, o *regs.Operand, visit func(row []half) bool) {
	row := make([]half, o.Width)
	for group := range j.task.Groups.GroupCount() {
		for depth := range o.Planes() {
			view, err := d.operand(j, o, group, depth)
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

// operand is where a part of an operand is read back from: memory, or the L2.
func (d *Device) operand(j *job, o *regs.Operand, group, depth int) (tiles.Source, error) {
	switch {
	case o.Role != regs.Destination:
		return d.source(j, o, group, depth)
	case o.DRAM:
		return d.mem.View(j.task.Bases.Destination, &o.Surface, group, depth)
	}
	return d.pad.View(o.Tile, o.Shape, group, depth)
}

// magnitudes are counts over elements.
type magnitudes struct {
	elements, infinite, nan uint64
	largest                 float64
}

func (m *magnitudes) finite() bool { return m.infinite+m.nan == 0 }

// lookThrough counts nothing but whether there is an element that is not finite, and reports
// whether all were finite so far. It looks at four elements at a time.
func (m *magnitudes) lookThrough(row []half) bool {
	const exponents, carry, top = 0x7c00_7c00_7c00_7c00, 0x0400_0400_0400_0400, 0x8000_8000_8000_8000
	var all uint64
	for ; len(row) >= 4; row = row[4:] {
		four := uint64(row[0]) | uint64(row[1])<<16 | uint64(row[2])<<32 | uint64(row[3])<<48
		all |= four&exponents + carry // carries where an exponent is all ones
	}
	for _, h := range row {
		all |= uint64(h)&0x7c00 + 0x0400
	}
	if all&top != 0 {
		m.infinite++
	}
	return m.finite()
}

func (m *magnitudes) measure(row []half) bool {
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
