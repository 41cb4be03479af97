package anesim

import (
	"slices"
	"strconv"
	"strings"

	"anesim/hw/evidence"
)

// Residency returns the assumption that a network's totals make about tensors between layers.
// Either they stay in L2 (the engine's local memory) if they fit, or all of them are written to
// memory and read back.
func (r *Result) Residency() evidence.Limit {
	if n := r.Model.net; n != nil && n.InMemory {
		return evidence.Limit{Kind: evidence.NotModelled, What: "tensors between layers are written to memory and read back, even if a compiler would keep them in L2"}
	}
	return evidence.Limit{
		Kind: evidence.RestsOnInference,
		What: "tensors stay in L2 between layers as in programs with chains of matmuls; that convolutions do the same is inferred",
	}
}

// Limits returns the limitations of the model that affected the run, such as layers without a cost
// or values that could not be computed. Each one is listed once, with all places where it occurred.
// Those that leave values or time out of the results come first, before those that only make
// results less certain.
func (r *Result) Limits() []evidence.Limit {
	var g limitGroups
	if r.Model.kind == KindNetwork {
		rests := r.Residency()
		g.addLimit(rests.Kind, rests.What, "")
		for _, l := range r.Missing() {
			g.addLimit(evidence.NotModelled, l.Reason, "layer "+l.Layer.Name)
		}
	}
	for i := range r.Layers {
		l := &r.Layers[i]
		// A layer without a cost is listed above; doubts about that cost would not mean anything.
		if what := l.Layer.Caveat(); what != "" && l.Modelled() {
			g.addLimit(evidence.RestsOnInference, what, "layer "+l.Layer.Name)
		}
	}
	for _, note := range r.RelocationNotes() {
		g.addLimit(evidence.RestsOnAssumption, note, "")
	}
	for k := range r.Programs {
		p := &r.Programs[k]
		if p.Report == nil {
			continue
		}
		for _, l := range p.Limits {
			g.addLimit(l.Kind, l.What, l.Where)
		}
		for i := range p.Report.Descriptors {
			d := &p.Report.Descriptors[i]
			where := "descriptor " + strconv.Itoa(d.Index)
			if r.Model.kind == KindNetwork {
				// Users of a network know its layers, not the indices of descriptors that it was
				// compiled to.
				if l := r.LayerOf(p, d); l != nil {
					where = "layer " + l.Layer.Name
				}
			}
			for _, l := range d.Limits {
				g.addLimit(l.Kind, l.What, where)
			}
		}
	}
	return g.listLimits()
}

// RelocationNotes says, for each program that was read from a file, how its relocations differ from the
// addresses of its weights. It returns nil if they do not: the run itself does not depend on them, but
// a loader that places the constants elsewhere does.
func (r *Result) RelocationNotes() (notes []string) {
	if r.Model.kind != KindProgram {
		return nil // its programs were made here
	}
	for i := range r.Programs {
		// A program with an error in its chain has not run.
		if gaps, err := r.Programs[i].Program.RelocationGaps(); err == nil && len(gaps) > 0 {
			notes = append(notes, gaps.String())
		}
	}
	return notes
}

// A limitGroups collects limits. Limits of the same kind and text become one limit with several
// places.
type limitGroups struct {
	limits []evidence.Limit
	where  [][]string
}

// addLimit records a limit of the given kind with the description what. It applies to the place
// where, which may be "".
func (g *limitGroups) addLimit(kind evidence.LimitKind, what, where string) {
	i := slices.IndexFunc(g.limits, func(l evidence.Limit) bool { return l.Kind == kind && l.What == what })
	if i < 0 {
		i = len(g.limits)
		g.limits, g.where = append(g.limits, evidence.Limit{Kind: kind, What: what}), append(g.where, nil)
	}
	if where != "" && !slices.Contains(g.where[i], where) {
		g.where[i] = append(g.where[i], where)
	}
}

// listLimits returns the recorded limits with their places. Limits because of which values or times
// are missing come first.
func (g *limitGroups) listLimits() []evidence.Limit {
	for i := range g.limits {
		g.limits[i].Where = strings.Join(g.where[i], ", ")
	}
	slices.SortStableFunc(g.limits, func(a, b evidence.Limit) int {
		switch {
		case a.Blocks() == b.Blocks():
			return 0
		case a.Blocks():
			return -1
		}
		return 1
	})
	return g.limits
}
