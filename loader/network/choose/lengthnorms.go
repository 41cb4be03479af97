package choose

import (
	"fmt"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// localNorm divides by a power of the squares of a window of channels: sums over the window
// are a product with a band of ones.
func localNorm(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	size := n.Int("size", 0)
	alpha, beta, bias := float64(n.Float("alpha", 1e-4)), float64(n.Float("beta", 0.75)), float64(n.Float("bias", 1))
	if size < 1 || len(x.Dims) < 3 {
		return Operand{}, fmt.Errorf("a window of %d channels of %v", size, x.Dims)
	}
	y, err := n.Binary(layer.Mul, x, x)
	if err != nil {
		return Operand{}, err
	}
	before, after := (size-1)/2, size-1-(size-1)/2
	if y, err = n.along(y, 1, x.Dims[1], func(o, i int) float64 { return graph.Truth(i >= o-before && i <= o+after) }); err != nil {
		return Operand{}, err
	}
	if y, err = n.scaled(y, alpha/float64(size)); err == nil {
		y, err = n.shifted(y, bias)
	}
	if err == nil {
		y, err = raised(n, y, -beta)
	}
	if err == nil {
		y, err = n.Binary(layer.Mul, x, y)
	}
	return y, err
}

// meanVariance normalises over axes.
func meanVariance(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	list, given, err := n.List("axes", -1)
	if err != nil {
		return Operand{}, err
	}
	if !given {
		list = []int{0, 2, 3}
	}
	axes := make([]bool, len(x.Dims))
	for _, a := range list {
		if a, err = ops.Axis(len(x.Dims), a); err != nil {
			return Operand{}, err
		}
		axes[a] = true
	}
	mean, err := n.reduced(layer.ReduceMean, x, axes)
	if err != nil {
		return Operand{}, err
	}
	d, err := n.Binary(layer.Sub, x, mean)
	if err != nil {
		return Operand{}, err
	}
	v, err := n.Binary(layer.Mul, d, d)
	if err == nil {
		v, err = n.reduced(layer.ReduceMean, v, axes)
	}
	if err == nil {
		v, err = n.unary(layer.Rsqrt, v)
	}
	if err == nil {
		d, err = n.Binary(layer.Mul, d, v)
	}
	return d, err
}

// lengthNorm divides by a vector's length: the sum of sizes, or the root of squares.
func lengthNorm(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	axis, err := ops.Axis(len(x.Dims), n.Int("axis", -1))
	if err != nil {
		return Operand{}, err
	}
	axes := slices.Repeat([]bool{false}, len(x.Dims))
	axes[axis] = true
	var y Operand
	squares := n.Int("p", 2) == 2
	if squares {
		y, err = n.Binary(layer.Mul, x, x)
	} else {
		y, err = n.unary(layer.Abs, x)
	}
	if err == nil {
		y, err = n.reduced(layer.ReduceSum, y, axes)
	}
	if err == nil && squares {
		y, err = n.unary(layer.Rsqrt, y)
	} else if err == nil {
		y, err = n.unary(layer.Inverse, y)
	}
	if err == nil {
		y, err = n.Binary(layer.Mul, x, y)
	}
	return y, err
}
