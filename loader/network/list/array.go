package list

import (
	"fmt"
	"slices"
)

// An Array is a tensor of float64 numbers of shape Dims, in row-major order. The stages that the
// host computes read and return arrays.
type Array struct {
	Dims    []int
	Numbers []float64
}

// Filled returns a copy of the array that is enlarged to shape dims. Elements keep their
// indices, and new elements are 0. It returns an error if dims has another number of axes or a
// smaller extent.
func (a Array) Filled(dims []int) (Array, error) {
	if err := a.checkFit(a.Dims, dims); err != nil || slices.Equal(a.Dims, dims) {
		return a, err
	}
	return a.resize(dims), nil
}

// Cut returns a copy of the array that is cropped to shape dims: it keeps the first dims[k]
// positions of every axis k. It returns an error if dims has another number of axes or a larger
// extent.
func (a Array) Cut(dims []int) (Array, error) {
	if err := a.checkFit(dims, a.Dims); err != nil || slices.Equal(a.Dims, dims) {
		return a, err
	}
	return a.resize(dims), nil
}

// checkFit returns an error unless the array has as many numbers as its shape needs and small
// fits in large.
func (a Array) checkFit(small, large []int) error {
	if len(a.Numbers) != volume(a.Dims) {
		return fmt.Errorf("shape %v needs %d numbers, but array has %d", a.Dims, volume(a.Dims), len(a.Numbers))
	}
	if len(small) != len(large) {
		return fmt.Errorf("shapes %v and %v have different numbers of axes", small, large)
	}
	for i, d := range small {
		if d > large[i] {
			return fmt.Errorf("shape %v exceeds shape %v along axis %d", small, large, i)
		}
	}
	return nil
}

// resize returns an array of shape dims with the elements that both shapes have in common, and
// zeros elsewhere.
func (a Array) resize(dims []int) Array {
	out := Array{dims, make([]float64, volume(dims))}
	copyCommonElements(out.Numbers, a.Numbers, dims, a.Dims)
	return out
}

// copyCommonElements copies the elements that two shapes have in common. Both have the same number
// of axes, at least one.
func copyCommonElements(to, from []float64, toDims, fromDims []int) {
	n := min(toDims[0], fromDims[0])
	if len(toDims) == 1 {
		copy(to[:n], from)
		return
	}
	a, b := volume(toDims[1:]), volume(fromDims[1:])
	for i := range n {
		copyCommonElements(to[i*a:][:a], from[i*b:][:b], toDims[1:], fromDims[1:])
	}
}

// volume returns the product of dims, the number of elements of a tensor of that shape.
func volume(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
