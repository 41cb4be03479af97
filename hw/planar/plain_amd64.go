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

// The stages in float64, n a multiple of 4; singleAVX2 reads no source 2.

//go:noescape
func scaledAVX2(dst, a, b *float16.Float16, n int, p *plan)

//go:noescape
func singleAVX2(dst, a, b *float16.Float16, n int, p *plan)

// staged reports whether the vector loops know every stage of the plan.
func (p *plan) staged() bool {
	return vector && p.op <= SumSquare && (p.post == PostNone || p.post == PostAbs)
}

func scaled(dst, a, b []float16.Float16, p *plan) {
	n := 0
	if p.staged() {
		if n = len(dst) &^ 3; n > 0 {
			scaledAVX2(&dst[0], &a[0], &b[0], n, p)
		}
	}
	scaledGo(dst[n:], a[n:], b[n:], p)
}

func single(dst, a []float16.Float16, p *plan) {
	n := 0
	if p.staged() {
		if n = len(dst) &^ 3; n > 0 {
			singleAVX2(&dst[0], &a[0], nil, n, p)
		}
	}
	singleGo(dst[n:], a[n:], p)
}
