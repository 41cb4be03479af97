package tiles

import (
	"encoding/binary"

	"anesim/hw/regs"
)

// A Window marks the rows and columns of a multiply-accumulate's window that its values need: the
// ones in which any output channel has a nonzero weight. The others lie between the taps of a
// dilated window, or enlarge a window to its padding.
type Window struct {
	Rows, Columns []bool

	layout *layout
	order  []tap
	unseen int // rows and columns without a nonzero weight so far
}

// newWindow returns a window of kernels with layout l in which no row and no column is marked yet.
// The pixels of a step cover several columns together; each pixel covers only the given number.
func newWindow(l *layout, columns int) *Window {
	return &Window{
		Rows: make([]bool, l.kh), Columns: make([]bool, columns),
		layout: l, order: tapsInStreamOrder(l.kh, l.kw, l.sy, l.sx), unseen: l.kh + columns,
	}
}

// markPlane marks the rows and columns in which a plane of width channels has a nonzero weight. The
// plane holds dense weights after its row of biases. markPlane reports whether any row or column is
// unmarked.
func (w *Window) markPlane(plane []byte, width int) (more bool) {
	l := w.layout
	step := 2 * width * l.pixels
	plane = plane[l.bias*step:]
	for i, t := range w.order {
		for pixel := range l.pixels {
			x := t.x - pixel*(l.sx/l.pixels)
			if x < 0 || x >= len(w.Columns) || w.Rows[t.y] && w.Columns[x] {
				continue
			}
			for in := range l.inputs {
				if at := (in*len(w.order) + i) * step; hasNonzero(plane[at:at+step], pixel, l.pixels) {
					w.markNonzero(&w.Rows[t.y])
					w.markNonzero(&w.Columns[x])
					break
				}
			}
		}
	}
	return w.unseen > 0
}

// markNonzero sets *seen, which says whether a row or a column has a nonzero weight. If it was not set
// before, markNonzero decrements the number of unmarked rows and columns.
func (w *Window) markNonzero(seen *bool) {
	if !*seen {
		*seen = true
		w.unseen--
	}
}

// hasNonzero reports whether any of the fp16 values first, first+every and so on in b is not
// zero.
func hasNonzero(b []byte, first, every int) bool {
	for every == 1 && len(b) >= 8 {
		if binary.LittleEndian.Uint64(b)&0x7fff7fff7fff7fff != 0 {
			return true
		}
		b = b[8:]
	}
	for i := 2 * first; i < len(b); i += 2 * every {
		if binary.LittleEndian.Uint16(b[i:])&0x7fff != 0 {
			return true
		}
	}
	return false
}

// countTaps returns the number of taps that are in a marked row and a marked column. It returns 1
// if there are none.
func (w *Window) countTaps() int { return max(1, countTrue(w.Rows)*countTrue(w.Columns)) }

// countTrue returns the number of marks that are set.
func countTrue(marks []bool) (n int) {
	for _, m := range marks {
		if m {
			n++
		}
	}
	return n
}

// NeededTaps returns the number of taps in the window of a multiply-accumulate with registers g
// that its values need: the number of rows with a nonzero weight times the number of columns with
// one, over all output channels, and at least 1. Zeros therefore count unless they fill a row or a
// column. The lanes are the same as for [NewKernel]. NeededTaps returns 0 if the weights cannot be
// read.
func NeededTaps(g *regs.Groups, lanes [Engines][]byte) int {
	k, packing, err := newPackedKernel(g, lanes)
	if err != nil {
		return 0
	}
	w := newWindow(&k.layout, int(g.Common.ConvCfg.Kw()))
	switch {
	case packing == Dense:
		k.markAllPlanes(g, w)
	case packing != Masked && k.markFirstChannel(g, packing, w):
	default:
		if err := k.unpackWeights(g, packing, w.markPlane); err != nil {
			return 0
		}
	}
	return w.countTaps()
}

// markFirstChannel marks in w the rows and columns with nonzero weights in the first input channel
// of the first plane of k, whose weights are packed. It reports whether all rows and columns are
// then marked, which is usual. The packing must store a plane one channel after the other.
func (k *Kernel) markFirstChannel(g *regs.Groups, p Packing, w *Window) bool {
	first := *k
	first.inputs, first.taps = 1, k.kh*k.kw
	w.layout = &first.layout
	err := first.unpackWeights(g, p, func(plane []byte, width int) bool {
		w.markPlane(plane, width)
		return false
	})
	w.layout = &k.layout
	return err == nil && w.unseen == 0
}

// Window returns the rows and columns of the window in which k has a nonzero weight for any
// channel. The values of the task need only these. The registers g must be the ones from which k
// was made.
func (k *Kernel) Window(g *regs.Groups) *Window {
	w := newWindow(&k.layout, int(g.Common.ConvCfg.Kw()))
	k.markAllPlanes(g, w)
	return w
}

// markAllPlanes marks in w the rows and columns with nonzero weights in the planes of k, which must
// be dense. It stops when all rows and columns are marked.
func (k *Kernel) markAllPlanes(g *regs.Groups, w *Window) {
	for group := range g.GroupCount() {
		for c := range k.forEachChunk {
			bytes := 2 * k.countPlaneHalves(c.width)
			for plane := range c.channels / c.width {
				lane := plane % Engines
				at := group*k.group[lane] + 2*c.off + plane/Engines*bytes
				if !w.markPlane(k.lanes[lane][at:at+bytes], c.width) {
					return
				}
			}
		}
	}
}
