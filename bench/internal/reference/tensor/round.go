package tensor

import "math"

// RoundHalf returns the fp16 value nearest to v, rounding ties to even. Magnitudes of 65520 and
// more become infinite. Subnormal values are kept. The first parameter is ignored, so that
// RoundHalf can be the Round of [Options].
func RoundHalf(_ string, v float64) float64 { return roundHalf(v, math.RoundToEven) }

// RoundHalfAway does the same as RoundHalf but rounds ties away from zero, as the engine does.
func RoundHalfAway(_ string, v float64) float64 { return roundHalf(v, math.Round) }

// roundHalf returns the fp16 value nearest to v, rounding ties as nearest does for integers.
func roundHalf(v float64, nearest func(float64) float64) float64 {
	const (
		fraction = 10    // bits
		least    = -14   // exponent of the least normal value
		overflow = 65520 // halfway between 65504 and 2^16
	)
	switch {
	case v == 0 || v != v || math.IsInf(v, 0):
		return v
	case math.Abs(v) >= overflow:
		return math.Copysign(math.Inf(1), v)
	}
	unit := math.Ldexp(1, max(math.Ilogb(v), least)-fraction)
	return nearest(v/unit) * unit
}

// RoundSingle returns the float32 value nearest to v. The first parameter is ignored, so that
// RoundSingle can be the Round of [Options].
func RoundSingle(_ string, v float64) float64 { return float64(float32(v)) }

// RoundBFloat16 rounds v to float32 and then to the nearest bfloat16, ties to even.
func RoundBFloat16(v float64) float64 {
	if v != v || math.IsInf(v, 0) {
		return v
	}
	bits := math.Float32bits(float32(v))
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}
