package planar

import "github.com/x448/float16"

// WidthSliceGain is what a slice with a non-zero begin in the width does to
// values on the way: times 16, rounded to half, and divided by 16 again
// (measured at 4094, which survives, and 4096, which becomes infinite). The
// product is exact until it overflows and the next half after 4094 is 4096, so
// the rule in full is: a magnitude of 4096 or more becomes infinity, and
// everything else, denormals and -0 included, stays. A NaN becomes +Inf.
//
// It writes and returns the shorter length of dst and src, which may be the
// same slice.
func WidthSliceGain(dst, src []float16.Float16) int {
	n := min(len(dst), len(src))
	for i, h := range src[:n] {
		v := narrow(wide[h] * 16)
		dst[i] = narrow(wide[v] / 16)
	}
	return n
}
