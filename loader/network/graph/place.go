package graph

import "fmt"

// Elements is how many elements a tensor of dims has.
func Elements(dims []int) int {
	e := 1
	for _, d := range dims {
		e *= d
	}
	return e
}

// Strides are the steps of each axis of a tensor that stands without gaps.
func Strides(dims []int) []int {
	s := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		s[i] = step
		step *= dims[i]
	}
	return s
}

// Each calls visit with the place in a tensor of given steps of every element of dims.
func Each(dims, steps []int, first int, visit func(i, at int)) {
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

// Broadcast is the shape of what an elementwise operation makes of tensors.
func Broadcast(shapes ...[]int) ([]int, error) {
	out := []int{} // nil would be a shape that is not known
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
				return nil, fmt.Errorf("%v with %v", shapes[0], s)
			}
		}
	}
	return out, nil
}

// Repeated are the steps of a tensor of dims that repeats to out.
func Repeated(dims, out []int) []int {
	steps := make([]int, len(out))
	own := Strides(dims)
	for i, d := range dims {
		if d > 1 {
			steps[len(out)-len(dims)+i] = own[i]
		}
	}
	return steps
}

// Bounds on the dimensions of a tensor.
const (
	MaxRank     = 16
	MaxElements = 1 << 31 // along one axis
	MaxExtent   = 1 << 24 // along an axis of the engine, whose own limit is far below
	MaxList     = 1 << 20 // of a list of axes, sizes or places that says how a node works
)

// Countable makes sure that the product of dimensions is a count.
func Countable(dims []int) error {
	if len(dims) > MaxRank {
		return fmt.Errorf("%d dimensions", len(dims))
	}
	room := 1 << 40
	for _, d := range dims {
		if d < 0 || d > MaxElements || d > room {
			return fmt.Errorf("shape %v", dims)
		}
		room /= max(1, d)
	}
	return nil
}

// Fits reports whether the engine may take a tensor of dims: it has four axes, the first of
// which are together where there are more.
func Fits(dims []int) bool {
	if Countable(dims) != nil {
		return false
	}
	if extra := len(dims) - 4; extra > 0 {
		dims = append([]int{Elements(dims[:extra+1])}, dims[extra+1:]...)
	}
	for _, d := range dims {
		if d < 1 || d > MaxExtent {
			return false
		}
	}
	return true
}
