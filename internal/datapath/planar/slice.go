package planar

import "github.com/x448/float16"

// WidthSliceGain copies src to dst with the side effect of a slice along the width axis that begins
// after the first column: each value is multiplied by 16, rounded to fp16 and divided by 16. A
// magnitude of 4096 or more therefore becomes infinity, and other values do not change, as measured
// on silicon. NaN becomes +Inf. WidthSliceGain processes as many elements as the shorter slice has
// and returns that number. The slices may be the same.
func WidthSliceGain(dst, src []float16.Float16) int {
	n := min(len(dst), len(src))
	for i, h := range src[:n] {
		v := narrowToHalf(wide[h] * 16)
		dst[i] = narrowToHalf(wide[v] / 16)
	}
	return n
}
