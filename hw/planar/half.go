package planar

import (
	"math"

	"github.com/x448/float16"
)

const (
	signBit  float16.Float16 = 0x8000
	infinity float16.Float16 = 0x7c00
	one      float16.Float16 = 0x3c00
)

// wide holds every half as a float32. NaN is mapped to +Inf, as by the engine's input port
// (measured). The table does not change after initialization.
var wide [1 << 16]float32

func init() {
	for i := range wide {
		h := float16.Float16(i)
		if h.IsNaN() {
			h = infinity
		}
		wide[i] = h.Float32()
	}
}

// narrowToHalf rounds f to the nearest fp16 value, ties to even. Magnitudes from 65520 on become
// infinite. NaN, which no stage produces, becomes +0.
func narrowToHalf(f float32) float16.Float16 {
	const least, beyond = 113 << 23, 143 << 23 // 2^-14 and 2^16
	u := math.Float32bits(f)
	s, m := uint16(u>>16)&0x8000, u&0x7fffffff
	if m-least < beyond-least {
		m += 0xfff + m>>13&1
		return float16.Float16(s | uint16(m>>13-112<<10))
	}
	return narrowOutsideNormal(s, m)
}

// narrowOutsideNormal rounds a value that is too small or too large for a normal fp16 value. The
// value has sign s and magnitude bits m.
func narrowOutsideNormal(s uint16, m uint32) float16.Float16 {
	switch {
	case m > 0x7f800000:
		return 0
	case m >= 143<<23:
		return float16.Float16(s) | infinity
	}
	// The unit in the last place of 0.5 is 2^-24, the smallest half, so the addition rounds.
	t := math.Float32frombits(m) + 0.5
	return float16.Float16(s | uint16(math.Float32bits(t)-126<<23))
}

// narrowFloat64 rounds a float64 once. The intermediate float32 is rounded to odd: a value between
// two float32 becomes the odd one, so the second rounding does not lose information. Branches here
// would be mispredicted half of the time.
func narrowFloat64(v float64) float16.Float16 {
	f := float32(v)
	const magnitude = 1<<63 - 1
	d := int64(math.Float64bits(v)&magnitude) - int64(math.Float64bits(float64(f))&magnitude)
	below, inexact := uint32(d>>63), uint32((d|-d)>>63)
	return narrowToHalf(math.Float32frombits(math.Float32bits(f) + below | inexact&1))
}
