package bench

import (
	"maps"
	"math"
	"slices"

	"anesim/bench/measured"
	"anesim/hw"
)

// A Group is a summary of the rows that have something in common.
type Group struct {
	Name string
	Summary
}

// An Accuracy is the model beside measured rows.
type Accuracy struct {
	Rows       []Residual // those that are modelled, in order
	Unmodelled []error    // the others: an *UnmodelledError, or one of the lowering

	Tiers, Ops []Group // of latencies; tiers end with T0+T1 and all
	Sessions   []Group // of latencies, by the host preset of the machine and its software
	Energy     []Group // of energies, by operation; the last two are the main ones and all
	// Roofline, Columns and Vendor are baselines on the same latencies: the larger of
	// arithmetic and bytes at their peak rates, the columns of the vendor's cost dump, and
	// the vendor compiler's estimate.
	Roofline, Columns, Vendor []Group
}

// Compare holds the model against rows, with presets.
func Compare(rows []measured.Row, p Presets) (*Accuracy, error) {
	samples, unmodelled := Samples(rows)
	a := &Accuracy{Unmodelled: unmodelled}
	for i := range samples {
		a.Rows = append(a.Rows, p.residual(&samples[i]))
	}
	return a, a.summarize(&p)
}

func (a *Accuracy) summarize(p *Presets) error {
	tiers, ops, energy := make(groups), make(groups), make(groups)
	roof, columns, vendor, sessions := make(groups), make(groups), make(groups), make(groups)
	for i := range a.Rows {
		r := &a.Rows[i]
		row := r.Sample.Row
		if r.Time.Reference > 0 {
			names := tierNames(row.Tier)
			tiers.add(r.Time, names...)
			ops.add(r.Time, row.Op)
			sessions.add(r.Time, r.Sample.Host)
			chip := p.Chips[r.Sample.Chip]
			roof.add(Pair{r.Sample.roofline(&chip), r.Time.Reference}, names...)
			e := p.Estimate(r.Sample)
			vendor.add(Pair{float64(e.Vendor), r.Time.Reference}, names...)
			columns.add(Pair{float64(e.Columns), r.Time.Reference}, names...)
		}
		if r.Energy.Reference > 0 {
			energy.add(r.Energy, row.Op, "all")
			if mainEnergy(row.Op) {
				energy.add(r.Energy, "matmul+conv+decode")
			}
		}
	}
	for _, x := range []struct {
		to   *[]Group
		from groups
		last []string
	}{
		{&a.Tiers, tiers, []string{"T0+T1", "all"}}, {&a.Ops, ops, nil},
		{&a.Energy, energy, []string{"matmul+conv+decode", "all"}},
		{&a.Sessions, sessions, nil},
		{&a.Roofline, roof, []string{"T0+T1", "all"}}, {&a.Columns, columns, []string{"T0+T1", "all"}}, {&a.Vendor, vendor, []string{"T0+T1", "all"}},
	} {
		var err error
		if *x.to, err = x.from.summaries(x.last); err != nil {
			return err
		}
	}
	return nil
}

// tierNames are the groups of a row's tier. Rows without a full shape count in no other.
func tierNames(tier string) []string {
	switch tier {
	case "T0", "T1":
		return []string{tier, "T0+T1", "all"}
	case "T3":
		return []string{tier}
	case "":
		return []string{"all"}
	}
	return []string{tier, "all"}
}

// mainEnergy reports whether an operation is of those whose energy the model is held to.
func mainEnergy(op string) bool { return op == "matmul" || op == "conv" || op == "decode_model" }

// groups are pairs by name.
type groups map[string][]Pair

func (g groups) add(p Pair, names ...string) {
	for _, n := range names {
		g[n] = append(g[n], p)
	}
}

// summaries are the groups' in the order of their names, some of them last.
func (g groups) summaries(last []string) ([]Group, error) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(g)), func(n string) bool { return slices.Contains(last, n) })
	var out []Group
	for _, n := range append(names, last...) {
		s, err := Summarize(g[n])
		if err != nil {
			return nil, err
		}
		if s.N > 0 {
			out = append(out, Group{n, s})
		}
	}
	return out, nil
}

// roofline is the naive estimate in nanoseconds: every multiply-accumulate at the peak
// rate or every input, weight and output once at the memory's, whichever is longer.
func (s *Sample) roofline(c *hw.Chip) float64 {
	const lanes = 16 * 256
	r := s.Row
	var weights float64
	switch {
	case r.Op == "decode_model" || r.Op == "lm_head":
		for n, t := range descriptors(s.Chain.Steps) {
			weights += float64(float64(n) * float64(t.Groups.KernelBytes()))
		}
	case r.Cout > 0:
		weights = 2 * float64(max(1, r.Depth)) * float64(r.Cout) * float64(r.Cin) * float64(r.Kh*r.Kw)
	case r.Cols > 0 && r.N == 0:
		weights = 2 * float64(max(1, r.Depth)) * float64(r.K) * float64(r.Cols)
	}
	bytes := weights + float64(s.Chain.Host.In+s.Chain.Host.Out)
	macs := 0.0
	timer := hw.NewTimer(*c)
	var d hw.DescriptorReport
	for n, t := range descriptors(s.Chain.Steps) {
		timer.Time(&d, t)
		macs += float64(float64(n) * float64(d.MACs))
	}
	return 1e9 * math.Max(macs/(lanes*c.Clock.Value), bytes/c.ReadRate.Value)
}
