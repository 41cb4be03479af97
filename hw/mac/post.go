package mac

import (
	"math"

	"github.com/x448/float16"
)

// A Post describes the steps between the accumulators of an output channel and the fp16 results: a
// scale, a bias, ReLU or an activation table, and one rounding. Post{Scale: 1} only rounds. The
// zero Post is not useful, because it multiplies by 0.
type Post struct {
	Scale float32 // factor, 1 for none; PostScale computes it from the register
	Bias  float32 // addend, 0 for none; AccBias computes it from the register
	ReLU  bool    // replace negative values by 0; not together with Table
	Table *Table  // activation table, nil for none
	Port  Port    // the port through which the fp16 values leave
}

// PostScale returns the factor that the PostScale register encodes, value / 2^rightShift. NaN
// counts as +Inf and a subnormal value as +0, as in [Widen]. The name of the register's field
// suggests that the shift is a division without rounding.
func PostScale(value float16.Float16, rightShift uint) float32 {
	return scaleByPowerOfTwo(widenHalf(value), -int(rightShift&31))
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
// multiplies by the scale, adds the bias, applies ReLU or the table, and rounds to fp16 as the port
// does. Scale and bias are assumed to be separate fp32 operations. Each gives +0 instead of NaN.
// Adding a bias of +0 turns -0 into +0, as measured on silicon.
func (p *Post) Apply(dst []float16.Float16, acc []float32) {
	if len(acc) == 0 {
		return
	}
	dst = dst[:len(acc)]
	if p.Table == nil {
		narrowAtLevel(active, dst, acc, p)
		return
	}
	_, top := p.narrowingBounds()
	row := tableRow{scale: p.Scale, bias: p.Bias, top: top}
	evalAtLevel(active, dst, acc, p.Table, &row)
}

// scaleAndBias returns a*Scale + Bias.
func (p *Post) scaleAndBias(a float32) float32 {
	return addWithoutNaN(multiplyWithoutNaN(a, p.Scale), p.Bias)
}

// narrowingBounds returns two bounds for rounding to fp16. Results below floor become floor, and a
// magnitude whose fp16 bits are above top becomes infinite.
func (p *Post) narrowingBounds() (floor float32, top uint16) {
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
		v := p.scaleAndBias(a)
		if p.ReLU && !(v > 0) {
			v = 0
		}
		dst[i] = p.Port.Narrow(v)
	}
}
