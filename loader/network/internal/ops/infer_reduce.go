package ops

import (
	"cmp"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// ReducedAxes reports, for each axis of the input of n, whether n reduces the axis. The input has
// rank axes. ReducedAxes returns an error if an axis is out of range, or if the axes are computed
// when the network runs.
func ReducedAxes(n *graph.Node, rank int) ([]bool, error) {
	list, given, err := n.List("axes", 1)
	if err != nil {
		return nil, err
	}
	axes := make([]bool, rank)
	for _, a := range list {
		i, err := Axis(rank, a)
		if err != nil {
			return nil, err
		}
		axes[i] = true
	}
	if none := n.Int("noop_with_empty_axes", 0) != 0; !none && (!given || len(list) == 0) {
		for i := range axes {
			axes[i] = true
		}
	}
	return axes, nil
}

func inferReduction(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	axes, err := ReducedAxes(n, len(d))
	if err != nil {
		return nil, err
	}
	out, keep := []int{}, n.Int("keepdims", 1) != 0
	for i, e := range d {
		switch {
		case !axes[i]:
			out = append(out, e)
		case keep:
			out = append(out, 1)
		}
	}
	return newSingleResult(n, out), nil
}

func inferGlobalPool(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil || len(d) < 3 {
		return nil, cmp.Or(err, fmt.Errorf("input has shape %v; want at least 3 axes", d))
	}
	return newSingleResult(n, append(slices.Clone(d[:2]), slices.Repeat([]int{1}, len(d)-2)...)), nil
}

func inferArgMax(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	axis, err := Axis(len(d), n.Int("axis", 0))
	if err != nil {
		return nil, err
	}
	out := slices.Clone(d)
	if out[axis] = 1; n.Int("keepdims", 1) == 0 {
		out = slices.Delete(out, axis, axis+1)
	}
	return []graph.Result{{Dims: out, Type: graph.Int64}}, nil
}

func inferTopK(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	axis, err := Axis(len(d), n.Int("axis", -1))
	if err != nil {
		return nil, err
	}
	k, ok, err := n.List("k", 1)
	if err != nil || !ok || len(k) != 1 || k[0] < 0 {
		return nil, cmp.Or(err, fmt.Errorf("invalid k %v; want one nonnegative number", k))
	}
	out := slices.Clone(d)
	out[axis] = k[0]
	return []graph.Result{{Dims: out, Type: n.Type(0)}, {Dims: out, Type: graph.Int64}}, nil
}

// inferLayerNorm infers the results of a layer norm: the normalized tensor, the mean, and the
// reciprocal of the standard deviation.
func inferLayerNorm(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	first, err := Axis(len(d), n.Int("axis", -1))
	if err != nil {
		return nil, err
	}
	ones := append(slices.Clone(d[:first]), slices.Repeat([]int{1}, len(d)-first)...)
	e := n.Type(0)
	return []graph.Result{{Dims: d, Type: e}, {Dims: ones, Type: e}, {Dims: ones, Type: e}}, nil
}

func inferDequantizeLinear(n *graph.Node) ([]graph.Result, error) {
	r, err := inferSameShape(n)
	if err == nil {
		r[0].Type = n.Type(1)
		if t := n.Int("output_dtype", 0); t != 0 {
			r[0].Type = graph.Type(t)
		}
	}
	return r, err
}

func inferQuantizeLinear(n *graph.Node) ([]graph.Result, error) {
	r, err := inferSameShape(n)
	n.Ignore("saturate", "precision") // of 8-bit floats, which no result has, and of the quotient
	if err == nil {
		r[0].Type = graph.Uint8
		if t := n.Int("output_dtype", 0); t != 0 {
			r[0].Type = graph.Type(t)
		}
		if n.Given(2) {
			r[0].Type = n.Type(2)
		}
	}
	return r, err
}
