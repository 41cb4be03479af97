package list

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// An Array is a tensor of float64 numbers in row-major order. The Run function of a [Stage] reads
// and returns arrays.
type Array struct {
	Dims    []int
	Numbers []float64
}

// Filled returns the array enlarged to shape dims with zeros. Its elements keep their indices along
// every axis. If the shape is dims already, the result shares memory with the array. Filled returns
// an error if dims has a different number of axes or a smaller extent.
func (a Array) Filled(dims []int) (Array, error) {
	if err := a.checkShapesFit(a.Dims, dims); err != nil || slices.Equal(a.Dims, dims) {
		return a, err
	}
	return a.resize(dims), nil
}

// Cut returns the array cropped to shape dims: the first dims[k] positions of every axis k remain.
// If the shape is dims already, the result shares memory with the array. Cut returns an error if
// dims has a different number of axes or a larger extent.
func (a Array) Cut(dims []int) (Array, error) {
	if err := a.checkShapesFit(dims, a.Dims); err != nil || slices.Equal(a.Dims, dims) {
		return a, err
	}
	return a.resize(dims), nil
}

// checkShapesFit returns an error unless a has as many numbers as its shape needs, and shape small
// has as many axes as shape large and no larger extent.
func (a Array) checkShapesFit(small, large []int) error {
	if len(a.Numbers) != graph.Elements(a.Dims) {
		return fmt.Errorf("shape %v needs %d numbers, but array has %d", a.Dims, graph.Elements(a.Dims), len(a.Numbers))
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
	out := Array{dims, make([]float64, graph.Elements(dims))}
	copyCommonElements(out.Numbers, a.Numbers, dims, a.Dims)
	return out
}

// copyCommonElements copies the elements whose indices are in both of two shapes, from a tensor of
// shape fromDims to one of shape toDims. The shapes have the same number of axes, at least one.
func copyCommonElements(to, from []float64, toDims, fromDims []int) {
	n := min(toDims[0], fromDims[0])
	if len(toDims) == 1 {
		copy(to[:n], from)
		return
	}
	a, b := graph.Elements(toDims[1:]), graph.Elements(fromDims[1:])
	for i := range n {
		copyCommonElements(to[i*a:][:a], from[i*b:][:b], toDims[1:], fromDims[1:])
	}
}
