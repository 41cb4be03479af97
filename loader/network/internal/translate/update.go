package translate

import (
	"fmt"
	"slices"
)

// emitSliceUpdate emits a copy of the tensor x in which the update replaces a slice. The converter of
// Core ML writes caches of keys and values with it. A slice at a constant position is joined with the
// parts of x around it. A slice at a computed position, of one element along each axis that it does not
// fill, is chosen by a mask of the position.
func emitSliceUpdate(x *operation) {
	s := &sliceUpdate{operation: x, of: x.inputName("x"), update: x.inputName("update")}
	s.dims = x.dims[s.of]
	x.arguments("end") // the update's shape says where the slice ends
	x.arguments("end_mask")
	rank := len(s.dims)
	drop := x.boolsArgument("squeeze_mask", rank)
	// The update lacks the axes of single elements. They come back, so that both tensors have the same.
	if slices.Contains(drop, true) {
		var axes []int64
		for i := range drop {
			if drop[i] {
				axes = append(axes, int64(i))
			}
		}
		size := slices.Clone(x.dims[s.update])
		for _, axis := range axes {
			if int(axis) > len(size) {
				break
			}
			size = slices.Insert(size, int(axis), 1)
		}
		s.update, s.size = x.emitIntermediateNode("Unsqueeze", []string{s.update, x.newIntsConstant(axes...)}), size
	} else {
		s.size = x.dims[s.update]
	}
	isUnknown := func(n int64) bool { return n < 1 }
	switch {
	case x.err != nil:
		return
	case len(s.size) != rank || slices.ContainsFunc(s.dims, isUnknown) || slices.ContainsFunc(s.size, isUnknown):
		x.err = fmt.Errorf("update of shape %v in a tensor of shape %v; want known sizes of the same axes", s.size, s.dims)
		return
	case slices.ContainsFunc(x.intsArgument("stride"), func(n int64) bool { return n != 1 }):
		x.err = fmt.Errorf("stride is %v; want 1 along every axis", x.intsArgument("stride"))
		return
	}
	if t := x.constants[x.inputName("begin")]; t != nil && !t.External() {
		s.emitAtConstant(drop)
	} else {
		s.emitAtComputed()
	}
}

// A sliceUpdate is a slice_update that is being converted.
type sliceUpdate struct {
	*operation
	of, update string
	dims, size []int64 // of the tensor, and of the update
}

// emitAtConstant emits an update whose position is a constant.
func (s *sliceUpdate) emitAtConstant(drop []bool) {
	begin, rank := slices.Clone(s.intsArgument("begin")), len(s.dims)
	if len(begin) != rank {
		s.err = fmt.Errorf("begin has %d elements; want %d, one per axis", len(begin), rank)
		return
	}
	first := s.boolsArgument("begin_mask", rank)
	begin = s.countAxesFromStart(s.of, begin)
	var axes []int
	for i := range begin {
		if first[i] && !drop[i] {
			begin[i] = 0
		}
		if begin[i] < 0 || begin[i]+s.size[i] > s.dims[i] {
			s.err = fmt.Errorf("update of shape %v at %v is outside shape %v", s.size, begin, s.dims)
			return
		}
		if s.size[i] < s.dims[i] {
			axes = append(axes, i)
		}
	}
	s.emitNode("Identity", []string{s.joinAround(s.of, begin, axes)})
}

// joinAround returns the tensor called of with the update in the place that begins at begin. Along axes
// the update is smaller than the tensor.
func (s *sliceUpdate) joinAround(of string, begin []int64, axes []int) string {
	if len(axes) == 0 {
		return s.update
	}
	axis := axes[0]
	part := func(from, to int64) string {
		at := s.newIntsConstant(int64(axis))
		return s.emitIntermediateNode("Slice", []string{of, s.newIntsConstant(from), s.newIntsConstant(to), at})
	}
	low, high := begin[axis], begin[axis]+s.size[axis]
	var parts []string
	if low > 0 {
		parts = append(parts, part(0, low))
	}
	middle := of
	if len(axes) > 1 {
		middle = part(low, high)
	}
	parts = append(parts, s.joinAround(middle, begin, axes[1:]))
	if high < s.dims[axis] {
		parts = append(parts, part(high, s.dims[axis]))
	}
	return s.emitIntermediateNode("Concat", parts, newIntAttr("axis", int64(axis)))
}

// emitAtComputed emits an update whose position is computed.
func (s *sliceUpdate) emitAtComputed() {
	mask := ""
	for i, n := range s.dims {
		switch {
		case s.size[i] == n:
			continue
		case s.size[i] != 1:
			s.err = fmt.Errorf("update of %d of %d elements along axis %d at a computed position; want one or all", s.size[i], n, i)
			return
		}
		places := make([]int64, n)
		for k := range places {
			places[k] = int64(k)
		}
		shape := slices.Repeat([]int64{1}, len(s.dims))
		shape[i] = n
		at := s.emitIntermediateNode("Gather", []string{s.inputName("begin"), s.newIntsConstant(int64(i))}, newIntAttr("axis", 0))
		here := s.emitIntermediateNode("Equal", []string{s.emitIntermediateNode("Reshape", []string{s.newIntsConstant(places...), s.newIntsConstant(shape...)}), at})
		if mask == "" {
			mask = here
		} else {
			mask = s.emitIntermediateNode("And", []string{mask, here})
		}
	}
	if mask == "" {
		s.emitNode("Identity", []string{s.update})
		return
	}
	s.emitNode("Where", []string{mask, s.update, s.of})
}
