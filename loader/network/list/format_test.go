package list_test

import (
	"math"
	"testing"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// TestCheckShape checks shapes at the bounds of an engine tensor, also where products of the
// extents would overflow.
func TestCheckShape(t *testing.T) {
	const most = list.MaxExtent
	for _, tc := range []struct {
		dims [4]int
		want bool
	}{
		{[4]int{1, 1, 1, 1}, true},
		{[4]int{1, 1, 1, most}, true},
		{[4]int{1, 1, 1, most + 1}, false},
		{[4]int{1, 1, most, 1 << 16}, true},
		{[4]int{1, 1, most, 1<<16 + 1}, false},
		{[4]int{1 << 10, 1 << 10, 1 << 10, 1 << 10}, true},
		{[4]int{1, 1 << 6, most, 1 << 10}, true},
		{[4]int{1, 0, 1, 1}, false},
		{[4]int{1, -1, -1, 1}, false},
		{[4]int{most, most, most, most}, false},
		{[4]int{math.MaxInt, math.MaxInt, 1, 1}, false},
		{[4]int{1 << 31, 0, 1 << 31, 1 << 31}, false},
	} {
		err := list.CheckShape(layer.Shape{N: tc.dims[0], C: tc.dims[1], H: tc.dims[2], W: tc.dims[3]})
		if (err == nil) != tc.want {
			t.Errorf("%v: error is %v, want accepted to be %v", tc.dims, err, tc.want)
		}
	}
	if dims := []int{1 << 12, 1 << 13, 1, 1, 1}; graph.FitsEngine(dims) {
		t.Errorf("%v fits, want its merged batch of 2^25 refused", dims)
	}
}
