package bench

import (
	"testing"

	"anesim/internal/measured"
)

// checkShares fails if the intervals of a cut do not hold their share of its rows.
func checkShares(t *testing.T, what string, list []Coverage) {
	t.Helper()
	if len(list) < 8 {
		t.Errorf("%s: %d cuts", what, len(list))
	}
	for _, c := range list {
		t.Logf("%s, %s %s: %d of %d", what, c.Property, c.Name, c.Holds, c.N)
		if !c.holdsShare() {
			t.Errorf("%s: the intervals hold %d of %d rows of %s %s; want 75 to 88 %% of 20 or more, and no number that chance makes less likely than 5 %%", what, c.Holds, c.N, c.Property, c.Name)
		}
	}
}

// The intervals hold four of five rows in every cut: by session, machine, kind of work and length of the call.
func TestIntervalsHoldTheirShareInEveryCut(t *testing.T) {
	a, err := Compare(publishedRows(t), DefaultPresets())
	if err != nil {
		t.Fatal(err)
	}
	left, err := LeftOuts()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSpreads()
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range Protocols() {
		x, err := a.LeftOut(left, by)
		if err != nil {
			t.Fatal(err)
		}
		checkShares(t, by.String()+" left out", s.Coverage(x, by))
	}
}

// The intervals of the engine's time hold their share in every cut too, each kind by session, operation and kind of
// work. Those of work without rows do when the fit has not seen the kind of a row, nor the bounds its
// operation.
func TestEngineIntervalsHoldTheirShareInEveryCut(t *testing.T) {
	bands, err := EngineBands()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bands {
		checkShares(t, "engine, "+b.Kind, b.cuts)
		if all := b.cuts[0]; all.N != b.Rows || all.N != b.Holds.N || all.Holds != b.Holds.Holds {
			t.Errorf("%s: %d rows, of which the cuts have %d of %d inside and the band %d of %d", b.Kind, b.Rows, all.Holds, all.N, b.Holds.Holds, b.Holds.N)
		}
	}
	if last := bands[len(bands)-1]; last.Kind != Unmeasured || last.Rows < leastInCut {
		t.Errorf("the last band is of %s, with %d rows", last.Kind, last.Rows)
	}
}

// The widths of intervals are fitted to the rows that they must hold. Widths that have not seen the session of a row
// hold nearly as many rows, though not four of five of each session.
func TestIntervalsOfUnseenWidths(t *testing.T) {
	s, err := NewSpreads()
	if err != nil {
		t.Fatal(err)
	}
	c := s.UnseenWidths()
	t.Logf("%d of %d", c.Holds, c.N)
	if c.N != 107 || c.Share() < 0.7 {
		t.Errorf("with widths that had not seen their session, the intervals hold %d of %d rows", c.Holds, c.N)
	}
}

// A norm has an interval of its own, several times as wide as that of other layers of its length.
func TestNormsHaveWiderIntervals(t *testing.T) {
	s, err := NewSpreads()
	if err != nil {
		t.Fatal(err)
	}
	of := func(op string) Interval {
		return s.Of(&measured.Row{Op: op, Chip: "M1", Machine: "MacBookAir10,1", Shape: measured.Shape{M: 197, K: 768}}, 300e3, ByShape)
	}
	norm, relu := of("rms_norm"), of("relu")
	if w := (norm.High - norm.Low) / (relu.High - relu.Low); w < 2 {
		t.Errorf("rms_norm %+v, relu %+v", norm, relu)
	}
}

// A count is a plausible share of four in five if chance makes as many, or as few, in one of forty or more.
func TestPlausibleShares(t *testing.T) {
	for _, x := range []struct {
		holds, n int
		want     bool
	}{{0, 0, true}, {0, 1, true}, {0, 2, true}, {0, 3, false}, {1, 3, true}, {4, 4, true}, {2, 5, true}, {1, 5, false}, {16, 16, true}, {17, 17, false}, {9, 15, true}, {8, 15, false}} {
		c := Coverage{Holds: x.holds, N: x.n}
		if c.isPlausible() != x.want {
			t.Errorf("%d of %d: %v", x.holds, x.n, !x.want)
		}
	}
}
