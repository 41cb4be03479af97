package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// poolingOperators has the operators that reduce windows of each channel, and MaxUnpool.
var poolingOperators = map[string]operator{
	"MaxPool": {1, computeMaxPool}, "AveragePool": {1, wrapSingleResult(computeAveragePool)}, "LpPool": {1, wrapSingleResult(computeLpPool)},
	"GlobalMaxPool":     {1, wrapSingleResult(newGlobalPoolOperator(maxOfElements))},
	"GlobalAveragePool": {1, wrapSingleResult(newGlobalPoolOperator(func(x []float64) float64 { return tensor.Sum(x) / float64(len(x)) }))},
	"GlobalLpPool":      {1, wrapSingleResult(computeGlobalLpPool)},
	"MaxUnpool":         {2, wrapSingleResult(computeMaxUnpool)}, "RoiAlign": {3, wrapSingleResult(computeRoiAlign)}, "MaxRoiPool": {2, wrapSingleResult(computeMaxRoiPool)},
}

// newPoolWindow returns the window with which a pooling operator reads x, and a tensor of zeros
// with the shape of the result.
func (c *call) newPoolWindow(x *tensor.Tensor) (*window, *tensor.Tensor, error) {
	if len(x.Dims) < 3 {
		return nil, nil, fmt.Errorf("input has shape %v; want at least one spatial axis after batch and channels", x.Dims)
	}
	w, err := c.newForwardWindow(x.Dims[2:], c.intsAttribute("kernel_shape"))
	if err != nil {
		return nil, nil, err
	}
	y, err := tensor.New(x.Type, slices.Concat(x.Dims[:2], w.out)...)
	return w, y, err
}

// forEachTap calls f for each plane of x and each tap (position in the kernel). The arguments of f
// are the number of the plane, the planes of x and y with that number, and the tap.
func (w *window) forEachTap(x, y *tensor.Tensor, f func(first int, in, out []float64, tap []int)) {
	plane, area := tensor.CountValidElements(w.in), tensor.CountValidElements(w.out)
	for p := range tensor.CountValidElements(x.Dims[:2]) {
		tap := make([]int, len(w.kernel))
		for range tensor.CountValidElements(w.kernel) {
			f(p, x.Data[p*plane:(p+1)*plane], y.Data[p*area:(p+1)*area], tap)
			tensor.AdvanceIndex(tap, w.kernel)
		}
	}
}

// computeMaxPool computes MaxPool: it returns the largest element of each window, and the indices
// of these elements in the input.
func computeMaxPool(c *call) ([]*tensor.Tensor, error) {
	x := c.in[0]
	w, y, err := c.newPoolWindow(x)
	if err != nil {
		return nil, err
	}
	for i := range y.Data {
		y.Data[i] = math.Inf(-1)
	}
	indices := y.ZerosLike().WithType(onnx.Int64)
	plane, area := tensor.CountValidElements(w.in), tensor.CountValidElements(w.out)
	w.forEachTap(x, y, func(p int, in, out []float64, tap []int) {
		w.forEachTapPair(tap, func(o, i int) {
			if in[i] > out[o] || in[i] != in[i] {
				out[o] = in[i]
				indices.Data[p*area+o] = float64(p*plane + i)
			}
		})
	})
	if c.flagAttribute("storage_order") { // indices count columns first
		columns, rows := w.in[len(w.in)-1], 1
		if len(w.in) > 1 {
			rows = w.in[len(w.in)-2]
		}
		indices = indices.MapElements(func(v float64) float64 {
			i := int(v)
			return float64(i - i%(rows*columns) + i%columns*rows + i/columns%rows)
		})
	}
	return []*tensor.Tensor{y, indices}, nil
}

func computeAveragePool(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	w, y, err := c.newPoolWindow(x)
	if err != nil {
		return nil, err
	}
	w.forEachTap(x, y, func(_ int, in, out []float64, tap []int) {
		w.forEachTapPair(tap, func(o, i int) { out[o] += in[i] })
	})
	counts := w.countInputElements(c.flagAttribute("count_include_pad"))
	for i := range y.Data {
		y.Data[i] /= counts[i%len(counts)]
	}
	return y, nil
}

// countInputElements returns the number of input elements in each window. If padding is true,
// elements of the padding count too, except for those that ceil_mode adds beyond the padding.
func (w *window) countInputElements(padding bool) []float64 {
	padded := *w
	if padding {
		padded.in, padded.begin = make([]int, len(w.in)), make([]int, len(w.in))
		for i, n := range w.in {
			padded.in[i] = w.begin[i] + n + w.end[i]
		}
	}
	counts := make([]float64, tensor.CountValidElements(w.out))
	tap := make([]int, len(w.kernel))
	for range tensor.CountValidElements(w.kernel) {
		padded.forEachTapPair(tap, func(o, _ int) { counts[o]++ })
		tensor.AdvanceIndex(tap, w.kernel)
	}
	return counts
}

func computeLpPool(c *call) (*tensor.Tensor, error) {
	x, p := c.in[0], float64(c.intAttribute("p", 2))
	w, y, err := c.newPoolWindow(x)
	if err != nil {
		return nil, err
	}
	w.forEachTap(x, y, func(_ int, in, out []float64, tap []int) {
		w.forEachTapPair(tap, func(o, i int) { out[o] += math.Pow(math.Abs(in[i]), p) })
	})
	return y.MapElements(func(v float64) float64 { return math.Pow(v, 1/p) }), nil
}

// newGlobalPoolOperator returns an operator that replaces the elements of each channel by
// f(elements). The spatial axes of the result have length 1.
func newGlobalPoolOperator(f func(line []float64) float64) func(*call) (*tensor.Tensor, error) {
	return func(c *call) (*tensor.Tensor, error) {
		var axes []int
		for i := range c.in[0].Dims {
			if i >= 2 {
				axes = append(axes, i)
			}
		}
		return c.in[0].ReduceAxes(axes, f)
	}
}

func computeGlobalLpPool(c *call) (*tensor.Tensor, error) {
	p := float64(c.intAttribute("p", 2))
	return newGlobalPoolOperator(func(line []float64) float64 {
		total := 0.0
		for _, v := range line {
			total += math.Pow(math.Abs(v), p)
		}
		return math.Pow(total, 1/p)
	})(c)
}

// computeMaxUnpool computes MaxUnpool, which undoes MaxPool: it writes each value to the index at
// which MaxPool found it. All other elements are 0.
func computeMaxUnpool(c *call) (*tensor.Tensor, error) {
	x, indices := c.in[0], c.in[1].ToInts()
	if len(x.Dims) < 3 {
		return nil, fmt.Errorf("input has shape %v; want at least one spatial axis after batch and channels", x.Dims)
	}
	if len(indices) != len(x.Data) {
		return nil, fmt.Errorf("indices have shape %v; want one index for each element of input shape %v", c.in[1].Dims, x.Dims)
	}
	w, err := c.newWindow(x.Dims[2:], c.intsAttribute("kernel_shape"))
	if err != nil {
		return nil, err
	}
	small := slices.Clone(x.Dims)
	for i, n := range x.Dims[2:] {
		small[2+i] = (n-1)*w.strides[i] + w.kernel[i] - w.begin[i] - w.end[i]
	}
	dims := small
	if t := c.inputTensor(2); t != nil {
		dims = t.ToInts()
	}
	y, err := tensor.New(x.Type, dims...)
	if err != nil {
		return nil, err
	}
	if len(dims) != len(small) {
		return nil, fmt.Errorf("input \"output_shape\" is %v; want %d values, one per input axis", dims, len(x.Dims))
	}
	for i, at := range indices {
		// The indices refer to the smallest output shape that the window allows.
		to, rest, step := 0, at, 1
		for axis := len(dims) - 1; axis >= 0; axis-- {
			if small[axis] < 1 {
				return nil, fmt.Errorf("kernel_shape, strides and pads give output shape %v; want positive dimensions", small)
			}
			to, rest, step = to+rest%small[axis]*step, rest/small[axis], step*dims[axis]
		}
		if to < 0 || to >= len(y.Data) {
			return nil, fmt.Errorf("index %d is out of range for output shape %v", at, dims)
		}
		y.Data[to] = x.Data[i]
	}
	return y, nil
}

// A roi is a region of interest: a box and the number of its image in the batch.
type roi struct {
	image          int
	x1, y1, x2, y2 float64
}

// readRegions returns one region for each row of boxes. If images is nil, a row holds the number of
// the image and four coordinates. Otherwise it holds only the coordinates, and images[i] is the
// image of row i. The number of an image must be less than batch.
func readRegions(boxes, images *tensor.Tensor, batch int) ([]roi, error) {
	columns := 5
	if images != nil {
		columns = 4
	}
	if len(boxes.Dims) != 2 || boxes.Dims[1] != columns {
		return nil, fmt.Errorf("boxes have shape %v; want a matrix with %d columns", boxes.Dims, columns)
	}
	if images != nil && len(images.Data) != boxes.Dims[0] {
		return nil, fmt.Errorf("%d batch indices for %d boxes; want one per box", len(images.Data), boxes.Dims[0])
	}
	list := make([]roi, boxes.Dims[0])
	for i := range list {
		row := boxes.Data[i*columns : (i+1)*columns]
		image := row[0]
		if images != nil {
			image = images.Data[i]
		}
		// Negated, so that NaN is refused too.
		if !(image >= 0 && image < float64(batch)) {
			return nil, fmt.Errorf("box %d has batch index %g; want 0 to %d", i, image, batch-1)
		}
		row = row[columns-4:]
		for _, v := range row {
			if !(math.Abs(v) <= tensor.MaxElements) {
				return nil, fmt.Errorf("box %d has coordinates %v; want magnitudes of at most %d", i, row, tensor.MaxElements)
			}
		}
		list[i] = roi{int(image), row[0], row[1], row[2], row[3]}
	}
	return list, nil
}

// computeRoiAlign computes RoiAlign: it divides each region into bins, interpolates samples in each
// bin, and returns their mean or their maximum.
func computeRoiAlign(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	if len(x.Dims) != 4 {
		return nil, fmt.Errorf("input has shape %v; want rank 4", x.Dims)
	}
	list, err := readRegions(c.in[1], c.in[2], x.Dims[0])
	if err != nil {
		return nil, err
	}
	high, wide, ratio := c.intAttribute("output_height", 1), c.intAttribute("output_width", 1), c.intAttribute("sampling_ratio", 0)
	scale, offset := c.floatAttribute("spatial_scale", 1), 0.0
	missing := "output_half_pixel"
	if c.opset >= 16 {
		missing = "half_pixel"
	}
	aligned := c.textAttribute("coordinate_transformation_mode", missing) == "half_pixel"
	if aligned {
		offset = 0.5
	}
	y, err := tensor.New(x.Type, len(list), x.Dims[1], high, wide)
	if err != nil {
		return nil, err
	}
	useMax := c.textAttribute("mode", "avg") == "max"
	for i, r := range list {
		y1, x1 := r.y1*scale-offset, r.x1*scale-offset
		h, w := r.y2*scale-offset-y1, r.x2*scale-offset-x1
		// The older mode makes every region at least one element large.
		if !aligned {
			h, w = max(h, 1), max(w, 1)
		}
		binH, binW := h/float64(high), w/float64(wide)
		rows, columns := ratio, ratio
		if ratio <= 0 {
			rows, columns = int(math.Ceil(binH)), int(math.Ceil(binW))
		}
		// The number follows from coordinates, which are data.
		if max(rows, columns) > 1<<12 {
			return nil, fmt.Errorf("box %d has %d x %d samples per bin; want at most %d x %[4]d", i, rows, columns, 1<<12)
		}
		for at := range x.Dims[1] * high * wide {
			ch, oy, ox := at/wide/high, at/wide%high, at%wide
			total, best := 0.0, math.Inf(-1)
			for k := range max(0, rows) * max(0, columns) {
				sy := y1 + (float64(oy)+(float64(k/columns)+0.5)/float64(rows))*binH
				sx := x1 + (float64(ox)+(float64(k%columns)+0.5)/float64(columns))*binW
				value, corner := x.SampleRegion(r.image, ch, sy, sx)
				total, best = total+value, max(best, corner)
			}
			to := &y.Data[i*x.Dims[1]*high*wide+at]
			if *to = total / float64(max(1, rows*columns)); useMax && rows*columns > 0 {
				*to = best
			}
		}
	}
	return y, nil
}

// computeMaxRoiPool computes MaxRoiPool: it divides each region into bins with bounds on whole
// elements, and returns the largest element of each bin, or 0 if the bin is empty.
func computeMaxRoiPool(c *call) (*tensor.Tensor, error) {
	x, size := c.in[0], c.intsAttribute("pooled_shape")
	if len(x.Dims) != 4 {
		return nil, fmt.Errorf("input has shape %v; want rank 4", x.Dims)
	}
	if len(size) != 2 || size[0] < 1 || size[1] < 1 {
		return nil, fmt.Errorf("attribute \"pooled_shape\" is %v; want two positive numbers", size)
	}
	list, err := readRegions(c.in[1], nil, x.Dims[0])
	if err != nil {
		return nil, err
	}
	y, err := tensor.New(x.Type, len(list), x.Dims[1], size[0], size[1])
	if err != nil {
		return nil, err
	}
	scale, h, w := c.floatAttribute("spatial_scale", 1), x.Dims[2], x.Dims[3]
	for i := range y.Data {
		ox, oy, ch, r := i%size[1], i/size[1]%size[0], i/size[1]/size[0]%x.Dims[1], list[i/size[1]/size[0]/x.Dims[1]]
		y1, y2 := binRange(r.y1*scale, r.y2*scale, oy, size[0], h)
		x1, x2 := binRange(r.x1*scale, r.x2*scale, ox, size[1], w)
		best := math.Inf(-1)
		for py := y1; py < y2; py++ {
			for px := x1; px < x2; px++ {
				best = max(best, x.Data[((r.image*x.Dims[1]+ch)*h+py)*w+px])
			}
		}
		// An empty bin keeps the 0 of a new tensor.
		if y1 < y2 && x1 < x2 {
			y.Data[i] = best
		}
	}
	return y, nil
}

// binRange divides the interval between from and to on an axis of n elements into bins, and returns
// the elements first to end-1 of bin o, clamped to the axis.
func binRange(from, to float64, o, bins, n int) (first, end int) {
	start := math.Round(from)
	size := max(math.Round(to)-start+1, 1) / float64(bins)
	return clampIndex(max(0, int(math.Floor(float64(o)*size)+start)), n), clampIndex(max(0, int(math.Ceil(float64(o+1)*size)+start)), n)
}
