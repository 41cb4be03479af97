package agreement

import (
	"testing"

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
