package planar

import (
	"math"

	"github.com/x448/float16"
)

// plainGo is Apply at neutral scales for the four simple operations.
//
// Float32 is enough: a product of fp16 values is exact in it, and a sum of them
// that is not still rounds to the right half, because 24 >= 2*11 + 2 makes the
// double rounding innocuous. Adding +0 is the bias adder.
func plainGo(dst, a, b []float16.Float16, m *masks, op Op) {
	a, b = a[:len(dst)], b[:len(dst)]
	switch op {
	case Add:
		for i := range dst {
			x, y := m.sources(a[i], b[i])
			dst[i] = m.result(x + y)
		}
	case Mul:
		for i := range dst {
			x, y := m.sources(a[i], b[i])
			dst[i] = m.result(float32(x * y))
		}
	case Max:
		for i := range dst {
			x, y := m.sources(a[i], b[i])
			u, v := math.Float32bits(x), math.Float32bits(y)
			if order(v) > order(u) {
				u = v
			}
			dst[i] = m.result(math.Float32frombits(u))
		}
	case Min:
		for i := range dst {
			x, y := m.sources(a[i], b[i])
			u, v := math.Float32bits(x), math.Float32bits(y)
			if order(v) < order(u) {
				u = v
			}
			dst[i] = m.result(math.Float32frombits(u))
		}
	}
}

func (m *masks) sources(a, b float16.Float16) (x, y float32) {
	x = math.Float32frombits(math.Float32bits(wide[a]) ^ m.flip1)
	u := math.Float32bits(wide[b])
	u &^= uint32(int32(u)>>31) & m.relu2
	return x, math.Float32frombits(u ^ m.flip2)
}

// scaledGo is Apply with every stage.
func scaledGo(dst, a, b []float16.Float16, p *plan) {
	for i := range dst {
		dst[i] = p.back(p.front(p.first(a[i]), p.second(b[i])))
	}
}

// singleGo is ApplyOne with every stage.
func singleGo(dst, a []float16.Float16, p *plan) {
	for i := range dst {
		dst[i] = p.back(p.single(p.first(a[i])))
	}
}

// order maps float32 bits to integers that compare as the numbers do; a branch
// on the floats themselves would be mispredicted half the time.
func order(u uint32) int32 { return int32(u ^ uint32(int32(u)>>31)>>1) }

func (m *masks) result(v float32) float16.Float16 {
	u := math.Float32bits(v + 0)
	u &^= uint32(int32(u)>>31) & m.relu
	return narrow(math.Float32frombits(u))
}
