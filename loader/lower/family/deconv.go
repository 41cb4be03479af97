package family

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// lowerDeconvolution lowers a transposed convolution to one convolution with stride 1 for each
// phase of its result. Row o uses the taps k with (o + padding - k) mod stride = 0, in reverse
// order. The strides of the DMA interleave the phases of rows. The phases of columns are written
// as rows of a transposed tensor, which is transposed again at the end. All of this is inferred.
func lowerDeconvolution(o *Output, j job) error {
	l, w := j.layer, j.layer.Window
	out := l.Out()
	if err := layer.CheckLimit("number of phases", min(w.Sx, out.W)*min(w.Sy, out.H), task.MaxTasks, "use strides with a product of at most %d"); err != nil {
		return err
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", out)
	oneColumnPhase := w.Sx == 1
	transposed := layer.Shape{N: out.N, C: out.C, H: out.W, W: out.H}
	var columns place.Memory
	if !oneColumnPhase {
		columns = o.allocate(transposed)
	}
	held := o.held
	for px := range min(w.Sx, out.W) {
		part := out
		part.W = (out.W - px + w.Sx - 1) / w.Sx
		to := y
		o.held = held
		if !oneColumnPhase {
			to = o.allocate(part)
		}
		for py := range min(w.Sy, out.H) {
			if err := lowerPhase(o, j, py, px, part, x, to); err != nil {
				return err
			}
		}
		if oneColumnPhase {
			continue
		}
		phase := columns
		phase.Base += px * columns.Row
		phase.Row *= w.Sx
		if err := transposeRows(o, l, part, to, phase); err != nil {
			return err
		}
	}
	if oneColumnPhase {
		return nil
	}
	return transposeRows(o, l, transposed, columns, y)
}

// lowerPhase convolves x for the rows of phase py and the columns of phase px. part is the shape
// of the result with the columns of the phase and all rows.
func lowerPhase(o *Output, j job, py, px int, part layer.Shape, x, to place.Memory) error {
	l, w := j.layer, j.layer.Window
	part.H = (part.H - py + w.Sy - 1) / w.Sy
	to.Base += py * to.Row
	to.Row *= w.Sy
	ys, firstY := reverseTaps(py+w.Py, w.Kh, w.Sy)
	xs, firstX := reverseTaps(px+w.Px, w.Kw, w.Sx)
	// The first row of the window is firstY rows below the first result row, or above it if negative.
	window := layer.Window{Kh: len(ys), Kw: len(xs), Sy: 1, Sx: 1}
	from, in := x, l.In
	window.Py, from.Base, in.H = splitOffset(firstY, from.Base, x.Row, in.H)
	if window.Px = -firstX; firstX > 0 {
		// Columns before the first tap become taps with zero weights.
		xs = append(make([]int, firstX), xs...)
		for i := range firstX {
			xs[i] = -1
		}
		window.Kw, window.Px = len(xs), 0
	}
	window.Qy = part.H - 1 + len(ys) - window.Py - in.H
	window.Qx = part.W - 1 + len(xs) - window.Px - in.W
	if window.Qy < 0 {
		in.H, window.Qy = in.H+window.Qy, 0
	}
	if window.Qx < 0 {
		in.W, window.Qx = in.W+window.Qx, 0
	}
	var filter []float16.Float16
	if !j.weights.SizesOnly { // the weights are kept dense, so their values do not change the size
		filter = make([]float16.Float16, 0, l.Cout*l.In.C*len(ys)*len(xs))
		for n := range l.Cout * l.In.C {
			for _, ky := range ys {
				for _, kx := range xs {
					v := float16.Float16(0)
					if ky >= 0 && kx >= 0 {
						v = j.weights.Weight((n*w.Kh+ky)*w.Kw + kx)
					}
					filter = append(filter, v)
				}
			}
		}
	}
	c := layer.Conv(in, l.Cout, window)
	c.Bias, c.Activation = l.Bias, l.Activation
	return lowerPieces(o, l, piece{c, &layer.Weights{Filter: filter, Bias: j.weights.Bias, Dense: true, SizesOnly: j.weights.SizesOnly, Table: j.weights.Table, Tables: j.weights.Tables}, ports{"x": from, "y": to}})
}

// reverseTaps returns the taps of a phase, last one first, and the input row that the first of
// them reads for the first row of the phase. k is the number of taps of the whole window. If the
// phase has no taps, reverseTaps returns one tap, -1, which has zero weight.
func reverseTaps(at, k, stride int) (taps []int, first int) {
	for tap := at % stride; tap < k; tap += stride {
		taps = append([]int{tap}, taps...)
	}
	if taps == nil {
		return []int{-1}, 0
	}
	return taps, (at - taps[0]) / stride
}

// splitOffset splits the offset of a window's first row into rows of padding, if it is negative,
// or into rows of the input to skip. It returns the padding, the address of the first row to
// read and the number of rows left.
func splitOffset(first, base, row, rows int) (pad, at, left int) {
	if first < 0 {
		return -first, base, rows
	}
	return 0, base + first*row, rows - first
}
