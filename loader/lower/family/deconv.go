package family

import (
	"slices"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// lowerDeconvolution lowers a transposed convolution to convolutions of stride 1, one for each
// phase of its result: row o takes the taps k with (o + padding - k) mod stride = 0, turned.
// The DMA's strides write the phases of rows. Those of columns are written as rows or as
// channels of a tensor in between, whichever is cheaper (inferred).
func lowerDeconvolution(o *Output, j job) error {
	l, w := j.layer, j.layer.Window
	out := l.Out()
	if err := layer.CheckLimit("phases", min(w.Sx, out.W)*min(w.Sy, out.H), task.MaxTasks, "use strides with a product of at most %d"); err != nil {
		return err
	}
	x, y := o.input(j, "x", l.In), o.output(j, "y", out)
	switch {
	case min(w.Sx, out.W) == 1:
		return lowerRowPhases(o, j, phases{columns: []int{0}, part: out}, x, y)
	case columnPhasesFit(l) && columnPhasesCost(l) < turnedPhasesCost(l):
		return lowerColumnPhases(o, j, x, y)
	}
	return lowerTurnedPhases(o, j, x, y)
}

// What a task costs beside the bytes that it moves, in bytes that move in the same time. Fitted to
// the model's times of both ways for 1 to 256 channels, 1x1 to 64x64 pixels, and
// windows of 2 to 8 with strides of 2 and 4: the way that it picks takes at most 6.3 % more time
// than the other.
const (
	convolutionCost = 512
	transposeCost   = 5 << 10
	elementCost     = 4 // of each element transposed
)

// turnedPhasesCost returns what lowerTurnedPhases costs.
func turnedPhasesCost(l *layer.Layer) int {
	in, out, stride := l.In, l.Out(), l.Window.Sy
	turned := in
	turned.H, turned.W = in.W, in.H
	groups := columnGroups(turnedWindow(l))
	convolutions := len(groups) * min(l.Window.Sx, out.W)
	bytes := memoryBytes(in) + memoryBytes(turned)*(1+convolutions) + memoryBytes(out)
	for _, group := range groups {
		part := layer.Shape{N: out.N, C: len(group) * out.C, H: out.W, W: out.H}
		bytes += 2 * memoryBytes(phaseOf(part, group[0], stride))
	}
	return bytes + elementCost*(in.Elements()+out.Elements()) + convolutionCost*convolutions + transposeCost*(1+min(stride, out.H))
}

// columnPhasesCost returns what lowerColumnPhases costs.
func columnPhasesCost(l *layer.Layer) int {
	in, out := l.In, l.Out()
	convolutions := len(channelGroups(l)) * min(l.Window.Sy, out.H)
	columns := layer.Shape{N: out.N, C: out.W, H: out.H, W: out.C}
	bytes := memoryBytes(in)*convolutions + 2*memoryBytes(columns) + memoryBytes(out)
	return bytes + 2*elementCost*out.Elements() + convolutionCost*convolutions + transposeCost
}

// memoryBytes returns what a tensor takes in memory.
func memoryBytes(s layer.Shape) int { return place.Surface(0, s).Depth * s.N }

// columnPhasesFit reports whether the L2 holds a whole input with the results of a task of
// lowerColumnPhases, and no activation needs a task of its own.
func columnPhasesFit(l *layer.Layer) bool {
	if a := l.Activation; a != 0 && a != layer.ReLU {
		return false
	}
	in, out := l.In, l.Out()
	rows := place.Packed(regs.Shape{Channels: in.C, Width: in.W}).Row * in.H
	wide := regs.Shape{Channels: out.C * min(l.Window.Sx, out.W), Width: phaseOf(out, 0, l.Window.Sx).W, Height: out.H}
	return rows+transposedTile(wide).Row*((out.H+l.Window.Sy-1)/l.Window.Sy) <= l.LargestTile()
}

// lowerTurnedPhases makes rows of the input's columns first, whose phases strides write. The
// phases of rows are then columns, made rows again on the way to their places.
func lowerTurnedPhases(o *Output, j job, x, y place.Memory) error {
	l, stride := j.layer, j.layer.Window.Sy
	t := turnedDeconvolution(j)
	rows := o.allocate(t.layer.In)
	if err := transposeRows(o, l, l.In, x, rows); err != nil {
		return err
	}
	out := t.layer.Out()
	held := o.held
	for _, group := range columnGroups(t.layer) {
		o.held = held
		part := phaseOf(out, group[0], stride)
		all := o.allocate(layer.Shape{N: out.N, C: len(group) * out.C, H: out.H, W: part.W})
		if err := lowerRowPhases(o, t, phases{columns: group, part: part}, rows, all); err != nil {
			return err
		}
		for i, py := range group {
			from, to := all, y
			from.Base += i * out.C * all.Plane
			to.Base += py * y.Row
			to.Row *= stride
			if err := transposeRows(o, l, phaseOf(out, py, stride), from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// lowerColumnPhases writes the results of each phase with channels and columns transposed, as
// products are, so that strides put columns beside one another, and transposes them again.
func lowerColumnPhases(o *Output, j job, x, y place.Memory) error {
	l, stride := j.layer, j.layer.Window.Sx
	out := l.Out()
	channels := layer.Shape{N: out.N, C: out.W, H: out.H, W: out.C}
	columns := o.allocate(channels)
	columns.Plane, columns.Row = columns.Row, columns.Row*out.W // a row's pixels side by side
	for _, group := range channelGroups(l) {
		to := columns
		to.Base += group[0] * columns.Plane
		to.Plane *= stride
		if err := lowerRowPhases(o, j, phases{group, phaseOf(out, group[0], stride), true}, x, to); err != nil {
			return err
		}
	}
	return lowerPieces(o, l, piece{layer.Unary(layer.Transpose, channels), &layer.Weights{}, ports{"x": columns, "y": y}})
}

// convolveTransposed convolves to columns of channels, which the memory has as planes.
func convolveTransposed(o *Output, j job, x, y place.Memory) error {
	l := j.layer
	c := &coeff.Convolution{Layer: l, Weights: j.weights, Rows: l.Window.Kh, Columns: l.Window.Kw}
	shares, err := c.Shares()
	if err != nil {
		return err
	}
	made := kernels{}
	for n := range l.In.N {
		var loaded *task.Tile
		for _, s := range shares {
			src, out := ConvSource(l), shareResult(l, s)
			t := newMACTask(l, task.MAC{In: src, Out: out, Window: &l.Window, Transpose: true})
			at := t.SourceTile()
			attachKernel(o, made, t, s, t.PlaneWidth(l.Taps()*src.Channels), func(s coeff.Share, width int) *coeff.Kernel {
				return c.Pack(s, width, o.Constants.Reserve)
			})
			if loaded != nil {
				t.ReadTile(loaded, at)
			} else {
				loaded = t.LoadSource1(x.BatchElement(n), at, len(shares) > 1)
				loaded.Bytes = at.Row * src.Height
			}
			to := y.BatchElement(n)
			to.Base += s.First * layer.ElementBytes
			t.WriteResult(to, layer.RoundUp(at.Row*src.Height, 16))
			o.add(t)
		}
	}
	return nil
}

// phaseOf returns the shape of a phase of columns.
func phaseOf(out layer.Shape, px, stride int) layer.Shape {
	out.W = (out.W - px + stride - 1) / stride
	return out
}

// columnGroups returns the phases of columns, together those that see the same columns of the
// input: one convolution has their channels.
func columnGroups(l *layer.Layer) (groups [][]int) {
	w := &l.Window
	count, first := 0, 0
	for px := range min(w.Sx, l.Out().W) {
		taps, at := turnedTaps(px+w.Px, w.Kw, w.Sx)
		k := len(groups) - 1
		if k < 0 || len(taps) != count || at != first || (len(groups[k])+1)*l.Cout > layer.MaxExtent {
			groups = append(groups, nil)
			k++
		}
		groups[k] = append(groups[k], px)
		count, first = len(taps), at
	}
	return groups
}

// channelGroups returns the phases of columns, together where all of them are one group and their
// channels stand in one row without gaps.
func channelGroups(l *layer.Layer) [][]int {
	out, stride := l.Out(), l.Window.Sx
	if groups := columnGroups(l); len(groups) == 1 && out.W%stride == 0 && (layer.Shape{W: out.C}).HasPackedRows() {
		return groups
	}
	var single [][]int
	for px := range min(stride, out.W) {
		single = append(single, []int{px})
	}
	return single
}

// phases are phases of columns that see the same columns of the input. One convolution
// has the channels of all.
type phases struct {
	columns    []int
	part       layer.Shape // the result of the widest, with all rows
	transposed bool        // its channels and columns
}

// lowerRowPhases convolves for each phase of rows.
func lowerRowPhases(o *Output, j job, p phases, x, y place.Memory) error {
	for py := range min(j.layer.Window.Sy, p.part.H) {
		if err := lowerPhase(o, j, py, p, x, y); err != nil {
			return err
		}
	}
	return nil
}

// turnedWindow returns the transposed convolution of the input with its rows as columns.
func turnedWindow(l *layer.Layer) *layer.Layer {
	t := *l
	w, v := &t.Window, l.Window
	t.In.H, t.In.W = l.In.W, l.In.H
	*w = layer.Window{Kh: v.Kw, Kw: v.Kh, Sy: v.Sx, Sx: v.Sy, Py: v.Px, Px: v.Py, Qy: v.Qx, Qx: v.Qy}
	return &t
}

// turnedDeconvolution returns the job of turnedWindow.
func turnedDeconvolution(j job) job {
	l, w := turnedWindow(j.layer), *j.weights
	if k := l.Window; !w.SizesOnly {
		w.Filter, w.Source = make([]float16.Float16, 0, l.Cout*l.In.C*k.Kh*k.Kw), nil
		for n := range l.Cout * l.In.C {
			for y := range k.Kh {
				for x := range k.Kw {
					w.Filter = append(w.Filter, j.weights.Weight((n*k.Kw+x)*k.Kh+y))
				}
			}
		}
	}
	return job{layer: l, weights: &w}
}

// lowerPhase convolves for the rows of one phase.
func lowerPhase(o *Output, j job, py int, p phases, x, to place.Memory) error {
	l, w, part := j.layer, j.layer.Window, p.part
	part.H = (part.H - py + w.Sy - 1) / w.Sy
	to.Base += py * to.Row
	to.Row *= w.Sy
	ys, firstY := turnedTaps(py+w.Py, w.Kh, w.Sy)
	xs, firstX := turnedTaps(p.columns[0]+w.Px, w.Kw, w.Sx)
	before := max(0, firstX) // taps before the first column are zeros in front of the window
	// The window's first row stands firstY rows from the result's, above if negative.
	window := layer.Window{Kh: len(ys), Kw: before + len(xs), Sy: 1, Sx: 1, Px: max(0, -firstX)}
	from, in := x, l.In
	window.Py, from.Base, in.H = beginAt(firstY, from.Base, x.Row, in.H)
	window.Qy = part.H - 1 + window.Kh - window.Py - in.H
	window.Qx = part.W - 1 + window.Kw - window.Px - in.W
	if window.Qy < 0 {
		in.H, window.Qy = in.H+window.Qy, 0
	}
	if window.Qx < 0 {
		in.W, window.Qx = in.W+window.Qx, 0
	}
	c := layer.Conv(in, len(p.columns)*l.Cout, window)
	c.Bias, c.Activation, c.Release, c.Memories = l.Bias, l.Activation, l.Release, l.Memories
	weights := &layer.Weights{Dense: true, SizesOnly: j.weights.SizesOnly, Table: j.weights.Table, Tables: j.weights.Tables}
	for _, px := range p.columns {
		weights.Bias = append(weights.Bias, j.weights.Bias...)
		if !weights.SizesOnly { // they are kept dense: zeros or not is the same
			xs, _ := turnedTaps(px+w.Px, w.Kw, w.Sx)
			weights.Filter = slices.Grow(weights.Filter, len(p.columns)*l.Cout*l.In.C*window.Kh*window.Kw-len(weights.Filter))
			weights.Filter = appendTaps(weights.Filter, j, ys, slices.Concat(slices.Repeat([]int{-1}, before), xs))
		}
	}
	if p.transposed {
		return convolveTransposed(o, job{layer: &c, weights: weights}, from, to)
	}
	return lowerPieces(o, l, piece{c, weights, ports{"x": from, "y": to}})
}

// appendTaps appends the weights at some rows and columns of the window, zeros at those
// below zero.
func appendTaps(filter []float16.Float16, j job, ys, xs []int) []float16.Float16 {
	l, w := j.layer, j.layer.Window
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
	return filter
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
