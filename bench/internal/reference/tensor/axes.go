package tensor

import (
	"fmt"
	"slices"
)

// RowMajorStrides returns, for each axis of a row-major tensor of shape dims, the distance in
// elements between neighbors along that axis.
func RowMajorStrides(dims []int) []int {
	s := make([]int, len(dims))
	for i, step := len(dims)-1, 1; i >= 0; i-- {
		s[i], step = step, step*dims[i]
	}
	return s
}

// AdvanceIndex changes index in place to the next index of the shape dims in row-major order, and
// returns true. After the last index, it sets all of index to 0 and returns false.
func AdvanceIndex(index, dims []int) bool {
	for i := len(index) - 1; i >= 0; i-- {
		if index[i]++; index[i] < dims[i] {
			return true
		}
		index[i] = 0
	}
	return false
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

// PermutationToEnd returns the permutation of rank axes that moves the given axes to the end and
// keeps the order of the others.
func PermutationToEnd(rank int, axes ...int) []int {
	var perm []int
	for i := range rank {
		if !slices.Contains(axes, i) {
			perm = append(perm, i)
		}
	}
	return append(perm, axes...)
}

// InvertPermutation returns the permutation that undoes perm.
func InvertPermutation(perm []int) []int {
	back := make([]int, len(perm))
	for i, p := range perm {
		back[p] = i
	}
	return back
}

// ResolveAxis returns the number of an axis, from 0 to rank-1, where a negative axis counts from
// the last one. It returns an error unless -rank <= axis < rank.
func ResolveAxis(axis, rank int) (int, error) {
	if axis < -rank || axis >= rank {
		return 0, fmt.Errorf("axis %d is out of range for a tensor of rank %d", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

// ResolveAxes resolves each of the axes as ResolveAxis does. It also returns an error if an axis is
// listed twice.
func ResolveAxes(axes []int, rank int) ([]int, error) {
	out := make([]int, len(axes))
	for i, a := range axes {
		var err error
		if out[i], err = ResolveAxis(a, rank); err != nil {
			return nil, err
		}
		if slices.Contains(out[:i], out[i]) {
			return nil, fmt.Errorf("duplicate axis %d", a)
		}
	}
	return out, nil
}

// BroadcastDims returns the shape to which all shapes broadcast. Shapes are aligned at their
// last dimensions, which must be equal or 1.
func BroadcastDims(shapes ...[]int) ([]int, error) {
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

// BroadcastTo returns t expanded to the shape dims: it repeats t along axes of length 1 and along
// missing leading axes. It returns an error if that does not give the shape.
func (t *Tensor) BroadcastTo(dims []int) (*Tensor, error) {
	if slices.Equal(t.Dims, dims) {
		return t, nil
	}
	all, err := BroadcastDims(t.Dims, dims)
	if err != nil || !slices.Equal(all, dims) {
		return nil, fmt.Errorf("cannot broadcast shape %v to %v", t.Dims, dims)
	}
	steps := make([]int, len(dims))
	for i, s := range RowMajorStrides(t.Dims) {
		if t.Dims[i] != 1 {
			steps[len(dims)-len(t.Dims)+i] = s
		}
	}
	return t.CopyStrided(dims, steps, 0)
}
