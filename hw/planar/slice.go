package planar

import "github.com/x448/float16"

// WidthSliceGain applies the effect of a slice with a non-zero begin on the width axis: each value
// is multiplied by 16, rounded to half, and divided by 16 again (measured at 4094, which survives,
// and 4096, which becomes infinite). The product is exact until it overflows, and the next half
// after 4094 is 4096. So a magnitude of 4096 or more becomes infinity, and all other values are
// unchanged, including denormals and -0. A NaN becomes +Inf.
//
// It processes min(len(dst), len(src)) elements and returns that number. dst and src may be the
// same slice.
func WidthSliceGain(dst, src []float16.Float16) int {
	n := min(len(dst), len(src))
	for i, h := range src[:n] {
		v := narrow(wide[h] * 16)
		dst[i] = narrow(wide[v] / 16)
	}
	return n
}
