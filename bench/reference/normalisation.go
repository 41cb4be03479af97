package reference

import (
	"fmt"
	"math"
	"slices"
)

// normalisations has the operators that divide by a deviation.
var normalisations = map[string]operator{
	"BatchNormalization":        {5, single(batchNormalization)},
	"InstanceNormalization":     {3, single(instanceNormalization)},
	"LayerNormalization":        {2, layerNormalization},
	"RMSNormalization":          {2, single(rmsNormalization)},
	"GroupNormalization":        {3, single(groupNormalization)},
	"MeanVarianceNormalization": {1, single(meanVarianceNormalization)},
	"LRN":                       {1, single(lrn)},
}

// batchNormalization is that of inference, with given means and variances.
func batchNormalization(c *call) (*Tensor, error) {
	if c.flag("training_mode") || c.opset < 7 && c.int("is_test", 0) == 0 && len(c.node.Outputs) > 1 {
		return nil, c.unsupported("training mode")
	}
	if c.int("spatial", 1) == 0 {
		return nil, c.unsupported("spatial is 0")
	}
	epsilon := c.float("epsilon", float64(float32(1e-5)))
	return c.in[0].perChannel(func(v float64, p []float64) float64 {
		scale, bias, mean, variance := p[0], p[1], p[2], p[3]
		return (v-mean)/math.Sqrt(variance+epsilon)*scale + bias
	}, c.in[1:5]...)
}

// moments returns the mean and the variance of a line.
func moments(line []float64) (mean, variance float64) {
	mean = sum(line) / float64(len(line))
	for _, v := range line {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(line))
}

// normalize subtracts the mean of a line and divides by its deviation.
func (c *call) normalize(line []float64, epsilon float64) {
	mean, variance := moments(line)
	inverse := c.function("Rsqrt")(variance + epsilon)
	for i, v := range line {
		line[i] = (v - mean) * inverse
	}
}

// normalizeRuns returns t with f applied to its runs of a length that divides it.
func (t *Tensor) normalizeRuns(length int, f func(line []float64)) *Tensor {
	out := t.apply(func(v float64) float64 { return v })
	if length > 0 {
		for line := range slices.Chunk(out.Data, length) {
			f(line)
		}
	}
	return out
}

func instanceNormalization(c *call) (*Tensor, error) {
	x := c.in[0]
	if len(x.Dims) < 3 {
		return nil, fmt.Errorf("shape %v has no spatial axes", x.Dims)
	}
	epsilon := c.float("epsilon", float64(float32(1e-5)))
	y := x.normalizeRuns(product(x.Dims[2:]), func(line []float64) { c.normalize(line, epsilon) })
	return y.perChannel(scaleAndShift, c.in[1], c.in[2])
}

func scaleAndShift(v float64, p []float64) float64 { return v*p[0] + p[1] }

// groupNormalization has a scale for each channel from version 21 on, and for each group
// in version 18.
func groupNormalization(c *call) (*Tensor, error) {
	x, groups := c.in[0], c.int("num_groups", 0)
	if len(x.Dims) < 2 || groups < 1 || x.Dims[1]%groups != 0 {
		return nil, fmt.Errorf("%d groups of the channels of %v", groups, x.Dims)
	}
	epsilon := c.float("epsilon", float64(float32(1e-5)))
	each := x.Dims[1] / groups
	y := x.normalizeRuns(each*product(x.Dims[2:]), func(line []float64) { c.normalize(line, epsilon) })
	scale, bias := c.in[1], c.in[2]
	if c.opset < 21 && len(scale.Data) == groups && len(bias.Data) == groups && each > 1 {
		scale, bias = scale.repeatEach(each), bias.repeatEach(each)
	}
	return y.perChannel(scaleAndShift, scale, bias)
}

// repeatEach returns a vector with n copies of each element.
func (t *Tensor) repeatEach(n int) *Tensor {
	out := &Tensor{Type: t.Type, Dims: []int{len(t.Data) * n}}
	for _, v := range t.Data {
		out.Data = append(out.Data, slices.Repeat([]float64{v}, n)...)
	}
	return out
}

// layerNormalization also returns the means and the inverse deviations.
func layerNormalization(c *call) ([]*Tensor, error) {
	x := c.in[0]
	axis, err := axisOf(c.int("axis", -1), len(x.Dims))
	if err != nil {
		return nil, err
	}
	epsilon := c.float("epsilon", float64(float32(1e-5)))
	dims := slices.Clone(x.Dims)
	for i := axis; i < len(dims); i++ {
		dims[i] = 1
	}
	means, err := newTensor(x.Type, dims...)
	if err != nil {
		return nil, err
	}
	inverses, row := means.like(), 0
	y := x.normalizeRuns(product(x.Dims[axis:]), func(line []float64) {
		mean, variance := moments(line)
		means.Data[row], inverses.Data[row] = mean, c.function("Rsqrt")(variance+epsilon)
		c.normalize(line, epsilon)
		row++
	})
	y, err = y.scaleLast(c.in[1], c.input(2))
	return []*Tensor{y, means, inverses}, err
}

// scaleLast multiplies t by a scale and adds a bias, both broadcast to t. The bias may be
// nil.
func (t *Tensor) scaleLast(scale, bias *Tensor) (*Tensor, error) {
	scale, err := scale.broadcast(t.Dims)
	if err != nil {
		return nil, err
	}
	if t, err = combine(t.Type, t, scale, func(v, s float64) float64 { return v * s }); err != nil || bias == nil {
		return t, err
	}
	if bias, err = bias.broadcast(t.Dims); err != nil {
		return nil, err
	}
	return add(t, bias)
}

// rmsNormalization divides by the root of the mean square.
func rmsNormalization(c *call) (*Tensor, error) {
	x := c.in[0]
	axis, err := axisOf(c.int("axis", -1), len(x.Dims))
	if err != nil {
		return nil, err
	}
	return c.divideByRMS(x, product(x.Dims[axis:]), c.float("epsilon", float64(float32(1e-5)))).scaleLast(c.in[1], nil)
}

// divideByRMS divides runs of a length by the root of their mean square.
func (c *call) divideByRMS(t *Tensor, length int, epsilon float64) *Tensor {
	return t.normalizeRuns(length, func(line []float64) {
		inverse := c.function("Rsqrt")(sumSquares(line)/float64(len(line)) + epsilon)
		for i := range line {
			line[i] *= inverse
		}
	})
}

func meanVarianceNormalization(c *call) (*Tensor, error) {
	x, list := c.in[0], c.ints("axes")
	if list == nil {
		list = []int{0, 2, 3}
	}
	axes, err := axesOf(list, len(x.Dims))
	if err != nil {
		return nil, err
	}
	moved, length, err := x.lines(axes)
	if err != nil {
		return nil, err
	}
	const epsilon = 1e-9 // of the function that defines the operator, added to the deviation
	y := moved.normalizeRuns(length, func(line []float64) {
		mean, variance := moments(line)
		for i, v := range line {
			line[i] = (v - mean) / (math.Sqrt(variance) + epsilon)
		}
	})
	return y.transpose(invert(moveToEnd(len(x.Dims), axes...))...)
}

// lrn divides by a power of the sum of squares over neighbouring channels.
func lrn(c *call) (*Tensor, error) {
	x, size := c.in[0], c.int("size", 0)
	if len(x.Dims) < 2 || size < 1 {
		return nil, fmt.Errorf("size %d for shape %v", size, x.Dims)
	}
	alpha, beta, bias := c.float("alpha", float64(float32(1e-4))), c.float("beta", 0.75), c.float("bias", 1)
	return x.alongAxis(1, func(line []float64) {
		old := slices.Clone(line)
		for i, v := range old {
			first, end := max(0, i-(size-1)/2), min(len(old), i-(size-1)/2+size)
			line[i] = v / math.Pow(bias+alpha/float64(size)*sumSquares(old[first:max(first, end)]), beta)
		}
	})
}
