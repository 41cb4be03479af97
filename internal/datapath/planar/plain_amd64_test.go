//go:build !purego

package planar

import (
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// The loops of AVX2, on processors that have wider ones too.
func TestAVX2(t *testing.T) {
	if !hasAVX512 {
		t.Skip("the processor has nothing wider than AVX2: the other tests are of its loops")
	}
	t.Run("plain", func(t *testing.T) { testPlain(t, applyPlainWithAVX2) })
	t.Run("scaled", func(t *testing.T) { testScaled(t, applyScaledWithAVX2, applySingleWithAVX2) })
}

// TestShortSums is about sums that float32 does not hold: a large and a small element, scaled
// so that what is lost may decide the rounding. Where float32 does not tell, the loop stops
// and the next 16 go the long way, which must happen here.
func TestShortSums(t *testing.T) {
	if !hasAVX512 {
		t.Skip("the loops of short plans are of AVX-512")
	}
	r := rand.New(rand.NewPCG(23, 24))
	normal := func(low, high int) float16.Float16 { // exponents
		return float16.Float16(r.IntN(2)<<15 | (low+r.IntN(high-low)+15)<<10 | r.IntN(1<<10))
	}
	const n = 1 << 12
	a, b := make([]float16.Float16, n), make([]float16.Float16, n)
	got, want := make([]float16.Float16, n), make([]float16.Float16, n)
	stops := 0
	for range 1000 {
		c := Neutral(Add)
		c.Scale = normal(-14, 15)
		beyond := 16
		if r.IntN(2) == 0 { // no normal number, as products are not: the long way
			c.Scale, beyond = float16.Float16(r.IntN(2)<<15|1+r.IntN(1<<10-1)), 2
		}
		c.ReLU = r.IntN(4) == 0
		for i := range a {
			a[i], b[i] = normal(0, beyond), float16.Float16(r.IntN(2)<<15|r.IntN(1<<12))
			if r.IntN(2) == 0 {
				a[i], b[i] = b[i], a[i]
			}
		}
		p := c.newPlan()
		applyScaled(got, a, b, &p)
		applyScaledGo(want, a, b, &p)
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("(%v + %v) * %v is %v, want %v", a[i], b[i], c.Scale, got[i], want[i])
			}
		}
		if p.short && applyShort(got, a, b, &p) < n {
			stops++
		}
		c.Bias = b[0]
		p = c.newPlan()
		applySingle(got, a, &p)
		applySingleGo(want, a, &p)
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("(%v + %v) * %v of one source is %v, want %v", a[i], c.Bias, c.Scale, got[i], want[i])
			}
		}
	}
	if stops < 100 {
		t.Errorf("%d of 1000 stopped at a sum that float32 does not round", stops)
	}
}
