package settle

import (
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// maxExtent is the largest number of rows or columns of a task. layer.MaxExtent has the evidence.
const maxExtent = 1 << 14

// A wideWindow is a convolution, a pool or a transposed convolution along an axis that is too long for a
// task, such as one of sound: its results come in parts, each from a slice of the input.
type wideWindow struct {
	ops.Window
	axis       int // of the spatial axes
	transposed bool
	extent     int // of the input along the axis
}

// readWideWindow returns the window of n, or nil if n is no such node.
func readWideWindow(n *graph.Node) *wideWindow {
	if len(n.In) == 0 || n.Domain != "" || n.Asked(1) {
		return nil
	}
	d := n.In[0].Dims
	if len(d) < 3 || len(d) > 4 {
		return nil
	}
	w := &wideWindow{axis: -1, transposed: n.Op == "ConvTranspose"}
	var taps []int
	switch n.Op {
	case "Conv", "ConvTranspose":
		if len(n.In) < 2 || n.Const(1) == nil || len(n.In[1].Dims) != len(d) || n.Given(2) && n.Const(2) == nil {
			return nil
		}
		taps = n.In[1].Dims[2:]
	case "MaxPool", "AveragePool":
	default:
		return nil
	}
	var err error
	if w.transposed {
		w.Window, err = ops.TransposedWindow(n, d, n.In[1].Dims)
	} else {
		w.Window, err = ops.WindowOf(n, d[2:], taps)
	}
	if err != nil {
		return nil
	}
	for i, extent := range d[2:] {
		// A window of one element has no neighbours, so that its rows fold.
		if max(extent, w.Out[i]) > maxExtent && (w.Taps[i] > 1 || w.Strides[i] > 1) {
			w.axis, w.extent = i, extent
		}
	}
	if w.axis < 0 || w.Overhang != nil && w.Overhang[w.axis] != 0 || w.span() > maxExtent/2 {
		return nil
	}
	return w
}

// span returns the number of elements from the first to the last tap.
func (w *wideWindow) span() int { return (w.Taps[w.axis]-1)*w.Dilations[w.axis] + 1 }

// sources returns the elements of the input that the results from first to end need, and the padding of a
// node that computes just these results from them.
func (w *wideWindow) sources(first, end int) (from, to, before, after int) {
	stride, span, pad := w.Strides[w.axis], w.span(), w.Before[w.axis]
	if w.transposed {
		// Result j of a slice from element i on is result j + i*stride - pad of the whole.
		from = min(max(0, (first+pad-span+stride)/stride), w.extent-1)
		to = max(from+1, min(w.extent, (end-1+pad)/stride+1))
		before = first + pad - from*stride
		return from, to, before, (to-from-1)*stride + span - before - (end - first)
	}
	from, to = first*stride-pad, (end-1)*stride+span-pad
	before, after = max(0, -from), max(0, to-w.extent)
	return max(0, from), min(w.extent, to), before, after
}

// expand rewrites such a node as one for each part of the results, and a Concat. Parts begin at
// multiples of 32 results, as rows in memory do at 64 bytes.
func (w *wideWindow) expand(e *expansion) error {
	const unit = 32
	most := maxExtent - unit
	if stride := w.Strides[w.axis]; !w.transposed {
		most = min(most, (maxExtent-w.span())/stride)
	}
	most = max(unit, most/unit*unit)
	a := e.attributesWithout("pads", "auto_pad", "ceil_mode", "output_padding", "output_shape")
	for _, name := range [...]string{"pads", "auto_pad", "ceil_mode", "output_padding", "output_shape"} {
		e.Attribute(name) // part of the window
	}
	in := []*graph.Value{nil}
	for i := 1; i < len(e.In); i++ {
		in = append(in, e.inputTensor(i))
	}
	var parts []*graph.Value
	for first := 0; first < w.Out[w.axis]; first += most {
		if err := e.budget.Spend(tapBytes, 1); err != nil {
			return err
		}
		from, to, before, after := w.sources(first, min(first+most, w.Out[w.axis]))
		x, err := e.emitNode(nil, "Slice", nil, e.inputTensor(0), e.newIntConstant(from), e.newIntConstant(to), e.newIntConstant(2+w.axis))
		if err != nil {
			return err
		}
		pads := [2][]int{slices.Clone(w.Before), slices.Clone(w.After)}
		pads[0][w.axis], pads[1][w.axis] = before, after
		part := attributes{"pads": newIntsAttr(slices.Concat(pads[:]...)...)}
		for name, v := range a {
			part[name] = v
		}
		in[0] = x
		y, err := e.emitNode(nil, e.Op, part, in...)
		if err != nil {
			return err
		}
		parts = append(parts, y)
	}
	_, err := e.emitNode(e.outputTensor(0), "Concat", attributes{"axis": newIntAttr(2 + w.axis)}, parts...)
	return err
}
