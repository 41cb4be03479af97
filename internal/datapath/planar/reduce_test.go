package planar

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// gather lists the terms of one output element in row-major order.
func gather(a Source, axes Axes, c, h, w int) []float16.Float16 {
	out := a.Shape.without(axes)
	span := reducedExtents(a.Shape, out)
	var terms []float16.Float16
	for dz := range span.C {
		for dy := range span.H {
			for dx := range span.W {
				terms = append(terms, a.at(c+dz, h+dy, w+dx))
			}
		}
	}
	return terms
}

func TestReduceEveryAxisSet(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	a := randomTile(r, Shape{3, 4, 5})
	a.Data[7] = 0x7e00 // one NaN, an infinity
	scaled := meanOf(5)
	scaled.Scale, scaled.Negate1 = log2e, true
	square := Neutral(SumSquare)
	largest, smallest := Neutral(Add), Neutral(Add)
	largest.Kind, smallest.Kind = ReduceMax, ReduceMin
	for axes := range Axes(8) {
		for _, c := range []Config{Neutral(Add), meanOf(60), scaled, square, largest, smallest} {
			holdReduction(t, c, axes, a)
		}
	}
}

// holdReduction holds Reduce to its definition.
func holdReduction(t *testing.T, c Config, axes Axes, a Source) {
	t.Helper()
	out := a.Shape.without(axes)
	dst := make([]float16.Float16, out.len())
	if err := c.Reduce(dst, axes, a); err != nil {
		t.Fatal(err)
	}
	p := c.newPlan()
	i := 0
	for z := range out.C {
		for y := range out.H {
			for x := range out.W {
				acc := c.Kind.emptyAccumulator()
				for _, h := range gather(a, axes, z, y, x) {
					acc.addTerm(float32(p.evalSingleSource(p.loadFirst(h))))
				}
				if want := p.finishElement(float64(acc.v)); dst[i] != want {
					t.Fatalf("%+v of %v over %03b at %d: %v, want %v", c, a.Shape, axes, i, dst[i], want)
				}
				i++
			}
		}
	}
}

// TestReduceLargeTiles goes over every axis of tiles that have more runs than are joined beside
// each other, and longer rows than there are accumulators at a time.
func TestReduceLargeTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, shape := range []Shape{{3, 40, 5}, {40, 3, 5}, {2, 2, 2*rowBlock + 7}, {20, 19, 17}, {17, 16, 130}} {
		a := randomTile(r, shape)
		for axes := range Axes(8) {
			for _, kind := range []Reduction{ReduceSum, ReduceMin, ReduceMax} {
				c := Neutral(Add)
				c.Kind = kind
				c.ReLU = kind == ReduceMin && axes&AxisC != 0
				holdReduction(t, c, axes, a)
			}
		}
	}
}

// A sum of n halves in float32 stays within n-1 roundings of 2^-24 of the sum
// of magnitudes, so the half is at most one place from the exact one.
func TestSumNearExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	c := Neutral(Add)
	var dst [1]float16.Float16
	for range 300 {
		a := randomTile(r, Shape{1, 1, 1 + r.IntN(1000)})
		exact, size := 0., 0.
		for _, h := range a.Data {
			exact += float64(h.Float32())
			size += max(float64(h.Float32()), -float64(h.Float32()))
		}
		if err := c.Reduce(dst[:], AxisW, a); err != nil {
			t.Fatal(err)
		}
		slack := float64(len(a.Data)) * size / (1 << 24)
		lo, hi := half(exact-slack), half(exact+slack)
		if got := dst[0].Float32(); got < lo.Float32() || got > hi.Float32() {
			t.Fatalf("%d terms: %v, exact %v", len(a.Data), got, exact)
		}
	}
}

func TestReduceValues(t *testing.T) {
	mean := meanOf(4)
	for _, c := range []struct {
		name string
		cfg  Config
		in   []float64
		want float64
	}{
		{"sum", Neutral(Add), []float64{1, 2, 3, 4}, 10},
		{"mean", mean, []float64{1, 2, 3, 4}, 2.5},
		{"the full range", Neutral(Add), []float64{32768, 16384, 16000, 352}, 65504},
		{"beyond it on the way", mean, []float64{65504, 65504, 65504, 65504}, 65504},
		{"a partial sum beyond it", Neutral(Add), []float64{60000, 60000, -60000, -59008}, 992},
		{"overflow", Neutral(Add), []float64{65504, 16, 0, 0}, inf},
		{"denormals", Neutral(Add), []float64{tiny, tiny, tiny, 0}, 3 * tiny},
		{"NaN", Neutral(Add), []float64{1, nan, 3, 4}, inf},
		{"inf - inf is 0 and the rest adds", Neutral(Add), []float64{inf, -inf, 3, 4}, 7},
		{"no negative zero", Neutral(Add), []float64{zero, zero, zero, zero}, 0},
	} {
		var dst [1]float16.Float16
		if err := c.cfg.Reduce(dst[:], AxisW, Source{halvesOf(c.in...), Shape{1, 1, 4}}); err != nil || dst[0] != half(c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, dst[0], err, c.want)
		}
	}
}

func TestReduceTwoRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	full := Shape{2, 3, 4}
	c := Neutral(SumSquare)
	c.Negate1, c.FinalScale = true, 0.25
	for axes := range Axes(8) {
		x, m := randomTile(r, full), randomTile(r, full.without(axes))
		got := make([]float16.Float16, m.Shape.len())
		if err := c.ReduceTwo(got, axes, m, x); err != nil {
			t.Fatal(err)
		}
		p := c.newPlan()
		var want []float16.Float16
		for z := range m.Shape.C {
			for y := range m.Shape.H {
				for w := range m.Shape.W {
					acc := ReduceSum.emptyAccumulator()
					for _, h := range gather(x, axes, z, y, w) {
						acc.addTerm(float32(p.combineSources(p.loadFirst(m.at(z, y, w)), p.loadSecond(h))))
					}
					want = append(want, p.finishElement(float64(acc.v)))
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("over %03b: %v, want %v", axes, got, want)
		}
	}
}

// TestJoinsMatchPortable compares the vector loops of reductions with the Go code, bit for
// bit and with the signs of zeros. It covers every length up to a few vectors and around the
// cut-offs between loops, any number of runs, infinities and NaNs. Nothing may be written
// next to the accumulators.
func TestJoinsMatchPortable(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	edges := [...]float16.Float16{0, 0x8000, 1, 0x8001, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00}
	for round := range 3000 {
		kind := Reduction(round % 3)
		n := 1 + r.IntN(80)
		if r.IntN(8) == 0 {
			n += longRunOfTest
		}
		count := 1 + r.IntN(lanes)
		if r.IntN(2) == 0 {
			count = lanes
		}
		middle := float64(r.IntN(3)-1) * 8
		rare := 1 + r.IntN(3)*n*lanes/4 // how rare edges are
		a := make([]float16.Float16, n*count+1)[1:]
		for i := range a {
			if a[i] = half(middle + r.NormFloat64()); r.IntN(rare) == 0 {
				a[i] = edges[r.IntN(len(edges))]
			}
		}
		got, want := make([]float32, count+1), make([]float32, count+1)
		for i := range got {
			if got[i] = kind.emptyAccumulator().v; r.IntN(4) == 0 {
				got[i] = float32(r.NormFloat64())
			}
			want[i] = got[i]
		}
		accumulateRuns(kind, got[:count], a, n)
		accumulateRunsGo(kind, want[:count], a, n)
		sameBits(t, got, want, "%d runs of %d, reduction %d", count, n, kind)

		got, want = make([]float32, n+1), make([]float32, n+1)
		accumulateRows(kind, got[:n], a, n, count)
		accumulateRowsGo(kind, want[:n], a, n, count)
		sameBits(t, got, want, "%d rows of %d, reduction %d", count, n, kind)
	}
}

// TestNarrowRow holds the rounding of accumulators to the Go code, at every length up to a few
// vectors.
func TestNarrowRow(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	for n := range 70 {
		for _, relu := range []bool{false, true} {
			acc := make([]float32, n)
			for i := range acc {
				if acc[i] = math.Float32frombits(r.Uint32()); acc[i] != acc[i] || r.IntN(4) == 0 {
					acc[i] = [...]float32{0, float32(math.Copysign(0, -1)), 65519, 65520, -65520, 1e-8, -1e-8, 2049, 2051}[r.IntN(9)]
				}
			}
			got, want := make([]float16.Float16, n+1), make([]float16.Float16, n+1)
			narrowRow(got[:n], acc, relu)
			narrowRowGo(want[:n], acc, relu)
			if !slices.Equal(got, want) {
				t.Fatalf("%v with ReLU %v: %v, want %v", acc, relu, got, want)
			}
			p := (&Config{Scale: one, PreScale: one, FinalScale: 1, ReLU: relu}).newPlan()
			for i, v := range acc {
				if back := p.finishElement(float64(v)); want[i] != back {
					t.Fatalf("%v with ReLU %v: %v, and the stages give %v", v, relu, want[i], back)
				}
			}
		}
	}
}

// longRunOfTest is beyond the length at which extremes take another loop.
const longRunOfTest = 200

func sameBits(t *testing.T, got, want []float32, format string, args ...any) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf(format+": %v at %d, want %v", append(args, got[i], i, want[i])...)
		}
	}
}

func BenchmarkReduce(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 5))
	a := randomTile(r, Shape{64, 16, 16})
	dst := make([]float16.Float16, a.Shape.len())
	largest := Neutral(Add)
	largest.Kind = ReduceMax
	for _, c := range []struct {
		name string
		cfg  Config
		axes Axes
	}{
		{"mean-HW", meanOf(256), AxisH | AxisW},
		{"sum-C", Neutral(Add), AxisC},
		{"max-W", largest, AxisW},
		{"squares-W", Neutral(SumSquare), AxisW},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.cfg.Reduce(dst, c.axes, a); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(a.Data))*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelem/s")
		})
	}
}
