package ops

import (
	"errors"
	"fmt"
	"math"

	"anesim/loader/network/graph"
)

// zeroPoints are those of so many scales: the third input, zeros where it is left out.
func zeroPoints(n *graph.Node, scales int) ([]float64, error) {
	if !n.Given(2) {
		return make([]float64, scales), nil
	}
	zero, _, err := operandValues(n, 2)
	return zero, err
}

// foldQuantize rounds halves to the even number.
func foldQuantize(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := operandValues(n, 0)
	if err != nil {
		return nil, err
	}
	scale, _, err := operandValues(n, 1)
	if err != nil || n.Int("block_size", 0) != 0 {
		return nil, err
	}
	zero, err := zeroPoints(n, len(scale))
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
		return nil, fmt.Errorf("%d scales of %d channels", len(scale), extent)
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
	return made(res, out), nil
}

// foldBlocks gives weights of whole numbers a scale a block along an axis.
func foldBlocks(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := operandsOf(n, 2)
	if err != nil {
		return nil, err
	}
	v, d, scale, to := in[0].numbers, in[0].dims, in[1].numbers, in[1].dims
	zero, err := zeroPoints(n, len(scale))
	if err != nil {
		return nil, err
	}
	axis, err := Axis(len(d), n.Int("axis", 1))
	block := n.Int("block_size", 1)
	if err != nil || len(to) != len(d) || block < 1 || to[axis] != (d[axis]+block-1)/block || len(zero) != len(scale) {
		return nil, errors.Join(err, fmt.Errorf("scales of %v in blocks of %d for %v", to, block, d))
	}
	for i := range d {
		if i != axis && to[i] != d[i] {
			return nil, fmt.Errorf("scales of %v for %v", to, d)
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
	return made(res, out), nil
}
