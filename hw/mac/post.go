package mac

import (
	"math"

	"github.com/x448/float16"
)

// Post is what happens to the accumulators of one output channel on their way to
// memory: scale, bias, ReLU or table, one rounding. The zero value scales by
// zero, so Scale is always to be set; Post{Scale: 1} only rounds.
type Post struct {
	Scale float32 // factor, 1 for none; PostScale makes it from the register
	Bias  float32 // addend, 0 for none; AccBias makes it from the register
	ReLU  bool    // cut below zero; not together with Table
	Table *Table  // activation table, nil for none
	Port  Port    // the port that the fp16 values leave through
}

// PostScale is the factor that the PostScale register stands for: an fp16 value
// shifted right. NaN reads as +Inf, a denormal as +0 (Widen). That the shift
// divides the factor, exactly, is inferred from the field's name.
func PostScale(value float16.Float16, rightShift uint) float32 {
	return scaleBy(widen(value), -int(rightShift&31))
}

// AccBias is the addend that the AccBias register stands for: an fp16 value
// shifted left. A denormal counts: the compiler's rsqrt carries its epsilon of 1e-6 as one
// (bytes). NaN reads as +Inf. That the shift goes left is assumed; it is 0 in every real
// task.
func AccBias(value float16.Float16, shift uint) float32 {
	v := value.Float32()
	if v != v {
		v = float32(inf)
	}
	return scaleBy(v, int(shift&31))
}

// scaleBy returns v * 2^n for n in [-31, 31].
func scaleBy(v float32, n int) float32 {
	if n < 0 {
		return v / float32(uint32(1)<<-n)
	}
	return v * float32(uint32(1)<<n)
}

// Apply takes len(acc) accumulators out to dst, which must be at least as long.
// Scale and bias are one fp32 operation each (assumed: the only rounding that is
// known is the last), and each gives +0 where it has no value. A bias of +0 is
// added too, so -0 leaves as +0 (measured for x + 0). Then ReLU, or the table with
// the fp32 sum as its input, and the port.
func (p *Post) Apply(dst []float16.Float16, acc []float32) {
	if len(acc) == 0 {
		return
	}
	dst = dst[:len(acc)]
	if p.Table == nil {
		narrowAt(active, dst, acc, p)
		return
	}
	_, top := p.bounds()
	row := tableRow{scale: p.Scale, bias: p.Bias, top: top}
	evalAt(active, dst, acc, p.Table, &row)
}

func (p *Post) linear(a float32) float32 {
	return sum(product(a, p.Scale), p.Bias)
}

// bounds gives the narrow in two numbers: the floor below every value, 0 with ReLU,
// and the bits of the largest magnitude that stays finite.
func (p *Post) bounds() (floor float32, top uint16) {
	floor, top = float32(math.Inf(-1)), halfMax
	if p.ReLU {
		floor = 0
	}
	if p.Port == PortCeiling {
		top = half32768 - 1
	}
	return floor, top
}

func narrowPortable(dst []float16.Float16, acc []float32, p *Post) {
	for i, a := range acc {
		v := p.linear(a)
		if p.ReLU && !(v > 0) {
			v = 0
		}
		dst[i] = p.Port.Narrow(v)
	}
}
