package clock

import (
	"fmt"
	"math"
)

// Cycles is a number of engine clock cycles.
type Cycles uint64

// Hertz is a frequency.
type Hertz float64

// Nanoseconds is a time.
type Nanoseconds float64

// Nanojoules is an energy.
type Nanojoules float64

// Picojoules is an energy of a single event.
type Picojoules float64

// Time is how long n cycles take.
func (f Hertz) Time(n Cycles) Nanoseconds { return Nanoseconds(float64(n) / float64(f) * 1e9) }

// Cycles is the whole cycles that cover t.
func (f Hertz) Cycles(t Nanoseconds) Cycles { return ceil(float64(t) * float64(f) / 1e9) }

// Times is the energy of n events.
func (e Picojoules) Times(n uint64) Nanojoules { return Nanojoules(float64(e) * float64(n) / 1e3) }

// A Rate is an amount (bytes, elements) per cycle.
type Rate float64

// PerSecond is the rate that moves n units a second at frequency f.
func PerSecond(n float64, f Hertz) Rate { return Rate(n / float64(f)) }

// Cycles is the whole cycles that move n units; a rate of zero or less is no limit.
func (r Rate) Cycles(n uint64) Cycles {
	if r <= 0 || n == 0 {
		return 0
	}
	return ceil(float64(n) / float64(r))
}

// ceil rounds up, letting a quotient that is a whole number but for float noise be that
// number.
func ceil(v float64) Cycles {
	const noise, most = 1e-9, 0.25
	c := math.Ceil(v)
	if over := 1 - (c - v); over < 1 && over <= min(float64(noise*max(1, v)), most) {
		c--
	}
	return Cycles(c)
}

// CeilDiv is a divided by b, rounded up; b must be positive.
func CeilDiv(a, b int) int { return (a + b - 1) / b }

// String gives the time in a unit a person reads.
func (t Nanoseconds) String() string {
	switch v := float64(t); {
	case v >= 1e6:
		return fmt.Sprintf("%.3f ms", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3f us", v/1e3)
	default:
		return fmt.Sprintf("%.1f ns", v)
	}
}

// String gives the energy in a unit a person reads.
func (e Nanojoules) String() string {
	switch v := float64(e); {
	case v >= 1e6:
		return fmt.Sprintf("%.3f mJ", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3f uJ", v/1e3)
	default:
		return fmt.Sprintf("%.1f nJ", v)
	}
}
