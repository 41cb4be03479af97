package list_test

import (
	"slices"
	"testing"

	"anesim/loader/network/list"
)

// Elements keep their places in a larger shape, and come back from it.
func TestFilled(t *testing.T) {
	a := list.Array{Dims: []int{2, 1}, Numbers: []float64{5, 6}}
	got, err := a.Filled([]int{3, 2})
	if want := []float64{5, 0, 6, 0, 0, 0}; err != nil || !slices.Equal(got.Numbers, want) {
		t.Errorf("%v, %v, want %v", got.Numbers, err, want)
	}
	if back, err := got.Cut(a.Dims); err != nil || !slices.Equal(back.Numbers, a.Numbers) {
		t.Errorf("cut again: %v, %v, want %v", back.Numbers, err, a.Numbers)
	}
	if got, err := a.Cut([]int{3, 1}); err == nil {
		t.Errorf("more than there is: %v, want an error", got)
	}
	for _, dims := range [][]int{{2}, {1, 4}, {2, 0}} {
		if got, err := a.Filled(dims); err == nil {
			t.Errorf("in shape %v: %v, want an error", dims, got)
		}
	}
}
