package agreement

import (
	"math"
	"slices"
	"testing"

	"anesim/bench/internal/exporters"
	"anesim/bench/randomgraph"
)

// TestToleranceOfFusedFunctions compares a graph in which a product ends in a sigmoid, FusedGemm, before
// a Gather. The table of the sigmoid may be 0.0034 off on silicon, and is 0.00297 off at one element. The
// tolerance once counted the errors of functions that are nodes of their own alone.
func TestToleranceOfFusedFunctions(t *testing.T) {
	g := randomgraph.New(7700007443, randomgraph.Options{})
	if what := diffDefinition(g); what != "" {
		t.Error(what)
	}
}

// TestToleranceBehindInfiniteMasks compares an attention whose mask has minus infinity, behind which
// follow a swish and a gelu. The vendor's table of the swish is 0.0148 off at 0.31 (0.0152 at most), and the
// result 0.0074. The noise that stands for such errors once turned the mask into NaN, even where its share
// was zero, and what is NaN said nothing about the error of the result: the tolerance was 0.0020.
func TestToleranceBehindInfiniteMasks(t *testing.T) {
	g, _, err := exporters.New(590004740)
	if err != nil {
		t.Fatal(err)
	}
	n, err := Read(g.Encode(), graphInputs(g))
	if err != nil {
		t.Fatal(err)
	}
	for _, noisy := range n.Tabled {
		for name, r := range noisy {
			for i, v := range r.Data {
				if math.IsNaN(v) {
					t.Fatalf("%s: element %d is NaN with the errors of tables; want a number", name, i)
				}
			}
		}
	}
	if what := diffDefinition(g); what != "" {
		t.Error(what)
	}
}

// TestPartialSumsBeyondLimit compares a matmul of numbers of some thousands, of both signs, with an
// exponential. One sum is 25,736 at the output, but part of it passes 32,768: it is infinite on the engine.
func TestPartialSumsBeyondLimit(t *testing.T) {
	g := randomgraph.New(611291662, randomgraph.Options{})
	if what := diffDefinition(g); what != "" {
		t.Error(what)
	}
	inf := math.Inf(1)
	for _, c := range []struct{ terms, want []float64 }{
		{[]float64{20000, 20000, -30000}, []float64{inf}},
		{[]float64{-20000, -20000, 30000}, []float64{-inf}},
		{[]float64{20000, -30000, 20000}, []float64{10000}}, // the same terms, but no part is too large
	} {
		sum := []float64{0}
		addLimited(sum, c.terms, []float64{1, 1, 1})
		if !slices.Equal(sum, c.want) {
			t.Errorf("the sum of %v is %v; want %v", c.terms, sum, c.want)
		}
	}
}
