//go:build amd64 && !purego

package mac

import (
	"math"

	"github.com/x448/float16"
	"golang.org/x/sys/cpu"
)

// supportedLevels returns the levels that this machine supports, slowest first.
func supportedLevels() []level {
	l := []level{portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasF16C {
		l = append(l, avx2)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
			l = append(l, avx512)
		}
	}
	return l
}

func reduceAtLevel(lv level, acc, panel, taps []float32, lanes, k int, port Port) {
	switch lv {
	case avx512:
		reduceAVX512(acc, panel, taps, lanes, k, port)
	case avx2:
		reduceAVX2(acc, panel, taps, lanes, k, port)
	default:
		reducePortable(acc, panel, taps, lanes, k, port)
	}
}

// reduceAVX512 processes the panel in blocks of columns, so that a block of a typical reduction
// stays in the second-level cache for all tap vectors. The fast kernel assumes finite operands and
// sums below the limit, and reports if that was wrong. The block is then computed again by the
// careful kernel.
func reduceAVX512(acc, panel, taps []float32, lanes, k int, port Port) {
	const width, wide = 16, 64
	limit, stride := port.Limit(), uintptr(lanes)*4
	l := 0
	for ; l+wide <= lanes; l += wide {
		unsigned := len(acc) > lanes && isUnsigned64AVX512(&panel[l], k, stride)
		for a, t := acc, taps; len(a) > 0; a, t = a[lanes:], t[k:] {
			void := false
			if isSparse(countZerosAVX512(&t[0], k), k, unsigned) {
				void = reduceSparse64AVX512(&a[l], &panel[l], &t[0], k, stride, limit)
			} else if unsigned {
				void = reduce64UnsignedAVX512(&a[l], &panel[l], &t[0], k, stride, limit)
			} else {
				void = reduce64AVX512(&a[l], &panel[l], &t[0], k, stride, limit)
			}
			if !void {
				continue
			}
			for i := l; i < l+wide; i += width {
				reduceCarefulAVX512(&a[i], &panel[i], &t[0], k, stride, limit, 1<<width-1)
			}
		}
	}
	for ; l < lanes; l += width {
		mask := uint64(1)<<min(width, lanes-l) - 1
		a, t := acc, taps
		for ; len(a) >= 4*lanes; a, t = a[4*lanes:], t[4*k:] {
			if !reduce16x4AVX512(&a[l], &panel[l], &t[0], k, stride, limit, mask) {
				continue
			}
			for m := range 4 {
				reduceCarefulAVX512(&a[m*lanes+l], &panel[l], &t[m*k], k, stride, limit, mask)
			}
		}
		for ; len(a) > 0; a, t = a[lanes:], t[k:] {
			if reduce16AVX512(&a[l], &panel[l], &t[0], k, stride, limit, mask) {
				reduceCarefulAVX512(&a[l], &panel[l], &t[0], k, stride, limit, mask)
			}
		}
	}
}

// isSparse reports whether so many of k taps are zero that testing each tap is faster than
// multiplying by it. Measured on Sapphire Rapids: 1.2 times the speed at 50 % zeros, 2.6 times at
// 75 %; compared with the faster kernel for an unsigned panel 1.1 times at 60 %, 1.8 times at 75 %.
func isSparse(zeros, k int, unsigned bool) bool {
	if unsigned {
		return 100*zeros > 55*k
	}
	return 100*zeros > 35*k
}

// reduceAVX2 is like reduceAVX512, but with smaller blocks. If the largest operand times the sum of
// the taps' magnitudes is below the limit, no sum can reach it, and a kernel without checks is
// used.
func reduceAVX2(acc, panel, taps []float32, lanes, k int, port Port) {
	const width, wide = 8, 32
	limit, stride := port.Limit(), uintptr(lanes)*4
	l := 0
	for ; l+wide <= lanes; l += wide {
		largest := float32(inf)
		if len(acc) >= 4*lanes {
			largest = findLargest32AVX2(&panel[l], k, stride)
		}
		for a, t := acc, taps; len(a) > 0; a, t = a[lanes:], t[k:] {
			magnitudes, zeros := sumTapsAVX2(&t[0], k)
			for _, w := range t[k&^7 : k] {
				magnitudes += max(w, -w)
			}
			// The margin covers the rounding of both sums. An infinity or a NaN fails the test.
			bounded := float32(magnitudes*largest) < limit*0.99 && largest < math.MaxFloat32 && magnitudes < 1<<90 && k < 1<<18
			void := false
			switch {
			case isSparse(zeros, k, false):
				void = reduceSparse32AVX2(&a[l], &panel[l], &t[0], k, stride, limit)
			case bounded:
				reduceBounded32AVX2(&a[l], &panel[l], &t[0], k, stride)
			default:
				void = reduce32AVX2(&a[l], &panel[l], &t[0], k, stride, limit)
			}
			if !void {
				continue
			}
			for i := l; i < l+wide; i += width {
				reduceCheckedAVX2(&a[i], &panel[i], &t[0], k, stride, limit, &columnMask[0])
			}
		}
	}
	for ; l < lanes; l += width {
		mask := &columnMask[width-min(width, lanes-l)]
		for a, t := acc, taps; len(a) > 0; a, t = a[lanes:], t[k:] {
			if reduce8AVX2(&a[l], &panel[l], &t[0], k, stride, limit, mask) {
				reduceCheckedAVX2(&a[l], &panel[l], &t[0], k, stride, limit, mask)
			}
		}
	}
}

func reduceRowsAtLevel(lv level, acc, plane []float32, at []int, taps []float32, port Port) {
	width := 0
	switch lv {
	case avx512:
		width = 64
	case avx2:
		width = 32
	}
	if width == 0 || len(acc) < width {
		reduceRowsPacked(lv, acc, plane, at, taps, port)
		return
	}
	for l := 0; l < len(acc); l += width {
		l = min(l, len(acc)-width) // the last block may overlap the one before
		a, p := acc[l:l+width], plane[l:]
		void := false
		if lv == avx512 {
			void = reduceRows64AVX512(&a[0], &p[0], &at[0], &taps[0], len(taps), port.Limit())
		} else {
			void = reduceRows32AVX2(&a[0], &p[0], &at[0], &taps[0], len(taps), port.Limit())
		}
		if void {
			reduceRowsPacked(lv, a, p, at, taps, port)
		}
	}
}

// columnMask selects n of eight columns if it is read from index 8-n.
var columnMask = [16]int32{-1, -1, -1, -1, -1, -1, -1, -1}

func widenAtLevel(lv level, dst []float32, src []float16.Float16) {
	if lv == portable {
		widenPortable(dst, src)
		return
	}
	n := len(src) &^ 7
	if n > 0 {
		widenF16C(&dst[0], &src[0], n)
	}
	widenPortable(dst[n:], src[n:])
}

func widenExactAtLevel(lv level, dst []float32, src []float16.Float16) {
	n := 0
	if lv != portable {
		if n = len(src) &^ 7; n > 0 {
			widenExactF16C(&dst[0], &src[0], n)
		}
	}
	widenExactPortable(dst[n:], src[n:])
}

func narrowAtLevel(lv level, dst []float16.Float16, acc []float32, p *Post) {
	if lv == portable {
		narrowPortable(dst, acc, p)
		return
	}
	n := len(acc) &^ 7
	if n > 0 {
		floor, top := p.narrowingBounds()
		narrowF16C(&dst[0], &acc[0], n, p.Scale, p.Bias, floor, top)
	}
	narrowPortable(dst[n:], acc[n:], p)
}

func evalAtLevel(lv level, dst []float16.Float16, acc []float32, t *Table, r *tableRow) {
	n := 0
	switch {
	case lv == avx512 && t.mode != ModeFraction && t.mode != ModeInteger:
		if n = len(acc) &^ 15; n > 0 {
			evalAVX512(&dst[0], &acc[0], n, t, r)
		}
	case lv != portable && t.mode.isStraight():
		if n = len(acc) &^ 7; n > 0 {
			evalAVX2(&dst[0], &acc[0], n, t, r)
		}
	}
	evalPortable(dst[n:], acc[n:], t, r)
}

// reduce64AVX512 reduces 64 adjacent columns of a panel with the k taps. The rows of the panel are
// stride bytes apart. It returns true if the results are void because an operand was infinite or a
// sum reached the limit.
//
//go:noescape
func reduce64AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// reduce64UnsignedAVX512 is like reduce64AVX512, for a panel in which no sign bit is set.
//
//go:noescape
func reduce64UnsignedAVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// isUnsigned64AVX512 reports whether no value of 64 adjacent columns has its sign bit set.
//
//go:noescape
func isUnsigned64AVX512(panel *float32, k int, stride uintptr) bool

// reduce16AVX512 is like reduce64AVX512, for up to 16 columns: those whose bit is set in mask.
//
//go:noescape
func reduce16AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64) (void bool)

// reduce16x4AVX512 is like reduce16AVX512, for four tap vectors at once. The results of consecutive
// vectors are stride bytes apart.
//
//go:noescape
func reduce16x4AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64) (void bool)

// reduceSparse64AVX512 is like reduce64AVX512, for taps with many zeros.
//
//go:noescape
func reduceSparse64AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// countZerosAVX512 returns the number of zeros in the first k&^15 taps.
//
//go:noescape
func countZerosAVX512(taps *float32, k int) int

// reduceRows64AVX512 is like reduce64AVX512, for rows that start at at[0], at[1], ... in the plane.
//
//go:noescape
func reduceRows64AVX512(acc, plane *float32, at *int, taps *float32, k int, limit float32) (void bool)

// reduceRows32AVX2 is like reduceRows64AVX512, for 32 columns.
//
//go:noescape
func reduceRows32AVX2(acc, plane *float32, at *int, taps *float32, k int, limit float32) (void bool)

// reduceCarefulAVX512 is like reduce16AVX512, for any operands and sums.
//
//go:noescape
func reduceCarefulAVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64)

// reduce32AVX2 is like reduce64AVX512, for 32 columns.
//
//go:noescape
func reduce32AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// reduceBounded32AVX2 is like reduce32AVX2, for finite operands and sums below the limit.
//
//go:noescape
func reduceBounded32AVX2(acc, panel, taps *float32, k int, stride uintptr)

// reduceSparse32AVX2 is like reduce32AVX2, for taps with many zeros.
//
//go:noescape
func reduceSparse32AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// findLargest32AVX2 returns the largest magnitude among 32 adjacent columns of a panel.
//
//go:noescape
func findLargest32AVX2(panel *float32, k int, stride uintptr) float32

// sumTapsAVX2 returns the sum of the magnitudes of the first k&^7 taps, and the number of zeros in
// them.
//
//go:noescape
func sumTapsAVX2(taps *float32, k int) (sum float32, zeros int)

// reduce8AVX2 is like reduce32AVX2, for up to 8 columns: those whose mask is -1.
//
//go:noescape
func reduce8AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask *int32) (void bool)

// reduceCheckedAVX2 is like reduce8AVX2, for any operands and sums.
//
//go:noescape
func reduceCheckedAVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask *int32)

// widenF16C computes [Widen] for n fp16 values. n must be a positive multiple of 8.
//
//go:noescape
func widenF16C(dst *float32, src *float16.Float16, n int)

// widenExactF16C computes [WidenExact] for n fp16 values. n must be a positive multiple of 8.
//
//go:noescape
func widenExactF16C(dst *float32, src *float16.Float16, n int)

// narrowF16C converts n accumulators to fp16. n must be a positive multiple of 8. Values below
// floor become floor. A rounded magnitude whose bits are above top becomes infinity.
//
//go:noescape
func narrowF16C(dst *float16.Float16, acc *float32, n int, scale, bias, floor float32, top uint16)

// evalAVX2 is like evalPortable, for n values and a table whose mode is straight. n must be a
// positive multiple of 8.
//
//go:noescape
func evalAVX2(dst *float16.Float16, acc *float32, n int, t *Table, r *tableRow)

// evalAVX512 is like evalPortable, for n values in every mode except ModeFraction and ModeInteger.
// n must be a positive multiple of 16.
//
//go:noescape
func evalAVX512(dst *float16.Float16, acc *float32, n int, t *Table, r *tableRow)
