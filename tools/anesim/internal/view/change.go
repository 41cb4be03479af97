package view

import (
	"fmt"
	"math"
	"strings"

	"anesim/internal/explain"
	"anesim/internal/report"
)

// Outcomes describes how many of the changes had each outcome, such as "2 help, 3 do not". It
// mentions changes that give other results, and changes that cannot run, only if there are any.
func Outcomes(n *explain.Tried) string {
	list := []string{formatWithVerb(n.Faster, "helps", "help"), formatWithVerb(n.NotFaster, "does not", "do not")}
	if n.OtherResults > 0 {
		list = append(list, formatWithVerb(n.OtherResults, "gives other results", "give other results"))
	}
	if n.Failed > 0 {
		list = append(list, formatWithVerb(n.Failed, "cannot run", "cannot run"))
	}
	return strings.Join(list, ", ")
}

// formatWithVerb returns n followed by a verb: by its form one if n is 1, and by its form several
// otherwise.
func formatWithVerb(n int, one, several string) string {
	if n == 1 {
		several = one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// Gain returns the relative change of the time, such as "-23.7%". For a change that gates tiles, it
// returns the change of the energy instead; see [Energy].
func Gain(c *explain.Change) string {
	if c.Kind == "gating" {
		return "energy " + Energy(c)
	}
	return fmt.Sprintf("%+.1f%%", -100*c.Gain)
}

// Energy returns the energy that c adds or saves in all layers to which it applies, such as "-4.100
// uJ (-3.7% of the call)". The percentage is relative to the energy of the whole model, including
// its dispatches. Energy returns "same" if the energy does not change.
func Energy(c *explain.Change) string {
	if c.SavedNJ == 0 {
		return "same"
	}
	const least = 0.05 // per cent; smaller shares round to 0.0%
	sign, amount, share := "-", c.SavedNJ, 100*c.EnergyGain
	if amount < 0 {
		sign, amount, share = "+", -amount, -share
	}
	if share < least {
		return fmt.Sprintf("%s%s (under 0.1%% of the call)", sign, report.EnergyText(amount))
	}
	return fmt.Sprintf("%s%s (%[1]s%.1[3]f%% of the call)", sign, report.EnergyText(amount), share)
}

// Effects returns a sentence about the effects of a change: the time before and after it, and the
// changes of energy and bytes moved.
func Effects(c *explain.Change) string {
	alone := ""
	if c.Alone {
		alone = fmt.Sprintf(" for the layer alone, with its tensors in memory (%s in the network)", report.TimeText(c.NetworkNs))
	}
	return fmt.Sprintf("Time %s to %s%s, energy %s, bytes moved %s", report.TimeText(c.Before.TimeNs), report.TimeText(c.After.TimeNs), alone,
		Energy(c), Change(float64(c.Before.DMABytes), float64(c.After.DMABytes)))
}

// Change returns the relative change from a to b as text, such as "+3.50%". If b/a is ten or more,
// it returns that factor, such as "65.8x". It returns "same" if both are equal, and "new" if only a
// is 0.
func Change(a, b float64) string {
	const rounding = 1e-9 // relative; sums in another order differ by less
	switch {
	case a == b || math.Abs(b-a) < rounding*math.Abs(a):
		return "same"
	case a == 0:
		return "new"
	case b/a >= 10:
		return FormatRate(b/a) + "x"
	}
	return fmt.Sprintf("%+.2f%%", 100*(b-a)/a)
}
