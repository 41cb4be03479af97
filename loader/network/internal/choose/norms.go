package choose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
)

// reduceNodeAxes adds layers that apply the reduction op over the axes that the node names. It
// drops these axes from the result unless the node keeps them.
func reduceNodeAxes(n *Chooser, op layer.Op, x Operand) (Operand, error) {
	axes, err := ops.ReducedAxes(n.Node, len(x.Dims))
	if err != nil {
		return x, err
	}
	x, err = n.reduceAxes(op, x, axes)
	return x.As(n.Results[0].Dims...), err
}

// addReduceProdLayers adds layers that compute products along each reduced axis, by multiplying its
// elements one by one. An axis may have up to 64 elements.
func addReduceProdLayers(n *Chooser, x Operand) (Operand, error) {
	axes, err := ops.ReducedAxes(n.Node, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	const most = 64
	for i, over := range axes {
		if !over || x.Dims[i] == 1 {
			continue
		}
		if x.Dims[i] > most {
			return Operand{}, fmt.Errorf("axis %d has %d elements to multiply; want at most %d", i, x.Dims[i], most)
		}
		full := x
		for k := range full.Dims[i] {
			part, err := n.sliceAxis(full, i, k, 1)
			if err != nil {
				return Operand{}, err
			}
			if k == 0 {
				x = part
			} else if x, err = n.ApplyBinary(layer.Mul, x, part); err != nil {
				return Operand{}, err
			}
		}
	}
	return x.As(n.Results[0].Dims...), nil
}

func addReduceL1Layers(n *Chooser, x Operand) (Operand, error) {
	x, err := n.applyUnaryOp(layer.Abs, x)
	if err == nil {
		x, err = reduceNodeAxes(n, layer.ReduceSum, x)
	}
	return x, err
}

func addReduceSumSquareLayers(n *Chooser) (Operand, error) {
	x, err := n.inputOperand(0)
	if err == nil {
		x, err = n.ApplyBinary(layer.Mul, x, x)
	}
	if err == nil {
		x, err = reduceNodeAxes(n, layer.ReduceSum, x)
	}
	return x, err
}

func addReduceL2Layers(n *Chooser) (Operand, error) {
	x, err := addReduceSumSquareLayers(n)
	if err == nil {
		x, err = n.applyUnaryOp(layer.Sqrt, x)
	}
	return x, err
}

// addReduceLogSumLayers adds layers that compute log(sum(x)) for ReduceLogSum. For ReduceLogSumExp
// they compute max(x) + log(sum(exp(x - max(x)))), which keeps exp within the range of fp16.
func addReduceLogSumLayers(n *Chooser, x Operand) (Operand, error) {
	if n.Op == "ReduceLogSum" {
		x, err := reduceNodeAxes(n, layer.ReduceSum, x)
		if err == nil {
			x, err = n.applyUnaryOp(layer.Log, x)
		}
		return x, err
	}
	axes, err := ops.ReducedAxes(n.Node, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	_, largest, y, err := computeShiftedLogSumExp(n, x, axes)
	if err == nil {
		y, err = n.ApplyBinary(layer.Add, y, largest)
	}
	return y.As(n.Results[0].Dims...), err
}

// globalPoolRule returns a rule that applies the reduction op over all spatial axes of the node's
// input.
func globalPoolRule(op layer.Op) rule {
	return firstInputRule(func(n *Chooser, x Operand) (Operand, error) {
		axes := slices.Repeat([]bool{true}, len(x.Dims))
		axes[0], axes[1] = false, false
		return n.reduceAxes(op, x, axes)
	})
}

// readSoftmaxInput returns the node's input as a softmax normalizes it, and the axis to normalize.
// Before operator set 13 a softmax normalizes the node's axis and all later ones together, so they
// are merged into one.
func readSoftmaxInput(n *Chooser) (x Operand, axis int, err error) {
	if x, err = n.inputOperand(0); err != nil {
		return x, 0, err
	}
	dims, missing := x.Dims, -1
	if n.Opset < 13 {
		missing = 1
	}
	if axis, err = ops.Axis(max(1, len(dims)), n.Int("axis", missing)); err != nil {
		return x, 0, err
	}
	if n.Opset < 13 && graph.Elements(dims[min(axis+1, len(dims)):]) > 1 {
		x = x.As(graph.Elements(dims[:axis]), graph.Elements(dims[axis:]))
		axis = 1
	}
	if len(x.Dims) == 0 {
		x = x.As(1)
	}
	return x, axis, nil
}

func addSoftmaxLayers(n *Chooser) (Operand, error) {
	x, axis, err := readSoftmaxInput(n)
	if err != nil {
		return Operand{}, err
	}
	s, set := mergeOtherAxes(x.Dims, axis)
	return n.addLayer(layer.Reduction(layer.Softmax, s, set), layer.Weights{}, n.Results[0].Dims, x)
}

// addLogSoftmaxLayers adds layers that compute x - max - log(sum(exp(x - max))). They do not take
// the logarithm of a softmax, because fp16 rounds probabilities to zero where the logarithm is
// below about -17.
func addLogSoftmaxLayers(n *Chooser) (Operand, error) {
	x, axis, err := readSoftmaxInput(n)
	if err != nil {
		return Operand{}, err
	}
	axes := make([]bool, len(x.Dims))
	axes[axis] = true
	d, _, sum, err := computeShiftedLogSumExp(n, x, axes)
	if err == nil {
		d, err = n.ApplyBinary(layer.Sub, d, sum)
	}
	return d.As(n.Results[0].Dims...), err
}

// computeShiftedLogSumExp adds layers that compute the largest elements of x along the given axes,
// the differences x - largest, and the sum, log(sum(exp(x - largest))). Subtracting the largest
// element keeps exp within the range of fp16.
func computeShiftedLogSumExp(n *Chooser, x Operand, axes []bool) (difference, largest, sum Operand, err error) {
	largest, err = n.reduceAxes(layer.ReduceMax, x, axes)
	if err == nil {
		difference, err = n.ApplyBinary(layer.Sub, x, largest)
	}
	if err == nil {
		sum, err = n.applyUnaryOp(layer.Exp, difference)
	}
	if err == nil {
		sum, err = n.reduceAxes(layer.ReduceSum, sum, axes)
	}
	if err == nil {
		sum, err = n.applyUnaryOp(layer.Log, sum)
	}
	return difference, largest, sum, err
}

// applyLayerNorm adds one layer that computes (x - mean)/sqrt(variance + epsilon) over axis first
// of x and all later ones.
func applyLayerNorm(n *Chooser, x Operand, first int, epsilon float32) (Operand, error) {
	dims := x.Dims
	outer, inner := dims[:first], dims[first:]
	var s layer.Shape
	var set layer.Axes
	switch {
	case len(inner) == 0:
		return x, fmt.Errorf("input has shape %v; want at least 1 axis", dims)
	// Each case is a set of axes that the engine normalizes in one layer, and views the other axes as
	// batch and channels.
	case len(inner) == 1:
		s, _ = ShapeOf(dims)
		set = layer.AxisW
	case len(inner) == 2:
		s, _ = ShapeOf(dims)
		set = layer.AxisH | layer.AxisW
	default:
		last := inner[len(inner)-1]
		s = layer.Shape{N: graph.Elements(outer), C: inner[0], H: graph.Elements(inner[1:]) / max(1, last), W: last}
		set = layer.AxisC | layer.AxisH | layer.AxisW
	}
	l := layer.Reduction(layer.LayerNorm, s, set)
	l.Epsilon = epsilon
	if s.W > layer.MaxExtent && l.FoldedRows() == 1 { // no task has all values that share a mean
		axes := make([]bool, len(dims))
		for i := first; i < len(dims); i++ {
			axes[i] = true
		}
		return normalizeInSteps(n, x, axes, epsilon)
	}
	y, err := n.addLayer(l, layer.Weights{}, nil, x)
	return y.As(dims...), err
}

// applyScaleAndBias multiplies x by the node's input with the number scale and adds the input with
// the number bias, each if it is present. shape returns the dimensions with which a parameter
// broadcasts to x. A scale of only ones, or a bias of only zeros, adds no layer.
func applyScaleAndBias(n *Chooser, x Operand, scale, bias int, shape func(c *graph.Const) []int) (Operand, error) {
	for i, at := range [...]int{scale, bias} {
		if !n.Given(at) {
			continue
		}
		op, neutral := [...]layer.Op{layer.Mul, layer.Add}[i], [...]float64{1, 0}[i]
		c := n.Const(at)
		if c == nil {
			z, err := n.inputOperand(at)
			if err == nil {
				x, err = n.ApplyBinary(op, x, z.As(shape(&graph.Const{Dims: z.Dims})...))
			}
			if err != nil {
				return x, err
			}
			continue
		}
		// Values that were not read may be other than neutral, so the layer stays.
		if !c.Absent() {
			v, err := c.Values()
			if err != nil {
				return x, err
			}
			if !slices.ContainsFunc(v, func(e float64) bool { return e != neutral }) {
				continue
			}
		}
		var err error
		if x, err = n.applyConstantOperand(op, x, c.As(shape(c))); err != nil {
			return x, err
		}
	}
	return x, nil
}

// constantDims returns the dimensions of c. It is the argument shape of [applyScaleAndBias] for
// parameters that broadcast without a change of shape.
func constantDims(c *graph.Const) []int { return c.Dims }

func addLayerNormLayers(n *Chooser, x Operand) (Operand, error) {
	axes, err := readNormAxes(n, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	first := max(0, slices.Index(axes, true))
	if slices.Contains(axes[first:], false) {
		return normalizeInSteps(n, x, axes, n.Float("epsilon", 1e-5))
	}
	n.noteRefusedNorm(x)
	y, err := applyLayerNorm(n, x, first, n.Float("epsilon", 1e-5))
	if err == nil {
		y, err = applyScaleAndBias(n, y, 1, 2, constantDims)
	}
	if err != nil || len(n.Out) < 2 {
		return y, err
	}
	return Operand{}, errors.Join(n.NameResult(0, y), addNormStatistics(n, x, first))
}

// leastRefusedNorm is the size in bytes from which Apple's compiler failed (ANECCompile, error 11) for some
// layer norms with a scale and a bias, depending on their values: on M1 Max and M2 Pro for 512 rows of
// 1,024 elements, 128 of 4,096 and 256 of 3,994, but not of 3,993. It failed for none of the smaller ones
// that were tried (sbryngelson/ANEForge, issues 149 and 158). No rule for the values is known.
const leastRefusedNorm = 1 << 20

// noteRefusedNorm adds a note, once, if x is as large as the inputs of layer norms that Apple's compiler
// may refuse.
func (n *Chooser) noteRefusedNorm(x Operand) {
	const key = "refused norm"
	if !n.Given(1) && !n.Given(2) || HalfBytes*graph.Elements(x.Dims) < leastRefusedNorm || n.noted[key] {
		return
	}
	n.noted[key] = true
	n.Note("%s: Apple's compiler refused some layer norms of 1 MiB and more, depending on their scale and bias (ANEForge, issues 149 and 158); the model runs all", n.Label)
}

// Norms have the attribute computeType for the type in which they compute. The engine has only one.
const computeType = "stash_type"

// readNormAxes returns a bool for each of rank axes that says whether a norm covers the axis. The
// attribute axes lists the covered axes; without it, they are the node's axis and all later ones.
func readNormAxes(n *Chooser, rank int) ([]bool, error) {
	axes := make([]bool, rank)
	if list, given, err := n.List("axes", -1); err != nil {
		return nil, err
	} else if given {
		for _, a := range list {
			at, err := ops.Axis(rank, a)
			if err != nil {
				return nil, err
			}
			axes[at] = true
		}
		return axes, nil
	}
	n.Ignore(computeType)
	first, err := ops.Axis(rank, n.Int("axis", -1))
	if err != nil {
		return nil, err
	}
	for i := range axes {
		axes[i] = i >= first
	}
	return axes, nil
}

// normalizeInSteps adds several layers that compute (x - mean)/sqrt(variance + epsilon) over the
// given axes, which need not be the last ones.
func normalizeInSteps(n *Chooser, x Operand, axes []bool, epsilon float32) (Operand, error) {
	mean, err := n.reduceAxes(layer.ReduceMean, x, axes)
	if err != nil {
		return x, err
	}
	d, err := n.ApplyBinary(layer.Sub, x, mean)
	if err != nil {
		return x, err
	}
	v, err := computeInverseRMS(n, d, axes, epsilon)
	if err != nil {
		return x, err
	}
	return n.ApplyBinary(layer.Mul, d, v)
}

// computeInverseRMS adds layers that compute 1/sqrt(mean(x*x) + epsilon). The mean is over the axes
// i with axes[i] set, whose extents become 1.
func computeInverseRMS(n *Chooser, x Operand, axes []bool, epsilon float32) (Operand, error) {
	y, err := n.ApplyBinary(layer.Mul, x, x)
	if err == nil {
		y, err = n.reduceAxes(layer.ReduceMean, y, axes)
	}
	if err != nil {
		return x, err
	}
	l := layer.Unary(layer.Rsqrt, y.shape())
	l.Epsilon = epsilon
	return n.addLayer(l, layer.Weights{}, y.Dims, y)
}

// addNormStatistics adds layers for the optional outputs of a layer norm of x over axis first and
// all later ones: the mean, and 1/sqrt(variance + epsilon).
func addNormStatistics(n *Chooser, x Operand, first int) error {
	axes := make([]bool, len(x.Dims))
	for i := range axes {
		axes[i] = i >= first
	}
	mean, err := n.reduceAxes(layer.ReduceMean, x, axes)
	if err == nil {
		err = n.NameResult(1, mean)
	}
	if err != nil || len(n.Out) < 3 {
		return err
	}
	if n.Out[1].Given() {
		mean.Name = n.Out[1].Name
	}
	d, err := n.ApplyBinary(layer.Sub, x, mean)
	if err == nil {
		d, err = computeInverseRMS(n, d, axes, n.Float("epsilon", 1e-5))
	}
	if err != nil {
		return err
	}
	return n.NameResult(2, d)
}

// addRMSNormLayers adds layers that compute x*scale/sqrt(mean(x*x) + epsilon).
func addRMSNormLayers(n *Chooser, x Operand) (Operand, error) {
	axes, err := readNormAxes(n, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	y, err := computeInverseRMS(n, x, axes, n.Float("epsilon", 1e-5))
	if err == nil {
		y, err = n.ApplyBinary(layer.Mul, x, y)
	}
	if err == nil {
		y, err = applyScaleAndBias(n, y, 1, -1, constantDims)
	}
	return y, err
}

func addInstanceNormLayers(n *Chooser, x Operand) (Operand, error) {
	if len(x.Dims) < 3 {
		return Operand{}, fmt.Errorf("input has shape %v; want at least 3 axes", x.Dims)
	}
	d := x.Dims
	if len(d) > 4 { // merge axes so that the tensor has four
		x = x.As(d[0], d[1], graph.Elements(d[2:len(d)-1]), d[len(d)-1])
	}
	y, err := applyLayerNorm(n, x, 2, n.Float("epsilon", 1e-5))
	if err == nil {
		y, err = applyScaleAndBias(n, y, 1, 2, channelShapeFunc(y.Dims))
	}
	return y.As(d...), err
}

// channelShapeFunc returns a function that returns the dimensions with which one value per channel
// broadcasts to a tensor of shape dims.
func channelShapeFunc(dims []int) func(c *graph.Const) []int {
	return func(c *graph.Const) []int {
		return append([]int{c.Elements()}, slices.Repeat([]int{1}, len(dims)-2)...)
	}
}

// addGroupNormLayers adds layers that normalize each group of channels: they subtract the mean of
// the group and divide by the group's standard deviation.
func addGroupNormLayers(n *Chooser, x Operand) (Operand, error) {
	groups := n.Int("num_groups", 0)
	n.Ignore(computeType)
	if len(x.Dims) < 3 {
		return Operand{}, fmt.Errorf("input has shape %v; want at least 3 axes", x.Dims)
	}
	if groups < 1 || x.Dims[1]%groups != 0 {
		return Operand{}, fmt.Errorf("num_groups is %d; want a positive divisor of the %d channels", groups, x.Dims[1])
	}
	d := x.Dims
	y, err := applyLayerNorm(n, x.As(d[0]*groups, d[1]/groups, graph.Elements(d[2:len(d)-1]), d[len(d)-1]), 1, n.Float("epsilon", 1e-5))
	if err != nil {
		return Operand{}, err
	}
	shape := func(c *graph.Const) []int { return channelShapeFunc(d)(c) }
	if c := n.Const(1); c != nil && c.Elements() == groups && groups != d[1] {
		// Before operator set 21 there is one scale per group.
		y = y.As(d[0], groups, graph.Elements(d[1:])/groups/d[len(d)-1], d[len(d)-1])
		shape = channelShapeFunc(y.Dims)
	} else {
		y = y.As(d...)
	}
	y, err = applyScaleAndBias(n, y, 1, 2, shape)
	return y.As(d...), err
}

// addBatchNormLayers adds layers that multiply each channel by a factor and add a constant to it.
// The factor and the constant are computed from the node's statistics; a convolution before the
// node can absorb them later.
func addBatchNormLayers(n *Chooser, x Operand) (Operand, error) {
	var err error
	if len(x.Dims) < 2 {
		return Operand{}, fmt.Errorf("input has shape %v; want at least 2 axes", x.Dims)
	}
	n.Ignore("momentum") // of training
	if n.Opset < 9 {
		n.Accept("spatial", 1)
	}
	if n.Opset < 7 {
		n.Ignore("is_test")
	}
	if n.Int("training_mode", 0) != 0 || n.Opset < 7 && n.Int("is_test", 0) == 0 && len(n.Out) > 1 {
		return Operand{}, errors.New("training_mode is not supported")
	}
	var v [4][]float64 // scale, bias, mean, variance
	channels, absent := x.Dims[1], false
	for i := range v {
		c := n.Const(1 + i)
		name := [...]string{"scale", "bias", "mean", "variance"}[i]
		if c == nil {
			return Operand{}, fmt.Errorf("%s is missing or computed; want a constant", name)
		}
		if c.Elements() != channels {
			return Operand{}, fmt.Errorf("%s has shape %v; want one value for each of %d channels", name, c.Dims, channels)
		}
		if absent = absent || c.Absent(); absent {
			continue
		}
		if v[i], err = c.Values(); err != nil {
			return Operand{}, err
		}
	}
	dims := append([]int{channels}, slices.Repeat([]int{1}, len(x.Dims)-2)...)
	if absent {
		return applyUnknownScaleAndBias(n, x, dims)
	}
	factor := &graph.Const{Dims: dims, Type: graph.Float, Numbers: make([]float64, channels)}
	addend := &graph.Const{Dims: dims, Type: graph.Float, Numbers: make([]float64, channels)}
	epsilon := float64(n.Float("epsilon", 1e-5))
	for c := range channels {
		// In float64: the variance may be far below the range of fp16, and its root must not be.
		f := v[0][c] / math.Sqrt(v[3][c]+epsilon)
		factor.Numbers[c] = f
		addend.Numbers[c] = v[1][c] - float64(v[2][c]*f)
	}
	y, err := n.applyConstantOperand(layer.Mul, x, factor)
	if err == nil {
		y, err = n.applyConstantOperand(layer.Add, y, addend)
	}
	return y, err
}

// applyUnknownScaleAndBias adds layers that multiply each channel of x by a factor and add a
// constant to it. The values of both are in a file that was not read. x must have four axes.
func applyUnknownScaleAndBias(n *Chooser, x Operand, dims []int) (Operand, error) {
	s := x.shape()
	if len(x.Dims) != 4 {
		return Operand{}, errors.New("scale, bias, mean or variance is in a file that was not read")
	}
	var err error
	for _, op := range [...]layer.Op{layer.Mul, layer.Add} {
		l := layer.Layer{Op: op, In: s, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: s.C, H: 1, W: 1}}
		if x, err = n.addLayer(l, layer.Weights{}, x.Dims, x); err != nil {
			return Operand{}, err
		}
	}
	return x, nil
}
