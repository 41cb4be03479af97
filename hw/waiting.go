package hw

import (
	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// Holding returns a copy of c with the given hold time, which is how long the power rail stays on
// after work. If the value of time is 0, the copy equals c.
func (c Chip) Holding(time evidence.Constant) Chip {
	if time.Value > 0 {
		c.HoldTime = time
	}
	return c
}

// Waiting returns the energy that the chip draws while it waits for time t after work on the given
// number of MAC engines. The rail draws ActivePower until the hold time ends. The engines draw
// additional power for a shorter time.
func (c *Chip) Waiting(engines int, t clock.Nanoseconds) clock.Nanojoules {
	rail := c.ActivePower.Value * powerDrawTime(t, c.HoldTime.Value)
	steps := float64(engines) * c.EngineStep.Value * powerDrawTime(t, c.EngineHold.Value)
	return clock.Nanojoules(float64(rail) + float64(steps))
}

// powerDrawTime returns for how many nanoseconds a unit draws power while it waits for the time t.
// It stays on for the first hold nanoseconds after its work.
func powerDrawTime(t clock.Nanoseconds, hold float64) float64 { return max(0, min(float64(t), hold)) }
