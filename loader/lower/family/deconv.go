package family

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// lowerDeconvolution lowers a transposed convolution to one convolution of stride 1 for each phase
// of its result: row o takes the taps k with (o + padding - k) mod stride = 0, turned. The
// phases of rows are written by the DMA's strides; those of columns as rows of a transposed
// tensor, transposed again at the end (inferred).
func lowerDeconvolution(o *Output, j job) error {
	l, w := j.layer, j.layer.Window
	out := l.Out()
	if err := layer.CheckLimit("phases", min(w.Sx, out.W)*min(w.Sy, out.H), task.MaxTasks, "use strides with a product of at most %d"); err != nil {
		return err
	}
	x, y := o.input(j, "x", l.In), o.output(j, "y", out)
	single := w.Sx == 1
	turned := layer.Shape{N: out.N, C: out.C, H: out.W, W: out.H}
	var columns place.Memory
	if !single {
		columns = o.allocate(turned)
	}
	held := o.held
	for px := range min(w.Sx, out.W) {
		part := out
		part.W = (out.W - px + w.Sx - 1) / w.Sx
		to := y
		o.held = held
		if !single {
			to = o.allocate(part)
		}
		for py := range min(w.Sy, out.H) {
			if err := lowerPhase(o, j, py, px, part, x, to); err != nil {
				return err
			}
		}
		if single {
			continue
		}
		phase := columns
		phase.Base += px * columns.Row
		phase.Row *= w.Sx
		if err := transposeRows(o, l, part, to, phase); err != nil {
			return err
		}
	}
	if single {
		return nil
	}
	return transposeRows(o, l, turned, columns, y)
}

// lowerPhase convolves for the rows and columns of one phase. part has the columns alone.
func lowerPhase(o *Output, j job, py, px int, part layer.Shape, x, to place.Memory) error {
	l, w := j.layer, j.layer.Window
	part.H = (part.H - py + w.Sy - 1) / w.Sy
	to.Base += py * to.Row
	to.Row *= w.Sy
	ys, firstY := turnedTaps(py+w.Py, w.Kh, w.Sy)
	xs, firstX := turnedTaps(px+w.Px, w.Kw, w.Sx)
	// The window's first row stands firstY rows from the result's, above if negative.
	window := layer.Window{Kh: len(ys), Kw: len(xs), Sy: 1, Sx: 1}
	from, in := x, l.In
	window.Py, from.Base, in.H = beginAt(firstY, from.Base, x.Row, in.H)
	if window.Px = -firstX; firstX > 0 {
		// Taps before the first column are zeros in front of the window.
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
	if !j.weights.SizesOnly { // they are kept dense: zeros or not is the same
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

// turnedTaps returns the taps of a phase from the last to the first, and the row of the input
// that the first of them takes for the phase's first row. Without any tap there is one of
// zero weight.
func turnedTaps(at, k, stride int) (taps []int, first int) {
	for tap := at % stride; tap < k; tap += stride {
		taps = append([]int{tap}, taps...)
	}
	if taps == nil {
		return []int{-1}, 0
	}
	return taps, (at - taps[0]) / stride
}

// beginAt turns a window's first row into padding or a later first row of the input.
func beginAt(first, base, row, rows int) (pad, at, left int) {
	if first < 0 {
		return -first, base, rows
	}
	return 0, base + first*row, rows - first
}
