package choose

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
)

// addTransposeLayers adds layers that permute the axes of x. If a reader of the result can read x
// instead, the layers are marked as spare: they are removed if nothing else reads the result.
func addTransposeLayers(n *Chooser, x Operand) (Operand, error) {
	perm, err := ops.Permutation(n.Node, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	x, err = n.permute(x, perm)
	if n.Out[0].Bypassed {
		for i := n.First; i < len(n.Net.Layers); i++ {
			n.Net.Layers[i].Spare = true
		}
	}
	return x, err
}

// addConcatLayers adds layers that concatenate the node's inputs along its axis, without inputs
// that have no elements.
func addConcatLayers(n *Chooser) (Operand, error) {
	axis, err := ops.Axis(len(n.Results[0].Dims), n.Int("axis", 1))
	if err != nil {
		return Operand{}, err
	}
	var parts []Operand
	for i, v := range n.In {
		if graph.Elements(v.Dims) == 0 {
			n.Node.Input(i) // adds nothing to the result
			continue
		}
		x, err := n.inputOperand(i)
		if err != nil {
			return Operand{}, err
		}
		parts = append(parts, x)
	}
	return n.concatenate(axis, parts)
}

func addSplitLayers(n *Chooser, x Operand) (Operand, error) {
	axis, err := ops.Axis(len(x.Dims), n.Int("axis", 0))
	if err != nil {
		return Operand{}, err
	}
	begin := 0
	for i, r := range n.Results {
		if r.Dims[axis] == 0 {
			continue // a constant without elements
		}
		part, err := n.sliceAxis(x, axis, begin, r.Dims[axis])
		if err == nil {
			err = n.NameResult(i, part)
		}
		if err != nil {
			return Operand{}, err
		}
		begin += r.Dims[axis]
	}
	return Operand{}, nil
}

func addSliceLayers(n *Chooser, x Operand) (Operand, error) {
	runs, err := ops.Bounds(n.Node, x.Dims)
	if err != nil {
		return Operand{}, err
	}
	for axis, r := range runs {
		if r.Step == 1 {
			x, err = n.sliceAxis(x, axis, r.Begin, r.Count)
		} else {
			if err := n.Spend(indexBytes * r.Count); err != nil {
				return Operand{}, err
			}
			index := make([]int, r.Count)
			for i := range index {
				index[i] = r.Begin + i*r.Step
			}
			x, err = n.selectElements(x, axis, index)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	return x, nil
}

// addGatherLayers adds layers that select elements of an axis by constant indices. It returns an
// error for computed indices, because the host does such lookups.
func addGatherLayers(n *Chooser) (Operand, error) {
	index := n.Const(1)
	switch {
	case index == nil && n.Const(0) != nil:
		return Operand{}, errors.New("engine does not support embedding lookups with computed indices")
	case index == nil:
		return Operand{}, errors.New("engine does not support gathers with computed indices")
	}
	x, err := n.inputOperand(0)
	if err != nil {
		return Operand{}, err
	}
	axis, err := ops.Axis(len(x.Dims), n.Int("axis", 0))
	if err != nil {
		return Operand{}, err
	}
	// The constant may be a small file's claim to billions of elements: the budget comes before the
	// values.
	if err := n.Spend((numberBytes + indexBytes) * index.Elements()); err != nil {
		return Operand{}, err
	}
	places, err := index.Ints()
	if err != nil {
		return Operand{}, err
	}
	places = slices.Clone(places)
	for i, p := range places {
		if p < 0 {
			p += x.Dims[axis]
		}
		if p < 0 || p >= x.Dims[axis] {
			return Operand{}, fmt.Errorf("index %d is out of range for an axis of %d elements", places[i], x.Dims[axis])
		}
		places[i] = p
	}
	x, err = n.selectElements(x, axis, places)
	return x.As(n.Results[0].Dims...), err
}

func addExpandLayers(n *Chooser, x Operand) (Operand, error) {
	return n.broadcastTo(x, n.Results[0].Dims)
}

// addTileLayers adds layers that repeat the input along each axis. An axis with one element is
// broadcast; others are repeated by concatenation.
func addTileLayers(n *Chooser, x Operand) (Operand, error) {
	times, _, err := n.List("repeats", 1)
	if err != nil {
		return Operand{}, err
	}
	for axis, t := range times {
		if t == 1 {
			continue
		}
		if err := n.Spend(indexBytes * t); err != nil {
			return Operand{}, err
		}
		if x.Dims[axis] == 1 {
			d := slices.Clone(x.Dims)
			d[axis] = t
			x, err = n.broadcastTo(x, d)
		} else {
			x, err = n.concatenate(axis, slices.Repeat([]Operand{x}, t))
		}
		if err != nil {
			return Operand{}, err
		}
	}
	return x, nil
}

// addPaddingLayers adds layers that extend x by constant values, copies of the edge, a reflection
// or a wrapped copy. Negative padding removes elements. Zeros around the spatial axes are recorded,
// so that convolutions can add them themselves; the layers are then marked as spare.
func addPaddingLayers(n *Chooser, x Operand) (Operand, error) {
	before, after, err := ops.Padding(n.Node, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	value, mode := float64(n.Float("value", 0)), n.Text("mode", "constant")
	if n.Given(2) {
		c := n.Const(2)
		if c == nil {
			return Operand{}, errors.New("padding value is computed; want a constant")
		}
		if value, err = c.Scalar(); err != nil {
			return Operand{}, err
		}
	}
	source, spatial := x, mode == "constant" && value == 0 && len(x.Dims) > 2
	for axis := range x.Dims {
		b, a := before[axis], after[axis]
		// A convolution can add zeros around rows and columns only, and cannot remove any.
		spatial = spatial && (axis > 1 && min(a, b) >= 0 || a == 0 && b == 0)
		if b < 0 || a < 0 {
			if x, err = n.sliceAxis(x, axis, max(0, -b), x.Dims[axis]+min(b, 0)+min(a, 0)); err != nil {
				return Operand{}, err
			}
			b, a = max(0, b), max(0, a)
		}
		if b == 0 && a == 0 {
			continue
		}
		if mode == "constant" {
			x, err = padWithConstant(n, x, axis, b, a, value)
		} else {
			x, err = padByCopying(n, x, axis, b, a, mode)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	if err := n.NameResult(0, x); err != nil {
		return Operand{}, err
	}
	if spatial {
		n.paddings[n.Out[0].Name] = padding{source, before[2:], after[2:]}
		for i := n.First; i < len(n.Net.Layers); i++ {
			n.Net.Layers[i].Spare = true
		}
	}
	return Operand{}, nil
}

// padWithConstant adds layers that extend an axis of x by the given numbers of elements before and
// after it, which all have the given value. A depthwise convolution whose only nonzero tap is one
// adds a few zeros around the rows or columns of an image. Everything else is a concatenation with
// constant tensors.
func padWithConstant(n *Chooser, x Operand, axis, before, after int, value float64) (Operand, error) {
	rank := len(x.Dims)
	if k := before + after + 1; value == 0 && rank == 4 && axis >= 2 && k <= layer.MaxKernel {
		w := layer.Valid(1, 1)
		if axis == 2 {
			w.Kh, w.Py, w.Qy = k, before+after, before+after
		} else {
			w.Kw, w.Px, w.Qx = k, before+after, before+after
		}
		// The position of the nonzero tap splits the padding between both sides.
		l := layer.Depthwise(x.shape(), w)
		if err := n.Spend((numberBytes + HalfBytes) * x.Dims[1] * k); err != nil {
			return x, err
		}
		taps := make([]float64, x.Dims[1]*k)
		for c := range x.Dims[1] {
			taps[c*k+after] = 1
		}
		h, _ := (&graph.Const{Numbers: taps}).Halves()
		return n.addLayer(l, layer.Weights{Filter: h}, nil, x)
	}
	parts := []Operand{}
	for i, size := range [...]int{before, 0, after} {
		if i == 1 {
			parts = append(parts, x)
			continue
		}
		if size == 0 {
			continue
		}
		d := slices.Clone(x.Dims)
		d[axis] = size
		border, err := n.storeFilledTensor(fmt.Sprintf("border %g of %v", value, d), d, value)
		if err != nil {
			return x, err
		}
		parts = append(parts, border)
	}
	return n.concatenate(axis, parts)
}

// padByCopying adds layers that extend an axis of x by copies of its own elements: before elements
// at its start, and after elements at its end. mode is "edge", "reflect" or "wrap".
func padByCopying(n *Chooser, x Operand, axis, before, after int, mode string) (Operand, error) {
	d := x.Dims[axis]
	if err := n.Spend(indexBytes * (before + d + after)); err != nil {
		return x, err
	}
	index, err := ops.PaddedElements(mode, d, before, after)
	if err != nil {
		return x, err
	}
	if d <= maxPickedAxis {
		return n.selectElements(x, axis, index)
	}
	// Pick the borders only: the matrix for a whole long axis would be too large.
	var parts []Operand
	for _, border := range [...][]int{index[:before], nil, index[before+d:]} {
		part := x
		if border != nil {
			if len(border) == 0 {
				continue
			}
			var err error
			if part, err = n.selectElements(x, axis, border); err != nil {
				return x, err
			}
		}
		parts = append(parts, part)
	}
	return n.concatenate(axis, parts)
}

// maxPickedAxis is the longest axis for which padByCopying picks all elements with one matrix. On
// a longer axis it picks the borders only.
const maxPickedAxis = 1024

func addDepthToSpaceLayers(n *Chooser, x Operand) (Operand, error) {
	b, d := n.Int("blocksize", 1), x.Dims
	c := d[1] / (b * b)
	if n.Text("mode", "DCR") == "CRD" {
		x, err := n.permute(x.As(d[0], c, b, b, d[2], d[3]), []int{0, 1, 4, 2, 5, 3})
		return x.As(n.Results[0].Dims...), err
	}
	x, err := n.permute(x.As(d[0], b, b, c, d[2], d[3]), []int{0, 3, 4, 1, 5, 2})
	return x.As(n.Results[0].Dims...), err
}

func addSpaceToDepthLayers(n *Chooser, x Operand) (Operand, error) {
	b, d := n.Int("blocksize", 1), x.Dims
	perm := []int{0, 3, 5, 1, 2, 4}
	if n.Text("mode", "DCR") == "CRD" {
		perm = []int{0, 1, 3, 5, 2, 4}
	}
	x, err := n.permute(x.As(d[0], d[1], d[2]/b, b, d[3]/b, b), perm)
	return x.As(n.Results[0].Dims...), err
}

// skipDropout returns the node's first input as the result, because a Dropout does nothing in
// inference. It returns an error in training mode.
func skipDropout(n *Chooser) (Operand, error) {
	if err := ops.CheckInference(n.Node); err != nil {
		return Operand{}, err
	}
	return viewInputAsResult(n)
}

// viewInputAsResult returns a view of the node's first input with the dimensions of the node's
// result. It adds no layer.
func viewInputAsResult(n *Chooser) (Operand, error) {
	x, err := n.inputOperand(0)
	if s, _ := n.Shape(n.In[0].Name); err != nil && n.In[0].Type != 0 && s != (layer.Shape{}) {
		// A tensor of any type that is available on the engine may be viewed.
		x, err = Operand{n.Node.Input(0).Name, n.In[0].Dims}, nil
	}
	if err != nil {
		return Operand{}, err
	}
	return x.As(n.Results[0].Dims...), nil
}
