package view

import (
	"fmt"

	"anesim/bench/explain"
)

// Gain is what a change that was tried brings, like "-23.7 %" of the time.
func Gain(c *explain.Change) string {
	if c.Kind == "gating" {
		return fmt.Sprintf("%+.1f%% energy", 100*(float64(c.After.EnergyNJ/c.Before.EnergyNJ)-1))
	}
	return fmt.Sprintf("%+.1f%%", -100*c.Gain)
}

// Effects are a change's time, energy and bytes before and after.
func Effects(c *explain.Change) string {
	return fmt.Sprintf("Time %v to %v, energy %s, bytes moved %s", c.Before.TimeNs, c.After.TimeNs,
		Change(float64(c.Before.EnergyNJ), float64(c.After.EnergyNJ)), Change(float64(c.Before.DMABytes), float64(c.After.DMABytes)))
}

// Change is a difference in percent of the first.
func Change(a, b float64) string {
	switch {
	case a == b:
		return "same"
	case a == 0:
		return "new"
	}
	return fmt.Sprintf("%+.2f%%", 100*(b-a)/a)
}
