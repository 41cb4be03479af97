package mac

import (
	"math"

	"github.com/x448/float16"
)

// Widen converts the fp16 values in src to fp32 operands of a multiply-accumulate. NaN becomes +Inf
// and a subnormal value +0, as measured on silicon. All other values, including -0, keep their
// value. The slice dst must be at least as long as src.
func Widen(dst []float32, src []float16.Float16) {
	if len(src) == 0 {
		return
	}
	widenAtLevel(active, dst[:len(src)], src)
}

func widenPortable(dst []float32, src []float16.Float16) {
	for i, h := range src {
		dst[i] = widenHalf(h)
	}
}

// WidenExact converts the fp16 values in src to fp32 operands of operations other than
// multiply-accumulates. NaN becomes +Inf. All other values, including subnormal ones, keep their
// value, as measured on silicon. The slice dst must be at least as long as src.
func WidenExact(dst []float32, src []float16.Float16) {
	if len(src) == 0 {
		return
	}
	widenExactAtLevel(active, dst[:len(src)], src)
}

func widenExactPortable(dst []float32, src []float16.Float16) {
	for i, h := range src {
		if dst[i] = h.Float32(); h.IsNaN() {
			dst[i] = float32(inf)
		}
	}
}

// widenHalf converts a single value as [Widen] does.
func widenHalf(h float16.Float16) float32 {
	sign, abs := uint32(h&halfSign)<<16, uint32(h&^halfSign)
	switch {
	case abs-1 < halfNormal-1: // a denormal; 0 - 1 is large
		return 0
	case abs == 0:
		return math.Float32frombits(sign)
	case abs > halfInf:
		return float32(inf)
	case abs == halfInf:
		return math.Float32frombits(sign | 0xff<<23)
	}
	return math.Float32frombits(sign | abs<<13 + (127-15)<<23)
}
