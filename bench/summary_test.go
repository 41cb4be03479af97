package bench

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ExampleSummarize() {
	s, err := Summarize([]Pair{{110, 100}, {95, 100}, {200, 100}, {30, 40}})
	fmt.Println(s, err)
	// Output: n 4, median 17.5%, bias +2.5%, p90 77.5%, within 17%: 50% <nil>
}

func TestSummarize(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pairs []Pair
		want  Summary
	}{
		{"none", nil, Summary{}},
		{"one", []Pair{{3, 2}}, Summary{1, 0.5, 0.5, 0.5, 0}},
		{"two", []Pair{{1, 1}, {1, 2}}, Summary{2, 0.25, -0.25, 0.45, 0.5}},
		{"three", []Pair{{2, 1}, {1, 1}, {3, 2}}, Summary{3, 0.5, 0.5, 0.9, 1. / 3}},
		{"the edge counts", []Pair{{117, 100}, {83, 100}}, Summary{2, 0.17, 0, 0.17, 1}},
		{"nothing modelled", []Pair{{0, 5}}, Summary{1, 1, -1, 1, 0}},
		{"eleven", ramp(10), Summary{11, 0.5, 0.5, 0.9, 2. / 11}},
	} {
		got, err := Summarize(tt.pairs)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if d := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// ramp returns n+1 pairs with the relative errors 0, 1/n, 2/n, ..., 1.
func ramp(n int) (pairs []Pair) {
	for i := range n + 1 {
		pairs = append(pairs, Pair{1 + float64(i)/float64(n), 1})
	}
	return pairs
}

func TestPairsWithoutAnError(t *testing.T) {
	for _, bad := range []Pair{{1, 0}, {1, -1}, {math.NaN(), 1}, {math.Inf(1), 1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		var e *PairError
		if _, err := Summarize([]Pair{{1, 1}, bad}); !errors.As(err, &e) || e.Index != 1 {
			t.Errorf("%v: %v, want a *PairError of pair 1", bad, err)
		}
	}
}
