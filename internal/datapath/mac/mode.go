package mac

// A TableMode selects how a table maps an input to a segment. The values were seen in real
// programs. Their meaning is inferred from the tables and, for ModeFraction and ModeInteger, from
// the order of the surrounding tasks.
//
// The low nibble seems to select the part of the input that is compared with the knots: 1 and 2 the
// input itself, 3 its fraction, 4 its integer part, 5 to 7, 9 and 10 its mantissa or exponent. 0x60
// adds odd symmetry, and 0xc0 maps inputs below zero to +0 (inferred). Other combinations were not
// seen and are rejected.
type TableMode uint16

const (
	ModePlain    TableMode = 0x01 // knots from -16 to +16 steps
	ModeNegative TableMode = 0x02 // knots from -32 steps to 0
	ModeExponent TableMode = 0x0a // 2^v: knots over the fraction of v; the integer part is added to the exponent
	ModeOdd      TableMode = 0x60 // knots from 0 to 32 steps over |v|; the result takes the sign of v

	// ModeFraction and ModeInteger give the fraction and the integer part of |v| with the sign of
	// v. The vendor's ceil adds ModeInteger(v) to a step function of ModeFraction(v). Infinite
	// clamps, which pass infinities in one mode and give 0 in the other, show which mode is which
	// (from bytes). Both could also round down, with the same sums. Odd symmetry follows from the
	// 0x60 in the mode.
	ModeFraction TableMode = 0x63
	ModeInteger  TableMode = 0x64

	// ModeReciprocal is 1/v: knots from 2 down to 1 over a mantissa in [1/2,1]. The exponent is
	// negated and the result takes the sign of v (from bytes).
	ModeReciprocal TableMode = 0x67

	ModeSqrt  TableMode = 0xc5 // knots over a mantissa in [1/2,2); the exponent is halved
	ModeRsqrt TableMode = 0xc6 // reciprocal square root: like ModeSqrt, with the exponent halved and negated
	ModeLog   TableMode = 0xc9 // log2: knots over a mantissa in [1/2,1]; the exponent is added
)

// noKnots is the log2(1/step) of real tables that use only their two tails. Their 33 knots are
// 2^-64 apart, closer to 0 than any fp16 value except 0 itself.
const noKnots = 64

func (m TableMode) isKnown() bool {
	switch m {
	case ModePlain, ModeNegative, ModeOdd, ModeExponent, ModeFraction, ModeInteger,
		ModeReciprocal, ModeSqrt, ModeRsqrt, ModeLog:
		return true
	}
	return false
}

// supportsStep reports whether a table in mode m may have its 33 knots 2^-stepLog apart. Modes that
// split the input have a fixed range to cover. In the other modes, steps above 2^11 would put the
// last knots beyond fp16. Real tables use a stepLog of -1, 0 to 5, or 64 for no knots.
func (m TableMode) supportsStep(stepLog int) bool {
	switch m {
	case ModeExponent, ModeInteger:
		return stepLog == 5 // [0,1]
	case ModeSqrt, ModeRsqrt:
		return stepLog == 4 // [0,2]
	case ModeReciprocal, ModeLog:
		return stepLog == 6 // [1/2,1]
	case ModeFraction:
		return stepLog == 0 // as in the only real table
	}
	return -11 <= stepLog && stepLog <= 15 || stepLog == noKnots
}

// stepsToZero returns the number of steps from the first knot to input 0 or, in modes that use the
// mantissa, to mantissa 0.
func (m TableMode) stepsToZero() float64 {
	switch m {
	case ModePlain:
		return segments / 2
	case ModeNegative:
		return segments
	case ModeReciprocal, ModeLog:
		return -segments // the first knot is at 1/2
	}
	return 0
}

// usesWholeInput reports whether the table is evaluated at the input itself, and not at a part of it
// such as its mantissa or fraction.
func (m TableMode) usesWholeInput() bool {
	return m == ModePlain || m == ModeNegative || m == ModeOdd
}
