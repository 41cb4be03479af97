package clock

import (
	"fmt"
	"math"
)

// Cycles is a number of engine clock cycles.
type Cycles uint64

// Hertz is a frequency.
type Hertz float64

// Nanoseconds is a duration.
type Nanoseconds float64

// Nanojoules is an energy.
type Nanojoules float64

// Picojoules is the energy of a single event.
type Picojoules float64

// Time returns the duration of n cycles.
func (f Hertz) Time(n Cycles) Nanoseconds { return Nanoseconds(float64(n) / float64(f) * 1e9) }

// Cycles returns the number of cycles in t, rounded up.
func (f Hertz) Cycles(t Nanoseconds) Cycles { return ceil(float64(t) * float64(f) / 1e9) }

// Times returns the energy of n events.
func (e Picojoules) Times(n uint64) Nanojoules { return Nanojoules(float64(e) * float64(n) / 1e3) }

// A Rate is a number of bytes or elements per cycle.
type Rate float64

// PerSecond returns the rate that moves n units per second at frequency f.
func PerSecond(n float64, f Hertz) Rate { return Rate(n / float64(f)) }

// Cycles returns the number of cycles needed to move n units, rounded up. It returns 0 if the rate
// is not positive, because such a rate sets no limit.
func (r Rate) Cycles(n uint64) Cycles {
	if r <= 0 || n == 0 {
		return 0
	}
	return ceil(float64(n) / float64(r))
}

// ceil rounds v up. A v that exceeds a whole number only by floating-point noise is rounded to that
// number.
func ceil(v float64) Cycles {
	const noise, most = 1e-9, 0.25
	c := math.Ceil(v)
	if over := 1 - (c - v); over < 1 && over <= min(float64(noise*max(1, v)), most) {
		c--
	}
	return Cycles(c)
}

// CeilDiv returns a divided by b, rounded up. Both must not be negative, and b must not be 0.
func CeilDiv(a, b int) int { return (a + b - 1) / b }

// String formats the time in ms, us or ns, depending on its size.
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

// String formats the energy in mJ, uJ or nJ, depending on its size.
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
