package network

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/graph"
)

// fold works a node out whose inputs are constants, or that asks for a shape alone, and
// reports whether it did.
func (n *nodeReader) fold() (bool, error) {
	switch n.Op {
	case "Constant":
		c, err := n.literal()
		if err != nil {
			return false, err
		}
		return true, n.keep(c)
	case "Shape", "Size":
		if _, ok := n.dimsOf(0); !ok || n.least[n.Inputs[0]] != nil {
			return false, nil
		}
		c, err := foldSize(n)
		if err != nil {
			return false, err
		}
		return true, n.keep(c...)
	}
	if v, ok := n.compared(); ok {
		dims, err := graph.Broadcast(n.dims[n.Inputs[0]], n.constant(1).Dims)
		if err != nil {
			return false, err
		}
		return true, n.keep(&graph.Const{Dims: dims, Type: graph.Bool, Numbers: slices.Repeat([]float64{graph.Truth(v)}, graph.Elements(dims))})
	}
	f := n.folder()
	if f == nil {
		return false, nil
	}
	for i, name := range n.Inputs {
		if c := n.constant(i); name != "" && (c == nil || c.Absent() && !n.reshapes()) {
			return false, nil
		}
	}
	if len(n.Inputs) == 0 || n.constant(0) == nil {
		return false, nil
	}
	if err := n.infer(); err != nil {
		return false, err
	}
	for _, out := range n.results {
		if n.budget -= n.foldCost() * graph.Elements(out.dims); n.budget < 0 {
			return false, errBudget
		}
	}
	c, err := f(n)
	if err != nil || c == nil {
		return false, err
	}
	return true, n.keep(c...)
}

// bounded are the least and the largest result of operators that have both or one.
var bounded = map[string][2]float64{
	"Sigmoid": {0, 1}, "HardSigmoid": {0, 1}, "Softmax": {0, 1}, "Tanh": {-1, 1}, "Erf": {-1, 1},
	"Relu": {0, math.Inf(1)}, "Exp": {0, math.Inf(1)}, "Sqrt": {0, math.Inf(1)}, "Abs": {0, math.Inf(1)},
}

// compared is the result of comparing a tensor with a number that is beyond what its
// operator gives, such as a sigmoid's result with zero.
func (n *nodeReader) compared() (result, ok bool) {
	const few = 1 << 16
	if len(n.Inputs) != 2 || n.constant(1) == nil || n.constant(0) != nil {
		return false, false
	}
	r, known := n.ranges[n.Inputs[0]]
	known = known && n.least[n.Inputs[0]] == nil
	v, err := n.constant(1).Scalar()
	if d, ok := n.dims[n.Inputs[0]]; !known || err != nil || !ok || graph.Elements(d) > few {
		return false, false
	}
	low, high := r[0], r[1]
	switch n.Op {
	case "GreaterOrEqual":
		return low >= v, low >= v || high < v
	case "Greater":
		return low > v, low > v || high <= v
	case "LessOrEqual":
		return high <= v, high <= v || low > v
	case "Less":
		return high < v, high < v || low >= v
	}
	return false, false
}

// foldCost is the bytes that an element of a result takes while it is worked out.
func (n *nodeReader) foldCost() int {
	switch {
	case n.reshapes():
		return 0
	case n.Op == "DequantizeLinear":
		return numberBytes
	}
	return 2 * numberBytes
}

// reshapes reports whether the operator leaves the values in their order.
func (n *nodeReader) reshapes() bool {
	switch n.Op {
	case "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout":
		return true
	}
	return false
}

// keep makes the node's outputs constants.
func (n *nodeReader) keep(c ...*graph.Const) error {
	for i, out := range n.Outputs {
		if i < len(c) && out != "" {
			n.constants[out] = c[i]
			n.dims[out], n.types[out] = c[i].Dims, c[i].Type
		}
	}
	n.what = "constant"
	return nil
}

// whole is a constant of int64.
func whole(dims []int, v ...float64) *graph.Const {
	return &graph.Const{Dims: dims, Type: graph.Int64, Numbers: v}
}

// literal is what a Constant node holds.
func (n *nodeReader) literal() (*graph.Const, error) {
	for name, a := range n.Attributes {
		var v []float64
		switch name {
		case "value":
			if a.Tensor == nil {
				return nil, errors.New("its value is no tensor")
			}
			return stored(a.Tensor), nil
		case "value_int":
			return whole(nil, float64(a.Int)), nil
		case "value_ints":
			for _, x := range a.Ints {
				v = append(v, float64(x))
			}
			return whole([]int{len(v)}, v...), nil
		case "value_float":
			return &graph.Const{Type: graph.Float, Numbers: []float64{float64(a.Float)}}, nil
		case "value_floats":
			for _, x := range a.Floats {
				v = append(v, float64(x))
			}
			return &graph.Const{Dims: []int{len(v)}, Type: graph.Float, Numbers: v}, nil
		}
	}
	return nil, errors.New("a constant of text or of places and values")
}

// foldSize gives the extents of a tensor, or their product.
func foldSize(n *nodeReader) ([]*graph.Const, error) {
	dims, err := n.operandDims(0)
	if err != nil {
		return nil, err
	}
	if n.Op == "Size" {
		return []*graph.Const{whole(nil, float64(graph.Elements(dims)))}, nil
	}
	first, last := within(n.int("start", 0), len(dims)), within(n.int("end", len(dims)), len(dims))
	v := []float64{}
	for _, d := range dims[first:max(first, last)] {
		v = append(v, float64(d))
	}
	return []*graph.Const{whole([]int{len(v)}, v...)}, nil
}

type folder func(n *nodeReader) ([]*graph.Const, error)

// folder is what works the operator out on constants, nil where nothing does.
func (n *nodeReader) folder() folder {
	if f, ok := scalarFunctions[n.Op]; ok {
		return func(n *nodeReader) ([]*graph.Const, error) { return n.map1(f) }
	}
	if f := placeFolder(n.Op); f != nil {
		return f
	}
	if f, ok := pairFunctions[n.Op]; ok {
		return func(n *nodeReader) ([]*graph.Const, error) { return n.mapAll(f) }
	}
	return map[string]folder{
		"Identity": foldView, "Dropout": foldView, "Reshape": foldView, "Flatten": foldView, "Squeeze": foldView, "Unsqueeze": foldView,
		"Cast": foldCast, "CastLike": foldCast, "Gather": foldGather, "Concat": foldConcat, "Slice": foldSlice, "Split": foldSplit,
		"Transpose": foldTranspose, "Expand": foldExpand, "Tile": foldTile, "Range": foldRange,
		"ConstantOfShape": foldConstantOfShape, "Where": foldWhere, "Clip": foldClip,
		"DequantizeLinear": foldDequantize, "ReduceProd": foldReduce, "ReduceSum": foldReduce, "ReduceMax": foldReduce,
		"ReduceMin": foldReduce, "ReduceMean": foldReduce, "Shape": foldSize, "Size": foldSize,
	}[n.Op]
}

// sizedFolder is what computes the operator on tensors whose size depends on values: folder, or
// a function that the host has for no other tensors, which the engine computes.
func (n *nodeReader) sizedFolder() folder {
	if f := n.folder(); f != nil {
		return f
	}
	switch n.Op {
	case "Softmax", "LogSoftmax":
		return foldSoftmax
	case "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp":
		return foldReduce
	case "HardSigmoid":
		return foldHardSigmoid
	case "Mean":
		return foldMean
	}
	return nil
}

func foldView(n *nodeReader) ([]*graph.Const, error) {
	return []*graph.Const{n.constant(0).As(n.results[0].dims)}, nil
}

// foldCast gives the values another type; floats lose their fraction in integers.
func foldCast(n *nodeReader) ([]*graph.Const, error) {
	c, to := n.constant(0), n.results[0].elem
	if to.Width() == 0 || c.Type.Width() == 0 {
		return nil, nil
	}
	if c.Type == to || c.Type != graph.Double && c.Type.IsFloat() && to == graph.Float {
		d := c.As(n.results[0].dims)
		d.Type = to
		return []*graph.Const{d}, nil
	}
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	made := n.made(slices.Clone(v))
	made[0].Packing = c.Packing
	return made, nil
}

func foldRange(n *nodeReader) ([]*graph.Const, error) {
	start, _ := n.constant(0).Scalar()
	delta, err := n.constant(2).Scalar()
	if err != nil {
		return nil, err
	}
	out := make([]float64, graph.Elements(n.results[0].dims))
	for i := range out {
		out[i] = start + float64(float64(i)*delta)
	}
	return n.made(out), nil
}

func foldConstantOfShape(n *nodeReader) ([]*graph.Const, error) {
	fill := 0.0
	if a := n.Attributes["value"]; a != nil && a.Tensor != nil {
		v, err := a.Tensor.Numbers()
		if err != nil || len(v) != 1 {
			return nil, errors.Join(err, errors.New("its value is no single number"))
		}
		fill = v[0]
	}
	return n.made(slices.Repeat([]float64{fill}, graph.Elements(n.results[0].dims))), nil
}

func foldWhere(n *nodeReader) ([]*graph.Const, error) {
	dims := n.results[0].dims
	out := make([]float64, graph.Elements(dims))
	var v [3][]float64
	for i := range v {
		c := n.constant(i)
		if c == nil {
			return nil, errors.New("one of its three inputs is missing")
		}
		var err error
		if v[i], err = c.Values(); err != nil {
			return nil, err
		}
	}
	condition := n.constant(0)
	for i, c := range []*graph.Const{n.constant(1), n.constant(2)} {
		graph.Each(dims, graph.Repeated(c.Dims, dims), 0, func(k, at int) {
			if (v[0][place(k, dims, condition.Dims)] != 0) == (i == 0) {
				out[k] = v[1+i][at]
			}
		})
	}
	return n.made(out), nil
}

// place is where element k of a tensor of dims out stands in one that repeats to it.
func place(k int, out, dims []int) int {
	at, steps, from := 0, graph.Repeated(dims, out), graph.Strides(out)
	for i := range out {
		at += k / from[i] % out[i] * steps[i]
	}
	return at
}

// foldDequantize gives weights of integers their scale.
func foldDequantize(n *nodeReader) ([]*graph.Const, error) {
	c, scale := n.constant(0), n.constant(1)
	if scale == nil {
		return nil, nil
	}
	if n.int("block_size", 0) != 0 {
		return foldBlocks(n)
	}
	s, err := scale.Values()
	if err != nil {
		return nil, err
	}
	zero := make([]float64, len(s))
	if z := n.constant(2); z != nil {
		if zero, err = z.Values(); err != nil {
			return nil, err
		}
	}
	each, extent := c.Elements(), 1
	if len(s) > 1 {
		axis, err := n.axisOf(len(c.Dims), n.int("axis", 1))
		if err != nil {
			return nil, err
		}
		each, extent = graph.Elements(c.Dims[axis+1:]), c.Dims[axis]
	}
	if len(s) != extent || len(zero) != extent {
		return nil, fmt.Errorf("%d scales and %d zero points for %d channels", len(s), len(zero), extent)
	}
	out := make([]float64, c.Elements())
	set := func(i int, x float64) {
		k := i / max(1, each) % extent
		out[i] = (x - zero[k]) * s[k]
	}
	if c.Source != nil {
		err = c.Source.Each(set)
	} else {
		for i, x := range c.Numbers {
			set(i, x)
		}
	}
	made := n.made(out)
	made[0].Packing = scaled(s)
	return made, err
}
