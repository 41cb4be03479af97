package reference

import (
	"anesim/bench/internal/reference/tensor"
	"fmt"
	"math"
	"slices"
)

// resamplingOperators has the operators that interpolate between elements, and AffineGrid.
var resamplingOperators = map[string]operator{
	"Resize": {1, wrapSingleResult(computeResize)}, "Upsample": {1, wrapSingleResult(computeUpsample)},
	"GridSample": {2, wrapSingleResult(computeGridSample)}, "AffineGrid": {2, wrapSingleResult(computeAffineGrid)},
}

// computeUpsample computes Upsample, the older form of Resize with scales only.
func computeUpsample(c *call) (*tensor.Tensor, error) {
	scales, err := c.readScales(1)
	if err != nil {
		return nil, err
	}
	return c.resizeTo(c.in[0], scales, nil, nil, "asymmetric", "floor")
}

// readScales returns the scales in input number input or, in old operator sets, in the attributes.
// It returns nil if the node has none.
func (c *call) readScales(input int) ([]float64, error) {
	if t := c.inputTensor(input); t != nil && len(t.Data) > 0 {
		return t.Data, nil
	}
	if a := c.attribute("scales"); a != nil {
		list := make([]float64, len(a.Floats))
		for i, v := range a.Floats {
			list[i] = float64(v)
		}
		return list, nil
	}
	if c.attribute("height_scale") != nil && len(c.in[0].Dims) == 4 { // version 1
		return []float64{1, 1, c.floatAttribute("height_scale", 1), c.floatAttribute("width_scale", 1)}, nil
	}
	return nil, nil
}

// computeResize computes Resize. Its inputs are X and the scales in operator set 10, and X, the
// region, the scales and the sizes since operator set 11.
func computeResize(c *call) (*tensor.Tensor, error) {
	x, input := c.in[0], 2
	// Version 11 put the region of interest before the scales.
	if c.opset == 10 {
		input = 1
	}
	scales, err := c.readScales(input)
	if err != nil {
		return nil, err
	}
	var sizes []int
	if t := c.inputTensor(3); t != nil && len(t.Data) > 0 {
		// An empty tensor counts as a missing one, and sizes win over scales.
		sizes, scales = t.ToInts(), nil
	}
	policy := c.textAttribute("keep_aspect_ratio_policy", "stretch")
	axes := tensor.PermutationToEnd(len(x.Dims))
	if list := c.intsAttribute("axes"); list != nil {
		if axes, err = tensor.ResolveAxes(list, len(x.Dims)); err != nil {
			return nil, err
		}
		if sizes != nil && len(sizes) != len(axes) || sizes == nil && len(scales) != len(axes) {
			return nil, fmt.Errorf("%d scales or sizes for axes %v; want one per axis", max(len(scales), len(sizes)), axes)
		}
		allScales, allSizes := slices.Repeat([]float64{1}, len(x.Dims)), slices.Clone(x.Dims)
		for i, a := range axes {
			if sizes != nil {
				allSizes[a] = sizes[i]
			} else {
				allScales[a] = scales[i]
			}
		}
		scales = allScales
		if sizes != nil {
			sizes, scales = applyAspectRatioPolicy(policy, x.Dims, allSizes, axes)
		}
	} else if sizes != nil {
		sizes, scales = applyAspectRatioPolicy(policy, x.Dims, sizes, axes[:min(len(axes), len(sizes))])
	}
	mode, nearest := "half_pixel", "round_prefer_floor"
	if c.opset == 10 {
		mode, nearest = "asymmetric", "floor"
	}
	return c.resizeTo(x, scales, sizes, axes, c.textAttribute("coordinate_transformation_mode", mode), c.textAttribute("nearest_mode", nearest))
}

// applyAspectRatioPolicy applies the attribute keep_aspect_ratio_policy of Resize to the sizes that
// are requested for the given axes of an input with shape dims. For the policy "stretch" it returns
// the sizes and nil. Otherwise it returns sizes and scales that have one scale in common: the
// largest requested one for "not_smaller", and the smallest for any other policy.
func applyAspectRatioPolicy(policy string, dims, sizes, axes []int) ([]int, []float64) {
	if policy == "stretch" || len(axes) == 0 {
		return sizes, nil
	}
	var ratios []float64
	for _, a := range axes {
		ratios = append(ratios, float64(sizes[a])/float64(dims[a]))
	}
	scale := minOfElements(ratios)
	if policy == "not_smaller" {
		scale = maxOfElements(ratios)
	}
	sizes = slices.Clone(sizes)
	scales := slices.Repeat([]float64{1}, len(sizes))
	for _, a := range axes {
		sizes[a], scales[a] = int(math.Round(scale*float64(dims[a]))), scale
	}
	return sizes, scales
}

// resizeTo resizes x along one axis after another to the given sizes, or by the given scales. If
// scales is nil, the scales follow from the sizes. The region of tf_crop_and_resize has a start and an
// end for each of the given axes; it is all of the others.
func (c *call) resizeTo(x *tensor.Tensor, scales []float64, sizes, axes []int, mode, nearest string) (*tensor.Tensor, error) {
	rank := len(x.Dims)
	if sizes == nil && len(scales) != rank || sizes != nil && (len(sizes) != rank || scales != nil && len(scales) != rank) {
		return nil, fmt.Errorf("%d scales or sizes for shape %v; want one per axis", max(len(scales), len(sizes)), x.Dims)
	}
	var region []float64
	if t := c.inputTensor(1); t != nil && mode == "tf_crop_and_resize" {
		if len(t.Data) != 2*len(axes) {
			return nil, fmt.Errorf("input \"roi\" has %d values; want %d, two per axis", len(t.Data), 2*len(axes))
		}
		region = append(make([]float64, rank), slices.Repeat([]float64{1}, rank)...)
		for i, a := range axes {
			region[a], region[a+rank] = t.Data[i], t.Data[i+len(axes)]
		}
	}
	outside := x
	for axis, n := range x.Dims {
		r := resampling{n: n, mode: mode, nearest: nearest, method: c.textAttribute("mode", "nearest"), cubic: c.floatAttribute("cubic_coeff_a", -0.75), exclude: c.flagAttribute("exclude_outside"), antialias: c.flagAttribute("antialias")}
		switch {
		case sizes != nil && scales != nil:
			r.out, r.scale = sizes[axis], scales[axis]
		case sizes != nil:
			r.out, r.scale = sizes[axis], float64(sizes[axis])/float64(n)
		default:
			r.scale = scales[axis]
			length := math.Floor(float64(n) * r.scale)
			if !(length >= 0 && length <= tensor.MaxElements) {
				return nil, fmt.Errorf("scale %g of axis %d is out of range; want an output size from 0 to %d", r.scale, axis, tensor.MaxElements)
			}
			r.out = int(length)
		}
		if c.opset == 10 && r.scale < 1 {
			r.nearest = "ceil" // there is no nearest_mode; onnxruntime and the operator's tests round up in a smaller result
		}
		if region != nil {
			r.start, r.end, r.value = region[axis], region[axis+rank], c.floatAttribute("extrapolation_value", 0)
		}
		if n == 0 {
			return nil, fmt.Errorf("axis %d of shape %v has no elements to resize", axis, x.Dims)
		}
		if r.out < 0 || r.out > tensor.MaxElements {
			return nil, fmt.Errorf("size of axis %d is %d; want 0 to %d", axis, r.out, tensor.MaxElements)
		}
		if r.scale == 1 && r.out == n && region == nil {
			continue
		}
		var err error
		if outside, err = r.resampleAxis(outside, axis); err != nil {
			return nil, err
		}
	}
	return outside, nil
}

// A resampling has the parameters with which Resize computes one axis of out elements from an
// axis of n elements.
type resampling struct {
	n, out                int
	scale                 float64 // out / n, before rounding to whole elements
	mode, nearest, method string
	start, end, value     float64 // region of tf_crop_and_resize, and the value outside of it
	cubic                 float64
	exclude, antialias    bool
}

// resampleAxis returns x with the given axis resampled to r.out elements.
func (r *resampling) resampleAxis(x *tensor.Tensor, axis int) (*tensor.Tensor, error) {
	dims := slices.Clone(x.Dims)
	dims[axis] = r.out
	y, err := tensor.New(x.Type, dims...)
	if err != nil {
		return nil, err
	}
	inner := tensor.CountValidElements(dims[axis+1:])
	for o := range r.out {
		at, err := r.inputCoordinate(float64(o))
		if err != nil {
			return nil, err
		}
		// Only this mode gives points outside a value; all others repeat the edge.
		if r.mode == "tf_crop_and_resize" && (at < 0 || at > float64(r.n-1)) {
			for row := range tensor.CountValidElements(dims[:axis]) {
				line := y.Data[(row*r.out+o)*inner:][:inner]
				for i := range line {
					line[i] = r.value
				}
			}
			continue
		}
		first, weights, err := r.elementWeights(at)
		if err != nil {
			return nil, err
		}
		for row := range tensor.CountValidElements(dims[:axis]) {
			to := y.Data[(row*r.out+o)*inner:][:inner]
			for k, w := range weights {
				if w != 0 {
					addScaledVector(to, x.Data[(row*r.n+clampIndex(max(0, first+k), r.n-1))*inner:][:inner], w)
				}
			}
		}
	}
	return y, nil
}

// inputCoordinate returns the coordinate along the input axis from which output element o is
// interpolated. It returns an error if the coordinate_transformation_mode is unknown.
func (r *resampling) inputCoordinate(place float64) (float64, error) {
	// onnxruntime computes coordinates in float32, and its ties are those of its roundings.
	o, scale, n, out := float32(place), float32(r.scale), float32(r.n), float32(r.out)
	switch r.mode {
	case "half_pixel":
		return float64((o+0.5)/scale - 0.5), nil
	case "half_pixel_symmetric":
		whole := float32(n * scale) // the output's extent before rounding down
		return float64(float32(n/2*(1-out/whole)) + (o+0.5)/scale - 0.5), nil
	case "pytorch_half_pixel":
		if r.out == 1 {
			return 0, nil
		}
		return float64((o+0.5)/scale - 0.5), nil
	case "align_corners":
		if r.out == 1 {
			return 0, nil
		}
		// ONNX's tests do not round n*scale to a whole extent; onnxruntime does.
		return float64(float32(o*(n-1)) / float32(float64(float64(r.n)*r.scale)-1)), nil
	case "asymmetric":
		return float64(o / scale), nil
	case "tf_half_pixel_for_nn":
		return float64((o + 0.5) / scale), nil
	case "tf_crop_and_resize":
		start, end := float32(r.start), float32(r.end)
		if r.out == 1 {
			return float64(float32(0.5*(start+end)) * (n - 1)), nil
		}
		return float64(float32(start*(n-1)) + float32(float32(o*(end-start))*(n-1))/(out-1)), nil
	}
	return 0, fmt.Errorf("unknown coordinate_transformation_mode %q; want an ONNX mode such as half_pixel or align_corners", r.mode)
}

// elementWeights returns the weights with which input elements contribute to the interpolation at a
// coordinate. The weights belong to consecutive elements, beginning at index first. An index
// outside the axis refers to the element at that end.
func (r *resampling) elementWeights(coordinate float64) (first int, weights []float64, err error) {
	switch r.method {
	case "nearest":
		first, err = r.roundToElement(coordinate)
		return first, []float64{1}, err
	case "linear", "bilinear", "cubic":
	default:
		return 0, nil, fmt.Errorf("unknown mode %q; want nearest, linear or cubic", r.method)
	}
	reach, kernel := 1.0, func(x float64) float64 { return max(0, 1-abs(x)) }
	if r.method == "cubic" {
		reach, kernel = 2, func(x float64) float64 { return cubicWeight(abs(x), r.cubic) }
	}
	stretch := 1.0 // widens the kernel if the axis becomes shorter
	if r.antialias && r.scale < 1 {
		stretch = 1 / r.scale
	}
	first = int(math.Floor(coordinate-reach*stretch)) + 1
	end := int(math.Ceil(coordinate + reach*stretch))
	total := 0.0
	for i := first; i < end || len(weights) == 0; i++ {
		w := kernel((float64(i) - coordinate) / stretch)
		if r.exclude && (i < 0 || i >= r.n) {
			w = 0
		}
		weights, total = append(weights, w), total+w
	}
	for i := range weights {
		// The weights of a stretched kernel, or of one without its outer elements, do not add up to 1.
		weights[i] /= total
	}
	return first, weights, nil
}

// roundToElement rounds a coordinate to the index of an element according to the attribute
// nearest_mode. It returns an error if the mode is unknown.
func (r *resampling) roundToElement(coordinate float64) (int, error) {
	switch r.nearest {
	case "round_prefer_floor":
		return int(math.Ceil(coordinate - 0.5)), nil
	case "round_prefer_ceil":
		return int(math.Floor(coordinate + 0.5)), nil
	case "floor":
		return int(math.Floor(coordinate)), nil
	case "ceil":
		return int(math.Ceil(coordinate)), nil
	}
	return 0, fmt.Errorf("unknown nearest_mode %q; want round_prefer_floor, round_prefer_ceil, floor or ceil", r.nearest)
}

// cubicWeight returns the value of Keys' cubic convolution kernel with parameter a at the distance
// x, which must not be negative.
func cubicWeight(x, a float64) float64 {
	switch {
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

// computeGridSample computes GridSample: it samples x [batch][channels][...] at the coordinates in
// a grid. Coordinates run from -1 to 1 across each axis, and the coordinate of the last axis comes
// first.
func computeGridSample(c *call) (*tensor.Tensor, error) {
	x, grid := c.in[0], c.in[1]
	rank := len(x.Dims) - 2
	if rank < 1 || len(grid.Dims) != len(x.Dims) || grid.Dims[rank+1] != rank || grid.Dims[0] != x.Dims[0] || tensor.CountValidElements(x.Dims[2:]) == 0 {
		return nil, fmt.Errorf("grid shape %v is incompatible with input shape %v", grid.Dims, x.Dims)
	}
	y, err := tensor.New(x.Type, slices.Concat(x.Dims[:2], grid.Dims[1:rank+1])...)
	if err != nil {
		return nil, err
	}
	g := gridSampler{mode: c.textAttribute("mode", "linear"), padding: c.textAttribute("padding_mode", "zeros"), corners: c.flagAttribute("align_corners"), dims: x.Dims[2:]}
	area, plane := tensor.CountValidElements(grid.Dims[1:rank+1]), tensor.CountValidElements(g.dims)
	for i := range y.Data {
		image := i / area / x.Dims[1]
		place := grid.Data[(image*area+i%area)*rank:][:rank]
		if y.Data[i], err = g.interpolateAt(x.Data[i/area*plane:][:plane], place); err != nil {
			return nil, err
		}
	}
	return y, nil
}

// A gridSampler samples planes with the attributes of a GridSample.
type gridSampler struct {
	mode, padding string
	corners       bool
	dims          []int
}

// interpolateAt returns the interpolated value of a plane at a point. The coordinates of the point
// run from -1 to 1 across each axis, and that of the last axis comes first. Far outside the plane
// the value is 0.
func (g *gridSampler) interpolateAt(plane, point []float64) (float64, error) {
	firsts, weights := make([]int, len(g.dims)), make([][]float64, len(g.dims))
	taps := make([]int, len(g.dims))
	for i, n := range g.dims {
		p := point[len(point)-1-i]
		at := ((p+1)*float64(n) - 1) / 2
		if g.corners {
			at = (p + 1) / 2 * float64(n-1)
		}
		// The comparison is also false for NaN. The conversions below need a number in the range of int.
		if !(abs(at) <= tensor.MaxElements) {
			return 0, nil
		}
		padded := g.moveIntoAxis(at, n)
		switch g.mode {
		case "linear", "bilinear":
			floor := math.Floor(padded)
			firsts[i], weights[i] = int(floor), []float64{1 - (padded - floor), padded - floor}
		case "nearest":
			firsts[i], weights[i] = int(math.RoundToEven(padded)), []float64{1}
		case "cubic", "bicubic":
			floor := math.Floor(at) // the elements are padded, not the coordinate
			firsts[i], weights[i] = int(floor)-1, nil
			for k := range 4 {
				weights[i] = append(weights[i], cubicWeight(abs(at-floor+1-float64(k)), -0.75))
			}
		default:
			return 0, fmt.Errorf("unknown mode %q; want linear, nearest or cubic", g.mode)
		}
		taps[i] = len(weights[i])
	}
	total, tap := 0.0, make([]int, len(taps))
	for range tensor.CountValidElements(taps) {
		w, at, inside := 1.0, 0, true
		for i, n := range g.dims {
			k := firsts[i] + tap[i]
			if g.padding != "zeros" {
				k = clampIndex(max(0, int(g.moveIntoAxis(float64(k), n))), n-1)
			}
			inside = inside && k >= 0 && k < n
			w, at = w*weights[i][tap[i]], at*n+k
		}
		if inside && w != 0 {
			total += w * plane[at]
		}
		tensor.AdvanceIndex(tap, taps)
	}
	return total, nil
}

// moveIntoAxis moves a coordinate that is outside an axis of n elements into the axis, as the
// padding mode says. If the mode is zeros, it returns the coordinate unchanged.
func (g *gridSampler) moveIntoAxis(coordinate float64, n int) float64 {
	low, high := -0.5, float64(n)-0.5
	if g.corners {
		low, high = 0, float64(n-1)
	}
	switch g.padding {
	case "border":
		return min(max(coordinate, 0), float64(n-1))
	case "reflection":
		span := high - low
		if span == 0 {
			return 0
		}
		coordinate = math.Mod(abs(coordinate-low), 2*span)
		return min(max(min(coordinate, 2*span-coordinate)+low, 0), float64(n-1))
	}
	return coordinate
}

// computeAffineGrid computes AffineGrid: it returns the coordinates to which matrices
// [batch][2][3] or [batch][3][4] map the elements of an image.
func computeAffineGrid(c *call) (*tensor.Tensor, error) {
	theta, size := c.in[0], c.in[1].ToInts()
	rank := len(size) - 2
	if rank != 2 && rank != 3 || !slices.Equal(theta.Dims, []int{size[0], rank, rank + 1}) {
		return nil, fmt.Errorf("theta has shape %v for size %v; want [N][2][3] for size [N C H W], or [N][3][4] for [N C D H W]", theta.Dims, size)
	}
	y, err := tensor.New(theta.Type, slices.Concat(size[:1], size[2:], []int{rank})...)
	if err != nil {
		return nil, err
	}
	index := make([]int, rank)
	for i := 0; i < len(y.Data); i += rank {
		image := i / rank / tensor.CountValidElements(size[2:])
		for k := range rank {
			row := theta.Data[(image*rank+k)*(rank+1):][:rank+1]
			y.Data[i+k] = row[rank]
			for a := range rank {
				n := float64(size[1+rank-a])
				p := (2*float64(index[rank-1-a])+1)/n - 1
				if c.flagAttribute("align_corners") {
					p = 2*float64(index[rank-1-a])/max(1, n-1) - 1
				}
				y.Data[i+k] += row[a] * p
			}
		}
		tensor.AdvanceIndex(index, size[2:])
	}
	return y, nil
}
