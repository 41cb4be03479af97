package graph

import (
	"fmt"
	"slices"
	"strings"
)

// A Model is a network as its file describes it, before any shape is inferred.
type Model struct {
	Graph
	Name    string
	Inputs  []Port // without the constants; Graph.Inputs is nil
	Results []Port
	Values  map[string]*Value // all tensors by name
}

// A Port describes an input or an output of a network, as its file states it.
type Port struct {
	Name string
	Type Type
	Dims []Dim // nil if the file states no shape
	// State is, for an input that keeps its value from call to call, the result that replaces it
	// after a call, or its own name if no call changes it. It is "" for other inputs.
	State string
	// Shapes are the shapes that the file allows for an input without fixed dimensions, or nil if it
	// does not say.
	Shapes *Shapes
}

// Shapes describes the shapes that a file allows for an input. A file lists them, or gives a range
// for each axis, or neither.
type Shapes struct {
	Default []int64    // used if the user chooses none; may be nil
	Listed  [][]int64  // all allowed shapes, or nil
	Ranges  [][2]int64 // least and largest extent along each axis, or nil; -1 for no limit
}

// Allow reports whether an input may have the shape dims.
func (s *Shapes) Allow(dims []int) bool {
	for _, shape := range s.Listed {
		if slices.EqualFunc(shape, dims, func(a int64, b int) bool { return a == int64(b) }) {
			return true
		}
	}
	for i, r := range s.Ranges {
		if len(s.Ranges) != len(dims) || int64(dims[i]) < r[0] || r[1] >= 0 && int64(dims[i]) > r[1] {
			return false
		}
	}
	return s.Listed == nil
}

// DefaultOf returns the extent of an axis in the shape that the file suggests for an input of the given
// rank, or 0 if there is none.
func (s *Shapes) DefaultOf(rank, axis int) int {
	if s == nil || len(s.Default) != rank || s.Default[axis] < 1 || s.Default[axis] > MaxExtent {
		return 0
	}
	return int(s.Default[axis])
}

// maxShapesInText is the number of shapes that String lists.
const maxShapesInText = 8

// String returns the allowed shapes in words, such as "[1 3 224 224] or [1 3 256 256]" and "[1 1..128]".
// It returns "" if the file allows any shape.
func (s *Shapes) String() string {
	var parts []string
	for i, shape := range s.Listed {
		if i == maxShapesInText {
			return fmt.Sprintf("%s or one of %d others", strings.Join(parts, ", "), len(s.Listed)-i)
		}
		parts = append(parts, fmt.Sprint(shape))
	}
	if len(parts) > 0 || len(s.Ranges) == 0 {
		return strings.Join(parts, " or ")
	}
	for _, r := range s.Ranges {
		switch {
		case r[0] == r[1]:
			parts = append(parts, fmt.Sprint(r[0]))
		case r[1] < 0:
			parts = append(parts, fmt.Sprintf("%d..", r[0]))
		default:
			parts = append(parts, fmt.Sprintf("%d..%d", r[0], r[1]))
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// A Dim is one dimension of a [Port]. It has a size, a name for a size that the user chooses, or
// neither.
type Dim struct {
	Size int64
	Name string
}

// Sizes returns the shape and element type of the port. It returns nil if the file states no shape,
// or one with a dimension whose size is missing or not from 1 to [MaxExtent].
func (p *Port) Sizes() *Result {
	if p.Dims == nil {
		return nil
	}
	dims := []int{}
	for _, d := range p.Dims {
		if d.Size < 1 || d.Size > MaxExtent {
			return nil
		}
		dims = append(dims, int(d.Size))
	}
	return &Result{Dims: dims, Type: p.Type}
}
