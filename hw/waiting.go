package hw

import (
	"anesim/hw/clock"
	"anesim/hw/evidence"
)

// Holding returns a copy of the chip whose rail is held for the given time, a property of the
// host's software (host.Host.Hold). A time of 0 keeps the chip's own hold time.
func (c Chip) Holding(time evidence.Constant) Chip {
	if time.Value > 0 {
		c.HoldTime = time
	}
	return c
}

// Waiting returns the energy that the chip draws in a wait of time t after work on the given number
// of engines. The rail draws its active power for the hold time and nothing afterwards. Engines
// that were at work add their step power for a shorter time.
func (c *Chip) Waiting(engines int, t clock.Nanoseconds) clock.Nanojoules {
	rail := c.ActivePower.Value * drawnTime(t, c.HoldTime.Value)
	steps := float64(engines) * c.EngineStep.Value * drawnTime(t, c.EngineHold.Value)
	return clock.Nanojoules(float64(rail) + float64(steps))
}

// drawnTime returns the part of a wait of time t in which power is still drawn.
func drawnTime(t clock.Nanoseconds, hold float64) float64 { return max(0, min(float64(t), hold)) }
