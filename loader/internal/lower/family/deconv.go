package family

import (
	"slices"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerDeconvolution appends the tasks of a transposed convolution. A result with strides sy and sx
// consists of sy*sx phases, each with every sy-th row and every sx-th column. Each phase is a
// convolution without a stride: row o uses the taps k for which o + padding - k is a multiple of
// sy, in reverse order. DMA strides interleave the rows of the phases. Columns are first written as
// rows or as channels of an intermediate tensor, whichever is cheaper. All of this is inferred.
func lowerDeconvolution(o *Output, j job) error {
	l, w := j.layer, j.layer.Window
	out := l.Out()
	if err := layer.CheckLimit("number of phases", min(w.Sx, out.W)*min(w.Sy, out.H), task.MaxTasks, "use strides with a product of at most %d"); err != nil {
		return err
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", out)
	switch {
	case min(w.Sx, out.W) == 1:
		return lowerRowPhases(o, j, phaseGroup{columns: []int{0}, part: out}, x, y)
	case fitsColumnPhases(l) && estimateColumnPhases(l) < estimateTransposedPhases(l):
		return lowerColumnPhases(o, j, x, y)
	}
	return lowerTransposedPhases(o, j, x, y)
}

// These constants are the cost of a task in addition to the bytes that it moves, in bytes that
// could be moved in the same time. They are fitted to the model's times of both ways for 1 to 256
// channels, 1x1 to 64x64 pixels, and windows of 2 to 8 with strides of 2 and 4. The way with the
// lower cost takes at most 6.3 % more time than the other.
const (
	convolutionCost = 512
	transposeCost   = 5 << 10
	elementCost     = 4 // of each element transposed
)

// estimateTransposedPhases estimates how many bytes lowerTransposedPhases moves for the layer.
func estimateTransposedPhases(l *layer.Layer) int {
	in, out, stride := l.In, l.Out(), l.Window.Sy
	transposed := in
	transposed.H, transposed.W = in.W, in.H
	groups := groupColumnPhases(transposeDeconvLayer(l))
	convolutions := len(groups) * min(l.Window.Sx, out.W)
	bytes := memoryBytes(in) + memoryBytes(transposed)*(1+convolutions) + memoryBytes(out)
	for _, group := range groups {
		part := layer.Shape{N: out.N, C: len(group) * out.C, H: out.W, W: out.H}
		bytes += 2 * memoryBytes(columnPhaseShape(part, group[0], stride))
	}
	return bytes + elementCost*(in.Elements()+out.Elements()) + convolutionCost*convolutions + transposeCost*(1+min(stride, out.H))
}

// estimateColumnPhases estimates how many bytes lowerColumnPhases moves for the layer.
func estimateColumnPhases(l *layer.Layer) int {
	in, out := l.In, l.Out()
	convolutions := len(groupChannelPhases(l)) * min(l.Window.Sy, out.H)
	columns := layer.Shape{N: out.N, C: out.W, H: out.H, W: out.C}
	bytes := memoryBytes(in)*convolutions + 2*memoryBytes(columns) + memoryBytes(out)
	return bytes + 2*elementCost*out.Elements() + convolutionCost*convolutions + transposeCost
}

// memoryBytes returns how many bytes a tensor of shape s occupies in memory, including the padding
// of its rows.
func memoryBytes(s layer.Shape) int { return place.Surface(0, s).Depth * s.N }

// fitsColumnPhases reports whether lowerColumnPhases can lower the layer. L2 must have room for the
// whole input together with the result of one task.
func fitsColumnPhases(l *layer.Layer) bool {
	in, out := l.In, l.Out()
	rows := place.Packed(regs.Shape{Channels: in.C, Width: in.W}).Row * in.H
	wide := regs.Shape{Channels: out.C * min(l.Window.Sx, out.W), Width: columnPhaseShape(out, 0, l.Window.Sx).W, Height: out.H}
	return rows+transposedRowsLayout(wide).Row*((out.H+l.Window.Sy-1)/l.Window.Sy) <= l.LargestTile()
}

// lowerTransposedPhases appends the tasks of a transposed convolution from x to y by way of
// transposed tensors: it transposes the input, computes the phases of its columns as rows, and
// transposes the phases of rows back on the way to y.
func lowerTransposedPhases(o *Output, j job, x, y place.Memory) error {
	l, stride := j.layer, j.layer.Window.Sy
	t := transposeDeconvolution(j)
	rows := o.allocateTensor(t.layer.In)
	if err := transposeRows(o, l, l.In, x, rows); err != nil {
		return err
	}
	out := t.layer.Out()
	held := o.held
	for _, group := range groupColumnPhases(t.layer) {
		o.held = held
		part := columnPhaseShape(out, group[0], stride)
		all := o.allocateTensor(layer.Shape{N: out.N, C: len(group) * out.C, H: out.H, W: part.W})
		if err := lowerRowPhases(o, t, phaseGroup{columns: group, part: part}, rows, all); err != nil {
			return err
		}
		for i, py := range group {
			from, to := all, y
			from.Base += i * out.C * all.Plane
			to.Base += py * y.Row
			to.Row *= stride
			if err := transposeRows(o, l, columnPhaseShape(out, py, stride), from, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// lowerColumnPhases appends the tasks of a transposed convolution from x to y by way of a tensor
// with channels and columns exchanged. In that tensor DMA strides can interleave the columns of the
// phases. The last task exchanges channels and columns again.
func lowerColumnPhases(o *Output, j job, x, y place.Memory) error {
	l, stride := j.layer, j.layer.Window.Sx
	out := l.Out()
	channels := layer.Shape{N: out.N, C: out.W, H: out.H, W: out.C}
	columns := o.allocateTensor(channels)
	columns.Plane, columns.Row = columns.Row, columns.Row*out.W // the pixels of a row follow each other
	for _, group := range groupChannelPhases(l) {
		to := columns
		to.Base += group[0] * columns.Plane
		to.Plane *= stride
		if err := lowerRowPhases(o, j, phaseGroup{group, columnPhaseShape(out, group[0], stride), true}, x, to); err != nil {
			return err
		}
	}
	return lowerSublayers(o, l, sublayer{layer.Unary(layer.Transpose, channels), &layer.Weights{}, ports{"x": columns, "y": y}})
}

// convolveTransposed appends the tasks that convolve x and write the result to y with channels and
// columns exchanged: each plane of y holds one column.
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
			src, out := ConvSource(l), shareResultShape(l, s)
			t := newMACTask(l, task.MAC{In: src, Out: out, Window: &l.Window, Transpose: true})
			at := t.SourceTile()
			attachKernel(o, made, t, s, t.PlaneWidth(l.Taps()*src.Channels), func(s coeff.Share, width int) *coeff.Kernel {
				return c.Pack(s, width, o.Constants.Reserve)
			})
			if loaded != nil {
				t.ReadTile(loaded, at)
			} else {
				loaded = t.LoadSource1(x.BatchElement(n), at, len(shares) > 1)
			}
			to := y.BatchElement(n)
			to.Base += s.First * layer.ElementBytes
			t.WriteResult(to, layer.RoundUp(at.Row*src.Height, 16))
			o.addTask(t)
		}
	}
	return nil
}

// columnPhaseShape returns shape out with only every stride-th column, starting at column px.
func columnPhaseShape(out layer.Shape, px, stride int) layer.Shape {
	out.W = (out.W - px + stride - 1) / stride
	return out
}

// groupColumnPhases groups the column phases of a transposed convolution so that all phases of a
// group read the same columns of the input. A phase is identified by the first of its columns in
// the result. One convolution can compute a group, with the phases as its output channels.
func groupColumnPhases(l *layer.Layer) (groups [][]int) {
	w := &l.Window
	count, first := 0, 0
	for px := range min(w.Sx, l.Out().W) {
		taps, at := reverseTaps(px+w.Px, w.Kw, w.Sx)
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

// groupChannelPhases returns all column phases as one group if they read the same columns of the
// input and the channels of consecutive phases follow each other in memory without gaps. Otherwise
// it returns one group for each phase.
func groupChannelPhases(l *layer.Layer) [][]int {
	out, stride := l.Out(), l.Window.Sx
	if groups := groupColumnPhases(l); len(groups) == 1 && out.W%stride == 0 && (layer.Shape{W: out.C}).HasPackedRows() {
		return groups
	}
	var single [][]int
	for px := range min(stride, out.W) {
		single = append(single, []int{px})
	}
	return single
}

// A phaseGroup holds phases of columns that read the same columns of the input. One convolution
// computes the channels of all of them.
type phaseGroup struct {
	columns    []int
	part       layer.Shape // shape of the widest result, with all rows
	transposed bool        // channels and columns of the result are transposed
}

// lowerRowPhases appends the tasks that convolve x once for each row phase of p and write the
// results to y.
func lowerRowPhases(o *Output, j job, p phaseGroup, x, y place.Memory) error {
	for py := range min(j.layer.Window.Sy, p.part.H) {
		if err := lowerRowPhase(o, j, py, p, x, y); err != nil {
			return err
		}
	}
	return nil
}

// transposeDeconvLayer returns the transposed convolution l with rows and columns exchanged, both
// in its input and in its window.
func transposeDeconvLayer(l *layer.Layer) *layer.Layer {
	t := *l
	w, v := &t.Window, l.Window
	t.In.H, t.In.W = l.In.W, l.In.H
	*w = layer.Window{Kh: v.Kw, Kw: v.Kh, Sy: v.Sx, Sx: v.Sy, Py: v.Px, Px: v.Py, Qy: v.Qx, Qx: v.Qy}
	return &t
}

// transposeDeconvolution returns job j with rows and columns exchanged, both in its layer and in
// its weights.
func transposeDeconvolution(j job) job {
	l, w := transposeDeconvLayer(j.layer), *j.weights
	if k := l.Window; !w.SizesOnly || len(w.Filter) > 0 {
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

// lowerRowPhase appends the task that computes every stride-th row of the result, starting at row
// py. It reads x and writes to the same rows of to.
func lowerRowPhase(o *Output, j job, py int, p phaseGroup, x, to place.Memory) error {
	l, w, part := j.layer, j.layer.Window, p.part
	part.H = (part.H - py + w.Sy - 1) / w.Sy
	to.Base += py * to.Row
	to.Row *= w.Sy
	ys, firstY := reverseTaps(py+w.Py, w.Kh, w.Sy)
	xs, firstX := reverseTaps(p.columns[0]+w.Px, w.Kw, w.Sx)
	before := max(0, firstX) // columns before the first tap become taps with zero weights
	// The first row of the window is firstY rows below the first result row, or above it if
	// negative.
	window := layer.Window{Kh: len(ys), Kw: before + len(xs), Sy: 1, Sx: 1, Px: max(0, -firstX)}
	from, in := x, l.In
	window.Py, from.Base, in.H = splitWindowStart(firstY, from.Base, x.Row, in.H)
	window.Qy = part.H - 1 + window.Kh - window.Py - in.H
	window.Qx = part.W - 1 + window.Kw - window.Px - in.W
	// The result does not need rows and columns of the input by which the padding is negative.
	in.H, window.Qy = in.H+min(0, window.Qy), max(0, window.Qy)
	in.W, window.Qx = in.W+min(0, window.Qx), max(0, window.Qx)
	c := layer.Conv(in, len(p.columns)*l.Cout, window)
	c.Bias, c.Release, c.Memories = l.Bias, l.Release, l.Memories
	weights := &layer.Weights{Dense: true, SizesOnly: j.weights.SizesOnly}
	for _, px := range p.columns {
		weights.Bias = append(weights.Bias, j.weights.Bias...)
		xs, _ := reverseTaps(px+w.Px, w.Kw, w.Sx)
		xs = slices.Concat(slices.Repeat([]int{-1}, before), xs)
		// The weights are kept dense, so their values do not change the size.
		if weights.SizesOnly && len(j.weights.Filter) == 0 {
			weights.Zero = markZeroTaps(weights.Zero, ys, xs)
			continue
		}
		weights.Filter = slices.Grow(weights.Filter, len(p.columns)*l.Cout*l.In.C*window.Kh*window.Kw-len(weights.Filter))
		weights.Filter = appendTaps(weights.Filter, j, ys, xs)
	}
	if p.transposed {
		return convolveTransposed(o, job{layer: &c, weights: weights}, from, to)
	}
	return lowerSublayers(o, l, sublayer{c, weights, ports{"x": from, "y": to}})
}

// markZeroTaps marks the taps of a window that have no weight, at rows ys and columns xs of the
// layer's window. A row or column of -1 has none. If zero is not nil, a tap must be marked there
// too.
func markZeroTaps(zero []bool, ys, xs []int) []bool {
	var marks []bool
	for _, ky := range ys {
		for _, kx := range xs {
			marks = append(marks, (ky < 0 || kx < 0) && (zero == nil || zero[len(marks)]))
		}
	}
	return marks
}

// appendTaps appends some of the layer's weights to filter and returns the extended slice. For each
// pair of an output and an input channel it appends the taps at rows ys and columns xs of the
// window. A row or column of -1 gives zeros.
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

// reverseTaps returns the taps of one phase of a transposed convolution along one axis, in
// descending order. row is the phase's first row in the result plus the padding, and k is the
// height of the window. first is the input row that taps[0] reads for that row. A phase without
// taps gets the single tap -1, which stands for a weight of zero.
func reverseTaps(row, k, stride int) (taps []int, first int) {
	for tap := row % stride; tap < k; tap += stride {
		taps = append([]int{tap}, taps...)
	}
	if taps == nil {
		return []int{-1}, 0
	}
	return taps, (row - taps[0]) / stride
}

// splitWindowStart turns the input row at which a window starts into an address and padding. The input
// is at address base, with rows that are row bytes apart. If first is negative, the window starts
// with pad rows of padding; otherwise pad is 0. address is the address of the first row that is not
// padding, and rest is the number of rows from there to the end.
func splitWindowStart(first, base, row, rows int) (pad, address, rest int) {
	skip := max(0, first)
	return max(0, -first), base + skip*row, rows - skip
}
