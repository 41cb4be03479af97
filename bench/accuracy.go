package bench

import (
	"maps"
	"slices"

	"anesim/internal/measured"
)

// A Group summarizes the errors of the measured rows that share a property, such as the tier or the
// operation. Name is the value of the property.
type Group struct {
	Name string
	Summary
}

// An Accuracy compares the model's times and energies with measured rows, one by one and in groups.
type Accuracy struct {
	Rows       []Residual // modelled rows in order
	Unmodelled []error    // one error for each other row: an *UnmodelledError, or a lowering error

	Tiers, Ops []Group // latencies by tier and operation; tiers end with T0+T1 and all
	Sessions   []Group // latencies by session
	Sizes      []Group // latencies by the measured length of the call, shortest first
	Energy     []Group // energies by operation; the last two groups are the main operations and all
	// States summarizes rows whose source gives both the shortest call and the mean of calls
	// in a loop. Cold rows, whose shortest call took longer than that mean, and warm rows are
	// each compared with both times. The group "all, at speed" compares every row with the
	// lesser of its two times.
	States []Group
	// Roofline, Columns and Vendor summarize the errors of three simpler estimates of the same
	// latencies: the longer of the arithmetic and the transfers at peak rates, the columns of
	// the vendor's cost dump, and Apple's own estimate.
	Roofline, Columns, Vendor []Group
}

// Compare estimates the time and energy of each measured row with the constants in p, and returns
// the errors of these estimates. Rows that cannot be modelled are listed in Accuracy.Unmodelled. If
// a relative error cannot be computed, Compare returns a *[PairError].
func Compare(rows []measured.Row, p Presets) (*Accuracy, error) {
	samples, unmodelled := samples(rows)
	a := &Accuracy{Unmodelled: unmodelled}
	for i := range samples {
		a.Rows = append(a.Rows, p.newResidual(&samples[i]))
	}
	return a, a.summarize(&p)
}

func (a *Accuracy) summarize(p *Presets) error {
	tiers, ops, energy, states := make(groups), make(groups), make(groups), make(groups)
	roof, columns, vendor, sessions, sizes := make(groups), make(groups), make(groups), make(groups), make(groups)
	for i := range a.Rows {
		r := &a.Rows[i]
		row := r.Sample.Row
		if r.Time.Reference > 0 {
			names := listTierGroups(row.Tier)
			tiers.addPair(r.Time, names...)
			ops.addPair(r.Time, row.Op)
			sessions.addPair(r.Time, r.Sample.Session)
			sizes.addPair(r.Time, sizeClass(row))
			states.addToStateGroups(r)
			// A roofline and the columns of a table stand for models that are simpler than this one. They
			// are compared with the same rows.
			chip := p.chipOf(r.Sample)
			roof.addPair(Pair{r.Sample.rooflineTime(&chip), r.Time.Reference}, names...)
			e := p.estimate(r.Sample)
			vendor.addPair(Pair{float64(e.Vendor), r.Time.Reference}, names...)
			columns.addPair(Pair{float64(e.Columns), r.Time.Reference}, names...)
		}
		if r.Energy.Reference > 0 {
			energy.addPair(r.Energy, row.Op, "all")
			if isMainEnergyOperation(row.Op) {
				energy.addPair(r.Energy, "matmul+conv+decode")
			}
		}
	}
	for _, x := range []struct {
		to   *[]Group
		from groups
		last []string
	}{
		{&a.Tiers, tiers, tierOrder}, {&a.Ops, ops, nil},
		{&a.Energy, energy, []string{"matmul+conv+decode", "all"}},
		{&a.Sessions, sessions, nil},
		{&a.Sizes, sizes, sizeClasses[:]},
		{&a.States, states, nil},
		{&a.Roofline, roof, tierOrder}, {&a.Columns, columns, tierOrder}, {&a.Vendor, vendor, tierOrder},
	} {
		var err error
		if *x.to, err = x.from.summarize(x.last); err != nil {
			return err
		}
	}
	return nil
}

// addToStateGroups adds the time of row r to the groups that compare cold rows with warm rows, and
// to the groups that compare the shortest call with the mean of calls in a loop.
func (g groups) addToStateGroups(r *Residual) {
	row := r.Sample.Row
	speed := Pair{r.Time.Model, row.Warm() * 1e3}
	if row.Tier != "T3" {
		g.addPair(speed, "all, at speed")
		if isEngineTier(row.Tier) {
			g.addPair(speed, "T0+T1, at speed")
		}
	}
	switch {
	case row.Cold():
		g.addPair(r.Time, "cold, least call")
		g.addPair(speed, "cold, sustained")
	case row.Sustained > 0:
		g.addPair(r.Time, "warm, least call")
		g.addPair(Pair{r.Time.Model, row.Sustained * 1e3}, "warm, sustained")
	}
}

// sizeClasses are the classes of calls by their measured length, shortest first.
var sizeClasses = [...]string{"below 500 us", "500 us to 2 ms", "2 to 10 ms", "10 ms or longer"}

// sizeClass returns the class of row r in [sizeClasses].
func sizeClass(r *measured.Row) string { return lengthClass(r.Latency) }

// lengthClass returns the class of a call of us microseconds in [sizeClasses].
func lengthClass(us float64) string {
	for i, ms := range [...]float64{0.5, 2, 10} {
		if us < 1e3*ms {
			return sizeClasses[i]
		}
	}
	return sizeClasses[len(sizeClasses)-1]
}

// listTierGroups returns the names of the groups to which a row of the given tier belongs. A row of
// tier T3, whose shape was not fully published, belongs only to the group of its tier.
func listTierGroups(tier string) []string {
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

// isEngineTier reports whether the given tier is T0 or T1, whose rows spend most or some of their
// time on the engine.
func isEngineTier(tier string) bool { return tier == "T0" || tier == "T1" }

// isMainEnergyOperation reports whether op is one of the operations whose energies are summarized
// together: matmuls, convolutions and decoding.
func isMainEnergyOperation(op string) bool {
	return op == "matmul" || op == "conv" || op == "decode_model"
}

// A groups holds the estimates and measurements of rows by the name of their group.
type groups map[string][]Pair

// addPair adds a pair to each of the named groups.
func (g groups) addPair(p Pair, names ...string) {
	for _, n := range names {
		g[n] = append(g[n], p)
	}
}

// summarize returns the summary of each group, sorted by name, with the groups named in last moved
// to the end.
func (g groups) summarize(last []string) ([]Group, error) {
	var out []Group
	for _, n := range sortNames(slices.Collect(maps.Keys(g)), last) {
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

// sortNames sorts names and returns them with the elements of last moved to the end, in the order
// of last.
func sortNames(names, last []string) []string {
	slices.Sort(names)
	first := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(last, n) })
	for _, n := range last {
		if slices.Contains(names, n) {
			first = append(first, n)
		}
	}
	return first
}

// tierOrder lists the groups of tiers that reports show after all others.
var tierOrder = []string{"T0+T1", "all"}

// A Residual pairs the measured time and energy of a row with the model's estimates.
type Residual struct {
	Sample *Sample
	Time   Pair    // nanoseconds; the reference is 0 if no latency was published
	Engine float64 // engine's part of the model's time in nanoseconds
	Energy Pair    // nanojoules; the reference is 0 if no energy was published
}

func (p *Presets) newResidual(s *Sample) Residual {
	e := p.estimate(s)
	return Residual{
		Sample: s,
		Time:   Pair{float64(e.wall()), s.Row.Latency * 1e3},
		Engine: float64(e.Engine),
		Energy: Pair{float64(e.Energy), s.Row.Energy * 1e6},
	}
}
