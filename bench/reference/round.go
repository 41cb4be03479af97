package reference

import "math"

// RoundHalf rounds v to the nearest fp16 value, ties to even. Magnitudes from 65520 on become
// infinite; subnormals are kept. It can be used as [Options].Round and ignores the operator.
func RoundHalf(_ string, v float64) float64 {
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
	return math.RoundToEven(v/unit) * unit
}

// RoundSingle rounds v to the nearest float32. It can be used as [Options].Round and ignores
// the operator.
func RoundSingle(_ string, v float64) float64 { return float64(float32(v)) }

// roundBFloat16 rounds v to float32 and then to the nearest bfloat16, ties to even.
func roundBFloat16(v float64) float64 {
	if v != v || math.IsInf(v, 0) {
		return v
	}
	bits := math.Float32bits(float32(v))
	bits += 0x7fff + bits>>16&1
	return float64(math.Float32frombits(bits &^ 0xffff))
}
