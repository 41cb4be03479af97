package mac

import (
	"math"

	"github.com/x448/float16"
)

// Widen converts the fp16 values in src to fp32 operands. All values keep their value, including
// denormals and -0, except that NaN becomes +Inf if a keeps infinities, and that otherwise infinities
// and NaNs become the numbers that a reads for them. The slice dst must be at least as long as src.
func (a Arithmetic) Widen(dst []float32, src []float16.Float16) {
	if len(src) == 0 {
		return
	}
	dst = dst[:len(src)]
	widenAtLevel(active, dst, src)
	if a.KeepsInfinity {
		return
	}
	for i, h := range src {
		if h&halfInf == halfInf {
			dst[i] = a.widenHalf(h)
		}
	}
}

// Widen converts the fp16 values in src to fp32 as [H13] reads operands.
func Widen(dst []float32, src []float16.Float16) { H13.Widen(dst, src) }

// widenHalf converts a single value as [Arithmetic.Widen] does.
func (a Arithmetic) widenHalf(h float16.Float16) float32 {
	if h&halfInf != halfInf {
		return h.Float32()
	}
	if a.KeepsInfinity {
		return widenInfinity(h)
	}
	sign, abs := uint32(h&halfSign)<<16, uint32(h&^halfSign)
	return math.Float32frombits(sign | abs<<13 + (127-15)<<23)
}

// widenInfinity converts an infinity or a NaN, which becomes +Inf (measured on M1).
func widenInfinity(h float16.Float16) float32 {
	if h == halfSign|halfInf {
		return float32(-inf)
	}
	return float32(inf)
}

// widenPortable converts values as [H13] does.
func widenPortable(dst []float32, src []float16.Float16) {
	for i, h := range src {
		dst[i] = H13.widenHalf(h)
	}
}
