package choose

import (
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/network/graph"
)

// TestDilateWeights checks where the taps of a dilated window are, and that all other weights are
// zero.
func TestDilateWeights(t *testing.T) {
	k := convWeights{cout: 1, cin: 1, kh: 2, kw: 3, v: []float16.Float16{1, 2, 3, 4, 5, 6}}
	n := &Chooser{Shared: NewShared(&graph.Budget{Bytes: 1 << 10}, 0)}
	s, err := k.withDilation(n, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []float16.Float16{
		1, 0, 0, 2, 0, 0, 3,
		0, 0, 0, 0, 0, 0, 0,
		4, 0, 0, 5, 0, 0, 6,
	}
	if s.kh != 3 || s.kw != 7 || !slices.Equal(s.v, want) {
		t.Errorf("%dx%d: %v, want %v", s.kh, s.kw, s.v, want)
	}
	if same, err := k.withDilation(n, 1, 1); err != nil || same.kh != 2 || same.kw != 3 || !slices.Equal(same.v, k.v) {
		t.Errorf("%+v", same)
	}
	for _, tc := range []struct{ kh, kw, dy, dx, dilation int }{{2, 3, 2, 2, 2}, {1, 3, 1, 2, 2}, {3, 1, 3, 1, 3}, {2, 3, 2, 3, 0}, {2, 3, 1, 1, 0}} {
		k := convWeights{cout: 1, cin: 1, kh: tc.kh, kw: tc.kw}
		if s, err := k.withDilation(n, tc.dy, tc.dx); err != nil || s.kh != (tc.kh-1)*tc.dy+1 || s.kw != (tc.kw-1)*tc.dx+1 || s.dilation != tc.dilation {
			t.Errorf("%+v without values: %+v, %v", tc, s, err)
		}
	}
}
