package view

import (
	"slices"
	"testing"

	"anesim/hw/clock"
	"anesim/internal/explain"
	"anesim/internal/report"
)

func TestOutcomes(t *testing.T) {
	for want, n := range map[string]explain.Tried{
		"0 help, 0 do not":    {},
		"1 helps, 1 does not": {Faster: 1, NotFaster: 1},
		"2 help, 3 do not, 1 gives other results, 4 cannot run": {Faster: 2, NotFaster: 3, OtherResults: 1, Failed: 4},
	} {
		if got := Outcomes(&n); got != want {
			t.Errorf("%+v: %q, want %q", n, got, want)
		}
	}
}

func TestFormatRate(t *testing.T) {
	for v, want := range map[float64]string{0.01234: "0.0123", 999.4: "999", 999.6: "1,000", 40912.3: "40,912"} {
		if got := FormatRate(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

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

// Layers that do the same and are bound by the same cause are one kind.
func TestKinds(t *testing.T) {
	item := func(work, bound string, compute, input uint64) Item {
		x := Item{Work: work, Bound: bound}
		x.Cycles.Total, x.Cycles.Compute, x.Cycles.InputStall = compute+input, clock.Cycles(compute), clock.Cycles(input)
		return x
	}
	r := &Report{Items: []Item{
		item("conv", "compute", 60, 10), item("pool", "input_stall", 20, 80), item("conv", "compute", 60, 20), item("conv", "input_stall", 1, 2), {Work: "conv"},
	}}
	got := r.Kinds()
	want := []Kind{{0, 2, 150, 120, 0}, {1, 1, 100, 80, 0}, {3, 1, 3, 2, 0}}
	if !slices.Equal(got, want) {
		t.Errorf("kinds %v, want %v", got, want)
	}
}

// A point that was refused is a row without numbers, and short rows are no panic.
func TestSweepRows(t *testing.T) {
	s := &Sweep{Columns: []string{"point", "cin", "cycles", "time_ns", "bound", "error"}, Rows: [][]string{{"0", "16", "100", "70.5", "compute", ""}, {"1", "17", "", "", "", "refused"}, {"2"}}}
	r := FromSweep(s, report.Rates{})
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

// A page has the columns of the reports' tables that have a title for it, in their order. The
// groups of descriptors that are not listed are rows without an interval.
func TestDescriptorTable(t *testing.T) {
	d := report.Descriptor{Index: 3, Op: "conv", Bound: "overhead", Engines: 16, TimeNs: 2500, TimeLowNs: 2000, TimeHighNs: 3000}
	d.Cycles.Total = 30
	g := report.Group{Op: "copy", Descriptors: 7, TimeNs: 1000}
	g.Cycles.Total, g.Cycles.Compute = 70, 70
	x := newDescriptorTable([]report.Descriptor{d}, &report.Rest{Groups: []report.Group{g}}, 100)
	var titles []string
	for _, c := range x.Columns {
		titles = append(titles, c.Title)
	}
	want := []string{"#", "op", "in", "out", "window", "engines", "cycles", "share", "bound by", "moved", "GB/s", "time", "energy", "low", "high", "TFLOP/s"}
	if !slices.Equal(titles, want) {
		t.Fatalf("columns %q, want %q", titles, want)
	}
	for column, want := range map[string][2]Cell{
		"#":        {{"3", 3}, {"7 more", 1}},
		"in":       {{"0x0x0", 0}, {"various", 0}},
		"engines":  {{"16", 16}, {"-", 0}},
		"cycles":   {{"30", 30}, {"70", 70}},
		"share":    {{"30.0%", 30}, {"70.0%", 70}},
		"bound by": {{"overhead", 0}, {"compute", 0}},
		"time":     {{"2.50 us", 2500}, {"1.00 us", 1000}},
		"low":      {{"2.00 us", 2000}, {"-", 0}},
	} {
		k := slices.Index(titles, column)
		if got := [2]Cell{x.Rows[0][k], x.Rows[1][k]}; got != want {
			t.Errorf("%s: got %v, want %v", column, got, want)
		}
	}
}

// Layers that are not modelled have no costs.
func TestLayerTable(t *testing.T) {
	x := newTable(report.LayerColumns, []report.Layer{{Name: "a", Op: "conv", Modelled: true}, {Name: "b", Op: "sort"}}, 10)
	for i, c := range x.Columns {
		if c.Title == "time" && (!c.Number || x.Rows[1][i].Text != "-" || x.Rows[0][i].Text == "-") {
			t.Errorf("time: %+v, %v and %v", c, x.Rows[0][i], x.Rows[1][i])
		}
	}
}
