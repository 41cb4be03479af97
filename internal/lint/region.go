package lint

import (
	"cmp"
	"slices"

	"anesim/hw/regs"
)

// Alignment of rows: strides and bases are multiples of these.
const (
	memoryUnit = 64
	l2Unit     = 16
)

// An axis describes n equal parts of a layout, such as rows, whose starts are stride bytes apart.
// The name is that of the register with the stride.
type axis struct {
	n, stride int64
	name      string
}

// A layout describes the bytes of a surface or a buffer: runs of inner bytes, at base plus all
// combinations of multiples of the strides. Sums stay far below 2^63, because register values are
// small: five factors of at most 2^17 and 2^32.
type layout struct {
	base, inner int64
	axes        [4]axis // innermost first, as in the tensor
	unit        int64
}

// Names of the registers with the strides of operands: between columns or channels, rows, planes in
// depth, and groups.
var (
	memoryStrides = [...][4]string{
		{"TileDMASrc.Src1PlaneStride", "TileDMASrc.Src1RowStride", "TileDMASrc.Src1DepthStride", "TileDMASrc.Src1GroupStride"},
		{"TileDMASrc.Src2PlaneStride", "TileDMASrc.Src2RowStride", "TileDMASrc.Src2DepthStride", "TileDMASrc.Src2GroupStride"},
		{"TileDMADst.DstPlaneStride", "TileDMADst.DstRowStride", "TileDMADst.DstDepthStride", "TileDMADst.DstGroupStride"},
	}
	l2Strides = [...][4]string{
		{"L2.Src1ChannelStride", "L2.Src1RowStride", "L2.Src1DepthStride", "L2.Src1GroupStride"},
		{"L2.Src2ChannelStride", "L2.Src2RowStride", "L2.Src2DepthStride", "L2.Src2GroupStride"},
		{"L2.ResultChannelStride", "L2.ResultRowStride", "L2.ResultDepthStride", "L2.ResultGroupStride"},
	}
	memoryBases = [...]string{"TileDMASrc.Src1Base", "TileDMASrc.Src2Base", "TileDMADst.DstBase"}
	l2Bases     = [...]string{"L2.Src1Base", "L2.Src2Base", "L2.ResultBase"}
)

// newMemoryLayout returns the layout of an operand in device memory at the address addr.
func newMemoryLayout(o *regs.Operand, addr uint64) layout {
	planes, row := o.Channels, o.Width
	if o.Transposed {
		planes, row = row, planes
	}
	if o.Interleave > 1 {
		planes, row = (planes+o.Interleave-1)/o.Interleave, row*o.Interleave
	}
	names := &memoryStrides[o.Role]
	return layout{int64(addr), int64(row) * elementBytes(o.Surface.Element), [4]axis{
		{int64(o.Height), o.Row, names[1]}, {int64(planes), o.Plane, names[0]},
		{int64(o.Planes()), o.DepthStride, names[2]}, {int64(o.Groups), o.Group, names[3]},
	}, memoryUnit}
}

// newL2Layout returns the layout of an operand's buffer in L2.
func newL2Layout(o *regs.Operand) layout {
	channels, row := o.Channels, o.Width
	t := &o.Tile
	if t.Transposed {
		channels, row = row, channels
	}
	names := &l2Strides[o.Role]
	return layout{int64(t.Base), int64(row) * elementBytes(t.Element), [4]axis{
		{int64(channels), int64(t.Channel), names[0]}, {int64(o.Height), int64(t.Row), names[1]},
		{int64(o.Planes()), int64(t.Depth), names[2]}, {int64(o.Groups), int64(t.Group), names[3]},
	}, l2Unit}
}

// elementBytes returns n, the size of an element in bytes, or 2 if n is 0.
func elementBytes(n int) int64 { return int64(cmp.Or(n, 2)) }

// dropRepeatedAxes compares l with o, another layout of the same source. It sets the length of each
// axis along which both have stride 0 to 1. Such axes occur if groups share an operand.
func (l *layout) dropRepeatedAxes(o *layout) {
	for i := range l.axes {
		if l.axes[i].stride == 0 && o.axes[i].stride == 0 {
			l.axes[i].n = min(l.axes[i].n, 1)
		}
	}
}

// isEmpty reports whether the layout has no elements.
func (l *layout) isEmpty() bool {
	return l.inner <= 0 || slices.ContainsFunc(l.axes[:], func(a axis) bool { return a.n <= 0 })
}

// A region is the set of bytes of a layout in a canonical form: strides are positive, axes of
// length one are removed, and adjacent runs are merged. It is comparable.
type region struct {
	base, run int64
	axes      [4]struct {
		n      int32
		stride uint32
	} // longest stride first, zero after the last
}

// toRegion returns the region of bytes that a layout covers, which consists of whole units.
// The layout must not be empty.
func (l *layout) toRegion() region {
	r := region{base: l.base, run: (l.inner + l.unit - 1) / l.unit * l.unit}
	if l.base%l.unit != 0 { // a buffer at an odd address: rows may end within a unit
		r.run = l.inner
	}
	axes := l.axes
	for i := range axes {
		a := &axes[i]
		if a.stride < 0 {
			r.base += (a.n - 1) * a.stride
			a.stride = -a.stride
		}
	}
	slices.SortFunc(axes[:], func(a, b axis) int { return cmp.Compare(a.stride, b.stride) })
	kept := len(r.axes)
	for _, a := range axes {
		switch {
		case a.n <= 1 || a.stride == 0:
		case a.stride <= r.run:
			r.run += (a.n - 1) * a.stride
		default:
			kept--
			r.axes[kept].n, r.axes[kept].stride = int32(a.n), uint32(a.stride)
		}
	}
	copy(r.axes[:], r.axes[kept:])
	clear(r.axes[len(r.axes)-kept:])
	return r
}

// countRuns returns the number of contiguous byte ranges of the region, or limit+1 if there are
// more than limit.
func (r *region) countRuns(limit int64) int64 {
	n := int64(1)
	for _, a := range r.axes {
		if a.n > 1 {
			n = min(n*int64(a.n), limit+1) // 2^17 * 2^32 does not overflow
		}
	}
	return n
}

// endAddress returns the address after the last byte of the region.
func (r *region) endAddress() int64 {
	end := r.base + r.run
	for _, a := range r.axes {
		if a.n > 1 {
			end += int64(a.n-1) * int64(a.stride)
		}
	}
	return end
}

// forEachRun calls f for every contiguous range of the region. The range begins at lo and ends
// before hi.
func (r *region) forEachRun(f func(lo, hi int64)) { r.forEachRunFrom(0, r.base, f) }

// forEachRunFrom calls f for the contiguous ranges along the axes from k on. The argument base is
// the address of their first byte.
func (r *region) forEachRunFrom(k int, base int64, f func(lo, hi int64)) {
	if k == len(r.axes) || r.axes[k].n == 0 {
		f(base, base+r.run)
		return
	}
	for i := range int64(r.axes[k].n) {
		r.forEachRunFrom(k+1, base+i*int64(r.axes[k].stride), f)
	}
}

// meetSteps limits how long intersects searches, in steps.
const meetSteps = 256

// intersects reports whether the region contains a byte from lo to hi-1. It gives up and returns
// false if the search takes too long.
func (r *region) intersects(lo, hi int64) bool {
	steps := meetSteps
	return r.intersectsFrom(0, r.base, r.endAddress()-r.base, lo, hi, &steps)
}

// intersectsFrom is like intersects, but for the part of the region along the axes from k on, which
// begins at the address base and has the given length in bytes.
func (r *region) intersectsFrom(k int, base, length, lo, hi int64, steps *int) bool {
	if *steps--; *steps < 0 || base >= hi || base+length <= lo {
		return false
	}
	if k == len(r.axes) || r.axes[k].n == 0 {
		return true
	}
	n, stride := int64(r.axes[k].n), int64(r.axes[k].stride)
	length -= (n - 1) * stride
	first := int64(0)
	if d := lo - base - length; d >= 0 {
		first = d/stride + 1
	}
	for i := first; i < n && base+i*stride < hi; i++ {
		if r.intersectsFrom(k+1, base+i*stride, length, lo, hi, steps) {
			return true
		}
		if *steps < 0 {
			return false
		}
	}
	return false
}
