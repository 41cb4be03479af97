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

// reduce reduces the axes that the node names, and drops them where it says so.
func reduce(n *Chooser, op layer.Op, x Operand) (Operand, error) {
	axes, err := ops.ReducedAxes(n.Node, len(x.Dims))
	if err != nil {
		return x, err
	}
	x, err = n.reduced(op, x, axes)
	return x.As(n.Results[0].Dims...), err
}

// reduceProd multiplies slices.
func reduceProd(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
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
			return Operand{}, fmt.Errorf("a product of %d elements, at most %d are multiplied one by one", x.Dims[i], most)
		}
		whole := x
		for k := range whole.Dims[i] {
			part, err := n.sliced(whole, i, k, 1)
			if err != nil {
				return Operand{}, err
			}
			if k == 0 {
				x = part
			} else if x, err = n.Binary(layer.Mul, x, part); err != nil {
				return Operand{}, err
			}
		}
	}
	return x.As(n.Results[0].Dims...), nil
}

func reduceL1(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err == nil {
		x, err = n.unary(layer.Abs, x)
	}
	if err == nil {
		x, err = reduce(n, layer.ReduceSum, x)
	}
	return x, err
}

func sumOfSquares(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err == nil {
		x, err = n.Binary(layer.Mul, x, x)
	}
	if err == nil {
		x, err = reduce(n, layer.ReduceSum, x)
	}
	return x, err
}

func reduceSumSquare(n *Chooser) (Operand, error) { return sumOfSquares(n) }

func reduceL2(n *Chooser) (Operand, error) {
	x, err := sumOfSquares(n)
	if err == nil {
		x, err = n.unary(layer.Sqrt, x)
	}
	return x, err
}

// reduceLogSum is the logarithm of a sum; of exponentials, less the largest, for
// ReduceLogSumExp.
func reduceLogSum(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	if n.Op == "ReduceLogSum" {
		if x, err = reduce(n, layer.ReduceSum, x); err == nil {
			x, err = n.unary(layer.Log, x)
		}
		return x, err
	}
	axes, err := ops.ReducedAxes(n.Node, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	top, err := n.reduced(layer.ReduceMax, x, axes)
	if err != nil {
		return Operand{}, err
	}
	y, err := n.Binary(layer.Sub, x, top)
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
		y, err = n.Binary(layer.Add, y, top)
	}
	return y.As(n.Results[0].Dims...), err
}

func global(op layer.Op) rule {
	return func(n *Chooser) (Operand, error) {
		x, err := n.in(0)
		if err != nil {
			return Operand{}, err
		}
		axes := slices.Repeat([]bool{true}, len(x.Dims))
		axes[0], axes[1] = false, false
		return n.reduced(op, x, axes)
	}
}

// probabilities is softmax over an axis; before version 13 over it and all behind it.
func probabilities(n *Chooser) (Operand, error) {
	x, axis, err := softmaxAxis(n)
	if err != nil {
		return x, err
	}
	s, set := axisView(x.Dims, axis)
	return n.layer(layer.Reduction(layer.Softmax, s, set), layer.Weights{}, x.Dims, x)
}

// softmaxAxis returns the input of a softmax in the shape that it is normalised in, and the
// axis of it. Before version 13 of the operators all axes from the one stated on are one.
func softmaxAxis(n *Chooser) (x Operand, axis int, err error) {
	if x, err = n.in(0); err != nil {
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

func softmax(n *Chooser) (Operand, error) {
	y, err := probabilities(n)
	if err != nil {
		return Operand{}, err
	}
	return y.As(n.Results[0].Dims...), nil
}

// logSoftmax is x - max - log(sum(exp(x - max))). The logarithm of softmax's own result would
// be that of 0 from -17 on, where fp16 has no probability.
func logSoftmax(n *Chooser) (Operand, error) {
	x, axis, err := softmaxAxis(n)
	if err != nil {
		return Operand{}, err
	}
	axes := make([]bool, len(x.Dims))
	axes[axis] = true
	largest, err := n.reduced(layer.ReduceMax, x, axes)
	if err != nil {
		return Operand{}, err
	}
	d, err := n.Binary(layer.Sub, x, largest)
	if err != nil {
		return Operand{}, err
	}
	sum, err := n.unary(layer.Exp, d)
	if err == nil {
		sum, err = n.reduced(layer.ReduceSum, sum, axes)
	}
	if err == nil {
		sum, err = n.unary(layer.Log, sum)
	}
	if err == nil {
		d, err = n.Binary(layer.Sub, d, sum)
	}
	return d.As(n.Results[0].Dims...), err
}

// normalised is (x - mean)/sqrt(variance + epsilon) over all axes from first on.
func normalised(n *Chooser, x Operand, first int, epsilon float32) (Operand, error) {
	dims := x.Dims
	outer, inner := dims[:first], dims[first:]
	var s layer.Shape
	var set layer.Axes
	switch {
	case len(inner) == 0:
		return x, errors.New("a norm of single elements")
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
	y, err := n.layer(l, layer.Weights{}, nil, x)
	return y.As(dims...), err
}

// affine multiplies and adds the constants of two inputs, which stand along the axes from
// first on; neutral ones are left out.
func affine(n *Chooser, x Operand, scale, bias int, shape func(c *graph.Const) []int) (Operand, error) {
	for i, at := range [...]int{scale, bias} {
		if !n.Given(at) {
			continue
		}
		op, neutral := [...]layer.Op{layer.Mul, layer.Add}[i], [...]float64{1, 0}[i]
		c := n.Const(at)
		if c == nil {
			z, err := n.in(at)
			if err == nil {
				x, err = n.Binary(op, x, z.As(shape(&graph.Const{Dims: z.Dims})...))
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

func layerNorm(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	axes, err := normAxes(n, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	first := max(0, slices.Index(axes, true))
	if slices.Contains(axes[first:], false) {
		return centred(n, x, axes, n.Float("epsilon", 1e-5))
	}
	y, err := normalised(n, x, first, n.Float("epsilon", 1e-5))
	if err == nil {
		y, err = affine(n, y, 1, 2, asItIs)
	}
	if err != nil || len(n.Out) < 2 {
		return y, err
	}
	return Operand{}, errors.Join(n.Result(0, y), statistics(n, x, first))
}

// normAxes are the axes of a norm: all from one on, or, of a norm that a file has in
// pieces, a list.
func normAxes(n *Chooser, rank int) ([]bool, error) {
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
func centred(n *Chooser, x Operand, axes []bool, epsilon float32) (Operand, error) {
	mean, err := n.reduced(layer.ReduceMean, x, axes)
	if err != nil {
		return x, err
	}
	d, err := n.Binary(layer.Sub, x, mean)
	if err != nil {
		return x, err
	}
	v, err := n.Binary(layer.Mul, d, d)
	if err == nil {
		v, err = n.reduced(layer.ReduceMean, v, axes)
	}
	if err != nil {
		return x, err
	}
	l := layer.Unary(layer.Rsqrt, v.shape())
	l.Epsilon = epsilon
	if v, err = n.layer(l, layer.Weights{}, v.Dims, v); err != nil {
		return x, err
	}
	return n.Binary(layer.Mul, d, v)
}

// statistics are a norm's mean and one over its root, which it may be asked for.
func statistics(n *Chooser, x Operand, first int) error {
	axes := make([]bool, len(x.Dims))
	for i := range axes {
		axes[i] = i >= first
	}
	mean, err := n.reduced(layer.ReduceMean, x, axes)
	if err == nil {
		err = n.Result(1, mean)
	}
	if err != nil || len(n.Out) < 3 {
		return err
	}
	if n.Out[1].Given() {
		mean.Name = n.Out[1].Name
	}
	d, err := n.Binary(layer.Sub, x, mean)
	if err == nil {
		d, err = n.Binary(layer.Mul, d, d)
	}
	if err == nil {
		d, err = n.reduced(layer.ReduceMean, d, axes)
	}
	if err != nil {
		return err
	}
	l := layer.Unary(layer.Rsqrt, d.shape())
	l.Epsilon = n.Float("epsilon", 1e-5)
	if d, err = n.layer(l, layer.Weights{}, d.Dims, d); err != nil {
		return err
	}
	return n.Result(2, d)
}

// rmsNorm is x*scale/sqrt(mean of squares + epsilon).
func rmsNorm(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	axes, err := normAxes(n, len(x.Dims))
	if err != nil {
		return Operand{}, err
	}
	y, err := n.Binary(layer.Mul, x, x)
	if err == nil {
		y, err = n.reduced(layer.ReduceMean, y, axes)
	}
	if err != nil {
		return Operand{}, err
	}
	l := layer.Unary(layer.Rsqrt, y.shape())
	l.Epsilon = n.Float("epsilon", 1e-5)
	if y, err = n.layer(l, layer.Weights{}, y.Dims, y); err == nil {
		y, err = n.Binary(layer.Mul, x, y)
	}
	if err == nil {
		y, err = affine(n, y, 1, -1, asItIs)
	}
	return y, err
}

func instanceNorm(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil || len(x.Dims) < 3 {
		return Operand{}, errors.Join(err, errors.New("no picture"))
	}
	d := x.Dims
	if len(d) > 4 { // all axes behind the channels are one norm
		x = x.As(d[0], d[1], graph.Elements(d[2:len(d)-1]), d[len(d)-1])
	}
	y, err := normalised(n, x, 2, n.Float("epsilon", 1e-5))
	if err == nil {
		y, err = affine(n, y, 1, 2, perChannel(y.Dims))
	}
	return y.As(d...), err
}

// perChannel is the shape in which a list of values stands along the channels of dims.
func perChannel(dims []int) func(c *graph.Const) []int {
	return func(c *graph.Const) []int {
		return append([]int{c.Elements()}, slices.Repeat([]int{1}, len(dims)-2)...)
	}
}

// groupNorm normalises groups of channels.
func groupNorm(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	groups := n.Int("num_groups", 0)
	if err != nil || len(x.Dims) < 3 || groups < 1 || x.Dims[1]%groups != 0 {
		return Operand{}, errors.Join(err, fmt.Errorf("%d groups of %v", groups, x.Dims))
	}
	d := x.Dims
	y, err := normalised(n, x.As(d[0]*groups, d[1]/groups, graph.Elements(d[2:len(d)-1]), d[len(d)-1]), 1, n.Float("epsilon", 1e-5))
	if err != nil {
		return Operand{}, err
	}
	shape := func(c *graph.Const) []int { return perChannel(d)(c) }
	if c := n.Const(1); c != nil && c.Elements() == groups && groups != d[1] {
		// Before version 21 a group has one scale.
		y = y.As(d[0], groups, graph.Elements(d[1:])/groups/d[len(d)-1], d[len(d)-1])
		shape = perChannel(y.Dims)
	} else {
		y = y.As(d...)
	}
	y, err = affine(n, y, 1, 2, shape)
	return y.As(d...), err
}

// batchNorm is a factor and an addend a channel; folding puts them into a convolution.
func batchNorm(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	if len(x.Dims) < 2 {
		return Operand{}, fmt.Errorf("%v has no channels", x.Dims)
	}
	if n.Int("training_mode", 0) != 0 || n.Opset < 7 && n.Int("is_test", 0) == 0 && len(n.Out) > 1 {
		return Operand{}, errors.New("batch normalisation in training mode")
	}
	var v [4][]float64 // scale, bias, mean, variance
	channels, absent := x.Dims[1], false
	for i := range v {
		c := n.Const(1 + i)
		if c == nil || c.Elements() != channels {
			return Operand{}, errors.New("its statistics are no constants a channel")
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
		return made1(n, x, dims)
	}
	factor := &graph.Const{Dims: dims, Type: graph.Float, Numbers: make([]float64, channels)}
	addend := &graph.Const{Dims: dims, Type: graph.Float, Numbers: make([]float64, channels)}
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
func made1(n *Chooser, x Operand, dims []int) (Operand, error) {
	s := x.shape()
	if len(x.Dims) != 4 {
		return Operand{}, errors.New("its statistics stand in a file that is not there")
	}
	var err error
	for _, op := range [...]layer.Op{layer.Mul, layer.Add} {
		l := layer.Layer{Op: op, In: s, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: s.C, H: 1, W: 1}}
		if x, err = n.layer(l, layer.Weights{}, x.Dims, x); err != nil {
			return Operand{}, err
		}
	}
	return x, nil
}
