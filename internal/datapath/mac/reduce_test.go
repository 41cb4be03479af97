package mac

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// Four outputs, each its own input against the same three weights.
func ExampleArithmetic_Reduce() {
	taps := NewTaps(1, 3)
	taps.Set(0, []float32{2, 2, 0.125})
	panel := []float32{ // a row for each tap, a column for each output
		1, 2, 3, 4,
		1, 2, 3, 4,
		1, 2, 0x1p-13, 0x1p-14,
	}
	acc := make([]float32, 4)
	H13.Reduce(acc, panel, 4, taps, Start{PerVector: []float32{100}})
	fmt.Println(acc)
	// 2^-13 / 8 is a multiple of 2^-16, and 2^-14 / 8 is dropped.
	// Output: [104.125 108.25 112.000015 116]
}

// Two output channels over the same two pixels.
func ExampleTaps() {
	panel := []float32{
		1, 10,
		2, 20,
		3, 30,
	}
	taps := NewTaps(2, 3)
	taps.Set(0, []float32{1, 1, 1})
	taps.Set(1, []float32{0, 0, -1})
	acc := make([]float32, 4)
	H13.Reduce(acc, panel, 2, taps, Start{})
	fmt.Println(acc[:2], acc[2:])
	// Output: [6 60] [-3 -30]
}

func ExampleDot() {
	x := []float16.Float16{0x6c00, 0xec00, 0x3c00} // 4096, -4096, 1
	w := []float16.Float16{0x3c00, 0x3c00, 0x3c00}
	fmt.Println(Dot(x, w), Dot([]float16.Float16{0x6c00, 0x3c00, 0xec00}, w))
	fmt.Println(Later.Dot(x, w), Later.Dot([]float16.Float16{0x6c00, 0x3c00, 0xec00}, w))
	// Output:
	// 1 0
	// 1 1
}

// A probe is a reduction against weights of 1 with its result on silicon.
type probe struct {
	name string
	x    []float16.Float16
	want float32
}

// measuredProbes were measured on an M1.
func measuredProbes() []probe {
	probes := []probe{
		{"4096 then 1024 ones", slices.Concat(halves(4096), ones(1024)), 5116},
		{"8192 then 16 ones", slices.Concat(halves(8192), ones(16)), 8208},
		{"16000 ones", ones(16000), 16000},
		{"2049 at a spacing of 2", halves(2048, 1), 2050},
		{"two denormals below half a unit", []float16.Float16{0x007f, 0x0001}, 0},
		{"32752", halves(16384, 16368), 32752},
		{"32768", halves(16384, 16384), float32(inf)},
		{"beyond 2^15, then back", halves(16000, 16000, 1000, 0, -16000, -16000, 0, 0), float32(inf)},
		{"all weights 3, input 3", halves(9, 9, 9), 27},
		{"all weights 2, input 3", halves(6, 6, 6), 18},
	}
	for b, want := range map[float32]float32{1024: 16, 3000: 16, 4090: 16, 4096: 4, 8000: 4, 16000: 4, 30000: 4} {
		probes = append(probes,
			probe{fmt.Sprintf("[%v -%v 1] x 16", b, b), slices.Repeat(halves(b, -b, 1), 16), want},
			probe{fmt.Sprintf("[%v 1 -%v] x 16", b, b), slices.Repeat(halves(b, 1, -b), 16), want})
	}
	return probes
}

func halves(v ...float32) []float16.Float16 {
	h := make([]float16.Float16, len(v))
	for i := range v {
		h[i] = float16.Fromfloat32(v[i])
	}
	return h
}

func ones(n int) []float16.Float16 {
	return slices.Repeat([]float16.Float16{0x3c00}, n)
}

func TestMeasuredProbes(t *testing.T) {
	for _, p := range measuredProbes() {
		if got := Dot(p.x, ones(len(p.x))); got.Float32() != p.want {
			t.Errorf("%s: %v, want %v", p.name, got, p.want)
		}
	}
}

// TestProbeBoundaries tests values one step below and above the measured ones. Their expected
// results follow from the rule.
func TestProbeBoundaries(t *testing.T) {
	for _, p := range []struct {
		name       string
		x          []float16.Float16
		h13, later float32
	}{
		{"[4094 -4094 1] x 16", slices.Repeat(halves(4094, -4094, 1), 16), 16, 16},
		{"[4100 -4100 1] x 16", slices.Repeat(halves(4100, -4100, 1), 16), 4, 16},
		{"nothing is cut below 4096", halves(2048, 0.5, -2048, 0), 0.5, 0.5},
		{"half of the spacing of 4 rounds away", halves(4096, 2, -4096, 0), 4, 2},
		{"less rounds to nothing", halves(4096, 1.999, -4096, 0), 0, 1.9990234375},
		{"negative is the same", halves(-4096, -2, 4096, 0), -4, -2},
		{"small first", halves(1.5, 4096, -4096, 0), 0, 1.5},
		{"nothing is cut between groups", halves(4096, 0, 0, 0, 0.5, 0, 0, 0, -4096), 0.5, 0.5},

		{"one step below the limit", halves(32752, 0), 32752, 32752},
		{"rounds up to the limit", halves(16384, 16376), float32(inf), 32768},
		{"rounds down below it", halves(16384, 16368, 7.9, 0), 32752, 32752},
		{"negative limit", halves(-16384, -16384), float32(-inf), float32(-inf)},
		{"sums inside a group are checked", halves(30000, 30000, -30000, 0), float32(inf), float32(inf)},
		{"infinity sticks", halves(30000, 30000, 0, 0, -30000, -30000, 0, 0), float32(inf), float32(inf)},
		{"opposite infinities", []float16.Float16{0x7c00, 0, 0, 0, 0xfc00, 0, 0, 0, 0x3c00}, 0, float32(inf)},
		{"opposite infinities in a group", []float16.Float16{0x7c00, 0xfc00, 0x3c00}, 0, float32(inf)},
		{"NaN is +inf", []float16.Float16{0x7e00, 0x3c00}, float32(inf), float32(inf)},
		{"negative NaN too", []float16.Float16{0xfe00, 0x3c00}, float32(inf), float32(-inf)},
		{"nothing", nil, 0, 0},
	} {
		if got := H13.Dot(p.x, ones(len(p.x))); got.Float32() != p.h13 {
			t.Errorf("%s: %v, want %v", p.name, got, p.h13)
		}
		if got := Later.Dot(p.x, ones(len(p.x))); got.Float32() != p.later {
			t.Errorf("%s: later generations give %v, want %v", p.name, got, p.later)
		}
	}
	x, w := []float16.Float16{0x7c00, 0x4000}, []float16.Float16{0, 0x4000}
	if got := Dot(x, w); got != 0x4400 {
		t.Errorf("inf * 0 + 2 * 2 = %v, want 4", got)
	}
	if got := Later.Dot([]float16.Float16{0x7fff, 0xfc00}, []float16.Float16{0x1000, 0x1000}); got.Float32() != 31.96875 {
		t.Errorf("(131008 - 65536) * 2^-11 = %v, want 31.96875", got)
	}
}

func TestFullRange(t *testing.T) {
	full := Arithmetic{KeepsInfinity: true, FullRange: true}
	for _, tt := range []struct{ x, want float32 }{
		{32752, 32752}, {32768, 32768}, {65504, 65504}, {-65504, -65504},
	} {
		if got := full.Dot(halves(tt.x), ones(1)).Float32(); got != tt.want {
			t.Errorf("one product of %v leaves as %v, want %v", tt.x, got, tt.want)
		}
	}
	if got := full.Dot(halves(300), halves(300)).Float32(); got != float32(inf) {
		t.Errorf("300 * 300 leaves as %v", got)
	}
	if got := H13.Dot(halves(40000), halves(-1)).Float32(); got != float32(-inf) {
		t.Errorf("a limited sum lets %v pass", got)
	}
}

// TestStart follows the bias, which M6 showed to be the first value of a sum.
func TestStart(t *testing.T) {
	for _, tt := range []struct {
		bias float32
		x    []float32
		want float32
	}{
		{-16384, []float32{16384, 16384}, 16384},
		{-16384, []float32{16384, 16384, 16384}, float32(inf)},
		{32, []float32{32752}, float32(inf)},
		{32, []float32{32736}, float32(inf)},
		{0x1p-20, []float32{0}, 0},
		{0x1p-17, []float32{0}, 0x1p-16},
		{0x1p-17, []float32{0x1p-17}, 0x1p-15},
		{1000.5, []float32{0.25}, 1001},
		{float32(math.NaN()), []float32{1}, float32(inf)},
		{float32(-inf), []float32{1}, float32(-inf)},
	} {
		if got := Later.DotBias(tt.bias, halves(tt.x...), ones(len(tt.x))).Float32(); got != tt.want {
			t.Errorf("%v and %v: %v, want %v", tt.bias, tt.x, got, tt.want)
		}
	}
}

// TestRoundToOdd rounds sums to fp16 through fp32, which must not change any result.
func TestRoundToOdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	check := func(units int64) {
		want := Round(float64(units)/(1<<fraction), NearestAway)
		if got := RoundHalf(roundToOdd(units)); got != want {
			t.Fatalf("%d units leave as %v, want %v", units, got, want)
		}
	}
	for range 300000 {
		v := rng.Int64N(1 << 32 >> rng.IntN(32))
		check(v)
		check(-v)
	}
	for bits := range 32 { // ties of every binade, and their neighbors
		for n := range int64(64) {
			v := int64(1)<<bits + n<<max(0, bits-11)
			for d := int64(-2); d <= 2; d++ {
				check(v + d)
				check(-v + d)
			}
		}
	}
}

func TestReduceArguments(t *testing.T) {
	H13.Reduce(nil, nil, 0, NewTaps(0, 3), Start{})
	H13.Reduce(nil, nil, 5, NewTaps(0, 0), Start{})
	acc := []float32{7, 7}
	H13.Reduce(acc, nil, 2, NewTaps(1, 0), Start{PerVector: []float32{3}})
	if acc[0] != 3 || acc[1] != 3 {
		t.Errorf("no taps give %v, want the start value", acc)
	}
	acc = []float32{7, 7}
	H13.ReduceRows(acc, nil, nil, NewTaps(1, 0), 2)
	if acc[0] != 2 || acc[1] != 2 {
		t.Errorf("no rows give %v, want the start value", acc)
	}
	panel := make([]float32, 5)
	for name, f := range map[string]func(){
		"short panel":        func() { H13.Reduce(make([]float32, 2), panel[:3], 2, NewTaps(1, 2), Start{}) },
		"acc not in vectors": func() { H13.Reduce(make([]float32, 3), panel[:4], 2, NewTaps(1, 2), Start{}) },
		"start values":       func() { H13.Reduce(make([]float32, 2), panel[:4], 2, NewTaps(1, 2), Start{PerVector: panel[:2]}) },
		"no lanes":           func() { H13.Reduce(make([]float32, 4), nil, -1, NewTaps(1, 0), Start{}) },
		"past the plane":     func() { H13.ReduceRows(make([]float32, 4), panel, []int{2}, NewTaps(1, 1), 0) },
		"before the plane":   func() { H13.ReduceRows(make([]float32, 4), panel, []int{-1}, NewTaps(1, 1), 0) },
		"rows and taps":      func() { H13.ReduceRows(make([]float32, 4), panel, []int{0, 1}, NewTaps(1, 1), 0) },
		"no vector":          func() { H13.ReduceRows(make([]float32, 4), panel, []int{0}, NewTaps(0, 1), 0) },
		"dot":                func() { Dot(ones(2), ones(3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestDotIsReduce ties Dot to the hot loop.
func TestDotIsReduce(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for n := range 400 {
		a := []Arithmetic{H13, Later}[n%2]
		n := n/2 + 1
		x, w := make([]float16.Float16, n), make([]float16.Float16, n)
		for i := range x {
			x[i], w[i] = anyHalf(rng, n%3), anyHalf(rng, n%3)
		}
		panel, wide, acc := make([]float32, n), make([]float32, n), make([]float32, 1)
		a.Widen(panel, x)
		a.Widen(wide, w)
		a.Reduce(acc, panel, 1, TapsOf(n, wide), Start{})
		if got, want := a.Dot(x, w), RoundHalf(acc[0]); got != want {
			t.Fatalf("%d taps: Dot = %v, Reduce and RoundHalf %v", n, got, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	panel, taps := gaussian(rng, 128*9), TapsOf(9, gaussian(rng, 9))
	acc, out := make([]float32, 128), make([]float16.Float16, 128)
	table := TableOf(Sigmoid)
	post := Post{Scale: 1, Table: table}
	if n := testing.AllocsPerRun(10, func() {
		H13.Reduce(acc, panel, 128, taps, Start{})
		post.Apply(out, acc)
		(&Post{Scale: 1, ReLU: true}).Apply(out, acc)
		H13.Widen(acc, out)
		out[0] = Dot(out[:9], out[9:18])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	few := make([]float32, 9*8) // one weight in three is not zero
	for i := range few {
		few[i] = float32(max(0, i%3-1))
	}
	sparse, sums := TapsOf(9, few), make([]float32, 128*8)
	if n := testing.AllocsPerRun(10, func() { H13.Reduce(sums, panel, 128, sparse, Start{}) }); n > 3 {
		t.Errorf("%v allocations for eight sparse vectors; want those of one", n)
	}
}

// TestForms holds every way to compute a block to the definition, with operands at the borders between
// them: products that are dropped or not, ties, products and sums that just fit, terms of 4096.
func TestForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	seen := map[form]int{}
	for round := range 4000 {
		a := []Arithmetic{H13, Later, {KeepsInfinity: true, FullRange: true}}[round%3]
		k, lanes := 1+rng.IntN(20), 1+rng.IntN(100)
		low, span := -14+rng.IntN(28), 1+rng.IntN([]int{8, 30}[rng.IntN(2)])
		draw := func(n, e int) []float32 {
			v := make([]float32, n)
			for i := range v {
				h := float16.Float16(rng.IntN(1<<10) | max(0, min(30, 15+e+rng.IntN(span)))<<halfExpShift | rng.IntN(2)<<15)
				if rng.IntN(3) == 0 {
					h &^= 0x3ff >> rng.IntN(4) // ties
				}
				v[i] = h.Float32()
			}
			return v
		}
		panel, wide := draw(lanes*k, low), draw(k, rng.IntN(28)-14-low/2)
		taps := TapsOf(k, wide)
		start := Start{PerVector: []float32{[]float32{0, 1, -100.25, 0x1p-17, 32000}[rng.IntN(5)]}}
		if rng.IntN(2) == 0 {
			start = Start{PerLane: draw(lanes, low)}
		}
		f, _ := a.chooseForm(newExtremes(findExtremesPortable(panel)), &taps.vectors[0], k, start.largestMagnitude(0))
		seen[f]++
		want, got := make([]float32, lanes), make([]float32, lanes)
		reduceByDefinition(a, want, panel, lanes, taps, 0, &start)
		for _, lv := range supportedLevels() {
			a.reduceAtLevel(lv, got, panel, lanes, taps, &start)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("round %d, %v, form %d, %d lanes, %d taps: result %d is %v, want %v", round, lv, f, lanes, k, i, got[i], want[i])
				}
			}
		}
	}
	for f := ordered; f <= fused; f++ {
		if seen[f] < 50 {
			t.Errorf("form %d was drawn %d times", f, seen[f])
		}
	}
}

// TestOutward compares the rounding of the fused form with the definition for every pair of
// significands near a tie.
func TestOutward(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	n := 4_000_000
	if testing.Short() {
		n = 400_000
	}
	x, w, acc := make([]float32, 64), make([]float32, 1), make([]float32, 64)
	for range n / len(x) {
		w[0] = math.Float32frombits(uint32(rng.IntN(1<<10))<<13 | uint32(127-8+rng.IntN(8))<<23 | uint32(rng.IntN(2))<<31)
		for i := range x {
			x[i] = math.Float32frombits(uint32(rng.IntN(1<<10))<<13 | uint32(127-8+rng.IntN(13))<<23 | uint32(rng.IntN(2))<<31)
		}
		taps := TapsOf(1, w)
		H13.Reduce(acc, x, len(x), taps, Start{})
		for i := range x {
			if want := roundToOdd(roundProduct(x[i], w[0])); acc[i] != want {
				t.Fatalf("%v * %v = %v, want %v", x[i], w[0], acc[i], want)
			}
		}
	}
}

// TestProductsOfManyUnits multiplies values whose products are around 32, the border between two forms,
// in sums that cancel: a unit that is wrong shows.
func TestProductsOfManyUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for round := range 2000 {
		const lanes, k = 64, 3
		x, w := make([]float16.Float16, lanes), make([]float16.Float16, k)
		for i := range x {
			x[i] = RoundHalf(float32(4 + 6*rng.Float64()))
		}
		w[0] = RoundHalf(float32(3 + 3*rng.Float64()))
		w[1] = RoundHalf(-w[0].Float32() * float32(rng.Float64()))
		w[2] = RoundHalf(-w[0].Float32() - w[1].Float32())
		if round == 0 {
			x[0], w[0], w[1], w[2] = 0x4900, 0x4600, 0xc400, 0xc000 // 10 * (6 - 4 - 2)
		}
		wide, panel, acc := make([]float32, k), make([]float32, lanes*k), make([]float32, lanes)
		Widen(wide, w)
		for i := range k {
			Widen(panel[i*lanes:], x)
		}
		H13.Reduce(acc, panel, lanes, TapsOf(k, wide), Start{})
		for l := range acc {
			if got, want := RoundHalf(acc[l]), Dot([]float16.Float16{x[l], x[l], x[l]}, w); got != want {
				t.Fatalf("round %d: %v times %v is %v, want %v", round, x[l], w, got, want)
			}
		}
	}
}
