package mac

import (
	"math"
	"math/bits"

	"github.com/x448/float16"
)

// An Arithmetic holds the properties of the multiply-accumulate in which tasks or generations of the
// engine differ. Products and sums follow the same rule on M1 to M6 otherwise. M5 and M6 also transform 3x3
// convolutions (Winograd, F(2,3)), which this package does not model; internal/probe/arithmetic.go does.
type Arithmetic struct {
	// KeepsInfinity says that an operand whose exponent field is 31 is an infinity, and +Inf if it is
	// a NaN (measured on M1). Otherwise it is an ordinary number: 0x7c00 is 65536 and 0x7fff is 131008
	// (measured on M4 and M6).
	KeepsInfinity bool

	// CoarseSums says that sums of four terms lose bits from 4096 on: see addTerm
	// (measured on M1). M4 and M6 add them exactly (measured).
	CoarseSums bool

	// FullRange says that sums have no limit. Tasks with a single product per result pass values up
	// to 65504 (measured on M1 with a 1x1 convolution of one channel). All other sums become infinite
	// at 32768.
	FullRange bool
}

// H13 is the arithmetic of the M1 family, and assumed for the A14. Later is that of M4 and M6. M2,
// M3 and M5 were not probed for these two properties, so either is an assumption for them.
var (
	H13   = Arithmetic{KeepsInfinity: true, CoarseSums: true}
	Later = Arithmetic{}
)

const (
	// fraction is the number of bits after the binary point of terms and accumulators. An integer
	// named units below counts 2^-fraction (from checksums: 2^-15 and 2^-17 contradict them).
	fraction = 16

	// minExponentSum is the smallest sum of two operands' exponents whose product is not dropped (from
	// checksums: -15 and -17 contradict them).
	minExponentSum = -16

	// denormalExponent is the exponent of denormal operands, which are neither normalised nor replaced by
	// zero before the product is dropped or kept (from checksums).
	denormalExponent = -14

	// limitUnits is the first magnitude that an accumulator cannot hold, 32768 (measured on M4 and M6;
	// M1 agrees to a result of 32752). It is 2^31 units.
	limitUnits = 1 << 31

	// groupTaps is the number of consecutive taps that are added as a group. Only CoarseSums depends on
	// it (inferred from the probes of M1 in the tests).
	groupTaps = 4

	// coarseUnits is the magnitude from which terms lose bits if CoarseSums is set, 4096.
	coarseUnits = 4096 << fraction
)

// roundProduct returns the product of two operands as the accumulator receives it: 0 if the operands'
// exponents are too small together, and otherwise the product rounded to a multiple of 2^-16, ties
// away from zero. Finite operands must be values of fp16, or of [Arithmetic.Widen].
func roundProduct(x, w float32) (units int64) {
	if exponent(x)+exponent(w) < minExponentSum {
		return 0
	}
	// The product of two 11-bit significands is exact in float32, and so is its scaling.
	return roundAway(float64(float32(x*w)) * (1 << fraction))
}

// exponent returns the exponent of an fp16 value v, which is at least denormalExponent.
func exponent(v float32) int {
	return max(int(math.Float32bits(v)>>23&0xff)-127, denormalExponent)
}

// roundAway returns v rounded to an integer, ties away from zero. v must have at most 24 significant
// bits, as a float32 has, and a magnitude below 2^52: a v of 53 bits just below one half would become 1.
// This is math.Round without its branches.
func roundAway(v float64) int64 { return int64(v + math.Copysign(0.5, v)) }

// An accumulator adds the terms of one result in the order of the taps.
type accumulator struct {
	sum      int64   // of all groups before the current one, with the start value
	group    int64   // sum of the current group
	taps     int     // number of terms in the current group
	infinity float32 // 0, the infinity that the sum has become, or NaN if it had infinities of both signs
}

// setBias sets the accumulator to its first value: a bias rounded to a multiple of 2^-16, ties away from
// zero (measured on M6). An infinite bias is an infinite term, and NaN counts as +Inf, for
// every Arithmetic (assumed).
func (a *accumulator) setBias(bias float32, rule Arithmetic) {
	*a = accumulator{}
	if bias-bias != 0 { // infinite or NaN
		a.infinity = bias
		if bias != bias {
			a.infinity = float32(inf) // as an operand
		}
		return
	}
	a.sum = roundAway(float64(bias) * (1 << fraction))
	a.checkLimit(rule)
}

// addProduct adds the product of x and w.
func (a *accumulator) addProduct(x, w float32, rule Arithmetic) {
	if p := x * w; p-p != 0 {
		a.addInfinite(p, rule)
	} else {
		a.addTerm(roundProduct(x, w), rule)
	}
}

// addInfinite adds a product that is not finite. An infinite one makes the sum infinite; 0 * inf, which
// is NaN, gives +0, and so does a sum with infinities of both signs (measured on M1 for a difference;
// that a sum stays +0 from then on is assumed).
func (a *accumulator) addInfinite(p float32, rule Arithmetic) {
	if p == p {
		a.infinity += p
	}
	a.addTerm(0, rule) // it still counts as a tap of its group (assumed)
}

// addTerm adds t to the current group. The first term of a group is not rounded by itself, and absent
// terms at the end of the last group do not take part (assumed).
func (a *accumulator) addTerm(t int64, rule Arithmetic) {
	if a.taps == groupTaps {
		a.sum, a.group, a.taps = a.sum+a.group, 0, 0
	}
	a.taps++
	if a.infinity != 0 {
		return // no finite term changes it
	}
	if a.taps > 1 && rule.CoarseSums {
		a.group, t = alignCoarse(a.group, t)
	}
	a.group += t
	a.checkLimit(rule)
}

// alignCoarse rounds the sum of a group and a term before they are added: if one of them has a magnitude
// of 4096 or more, both become multiples of the spacing of fp16 values at the larger one. That ties
// round away from zero is assumed, because no probe shows it.
func alignCoarse(group, t int64) (int64, int64) {
	abs, absT := absInt64(group), absInt64(t)
	spacing := int64(1)
	// Both together have as many bits as the larger one.
	if larger := abs | absT; larger >= coarseUnits {
		spacing <<= bits.Len64(uint64(larger)) - 1 - halfExpShift
	}
	half := spacing >> 1
	return withSign((abs+half)&-spacing, group), withSign((absT+half)&-spacing, t)
}

// The branches that absInt64 and withSign avoid would often be mispredicted.

func absInt64(v int64) int64 { return withSign(v, v) }

// withSign returns v, or -v if sign is negative.
func withSign(v, sign int64) int64 { return (v ^ sign>>63) - sign>>63 }

// checkLimit makes the sum infinite if its magnitude has reached the limit. It stays infinite even if
// later terms cancel it (measured).
func (a *accumulator) checkLimit(rule Arithmetic) {
	if sum := a.sum + a.group; !rule.FullRange && absInt64(sum) >= limitUnits {
		a.infinity = float32(math.Copysign(inf, float64(sum)))
	}
}

// roundedSum returns the sum, as roundToOdd converts it.
func (a *accumulator) roundedSum() float32 {
	switch {
	case a.infinity != a.infinity:
		return 0
	case a.infinity != 0:
		return a.infinity
	}
	return roundToOdd(a.sum + a.group)
}

// roundToOdd returns a sum in units as fp32. A sum of more than 24 bits loses its last eight, or more if
// it is beyond the limit, and if these are not all zero, the last bit that stays becomes one. A later
// rounding to fp16 then gives the same as from the exact sum.
func roundToOdd(units int64) float32 {
	const fewest = 8 // a sum below the limit has 31 bits, and keeps 23, twelve more than fp16
	if absInt64(units) >= 1<<24 {
		lost := fewest
		for absInt64(units)>>lost >= 1<<24 {
			lost++
		}
		kept := units >> lost // toward -infinity
		if kept<<lost != units {
			kept |= 1 // the odd neighbour, whichever side it is on
		}
		units = kept << lost
	}
	return float32(units) / (1 << fraction)
}

// Dot returns the sum of x[i]*w[i] as the engine of the M1 computes it; see [Arithmetic.DotBias].
func Dot(x, w []float16.Float16) float16.Float16 { return H13.Dot(x, w) }

// Dot returns the sum of x[i]*w[i]; see [Arithmetic.DotBias].
func (a Arithmetic) Dot(x, w []float16.Float16) float16.Float16 { return a.DotBias(0, x, w) }

// DotBias returns bias plus the sum of x[i]*w[i], computed in the order of the slices and rounded to
// fp16. It follows the definition term by term; [Arithmetic.Reduce] gives the same bits faster.
// DotBias panics if x and w differ in length.
func (a Arithmetic) DotBias(bias float32, x, w []float16.Float16) float16.Float16 {
	if len(x) != len(w) {
		panic(formatLengthError("Dot", "%d inputs and %d weights; want equal numbers", len(x), len(w)))
	}
	var sum accumulator
	sum.setBias(bias, a)
	for i := range x {
		sum.addProduct(a.widenHalf(x[i]), a.widenHalf(w[i]), a)
	}
	return RoundHalf(sum.roundedSum())
}
