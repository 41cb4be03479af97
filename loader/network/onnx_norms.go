package network

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// reduce reduces the axes that the node names, and drops them where it says so.
func (n *nodeReader) reduce(op layer.Op, x operand) (operand, error) {
	axes, err := ops.ReducedAxes(n.Node, len(x.dims))
	if err != nil {
		return x, err
	}
	x, err = n.reduced(op, x, axes)
	return x.as(n.results[0].Dims...), err
}

// reduceProd multiplies slices.
func reduceProd(n *nodeReader) (operand, error) {
	x, err := n.in(0)
	if err != nil {
		return operand{}, err
	}
	axes, err := ops.ReducedAxes(n.Node, len(x.dims))
	if err != nil {
		return operand{}, err
	}
	const most = 64
	for i, over := range axes {
		if !over || x.dims[i] == 1 {
			continue
		}
		if x.dims[i] > most {
			return operand{}, fmt.Errorf("a product of %d elements, at most %d are multiplied one by one", x.dims[i], most)
		}
		whole := x
		for k := range whole.dims[i] {
			part, err := n.sliced(whole, i, k, 1)
			if err != nil {
				return operand{}, err
			}
			if k == 0 {
				x = part
			} else if x, err = n.binary(layer.Mul, x, part); err != nil {
				return operand{}, err
			}
		}
	}
	return x.as(n.results[0].Dims...), nil
}

func reduceL1(n *nodeReader) (operand, error) {
	x, err := n.in(0)
	if err == nil {
		x, err = n.unary(layer.Abs, x)
	}
	if err == nil {
		x, err = n.reduce(layer.ReduceSum, x)
	}
	return x, err
}

func (n *nodeReader) sumOfSquares() (operand, error) {
	x, err := n.in(0)
	if err == nil {
		x, err = n.binary(layer.Mul, x, x)
	}
	if err == nil {
		x, err = n.reduce(layer.ReduceSum, x)
	}
	return x, err
}

func reduceSumSquare(n *nodeReader) (operand, error) { return n.sumOfSquares() }

func reduceL2(n *nodeReader) (operand, error) {
	x, err := n.sumOfSquares()
	if err == nil {
		x, err = n.unary(layer.Sqrt, x)
	}
	return x, err
}

// reduceLogSum is the logarithm of a sum; of exponentials, less the largest, for
// ReduceLogSumExp.
func reduceLogSum(n *nodeReader) (operand, error) {
	x, err := n.in(0)
	if err != nil {
		return operand{}, err
	}
	if n.Op == "ReduceLogSum" {
		if x, err = n.reduce(layer.ReduceSum, x); err == nil {
			x, err = n.unary(layer.Log, x)
		}
		return x, err
	}
	axes, err := ops.ReducedAxes(n.Node, len(x.dims))
	if err != nil {
		return operand{}, err
	}
	top, err := n.reduced(layer.ReduceMax, x, axes)
	if err != nil {
		return operand{}, err
	}
	y, err := n.binary(layer.Sub, x, top)
	if err == nil {
		y, err = n.unary(layer.Exp, y)
	}
	if err == nil {
		y, err = n.reduced(layer.ReduceSum, y, axes)
	}
	if err == nil {
		y, err = n.unary(layer.Log, y)
	}
	if err == nil {
		y, err = n.binary(layer.Add, y, top)
	}
	return y.as(n.results[0].Dims...), err
}

func global(op layer.Op) chooser {
	return func(n *nodeReader) (operand, error) {
		x, err := n.in(0)
		if err != nil {
			return operand{}, err
		}
		axes := slices.Repeat([]bool{true}, len(x.dims))
		axes[0], axes[1] = false, false
		return n.reduced(op, x, axes)
	}
}

// probabilities is softmax over an axis; before version 13 over it and all behind it.
func (n *nodeReader) probabilities() (operand, error) {
	x, axis, err := n.softmaxAxis()
	if err != nil {
		return x, err
	}
	s, set := axisView(x.dims, axis)
	return n.layer(layer.Reduction(layer.Softmax, s, set), layer.Weights{}, x.dims, x)
}

// softmaxAxis returns the input of a softmax in the shape that it is normalised in, and the
// axis of it. Before version 13 of the operators all axes from the one stated on are one.
func (n *nodeReader) softmaxAxis() (x operand, axis int, err error) {
	if x, err = n.in(0); err != nil {
		return x, 0, err
	}
	dims, missing := x.dims, -1
	if n.Opset < 13 {
		missing = 1
	}
	if axis, err = ops.Axis(max(1, len(dims)), n.Int("axis", missing)); err != nil {
		return x, 0, err
	}
	if n.Opset < 13 && graph.Elements(dims[min(axis+1, len(dims)):]) > 1 {
		x = x.as(graph.Elements(dims[:axis]), graph.Elements(dims[axis:]))
		axis = 1
	}
	if len(x.dims) == 0 {
		x = x.as(1)
	}
	return x, axis, nil
}

func softmax(n *nodeReader) (operand, error) {
	y, err := n.probabilities()
	if err != nil {
		return operand{}, err
	}
	return y.as(n.results[0].Dims...), nil
}

// logSoftmax is x - max - log(sum(exp(x - max))). The logarithm of softmax's own result would
// be that of 0 from -17 on, where fp16 has no probability.
func logSoftmax(n *nodeReader) (operand, error) {
	x, axis, err := n.softmaxAxis()
	if err != nil {
		return operand{}, err
	}
	axes := make([]bool, len(x.dims))
	axes[axis] = true
	largest, err := n.reduced(layer.ReduceMax, x, axes)
	if err != nil {
		return operand{}, err
	}
	d, err := n.binary(layer.Sub, x, largest)
	if err != nil {
		return operand{}, err
	}
	sum, err := n.unary(layer.Exp, d)
	if err == nil {
		sum, err = n.reduced(layer.ReduceSum, sum, axes)
	}
	if err == nil {
		sum, err = n.unary(layer.Log, sum)
	}
	if err == nil {
		d, err = n.binary(layer.Sub, d, sum)
	}
	return d.as(n.results[0].Dims...), err
}

// normalised is (x - mean)/sqrt(variance + epsilon) over all axes from first on.
func (n *nodeReader) normalised(x operand, first int, epsilon float32) (operand, error) {
	dims := x.dims
	outer, inner := dims[:first], dims[first:]
	var s layer.Shape
	var set layer.Axes
	switch {
	case len(inner) == 0:
		return x, errors.New("a norm of single elements")
	case len(inner) == 1:
		s, _ = shapeOf(dims)
		set = layer.AxisW
	case len(inner) == 2:
		s, _ = shapeOf(dims)
		set = layer.AxisH | layer.AxisW
	default:
		last := inner[len(inner)-1]
		s = layer.Shape{N: graph.Elements(outer), C: inner[0], H: graph.Elements(inner[1:]) / max(1, last), W: last}
		set = layer.AxisC | layer.AxisH | layer.AxisW
	}
	l := layer.Reduction(layer.LayerNorm, s, set)
	l.Epsilon = epsilon
	y, err := n.layer(l, layer.Weights{}, nil, x)
	return y.as(dims...), err
}

// affine multiplies and adds the constants of two inputs, which stand along the axes from
// first on; neutral ones are left out.
func (n *nodeReader) affine(x operand, scale, bias int, shape func(c *graph.Const) []int) (operand, error) {
	for i, at := range [...]int{scale, bias} {
		if !n.Given(at) {
			continue
		}
		op, neutral := [...]layer.Op{layer.Mul, layer.Add}[i], [...]float64{1, 0}[i]
		c := n.Const(at)
		if c == nil {
			z, err := n.in(at)
			if err == nil {
				x, err = n.binary(op, x, z.as(shape(&graph.Const{Dims: z.dims})...))
			}
			if err != nil {
				return x, err
			}
			continue
		}
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
		if x, err = n.withConstant(op, x, c.As(shape(c))); err != nil {
			return x, err
		}
	}
	return x, nil
}

func asItIs(c *graph.Const) []int { return c.Dims }

func layerNorm(n *nodeReader) (operand, error) {
	x, err := n.in(0)
	if err != nil {
		return operand{}, err
	}
	axes, err := n.normAxes(len(x.dims))
	if err != nil {
		return operand{}, err
	}
	first := max(0, slices.Index(axes, true))
	if slices.Contains(axes[first:], false) {
		return n.centred(x, axes, n.Float("epsilon", 1e-5))
	}
	y, err := n.normalised(x, first, n.Float("epsilon", 1e-5))
	if err == nil {
		y, err = n.affine(y, 1, 2, asItIs)
	}
	if err != nil || len(n.Out) < 2 {
		return y, err
	}
	return operand{}, errors.Join(n.result(0, y), n.statistics(x, first))
}

// normAxes are the axes of a norm: all from one on, or, of a norm that a file has in
// pieces, a list.
func (n *nodeReader) normAxes(rank int) ([]bool, error) {
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
	first, err := ops.Axis(rank, n.Int("axis", -1))
	if err != nil {
		return nil, err
	}
	for i := range axes {
		axes[i] = i >= first
	}
	return axes, nil
}

// centred is the layer norm over axes that are not the last, step by step.
func (n *nodeReader) centred(x operand, axes []bool, epsilon float32) (operand, error) {
	mean, err := n.reduced(layer.ReduceMean, x, axes)
	if err != nil {
		return x, err
	}
	d, err := n.binary(layer.Sub, x, mean)
	if err != nil {
		return x, err
	}
	v, err := n.binary(layer.Mul, d, d)
	if err == nil {
		v, err = n.reduced(layer.ReduceMean, v, axes)
	}
	if err != nil {
		return x, err
	}
	l := layer.Unary(layer.Rsqrt, v.shape())
	l.Epsilon = epsilon
	if v, err = n.layer(l, layer.Weights{}, v.dims, v); err != nil {
		return x, err
	}
	return n.binary(layer.Mul, d, v)
}

// statistics are a norm's mean and one over its root, which it may be asked for.
func (n *nodeReader) statistics(x operand, first int) error {
	axes := make([]bool, len(x.dims))
	for i := range axes {
		axes[i] = i >= first
	}
	mean, err := n.reduced(layer.ReduceMean, x, axes)
	if err == nil {
		err = n.result(1, mean)
	}
	if err != nil || len(n.Out) < 3 {
		return err
	}
	if n.Out[1].Given() {
		mean.name = n.Out[1].Name
	}
	d, err := n.binary(layer.Sub, x, mean)
	if err == nil {
		d, err = n.binary(layer.Mul, d, d)
	}
	if err == nil {
		d, err = n.reduced(layer.ReduceMean, d, axes)
	}
	if err != nil {
		return err
	}
	l := layer.Unary(layer.Rsqrt, d.shape())
	l.Epsilon = n.Float("epsilon", 1e-5)
	if d, err = n.layer(l, layer.Weights{}, d.dims, d); err != nil {
		return err
	}
	return n.result(2, d)
}

// rmsNorm is x*scale/sqrt(mean of squares + epsilon).
func rmsNorm(n *nodeReader) (operand, error) {
	x, err := n.in(0)
	if err != nil {
		return operand{}, err
	}
	axes, err := n.normAxes(len(x.dims))
	if err != nil {
		return operand{}, err
	}
	y, err := n.binary(layer.Mul, x, x)
	if err == nil {
		y, err = n.reduced(layer.ReduceMean, y, axes)
	}
	if err != nil {
		return operand{}, err
	}
	l := layer.Unary(layer.Rsqrt, y.shape())
	l.Epsilon = n.Float("epsilon", 1e-5)
	if y, err = n.layer(l, layer.Weights{}, y.dims, y); err == nil {
		y, err = n.binary(layer.Mul, x, y)
	}
	if err == nil {
		y, err = n.affine(y, 1, -1, asItIs)
	}
	return y, err
}

func instanceNorm(n *nodeReader) (operand, error) {
	x, err := n.in(0)
	if err != nil || len(x.dims) < 3 {
		return operand{}, errors.Join(err, errors.New("no picture"))
	}
	d := x.dims
	if len(d) > 4 { // all axes behind the channels are one norm
		x = x.as(d[0], d[1], graph.Elements(d[2:len(d)-1]), d[len(d)-1])
	}
	y, err := n.normalised(x, 2, n.Float("epsilon", 1e-5))
	if err == nil {
		y, err = n.affine(y, 1, 2, perChannel(y.dims))
	}
	return y.as(d...), err
}

// perChannel is the shape in which a list of values stands along the channels of dims.
func perChannel(dims []int) func(c *graph.Const) []int {
	return func(c *graph.Const) []int {
		return append([]int{c.Elements()}, slices.Repeat([]int{1}, len(dims)-2)...)
	}
}

// groupNorm normalises groups of channels.
func groupNorm(n *nodeReader) (operand, error) {
	x, err := n.in(0)
	groups := n.Int("num_groups", 0)
	if err != nil || len(x.dims) < 3 || groups < 1 || x.dims[1]%groups != 0 {
		return operand{}, errors.Join(err, fmt.Errorf("%d groups of %v", groups, x.dims))
	}
	d := x.dims
	y, err := n.normalised(x.as(d[0]*groups, d[1]/groups, graph.Elements(d[2:len(d)-1]), d[len(d)-1]), 1, n.Float("epsilon", 1e-5))
	if err != nil {
		return operand{}, err
	}
	shape := func(c *graph.Const) []int { return perChannel(d)(c) }
	if c := n.Const(1); c != nil && c.Elements() == groups && groups != d[1] {
		// Before version 21 a group has one scale.
		y = y.as(d[0], groups, graph.Elements(d[1:])/groups/d[len(d)-1], d[len(d)-1])
		shape = perChannel(y.dims)
	} else {
		y = y.as(d...)
	}
	y, err = n.affine(y, 1, 2, shape)
	return y.as(d...), err
}

// batchNorm is a factor and an addend a channel; folding puts them into a convolution.
func batchNorm(n *nodeReader) (operand, error) {
	x, err := n.in(0)
	if err != nil {
		return operand{}, err
	}
	if len(x.dims) < 2 {
		return operand{}, fmt.Errorf("%v has no channels", x.dims)
	}
	if n.Int("training_mode", 0) != 0 || n.Opset < 7 && n.Int("is_test", 0) == 0 && len(n.Out) > 1 {
		return operand{}, errors.New("batch normalisation in training mode")
	}
	var v [4][]float64 // scale, bias, mean, variance
	channels, absent := x.dims[1], false
	for i := range v {
		c := n.Const(1 + i)
		if c == nil || c.Elements() != channels {
			return operand{}, errors.New("its statistics are no constants a channel")
		}
		if absent = absent || c.Absent(); absent {
			continue
		}
		if v[i], err = c.Values(); err != nil {
			return operand{}, err
		}
	}
	dims := append([]int{channels}, slices.Repeat([]int{1}, len(x.dims)-2)...)
	factor := &graph.Const{Dims: dims, Type: graph.Float, Numbers: make([]float64, channels)}
	addend := &graph.Const{Dims: dims, Type: graph.Float, Numbers: make([]float64, channels)}
	if absent {
		return made1(n, x, dims)
	}
	epsilon := float64(n.Float("epsilon", 1e-5))
	for c := range channels {
		f := v[0][c] / math.Sqrt(v[3][c]+epsilon)
		factor.Numbers[c] = f
		addend.Numbers[c] = v[1][c] - float64(v[2][c]*f)
	}
	y, err := n.withConstant(layer.Mul, x, factor)
	if err == nil {
		y, err = n.withConstant(layer.Add, y, addend)
	}
	return y, err
}

// made1 is a factor and an addend whose values stand in a file that is not there.
func made1(n *nodeReader, x operand, dims []int) (operand, error) {
	s := x.shape()
	if len(x.dims) != 4 {
		return operand{}, errors.New("its statistics stand in a file that is not there")
	}
	var err error
	for _, op := range [...]layer.Op{layer.Mul, layer.Add} {
		l := layer.Layer{Op: op, In: s, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: s.C, H: 1, W: 1}}
		if x, err = n.layer(l, layer.Weights{}, x.dims, x); err != nil {
			return operand{}, err
		}
	}
	return x, nil
}
