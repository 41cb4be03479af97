package planar

import (
	"math"

	"github.com/x448/float16"
)

// applyPlainGo computes one of the four simple operations in a task whose scales have no effect.
//
// Float32 is sufficient: it represents a product of two fp16 values exactly. A sum is inexact only if
// one term is less than 2^-12 of the other. Then it is far from the middle of two fp16 values, and
// float32 rounds it to the same side. Adding +0 models the bias adder.
func applyPlainGo(dst, a, b []float16.Float16, m *masks, op Op) {
	a, b = a[:len(dst)], b[:len(dst)]
	switch op {
	case Add:
		for i := range dst {
			x, y := m.loadSources(a[i], b[i])
			dst[i] = m.narrowResult(x + y)
		}
	case Mul:
		for i := range dst {
			x, y := m.loadSources(a[i], b[i])
			dst[i] = m.narrowResult(float32(x * y))
		}
	case Max:
		for i := range dst {
			x, y := m.loadSources(a[i], b[i])
			u, v := math.Float32bits(x), math.Float32bits(y)
			// Of -0 and +0, either may win: narrowResult turns -0 into +0.
			if orderKey(v) > orderKey(u) {
				u = v
			}
			dst[i] = m.narrowResult(math.Float32frombits(u))
		}
	case Min:
		for i := range dst {
			x, y := m.loadSources(a[i], b[i])
			u, v := math.Float32bits(x), math.Float32bits(y)
			if orderKey(v) < orderKey(u) {
				u = v
			}
			dst[i] = m.narrowResult(math.Float32frombits(u))
		}
	}
}

// loadSources widens a and b and applies the sign and ReLU masks of the sources.
func (m *masks) loadSources(a, b float16.Float16) (x, y float32) {
	x = math.Float32frombits(math.Float32bits(wide[a]) ^ m.flip1)
	u := math.Float32bits(wide[b])
	u &^= uint32(int32(u)>>31) & m.relu2
	return x, math.Float32frombits(u ^ m.flip2)
}

// applyScaledGo computes a two-source task with all stages.
func applyScaledGo(dst, a, b []float16.Float16, p *plan) {
	for i := range dst {
		dst[i] = p.finishElement(p.combineSources(p.loadFirst(a[i]), p.loadSecond(b[i])))
	}
}

// applySingleGo computes a one-source task with all stages.
func applySingleGo(dst, a []float16.Float16, p *plan) {
	for i := range dst {
		dst[i] = p.finishElement(p.evalSingleSource(p.loadFirst(a[i])))
	}
}

// orderKey maps the bits u of a float32 to an integer, so that integers compare like the numbers. A
// comparison of the floats would need a branch that is mispredicted half of the time.
func orderKey(u uint32) int32 { return int32(u ^ uint32(int32(u)>>31)>>1) }

// narrowResult returns v rounded to fp16, after adding +0 as the bias adder does and applying the
// ReLU mask of the result.
func (m *masks) narrowResult(v float32) float16.Float16 {
	u := math.Float32bits(v + 0)
	u &^= uint32(int32(u)>>31) & m.relu
	return narrowToHalf(math.Float32frombits(u))
}
