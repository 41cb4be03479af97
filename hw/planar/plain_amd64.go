//go:build !purego

package planar

import (
	"github.com/x448/float16"
	"golang.org/x/sys/cpu"
)

var vector = cpu.X86.HasAVX2 && cpu.X86.HasF16C

// The vector loops take n fp16 values, a multiple of 8.

//go:noescape
func addAVX2(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func mulAVX2(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func maxAVX2(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func minAVX2(dst, a, b *float16.Float16, n int, m *masks)

func plain(dst, a, b []float16.Float16, m *masks, op Op) {
	n := len(dst) &^ 7
	if n == 0 || !vector {
		plainGo(dst, a, b, m, op)
		return
	}
	switch op {
	case Add:
		addAVX2(&dst[0], &a[0], &b[0], n, m)
	case Mul:
		mulAVX2(&dst[0], &a[0], &b[0], n, m)
	case Max:
		maxAVX2(&dst[0], &a[0], &b[0], n, m)
	case Min:
		minAVX2(&dst[0], &a[0], &b[0], n, m)
	}
	plainGo(dst[n:], a[n:], b[n:], m, op)
}
