//go:build arm64 && !purego

package mac

import (
	"math"

	"github.com/x448/float16"
	"golang.org/x/sys/cpu"
)

// supportedLevels returns the levels that this machine supports, slowest first.
func supportedLevels() []level {
	if cpu.ARM64.HasASIMD {
		return []level{portable, neon}
	}
	return []level{portable}
}

func reduceAtLevel(lv level, acc, panel, taps []float32, lanes, k int, port Port) {
	if lv == portable || lanes < 4 {
		reducePortable(acc, panel, taps, lanes, k, port)
		return
	}
	reduceNEON(acc, panel, taps, lanes, k, port)
}

// reduceNEON processes the panel in blocks of columns, with all tap vectors for one block before
// the next. The kernels assume finite operands and sums below the limit. If their results show
// otherwise, the block is computed again by portable code.
func reduceNEON(acc, panel, taps []float32, lanes, k int, port Port) {
	const width, wide = 4, 16
	limit, stride := port.Limit(), uintptr(lanes)*4
	for l := 0; l < lanes; {
		block := wide
		if lanes-l < wide {
			// The last block may overlap the one before. Results do not depend on the values that
			// they overwrite.
			block, l = width, min(l, lanes-width)
		}
		for a, t := acc, taps; len(a) > 0; a, t = a[lanes:], t[k:] {
			var top, exp uint32
			if block == wide {
				top, exp = reduce16NEON(&a[l], &panel[l], &t[0], k, stride)
			} else {
				top, exp = reduce4NEON(&a[l], &panel[l], &t[0], k, stride)
			}
			if top >= math.Float32bits(limit) || exp == 0xff<<23 {
				reduceColumns(a[l:l+block], panel[l:], t[:k], lanes, limit)
			}
		}
		l += block
	}
}

func reduceRowsAtLevel(lv level, acc, plane []float32, at []int, taps []float32, port Port) {
	reduceRowsPacked(lv, acc, plane, at, taps, port)
}

func widenAtLevel(lv level, dst []float32, src []float16.Float16) {
	n := 0
	if lv == neon {
		if n = len(src) &^ 3; n > 0 {
			widenNEON(&dst[0], &src[0], n)
		}
	}
	widenPortable(dst[n:], src[n:])
}

func widenExactAtLevel(_ level, dst []float32, src []float16.Float16) {
	widenExactPortable(dst, src)
}

func narrowAtLevel(lv level, dst []float16.Float16, acc []float32, p *Post) {
	n := 0
	if lv == neon {
		if n = len(acc) &^ 3; n > 0 {
			floor, top := p.narrowingBounds()
			narrowNEON(&dst[0], &acc[0], n, p.Scale, p.Bias, floor, top)
		}
	}
	narrowPortable(dst[n:], acc[n:], p)
}

// evalAtLevel always uses portable code, because NEON has no gather.
func evalAtLevel(_ level, dst []float16.Float16, acc []float32, t *Table, r *tableRow) {
	evalPortable(dst, acc, t, r)
}

// reduce16NEON reduces 16 adjacent columns of a panel with the k taps. The rows of the panel are
// stride bytes apart. It returns the bits of the largest magnitude of an accumulator, and the
// largest exponent field of an operand of the tile adder.
//
//go:noescape
func reduce16NEON(acc, panel, taps *float32, k int, stride uintptr) (top, exp uint32)

// reduce4NEON is like reduce16NEON, for 4 columns.
//
//go:noescape
func reduce4NEON(acc, panel, taps *float32, k int, stride uintptr) (top, exp uint32)

// widenNEON computes [Widen] for n fp16 values. n must be a positive multiple of 4.
//
//go:noescape
func widenNEON(dst *float32, src *float16.Float16, n int)

// narrowNEON converts n accumulators to fp16. n must be a positive multiple of 4. Values below
// floor become floor. A rounded magnitude whose bits are above top becomes infinity.
//
//go:noescape
func narrowNEON(dst *float16.Float16, acc *float32, n int, scale, bias, floor float32, top uint16)
