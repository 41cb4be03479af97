package ops

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// FoldBytes returns the memory that is needed to compute the results of n from constants, in bytes
// per element of a result. It returns 0 for an operator that only changes the shape.
func FoldBytes(n *graph.Node) int {
	const number = 8
	switch {
	case Of(n.Op).Has(Keeps), FoldsLater(n):
		return 0
	case n.Op == "DequantizeLinear":
		return number
	}
	return 2 * number
}

// leastDerived is the number of elements from which FoldsLater leaves a constant to be computed when
// it is read. Smaller ones may be shapes and indices, which are read often.
const leastDerived = 1 << 12

// mostDerivations bounds how many constants of a chain are computed when the last one is read.
const mostDerivations = 8

// FoldsLater reports whether the results of n, a node with a constant input, are computed when they
// are read. That takes no memory until then. The node must make no more elements than it reads, or a
// small file could state a huge constant. Longer chains than mostDerivations count against the budget,
// because reading one repeats and holds all of it.
func FoldsLater(n *graph.Node) bool {
	c := n.Const(0)
	switch {
	case c == nil, !c.Absent() && c.Elements() < leastDerived, c.Derivations() >= mostDerivations:
		return false
	case n.Op == "DequantizeLinear":
		return n.Int("block_size", 0) == 0
	}
	return n.Op == "Transpose" || n.Op == "Slice" || n.Op == "Split" || n.Op == "Cast"
}

// SortBytes returns the memory that a TopK or Unique node needs to sort, in bytes per element of
// its first input. The input and the results are not included. SortBytes returns 0 for other
// operators.
func SortBytes(n *graph.Node) int {
	switch n.Op {
	case "TopK":
		return 16
	case "Unique":
		return 48
	}
	return 0
}

// newInt64Const returns an int64 constant of shape dims with the elements v.
func newInt64Const(dims []int, v ...float64) *graph.Const {
	return &graph.Const{Dims: dims, Type: graph.Int64, Numbers: v}
}

// Literal returns the value of n, a Constant node, from the node's attributes. It returns an error
// if the value is a list of strings or a sparse tensor.
func Literal(n *graph.Node) (*graph.Const, error) {
	for _, name := range [...]string{"value", "value_int", "value_ints", "value_float", "value_floats"} {
		a, v := n.Attribute(name), []float64(nil)
		if a == nil {
			continue
		}
		switch name {
		case "value":
			if a.Const == nil {
				return nil, errors.New(`attribute "value" is not a tensor`)
			}
			return a.Const.As(a.Const.Dims), nil
		case "value_int":
			return newInt64Const(nil, float64(a.Int)), nil
		case "value_ints":
			for _, x := range a.Ints {
				v = append(v, float64(x))
			}
			return newInt64Const([]int{len(v)}, v...), nil
		case "value_float":
			return &graph.Const{Type: graph.Float, Numbers: []float64{float64(a.Float)}}, nil
		case "value_floats":
			for _, x := range a.Floats {
				v = append(v, float64(x))
			}
			return &graph.Const{Dims: []int{len(v)}, Type: graph.Float, Numbers: v}, nil
		}
	}
	return nil, errors.New("constant has no supported value; want attribute value, value_int, value_ints, value_float or value_floats")
}

// foldShapeOrSize computes a Shape, the extents of a tensor, or a Size, their product.
func foldShapeOrSize(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	dims, err := n.Dims(0)
	n.Input(0) // of which only the shape matters
	if err != nil {
		return nil, err
	}
	if n.Op == "Size" {
		return []*graph.Const{newInt64Const(nil, float64(graph.Elements(dims)))}, nil
	}
	first, last := resolveBound(n.Int("start", 0), len(dims)), resolveBound(n.Int("end", len(dims)), len(dims))
	v := []float64{}
	for _, d := range dims[first:max(first, last)] {
		v = append(v, float64(d))
	}
	return []*graph.Const{newInt64Const([]int{len(v)}, v...)}, nil
}

func foldView(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	if n.Op == "Dropout" {
		if err := CheckInference(n); err != nil {
			return nil, err
		}
	}
	return []*graph.Const{n.Const(0).As(res[0].Dims)}, nil
}

// foldCast converts values to another element type. Floating-point numbers that become integers
// lose their fraction.
func foldCast(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c, to := n.Const(0), res[0].Type
	if to.Width() == 0 || c.Type.Width() == 0 {
		return nil, nil
	}
	if c.Type == to || c.Type != graph.Double && c.Type.IsFloat() && to == graph.Float {
		d := c.As(res[0].Dims)
		d.Type = to
		return []*graph.Const{d}, nil
	}
	if FoldsLater(n) {
		d := c.Derive(res[0].Dims, to, func(set func(i int, v float64)) error {
			return c.Each(func(i int, v float64) { set(i, graph.Rounded(to, v)) })
		})
		d.Packing = c.Packing
		return []*graph.Const{d}, nil
	}
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	made := newResultConst(res, slices.Clone(v))
	made[0].Packing = c.Packing
	return made, nil
}

func foldRange(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	start, err := n.Const(0).Scalar()
	if err != nil {
		return nil, err
	}
	delta, err := n.Const(2).Scalar()
	if err != nil {
		return nil, err
	}
	out := make([]float64, graph.Elements(res[0].Dims))
	for i := range out {
		out[i] = start + float64(float64(i)*delta)
	}
	return newResultConst(res, out), nil
}

func foldConstantOfShape(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	fill := 0.0
	if a := n.Attribute("value"); a != nil && a.Const != nil {
		v, err := a.Const.Values()
		if err != nil || len(v) != 1 {
			return nil, cmp.Or(err, fmt.Errorf(`attribute "value" has %d elements; want 1`, len(v)))
		}
		fill = v[0]
	}
	return newResultConst(res, slices.Repeat([]float64{fill}, graph.Elements(res[0].Dims))), nil
}

func foldWhere(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	dims := res[0].Dims
	out := make([]float64, graph.Elements(dims))
	var v [3][]float64
	for i := range v {
		c := n.Const(i)
		if c == nil {
			return nil, fmt.Errorf("input %d is missing; want 3 inputs", i)
		}
		var err error
		if v[i], err = c.Values(); err != nil {
			return nil, err
		}
	}
	condition := n.Const(0)
	for i, c := range []*graph.Const{n.Const(1), n.Const(2)} {
		graph.Each(dims, graph.BroadcastStrides(c.Dims, dims), 0, func(k, at int) {
			if (v[0][broadcastOffset(k, dims, condition.Dims)] != 0) == (i == 0) {
				out[k] = v[1+i][at]
			}
		})
	}
	return newResultConst(res, out), nil
}

// broadcastOffset returns where a tensor of shape dims, when it is broadcast to shape out, stores
// element k of the broadcast tensor, as an offset in elements.
func broadcastOffset(k int, out, dims []int) int {
	at, steps, from := 0, graph.BroadcastStrides(dims, out), graph.Strides(out)
	for i := range out {
		at += k / from[i] % out[i] * steps[i]
	}
	return at
}

// foldDequantizeLinear multiplies integer weights by their scale, after subtracting the zero point.
func foldDequantizeLinear(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c, scale := n.Const(0), n.Const(1)
	if scale == nil {
		return nil, nil
	}
	if n.Int("block_size", 0) != 0 {
		return dequantizeBlocks(n, res)
	}
	s, err := scale.Values()
	if err != nil {
		return nil, err
	}
	zero, err := readZeroPoints(n, len(s))
	if err != nil {
		return nil, err
	}
	each, extent, axis := c.Elements(), 1, n.Int("axis", 1)
	if len(s) > 1 {
		axis, err := Axis(len(c.Dims), axis)
		if err != nil {
			return nil, err
		}
		each, extent = graph.Elements(c.Dims[axis+1:]), c.Dims[axis]
	}
	if len(s) != extent || len(zero) != extent {
		return nil, fmt.Errorf("%d scales and %d zero points; want %d of each", len(s), len(zero), extent)
	}
	to := res[0].Type
	values := func(set func(i int, v float64)) error {
		return c.Each(func(i int, x float64) {
			k := i / max(1, each) % extent
			set(i, graph.Rounded(to, (x-zero[k])*s[k]))
		})
	}
	made := c.Derive(res[0].Dims, to, values)
	// A large table of weights stays packed until it is needed. What other nodes fold is computed now,
	// once.
	if !FoldsLater(n) {
		v, err := made.Values()
		if err != nil {
			return nil, err
		}
		made = &graph.Const{Dims: made.Dims, Type: to, Numbers: v}
	}
	// Compiled weights may stay 8-bit integers with these scales, which needs half the bytes of fp16.
	made.Packing = graph.Scaled(s)
	return []*graph.Const{made}, nil
}
