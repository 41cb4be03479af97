//go:build amd64 && !purego

package mac

import (
	"math"

	"github.com/x448/float16"
	"golang.org/x/sys/cpu"
)

func levels() []level {
	l := []level{portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasF16C {
		l = append(l, avx2)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
			l = append(l, avx512)
		}
	}
	return l
}

func reduceAt(lv level, acc, panel, taps []float32, lanes, k int, port Port) {
	switch lv {
	case avx512:
		reduceAVX512(acc, panel, taps, lanes, k, port)
	case avx2:
		reduceAVX2(acc, panel, taps, lanes, k, port)
	default:
		reducePortable(acc, panel, taps, lanes, k, port)
	}
}

// reduceAVX512 walks the panel in blocks of columns, so that a block of a usual
// reduction stays in the second-level cache while every tap vector passes over it.
// The wide kernel assumes finite operands and sums below the limit, and reports
// when it was wrong; the block is then computed again with care.
func reduceAVX512(acc, panel, taps []float32, lanes, k int, port Port) {
	const width, wide = 16, 64
	limit, stride := port.Limit(), uintptr(lanes)*4
	l := 0
	for ; l+wide <= lanes; l += wide {
		unsigned := len(acc) > lanes && unsigned64AVX512(&panel[l], k, stride)
		for a, t := acc, taps; len(a) > 0; a, t = a[lanes:], t[k:] {
			void := false
			if sparse(zerosAVX512(&t[0], k), k, unsigned) {
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

// sparse reports whether so many zero taps are worth a branch at each (measured on
// Sapphire Rapids: 1.2 times the speed at 50 % zeros, 2.6 at 75 %; against the shorter
// step of an unsigned panel 1.1 at 60 %, 1.8 at 75 %).
func sparse(zeros, k int, unsigned bool) bool {
	if unsigned {
		return 100*zeros > 55*k
	}
	return 100*zeros > 35*k
}

// reduceAVX2 is reduceAVX512 in smaller blocks. What a sum can reach at most is the
// largest operand times the sum of the taps; below the limit nothing is watched.
func reduceAVX2(acc, panel, taps []float32, lanes, k int, port Port) {
	const width, wide = 8, 32
	limit, stride := port.Limit(), uintptr(lanes)*4
	l := 0
	for ; l+wide <= lanes; l += wide {
		largest := float32(inf)
		if len(acc) >= 4*lanes {
			largest = largest32AVX2(&panel[l], k, stride)
		}
		for a, t := acc, taps; len(a) > 0; a, t = a[lanes:], t[k:] {
			magnitudes, zeros := tapsAVX2(&t[0], k)
			for _, w := range t[k&^7 : k] {
				magnitudes += max(w, -w)
			}
			// The margin is for the roundings of both sums; an infinity or NaN fails.
			bounded := float32(magnitudes*largest) < limit*0.99 && largest < math.MaxFloat32 && magnitudes < 1<<90 && k < 1<<18
			void := false
			switch {
			case sparse(zeros, k, false):
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
				reduceCarefulAVX2(&a[i], &panel[i], &t[0], k, stride, limit, &columnMask[0])
			}
		}
	}
	for ; l < lanes; l += width {
		mask := &columnMask[width-min(width, lanes-l)]
		for a, t := acc, taps; len(a) > 0; a, t = a[lanes:], t[k:] {
			if reduce8AVX2(&a[l], &panel[l], &t[0], k, stride, limit, mask) {
				reduceCarefulAVX2(&a[l], &panel[l], &t[0], k, stride, limit, mask)
			}
		}
	}
}

func reduceRowsAt(lv level, acc, plane []float32, at []int, taps []float32, port Port) {
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
		l = min(l, len(acc)-width) // the last block may do some columns again
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

// columnMask read from index 8-n selects n of eight columns.
var columnMask = [16]int32{-1, -1, -1, -1, -1, -1, -1, -1}

func widenAt(lv level, dst []float32, src []float16.Float16) {
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

func widenExactAt(lv level, dst []float32, src []float16.Float16) {
	n := 0
	if lv != portable {
		if n = len(src) &^ 7; n > 0 {
			widenExactF16C(&dst[0], &src[0], n)
		}
	}
	widenExactPortable(dst[n:], src[n:])
}

func narrowAt(lv level, dst []float16.Float16, acc []float32, p *Post) {
	if lv == portable {
		narrowPortable(dst, acc, p)
		return
	}
	n := len(acc) &^ 7
	if n > 0 {
		floor, top := p.bounds()
		narrowF16C(&dst[0], &acc[0], n, p.Scale, p.Bias, floor, top)
	}
	narrowPortable(dst[n:], acc[n:], p)
}

func evalAt(lv level, dst []float16.Float16, acc []float32, t *Table, r *tableRow) {
	n := 0
	switch {
	case lv == avx512 && t.mode != ModeFraction && t.mode != ModeInteger:
		if n = len(acc) &^ 15; n > 0 {
			evalAVX512(&dst[0], &acc[0], n, t, r)
		}
	case lv != portable && t.mode.straight():
		if n = len(acc) &^ 7; n > 0 {
			evalAVX2(&dst[0], &acc[0], n, t, r)
		}
	}
	evalPortable(dst[n:], acc[n:], t, r)
}

// reduce64AVX512 reduces 64 adjacent columns of a panel whose rows are stride bytes
// apart with the k taps. It reports that the results are void: an operand was
// infinite, or a sum reached the limit.
//
//go:noescape
func reduce64AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// reduce64UnsignedAVX512 is reduce64AVX512 for a panel without a sign bit.
//
//go:noescape
func reduce64UnsignedAVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// unsigned64AVX512 reports that no value of 64 adjacent columns has its sign bit set.
//
//go:noescape
func unsigned64AVX512(panel *float32, k int, stride uintptr) bool

// reduce16AVX512 is reduce64AVX512 for up to 16 columns, those set in mask.
//
//go:noescape
func reduce16AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64) (void bool)

// reduce16x4AVX512 is reduce16AVX512 for four tap vectors at once; the results of
// one follow those of the one before by stride bytes.
//
//go:noescape
func reduce16x4AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64) (void bool)

// reduceSparse64AVX512 is reduce64AVX512 for taps many of which are zero.
//
//go:noescape
func reduceSparse64AVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// zerosAVX512 counts the zeros in the first k&^15 taps.
//
//go:noescape
func zerosAVX512(taps *float32, k int) int

// reduceRows64AVX512 is reduce64AVX512 for rows that start at at[0], at[1], ... in the
// plane.
//
//go:noescape
func reduceRows64AVX512(acc, plane *float32, at *int, taps *float32, k int, limit float32) (void bool)

// reduceRows32AVX2 is reduceRows64AVX512 for 32 columns.
//
//go:noescape
func reduceRows32AVX2(acc, plane *float32, at *int, taps *float32, k int, limit float32) (void bool)

// reduceCarefulAVX512 is reduce16AVX512 for any operands and sums.
//
//go:noescape
func reduceCarefulAVX512(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask uint64)

// reduce32AVX2 is reduce64AVX512 for 32 columns.
//
//go:noescape
func reduce32AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// reduceBounded32AVX2 is reduce32AVX2 where every operand is finite and every sum below
// the limit.
//
//go:noescape
func reduceBounded32AVX2(acc, panel, taps *float32, k int, stride uintptr)

// reduceSparse32AVX2 is reduce32AVX2 for taps many of which are zero.
//
//go:noescape
func reduceSparse32AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32) (void bool)

// largest32AVX2 is the largest magnitude in 32 adjacent columns.
//
//go:noescape
func largest32AVX2(panel *float32, k int, stride uintptr) float32

// tapsAVX2 adds the magnitudes of the first k&^7 taps and counts the zeros.
//
//go:noescape
func tapsAVX2(taps *float32, k int) (sum float32, zeros int)

// reduce8AVX2 is reduce32AVX2 for up to 8 columns, those whose mask is -1.
//
//go:noescape
func reduce8AVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask *int32) (void bool)

// reduceCarefulAVX2 is reduce8AVX2 for any operands and sums.
//
//go:noescape
func reduceCarefulAVX2(acc, panel, taps *float32, k int, stride uintptr, limit float32, mask *int32)

// widenF16C is Widen for n fp16 values, n a positive multiple of 8.
//
//go:noescape
func widenF16C(dst *float32, src *float16.Float16, n int)

// widenExactF16C is WidenExact for n fp16 values, n a positive multiple of 8.
//
//go:noescape
func widenExactF16C(dst *float32, src *float16.Float16, n int)

// narrowF16C takes n accumulators out, n a positive multiple of 8. Values below
// floor become floor; a rounded magnitude above top, as bits, becomes infinity.
//
//go:noescape
func narrowF16C(dst *float16.Float16, acc *float32, n int, scale, bias, floor float32, top uint16)

// evalAVX2 is evalPortable for n values, n a positive multiple of 8, and a table
// whose mode is straight.
//
//go:noescape
func evalAVX2(dst *float16.Float16, acc *float32, n int, t *Table, r *tableRow)

// evalAVX512 is evalPortable for n values, n a positive multiple of 16, in every mode
// but ModeFraction and ModeInteger.
//
//go:noescape
func evalAVX512(dst *float16.Float16, acc *float32, n int, t *Table, r *tableRow)
