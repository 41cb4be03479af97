package planar

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// round is the slow reference: a big.Float to the nearest half, ties to even.
func round(x *big.Float) float16.Float16 {
	if x.Sign() == 0 {
		if x.Signbit() {
			return signBit
		}
		return 0
	}
	f, acc := x.Float32()
	if acc != big.Exact { // to odd, so that the second rounding is exact
		b := math.Float32bits(f)
		if (acc == big.Above) == (x.Sign() > 0) {
			b--
		}
		f = math.Float32frombits(b | 1)
	}
	return float16.Fromfloat32(f)
}

func TestWideEveryHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := float16.Float16(i)
		want := h.Float32()
		if h.IsNaN() {
			want = float32(math.Inf(1))
		}
		if wide[h] != want {
			t.Fatalf("wide[%v] = %v, want %v", i, wide[h], want)
		}
	}
}

// Every half, every midpoint between two halves and the float32 next to each.
func TestNarrowBoundaries(t *testing.T) {
	check := func(f float32) {
		t.Helper()
		if got, want := narrowToHalf(f), float16.Fromfloat32(f); got != want {
			t.Fatalf("narrow(%v) = %v, want %v", f, got, want)
		}
		if got, want := narrowFloat64(float64(f)), float16.Fromfloat32(f); got != want {
			t.Fatalf("narrow64(%v) = %v, want %v", f, got, want)
		}
	}
	for i := range 0x7c00 {
		lo := float16.Float16(i).Float32()
		hi := float32(65536)
		if i+1 < 0x7c00 {
			hi = float16.Float16(i + 1).Float32()
		}
		mid := (lo + hi) / 2
		for _, f := range []float32{lo, mid, math.Nextafter32(mid, 0), math.Nextafter32(mid, 1e9), math.Nextafter32(lo, 1e9)} {
			check(f)
			check(-f)
		}
		// What float32 cannot tell from the midpoint, narrowFloat64 must.
		d := math.Nextafter(float64(mid), 0)
		if got := narrowFloat64(d); got != float16.Float16(i) {
			t.Fatalf("narrow64 below the midpoint over %v: %v", i, got)
		}
		d = math.Nextafter(float64(mid), 1e9)
		if got := narrowFloat64(d); got != float16.Float16(i+1) {
			t.Fatalf("narrow64 above the midpoint over %v: %v", i, got)
		}
	}
	check(float32(math.Inf(1)))
	check(math.MaxFloat32)
	check(math.SmallestNonzeroFloat32)
	if narrowFloat64(math.MaxFloat64) != infinity || narrowFloat64(5e-324) != 0 || narrowFloat64(-5e-324) != signBit {
		t.Error("narrow64 at the ends of float64")
	}
	if narrowToHalf(float32(math.NaN())) != 0 {
		t.Error("a NaN narrows to +0")
	}
}

func TestNarrow64AgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		v := math.Ldexp(r.Float64()+1, r.IntN(48)-28)
		if got, want := narrowFloat64(v), round(big.NewFloat(v)); got != want {
			t.Fatalf("narrow64(%v) = %v, want %v", v, got, want)
		}
	}
}
