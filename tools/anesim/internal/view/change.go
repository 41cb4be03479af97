package view

import (
	"fmt"
	"strings"

	"anesim/bench/explain"
)

// Outcomes returns the number of changes with each outcome, such as "2 gain, 3 do not". It mentions
// changes that give other results, or that cannot run, only if there are any.
func Outcomes(n *explain.Tried) string {
	list := []string{fmt.Sprintf("%d gain", n.Faster), fmt.Sprintf("%d do not", n.NotFaster)}
	if n.OtherResults > 0 {
		list = append(list, fmt.Sprintf("%d give other results", n.OtherResults))
	}
	if n.Failed > 0 {
		list = append(list, fmt.Sprintf("%d cannot run", n.Failed))
	}
	return strings.Join(list, ", ")
}

// Gain returns the relative change of the time, such as "-23.7%". For a change that gates tiles,
// which saves energy, it returns the change of the energy, such as "-3.1% energy".
func Gain(c *explain.Change) string {
	if c.Kind == "gating" {
		return fmt.Sprintf("%+.1f%% energy", 100*(float64(c.After.EnergyNJ/c.Before.EnergyNJ)-1))
	}
	return fmt.Sprintf("%+.1f%%", -100*c.Gain)
}

// Effects returns a sentence with the time before and after a change, and the relative changes of
// energy and of bytes moved.
func Effects(c *explain.Change) string {
	return fmt.Sprintf("Time %v to %v, energy %s, bytes moved %s", c.Before.TimeNs, c.After.TimeNs,
		Change(float64(c.Before.EnergyNJ), float64(c.After.EnergyNJ)), Change(float64(c.Before.DMABytes), float64(c.After.DMABytes)))
}

// Change returns the difference from a to b in per cent of a. It returns "same" if they are
// equal, and "new" if a is 0.
func Change(a, b float64) string {
	switch {
	case a == b:
		return "same"
	case a == 0:
		return "new"
	}
	return fmt.Sprintf("%+.2f%%", 100*(b-a)/a)
}
