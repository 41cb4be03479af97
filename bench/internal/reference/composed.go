package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// composedOperators has operators of ONNX that are rearrangements of elements or tables of numbers.
var composedOperators = map[string]operator{
	"CenterCropPad": {2, wrapSingleResult(computeCenterCropPad)}, "Col2Im": {3, wrapSingleResult(computeCol2Im)}, "DeformConv": {3, wrapSingleResult(computeDeformConv)},
	"MelWeightMatrix": {5, wrapSingleResult(computeMelWeightMatrix)},
	"Det":             {1, wrapSingleResult(computeDeterminant)}, "CumProd": {2, wrapSingleResult(computeCumProd)},
	"Quant": {4, wrapSingleResult(computeQuant)}, "BipolarQuant": {2, wrapSingleResult(computeBipolarQuant)},
}

// computeCenterCropPad copies the elements around the center of the input to the center of a tensor
// of zeros.
func computeCenterCropPad(c *call) (*tensor.Tensor, error) {
	x, sizes := c.in[0], c.in[1].ToInts()
	axes := c.intsAttribute("axes")
	if c.attribute("axes") == nil {
		for i := range x.Dims {
			axes = append(axes, i)
		}
	}
	axes, err := tensor.ResolveAxes(axes, len(x.Dims))
	if err != nil || len(axes) != len(sizes) {
		return nil, fmt.Errorf("axes %v and sizes %v do not fit shape %v: %v", axes, sizes, x.Dims, err)
	}
	dims := slices.Clone(x.Dims)
	for i, axis := range axes {
		dims[axis] = sizes[i]
	}
	out, err := tensor.New(x.Type, dims...)
	if err != nil {
		return nil, err
	}
	index := make([]int, len(dims))
	strides := tensor.RowMajorStrides(x.Dims)
	for k := range out.Data {
		at, inside := 0, true
		for i, o := range index {
			from := o
			if d := x.Dims[i] - dims[i]; d >= 0 {
				from += d / 2
			} else {
				// Divided as positive numbers, since Go rounds a quotient toward zero.
				from -= -d / 2
			}
			inside = inside && from >= 0 && from < x.Dims[i]
			at += from * strides[i]
		}
		if inside {
			out.Data[k] = x.Data[at]
		}
		tensor.AdvanceIndex(index, dims)
	}
	return out, nil
}

// computeCol2Im adds each element of each block to its place in the image.
func computeCol2Im(c *call) (*tensor.Tensor, error) {
	x, image, block := c.in[0], c.in[1].ToInts(), c.in[2].ToInts()
	w, err := c.newWindow(image, block)
	if err != nil {
		return nil, err
	}
	size, err := tensor.CountElements(block)
	if err != nil || size == 0 || len(x.Dims) != 3 || x.Dims[1]%size != 0 {
		return nil, fmt.Errorf("input shape %v does not fit blocks of %v", x.Dims, block)
	}
	channels := x.Dims[1] / size
	out, err := tensor.New(x.Type, append([]int{x.Dims[0], channels}, image...)...)
	if err != nil {
		return nil, err
	}
	blocks, count := make([]int, len(image)), 1
	for i := range image {
		reach := image[i] + w.begin[i] + w.end[i] - w.dilations[i]*(block[i]-1) - 1
		if reach < 0 {
			return nil, fmt.Errorf("blocks of %v are larger than the image %v", block, image)
		}
		blocks[i] = reach/w.strides[i] + 1
		count *= blocks[i]
	}
	if count != x.Dims[2] {
		return nil, fmt.Errorf("input shape %v has not %d blocks", x.Dims, count)
	}
	steps := tensor.RowMajorStrides(image)
	pixels := tensor.CountValidElements(image)
	tap := make([]int, len(block))
	for k := range size {
		place := make([]int, len(blocks))
		for b := range count {
			at, inside := 0, true
			for i := range image {
				p := place[i]*w.strides[i] + tap[i]*w.dilations[i] - w.begin[i]
				inside = inside && p >= 0 && p < image[i]
				at += p * steps[i]
			}
			// The innermost loop, because the place does not depend on batch and channel.
			for row := range x.Dims[0] * channels {
				if inside {
					out.Data[row*pixels+at] += x.Data[(row*size+k)*count+b]
				}
			}
			tensor.AdvanceIndex(place, blocks)
		}
		tensor.AdvanceIndex(tap, block)
	}
	return out, nil
}

// computeMelWeightMatrix computes triangles over the bins of a spectrum, whose corners have equal
// distances on the mel scale.
func computeMelWeightMatrix(c *call) (*tensor.Tensor, error) {
	var v [5]float64
	for i := range v {
		if len(c.in[i].Data) != 1 {
			return nil, fmt.Errorf("input %d has shape %v; want a scalar", i, c.in[i].Dims)
		}
		v[i] = c.in[i].Data[0]
	}
	bands := c.in[0].ToInts()[0]
	out, err := tensor.New(onnx.DataType(c.intAttribute("output_datatype", int(onnx.Float))), c.in[1].ToInts()[0]/2+1, bands)
	if err != nil {
		return nil, err
	}
	low, high := 2595*math.Log10(1+v[3]/700), 2595*math.Log10(1+v[4]/700)
	bins := make([]int, bands+2)
	for i := range bins {
		hertz := 700 * (math.Pow(10, (low+(high-low)*float64(i)/float64(bands+2))/2595) - 1)
		if bins[i] = int(math.Floor((v[1] + 1) * hertz / v[2])); bins[i] < 0 || bins[i] >= out.Dims[0] {
			return nil, fmt.Errorf("band %d is outside of the spectrum", i)
		}
	}
	for band := range bands {
		left, center, right := bins[band], bins[band+1], bins[band+2]
		for row := range out.Dims[0] {
			w := 0.0
			switch {
			// First, because corners may coincide for narrow bands, and the slopes would then divide by
			// zero.
			case row == center:
				w = 1
			case row >= left && row < center:
				w = float64(row-left) / float64(center-left)
			case row > center && row < right:
				w = float64(right-row) / float64(right-center)
			}
			out.Data[row*bands+band] = w
		}
	}
	return out, nil
}

// computeDeterminant expands each determinant by its first row.
func computeDeterminant(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	rank := len(x.Dims)
	if rank < 2 || x.Dims[rank-1] != x.Dims[rank-2] || x.Dims[rank-1] > 8 {
		return nil, c.newUnsupportedError(fmt.Sprintf("shape %v", x.Dims))
	}
	n := x.Dims[rank-1]
	out, err := tensor.New(x.Type, x.Dims[:rank-2]...)
	if err != nil {
		return nil, err
	}
	for i := range out.Data {
		out.Data[i] = expandDeterminant(x.Data[i*n*n:(i+1)*n*n], n)
	}
	return out, nil
}

func expandDeterminant(a []float64, n int) float64 {
	if n == 0 {
		return 1
	}
	sum, sign := 0.0, 1.0
	for k := range n {
		var minor []float64
		for i := 1; i < n; i++ {
			for j := range n {
				if j != k {
					minor = append(minor, a[i*n+j])
				}
			}
		}
		sum += sign * a[k] * expandDeterminant(minor, n-1)
		sign = -sign
	}
	return sum
}

func computeCumProd(c *call) (*tensor.Tensor, error) {
	if len(c.in[1].Data) != 1 {
		return nil, fmt.Errorf("input \"axis\" has shape %v; want a scalar", c.in[1].Dims)
	}
	axis, err := tensor.ResolveAxis(c.in[1].ToInts()[0], len(c.in[0].Dims))
	if err != nil {
		return nil, err
	}
	return c.in[0].MapLines(axis, func(line []float64) {
		if c.flagAttribute("reverse") {
			slices.Reverse(line)
		}
		product := 1.0
		for i, v := range line {
			before := product
			product *= v
			if line[i] = product; c.flagAttribute("exclusive") {
				line[i] = before
			}
		}
		if c.flagAttribute("reverse") {
			slices.Reverse(line)
		}
	})
}

// computeQuant computes QONNX's Quant: it rounds x/scale + zero within the range of a number of bits,
// and undoes the scale and the zero point.
func computeQuant(c *call) (*tensor.Tensor, error) {
	if len(c.in[3].Data) != 1 {
		return nil, c.newUnsupportedError("several numbers of bits")
	}
	bits, narrow := c.in[3].Data[0], float64(c.intAttribute("narrow", 0))
	low, high := 0.0, math.Exp2(bits)-1-narrow
	if c.intAttribute("signed", 1) != 0 {
		low, high = narrow-math.Exp2(bits-1), math.Exp2(bits-1)-1
	}
	nearest := c.Nearest
	if nearest == nil {
		nearest = math.RoundToEven
	}
	if mode := c.textAttribute("rounding_mode", "ROUND"); mode != "ROUND" {
		return nil, c.newUnsupportedError("rounding mode " + mode)
	}
	x, scale, zero := c.in[0], c.in[1], c.in[2]
	y, err := tensor.Combine(x.Type, x, scale, func(v, s float64) float64 { return v / s })
	if err == nil {
		y, err = tensor.Combine(x.Type, y, zero, func(v, z float64) float64 { return min(max(nearest(v+z), low), high) - z })
	}
	if err != nil {
		return nil, err
	}
	return tensor.Combine(x.Type, y, scale, func(v, s float64) float64 { return v * s })
}

// computeBipolarQuant computes QONNX's BipolarQuant: the scale with the sign of x, where 0 is positive.
func computeBipolarQuant(c *call) (*tensor.Tensor, error) {
	return tensor.Combine(c.in[0].Type, c.in[0], c.in[1], func(v, s float64) float64 {
		if v >= 0 {
			return s
		}
		return -s
	})
}
