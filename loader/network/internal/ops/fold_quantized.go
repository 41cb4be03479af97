package ops

import (
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// readZeroPoints returns the zero points in the node's third input, one for each of the given
// number of scales. A single zero point belongs to all scales, and a missing one is 0.
func readZeroPoints(n *graph.Node, scales int) ([]float64, error) {
	if !n.Given(2) {
		return make([]float64, scales), nil
	}
	zero, _, err := readConstantOperand(n, 2)
	if len(zero) == 1 {
		zero = slices.Repeat(zero, scales)
	}
	return zero, err
}

// foldQuantizeLinear divides each element by the scale, rounds halves to even, adds the zero point
// and clamps the sum to the range of the result's type.
func foldQuantizeLinear(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	scale, to, err := readConstantOperand(n, 1)
	if err != nil {
		return nil, err
	}
	zero, err := readZeroPoints(n, len(scale))
	if err != nil {
		return nil, err
	}
	place, err := scalePlaces(n, d, to, len(scale), len(zero))
	if err != nil {
		return nil, err
	}
	low, high := math.Inf(-1), math.Inf(1)
	if t := res[0].Type; !t.IsFloat() && t.Bits() > 0 && t.Bits() <= 16 {
		low, high = t.Range()
	}
	out := make([]float64, len(v))
	for i, x := range v {
		k := place(i)
		out[i] = min(max(math.RoundToEven(x/scale[k])+zero[k], low), high)
	}
	return newResultConst(res, out), nil
}

// dequantizeBlocks dequantizes integer weights with one scale for each block along an axis.
func dequantizeBlocks(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	v, d, scale, to := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims
	zero, err := readZeroPoints(n, len(scale))
	if err != nil {
		return nil, err
	}
	place, err := blockPlaces(n, d, to, len(scale), len(zero))
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(v))
	for i, x := range v {
		at := place(i)
		out[i] = (x - zero[at]) * scale[at]
	}
	return newResultConst(res, out), nil
}

// scalePlaces returns a function that maps the index of an element of the node's first input, of
// shape d, to the index of the element's scale and zero point. There is one scale for the whole
// tensor, for each channel, or, if the node has a block_size, for each block. The scales have the
// shape to. scales and zeros count the scales and the zero points.
func scalePlaces(n *graph.Node, d, to []int, scales, zeros int) (func(i int) int, error) {
	if n.Int("block_size", 0) != 0 && len(to) > 1 {
		return blockPlaces(n, d, to, scales, zeros)
	}
	inner, extent, axis := 1, 1, n.Int("axis", 1)
	if scales > 1 {
		axis, err := Axis(len(d), axis)
		if err != nil {
			return nil, err
		}
		inner, extent = graph.Elements(d[axis+1:]), d[axis]
	}
	if scales != extent || zeros != extent {
		return nil, fmt.Errorf("%d scales and %d zero points; want %d of each", scales, zeros, extent)
	}
	return func(i int) int { return i / max(1, inner) % extent }, nil
}

// blockPlaces does the same as scalePlaces where a scale belongs to a block of block_size elements
// along an axis.
func blockPlaces(n *graph.Node, d, to []int, scales, zeros int) (func(i int) int, error) {
	axis, err := Axis(len(d), n.Int("axis", 1))
	block := n.Int("block_size", 1)
	switch {
	case err != nil:
		return nil, err
	case block < 1:
		return nil, fmt.Errorf("block_size is %d; want at least 1", block)
	// The last block may be shorter than the others.
	case len(to) != len(d) || to[axis] != (d[axis]+block-1)/block:
		return nil, fmt.Errorf("scale shape %v does not match input shape %v with blocks of %d along axis %d", to, d, block, axis)
	case zeros != scales:
		return nil, fmt.Errorf("%d zero points for %d scales; want one per scale", zeros, scales)
	}
	for i := range d {
		if i != axis && to[i] != d[i] {
			return nil, fmt.Errorf("scale shape %v and input shape %v differ along axis %d; want equal sizes", to, d, i)
		}
	}
	own, of := graph.Strides(d), graph.Strides(to)
	return func(i int) int {
		at := 0
		for a := range d {
			k := i / own[a] % d[a]
			if a == axis {
				k /= block
			}
			at += k * of[a]
		}
		return at
	}, nil
}
