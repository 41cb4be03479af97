package arrange

import (
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// Attention with relative positions shifts row i of its scores by i columns. Files spell that with
// views in rows of other lengths, which the engine has only as transposes by way of memory:
//
//	x        rows of W
//	pad      a zero before each row: rows of W+1
//	view     rows of another length, and a slice without the first ones
//	view     rows of W, and a slice of the first columns: each row begins one column earlier
//
// A slice whose rows are skewed computes the same in L2.

// SkewSlices replaces a padding and the two slices of it that together shift each row by one column
// more than the row above, by one slice. Views between them need no layer.
func SkewSlices(n *list.Network) {
	makers, readers := map[string]int{}, map[string]int{}
	for i := range n.Layers {
		makers[n.Layers[i].Output] = i
		for _, in := range n.Layers[i].Inputs {
			readers[in]++
		}
	}
	// Results and outputs count as readers: their tensors must stay.
	for _, r := range n.Results {
		readers[r.Tensor]++
	}
	for _, out := range n.Outputs {
		readers[out]++
	}
	source := func(l *list.Layer) int { // the layer whose only reader is l, or -1
		if len(l.Inputs) == 1 && readers[l.Inputs[0]] == 1 {
			if i, ok := makers[l.Inputs[0]]; ok {
				return i
			}
		}
		return -1
	}
	gone := map[int]bool{}
	for i := range n.Layers {
		columns := &n.Layers[i]
		k := source(columns)
		if k < 0 {
			continue
		}
		rows := &n.Layers[k]
		p := source(rows)
		if p < 0 {
			continue
		}
		pad := &n.Layers[p]
		l, ok := skewedSlice(pad, rows, columns)
		if !ok {
			continue
		}
		columns.Lower, columns.Inputs = l, slices.Clone(pad.Inputs)
		columns.Folded = slices.Concat([]string{pad.Name}, pad.Folded, []string{rows.Name}, rows.Folded, columns.Folded)
		gone[p], gone[k] = true, true
	}
	if len(gone) == 0 {
		return
	}
	kept := make([]list.Layer, 0, len(n.Layers)-len(gone))
	for i := range n.Layers {
		if !gone[i] {
			kept = append(kept, n.Layers[i])
		}
	}
	n.Layers = kept
}

// skewedSlice returns the slice of pad's input that has the elements of columns, a slice of columns
// of rows, which is a slice of rows of pad in rows of another length. ok is false if the layers are
// anything else, or if the result has any of the zeros.
func skewedSlice(pad, rows, columns *list.Layer) (l layer.Layer, ok bool) {
	a, b := &rows.Lower, &columns.Lower
	zeros, ok := leftPadding(pad)
	if !ok || rows.Reason != "" || columns.Reason != "" || a.Op != layer.Slice || b.Op != layer.Slice || a.Skew|b.Skew != 0 {
		return l, false
	}
	in, padded := pad.Lower.In, pad.Out
	plane := func(s layer.Shape) [3]int { return [3]int{s.N, s.C, s.H * s.W} }
	if plane(padded) != plane(a.In) || plane(a.Size) != plane(b.In) || a.Size.W != a.In.W ||
		a.Begin != (layer.Shape{H: a.Begin.H}) || b.Begin != (layer.Shape{W: b.Begin.W}) || b.Size.N != in.N || b.Size.C != in.C || b.Size.H > in.H {
		return l, false
	}
	// Element j of row i is element i*b.In.W + j of what a leaves, and so on back to the input.
	l = layer.Layer{Op: layer.Slice, In: in, Size: b.Size, Skew: padded.W - b.In.W}
	l.Begin.W = a.Begin.H*a.In.W + b.Begin.W - zeros
	return l, l.Skew > 0 && l.Validate() == nil
}

// leftPadding returns how many zeros layer l adds before each row of its input, if it does nothing
// else but to leave out columns at the end. The engine pads by a depthwise convolution with one
// weight of 1.
func leftPadding(l *list.Layer) (zeros int, ok bool) {
	const one = float16.Float16(0x3c00)
	x, w := &l.Lower, &l.Lower.Window
	if l.Reason != "" || x.Op != layer.Convolution || !x.IsDepthwise() && x.In.C*x.Cout > 1 || w.Kh != 1 || w.Sy != 1 || w.Sx != 1 || w.Py|w.Qy != 0 ||
		x.Bias || x.Activation != 0 || x.Factor != 0 || x.Dilation > 1 || len(l.Weights.Filter) != x.In.C*w.Kw {
		return 0, false
	}
	tap := slices.Index(l.Weights.Filter, one)
	for i, v := range l.Weights.Filter {
		if i%w.Kw == tap && v != one || i%w.Kw != tap && v != 0 {
			return 0, false
		}
	}
	return w.Px - tap, tap >= 0 && w.Px >= tap
}
