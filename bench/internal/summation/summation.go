package summation

import (
	"math"

	"github.com/x448/float16"
)

// An Arithmetic sums products of fp16 numbers as real chips did in published tests. It is written for
// comparison with the rule, not for speed.
//
//	x, w     fp16, exact
//	x*w      0 if the exponents of x and w sum to less than -16, else rounded to a multiple of 2^-16
//	sum      of the products and the bias, rounded too: exact; infinite from the first partial sum
//	         of a magnitude of 32768 or more
//	result   fp16
//
// All roundings are to nearest, ties away from zero. The generations of chips differ in two
// properties.
//
// The relative errors in vectors/silicon/checksums, of up to 1.5 million sums each, and the single
// results in vectors/silicon/accumulate and reduction support every part. Exceptions are marked as
// assumed in the code.
type Arithmetic struct {
	// RoundLargeTerms is set if large terms cost others their last bits, as on M1: the units sum the
	// terms of each four consecutive products, and two numbers, of which one has a magnitude of
	// 4096 or more, are rounded to fp16's spacing at the larger one before they are added.
	RoundLargeTerms bool
	// KeepInfinities is set if operands can be infinite, as on M1. An operand that is not a number
	// is then +infinity; zero times infinity is 0, and a sum with infinities of both signs is 0.
	// Otherwise the exponent of all ones is an exponent like others, so that 0x7c00 is 65536 and
	// 0x7e00 is 98304.
	KeepInfinities bool
}

// H13 sums as M1 does, and Later as M4 and M6 do. M2 and M5 give the same results as both where they
// were compared.
var (
	H13   = Arithmetic{RoundLargeTerms: true, KeepInfinities: true}
	Later = Arithmetic{}
)

const (
	unit          = 0x1p-16 // of products and sums
	leastExponent = -16     // of a product that counts: the sum of its operands' exponents
	sumLimit      = 0x1p31  // in units: 32768
	largeTerm     = 4096 / unit
	groupSize     = 4 // terms that are added together, if large ones are rounded
)

// Dot returns the sum of the products x[i]*w[i]. The slices must have the same length.
func (a Arithmetic) Dot(x, w []float16.Float16) float16.Float16 { return a.DotBias(0, x, w) }

// DotBias returns bias plus the sum of the products x[i]*w[i]. The slices must have the same length.
func (a Arithmetic) DotBias(bias float32, x, w []float16.Float16) float16.Float16 {
	s := newAccumulator(float64(bias), sumLimit)
	for i := range x {
		s.add(term(a.Value(x[i]), a.Value(w[i])), a.RoundLargeTerms)
	}
	return float16.Fromfloat32(float32(s.result())) // exact
}

// AddProducts adds the sum of panel[k*len(acc)+l]*taps[k] over all k to acc[l], which holds the
// bias, for each l. The operands must be fp16 numbers or infinities. Each sum equals that of
// [Arithmetic.DotBias].
func (a Arithmetic) AddProducts(acc, panel, taps []float64) {
	a.addProducts(acc, panel, taps, sumLimit)
}

// Reduce does the same as [Arithmetic.AddProducts] for any operands, and can be the Reduce of [Options]. It
// rounds operands to fp16 without its limit of range, and sums can be of any magnitude, because an
// engine may split or scale the sums of a graph.
func (a Arithmetic) Reduce(acc, panel, taps []float64) {
	rounded := make([]float64, len(panel)+len(taps))
	for i, v := range panel {
		rounded[i] = roundUnlimited(v)
	}
	for i, v := range taps {
		rounded[len(panel)+i] = roundUnlimited(v)
	}
	a.addProducts(acc, rounded[:len(panel)], rounded[len(panel):], math.Inf(1))
}

func (a Arithmetic) addProducts(acc, panel, taps []float64, limit float64) {
	sums := make([]accumulator, len(acc))
	for l, bias := range acc {
		sums[l] = newAccumulator(bias, limit)
	}
	for k, w := range taps {
		for l, x := range panel[k*len(acc):][:len(acc)] {
			sums[l].add(term(x, w), a.RoundLargeTerms)
		}
	}
	for l := range acc {
		acc[l] = sums[l].result()
	}
}

// Value returns the value of an operand.
func (a Arithmetic) Value(h float16.Float16) float64 {
	switch {
	case h&0x7c00 != 0x7c00:
		return float64(h.Float32())
	case !a.KeepInfinities:
		return math.Copysign(0x1p16*(1+float64(h&0x3ff)/1024), float64(int16(h)))
	case h == 0xfc00:
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// term returns the product of two operands in units, rounded to an integer.
func term(x, w float64) float64 {
	if x == 0 || w == 0 || exponent(x)+exponent(w) < leastExponent {
		return 0
	}
	return roundAway(x * w / unit) // the product has 22 bits and is exact
}

// roundAway rounds v to an integer, ties away from zero. No sum here rounds up to an integer itself: v
// is a float32, a product of two fp16 numbers or an integer of less than 2^52, times a power of two.
func roundAway(v float64) float64 { return math.Trunc(v + math.Copysign(0.5, v)) }

// exponent returns the exponent of an fp16 number: that of its leading bit, or -14 if it is subnormal.
func exponent(v float64) int {
	const mask, bias, fraction = 0x7ff, 1023, 52 // of float64
	return max(int(math.Float64bits(v)>>fraction&mask)-bias, -14)
}

// An accumulator sums terms in the order in which they are added. Its sums are in units.
type accumulator struct {
	sum      float64 // of the bias and of the groups of terms that are complete
	group    float64 // of the terms that are added together
	terms    int     // in group
	limit    float64
	infinite float64 // 0, or the infinity that the sum has become, or NaN if it had both signs
}

// newAccumulator returns an accumulator that starts at a bias. Sums of the given magnitude, in
// units, are infinite.
func newAccumulator(bias, limit float64) accumulator {
	s := accumulator{limit: limit}
	switch {
	case bias != bias:
		s.infinite = math.Inf(1)
		return s
	case math.IsInf(bias, 0):
		s.infinite = bias
		return s
	}
	s.sum = roundAway(bias / unit)
	s.noteOverflow(s.sum)
	return s
}

// add adds a term.
func (s *accumulator) add(t float64, roundLarge bool) {
	if math.IsInf(t, 0) {
		s.infinite += t // assumed: also if the infinity there is an overflow
		t = 0
	}
	switch {
	case s.terms == groupSize:
		s.sum, s.group, s.terms = s.sum+s.group, 0, 0
	case roundLarge && s.terms > 0 && (math.Abs(s.group) >= largeTerm || math.Abs(t) >= largeTerm):
		spacing := math.Ldexp(1, exponent(max(math.Abs(s.group), math.Abs(t)))-10)
		s.group, t = roundAway(s.group/spacing)*spacing, roundAway(t/spacing)*spacing // ties: assumed
	}
	s.terms++
	s.group += t
	s.noteOverflow(s.sum + s.group) // assumed for terms within a group on M1
}

// noteOverflow makes the sum infinite for good if the given value of it is too large.
func (s *accumulator) noteOverflow(sum float64) {
	if math.Abs(sum) >= s.limit && s.infinite == 0 {
		s.infinite = math.Copysign(math.Inf(1), sum)
	}
}

// result returns the sum as an fp16 number, possibly 32768, which as a sum would have been infinite.
// It can exceed fp16's range only if the accumulator has no limit.
func (s *accumulator) result() float64 {
	switch sum := s.sum + s.group; {
	case s.infinite != s.infinite, s.infinite == 0 && sum == 0:
		return 0
	case s.infinite != 0:
		return s.infinite
	default:
		spacing := math.Ldexp(1, exponent(sum)-10)
		if spacing <= 1 { // every multiple of 2^-16 below 2^-5 is an fp16 number
			return sum * unit
		}
		return roundAway(sum/spacing) * spacing * unit
	}
}

// roundUnlimited rounds v to fp16, ties to even, as if fp16 had no largest number.
func roundUnlimited(v float64) float64 {
	const dropped = 1<<42 - 1 // bits of a float64 that a normal fp16 number does not have
	if math.Float64bits(v)&dropped == 0 && math.Abs(v) >= 0x1p-14 || v == 0 || v != v || math.IsInf(v, 0) {
		return v
	}
	spacing := math.Ldexp(1, max(math.Ilogb(v), -14)-10)
	return math.RoundToEven(v/spacing) * spacing
}
