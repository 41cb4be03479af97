package hw

import (
	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// Holding is the chip with a rail that holds for a time of its host's software
// (host.Host.Hold); 0 leaves it the chip's own.
func (c Chip) Holding(time evidence.Constant) Chip {
	if time.Value > 0 {
		c.HoldTime = time
	}
	return c
}

// Waiting is the energy of waiting for a time after work on a number of engines. The rail
// draws what it does at work, holds that for a while, and lets go: a wait beyond the hold
// time costs nothing more. Engines that were at work add their step, and let go sooner.
func (c *Chip) Waiting(engines int, t clock.Nanoseconds) clock.Nanojoules {
	rail := c.ActivePower.Value * drawn(t, c.HoldTime.Value)
	steps := float64(engines) * c.EngineStep.Value * drawn(t, c.EngineHold.Value)
	return clock.Nanojoules(float64(rail) + float64(steps))
}

// drawn is the part of a wait that a power is still drawn in.
func drawn(t clock.Nanoseconds, hold float64) float64 { return max(0, min(float64(t), hold)) }
