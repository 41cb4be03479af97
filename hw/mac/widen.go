package mac

import "github.com/x448/float16"

// Widen loads src as multiply-accumulate operands into dst: NaN becomes +Inf and
// a denormal becomes +0 (both measured); every other half, -0 included, keeps its
// value. dst must be at least as long as src.
func Widen(dst []float32, src []float16.Float16) {
	if len(src) == 0 {
		return
	}
	widenAt(active, dst[:len(src)], src)
}

func widenPortable(dst []float32, src []float16.Float16) {
	for i, h := range src {
		dst[i] = widen(h)
	}
}

// widen is the operand load of one half.
func widen(h float16.Float16) float32 {
	switch abs := h &^ halfSign; {
	case abs > halfInf:
		h = halfInf
	case abs < halfNormal && abs != 0:
		h = 0
	}
	return h.Float32()
}
