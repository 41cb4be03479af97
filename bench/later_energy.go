package bench

import "anesim/hw"

// A laterEnergy pairs the published energy of a call on a machine after the M1, in millijoules, with an estimate
// by constants that were fitted without the machine. Low and High bound the published energy, as factors of the
// estimate.
type laterEnergy struct {
	*LaterResidual
	Energy    Pair
	Low, High float64
}

// An energyFit holds the energy of a multiply-accumulate and of a byte moved, in pJ, and the power
// of the supply in W from the start of a call to its end or the end of the hold time.
type energyFit [3]float64

// energyTerms returns the factors of the constants of an energyFit in the energy of the call in mJ. The supply is
// on until hold nanoseconds after the engine's work.
func (r *LaterResidual) energyTerms(hold float64) energyFit {
	wait := r.NewMachine.Model - float64(r.Engine)
	return energyFit{float64(r.macs) / 1e9, float64(r.bytes) / 1e9, (float64(r.Engine) + min(hold, wait)) / 1e6}
}

// hasEnergy reports whether the energy of r is judged. Norms draw up to 10 times as much as estimated, here and on
// the M1; their programs are not known. 8-bit activations take other multipliers.
func (r *LaterResidual) hasEnergy() bool {
	return r.Row.Energy > 0 && r.Row.Activations == "" && !isNorm(r.Row)
}

// fitEnergies returns the constants that minimize the sum of the relative errors of the energies on all machines but
// one. All machines count the same. Each constant in turn becomes the weighted median of the rest.
//
// One set of constants serves all machines: eight have 5 to 16 rows, with different hosts, and factors of their own
// leave the errors of rows that a factor has not seen as they are (24 % with and without).
func fitEnergies(list []LaterResidual, except string) energyFit {
	hold := hw.M1().HoldTime.Value // which scaled chips have
	counts := make(map[string]float64)
	var rows []*LaterResidual
	var terms []energyFit
	for i := range list {
		if x := &list[i]; x.hasEnergy() && x.Machine != except {
			counts[x.Machine]++
			rows, terms = append(rows, x), append(terms, x.energyTerms(hold))
		}
	}
	c := energyFit{1, 10, 0.5} // from 0, the first constant would take all
	for range 40 {
		for k := range c {
			var rests []weighted
			for i, x := range rows {
				t := terms[i]
				if t[k] == 0 {
					continue
				}
				own := c
				own[k] = 0
				rests = append(rests, weighted{(x.Row.Energy - own.estimate(t)) / t[k], t[k] / x.Row.Energy / counts[x.Machine]})
			}
			c[k] = max(0, weightedMedian(rests))
		}
	}
	return c
}

// estimate returns the energy of a call with the given terms.
func (c energyFit) estimate(t energyFit) (e float64) {
	for k := range c {
		e += float64(c[k] * t[k])
	}
	return e
}

// JudgeLaterEnergies compares the published energies of list, which is that of [CompareLater], with estimates
// that have not seen their machine. It returns the errors of each machine and, last, those of all machines,
// and counts the rows inside their intervals by machine, kind of work and length.
func JudgeLaterEnergies(list []LaterResidual) ([]LaterSummary, []Coverage, error) {
	energies := boundEnergies(list)
	var judged []judgedCall
	for i := range energies {
		x := &energies[i]
		judged = append(judged, judgedCall{x.Machine, x.Energy, x.holds()})
	}
	summaries, err := summarizeMachines(judged)
	return summaries, energyCoverage(energies), err
}

// boundEnergies estimates the published energies of list. Their bounds are fitted to the errors so that they
// hold their share on each machine, for each kind of work and each length.
func boundEnergies(list []LaterResidual) []laterEnergy {
	energies, s := compareEnergies(list)
	for i := range energies {
		x := &energies[i]
		x.Low, x.High = s.bounds(x.Machine)
	}
	return energies
}

func compareEnergies(list []LaterResidual) (energies []laterEnergy, s *spread) {
	hold := hw.M1().HoldTime.Value
	fits := make(map[string]energyFit)
	var rows []deviation
	for i := range list {
		x := &list[i]
		if !x.hasEnergy() {
			continue
		}
		c, ok := fits[x.Machine]
		if !ok {
			c = fitEnergies(list, x.Machine)
			fits[x.Machine] = c
		}
		e := laterEnergy{LaterResidual: x, Energy: Pair{c.estimate(x.energyTerms(hold)), x.Row.Energy}}
		energies = append(energies, e)
		d := deviation{distance: distanceOf(e.Energy.Reference / e.Energy.Model), features: []string{x.Machine}}
		for _, c := range e.listCuts() {
			d.cuts = append(d.cuts, c.String())
		}
		rows = append(rows, d)
	}
	return energies, fitSpread(rows)
}

// holds reports whether the published energy lies within the bounds.
func (r *laterEnergy) holds() bool {
	ratio := r.Energy.Reference / r.Energy.Model
	return r.Low <= ratio && ratio <= r.High
}

// listCuts returns the groups to which r belongs.
func (r *laterEnergy) listCuts() []cut {
	return []cut{{"all", "all"}, {"machine", r.Machine}, {"kind", rowKind(r.Row)}, {"length", sizeClass(r.Row)}}
}

// energyCoverage counts the rows of list inside their intervals by machine, kind of work and length.
func energyCoverage(list []laterEnergy) []Coverage {
	count := make(map[cut]*Coverage)
	for i := range list {
		x := &list[i]
		for _, c := range x.listCuts() {
			countInCut(count, c, x.holds())
		}
	}
	return sortCoverage(count, "all", "machine", "kind", "length")
}
