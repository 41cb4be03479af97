package mac

// TableMode says how an input finds its segment (bytes of real programs; what the
// modes do is inferred from the tables and, for ModeFraction and ModeInteger, from
// the order of the tasks around them).
//
// The low nibble reads as the part of the input that meets the knots: 1 and 2 the
// input itself, 3 its fraction, 4 its integer part, 5 to 7, 9 and 10 its mantissa or
// exponent. 0x60 adds odd symmetry, 0xc0 sends what lies below zero to +0 (inferred;
// other combinations are not seen and are refused).
type TableMode uint16

const (
	ModePlain    TableMode = 0x01 // knots from -16 to +16 steps
	ModeNegative TableMode = 0x02 // knots from -32 steps to 0
	ModeExponent TableMode = 0x0a // 2^v: knots over the fraction of v, the integer part goes to the exponent
	ModeOdd      TableMode = 0x60 // knots from 0 to 32 steps over |v|, the result takes the sign of v

	// ModeFraction and ModeInteger give the fraction and the integer part of |v| with
	// the sign of v. The vendor's ceil adds ModeInteger(v) to a step of
	// ModeFraction(v): infinite clamps pass infinities through the one and turn them
	// into 0 in the other, which tells the two apart (bytes). Both could as well round
	// down, with the same sums; odd symmetry is read from the mode's 0x60.
	ModeFraction TableMode = 0x63
	ModeInteger  TableMode = 0x64

	// ModeReciprocal is 1/v: knots from 2 down to 1 over a mantissa in [1/2,1], the
	// exponent negated, the result with the sign of v (bytes).
	ModeReciprocal TableMode = 0x67

	ModeSqrt  TableMode = 0xc5 // knots over a mantissa in [1/2,2), the exponent is halved
	ModeRsqrt TableMode = 0xc6 // reciprocal square root: as ModeSqrt, the exponent halved and negated
	ModeLog   TableMode = 0xc9 // log2: knots over a mantissa in [1/2,1], the exponent added
)

// noKnots is the log2(1/step) of real tables that consist of their two tails: 33
// knots 2^-64 apart are closer to 0 than any fp16 value but 0 itself.
const noKnots = 64

func (m TableMode) known() bool {
	switch m {
	case ModePlain, ModeNegative, ModeOdd, ModeExponent, ModeFraction, ModeInteger,
		ModeReciprocal, ModeSqrt, ModeRsqrt, ModeLog:
		return true
	}
	return false
}

// fits reports whether 33 knots can stand 2^-stepLog apart: the modes that split
// the input have a fixed range to cover. Of the others, steps above 2^11 would put
// the last knots beyond fp16; -1 and 0 to 5 are seen, and 64 for none.
func (m TableMode) fits(stepLog int) bool {
	switch m {
	case ModeExponent, ModeInteger:
		return stepLog == 5 // [0,1]
	case ModeSqrt, ModeRsqrt:
		return stepLog == 4 // [0,2]
	case ModeReciprocal, ModeLog:
		return stepLog == 6 // [1/2,1]
	case ModeFraction:
		return stepLog == 0 // as the one real table has it
	}
	return -11 <= stepLog && stepLog <= 15 || stepLog == noKnots
}

// base is how many steps lie between the first knot and input 0, or mantissa 0.
func (m TableMode) base() float32 {
	switch m {
	case ModePlain:
		return segments / 2
	case ModeNegative:
		return segments
	case ModeReciprocal, ModeLog:
		return -segments // the first knot is that of 1/2
	}
	return 0
}

// straight reports whether knots and tails lie over the input itself.
func (m TableMode) straight() bool {
	return m == ModePlain || m == ModeNegative || m == ModeOdd
}
