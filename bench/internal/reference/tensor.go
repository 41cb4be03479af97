package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/onnx"
)

// A Tensor is an array of numbers of an ONNX type, in row-major order. All types are stored as
// float64: false and true are 0 and 1, and an integer beyond 2^53 is the nearest float64.
type Tensor struct {
	Type onnx.DataType
	Dims []int // length of each axis; empty for a scalar
	Data []float64
	// Items holds the tensors of a sequence, which has the shape [0] and no elements of its own. It is
	// nil for a tensor, and not nil for an empty sequence.
	Items []*Tensor
}

// maxElements is the largest number of elements of a tensor (2 GiB of float64). It keeps a
// small file with a large shape from using all memory.
const maxElements = 1 << 28

// countElements returns the number of elements of a shape. It returns an error if a dimension
// is negative or there are more than maxElements.
func countElements(dims []int) (int, error) {
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

// countValidElements returns the number of elements of a tensor with shape dims, which must be
// valid. For shapes from a file, use countElements.
func countValidElements(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// newTensor returns a tensor of zeros with the type t and the shape dims. It returns an error if
// the shape is invalid or has more than maxElements elements.
func newTensor(t onnx.DataType, dims ...int) (*Tensor, error) {
	n, err := countElements(dims)
	if err != nil {
		return nil, err
	}
	return &Tensor{Type: t, Dims: slices.Clone(dims), Data: make([]float64, n)}, nil
}

// newScalar returns a tensor of rank 0 with the type t and the value v.
func newScalar(t onnx.DataType, v float64) *Tensor {
	return &Tensor{Type: t, Dims: []int{}, Data: []float64{v}}
}

// newVector returns an int64 tensor of rank 1 that holds the given values.
func newVector(values ...int) *Tensor {
	t := &Tensor{Type: onnx.Int64, Dims: []int{len(values)}, Data: make([]float64, len(values))}
	for i, v := range values {
		t.Data[i] = float64(v)
	}
	return t
}

// checkLength returns an error unless the number of values of t matches its shape.
func (t *Tensor) checkLength() error {
	n, err := countElements(t.Dims)
	if err == nil && n != len(t.Data) {
		err = fmt.Errorf("shape %v needs %d values, but tensor has %d", t.Dims, n, len(t.Data))
	}
	return err
}

// zerosLike returns a tensor of zeros with the type and shape of t.
func (t *Tensor) zerosLike() *Tensor {
	return &Tensor{Type: t.Type, Dims: slices.Clone(t.Dims), Data: make([]float64, len(t.Data))}
}

// withType returns a tensor of type to that shares the shape and the values of t.
func (t *Tensor) withType(to onnx.DataType) *Tensor {
	return &Tensor{Type: to, Dims: t.Dims, Data: t.Data}
}

// reshape returns a tensor of shape dims that shares the values of t. It returns an error if the
// number of elements would change.
func (t *Tensor) reshape(dims ...int) (*Tensor, error) {
	n, err := countElements(dims)
	if err == nil && n != len(t.Data) {
		err = fmt.Errorf("cannot reshape %v to %v: element counts differ", t.Dims, dims)
	}
	return &Tensor{Type: t.Type, Dims: slices.Clone(dims), Data: t.Data}, err
}

// mapElements returns a tensor with the type and the shape of t whose elements are f(v) for each
// element v of t.
func (t *Tensor) mapElements(f func(float64) float64) *Tensor {
	out := t.zerosLike()
	for i, v := range t.Data {
		out.Data[i] = f(v)
	}
	return out
}

// toInts returns the values of t as integers. It truncates fractions, replaces values out of range
// by the nearest integer in range, and replaces NaN by 0.
func (t *Tensor) toInts() []int {
	out := make([]int, len(t.Data))
	for i, v := range t.Data {
		switch {
		case v != v:
		case v >= math.MaxInt64:
			out[i] = math.MaxInt64
		case v <= math.MinInt64:
			out[i] = math.MinInt64
		default:
			out[i] = int(v)
		}
	}
	return out
}

// rowMajorStrides returns, for each axis of a row-major tensor of shape dims, the distance in
// elements between neighbors along that axis.
func rowMajorStrides(dims []int) []int {
	s := make([]int, len(dims))
	for i, step := len(dims)-1, 1; i >= 0; i-- {
		s[i], step = step, step*dims[i]
	}
	return s
}

// copyStrided returns a tensor of shape dims whose elements are copied from t. Its element at an
// index is t.Data[offset + sum(index[i]*steps[i])]; the caller must ensure that this is in range.
func (t *Tensor) copyStrided(dims, steps []int, offset int) (*Tensor, error) {
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
		advanceIndex(index, dims)
	}
	return out, nil
}

// advanceIndex changes index in place to the next index of the shape dims in row-major order, and
// returns true. After the last index, it sets all of index to 0 and returns false.
func advanceIndex(index, dims []int) bool {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < dims[i] {
			return true
		}
		index[i] = 0
	}
	return false
}

// transpose returns t with its axes permuted: axis i of the result is axis perm[i] of t.
func (t *Tensor) transpose(perm ...int) (*Tensor, error) {
	if !isPermutation(perm, len(t.Dims)) {
		return nil, fmt.Errorf("perm %v is not a permutation of %d axes", perm, len(t.Dims))
	}
	from := rowMajorStrides(t.Dims)
	dims, steps := make([]int, len(perm)), make([]int, len(perm))
	for i, p := range perm {
		dims[i], steps[i] = t.Dims[p], from[p]
	}
	return t.copyStrided(dims, steps, 0)
}

// isPermutation reports whether perm contains each of the numbers 0 to n-1 exactly once.
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

// permutationToEnd returns the permutation of rank axes that moves the given axes to the end and
// keeps the order of the others.
func permutationToEnd(rank int, axes ...int) []int {
	var perm []int
	for i := range rank {
		if !slices.Contains(axes, i) {
			perm = append(perm, i)
		}
	}
	return append(perm, axes...)
}

// invertPermutation returns the permutation that undoes perm.
func invertPermutation(perm []int) []int {
	back := make([]int, len(perm))
	for i, p := range perm {
		back[p] = i
	}
	return back
}

// resolveAxis returns the number of an axis, from 0 to rank-1, where a negative axis counts from
// the last one. It returns an error unless -rank <= axis < rank.
func resolveAxis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, fmt.Errorf("axis %d is out of range for a tensor of rank %d", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// resolveAxes resolves each of the axes as resolveAxis does. It also returns an error if an axis is
// listed twice.
func resolveAxes(axes []int, rank int) ([]int, error) {
	out := make([]int, len(axes))
	for i, a := range axes {
		var err error
		if out[i], err = resolveAxis(a, rank); err != nil {
			return nil, err
		}
		if slices.Contains(out[:i], out[i]) {
			return nil, fmt.Errorf("duplicate axis %d", a)
		}
	}
	return out, nil
}

// broadcastDims returns the shape to which all shapes broadcast. Shapes are aligned at their
// last dimensions, which must be equal or 1.
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
				return nil, fmt.Errorf("cannot broadcast shapes %v to a common shape", shapes)
			}
		}
	}
	return out, nil
}

// broadcastTo returns t expanded to the shape dims: it repeats t along axes of length 1 and along
// missing leading axes. It returns an error if that does not give the shape.
func (t *Tensor) broadcastTo(dims []int) (*Tensor, error) {
	if slices.Equal(t.Dims, dims) {
		return t, nil
	}
	all, err := broadcastDims(t.Dims, dims)
	if err != nil || !slices.Equal(all, dims) {
		return nil, fmt.Errorf("cannot broadcast shape %v to %v", t.Dims, dims)
	}
	steps := make([]int, len(dims))
	for i, s := range rowMajorStrides(t.Dims) {
		if t.Dims[i] != 1 {
			steps[len(dims)-len(t.Dims)+i] = s
		}
	}
	return t.copyStrided(dims, steps, 0)
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// wrapInteger converts v to a value of the integer type t. It truncates fractions and, for types of
// up to 32 bits, wraps around as integer overflow does. NaN and infinities become 0.
func wrapInteger(t onnx.DataType, v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	v = math.Trunc(v)
	if t == onnx.Bool {
		return boolToFloat(v != 0)
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

// integerRange returns the smallest and largest value of an integer type.
func integerRange(t onnx.DataType) (low, high float64) {
	span := math.Ldexp(1, t.Bits())
	switch t {
	case onnx.Int2, onnx.Int4, onnx.Int8, onnx.Int16, onnx.Int32, onnx.Int64:
		return -span / 2, span/2 - 1
	case onnx.Bool:
		return 0, 1
	}
	return 0, span - 1
}
