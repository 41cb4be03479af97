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

// narrowToHalf rounds f to fp16 in two steps, both with ties away from zero: to 11 significant bits,
// and then, below 2^-14, to a multiple of 2^-24. A sum of two fp16 values needs only the first step,
// because it is a multiple of 2^-24; a product may need both. That there are two steps was measured on
// M1: 25 iterations of Jacobi's method agree with a published checksum to seven digits with two steps,
// and to five with one. Magnitudes from 65520 on become infinite. NaN, which no stage produces,
// becomes +0.
func narrowToHalf(f float32) float16.Float16 {
	const least, beyond = 113 << 23, 143 << 23 // 2^-14 and 2^16
	u := math.Float32bits(f)
	s, m := uint16(u>>16)&0x8000, u&0x7fffffff
	if m > 0x7f800000 {
		return 0
	}
	m = (m + 0x1000) &^ 0x1fff
	switch {
	case m-least < beyond-least:
		return float16.Float16(s | uint16(m>>13-112<<10))
	case m >= beyond:
		return float16.Float16(s) | infinity
	}
	return float16.Float16(s | uint16(float32(math.Float32frombits(m)*(1<<24))+0.5))
}

// narrowFloat64 is like narrowToHalf. A float32 can hold every value of 11 significant bits that does
// not become zero or infinite.
func narrowFloat64(v float64) float16.Float16 {
	const unit = 1 << (53 - 11)
	return narrowToHalf(float32(math.Float64frombits((math.Float64bits(v) + unit/2) &^ (unit - 1))))
}
