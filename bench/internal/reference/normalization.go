package reference

import (
	"anesim/bench/internal/reference/tensor"
	"fmt"
	"math"
	"slices"
)

// normalizationOperators has the operators that divide by a deviation, a root mean square or a
// power of a sum of squares.
var normalizationOperators = map[string]operator{
	"BatchNormalization": {5, func(c *call) ([]*tensor.Tensor, error) {
		if c.flagAttribute("training_mode") {
			return computeTrainingNorm(c)
		}
		return wrapInList(computeBatchNormalization(c))
	}},
	"InstanceNormalization":     {3, wrapSingleResult(computeInstanceNormalization)},
	"LayerNormalization":        {2, computeLayerNormalization},
	"RMSNormalization":          {2, wrapSingleResult(computeRMSNormalization)},
	"GroupNormalization":        {3, wrapSingleResult(computeGroupNormalization)},
	"MeanVarianceNormalization": {1, wrapSingleResult(computeMeanVarianceNormalization)},
	"LRN":                       {1, wrapSingleResult(computeLRN)},
}

// computeBatchNormalization computes the operator BatchNormalization for inference: it normalizes
// each channel with the mean and variance given as inputs.
func computeBatchNormalization(c *call) (*tensor.Tensor, error) {
	if c.opset < 7 && c.intAttribute("is_test", 0) == 0 && len(c.node.Outputs) > 1 {
		return nil, c.newUnsupportedError("training mode")
	}
	if c.intAttribute("spatial", 1) == 0 {
		return nil, c.newUnsupportedError("attribute spatial=0")
	}
	epsilon := c.floatAttribute("epsilon", float64(float32(1e-5)))
	return c.in[0].MapChannels(func(v float64, p []float64) float64 {
		scale, bias, mean, variance := p[0], p[1], p[2], p[3]
		return (v-mean)/math.Sqrt(variance+epsilon)*scale + bias
	}, c.in[1:5]...)
}

// computeMeanAndVariance returns the mean and the population variance of a line.
func computeMeanAndVariance(line []float64) (mean, variance float64) {
	mean = tensor.Sum(line) / float64(len(line))
	for _, v := range line {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(line))
}

// normalizeLine changes line in place: it subtracts the mean of the line from each element and
// divides the difference by sqrt(variance + epsilon).
func (r *interpreter) normalizeLine(line []float64, epsilon float64) {
	mean, variance := computeMeanAndVariance(line)
	inverse := r.findElementaryFunction("Rsqrt")(variance + epsilon)
	for i, v := range line {
		line[i] = (v - mean) * inverse
	}
}

func computeInstanceNormalization(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	if len(x.Dims) < 3 {
		return nil, fmt.Errorf("input has shape %v; want at least one spatial axis after batch and channels", x.Dims)
	}
	epsilon := c.floatAttribute("epsilon", float64(float32(1e-5)))
	y := x.MapRuns(tensor.CountValidElements(x.Dims[2:]), func(line []float64) { c.normalizeLine(line, epsilon) })
	return y.MapChannels(applyScaleAndBias, c.in[1], c.in[2])
}

func applyScaleAndBias(v float64, p []float64) float64 { return v*p[0] + p[1] }

// computeGroupNormalization computes GroupNormalization. In operator sets before 21 the scale and
// the bias may have one element for each group; otherwise they have one for each channel.
func computeGroupNormalization(c *call) (*tensor.Tensor, error) {
	x, groups := c.in[0], c.intAttribute("num_groups", 0)
	if len(x.Dims) < 2 || groups < 1 || x.Dims[1]%groups != 0 {
		return nil, fmt.Errorf("cannot divide the channels (axis 1) of shape %v into %d groups", x.Dims, groups)
	}
	epsilon := c.floatAttribute("epsilon", float64(float32(1e-5)))
	channelsPerGroup := x.Dims[1] / groups
	y := x.MapRuns(channelsPerGroup*tensor.CountValidElements(x.Dims[2:]), func(line []float64) { c.normalizeLine(line, epsilon) })
	scale, bias := c.in[1], c.in[2]
	if c.opset < 21 && len(scale.Data) == groups && len(bias.Data) == groups && channelsPerGroup > 1 {
		scale, bias = scale.RepeatEachElement(channelsPerGroup), bias.RepeatEachElement(channelsPerGroup)
	}
	return y.MapChannels(applyScaleAndBias, scale, bias)
}

// computeLayerNormalization computes LayerNormalization. It also returns the mean of each
// normalized row and the reciprocal of its standard deviation.
func computeLayerNormalization(c *call) ([]*tensor.Tensor, error) {
	x := c.in[0]
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", -1), len(x.Dims))
	if err != nil {
		return nil, err
	}
	epsilon := c.floatAttribute("epsilon", float64(float32(1e-5)))
	dims := slices.Clone(x.Dims)
	for i := axis; i < len(dims); i++ {
		dims[i] = 1
	}
	means, err := tensor.New(x.Type, dims...)
	if err != nil {
		return nil, err
	}
	inverses, row := means.ZerosLike(), 0
	y := x.MapRuns(tensor.CountValidElements(x.Dims[axis:]), func(line []float64) {
		mean, variance := computeMeanAndVariance(line)
		means.Data[row], inverses.Data[row] = mean, c.findElementaryFunction("Rsqrt")(variance+epsilon)
		c.normalizeLine(line, epsilon)
		row++
	})
	y, err = y.ScaleAndAddBias(c.in[1], c.inputTensor(2))
	return []*tensor.Tensor{y, means, inverses}, err
}

// computeRMSNormalization computes RMSNormalization: it divides the elements of the last axes by
// the square root of their mean square plus epsilon, and multiplies them by a scale.
func computeRMSNormalization(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", -1), len(x.Dims))
	if err != nil {
		return nil, err
	}
	return c.divideByRMS(x, tensor.CountValidElements(x.Dims[axis:]), c.floatAttribute("epsilon", float64(float32(1e-5)))).ScaleAndAddBias(c.in[1], nil)
}

// divideByRMS returns t with each run of length elements divided by sqrt(m + epsilon), where m is
// the mean of their squares.
func (r *interpreter) divideByRMS(t *tensor.Tensor, length int, epsilon float64) *tensor.Tensor {
	return t.MapRuns(length, func(line []float64) {
		inverse := r.findElementaryFunction("Rsqrt")(sumSquares(line)/float64(len(line)) + epsilon)
		for i := range line {
			line[i] *= inverse
		}
	})
}

func computeMeanVarianceNormalization(c *call) (*tensor.Tensor, error) {
	x, list := c.in[0], c.intsAttribute("axes")
	if list == nil {
		list = []int{0, 2, 3}
	}
	axes, err := tensor.ResolveAxes(list, len(x.Dims))
	if err != nil {
		return nil, err
	}
	moved, length, err := x.MoveAxesLast(axes)
	if err != nil {
		return nil, err
	}
	const epsilon = 1e-9 // added to the deviation, as in the function that defines the operator
	y := moved.MapRuns(length, func(line []float64) {
		mean, variance := computeMeanAndVariance(line)
		for i, v := range line {
			line[i] = (v - mean) / (math.Sqrt(variance) + epsilon)
		}
	})
	return y.Transpose(tensor.InvertPermutation(tensor.PermutationToEnd(len(x.Dims), axes...))...)
}

// computeLRN computes LRN: it divides each element by a power of the sum of the squares of the
// elements in neighboring channels, scaled by alpha/size and offset by bias.
func computeLRN(c *call) (*tensor.Tensor, error) {
	x, size := c.in[0], c.intAttribute("size", 0)
	if len(x.Dims) < 2 {
		return nil, fmt.Errorf("input has shape %v; want rank 2 or more", x.Dims)
	}
	if size < 1 {
		return nil, fmt.Errorf("attribute \"size\" is %d; want at least 1", size)
	}
	alpha, beta, bias := c.floatAttribute("alpha", float64(float32(1e-4))), c.floatAttribute("beta", 0.75), c.floatAttribute("bias", 1)
	return x.MapLines(1, func(line []float64) {
		old := slices.Clone(line)
		for i, v := range old {
			first, end := max(0, i-(size-1)/2), min(len(old), i-(size-1)/2+size)
			line[i] = v / math.Pow(bias+alpha/float64(size)*sumSquares(old[first:max(first, end)]), beta)
		}
	})
}
