package mac

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// anyHalf draws from every half, specials and extremes well represented.
func anyHalf(rng *rand.Rand, wild int) float16.Float16 {
	if rng.IntN(100) < wild {
		special := [...]float16.Float16{0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 1, 0x83ff, 0x400, 0x8400, 0x7bff, 0xfbff, 0x6c00, 0x7800}
		return special[rng.IntN(len(special))]
	}
	switch rng.IntN(3) {
	case 0:
		return float16.Fromfloat32(float32(rng.NormFloat64()))
	case 1:
		return float16.Fromfloat32(float32(rng.IntN(4097) - 2048))
	}
	return float16.Float16(rng.Uint32())
}

func TestReduceLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(n, wild int) []float32 {
		v := make([]float32, n+1)
		for i := range v {
			v[i] = widenHalf(anyHalf(rng, wild))
		}
		return v[1:]
	}
	for round := range 4000 {
		lanes, k, vectors := 1+rng.IntN(70), rng.IntN(40), 1+rng.IntN(9)
		if round%4 == 0 {
			lanes += rng.IntN(200)
		}
		wild := []int{0, 0, 1, 20}[round/4%4]
		var panel, taps []float32
		if wild == 0 && round%32 < 16 {
			panel, taps = gaussian(rng, lanes*k), gaussian(rng, k*vectors)
		} else {
			panel, taps = draw(lanes*k, wild), draw(k*vectors, wild)
		}
		if k == 0 {
			continue
		}
		if round%3 == 0 { // as a ReLU leaves it
			for i, v := range panel {
				panel[i] = max(v, 0)
			}
		}
		if sparse := []int{0, 30, 60, 95}[round/5%4]; sparse > 0 {
			for i := range taps {
				if rng.IntN(100) < sparse {
					taps[i] = []float32{0, negZero}[rng.IntN(2)]
				}
			}
		}
		port := Port(round / 7 % 2)
		want := make([]float32, lanes*vectors)
		reducePortable(want, panel, taps, lanes, k, port)
		for _, lv := range supportedLevels()[1:] {
			got := make([]float32, len(want)+1)
			got[len(want)] = 42
			reduceAtLevel(lv, got[:len(want)], panel, taps, lanes, k, port)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%v, round %d, %d lanes, %d taps, port %v: result %d is %v, want %v", lv, round, lanes, k, port, i, got[i], want[i])
				}
			}
			if got[len(want)] != 42 {
				t.Fatalf("%v wrote past %d results", lv, len(want))
			}
		}
	}
}

// TestReduceTiles runs whole tiles with products of near and far exponents, of both
// signs, through the kernels for wide blocks.
func TestReduceTiles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(17, 18))
	const lanes, vectors = 128, 32
	for round := range 400 {
		k := 1 + round%9
		spread := 1 + rng.IntN(14)
		draw := func(n int, negative, zeros bool) []float32 {
			v := make([]float32, n)
			for i := range v {
				h := float16.Float16(rng.IntN(1<<10) | (15-spread/2+rng.IntN(spread))<<halfExpShift)
				if negative && rng.IntN(2) == 0 {
					h |= halfSign
				}
				if zeros && rng.IntN(4) == 0 {
					h = 0
				}
				v[i] = widenHalf(h)
			}
			return v
		}
		panel, taps := draw(lanes*k, round%2 == 0, round%3 == 0), draw(vectors*k, round%5 > 0, round%7 < 3)
		want := make([]float32, lanes*vectors)
		reducePortable(want, panel, taps, lanes, k, PortCeiling)
		for _, lv := range supportedLevels()[1:] {
			got := make([]float32, len(want))
			reduceAtLevel(lv, got, panel, taps, lanes, k, PortCeiling)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%v, round %d, %d taps: result %d is %v, want %v", lv, round, k, i, got[i], want[i])
				}
			}
		}
	}
}

func TestReduceRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	for round := range 1000 {
		n, k, slack := 1+rng.IntN(200), 1+rng.IntN(30), rng.IntN(100)
		plane, taps, at := make([]float32, n+slack), make([]float32, k), make([]int, k)
		wild := []int{0, 1, 20}[round%3]
		for i := range plane {
			plane[i] = widenHalf(anyHalf(rng, wild))
		}
		panel := make([]float32, 0, n*k)
		for i := range taps {
			taps[i], at[i] = widenHalf(anyHalf(rng, wild)), rng.IntN(slack+1)
			panel = append(panel, plane[at[i]:at[i]+n]...)
		}
		want := make([]float32, n)
		reducePortable(want, panel, taps, n, k, PortCeiling)
		for _, lv := range supportedLevels() {
			got := make([]float32, n+1)
			got[n] = 42
			reduceRowsAtLevel(lv, got[:n], plane, at, taps, PortCeiling)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%v, round %d, %d outputs, %d taps: result %d is %v, want %v", lv, round, n, k, i, got[i], want[i])
				}
			}
			if got[n] != 42 {
				t.Fatalf("%v wrote past %d results", lv, n)
			}
		}
	}
}
