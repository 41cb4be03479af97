package list

import (
	"fmt"
	"slices"
)

// An Array is numbers in a shape, the last axis first.
type Array struct {
	Dims    []int
	Numbers []float64
}

// Filled returns the array in a shape that has as many axes and nowhere less room, with zeros
// where a has no elements.
func (a Array) Filled(dims []int) (Array, error) {
	if err := a.check(a.Dims, dims); err != nil || slices.Equal(a.Dims, dims) {
		return a, err
	}
	return a.resized(dims), nil
}

// Cut returns the first elements of every axis, as many as dims says.
func (a Array) Cut(dims []int) (Array, error) {
	if err := a.check(dims, a.Dims); err != nil || slices.Equal(a.Dims, dims) {
		return a, err
	}
	return a.resized(dims), nil
}

// check makes sure that the array has its numbers and that large has room for small.
func (a Array) check(small, large []int) error {
	if len(a.Numbers) != volume(a.Dims) {
		return fmt.Errorf("%d numbers of shape %v", len(a.Numbers), a.Dims)
	}
	if len(small) != len(large) {
		return fmt.Errorf("shape %v has no room for %v", large, small)
	}
	for i, d := range small {
		if d > large[i] {
			return fmt.Errorf("shape %v has no room for %v", large, small)
		}
	}
	return nil
}

// resized returns an array of dims with the elements that both shapes have.
func (a Array) resized(dims []int) Array {
	out := Array{dims, make([]float64, volume(dims))}
	copyShared(out.Numbers, a.Numbers, dims, a.Dims)
	return out
}

// copyShared copies what two shapes of one or more axes have both.
func copyShared(to, from []float64, toDims, fromDims []int) {
	n := min(toDims[0], fromDims[0])
	if len(toDims) == 1 {
		copy(to[:n], from)
		return
	}
	a, b := volume(toDims[1:]), volume(fromDims[1:])
	for i := range n {
		copyShared(to[i*a:][:a], from[i*b:][:b], toDims[1:], fromDims[1:])
	}
}

// volume is the number of elements of a shape.
func volume(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
