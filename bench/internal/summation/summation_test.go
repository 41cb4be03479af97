package summation

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/vectors"
)

// TestAccumulations computes the single sums that were asked of M4 and M6.
func TestAccumulations(t *testing.T) {
	cases, err := vectors.Accumulations()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cases {
		for i := range c.Data.Sums {
			s := &c.Data.Sums[i]
			x, w := s.Operands()
			if got := Later.DotBias(s.Bias, x, w); got != float16.Float16(s.Want) {
				t.Errorf("%s: sum %d of %v and %v from %g is %v; want %v", c.File, i, x, w, s.Bias, got, float16.Float16(s.Want))
			}
			n++
		}
	}
	if n != 141 {
		t.Errorf("%d sums; want 141", n)
	}
}

// TestReductions computes the sums that were asked of M1.
func TestReductions(t *testing.T) {
	cases, err := vectors.Reductions()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		x, w := c.Data.Operands()
		if got := H13.Dot(x, w); got != float16.Float16(c.Data.Want) {
			t.Errorf("%s: %s: %v; want %v", c.File, c.Name, got, float16.Float16(c.Data.Want))
		}
	}
}

// TestDotH13 has sums by hand in which M1 differs from later chips.
func TestDotH13(t *testing.T) {
	const inf, nan = 0x7c00, 0x7e00
	half := func(v float32) float16.Float16 { return float16.Fromfloat32(v) }
	for _, c := range []struct {
		name       string
		x, w       []float16.Float16
		h13, later float16.Float16
	}{
		{"a small term beside a large one", halves(4096, 1), halves(1, 1), half(4096), half(4096)},
		{"that one, the large one taken away", halves(4096, 1, -4096), halves(1, 1, 1), 0, half(1)},
		{"half of the spacing goes away from zero", halves(4096, 2, -4096), halves(1, 1, 1), half(4), half(2)},
		{"below 4096, nothing is lost", halves(4094, 0.5, -4094), halves(1, 1, 1), half(0.5), half(0.5)},
		{"a first term keeps its bits", halves(0.5, -0.5, 8192, -8192), halves(1, 1, 1, 1), 0, 0},
		{"the fifth term is in another group", halves(4096, 0, 0, 0, 1, -4096), halves(1, 1, 1, 1, 1, 1), 0, half(1)},
		{"the fifth to eighth, without a large one", halves(4096, 0, 0, 0, 1, 0, 0, 0, -4096), halves(1, 1, 1, 1, 1, 1, 1, 1, 1), half(1), half(1)},
		{"infinity", []float16.Float16{inf}, halves(0x1p-12), inf, half(16)},
		{"minus infinity", []float16.Float16{inf | 0x8000}, halves(0x1p-12), inf | 0x8000, half(-16)},
		{"not a number is infinity of its weight's sign", []float16.Float16{nan | 0x8000}, halves(-0x1p-12), inf | 0x8000, half(24)},
		{"infinity and its negative", []float16.Float16{inf, inf | 0x8000}, halves(0x1p-12, 0x1p-12), 0, 0},
		{"zero times infinity", []float16.Float16{inf}, halves(0), 0, 0},
		{"infinity times the least number", []float16.Float16{inf}, halves(0x1p-24), inf, half(0x1p-8)},
	} {
		if got := H13.Dot(c.x, c.w); got != c.h13 {
			t.Errorf("%s: %v on H13; want %v", c.name, got, c.h13)
		}
		if got := Later.Dot(c.x, c.w); got != c.later {
			t.Errorf("%s: %v on later chips; want %v", c.name, got, c.later)
		}
	}
	for bias, want := range map[float32]float16.Float16{float32(math.Inf(1)): inf, float32(math.Inf(-1)): inf | 0x8000, float32(math.NaN()): inf, 1e30: inf, -32768: inf | 0x8000} {
		if got := H13.DotBias(bias, halves(1), halves(1)); got != want {
			t.Errorf("a bias of %g gives %v; want %v", bias, got, want)
		}
	}
}

func halves(v ...float32) (list []float16.Float16) {
	for _, v := range v {
		list = append(list, float16.Fromfloat32(v))
	}
	return list
}

// TestAddProducts compares columns of a panel with one sum at a time.
func TestAddProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, a := range []Arithmetic{H13, Later} {
		for n := range 100 {
			terms, columns := 1+rng.IntN(40), 1+rng.IntN(5)
			number := func() float16.Float16 {
				return float16.Fromfloat32(float32(rng.NormFloat64() * math.Ldexp(1, rng.IntN(n/5+1)-n/10)))
			}
			x, w := make([][]float16.Float16, columns), make([]float16.Float16, terms)
			acc, panel, taps := make([]float64, columns), make([]float64, terms*columns), make([]float64, terms)
			for k := range w {
				w[k] = number()
				taps[k] = a.Value(w[k])
				for l := range x {
					x[l] = append(x[l], number())
					panel[k*columns+l] = a.Value(x[l][k])
				}
			}
			bias := float32(rng.NormFloat64())
			for l := range acc {
				acc[l] = float64(bias)
			}
			a.AddProducts(acc, panel, taps)
			for l, got := range acc {
				if want := a.DotBias(bias, x[l], w); float16.Fromfloat32(float32(got)) != want {
					t.Errorf("%+v: column %d of %d terms is %g; want %v", a, l, terms, got, want)
				}
			}
		}
	}
}
