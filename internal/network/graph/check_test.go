package graph

import (
	"errors"
	"testing"
)

func TestCheck(t *testing.T) {
	x, a, b := &Value{Name: "x", Dims: []int{}}, &Value{Name: "a"}, &Value{Name: "b"}
	first := &Node{Name: "first", In: []*Value{x, {}}, Out: []*Value{a}}
	second := &Node{Name: "second", In: []*Value{a, x}, Out: []*Value{b}}
	if err := Check([]*Node{first, second}); err != nil {
		t.Errorf("nodes in order: %v", err)
	}
	var e *OrderError
	if err := Check([]*Node{second, first}); !errors.As(err, &e) || e.Node != "second" || e.Tensor != "a" {
		t.Errorf("nodes out of order: %v", err)
	}
	a.Why = "its shape is not known" // of a node outside of these
	if err := Check([]*Node{second}); err != nil {
		t.Errorf("a tensor from outside: %v", err)
	}
}
