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
		c, err := literal(n.Node)
		if err != nil {
			return false, err
		}
		return true, n.keep(c)
	case "Shape", "Size":
		if d, err := n.Dims(0); err != nil || d == nil || n.In[0].Least != nil {
			return false, nil
		}
		c, err := foldSize(n)
		if err != nil {
			return false, err
		}
		return true, n.keep(c...)
	}
	if v, ok := n.compared(); ok {
		dims, err := graph.Broadcast(n.In[0].Dims, n.Const(1).Dims)
		if err != nil {
			return false, err
		}
		return true, n.keep(&graph.Const{Dims: dims, Type: graph.Bool, Numbers: slices.Repeat([]float64{graph.Truth(v)}, graph.Elements(dims))})
	}
	f := n.folder()
	if f == nil {
		return false, nil
	}
	for _, v := range n.In {
		if c := v.Const; v.Given() && (c == nil || c.Absent() && !n.reshapes()) {
			return false, nil
		}
	}
	if len(n.In) == 0 || n.Const(0) == nil {
		return false, nil
	}
	if err := n.infer(); err != nil {
		return false, err
	}
	for _, out := range n.results {
		if n.budget -= n.foldCost() * graph.Elements(out.Dims); n.budget < 0 {
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
var bounded = map[string]graph.Range{
	"Sigmoid": {Low: 0, High: 1}, "HardSigmoid": {Low: 0, High: 1}, "Softmax": {Low: 0, High: 1}, "Tanh": {Low: -1, High: 1}, "Erf": {Low: -1, High: 1},
	"Relu": {Low: 0, High: math.Inf(1)}, "Exp": {Low: 0, High: math.Inf(1)}, "Sqrt": {Low: 0, High: math.Inf(1)}, "Abs": {Low: 0, High: math.Inf(1)},
}

// compared is the result of comparing a tensor with a number that is beyond what its
// operator gives, such as a sigmoid's result with zero.
func (n *nodeReader) compared() (result, ok bool) {
	const few = 1 << 16
	if len(n.In) != 2 || n.Const(1) == nil || n.Const(0) != nil {
		return false, false
	}
	x := n.In[0]
	v, err := n.Const(1).Scalar()
	if x.Range == nil || x.Least != nil || err != nil || x.Dims == nil || graph.Elements(x.Dims) > few {
		return false, false
	}
	low, high := x.Range.Low, x.Range.High
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
	for i, out := range n.Out {
		if i < len(c) {
			out.Set(c[i])
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
func literal(n *graph.Node) (*graph.Const, error) {
	for name, a := range n.Attr {
		var v []float64
		switch name {
		case "value":
			if a.Const == nil {
				return nil, errors.New("its value is no tensor")
			}
			return a.Const.As(a.Const.Dims), nil
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
	dims, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	if n.Op == "Size" {
		return []*graph.Const{whole(nil, float64(graph.Elements(dims)))}, nil
	}
	first, last := within(n.Int("start", 0), len(dims)), within(n.Int("end", len(dims)), len(dims))
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
	return []*graph.Const{n.Const(0).As(n.results[0].Dims)}, nil
}

// foldCast gives the values another type; floats lose their fraction in integers.
func foldCast(n *nodeReader) ([]*graph.Const, error) {
	c, to := n.Const(0), n.results[0].Type
	if to.Width() == 0 || c.Type.Width() == 0 {
		return nil, nil
	}
	if c.Type == to || c.Type != graph.Double && c.Type.IsFloat() && to == graph.Float {
		d := c.As(n.results[0].Dims)
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
	start, _ := n.Const(0).Scalar()
	delta, err := n.Const(2).Scalar()
	if err != nil {
		return nil, err
	}
	out := make([]float64, graph.Elements(n.results[0].Dims))
	for i := range out {
		out[i] = start + float64(float64(i)*delta)
	}
	return n.made(out), nil
}

func foldConstantOfShape(n *nodeReader) ([]*graph.Const, error) {
	fill := 0.0
	if a := n.Attr["value"]; a != nil && a.Const != nil {
		v, err := a.Const.Values()
		if err != nil || len(v) != 1 {
			return nil, errors.Join(err, errors.New("its value is no single number"))
		}
		fill = v[0]
	}
	return n.made(slices.Repeat([]float64{fill}, graph.Elements(n.results[0].Dims))), nil
}

func foldWhere(n *nodeReader) ([]*graph.Const, error) {
	dims := n.results[0].Dims
	out := make([]float64, graph.Elements(dims))
	var v [3][]float64
	for i := range v {
		c := n.Const(i)
		if c == nil {
			return nil, errors.New("one of its three inputs is missing")
		}
		var err error
		if v[i], err = c.Values(); err != nil {
			return nil, err
		}
	}
	condition := n.Const(0)
	for i, c := range []*graph.Const{n.Const(1), n.Const(2)} {
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
	c, scale := n.Const(0), n.Const(1)
	if scale == nil {
		return nil, nil
	}
	if n.Int("block_size", 0) != 0 {
		return foldBlocks(n)
	}
	s, err := scale.Values()
	if err != nil {
		return nil, err
	}
	zero := make([]float64, len(s))
	if z := n.Const(2); z != nil {
		if zero, err = z.Values(); err != nil {
			return nil, err
		}
	}
	each, extent := c.Elements(), 1
	if len(s) > 1 {
		axis, err := n.axisOf(len(c.Dims), n.Int("axis", 1))
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
