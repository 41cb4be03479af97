//go:build amd64 && !purego

package mac

import (
	"github.com/x448/float16"
	"golang.org/x/sys/cpu"
)

// supportedLevels returns the levels that this machine supports, slowest first.
func supportedLevels() []level {
	l := []level{portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasF16C && cpu.X86.HasFMA {
		l = append(l, avx2)
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL {
			l = append(l, avx512)
		}
	}
	return l
}

// maxStripLanes is the largest number of lanes in a strip.
const maxStripLanes = 32

// stripLanes returns the number of lanes that the kernels of level lv multiply at once, if a panel has
// the given number of lanes left, at least minStripLanes.
func stripLanes(lv level, lanes int) int {
	if lv == avx512 && lanes >= maxStripLanes {
		return maxStripLanes
	}
	return minStripLanes
}

// addBlock adds the products of a block with a strip of the given number of lanes to its integer sums.
func addBlock(b *block, lanes int, f form) {
	switch wide := lanes == maxStripLanes; {
	case f == fused && wide:
		addFusedAVX512(b)
	case f == fused:
		addFusedAVX2(b)
	case f == masked && wide:
		addMaskedAVX512(b)
	case f == masked:
		addMaskedAVX2(b)
	case wide:
		addConvertedAVX512(b)
	default:
		addConvertedAVX2(b)
	}
}

// addRowBlock adds the products of a block of rows to its integer sums.
func addRowBlock(lv level, b *rowBlock, f form) {
	switch wide := lv == avx512; {
	case f == fused && wide:
		addRowsFusedAVX512(b)
	case f == fused:
		addRowsFusedAVX2(b)
	case f == masked && wide:
		addRowsMaskedAVX512(b)
	case f == masked:
		addRowsMaskedAVX2(b)
	case wide:
		addRowsConvertedAVX512(b)
	default:
		addRowsConvertedAVX2(b)
	}
}

// findExtremesAtLevel computes findExtremesPortable.
func findExtremesAtLevel(lv level, panel []float32) (largest, smallest uint32) {
	n := 0
	if lv != portable {
		n = len(panel) &^ 15
	}
	largest, smallest = findExtremesPortable(panel[n:])
	if n > 0 {
		l, s := findExtremesAVX2(&panel[0], n)
		largest, smallest = max(largest, l), min(smallest, s)
	}
	return largest, smallest
}

// finishAtLevel computes finishPortable.
func finishAtLevel(lv level, acc []float32) {
	n := 0
	if lv != portable {
		n = len(acc) &^ 7
	}
	if n > 0 {
		finishAVX2(&acc[0], n)
	}
	finishPortable(acc[n:])
}

// prepareAtLevel computes preparePortable.
func prepareAtLevel(lv level, weights []weight, widened []float32) digest {
	n := 0
	if lv != portable {
		n = len(widened) &^ 7
	}
	d := preparePortable(weights[n:], widened[n:])
	if n > 0 {
		var e digest
		prepareAVX2(&weights[0], &widened[0], n, &e)
		d = d.merge(e)
	}
	return d
}

func widenAtLevel(lv level, dst []float32, src []float16.Float16) {
	const width = 8
	if lv == portable || len(src) < width {
		widenPortable(dst, src)
		return
	}
	widenF16C(&dst[0], &src[0], len(src)&^(width-1))
	if last := len(src) - width; len(src)%width > 0 {
		widenF16C(&dst[last], &src[last], width) // some of them a second time
	}
}

func narrowAtLevel(lv level, dst []float16.Float16, acc []float32, p *Post) {
	n := 0
	if lv != portable {
		if n = len(acc) &^ 7; n > 0 {
			narrowAVX2(&dst[0], &acc[0], n, p.Scale, p.Bias, max(p.lowerBound(), -65536))
		}
	}
	narrowPortable(dst[n:], acc[n:], p)
}

// addFusedAVX2 adds the products of a block with a strip of 16 lanes to its sums, in the form fused.
//
//go:noescape
func addFusedAVX2(b *block)

// addMaskedAVX2 adds the products of a block to its sums, in the form masked.
//
//go:noescape
func addMaskedAVX2(b *block)

// addConvertedAVX2 adds the products of a block to its sums, in the form converted.
//
//go:noescape
func addConvertedAVX2(b *block)

// addRowsFusedAVX2 adds the products of a block of rows to its sums, in the form fused.
//
//go:noescape
func addRowsFusedAVX2(b *rowBlock)

// addRowsMaskedAVX2 adds the products of a block of rows to its sums, in the form masked.
//
//go:noescape
func addRowsMaskedAVX2(b *rowBlock)

// addRowsConvertedAVX2 adds the products of a block of rows to its sums, in the form converted.
//
//go:noescape
func addRowsConvertedAVX2(b *rowBlock)

// addFusedAVX512 is like addFusedAVX2, for strips of 32 lanes.
//
//go:noescape
func addFusedAVX512(b *block)

// addMaskedAVX512 adds the products of a block to its sums, in the form masked.
//
//go:noescape
func addMaskedAVX512(b *block)

// addConvertedAVX512 adds the products of a block to its sums, in the form converted.
//
//go:noescape
func addConvertedAVX512(b *block)

// addRowsFusedAVX512 is addRowsFusedAVX2 with AVX-512.
//
//go:noescape
func addRowsFusedAVX512(b *rowBlock)

// addRowsMaskedAVX512 is addRowsMaskedAVX2 with AVX-512.
//
//go:noescape
func addRowsMaskedAVX512(b *rowBlock)

// addRowsConvertedAVX512 is addRowsConvertedAVX2 with AVX-512.
//
//go:noescape
func addRowsConvertedAVX512(b *rowBlock)

// finishAVX2 computes finishPortable for n sums. n must be a positive multiple of 8.
//
//go:noescape
func finishAVX2(acc *float32, n int)

// findExtremesAVX2 computes findExtremesPortable for n operands. n must be a positive multiple of 16.
//
//go:noescape
func findExtremesAVX2(panel *float32, n int) (largest, smallest uint32)

// prepareAVX2 computes preparePortable for n weights and sets d to its result. n must be a positive
// multiple of 8.
//
//go:noescape
func prepareAVX2(weights *weight, widened *float32, n int, d *digest)

// widenF16C computes [Widen] for n fp16 values. n must be a positive multiple of 8.
//
//go:noescape
func widenF16C(dst *float32, src *float16.Float16, n int)

// narrowAVX2 computes narrowPortable for n accumulators. n must be a positive multiple of 8. Values
// below low become low, which must be at least -65536: that leaves as -Inf.
//
//go:noescape
func narrowAVX2(dst *float16.Float16, acc *float32, n int, scale, bias, low float32)
