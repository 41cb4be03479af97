package ops

import (
	"fmt"
	"math"

	"anesim/loader/network/graph"
)

// readZeroPoints returns the zero points in the node's third input or, without that input, as many
// zeros as there are scales.
func readZeroPoints(n *graph.Node, scales int) ([]float64, error) {
	if !n.Given(2) {
		return make([]float64, scales), nil
	}
	zero, _, err := readConstantOperand(n, 2)
	return zero, err
}

// foldQuantizeLinear divides each element by the scale, rounds halves to even, adds the zero point
// and clamps the sum to the range of the result's type.
func foldQuantizeLinear(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	scale, _, err := readConstantOperand(n, 1)
	if err != nil || n.Int("block_size", 0) != 0 {
		return nil, err
	}
	zero, err := readZeroPoints(n, len(scale))
	if err != nil {
		return nil, err
	}
	inner, extent := len(v), 1
	if len(scale) > 1 {
		axis, err := Axis(len(d), n.Int("axis", 1))
		if err != nil {
			return nil, err
		}
		inner, extent = graph.Elements(d[axis+1:]), d[axis]
	}
	if len(scale) != extent || len(zero) != extent {
		return nil, fmt.Errorf("found %d scales and %d zero points for %d channels; want one of each per channel", len(scale), len(zero), extent)
	}
	low, high := math.Inf(-1), math.Inf(1)
	switch res[0].Type {
	case graph.Uint8:
		low, high = 0, 255
	case graph.Int8:
		low, high = -128, 127
	case graph.Uint16:
		low, high = 0, 65535
	case graph.Int16:
		low, high = -32768, 32767
	}
	out := make([]float64, len(v))
	for i, x := range v {
		k := i / max(1, inner) % extent
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
	axis, err := Axis(len(d), n.Int("axis", 1))
	block := n.Int("block_size", 1)
	switch {
	case err != nil:
		return nil, err
	case block < 1:
		return nil, fmt.Errorf("block_size is %d; want at least 1", block)
	case len(to) != len(d) || to[axis] != (d[axis]+block-1)/block:
		return nil, fmt.Errorf("scale shape %v does not match weight shape %v with blocks of %d along axis %d", to, d, block, axis)
	case len(zero) != len(scale):
		return nil, fmt.Errorf("found %d zero points for %d scales; want one per scale", len(zero), len(scale))
	}
	for i := range d {
		if i != axis && to[i] != d[i] {
			return nil, fmt.Errorf("scale shape %v and weight shape %v differ along axis %d; want equal extents", to, d, i)
		}
	}
	out, own, of := make([]float64, len(v)), graph.Strides(d), graph.Strides(to)
	for i, x := range v {
		at := 0
		for a := range d {
			k := i / own[a] % d[a]
			if a == axis {
				k /= block
			}
			at += k * of[a]
		}
		out[i] = (x - zero[at]) * scale[at]
	}
	return newResultConst(res, out), nil
}
