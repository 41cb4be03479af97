package planar

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// round is the slow reference: a big.Float to 11 significant bits and then to a multiple of 2^-24,
// both with ties away from zero.
func round(x *big.Float) float16.Float16 {
	v, _ := new(big.Float).SetPrec(11).SetMode(big.ToNearestAway).Set(x).Float64()
	var s float16.Float16
	if math.Signbit(v) {
		s, v = signBit, -v
	}
	switch {
	case v >= 65536:
		return s | infinity
	case v < 0x1p-14:
		return s | float16.Float16(math.Round(v*(1<<24))) // ties away
	}
	return s | float16.Fromfloat32(float32(v)) // exact
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
		want := infinity
		if !math.IsInf(float64(f), 0) {
			want = round(big.NewFloat(float64(f)))
		}
		if got := narrowToHalf(f); got != want {
			t.Fatalf("narrow(%v) = %v, want %v", f, got, want)
		}
		if got := narrowFloat64(float64(f)); got != want {
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
		// What float32 cannot tell from the midpoint, narrowFloat64 must. Among denormals the first
		// step makes it the midpoint.
		d, want := math.Nextafter(float64(mid), 0), float16.Float16(i)
		if i < 0x400 {
			want++
		}
		if got := narrowFloat64(d); got != want {
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
