package engine

import (
	"testing"

	"anesim/loader"
)

func TestDense(t *testing.T) {
	const n, c, h, w = 2, 3, 4, 32
	p := &loader.Port{Name: "x", Shape: [4]int{n, c, h, w}, Strides: [4]uint64{2 * c * h * w, 2 * h * w, 2 * w, 2}}
	if !hasDenseElements(p) {
		t.Errorf("%v at %v is not dense", p.Shape, p.Strides)
	}
	for i := range p.Strides {
		q := clonePort(p)
		q.Strides[i] *= 2
		if hasDenseElements(q) {
			t.Errorf("%v at %v is dense", q.Shape, q.Strides)
		}
		q.Shape[i] = 1 // one element has no stride
		for k := range i {
			q.Strides[k] = p.Strides[k] / uint64(p.Shape[i])
		}
		if !hasDenseElements(q) {
			t.Errorf("%v at %v is not dense", q.Shape, q.Strides)
		}
	}
}
