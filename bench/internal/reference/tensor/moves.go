package tensor

import (
	"fmt"
	"slices"
)

// Reshape returns a tensor of shape dims that shares the values of t. It returns an error if the
// number of elements would change.
func (t *Tensor) Reshape(dims ...int) (*Tensor, error) {
	n, err := CountElements(dims)
	if err == nil && n != len(t.Data) {
		err = fmt.Errorf("cannot reshape %v to %v: element counts differ", t.Dims, dims)
	}
	return &Tensor{Type: t.Type, Dims: slices.Clone(dims), Data: t.Data}, err
}

// CopyStrided returns a tensor of shape dims whose elements are copied from t. Its element at an
// index is t.Data[offset + sum(index[i]*steps[i])]; the caller must ensure that this is in range.
func (t *Tensor) CopyStrided(dims, steps []int, offset int) (*Tensor, error) {
	out, err := New(t.Type, dims...)
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
		AdvanceIndex(index, dims)
	}
	return out, nil
}

// Transpose returns t with its axes permuted: axis i of the result is axis perm[i] of t.
func (t *Tensor) Transpose(perm ...int) (*Tensor, error) {
	if !isPermutation(perm, len(t.Dims)) {
		return nil, fmt.Errorf("perm %v is not a permutation of %d axes", perm, len(t.Dims))
	}
	from := RowMajorStrides(t.Dims)
	dims, steps := make([]int, len(perm)), make([]int, len(perm))
	for i, p := range perm {
		dims[i], steps[i] = t.Dims[p], from[p]
	}
	return t.CopyStrided(dims, steps, 0)
}

// Concatenate joins the tensors in list along an axis. It returns an error if they differ in any
// other dimension. The caller must ensure that the first tensor has the axis.
func Concatenate(list []*Tensor, axis int) (*Tensor, error) {
	dims := slices.Clone(list[0].Dims)
	dims[axis] = 0
	for _, t := range list {
		rest := slices.Clone(t.Dims)
		if len(rest) == len(dims) {
			rest[axis] = dims[axis]
		}
		if !slices.Equal(rest, dims) {
			return nil, fmt.Errorf("cannot concatenate shapes %v and %v along axis %d: other dimensions differ", list[0].Dims, t.Dims, axis)
		}
		dims[axis] += t.Dims[axis]
	}
	out, err := New(list[0].Type, dims...)
	if err != nil {
		return nil, err
	}
	before := CountValidElements(dims[:axis])
	out.Data = out.Data[:0]
	for i := range before {
		for _, t := range list {
			n := len(t.Data) / before
			out.Data = append(out.Data, t.Data[i*n:(i+1)*n]...)
		}
	}
	return out, nil
}

// SliceRange returns the part of t along an axis that begins at index from and ends before index
// to. The caller must ensure that these indices are in range.
func (t *Tensor) SliceRange(axis, from, to int) (*Tensor, error) {
	dims, steps := slices.Clone(t.Dims), RowMajorStrides(t.Dims)
	dims[axis] = to - from
	return t.CopyStrided(dims, steps, from*steps[axis])
}

// SelectSlices returns the slices of t at the given places along an axis, joined along that axis.
// The caller must ensure that the places are in range.
func (t *Tensor) SelectSlices(axis int, places []int) (*Tensor, error) {
	if len(places) == 0 {
		return t.SliceRange(axis, 0, 0)
	}
	var parts []*Tensor
	for _, k := range places {
		part, err := t.SliceRange(axis, k, k+1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return Concatenate(parts, axis)
}

// SplitTransposeJoin reshapes t to the shape split, permutes its axes by perm, and reshapes the
// result to the shape join.
func (t *Tensor) SplitTransposeJoin(split, perm, join []int) (*Tensor, error) {
	t, err := t.Reshape(split...)
	if err != nil {
		return nil, err
	}
	if t, err = t.Transpose(perm...); err != nil {
		return nil, err
	}
	return t.Reshape(join...)
}

// MoveAxesLast returns t with the given axes moved to the end (moved), and the product of the
// lengths of these axes (length). Each run of that many elements of moved has the same index along
// all other axes.
func (t *Tensor) MoveAxesLast(axes []int) (moved *Tensor, length int, err error) {
	length = 1
	for _, a := range axes {
		length *= t.Dims[a]
	}
	moved, err = t.Transpose(PermutationToEnd(len(t.Dims), axes...)...)
	return moved, length, err
}

// DropAxes returns t without the given axes. It returns an error unless each of them has length
// 1.
func (t *Tensor) DropAxes(axes []int) (*Tensor, error) {
	dims := []int{}
	for i, d := range t.Dims {
		if !slices.Contains(axes, i) {
			dims = append(dims, d)
		}
	}
	return t.Reshape(dims...)
}

// RepeatEachElement returns a vector in which each element of t is repeated n times in a row.
func (t *Tensor) RepeatEachElement(n int) *Tensor {
	out := &Tensor{Type: t.Type, Dims: []int{len(t.Data) * n}}
	for _, v := range t.Data {
		out.Data = append(out.Data, slices.Repeat([]float64{v}, n)...)
	}
	return out
}
