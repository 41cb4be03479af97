package check

import (
	"slices"
	"testing"
)

// The summary of a verdict says which totals got worse, by how much, and where.
func TestSummary(t *testing.T) {
	slower := []Difference{
		{Where: "total", What: MeasuredTime, Unit: "ns", Want: 344_342, Got: 365_991},
		{Where: "total", What: MeasuredBytes, Unit: "B", Want: 2e6, Got: 1e6},
		{Where: "total", What: "dispatch energy", Unit: "nJ", Want: 0, Got: 5},
		{Where: "layer q", What: MeasuredTime, Unit: "ns", Want: 1000, Got: 1010},
		{Where: "layer up", What: MeasuredTime, Unit: "ns", Want: 2000, Got: 3000},
	}
	for _, x := range []struct {
		v    Verdict
		want string
	}{
		{Verdict{Differences: slower}, "engine time 344.342 us -> 365.991 us (+6.29%), dispatch energy 0.0 nJ -> 5.0 nJ; most of it in layer up: engine time 2.000 us -> 3.000 us (+50.00%)"},
		{Verdict{Differences: slower[1:2]}, "no total got worse, but total: bytes moved 2.00 MB -> 1.00 MB (-50.00%)"},
		{Verdict{Differences: []Difference{{Where: "output y", What: "checksum: want 1, got 2", Appeared: true}}}, "no total got worse, but output y: checksum: want 1, got 2"},
		{Verdict{Unknown: true}, "missing from the baseline"},
	} {
		if got := x.v.Summary(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

// Places are the total and then the parts by the time that they lost; the descriptors of a
// network's layers are left out, and each reason is there once.
func TestPlaces(t *testing.T) {
	v := Verdict{Differences: []Difference{
		{Where: "layer a", What: MeasuredTime, Want: 1, Got: 2, Why: []string{"x", "y"}},
		{Where: "layer b", What: MeasuredTime, Want: 1, Got: 9},
		{Where: "layer a", What: "cycles", Want: 1, Got: 2, Why: []string{"y", "z"}},
		{Where: "descriptor 0 (conv)", What: "cycles", Want: 1, Got: 2},
		{Where: "total", What: "cycles", Want: 1, Got: 2},
	}}
	var where []string
	places := v.Places()
	for _, p := range places {
		where = append(where, p.Where)
	}
	if !slices.Equal(where, []string{"total", "layer b", "layer a"}) {
		t.Fatalf("places %q", where)
	}
	if a := places[2]; len(a.Differences) != 2 || !slices.Equal(a.Why, []string{"x", "y", "z"}) {
		t.Errorf("place %+v", a)
	}
}
