package clock

import (
	"fmt"
	"math"
)

// Cycles counts cycles of the engine's clock.
type Cycles uint64

// Hertz measures a frequency in cycles per second.
type Hertz float64

// Nanoseconds measures a duration in nanoseconds. It may have a fraction.
type Nanoseconds float64

// Longest is the longest time that a simulation of several calls may take, 2500 hours. A float64 holds
// every number of nanoseconds up to 2^53, 2502 hours; beyond it, differences of times lose digits.
const Longest Nanoseconds = 2500 * 3600e9

// Nanojoules measures an energy in nanojoules.
type Nanojoules float64

// Picojoules measures the energy of a single event, such as one multiplication, in picojoules.
type Picojoules float64

// Time returns how long n cycles take at frequency f.
func (f Hertz) Time(n Cycles) Nanoseconds { return Nanoseconds(float64(n) / float64(f) * 1e9) }

// Cycles returns the number of cycles at frequency f that are needed to cover time t, rounded up.
func (f Hertz) Cycles(t Nanoseconds) Cycles { return roundUpToCycles(float64(t) * float64(f) / 1e9) }

// Times returns the energy of n events of energy e each.
func (e Picojoules) Times(n uint64) Nanojoules { return Nanojoules(float64(e) * float64(n) / 1e3) }

// A Rate is a number of bytes or elements that a unit moves per cycle.
type Rate float64

// PerSecond converts n bytes or elements per second to a rate per cycle at clock frequency f.
func PerSecond(n float64, f Hertz) Rate { return Rate(n / float64(f)) }

// Cycles returns the number of cycles needed to move n bytes or elements, rounded up. A rate that
// is not positive sets no limit, so Cycles then returns 0.
func (r Rate) Cycles(n uint64) Cycles {
	if r <= 0 || n == 0 {
		return 0
	}
	return roundUpToCycles(float64(n) / float64(r))
}

// roundUpToCycles rounds v up to a whole number of cycles. It ignores fractions so small that they
// are rounding errors.
func roundUpToCycles(v float64) Cycles {
	const noise, most = 1e-9, 0.25
	c := math.Ceil(v)
	if over := 1 - (c - v); over < 1 && over <= min(float64(noise*max(1, v)), most) {
		c--
	}
	return Cycles(c)
}

// CeilDiv returns a divided by b, rounded up. Neither may be negative, and b must not be 0.
func CeilDiv(a, b int) int { return (a + b - 1) / b }

// String formats t in s, ms, us or ns, depending on its size, such as "1.500 us".
func (t Nanoseconds) String() string {
	switch v := float64(t); {
	case v >= 1e9:
		return fmt.Sprintf("%.3f s", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.3f ms", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3f us", v/1e3)
	default:
		return fmt.Sprintf("%.1f ns", v)
	}
}

// String formats e in J, mJ, uJ or nJ, depending on its size, such as "1.500 uJ".
func (e Nanojoules) String() string {
	switch v := float64(e); {
	case v >= 1e9:
		return fmt.Sprintf("%.3f J", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.3f mJ", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3f uJ", v/1e3)
	default:
		return fmt.Sprintf("%.1f nJ", v)
	}
}
