package mac

import (
	"math"

	"github.com/x448/float16"
)

// A Post describes the steps between the accumulators of an output channel and the fp16 results: a scale,
// a bias, ReLU or an activation table, and one rounding, or three with a table. Post{Scale: 1} only
// rounds. The zero Post is not useful, because it multiplies by 0.
type Post struct {
	Scale float32 // factor, 1 for none; PostScale computes it from the register
	Bias  float32 // addend, 0 for none; AccBias computes it from the register
	ReLU  bool    // replace negative values by 0; not together with Table
	Table *Table  // activation table, nil for none
}

// Start returns the value at which the sums of a multiply-accumulate start, and the steps that remain
// after them. A bias is the first value of a sum (measured on M6), unless the sum is scaled: then it
// is added after the scale (assumed; no public value shows where a scale acts).
func (p *Post) Start() (start float32, rest Post) {
	rest = *p
	if p.Scale != 1 {
		return 0, rest
	}
	rest.Bias = 0
	return p.Bias, rest
}

// PostScale returns the factor that the PostScale register encodes, value / 2^rightShift. NaN
// counts as +Inf, as in [Widen]. The name of the register's field
// suggests that the shift is a division without rounding.
func PostScale(value float16.Float16, rightShift uint) float32 {
	return scaleByPowerOfTwo(H13.widenHalf(value), -int(rightShift&31))
}

// AccBias returns the addend that the AccBias register encodes, value * 2^shift. Subnormal values
// are not replaced by 0: the vendor's rsqrt program stores an epsilon of 1e-6 in this way. NaN
// counts as +Inf. The direction of the shift is assumed, because the shift is 0 in all known
// programs.
func AccBias(value float16.Float16, shift uint) float32 {
	v := value.Float32()
	if v != v {
		v = float32(inf)
	}
	return scaleByPowerOfTwo(v, int(shift&31))
}

// scaleByPowerOfTwo returns v * 2^n. The exponent n must be from -31 to 31.
func scaleByPowerOfTwo(v float32, n int) float32 {
	if n < 0 {
		return v / float32(uint32(1)<<-n)
	}
	return v * float32(uint32(1)<<n)
}

// Apply converts the accumulators acc to results in dst, which must be at least as long. It
// multiplies by the scale, adds the bias, applies ReLU or the table, and rounds to fp16, ties away
// from zero. Scale and bias are assumed to be separate fp32 operations. Each gives +0 instead of NaN.
// Adding a bias of +0 turns -0 into +0, as measured on silicon.
func (p *Post) Apply(dst []float16.Float16, acc []float32) {
	if len(acc) == 0 {
		return
	}
	dst = dst[:len(acc)]
	if p.Table != nil {
		p.Table.evalAccumulators(dst, acc, p.Scale, p.Bias)
		return
	}
	narrowAtLevel(active, dst, acc, p)
}

// applyScaleAndBias returns a*Scale + Bias.
func (p *Post) applyScaleAndBias(a float32) float32 {
	return addWithoutNaN(multiplyWithoutNaN(a, p.Scale), p.Bias)
}

// multiplyWithoutNaN returns x*w in fp32, except that 0 * inf is +0 (measured).
func multiplyWithoutNaN(x, w float32) float32 {
	p := float32(x * w)
	if p != p {
		return 0
	}
	return p
}

// addWithoutNaN returns a+b in fp32, except that inf - inf is +0 (measured).
func addWithoutNaN(a, b float32) float32 {
	s := float32(a + b)
	if s != s {
		return 0
	}
	return s
}

// lowerBound returns the value that replaces results below it.
func (p *Post) lowerBound() float32 {
	if p.ReLU {
		return 0
	}
	return float32(math.Inf(-1))
}

// narrowPortable computes [Post.Apply] without a table.
func narrowPortable(dst []float16.Float16, acc []float32, p *Post) {
	for i, a := range acc {
		v := p.applyScaleAndBias(a)
		if p.ReLU && !(v > 0) {
			v = 0
		}
		dst[i] = RoundHalf(v)
	}
}

// RoundHalf rounds a result to fp16 as a multiply-accumulate does: ties away from zero, over the full
// range of fp16. From the checksums: half to even contradicts them. On M4 and M6 a sum of 32760 leaves
// as 32768, so the limit of the sums is not one of results. NaN becomes +0.
func RoundHalf(v float32) float16.Float16 {
	bits := math.Float32bits(v)
	sign, abs := float16.Float16(bits>>16&halfSign), bits&^(1<<31)
	switch {
	case abs >= 0x47800000: // 65536
		if v != v {
			return 0
		}
		return sign | halfInf
	case abs < 0x38800000: // 2^-14
		return sign | float16.Float16(math.Floor(float64(math.Float32frombits(abs))*(1<<24)+0.5))
	}
	// Add half a unit. A carry out of the significand correctly increments the exponent.
	abs += 0x1000
	return sign | float16.Float16((abs-(127-15)<<23)>>13)
}
