package network

import (
	"testing"

	"anesim/loader/network/graph"
)

// TestScope holds that an attempt sees the tensors around it, and changes none of them before
// it is kept.
func TestScope(t *testing.T) {
	outer := &scope{}
	x := outer.value("x")
	x.Shape([]int{4})
	x.Least = []int{0}

	inner := &scope{outer: outer}
	if inner.value("x") != x {
		t.Error("a tensor from outside is another one inside")
	}
	made := inner.made("x")
	if made == x || made.Least == nil {
		t.Errorf("what is made inside is %+v", made)
	}
	made.Set(&graph.Const{Dims: []int{2}, Type: graph.Int64, Numbers: []float64{1, 2}})
	inner.made("y").Shape(nil)
	if inner.value("x") != made || x.Const != nil || outer.find("y") != nil {
		t.Error("an attempt changes what is outside of it")
	}
	inner.keep()
	if x.Const == nil || x.Dims[0] != 2 || outer.find("y") == nil || outer.find("y").Dims == nil {
		t.Error("what was kept is not outside")
	}

	// A view is for the attempt alone.
	view := &scope{outer: outer}
	view.seen(x).Least = nil
	if v := view.value("x"); v == x || v.Least != nil || x.Least == nil {
		t.Errorf("a tensor is seen as %+v", v)
	}
	view.keep()
	if x.Least == nil {
		t.Error("a view was kept")
	}
	if a, b := outer.value(""), outer.value(""); a == b || a.Given() {
		t.Error("tensors without a name are one")
	}
}
