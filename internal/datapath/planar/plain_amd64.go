//go:build !purego

package planar

import (
	"github.com/x448/float16"
	"golang.org/x/sys/cpu"
)

var (
	hasAVX2   = cpu.X86.HasAVX2 && cpu.X86.HasF16C
	hasAVX512 = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasBMI2
)

// The AVX-512 loops need at least one fp16 value, the AVX2 loops a multiple of 8.

//go:noescape
func addAVX512(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func mulAVX512(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func maxAVX512(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func minAVX512(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func addAVX2(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func mulAVX2(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func maxAVX2(dst, a, b *float16.Float16, n int, m *masks)

//go:noescape
func minAVX2(dst, a, b *float16.Float16, n int, m *masks)

func applyPlain(dst, a, b []float16.Float16, m *masks, op Op) {
	switch {
	case !hasAVX512 || len(dst) == 0:
		applyPlainWithAVX2(dst, a, b, m, op)
	case op == Add:
		addAVX512(&dst[0], &a[0], &b[0], len(dst), m)
	case op == Mul:
		mulAVX512(&dst[0], &a[0], &b[0], len(dst), m)
	case op == Max:
		maxAVX512(&dst[0], &a[0], &b[0], len(dst), m)
	case op == Min:
		minAVX512(&dst[0], &a[0], &b[0], len(dst), m)
	}
}

func applyPlainWithAVX2(dst, a, b []float16.Float16, m *masks, op Op) {
	n := len(dst) &^ 7
	if n == 0 || !hasAVX2 {
		applyPlainGo(dst, a, b, m, op)
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
	applyPlainGo(dst[n:], a[n:], b[n:], m, op)
}

// Loops for all stages, in float64. The AVX-512 loops need at least one fp16 value, the AVX2 loops
// a multiple of 4. The loops for one source do not read b.

//go:noescape
func applyScaledAVX512(dst, a, b *float16.Float16, n int, p *plan)

//go:noescape
func applySingleAVX512(dst, a, b *float16.Float16, n int, p *plan)

//go:noescape
func applyScaledAVX2(dst, a, b *float16.Float16, n int, p *plan)

//go:noescape
func applySingleAVX2(dst, a, b *float16.Float16, n int, p *plan)

// Loops for short plans. They return the number of finished elements: all, or a multiple of 16 if
// float32 cannot decide how a sum among the next 16 rounds.

//go:noescape
func applyShortSumAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)

//go:noescape
func applyShortSingleAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)

//go:noescape
func applyShortProductAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)

//go:noescape
func applyShortMaxAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)

//go:noescape
func applyShortMinAVX512(dst, a, b *float16.Float16, n int, p *plan) (done int)

//go:noescape
func applyShortScaleAVX512(dst, a, b *float16.Float16, n int, p *plan)

// hasVectorLoop reports whether the vector loops support every stage of the plan.
func (p *plan) hasVectorLoop() bool {
	return hasAVX2 && p.op <= SumSquare && (p.post == PostNone || p.post == PostAbs)
}

func applyScaled(dst, a, b []float16.Float16, p *plan) {
	if !hasAVX512 || !p.hasVectorLoop() {
		applyScaledWithAVX2(dst, a, b, p)
		return
	}
	for len(dst) > 0 {
		n := len(dst)
		if p.short && p.unbiased && p.op <= Min {
			if done := applyShort(dst, a, b, p); done > 0 {
				dst, a, b = dst[done:], a[done:], b[done:]
				continue
			}
			n = min(n, 16)
		}
		applyScaledAVX512(&dst[0], &a[0], &b[0], n, p)
		dst, a, b = dst[n:], a[n:], b[n:]
	}
}

func applyShort(dst, a, b []float16.Float16, p *plan) (done int) {
	switch p.op {
	case Add:
		return applyShortSumAVX512(&dst[0], &a[0], &b[0], len(dst), p)
	case Mul:
		return applyShortProductAVX512(&dst[0], &a[0], &b[0], len(dst), p)
	case Max:
		return applyShortMaxAVX512(&dst[0], &a[0], &b[0], len(dst), p)
	}
	return applyShortMinAVX512(&dst[0], &a[0], &b[0], len(dst), p)
}

func applyScaledWithAVX2(dst, a, b []float16.Float16, p *plan) {
	n := 0
	if p.hasVectorLoop() {
		if n = len(dst) &^ 3; n > 0 {
			applyScaledAVX2(&dst[0], &a[0], &b[0], n, p)
		}
	}
	applyScaledGo(dst[n:], a[n:], b[n:], p)
}

// isSingleLoopFast reports whether applySingle is as fast as the plain loops, for a plan that both
// support.
func (p *plan) isSingleLoopFast() bool { return hasAVX512 && p.short }

func applySingle(dst, a []float16.Float16, p *plan) {
	switch {
	case !hasAVX512 || !p.hasVectorLoop():
		applySingleWithAVX2(dst, a, p)
		return
	case p.short && p.unbiased && p.op != SumSquare && len(dst) > 0:
		applyShortScaleAVX512(&dst[0], &a[0], nil, len(dst), p)
		return
	}
	for len(dst) > 0 {
		n := len(dst)
		if p.short && p.op != SumSquare {
			if done := applyShortSingleAVX512(&dst[0], &a[0], nil, n, p); done > 0 {
				dst, a = dst[done:], a[done:]
				continue
			}
			n = min(n, 16)
		}
		applySingleAVX512(&dst[0], &a[0], nil, n, p)
		dst, a = dst[n:], a[n:]
	}
}

func applySingleWithAVX2(dst, a []float16.Float16, p *plan) {
	n := 0
	if p.hasVectorLoop() {
		if n = len(dst) &^ 3; n > 0 {
			applySingleAVX2(&dst[0], &a[0], nil, n, p)
		}
	}
	applySingleGo(dst[n:], a[n:], p)
}
