package graph

import (
	"fmt"
	"slices"
)

// Elements returns the number of elements of a tensor of shape dims. It returns 1 if dims is empty,
// which is the shape of a single number.
func Elements(dims []int) int {
	e := 1
	for _, d := range dims {
		e *= d
	}
	return e
}

// Strides returns the stride of each axis of a dense row-major tensor of shape dims: the distance,
// in elements, between neighbors along the axis.
func Strides(dims []int) []int {
	s := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		s[i] = step
		step *= dims[i]
	}
	return s
}

// Each calls visit for every index of a tensor of shape dims, in row-major order. i counts the
// calls from 0. offset begins at first, and grows by steps[k] with each step along axis k.
func Each(dims, steps []int, first int, visit func(i, offset int)) {
	n := Elements(dims)
	index := make([]int, len(dims))
	at := first
	for i := range n {
		visit(i, at)
		for k := len(dims) - 1; k >= 0; k-- {
			index[k]++
			at += steps[k]
			if index[k] < dims[k] {
				break
			}
			at -= steps[k] * dims[k]
			index[k] = 0
		}
	}
}

// Broadcast returns the shape of the result of an elementwise operation on tensors of the given
// shapes. Shapes are aligned at their last axes, and an axis of one element is repeated. Broadcast
// returns an error if two extents of an axis differ and neither is 1.
func Broadcast(shapes ...[]int) ([]int, error) {
	out := []int{} // nil would mean an unknown shape
	for _, s := range shapes {
		for len(out) < len(s) {
			out = append([]int{1}, out...)
		}
	}
	for _, s := range shapes {
		for i, d := range s {
			o := &out[len(out)-len(s)+i]
			switch {
			case *o == d || d == 1:
			case *o == 1:
				*o = d
			default:
				return nil, fmt.Errorf("cannot broadcast shapes %v and %v; want dimensions that are equal or 1", shapes[0], s)
			}
		}
	}
	return out, nil
}

// BroadcastStrides returns the strides, in elements, for reading a dense tensor of shape dims as if
// it were broadcast to shape out. The stride of an axis along which the tensor is repeated is 0.
func BroadcastStrides(dims, out []int) []int {
	steps := make([]int, len(out))
	own := Strides(dims)
	for i, d := range dims {
		if d > 1 {
			steps[len(out)-len(dims)+i] = own[i]
		}
	}
	return steps
}

// Bounds on the shape of a tensor and on lists in attributes. Larger ones are refused.
const (
	MaxRank     = 16      // axes of a tensor
	MaxElements = 1 << 31 // along one axis
	MaxExtent   = 1 << 24 // along an axis of an engine tensor; the engine's limit is far lower
	MaxList     = 1 << 20 // of a list argument, such as axes, sizes or indices
)

// CheckExtents returns an error if dims has more than [MaxRank] axes, if an extent is negative or
// exceeds [MaxElements], or if the product of the extents other than 0 exceeds 2^40.
func CheckExtents(dims []int) error {
	if len(dims) > MaxRank {
		return fmt.Errorf("shape has %d dimensions; want at most %d", len(dims), MaxRank)
	}
	room := 1 << 40
	for _, d := range dims {
		if d < 0 || d > MaxElements || d > room {
			return fmt.Errorf("shape %v is out of range; want dimensions from 0 to %d and at most 2^40 elements", dims, MaxElements)
		}
		room /= max(1, d)
	}
	return nil
}

// EngineDims returns the extents N, C, H and W of an engine tensor that holds a tensor of shape
// dims. If dims has fewer than four axes, the leading extents are 1. If it has more, the leading
// axes are merged into N. Extents may be 0 or too large for the engine (see [FitsEngine]).
// EngineDims returns an error if [CheckExtents] does.
func EngineDims(dims []int) ([4]int, error) {
	e := [4]int{1, 1, 1, 1}
	if err := CheckExtents(dims); err != nil {
		return e, err
	}
	if extra := len(dims) - len(e); extra > 0 {
		e[0] = Elements(dims[:extra+1])
		dims = dims[extra+1:]
	}
	copy(e[len(e)-len(dims):], dims)
	return e, nil
}

// FitsEngine reports whether the engine may accept a tensor of shape dims: the extents that
// [EngineDims] returns are from 1 to [MaxExtent], and their product is at most 2^40.
func FitsEngine(dims []int) bool {
	e, err := EngineDims(dims)
	return err == nil && slices.Min(e[:]) >= 1 && slices.Max(e[:]) <= MaxExtent
}
