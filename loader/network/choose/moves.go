package choose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

func transpose(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	perm, err := ops.Permutation(n.Node, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	x, err = n.permuted(x, perm)
	if n.Out[0].Bypassed {
		for i := n.First; i < len(n.Net.Layers); i++ {
			n.Net.Layers[i].Spare = true
		}
	}
	return x, err
}

// concat joins its inputs; empty ones add nothing.
func concat(n *Chooser) (Operand, error) {
	axis, err := ops.Axis(len(n.Results[0].Dims), n.Int("axis", 1))
	if err != nil {
		return Operand{}, err
	}
	var parts []Operand
	for i, v := range n.In {
		if graph.Elements(v.Dims) == 0 {
			continue
		}
		x, err := n.in(i)
		if err != nil {
			return Operand{}, err
		}
		parts = append(parts, x)
	}
	return n.joined(axis, parts)
}

func split(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	axis, err := ops.Axis(len(x.Dims), n.Int("axis", 0))
	if err != nil {
		return Operand{}, err
	}
	begin := 0
	for i, r := range n.Results {
		part, err := n.sliced(x, axis, begin, r.Dims[axis])
		if err == nil {
			err = n.Result(i, part)
		}
		if err != nil {
			return Operand{}, err
		}
		begin += r.Dims[axis]
	}
	return Operand{}, nil
}

func slice(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	runs, err := ops.Bounds(n.Node, x.Dims)
	if err != nil {
		return Operand{}, err
	}
	for axis, r := range runs {
		if r.Step == 1 {
			x, err = n.sliced(x, axis, r.Begin, r.Count)
		} else {
			if err := n.Spend(placeBytes * r.Count); err != nil {
				return Operand{}, err
			}
			index := make([]int, r.Count)
			for i := range index {
				index[i] = r.Begin + i*r.Step
			}
			x, err = n.picked(x, axis, index)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	return x, nil
}

// gather picks elements of an axis by constant places. By computed ones it is a table's
// look-up, which is the host's.
func gather(n *Chooser) (Operand, error) {
	index := n.Const(1)
	switch {
	case index == nil && n.Const(0) != nil:
		return Operand{}, errors.New("rows of a table by computed places (an embedding); the host looks them up")
	case index == nil:
		return Operand{}, errors.New("its places are computed, not constants; the host does it")
	}
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	axis, err := ops.Axis(len(x.Dims), n.Int("axis", 0))
	if err != nil {
		return Operand{}, err
	}
	if err := n.Spend((numberBytes + placeBytes) * index.Elements()); err != nil {
		return Operand{}, err
	}
	places, err := index.Ints()
	if err != nil {
		return Operand{}, err
	}
	places = slices.Clone(places)
	for i := range places {
		if places[i] < 0 {
			places[i] += x.Dims[axis]
		}
		if places[i] < 0 || places[i] >= x.Dims[axis] {
			return Operand{}, fmt.Errorf("place %d of %d", places[i], x.Dims[axis])
		}
	}
	x, err = n.picked(x, axis, places)
	return x.As(n.Results[0].Dims...), err
}

func expand(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err == nil {
		x, err = n.expanded(x, n.Results[0].Dims)
	}
	return x, err
}

// tile repeats axes: a first one of a single element as a broadcast, others as what
// stands behind itself.
func tile(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	times, _, err := n.List("repeats", 1)
	if err != nil {
		return Operand{}, err
	}
	for axis, t := range times {
		if t == 1 {
			continue
		}
		if err := n.Spend(placeBytes * t); err != nil {
			return Operand{}, err
		}
		if x.Dims[axis] == 1 {
			d := slices.Clone(x.Dims)
			d[axis] = t
			x, err = n.expanded(x, d)
		} else {
			x, err = n.joined(axis, slices.Repeat([]Operand{x}, t))
		}
		if err != nil {
			return Operand{}, err
		}
	}
	return x, nil
}

// pad adds a constant, the edge or a reflection around a tensor.
func pad(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	before, after, err := ops.Padding(n.Node, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	value, mode := float64(n.Float("value", 0)), n.Text("mode", "constant")
	if n.Given(2) {
		c := n.Const(2)
		if c == nil {
			return Operand{}, errors.New("its value is computed, not a constant")
		}
		if value, err = c.Scalar(); err != nil {
			return Operand{}, err
		}
	}
	source, spatial := x, mode == "constant" && value == 0 && len(x.Dims) > 2
	for axis := range x.Dims {
		b, a := before[axis], after[axis]
		spatial = spatial && (axis > 1 && min(a, b) >= 0 || a == 0 && b == 0)
		if b < 0 || a < 0 {
			if x, err = n.sliced(x, axis, max(0, -b), x.Dims[axis]+min(b, 0)+min(a, 0)); err != nil {
				return Operand{}, err
			}
			b, a = max(0, b), max(0, a)
		}
		if b == 0 && a == 0 {
			continue
		}
		if mode == "constant" {
			x, err = bordered(n, x, axis, b, a, value)
		} else {
			x, err = mirrored(n, x, axis, b, a, mode)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	if err := n.Result(0, x); err != nil {
		return Operand{}, err
	}
	if spatial {
		n.padded[n.Out[0].Name] = padding{source, before[2:], after[2:]}
		for i := n.First; i < len(n.Net.Layers); i++ {
			n.Net.Layers[i].Spare = true
		}
	}
	return Operand{}, nil
}

// bordered puts a constant before and behind an axis: zeros are what a depthwise
// convolution by a single one adds around a picture, others stand in memory.
func bordered(n *Chooser, x Operand, axis, before, after int, value float64) (Operand, error) {
	rank := len(x.Dims)
	if k := before + after + 1; value == 0 && rank == 4 && axis >= 2 && k <= layer.MaxKernel {
		w := layer.Valid(1, 1)
		if axis == 2 {
			w.Kh, w.Py, w.Qy = k, before+after, before+after
		} else {
			w.Kw, w.Px, w.Qx = k, before+after, before+after
		}
		// The tap that is one stands where the padding of both sides is as long as asked.
		l := layer.Depthwise(x.shape(), w)
		if err := n.Spend((numberBytes + HalfBytes) * x.Dims[1] * k); err != nil {
			return x, err
		}
		filter := make([]float64, x.Dims[1]*k)
		for c := range x.Dims[1] {
			filter[c*k+after] = 1
		}
		h, _ := (&graph.Const{Numbers: filter}).Halves()
		return n.layer(l, layer.Weights{Filter: h}, nil, x)
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
		border, err := n.repeated(fmt.Sprintf("border %g of %v", value, d), d, value)
		if err != nil {
			return x, err
		}
		parts = append(parts, border)
	}
	return n.joined(axis, parts)
}

// mirrored repeats the edge, or what is inside of it.
func mirrored(n *Chooser, x Operand, axis, before, after int, mode string) (Operand, error) {
	d := x.Dims[axis]
	if err := n.Spend(placeBytes * (before + d + after)); err != nil {
		return x, err
	}
	var index []int
	for i := -before; i < d+after; i++ {
		k := i
		switch mode {
		case "edge":
			k = max(0, min(d-1, k))
		case "reflect":
			for k < 0 || k >= d {
				if d == 1 {
					k = 0
				} else if k < 0 {
					k = -k
				} else {
					k = 2*(d-1) - k
				}
			}
		case "wrap":
			k = ((k % d) + d) % d
		default:
			return x, fmt.Errorf("padding of mode %q", mode)
		}
		index = append(index, k)
	}
	if d <= mostPicked {
		return n.picked(x, axis, index)
	}
	// Only the borders are picked: the places of a long axis would be a matrix of its square.
	var parts []Operand
	for _, border := range [...][]int{index[:before], nil, index[before+d:]} {
		part := x
		if border != nil {
			if len(border) == 0 {
				continue
			}
			var err error
			if part, err = n.picked(x, axis, border); err != nil {
				return x, err
			}
		}
		parts = append(parts, part)
	}
	return n.joined(axis, parts)
}

// mostPicked is the longest axis whose padding picks all of its elements anew.
const mostPicked = 1024

// resize mixes rows, then columns, by the weights of its interpolation.
func resize(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	scales, out, err := ops.Scales(n.Node, x.Dims)
	if err != nil {
		return Operand{}, err
	}
	for axis := len(out) - 1; axis >= 0; axis-- {
		if scales[axis] == 1 && out[axis] == x.Dims[axis] {
			continue
		}
		m, err := interpolation(n, x.Dims[axis], out[axis], scales[axis])
		if err == nil {
			x, err = n.along(x, axis, out[axis], m)
		}
		if err != nil {
			return Operand{}, err
		}
	}
	return x, nil
}

// interpolation is the weight of each element of an axis in each of the resized one.
func interpolation(n *Chooser, in, out int, scale float64) (func(o, i int) float64, error) {
	mode, place := n.Text("mode", "nearest"), n.Text("coordinate_transformation_mode", "half_pixel")
	if n.Op == "Upsample" || n.Opset < 11 {
		place = "asymmetric"
	}
	if n.Int("antialias", 0) != 0 && scale < 1 {
		return nil, errors.New("a reduction with antialiasing")
	}
	source, err := resizedPlaces(place, in, out, scale)
	if err != nil {
		return nil, err
	}
	inside := func(i float64) int { return int(max(0, min(float64(in-1), i))) }
	switch mode {
	case "nearest":
		pick := n.Text("nearest_mode", "round_prefer_floor")
		if n.Op == "Upsample" || n.Opset < 11 {
			pick = "floor"
		}
		return func(o, i int) float64 {
			return graph.Truth(inside(nearest(source(o), pick)) == i)
		}, nil
	case "linear", "bilinear":
		return func(o, i int) float64 {
			x := source(o)
			low := math.Floor(x)
			frac, sum := x-low, 0.0
			if inside(low) == i {
				sum += 1 - frac
			}
			if inside(low+1) == i {
				sum += frac
			}
			return sum
		}, nil
	case "cubic":
		a, outside := float64(n.Float("cubic_coeff_a", -0.75)), n.Int("exclude_outside", 0) != 0
		return func(o, i int) float64 { return cubic(source(o), a, in, i, outside) }, nil
	}
	return nil, fmt.Errorf("a resize of mode %q", mode)
}

// resizedPlaces is where on an axis each element of the resized one stands.
func resizedPlaces(mode string, in, out int, scale float64) (func(o int) float64, error) {
	switch mode {
	case "half_pixel", "pytorch_half_pixel", "align_corners", "tf_half_pixel_for_nn", "asymmetric", "half_pixel_symmetric":
	default:
		return nil, fmt.Errorf("coordinates of mode %q", mode)
	}
	return func(o int) float64 {
		x := float64(o)
		switch mode {
		case "half_pixel":
			return (x+0.5)/scale - 0.5
		case "pytorch_half_pixel":
			if out == 1 {
				return 0
			}
			return (x+0.5)/scale - 0.5
		case "align_corners":
			// The resized length is the unrounded one.
			if long := scale * float64(in); long > 1 {
				return x * float64(in-1) / (long - 1)
			}
			return 0
		case "tf_half_pixel_for_nn":
			return (x + 0.5) / scale
		case "half_pixel_symmetric":
			adjust := float64(out) / (scale * float64(in))
			return float64(in)/2*(1-adjust) + (x+0.5)/scale - 0.5
		}
		return x / scale
	}, nil
}

// nearest is the whole number that a place is taken for.
func nearest(x float64, mode string) float64 {
	switch mode {
	case "floor":
		return math.Floor(x)
	case "ceil":
		return math.Ceil(x)
	case "round_prefer_ceil":
		return math.Floor(x + 0.5)
	}
	return math.Ceil(x - 0.5)
}

// cubic is the weight of element i in the cubic interpolation at x.
func cubic(x, a float64, in, i int, outside bool) float64 {
	low := math.Floor(x)
	weight := func(d float64) float64 {
		d = math.Abs(d)
		if d <= 1 {
			return float64((a+2)*d*d*d) - float64((a+3)*d*d) + 1
		}
		return float64(a*d*d*d) - float64(5*a*d*d) + float64(8*a*d) - float64(4*a)
	}
	sum, all := 0.0, 0.0
	for k := -1.0; k <= 2; k++ {
		at := low + k
		if outside && (at < 0 || at >= float64(in)) {
			continue
		}
		w := weight(x - at)
		all += w
		if int(max(0, min(float64(in-1), at))) == i {
			sum += w
		}
	}
	if outside {
		return sum / all
	}
	return sum
}

func depthToSpace(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	b, d := n.Int("blocksize", 1), x.Dims
	c := d[1] / (b * b)
	if n.Text("mode", "DCR") == "CRD" {
		x, err = n.permuted(x.As(d[0], c, b, b, d[2], d[3]), []int{0, 1, 4, 2, 5, 3})
	} else {
		x, err = n.permuted(x.As(d[0], b, b, c, d[2], d[3]), []int{0, 3, 4, 1, 5, 2})
	}
	return x.As(n.Results[0].Dims...), err
}

func spaceToDepth(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	b, d := n.Int("blocksize", 1), x.Dims
	perm := []int{0, 3, 5, 1, 2, 4}
	if n.Text("mode", "DCR") == "CRD" {
		perm = []int{0, 1, 3, 5, 2, 4}
	}
	x, err = n.permuted(x.As(d[0], d[1], d[2]/b, b, d[3]/b, b), perm)
	return x.As(n.Results[0].Dims...), err
}

// dropout passes its input on, as it does in use.
func dropout(n *Chooser) (Operand, error) {
	if c := n.Const(2); c != nil {
		if v, err := c.Scalar(); err != nil || v != 0 {
			return Operand{}, errors.New("it is in training mode")
		}
	} else if n.Given(2) {
		return Operand{}, errors.New("its training mode is computed, not a constant")
	}
	return view(n)
}

// view gives the same values another shape.
func view(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if s, _ := n.Shape(n.In[0].Name); err != nil && n.In[0].Type != 0 && s != (layer.Shape{}) {
		// Elements that are no fp16 may be passed on all the same.
		x, err = Operand{n.In[0].Name, n.In[0].Dims}, nil
	}
	if err != nil {
		return Operand{}, err
	}
	return x.As(n.Results[0].Dims...), nil
}
