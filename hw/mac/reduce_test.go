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
func ExampleReduce() {
	taps := []float32{2, 2, 2}
	panel := []float32{ // a row for each tap, a column for each output
		1, 2, 3, 4,
		1, 2, 3, 4,
		1, 2, 3, 4000,
	}
	acc := make([]float32, 4)
	Reduce(acc, panel, taps, PortCeiling)
	fmt.Println(acc)
	// 4 + 4 + 4000 keeps 12 bits, twice: the unit of the last sum is 4.
	// Output: [6 12 18 8016]
}

// Two output channels over the same two pixels.
func ExampleReduceMany() {
	panel := []float32{
		1, 10,
		2, 20,
		3, 30,
	}
	taps := []float32{
		1, 1, 1,
		0, 0, -1,
	}
	acc := make([]float32, 4)
	ReduceMany(acc, panel, taps, 2, PortCeiling)
	fmt.Println(acc[:2], acc[2:])
	// Output: [6 60] [-3 -30]
}

func ExampleDot() {
	x := []float16.Float16{0x6c00, 0xec00, 0x3c00} // 4096, -4096, 1
	w := []float16.Float16{0x3c00, 0x3c00, 0x3c00}
	fmt.Println(Dot(x, w), Dot([]float16.Float16{0x6c00, 0x3c00, 0xec00}, w))
	// Output: 1 0
}

// A probe is a reduction against weights of 1 with its result on silicon.
type probe struct {
	name string
	x    []float16.Float16
	want float32
}

func measuredProbes() []probe {
	probes := []probe{
		{"4096 then 1024 ones", slices.Concat(halves(4096), ones(1024)), 5116},
		{"8192 then 16 ones", slices.Concat(halves(8192), ones(16)), 8208},
		{"16000 ones", ones(16000), 16000},
		{"2049 at a spacing of 2", halves(2048, 1), 2048},
		{"two denormals", []float16.Float16{0x0200, 0x0100}, 0},
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
// results come from the model itself.
func TestProbeBoundaries(t *testing.T) {
	for _, p := range []probe{
		// 1 survives beside 4094, whose unit of 2^(11-11) is 1, and not beside the
		// next half, 4096, whose unit is 2.
		{"[4094 -4094 1] x 16", slices.Repeat(halves(4094, -4094, 1), 16), 16},
		{"[4100 -4100 1] x 16", slices.Repeat(halves(4100, -4100, 1), 16), 4},
		{"a unit below the cut", halves(2048, 0.5, -2048, 0), 0},
		{"a unit at the cut", halves(2048, 1, -2048, 0), 1},
		{"almost two units", halves(2048, 1.999, -2048, 0), 1},
		{"negative is cut toward zero", halves(-2048, -1.999, 2048, 0), -1},
		{"small first", halves(1.999, 2048, -2048, 0), 1},
		{"nothing is cut between tiles", halves(2048, 0, 0, 0, 0.5, 0, 0, 0, -2048), 0.5},
		{"a lone product is not cut", []float16.Float16{0, 0, 0, 0, 0x3c01}, 1.0009765625},

		{"one step below the ceiling", halves(32752, 0), 32752},
		{"rounds up to the ceiling", halves(16384, 16376), float32(inf)},
		{"rounds down below it", halves(16384, 16368, 7.9, 0), 32752},
		{"negative ceiling", halves(-16384, -16384), float32(-inf)},
		{"sums inside a tile are not checked", halves(30000, 30000, -30000, 0), 30000},
		{"infinity sticks", halves(30000, 30000, 0, 0, -30000, -30000, 0, 0), float32(inf)},
		{"opposite infinities", []float16.Float16{0x7c00, 0, 0, 0, 0xfc00, 0, 0, 0, 0x3c00}, 1},
		{"opposite infinities in a tile", []float16.Float16{0x7c00, 0xfc00, 0x3c00}, 1},
		{"NaN is +inf", []float16.Float16{0x7e00, 0x3c00}, float32(inf)},
		{"negative NaN too", []float16.Float16{0xfe00, 0x3c00}, float32(inf)},
		{"nothing", nil, 0},
	} {
		if got := Dot(p.x, ones(len(p.x))); got.Float32() != p.want {
			t.Errorf("%s: %v, want %v", p.name, got, p.want)
		}
	}
	if got := Dot([]float16.Float16{0x7c00, 0x4000}, []float16.Float16{0, 0x4000}); got != 0x4400 {
		t.Errorf("inf * 0 + 2 * 2 = %v, want 4", got)
	}
}

func TestPortFull(t *testing.T) {
	for _, tt := range []struct{ x, want float32 }{
		{32767, 32768}, {32768, 32768}, {65504, 65504}, {-65504, -65504}, {65519, 65504}, {65520, float32(inf)},
	} {
		if got := PortFull.Narrow(tt.x).Float32(); got != tt.want {
			t.Errorf("full port: %v leaves as %v, want %v", tt.x, got, tt.want)
		}
	}
	acc := make([]float32, 1)
	Reduce(acc, []float32{40000}, []float32{1}, PortFull)
	if acc[0] != 40000 {
		t.Errorf("full port stops %v", acc[0])
	}
	Reduce(acc, []float32{40000}, []float32{-1}, PortCeiling)
	if acc[0] != float32(-inf) {
		t.Errorf("ceiling lets %v pass", acc[0])
	}
}

// cutAdd adds two numbers aligned at width bits, by the definition in float64.
func cutAdd(a, b float64, width int, cut func(float64) float64) float64 {
	if a == 0 && b == 0 {
		return 0
	}
	_, e := math.Frexp(math.Max(math.Abs(a), math.Abs(b)))
	return math.Ldexp(cut(math.Ldexp(a, width-e))+cut(math.Ldexp(b, width-e)), e-width)
}

// dotBy is Dot with another tile adder.
func dotBy(x []float16.Float16, tile func([]float64) float64) float32 {
	var acc float32
	for len(x) > 0 {
		var p []float64
		for _, h := range x[:min(4, len(x))] {
			p = append(p, float64(widenHalf(h)))
		}
		x = x[len(p):]
		acc = accumulate(acc, float32(tile(p)), 32768)
	}
	return PortCeiling.Narrow(acc).Float32()
}

// TestAlternatives shows which other adders the probes rule out, and that the one
// open question, the rounding of the cut, they leave open.
func TestAlternatives(t *testing.T) {
	inOrder := func(add func(a, b float64) float64) func([]float64) float64 {
		return func(p []float64) float64 {
			s := p[0]
			for _, v := range p[1:] {
				s = add(s, v)
			}
			return s
		}
	}
	width := func(n int, cut func(float64) float64) func(a, b float64) float64 {
		return func(a, b float64) float64 { return cutAdd(a, b, n, cut) }
	}
	for _, tt := range []struct {
		name string
		tile func([]float64) float64
		fits bool
	}{
		{"12 bits", inOrder(width(12, math.Trunc)), true},
		{"12 bits, half to even", inOrder(width(12, math.RoundToEven)), true},
		{"11 bits", inOrder(width(11, math.Trunc)), false},
		{"13 bits", inOrder(width(13, math.Trunc)), false},
		{"exact", inOrder(func(a, b float64) float64 { return a + b }), false},
		{"fp16 sums", inOrder(func(a, b float64) float64 { return float64(Round(a+b, NearestEven).Float32()) }), false},
		{"pairwise", func(p []float64) float64 {
			p = append(p, make([]float64, 4-len(p))...)
			add := width(12, math.Trunc)
			return add(add(p[0], p[1]), add(p[2], p[3]))
		}, false},
		{"fused", func(p []float64) float64 {
			top, sum := 0.0, 0.0
			for _, v := range p {
				top = math.Max(top, math.Abs(v))
			}
			_, e := math.Frexp(top)
			for _, v := range p {
				sum += math.Ldexp(math.Trunc(math.Ldexp(v, 12-e)), e-12)
			}
			return sum
		}, false},
	} {
		var failed []string
		for _, p := range measuredProbes() {
			if math.Abs(float64(p.want)) < 32768 && dotBy(p.x, tt.tile) != p.want {
				failed = append(failed, p.name)
			}
		}
		if (len(failed) == 0) != tt.fits {
			t.Errorf("%s: fails %d probes %q; expected to fit: %v", tt.name, len(failed), failed, tt.fits)
		}
	}
}

// TestAddAligned compares the tile adder with its definition.
func TestAddAligned(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300000 {
		a := multiplyWithoutNaN(widenHalf(anyHalf(rng, 2)), widenHalf(anyHalf(rng, 2)))
		b := multiplyWithoutNaN(widenHalf(anyHalf(rng, 2)), widenHalf(anyHalf(rng, 2)))
		if rng.IntN(2) == 0 {
			a = addAligned(a, multiplyWithoutNaN(b, 1.5))
		}
		if math.IsInf(float64(a), 0) || math.IsInf(float64(b), 0) {
			continue
		}
		want := cutAdd(float64(a), float64(b), 12, math.Trunc)
		if got := addAligned(a, b); float64(got) != want {
			t.Fatalf("addAligned(%g, %g) = %g, want %g", a, b, got, want)
		}
	}
}

func TestReduceArguments(t *testing.T) {
	Reduce(nil, nil, nil, PortCeiling)
	Reduce(nil, nil, make([]float32, 3), PortCeiling)
	acc := []float32{7, 7}
	Reduce(acc, nil, nil, PortCeiling)
	if acc[0] != 0 || acc[1] != 0 {
		t.Errorf("no taps give %v, want zeros", acc)
	}
	acc = []float32{7, 7}
	ReduceRows(acc, nil, nil, nil, PortCeiling)
	if acc[0] != 0 || acc[1] != 0 {
		t.Errorf("no rows give %v, want zeros", acc)
	}
	for name, f := range map[string]func(){
		"short panel":         func() { Reduce(make([]float32, 2), make([]float32, 3), make([]float32, 2), PortCeiling) },
		"panel not in lanes":  func() { ReduceMany(make([]float32, 4), make([]float32, 5), make([]float32, 4), 2, PortCeiling) },
		"taps not in vectors": func() { ReduceMany(make([]float32, 4), make([]float32, 4), make([]float32, 3), 2, PortCeiling) },
		"no lanes":            func() { ReduceMany(make([]float32, 4), nil, nil, 0, PortCeiling) },
		"rows past the plane": func() { ReduceRows(make([]float32, 4), make([]float32, 5), []int{2}, make([]float32, 1), PortCeiling) },
		"row before it":       func() { ReduceRows(make([]float32, 4), make([]float32, 5), []int{-1}, make([]float32, 1), PortCeiling) },
		"rows and taps": func() {
			ReduceRows(make([]float32, 4), make([]float32, 5), []int{0, 1}, make([]float32, 1), PortCeiling)
		},
		"dot": func() { Dot(ones(2), ones(3)) },
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
	for n := range 200 {
		x, w := make([]float16.Float16, n), make([]float16.Float16, n)
		for i := range x {
			x[i], w[i] = anyHalf(rng, n%3), anyHalf(rng, n%3)
		}
		panel, taps, acc := make([]float32, n), make([]float32, n), make([]float32, 1)
		Widen(panel, x)
		Widen(taps, w)
		Reduce(acc, panel, taps, PortCeiling)
		if got, want := Dot(x, w), PortCeiling.Narrow(acc[0]); got != want {
			t.Fatalf("%d taps: Dot = %v, Reduce and Narrow %v", n, got, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	panel, taps := gaussian(rng, 70*9), gaussian(rng, 9)
	acc, out := make([]float32, 70), make([]float16.Float16, 70)
	table := TableOf(Sigmoid)
	post := Post{Scale: 1, Table: table}
	if n := testing.AllocsPerRun(10, func() {
		Reduce(acc, panel, taps, PortCeiling)
		post.Apply(out, acc)
		(&Post{Scale: 1, ReLU: true}).Apply(out, acc)
		Widen(acc, out)
		out[0] = Dot(out[:9], out[9:18])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
