package choose

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
)

// addLRNLayers adds layers that divide each element by (bias + alpha/size * sum)^beta. The sum is
// over the squares of a window of size neighboring channels, and is computed with a band matrix of
// ones.
func addLRNLayers(n *Chooser, x Operand) (Operand, error) {
	size := n.Int("size", 0)
	alpha, beta, bias := float64(n.Float("alpha", 1e-4)), float64(n.Float("beta", 0.75)), float64(n.Float("bias", 1))
	if size < 1 {
		return Operand{}, fmt.Errorf(`attribute "size" is %d; want at least 1`, size)
	}
	if len(x.Dims) < 3 {
		return Operand{}, fmt.Errorf("input has shape %v; want at least 3 axes", x.Dims)
	}
	y, err := n.ApplyBinary(layer.Mul, x, x)
	if err != nil {
		return Operand{}, err
	}
	before, after := (size-1)/2, size-1-(size-1)/2
	if y, err = n.multiplyAxisByMatrix(y, 1, x.Dims[1], func(o, i int) float64 { return graph.Truth(i >= o-before && i <= o+after) }); err != nil {
		return Operand{}, err
	}
	if y, err = n.multiplyByNumber(y, alpha/float64(size)); err == nil {
		y, err = n.addNumber(y, bias)
	}
	if err == nil {
		y, err = applyPower(n, y, -beta)
	}
	if err == nil {
		y, err = n.ApplyBinary(layer.Mul, x, y)
	}
	return y, err
}

// leastSquares is the smallest positive number of fp16. It is added to sums of squares that the node
// divides by, which are 0 if the squares are too small for fp16, so that no result is infinite.
const leastSquares = 0x1p-24

// addMeanVarianceNormLayers adds layers that compute (x - mean)/sqrt(variance) over the node's axes,
// which are 0, 2 and 3 by default.
func addMeanVarianceNormLayers(n *Chooser, x Operand) (Operand, error) {
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
	return normalizeInSteps(n, x, axes, leastSquares)
}

// addLpNormLayers adds layers that divide each vector along an axis by its length: the root of the
// sum of squares if p is 2, and the sum of magnitudes if p is 1.
func addLpNormLayers(n *Chooser, x Operand) (Operand, error) {
	axis, err := ops.Axis(len(x.Dims), n.Int("axis", -1))
	if err != nil {
		return Operand{}, err
	}
	axes := slices.Repeat([]bool{false}, len(x.Dims))
	axes[axis] = true
	var y Operand
	squares := n.Int("p", 2) == 2
	if squares {
		y, err = n.ApplyBinary(layer.Mul, x, x)
	} else {
		y, err = n.applyUnaryOp(layer.Abs, x)
	}
	if err == nil {
		y, err = n.reduceAxes(layer.ReduceSum, y, axes)
	}
	if err == nil && squares {
		l := layer.Unary(layer.Rsqrt, y.shape())
		l.Epsilon = leastSquares
		y, err = n.addLayer(l, layer.Weights{}, y.Dims, y)
	} else if err == nil {
		y, err = n.applyUnaryOp(layer.Inverse, y)
	}
	if err == nil {
		y, err = n.ApplyBinary(layer.Mul, x, y)
	}
	return y, err
}
