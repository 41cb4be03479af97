package graph

import "math"

// A smallFloat is a format of floating-point numbers of 4 or 8 bits: a sign, an exponent and a mantissa.
// Numbers are those of ONNX, which took the formats of 8 bits from "FP8 Formats for Deep Learning" (2022)
// and "8-bit Numerical Formats for Deep Neural Networks" (2022), and that of 4 bits from the OCP's
// Microscaling Formats (2023).
type smallFloat struct {
	mantissa, bias int
	largest        float64
	infinite       bool // the largest exponent stands for infinities and NaN
	unsigned       bool // the code of -0 stands for NaN, and no other does
	finite         bool // no code stands for NaN
}

var smallFloats = map[Type]smallFloat{
	Float8E4M3FN:   {mantissa: 3, bias: 7, largest: 448},
	Float8E4M3FNUZ: {mantissa: 3, bias: 8, largest: 240, unsigned: true},
	Float8E5M2:     {mantissa: 2, bias: 15, largest: 57344, infinite: true},
	Float8E5M2FNUZ: {mantissa: 2, bias: 16, largest: 57344, unsigned: true},
	Float4E2M1:     {mantissa: 1, bias: 1, largest: 6, finite: true},
}

// Decode returns the number with the given bits as elements of type t, which has fewer than 16 bits,
// store it.
func (t Type) Decode(bits uint8) float64 {
	f, ok := smallFloats[t]
	if !ok {
		return Rounded(t, float64(bits))
	}
	sign := 1.0
	top := uint8(1) << (t.Bits() - 1)
	if bits&top != 0 {
		sign = -1
	}
	magnitude := bits & (top - 1)
	exponent, fraction := int(magnitude>>f.mantissa), float64(magnitude&(1<<f.mantissa-1))
	switch {
	case f.unsigned && bits == top, !f.unsigned && !f.infinite && !f.finite && magnitude == top-1:
		return math.NaN()
	case f.infinite && magnitude>>f.mantissa == (top-1)>>f.mantissa:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	case exponent == 0: // a denormal
		return sign * math.Ldexp(fraction, 1-f.bias-f.mantissa)
	}
	return sign * math.Ldexp(fraction+float64(int(1)<<f.mantissa), exponent-f.bias-f.mantissa)
}

// round returns v rounded to the nearest number of the format, half to even. What is beyond the largest
// becomes the largest.
func (f smallFloat) round(v float64) float64 {
	if v != v || v == 0 {
		return v
	}
	_, e := math.Frexp(v)
	step := max(e-1, 1-f.bias) - f.mantissa
	return max(-f.largest, min(f.largest, math.Ldexp(math.RoundToEven(math.Ldexp(v, -step)), step)))
}

// encode returns the bits of v, rounded, in the format, whose elements have width bits.
func (f smallFloat) encode(v float64, width int) uint8 {
	top := uint8(1) << (width - 1)
	v = f.round(v)
	var sign uint8
	if math.Signbit(v) {
		sign = top
	}
	switch {
	case v != v && f.unsigned:
		return top
	case v != v:
		return top - 1
	case v == 0 && f.unsigned:
		return 0
	case v == 0:
		return sign
	}
	fraction, e := math.Frexp(math.Abs(v)) // from 1/2 to 1
	exponent := e - 1 + f.bias
	if exponent < 1 {
		return sign | uint8(math.Ldexp(math.Abs(v), f.bias-1+f.mantissa))
	}
	return sign | uint8(exponent<<f.mantissa) | uint8(math.Ldexp(2*fraction-1, f.mantissa))
}
