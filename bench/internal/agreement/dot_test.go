package agreement

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/x448/float16"

	"anesim/bench/internal/summation"
	"anesim/internal/datapath/mac"
	"anesim/internal/vectors"
)

// arithmetics are those of the model, each with the one of the reference, which was written from the
// published results of chips without the code of the model.
var arithmetics = []struct {
	name  string
	model mac.Arithmetic
	want  summation.Arithmetic
}{{"H13", mac.H13, summation.H13}, {"later", mac.Later, summation.Later}}

// TestAccumulations computes the single sums that were asked of M4 and M6.
func TestAccumulations(t *testing.T) {
	cases, err := vectors.Accumulations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for i := range c.Data.Sums {
			s := &c.Data.Sums[i]
			x, w := s.Operands()
			if got := mac.Later.DotBias(s.Bias, x, w); got != float16.Float16(s.Want) {
				t.Errorf("%s: sum %d of %v and %v from %g is %v; want %v", c.File, i, x, w, s.Bias, got, float16.Float16(s.Want))
			}
		}
	}
}

// TestDot compares sums of random products, with and without a bias: some two million products of
// each arithmetic, and 10^8 with LONG=1. Each kind of operands is close to a limit of the rule.
func TestDot(t *testing.T) {
	products := 2_000_000
	if os.Getenv("LONG") != "" {
		products = 100_000_000
	}
	for _, a := range arithmetics {
		for _, kind := range operandKinds {
			t.Run(a.name+"/"+kind.name, func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(48, uint64(len(kind.name))))
				var x, w [80]float16.Float16
				for done := 0; done < products/len(operandKinds); {
					n := 1 + rng.IntN(12)
					if rng.IntN(16) == 0 {
						n = 1 + rng.IntN(len(x))
					}
					bias := kind.draw(rng, x[:n], w[:n])
					compareSums(t, a.model, a.want, bias, x[:n], w[:n])
					if t.Failed() {
						return
					}
					done += n
				}
			})
		}
	}
}

// compareSums compares the sum of products in the model with the reference.
func compareSums(t *testing.T, model mac.Arithmetic, definition summation.Arithmetic, bias float32, x, w []float16.Float16) {
	t.Helper()
	got, want := model.DotBias(bias, x, w), definition.DotBias(bias, x, w)
	if got != want {
		t.Errorf("inputs %v and weights %v from bias %g: %v (%#04x); want %v (%#04x)", x, w, bias, got, got.Bits(), want, want.Bits())
	}
	if got, want := model.Dot(x, w), definition.Dot(x, w); got != want {
		t.Errorf("inputs %v and weights %v: %v (%#04x); want %v (%#04x)", x, w, got, got.Bits(), want, want.Bits())
	}
}

// operandKinds draw operands into slices of equal length and return a bias.
var operandKinds = []struct {
	name string
	draw func(rng *rand.Rand, x, w []float16.Float16) (bias float32)
}{
	{"finite bits", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		for i := range x {
			x[i], w[i] = drawFinite(rng), drawFinite(rng)
		}
		return float32(rng.NormFloat64())
	}},
	{"normal distribution", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		scale := math.Ldexp(1, rng.IntN(16)-8)
		for i := range x {
			x[i], w[i] = toHalf(rng.NormFloat64()*scale), toHalf(rng.NormFloat64()/8)
		}
		return float32(rng.NormFloat64() * scale)
	}},
	{"products near the drop", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		for i := range x {
			ex := rng.IntN(17) - 14 // with a sum of exponents from -18 to -14
			ew := min(15, max(-14, -18+rng.IntN(5)-ex))
			x[i], w[i] = drawWithExponent(rng, ex), drawWithExponent(rng, ew)
		}
		return float32(math.Ldexp(rng.NormFloat64(), -14))
	}},
	{"subnormal numbers", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		for i := range x {
			x[i], w[i] = float16.Float16(rng.Uint32()&0x83ff), drawWithExponent(rng, rng.IntN(30)-14)
			if rng.IntN(2) == 0 {
				x[i], w[i] = w[i], x[i]
			}
		}
		return float32(math.Ldexp(rng.NormFloat64(), -16))
	}},
	{"ties of products", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		for i := range x { // an odd number of halves of 2^-16
			odd := float64(2*rng.IntN(1<<rng.IntN(11)) + 1)
			shift := rng.IntN(12)
			x[i], w[i] = toHalf(math.Ldexp(drawSign(rng)*odd, -shift)), toHalf(math.Ldexp(drawSign(rng), shift-17))
		}
		return float32(math.Ldexp(float64(2*rng.IntN(9)+1), -17)) // a tie as well
	}},
	{"ties of results", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		scale := rng.IntN(14) - 10
		for i := range x {
			x[i], w[i] = toHalf(math.Ldexp(float64(rng.IntN(4097)-2048), scale)), toHalf(drawSign(rng))
		}
		return float32(math.Ldexp(float64(rng.IntN(8192)-4096), scale))
	}},
	{"sums near the limit", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		for i := range x {
			x[i], w[i] = toHalf(drawSign(rng)*32768/float64(1+rng.IntN(4))), toHalf(1)
			if rng.IntN(4) == 0 {
				x[i], w[i] = toHalf(math.Ldexp(rng.NormFloat64(), rng.IntN(24)-16)), toHalf(0.5)
			}
		}
		return float32(32768 * drawSign(rng) * (1 - math.Ldexp(1, -rng.IntN(33))))
	}},
	{"large terms", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		for i := range x {
			x[i], w[i] = toHalf(rng.NormFloat64()), toHalf(rng.NormFloat64())
			if rng.IntN(3) == 0 {
				x[i], w[i] = toHalf(drawSign(rng)*(4090+float64(rng.IntN(12)))), toHalf(math.Ldexp(1, rng.IntN(2)))
				if i > 0 && rng.IntN(2) == 0 {
					x[i], w[i] = x[i-1]^0x8000, w[i-1]
				}
			}
		}
		return float32(rng.NormFloat64() * 4096)
	}},
	{"special values", func(rng *rand.Rand, x, w []float16.Float16) float32 {
		const field = 0x7c00
		for i := range x {
			x[i], w[i] = toHalf(rng.NormFloat64()/64), toHalf(rng.NormFloat64()/64)
			switch rng.IntN(8) {
			case 0:
				x[i] = field | float16.Float16(rng.Uint32()&0x8000)
			case 1:
				x[i] |= field
			case 2:
				w[i] |= field
			case 3:
				w[i] = float16.Float16(rng.Uint32() & 0x8001) // zeros and the least numbers
			}
		}
		biases := [...]float64{rng.NormFloat64(), rng.NormFloat64(), math.Inf(1), math.Inf(-1), math.NaN()}
		return float32(biases[rng.IntN(len(biases))])
	}},
}

// drawFinite returns random bits of a finite number.
func drawFinite(rng *rand.Rand) float16.Float16 {
	for {
		if h := float16.Float16(rng.Uint32()); h.IsFinite() {
			return h
		}
	}
}

// drawWithExponent returns a number with the given exponent, which is -14 for subnormal numbers too.
func drawWithExponent(rng *rand.Rand, exponent int) float16.Float16 {
	field := exponent + 15
	if exponent == -14 && rng.IntN(2) == 0 {
		field = 0
	}
	return float16.Float16(field<<10) | float16.Float16(rng.Uint32()&0x83ff)
}

func drawSign(rng *rand.Rand) float64 { return float64(2*rng.IntN(2) - 1) }

// toHalf returns the fp16 number nearest to v, or the largest of its sign.
func toHalf(v float64) float16.Float16 {
	return float16.Fromfloat32(float32(roundToHalf("", v)))
}
