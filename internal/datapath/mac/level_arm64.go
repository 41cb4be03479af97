//go:build arm64 && !purego

package mac

import (
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

// maxStripLanes is the largest number of lanes in a strip.
const maxStripLanes = minStripLanes

// stripLanes returns the number of lanes that the kernels multiply at once.
func stripLanes(level, int) int { return minStripLanes }

// addBlock adds the products of a block with a strip of the given number of lanes to its integer sums.
func addBlock(b *block, _ int, f form) {
	switch f {
	case fused:
		addFusedNEON(b)
	case masked:
		addMaskedNEON(b)
	default:
		addConvertedNEON(b)
	}
}

// addRowBlock adds the products of a block of rows to its integer sums.
func addRowBlock(_ level, b *rowBlock, f form) {
	switch f {
	case fused:
		addRowsFusedNEON(b)
	case masked:
		addRowsMaskedNEON(b)
	default:
		addRowsConvertedNEON(b)
	}
}

// findExtremesAtLevel computes findExtremesPortable.
func findExtremesAtLevel(lv level, panel []float32) (largest, smallest uint32) {
	n := 0
	if lv != portable {
		n = len(panel) &^ 7
	}
	largest, smallest = findExtremesPortable(panel[n:])
	if n > 0 {
		l, s := findExtremesNEON(&panel[0], n)
		largest, smallest = max(largest, l), min(smallest, s)
	}
	return largest, smallest
}

// finishAtLevel computes finishPortable.
func finishAtLevel(lv level, acc []float32) {
	n := 0
	if lv != portable {
		n = len(acc) &^ 3
	}
	if n > 0 {
		finishNEON(&acc[0], n)
	}
	finishPortable(acc[n:])
}

// prepareAtLevel computes preparePortable.
func prepareAtLevel(lv level, weights []weight, widened []float32) digest {
	n := 0
	if lv != portable {
		n = len(widened) &^ 3
	}
	d := preparePortable(weights[n:], widened[n:])
	if n > 0 {
		var e digest
		prepareNEON(&weights[0], &widened[0], n, &e)
		d = d.merge(e)
	}
	return d
}

func widenAtLevel(lv level, dst []float32, src []float16.Float16) {
	n := 0
	if lv != portable {
		if n = len(src) &^ 7; n > 0 {
			widenNEON(&dst[0], &src[0], n)
		}
	}
	widenPortable(dst[n:], src[n:])
}

func narrowAtLevel(lv level, dst []float16.Float16, acc []float32, p *Post) {
	n := 0
	if lv != portable {
		if n = len(acc) &^ 3; n > 0 {
			narrowNEON(&dst[0], &acc[0], n, p.Scale, p.Bias, max(p.lowerBound(), -65536))
		}
	}
	narrowPortable(dst[n:], acc[n:], p)
}

// addFusedNEON adds the products of a block with a strip of 16 lanes to its sums, in the form fused.
//
//go:noescape
func addFusedNEON(b *block)

// addMaskedNEON adds the products of a block to its sums, in the form masked.
//
//go:noescape
func addMaskedNEON(b *block)

// addConvertedNEON adds the products of a block to its sums, in the form converted.
//
//go:noescape
func addConvertedNEON(b *block)

// addRowsFusedNEON adds the products of a block of rows to its sums, in the form fused.
//
//go:noescape
func addRowsFusedNEON(b *rowBlock)

// addRowsMaskedNEON adds the products of a block of rows to its sums, in the form masked.
//
//go:noescape
func addRowsMaskedNEON(b *rowBlock)

// addRowsConvertedNEON adds the products of a block of rows to its sums, in the form converted.
//
//go:noescape
func addRowsConvertedNEON(b *rowBlock)

// finishNEON computes finishPortable for n sums. n must be a positive multiple of 4.
//
//go:noescape
func finishNEON(acc *float32, n int)

// findExtremesNEON computes findExtremesPortable for n operands. n must be a positive multiple of 8.
//
//go:noescape
func findExtremesNEON(panel *float32, n int) (largest, smallest uint32)

// prepareNEON computes preparePortable for n weights and sets d to its result. n must be a positive
// multiple of 4.
//
//go:noescape
func prepareNEON(weights *weight, widened *float32, n int, d *digest)

// widenNEON computes [Widen] for n fp16 values. n must be a positive multiple of 8.
//
//go:noescape
func widenNEON(dst *float32, src *float16.Float16, n int)

// narrowNEON computes narrowPortable for n accumulators. n must be a positive multiple of 4. Values
// below low become low, which must be at least -65536: that leaves as -Inf.
//
//go:noescape
func narrowNEON(dst *float16.Float16, acc *float32, n int, scale, bias, low float32)
