package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/loader/network/graph"
	"anesim/loader/network/onnx"
)

// A Tensor is a row-major array of numbers. A boolean is 0 or 1. Integers beyond 2^53 are
// the nearest float64.
type Tensor struct {
	Type onnx.DataType
	Dims []int // empty for a scalar
	Data []float64
}

// maxElements bounds a tensor (2 GiB of float64), so that a small file with a large shape
// does not take all memory.
const maxElements = 1 << 28

// count returns the number of elements of a shape. It fails if a dimension is negative or
// the tensor would have more than maxElements.
func count(dims []int) (int, error) {
	n := 1
	for _, d := range dims {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", dims)
		}
		if d > 0 && n > maxElements/d {
			if slices.Contains(dims, 0) {
				return 0, nil
			}
			return 0, fmt.Errorf("shape %v has more than %d elements", dims, maxElements)
		}
		n *= d
	}
	return n, nil
}

// product returns the product of the dimensions of a shape that a tensor has already.
func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// newTensor returns a tensor of zeros.
func newTensor(t onnx.DataType, dims ...int) (*Tensor, error) {
	n, err := count(dims)
	if err != nil {
		return nil, err
	}
	return &Tensor{Type: t, Dims: slices.Clone(dims), Data: make([]float64, n)}, nil
}

// scalar returns a tensor of rank 0.
func scalar(t onnx.DataType, v float64) *Tensor {
	return &Tensor{Type: t, Dims: []int{}, Data: []float64{v}}
}

// vector returns an int64 tensor of rank 1.
func vector(values ...int) *Tensor {
	t := &Tensor{Type: onnx.Int64, Dims: []int{len(values)}, Data: make([]float64, len(values))}
	for i, v := range values {
		t.Data[i] = float64(v)
	}
	return t
}

// check reports an error unless t has as many values as its shape.
func (t *Tensor) check() error {
	n, err := count(t.Dims)
	if err == nil && n != len(t.Data) {
		err = fmt.Errorf("%d values for shape %v; want %d", len(t.Data), t.Dims, n)
	}
	return err
}

// like returns a tensor of zeros with the type and shape of t.
func (t *Tensor) like() *Tensor {
	return &Tensor{Type: t.Type, Dims: slices.Clone(t.Dims), Data: make([]float64, len(t.Data))}
}

// as returns t with another type and the same values.
func (t *Tensor) as(to onnx.DataType) *Tensor {
	return &Tensor{Type: to, Dims: t.Dims, Data: t.Data}
}

// reshape returns t with another shape and the same values.
func (t *Tensor) reshape(dims ...int) (*Tensor, error) {
	n, err := count(dims)
	if err == nil && n != len(t.Data) {
		err = fmt.Errorf("cannot reshape %v to %v", t.Dims, dims)
	}
	return &Tensor{Type: t.Type, Dims: slices.Clone(dims), Data: t.Data}, err
}

// apply returns f of every element of t.
func (t *Tensor) apply(f func(float64) float64) *Tensor {
	out := t.like()
	for i, v := range t.Data {
		out.Data[i] = f(v)
	}
	return out
}

// ints returns the values of t as integers, the nearest ones where they do not fit.
func (t *Tensor) ints() []int {
	out := make([]int, len(t.Data))
	for i, v := range t.Data {
		out[i] = int(graph.Integer(v))
	}
	return out
}

// strides returns the distance between neighbours along each axis of a row-major tensor.
func strides(dims []int) []int {
	s := make([]int, len(dims))
	for i, step := len(dims)-1, 1; i >= 0; i-- {
		s[i], step = step, step*dims[i]
	}
	return s
}

// view returns the elements of t at offset + sum(index[i]*steps[i]) for all indices of
// shape dims. The caller ensures that all of them are elements of t.
func (t *Tensor) view(dims, steps []int, offset int) (*Tensor, error) {
	out, err := newTensor(t.Type, dims...)
	if err != nil || len(out.Data) == 0 {
		return out, err
	}
	if len(dims) == 0 {
		out.Data[0] = t.Data[offset]
		return out, nil
	}
	last := len(dims) - 1
	width, step := dims[last], steps[last]
	index := make([]int, last)
	for row := 0; row < len(out.Data); row += width {
		at := offset
		for i, k := range index {
			at += k * steps[i]
		}
		for i := range width {
			out.Data[row+i] = t.Data[at+i*step]
		}
		advance(index, dims)
	}
	return out, nil
}

// advance moves index to the next one of a shape in row-major order, and reports false
// after the last.
func advance(index, dims []int) bool {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < dims[i] {
			return true
		}
		index[i] = 0
	}
	return false
}

// transpose returns t with its axes in the order perm.
func (t *Tensor) transpose(perm ...int) (*Tensor, error) {
	if !isPermutation(perm, len(t.Dims)) {
		return nil, fmt.Errorf("%v is not a permutation of the axes of %v", perm, t.Dims)
	}
	from := strides(t.Dims)
	dims, steps := make([]int, len(perm)), make([]int, len(perm))
	for i, p := range perm {
		dims[i], steps[i] = t.Dims[p], from[p]
	}
	return t.view(dims, steps, 0)
}

// isPermutation reports whether perm has each of 0 to n-1 once.
func isPermutation(perm []int, n int) bool {
	seen := make([]bool, n)
	for _, p := range perm {
		if p < 0 || p >= n || seen[p] {
			return false
		}
		seen[p] = true
	}
	return len(perm) == n
}

// moveToEnd returns a permutation of rank axes that has the given ones last.
func moveToEnd(rank int, axes ...int) []int {
	var perm []int
	for i := range rank {
		if !slices.Contains(axes, i) {
			perm = append(perm, i)
		}
	}
	return append(perm, axes...)
}

// invert returns the permutation that undoes perm.
func invert(perm []int) []int {
	back := make([]int, len(perm))
	for i, p := range perm {
		back[p] = i
	}
	return back
}

// axisOf returns axis counted from the front. It fails unless -rank <= axis < rank.
func axisOf(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, fmt.Errorf("axis %d is not an axis of a tensor of rank %d", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// axesOf returns distinct axes counted from the front.
func axesOf(axes []int, rank int) ([]int, error) {
	out := make([]int, len(axes))
	for i, a := range axes {
		var err error
		if out[i], err = axisOf(a, rank); err != nil {
			return nil, err
		}
		if slices.Contains(out[:i], out[i]) {
			return nil, fmt.Errorf("axis %d is listed twice", a)
		}
	}
	return out, nil
}

// broadcastDims returns the shape that all shapes broadcast to: aligned at their ends, each
// dimension is the same or 1.
func broadcastDims(shapes ...[]int) ([]int, error) {
	out := []int{}
	for _, s := range shapes {
		for len(out) < len(s) {
			out = append([]int{1}, out...)
		}
		for i, d := range s {
			o := &out[len(out)-len(s)+i]
			switch {
			case *o == 1:
				*o = d
			case d != 1 && d != *o:
				return nil, fmt.Errorf("shapes %v do not broadcast", shapes)
			}
		}
	}
	return out, nil
}

// broadcast returns t repeated to a shape. It fails if t does not broadcast to it.
func (t *Tensor) broadcast(dims []int) (*Tensor, error) {
	if slices.Equal(t.Dims, dims) {
		return t, nil
	}
	all, err := broadcastDims(t.Dims, dims)
	if err != nil || !slices.Equal(all, dims) {
		return nil, fmt.Errorf("shape %v does not broadcast to %v", t.Dims, dims)
	}
	steps := make([]int, len(dims))
	for i, s := range strides(t.Dims) {
		if t.Dims[i] != 1 {
			steps[len(dims)-len(t.Dims)+i] = s
		}
	}
	return t.view(dims, steps, 0)
}

// truth returns 1 for true and 0 for false.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// wrap returns v as an integer type of up to 32 bits holds it: without its fraction and
// modulo the type's range. Types of 64 bits keep the integer part; NaN and infinities
// become 0.
func wrap(t onnx.DataType, v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	v = math.Trunc(v)
	if t == onnx.Bool {
		return truth(v != 0)
	}
	low, high := integerRange(t)
	if v >= low && v <= high || t.Width() == 8 {
		return v
	}
	span := high - low + 1
	v = math.Mod(v-low, span)
	if v < 0 {
		v += span
	}
	return v + low
}

// integerRange returns the least and greatest value of an integer type.
func integerRange(t onnx.DataType) (low, high float64) {
	span := math.Ldexp(1, 8*t.Width())
	switch t {
	case onnx.Int8, onnx.Int16, onnx.Int32, onnx.Int64:
		return -span / 2, span/2 - 1
	case onnx.Bool:
		return 0, 1
	}
	return 0, span - 1
}
