package view

import (
	"slices"
	"testing"

	"anesim/bench/report"
)

func TestLongest(t *testing.T) {
	r := &Report{Items: make([]Item, 4)}
	for i, n := range []uint64{5, 9, 5, 7} {
		r.Items[i].Cycles.Total = n
	}
	if got := r.Longest(3); !slices.Equal(got, []int{1, 3, 0}) {
		t.Errorf("the longest are %v", got)
	}
	if got := r.Longest(9); len(got) != 4 {
		t.Errorf("%d of 4 items", len(got))
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 999_499: "999.5 kB", 104_700_000: "104.7 MB"} {
		if got := Size(n); got != want {
			t.Errorf("%d bytes are %s, want %s", n, got, want)
		}
	}
}

// A point that was refused is a row without numbers, and short rows are no panic.
func TestSweepRows(t *testing.T) {
	s := &Sweep{Columns: []string{"point", "cin", "cycles", "time_ns", "bound", "error"}, Rows: [][]string{{"0", "16", "100", "70.5", "compute", ""}, {"1", "17", "", "", "", "refused"}, {"2"}}}
	r := OfSweep(s, report.Rates{})
	if len(r.Items) != 3 || r.Items[0].Cycles.Total != 100 || r.Items[0].Time != 70.5 || r.Items[1].Time != 0 {
		t.Errorf("items %+v", r.Items)
	}
	for i, want := range []bool{true, true, true, true, false, false} {
		if r.Table.Columns[i].Number != want {
			t.Errorf("column %s is a number: %v", r.Table.Columns[i].Title, !want)
		}
	}
	if got := r.Facts[0].Note; got != "1 refused or with a fault" {
		t.Error(got)
	}
}
