package paper

import (
	"slices"
	"testing"
)

// Every claim has its verdict; those that differ are known, and where one closes or opens
// this list says so.
func TestPaper(t *testing.T) {
	d, err := Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var differ []string
	computed := 0
	for _, r := range d.Rows {
		if r.Claim == "" || r.Area == "" || r.Basis == "" {
			t.Errorf("%+v", r)
		}
		if r.Basis == "computed" {
			computed++
		}
		if r.Basis == "data" && r.Verdict == "agrees" {
			t.Errorf("%s: data that agrees with itself shows nothing", r.Claim)
		}
		if r.Verdict != "agrees" {
			differ = append(differ, r.Claim)
		}
	}
	want := []string{
		// The floors fitted to two sessions lie on both sides of the documents' 190 us.
		"a call of a small graph, 2000 calls", "share of the call that is overhead",
		"a call of a small graph, 2000 calls", "share of the call that is overhead",
		// The documents' stages do not sum to their own totals.
		"sum of the stages", "SendRequest, entry to return",
		// A table that is off by 8 in all its rows, and a field that another has in its place.
		"image offset of G0", "image offset of G1", "image offset of G2", "image offset of G3",
		"image offset of G4", "image offset of G5", "image offset of G6", "place of InFmt in G1",
		// Enumerations of which the documents show fewer values than they count.
		"values of NeuronToken", "values of CatalogueType",
	}
	if !slices.Equal(differ, want) {
		t.Errorf("these differ: %q", differ)
	}
	if len(d.Rows) < 105 || computed < 95 || len(d.Conflicts) == 0 {
		t.Errorf("%d rows, %d computed, %d conflicts; want at least 105, 95 and 1", len(d.Rows), computed, len(d.Conflicts))
	}
}
