package mac

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// A product is lost if it alone, with operands that are not zero, gives a sum of zero.
func TestTrace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 300 {
		n := 1 + r.IntN(200)
		x, w := make([]float16.Float16, n), make([]float16.Float16, n)
		wideX, wideW := make([]float32, n), make([]float32, n)
		start := float32(r.NormFloat64())
		want := Trace{Exact: float64(start), Largest: math.Abs(float64(start))}
		lost := 0
		for i := range n {
			for _, v := range []*float16.Float16{&x[i], &w[i]} {
				if *v = float16.Float16(r.Uint32()); v.IsNaN() || v.IsInf(0) || r.IntN(10) == 0 {
					*v = 0
				} else if r.IntN(2) == 0 {
					*v = float16.Fromfloat32(float32(math.Ldexp(1+r.Float64(), -r.IntN(14))))
				}
			}
			want.Exact += float64(x[i].Float32()) * float64(w[i].Float32())
			want.Largest = max(want.Largest, math.Abs(want.Exact))
			if x[i]<<1 != 0 && w[i]<<1 != 0 {
				want.Products++
				if Later.Dot(x[i:i+1], w[i:i+1])<<1 == 0 {
					lost++
				}
			}
		}
		Later.Widen(wideX, x)
		Later.Widen(wideW, w)
		got := Later.Trace(start, wideX, wideW)
		if got.Products != want.Products || got.Dropped+got.Vanished != lost || got.Exact != want.Exact || got.Largest != want.Largest {
			t.Fatalf("%+v; want %+v and %d lost", got, want, lost)
		}
	}
}

// Each product becomes zero for one reason, and 2^-17 is the smallest that a tie keeps.
func TestTraceTellsDroppedFromVanished(t *testing.T) {
	for _, c := range []struct {
		x, w              float32
		dropped, vanished int
	}{
		{0x1p-8, 0x1p-8, 0, 0},
		{0x1p-9, 0x1p-8, 1, 0},
		{0x1.ffcp-9, 0x1.ffcp-8, 1, 0}, // above 2^-16, but its exponents are not
		{0x1p-15, 0x1p-2, 0, 0},        // a denormal counts as 2^-14; this is a tie
		{0x1.8p-16, 0x1p-2, 0, 1},
		{0, 0x1p-14, 0, 0},
	} {
		got := H13.Trace(0, []float32{c.x}, []float32{c.w})
		if got.Dropped != c.dropped || got.Vanished != c.vanished {
			t.Errorf("%g * %g: %d dropped and %d vanished; want %d and %d", c.x, c.w, got.Dropped, got.Vanished, c.dropped, c.vanished)
		}
	}
}
