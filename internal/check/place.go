package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"anesim/hw/clock"
	"anesim/internal/report"
)

// A Place is a part of a model that differs from the baseline, with its differences. The part is
// the whole model, a layer, a descriptor or an output.
type Place struct {
	Where       string
	Differences []Difference
	Why         []string // what explains the differences, each reason once
	Registers   []string // the changed registers in Why
}

// Measure returns the difference in the named quantity, or nil if that quantity does not differ.
func (p *Place) Measure(name string) *Difference {
	for i := range p.Differences {
		if d := &p.Differences[i]; d.What == name && !d.Appeared {
			return d
		}
	}
	return nil
}

// addedTime returns by how many nanoseconds the place became slower than in the baseline.
// The result is negative if it became faster.
func (p *Place) addedTime() float64 {
	if d := p.Measure(MeasuredTime); d != nil {
		return d.Got - d.Want
	}
	return 0
}

const total = "total"

// IsTotal reports whether the place is the whole model.
func (p *Place) IsTotal() bool { return p.Where == total }

// Only returns "new" if the part is not in the baseline, "gone" if it is only in the baseline, and
// "" if it is in both.
func (p *Place) Only() string {
	if len(p.Differences) == 1 && p.Differences[0].Appeared {
		if what := p.Differences[0].What; what == appeared || what == disappeared {
			return what
		}
	}
	return ""
}

// TotalEnergy returns the difference in the energy of the whole model, including its dispatches. It
// returns nil if that energy does not differ.
func (v *Verdict) TotalEnergy() *Difference {
	d := &Difference{Where: total, What: "energy", Unit: "nJ", Want: float64(v.Want.EnergyNJ + v.Want.DispatchNJ), Got: float64(v.Got.EnergyNJ + v.Got.DispatchNJ)}
	if d.Want == d.Got {
		return nil
	}
	return d
}

// Texts of differences that say that only one side has a part.
const (
	appeared    = "new"
	disappeared = "gone"
)

// Places groups the differences of the verdict by part of the model. The whole model comes first,
// if it differs. Parts that are new, gone or otherwise not comparable by number come next. All
// others follow, those that became slower by the most time first. If layers differ, Places omits
// descriptors.
func (v *Verdict) Places() []Place {
	layered := slices.ContainsFunc(v.Differences, func(d Difference) bool { return strings.HasPrefix(d.Where, "layer ") })
	at := map[string]int{}
	var list []Place
	for _, d := range v.Differences {
		// The layers say the same in words that a user knows.
		if layered && strings.HasPrefix(d.Where, "descriptor ") {
			continue
		}
		k, ok := at[d.Where]
		if !ok {
			k = len(list)
			at[d.Where], list = k, append(list, Place{Where: d.Where})
		}
		p := &list[k]
		p.Differences = append(p.Differences, d)
		if p.Registers == nil {
			p.Registers = d.Registers
		}
		for _, why := range d.Why {
			if !slices.Contains(p.Why, why) {
				p.Why = append(p.Why, why)
			}
		}
	}
	rank := func(p *Place) int {
		switch {
		case p.Where == total:
			return 0
		case !slices.ContainsFunc(p.Differences, func(d Difference) bool { return !d.Appeared }):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(list, func(a, b Place) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.addedTime(), a.addedTime()))
	})
	return list
}

// Causes returns the elements of p.Why that are not registers: the parts of cycles, energy and
// bytes that differ.
func (p *Place) Causes() []string {
	return slices.DeleteFunc(slices.Clone(p.Why), func(why string) bool { return slices.Contains(p.Registers, why) })
}

// Values returns d.Want and d.Got as text with a unit, such as "344.342 us" and "1.84 MB". Two
// different values are written with ten digits if they would otherwise look the same.
func (d *Difference) Values() (want, got string) {
	want, got = formatValue(d.Want, d.Unit), formatValue(d.Got, d.Unit)
	if want == got && d.Want != d.Got {
		number := func(v float64) string {
			return strings.TrimSpace(report.GroupDigits(fmt.Sprintf("%.10g", v)) + " " + d.Unit)
		}
		want, got = number(d.Want), number(d.Got)
	}
	return want, got
}

func formatValue(v float64, unit string) string {
	switch unit {
	case "ns":
		return clock.Nanoseconds(v).String()
	case "nJ":
		return clock.Nanojoules(v).String()
	case "B":
		return report.Size(uint64(v))
	case "":
		return report.Thousands(uint64(v))
	}
	return report.Thousands(uint64(v)) + " " + unit
}

// Change returns both values and the relative difference as text, such as "12,123 -> 11,508
// (-5.07%)". An increase to ten times the old value or more is written as a factor, such as
// "(65.8x)".
func (d *Difference) Change() string {
	want, got := d.Values()
	switch r := d.Relative(); {
	case math.IsInf(r, 0):
		return fmt.Sprintf("%s -> %s", want, got)
	case d.Want > 0 && r >= 9:
		return fmt.Sprintf("%s -> %s (%sx)", want, got, report.Rate(1+r))
	}
	return fmt.Sprintf("%s -> %s (%+.2f%%)", want, got, 100*d.Relative())
}

// Summary returns one sentence about the verdict. It names the totals that got worse and the part
// of the model that slowed down most, or else the first difference. If nothing differs or the model
// is not in the baseline, Summary returns [Verdict.Cause]. If a layer newly lacks a cost, Summary
// only names the layers without a cost.
func (v *Verdict) Summary() string {
	places := v.Places()
	if len(v.NotModelled) > 0 && !v.Accepted && !v.Unknown {
		return "not modelled: " + report.NameMissing(v.NotModelled)
	}
	if v.Unknown || v.Unverified || len(places) == 0 {
		return v.Cause()
	}
	var worse []string
	for i := range places[0].Differences {
		if d := &places[0].Differences[i]; places[0].Where == total && !d.Appeared && d.Got > d.Want {
			worse = append(worse, d.What+" "+d.Change())
		}
	}
	if len(worse) == 0 {
		d := &places[0].Differences[0]
		text := d.Where + ": " + d.What
		if !d.Appeared {
			text += " " + d.Change()
		}
		return "no total got worse, but " + text
	}
	text := strings.Join(worse, ", ")
	for i := range places[1:] {
		if p := &places[1+i]; p.addedTime() > 0 {
			return text + "; most of it in " + p.Where + ": " + MeasuredTime + " " + p.Measure(MeasuredTime).Change()
		}
	}
	return text
}
