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

// reduceByDefinition computes what [Arithmetic.Reduce] computes for vector m, term by term.
func reduceByDefinition(a Arithmetic, acc, panel []float32, lanes int, taps *Taps, m int, start *Start) {
	for l := range acc {
		var sum accumulator
		sum.setBias(start.startValue(m, l), a)
		for i, w := range taps.vectorWeights(m) {
			sum.addProduct(panel[i*lanes+l], w.value(), a)
		}
		acc[l] = sum.roundedSum()
	}
}

func TestReduceLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(n, wild int) []float32 {
		v := make([]float32, n+1)
		for i := range v {
			v[i] = H13.widenHalf(anyHalf(rng, wild))
		}
		return v[1:]
	}
	for round := range 3000 {
		lanes, k, vectors := 1+rng.IntN(70), 1+rng.IntN(39), 1+rng.IntN(9)
		if round%4 == 0 {
			lanes += rng.IntN(200)
		}
		if round%500 == 0 {
			k += 2 * blockTapsOfTest
		}
		wild := []int{0, 0, 1, 20}[round/4%4]
		var panel, wide []float32
		if wild == 0 && round%32 < 16 {
			panel, wide = gaussian(rng, lanes*k), gaussian(rng, k*vectors)
		} else {
			panel, wide = draw(lanes*k, wild), draw(k*vectors, wild)
		}
		if round%3 == 0 { // as a ReLU leaves it
			for i, v := range panel {
				panel[i] = max(v, 0)
			}
		}
		if sparse := []int{0, 30, 60, 95}[round/5%4]; sparse > 0 {
			for i := range wide {
				if rng.IntN(100) < sparse {
					wide[i] = []float32{0, negZero}[rng.IntN(2)]
				}
			}
		}
		taps, start := TapsOf(k, wide), Start{PerVector: make([]float32, vectors)}
		for m := range start.PerVector {
			start.PerVector[m] = AccBias(anyHalf(rng, wild), 0)
		}
		a := []Arithmetic{H13, Later, {KeepsInfinity: true, FullRange: true}}[round/7%3]
		want := make([]float32, lanes*vectors)
		for m := range vectors {
			reduceByDefinition(a, want[m*lanes:][:lanes], panel, lanes, taps, m, &start)
		}
		for _, lv := range supportedLevels() {
			got := make([]float32, len(want)+1)
			got[len(want)] = 42
			a.reduceAtLevel(lv, got[:len(want)], panel, lanes, taps, &start)
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%v, round %d, %d lanes, %d taps, %+v: result %d is %v, want %v", lv, round, lanes, k, a, i, got[i], want[i])
				}
			}
			if got[len(want)] != 42 {
				t.Fatalf("%v wrote past %d results", lv, len(want))
			}
		}
	}
}

// blockTapsOfTest is more than the taps that a kernel multiplies at once.
const blockTapsOfTest = 520

func TestReduceRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	for round := range 1000 {
		n, k, slack := 1+rng.IntN(200), 1+rng.IntN(30), rng.IntN(100)
		plane, wide, at := make([]float32, n+slack), make([]float32, k), make([]int, k)
		wild := []int{0, 1, 20}[round%3]
		for i := range plane {
			plane[i] = H13.widenHalf(anyHalf(rng, wild))
		}
		panel := make([]float32, 0, n*k)
		for i := range wide {
			wide[i], at[i] = H13.widenHalf(anyHalf(rng, wild)), rng.IntN(slack+1)
			panel = append(panel, plane[at[i]:at[i]+n]...)
		}
		taps := TapsOf(k, wide)
		want := make([]float32, n)
		reduceByDefinition(H13, want, panel, n, taps, 0, &Start{PerVector: []float32{1.5}})
		for _, lv := range supportedLevels() {
			got := make([]float32, n+1)
			got[n] = 42
			H13.reduceRowsAtLevel(lv, got[:n], plane, at, taps, 1.5)
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
