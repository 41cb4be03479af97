package hw

import "anesim/hw/clock"

// Waiting is the energy of waiting for a time after work on a number of engines. The rail
// holds for a while and lets go: of a power P it costs P x hold x (1 - e^(-t/hold)), so
// that a long wait costs no more than a few times hold. Engines that were at work add
// their step, and let go sooner.
func (c *Chip) Waiting(engines int, t clock.Nanoseconds) clock.Nanojoules {
	rail := c.WaitPower.Value * letGo(float64(t), c.HoldTime.Value)
	steps := float64(engines) * c.EngineStep.Value * letGo(float64(t), c.EngineHold.Value)
	return clock.Nanojoules(float64(rail) + float64(steps))
}

// letGo is hold x (1 - e^(-t/hold)): for how long a power that lets go would have to be
// drawn in full.
func letGo(t, hold float64) float64 {
	if t <= 0 || hold <= 0 {
		return 0
	}
	return hold * decayed(t/hold)
}

// decayed is 1 - e^-x for x >= 0 to one part in 10^13. It is the same on every machine,
// which the library's exponential is not: no product is fused with a sum.
func decayed(x float64) float64 {
	const (
		last  = 40 // e^-40 is nothing beside 1
		small = 1. / 64
		terms = 8
	)
	if x >= last {
		return 1
	}
	halvings := 0
	for x > small {
		x /= 2
		halvings++
	}
	// 1 - e^-x = x (1 - x/2 (1 - x/3 (...)))
	d := 1.0
	for i := terms; i > 1; i-- {
		d = 1 - float64(x*d)/float64(i)
	}
	d *= x
	for range halvings { // 1 - e^-2x = d (2 - d)
		d = float64(d * (2 - d))
	}
	return d
}
