//go:build !purego

package planar

import (
	"math"

	"github.com/x448/float16"
)

// The assembly loops need at least one element.

//go:noescape
func addRowAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)

//go:noescape
func addFourRowsAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)

//go:noescape
func minRowAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)

//go:noescape
func minFourRowsAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)

//go:noescape
func maxRowAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)

//go:noescape
func maxFourRowsAVX512(acc *float32, a *float16.Float16, stride uintptr, n int)

//go:noescape
func minOfRunAVX512(acc *[lanes]float32, a *float16.Float16, n int)

//go:noescape
func maxOfRunAVX512(acc *[lanes]float32, a *float16.Float16, n int)

//go:noescape
func sumOfRunsAVX512(acc *[lanes]float32, a *float16.Float16, stride uintptr, n int)

//go:noescape
func minOfRunsAVX512(acc *[lanes]float32, a *float16.Float16, stride uintptr, n int)

//go:noescape
func maxOfRunsAVX512(acc *[lanes]float32, a *float16.Float16, stride uintptr, n int)

func accumulateRows(k Reduction, acc []float32, a []float16.Float16, stride, rows int) {
	if !hasAVX512 {
		accumulateRowsGo(k, acc, a, stride, rows)
		return
	}
	one, four := addRowAVX512, addFourRowsAVX512
	switch k {
	case ReduceMin:
		one, four = minRowAVX512, minFourRowsAVX512
	case ReduceMax:
		one, four = maxRowAVX512, maxFourRowsAVX512
	}
	for i := range acc {
		acc[i] = k.emptyAccumulator().v
	}
	row := 0
	for ; row+4 <= rows; row += 4 {
		four(&acc[0], &a[row*stride], uintptr(stride)*2, len(acc))
	}
	for ; row < rows; row++ {
		one(&acc[0], &a[row*stride], uintptr(stride)*2, len(acc))
	}
	for _, v := range acc {
		if v != v { // an intermediate infinity or NaN
			accumulateRowsGo(k, acc, a, stride, rows)
			return
		}
	}
}

// longRun is the length from which the extreme of a single run is computed faster than the extremes
// of sixteen runs at the same time.
const longRun = 128

func accumulateRuns(k Reduction, acc []float32, a []float16.Float16, n int) {
	beside := hasAVX512 && len(acc) == lanes
	switch {
	case beside && k == ReduceSum:
		sums := [lanes]float32(acc)
		sumOfRunsAVX512(&sums, &a[0], uintptr(n)*2, n)
		for i, v := range sums {
			if v != v { // an intermediate infinity or NaN
				v = accumulateRun(k, acc[i], a[i*n:][:n])
			}
			acc[i] = v
		}
	case beside && n >= 16 && n < longRun && k == ReduceMin:
		minOfRunsAVX512((*[lanes]float32)(acc), &a[0], uintptr(n)*2, n)
	case beside && n >= 16 && n < longRun && k == ReduceMax:
		maxOfRunsAVX512((*[lanes]float32)(acc), &a[0], uintptr(n)*2, n)
	case hasAVX512 && n >= 16 && k != ReduceSum:
		for i := range acc {
			acc[i] = accumulateExtreme(k, acc[i], a[i*n:][:n])
		}
	default:
		accumulateRunsGo(k, acc, a, n)
	}
}

// accumulateExtreme returns the minimum or maximum, as k says, of v and all elements of a.
func accumulateExtreme(k Reduction, v float32, a []float16.Float16) float32 {
	var acc [lanes]float32
	for i := range acc {
		acc[i] = v
	}
	if k == ReduceMin {
		minOfRunAVX512(&acc, &a[0], len(a))
		for _, u := range acc {
			v = min(v, u)
		}
		return v
	}
	maxOfRunAVX512(&acc, &a[0], len(a))
	for _, u := range acc {
		v = max(v, u)
	}
	return v
}

//go:noescape
func narrowRowAVX512(dst *float16.Float16, acc *float32, n int, least float32)

func narrowRow(dst []float16.Float16, acc []float32, relu bool) {
	if !hasAVX512 || len(acc) == 0 {
		narrowRowGo(dst, acc, relu)
		return
	}
	least := float32(math.Inf(-1))
	if relu {
		least = 0
	}
	narrowRowAVX512(&dst[0], &acc[0], len(acc), least)
}
