package mac

import (
	"math"
	"strconv"

	"github.com/x448/float16"
)

// A RoundingMode selects how the engine rounds when it converts a number. It does not apply to the
// results of multiply-accumulates. The values are the engine's own, as measured on silicon.
type RoundingMode uint8

const (
	NearestEven RoundingMode = 0 // ties to the even significand
	Down        RoundingMode = 1 // toward -infinity
	Up          RoundingMode = 2 // toward +infinity
	TowardZero  RoundingMode = 3 // truncate
	NearestAway RoundingMode = 4 // ties away from zero
)

var roundingModeNames = [...]string{"nearest-even", "down", "up", "toward-zero", "nearest-away"}

// String returns the name of the mode, or its number if the mode is unknown.
func (m RoundingMode) String() string {
	if int(m) < len(roundingModeNames) {
		return roundingModeNames[m]
	}
	return "RoundingMode(" + strconv.Itoa(int(m)) + ")"
}

// Bits of fp16 values at the limits of the format.
const (
	halfSign     = 0x8000
	halfInf      = 0x7c00
	halfMax      = 0x7bff // 65504
	halfNormal   = 0x0400 // 2^-14, smallest normal
	halfExpShift = 10
)

// Round converts v to fp16 with a single rounding in mode m. Results may be subnormal. A magnitude
// above 65504 becomes infinity if m rounds it away from zero, and otherwise 65504. This follows
// IEEE 754 and is assumed for the engine. NaN becomes +Inf, as measured on silicon. An unknown mode
// rounds like NearestEven.
func Round(v float64, m RoundingMode) float16.Float16 {
	if math.IsNaN(v) {
		return halfInf
	}
	var sign float16.Float16
	if math.Signbit(v) {
		sign = halfSign
	}
	a := math.Abs(v)
	if math.IsInf(a, 0) {
		return sign | halfInf
	}

	if a >= 65536 { // beyond every finite half and every tie with one
		if m.roundsAway(sign != 0) {
			return sign | halfInf
		}
		return sign | halfMax
	}

	// n counts quanta of the binade, and rest in [0,1) is the remainder. Both are exact: the
	// quantum is a power of two and a/quantum is below 2048.
	exp := -14
	if a >= 0x1p-14 {
		_, e := math.Frexp(a)
		exp = e - 1
	}
	q := math.Ldexp(a, halfExpShift-exp)
	n := math.Floor(q)
	rest := q - n

	up := false
	switch m {
	case Down, Up, TowardZero:
		up = rest > 0 && m.roundsAway(sign != 0)
	case NearestAway:
		up = rest >= 0.5
	default:
		up = rest > 0.5 || rest == 0.5 && math.Mod(n, 2) == 1
	}
	if up {
		n++
	}
	// n includes the implicit one of a normal number, and a carry out of the significand increments
	// the exponent, so one sum covers all cases.
	return sign | float16.Float16((exp+14)<<halfExpShift+int(n))
}

// roundsAway reports whether the mode rounds a magnitude that overflows or is inexact away from
// zero, for a value of the given sign. It returns true for the two nearest modes, because no finite
// half is nearest to a magnitude beyond 65536.
func (m RoundingMode) roundsAway(negative bool) bool {
	switch m {
	case Down:
		return negative
	case Up:
		return !negative
	case TowardZero:
		return false
	}
	return true
}
