package planar

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

func pool(t *testing.T, w Window, out Shape, a Source) []float16.Float16 {
	t.Helper()
	dst := make([]float16.Float16, out.Len())
	if err := w.Pool(dst, out, a); err != nil {
		t.Fatal(err)
	}
	return dst
}

func TestPoolPlain(t *testing.T) {
	a := Source{halvesOf(
		1, 2, 3, 4,
		5, 6, 7, 8,
		-1, -2, -3, -4,
		-5, -6, -7, -9), Shape{1, 4, 4}}
	for _, c := range []struct {
		kind PoolKind
		want []float16.Float16
	}{
		{PoolAverage, halvesOf(3.5, 5.5, -3.5, -5.75)},
		{PoolMax, halvesOf(6, 8, -1, -3)},
		{PoolMin, halvesOf(1, 3, -6, -9)},
		{PoolL1, halvesOf(14, 22, 14, 23)},
		{PoolL2, halvesOf(math.Sqrt(66), math.Sqrt(138), math.Sqrt(66), math.Sqrt(155))},
	} {
		w := Window{Kind: c.kind, KH: 2, KW: 2, StrideH: 2, StrideW: 2, Padding: PadZero}
		if got := pool(t, w, Shape{1, 2, 2}, a); !slices.Equal(got, c.want) {
			t.Errorf("kind %d: %v, want %v", c.kind, got, c.want)
		}
	}
}

// One row of three, a window of three, padding of two on the left and what the
// output implies on the right.
func TestPaddingModes(t *testing.T) {
	a := Source{halvesOf(-1, -2, -4), Shape{1, 1, 3}}
	for _, c := range []struct {
		name string
		w    Window
		want []float16.Float16
	}{
		{"zero max", Window{Kind: PoolMax, Padding: PadZero}, halvesOf(0, 0, -1, 0, 0)},
		{"negative max", Window{Kind: PoolMax, Padding: PadNegative}, halvesOf(-1, -1, -1, -2, -4)},
		{"replication sum", Window{Kind: PoolL1, Padding: PadReplication}, halvesOf(3, 4, 7, 10, 12)},
		{"symmetric sum", Window{Kind: PoolL1, Padding: PadSymmetric}, halvesOf(4, 4, 7, 10, 10)},
		{"reflective sum", Window{Kind: PoolL1, Padding: PadReflective}, halvesOf(7, 5, 7, 8, 7)},
		{"background min", Window{Kind: PoolMin, Padding: PadBackground, Background: half(-9)}, halvesOf(-9, -9, -4, -9, -9)},
		{"don't care average", Window{Kind: PoolAverage, Padding: PadDontCare}, halvesOf(-1, -1.5, -7./3, -3, -4)},
		{"zero average counts padding", Window{Kind: PoolAverage, Padding: PadZero}, halvesOf(-1./3, -1, -7./3, -2, -4./3)},
		{"zero average without padding", Window{Kind: PoolAverage, Padding: PadZero, ExcludePadding: true}, halvesOf(-1, -1.5, -7./3, -3, -4)},
	} {
		c.w.KH, c.w.KW, c.w.StrideH, c.w.StrideW, c.w.BeforeW = 1, 3, 1, 1, 2
		if got := pool(t, c.w, Shape{1, 1, 5}, a); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPoolNothingCounts(t *testing.T) {
	a := Source{halvesOf(1), Shape{1, 1, 1}}
	w := Window{Kind: PoolMax, KH: 1, KW: 1, StrideH: 1, StrideW: 1, BeforeW: 5, Padding: PadDontCare}
	if got := pool(t, w, Shape{1, 1, 1}, a); got[0] != 0 {
		t.Errorf("%v", got)
	}
	w.Kind, w.Padding, w.ExcludePadding = PoolAverage, PadZero, true
	if got := pool(t, w, Shape{1, 1, 1}, a); got[0] != 0 {
		t.Errorf("%v", got)
	}
}

func TestMirror(t *testing.T) {
	for _, c := range []struct {
		edge int
		want []int
	}{
		{1, []int{1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0}},
		{0, []int{1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1}},
	} {
		for i, want := range c.want {
			if got := mirror(i-5, 3, c.edge); got != want {
				t.Errorf("mirror(%d, 3, %d) = %d, want %d", i-5, c.edge, got, want)
			}
		}
	}
	if mirror(-7, 1, 0) != 0 || mirror(9, 1, 1) != 0 {
		t.Error("one element is its own mirror")
	}
}

// Pooling a tile padded by hand, without padding, gives what the mode gives.
func TestPoolAgainstPaddedTile(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	in := Shape{2, 5, 4}
	a := randomTile(r, in)
	for _, pad := range []Padding{PadZero, PadNegative, PadReplication, PadSymmetric, PadReflective, PadBackground} {
		for _, kind := range []PoolKind{PoolAverage, PoolMax, PoolMin, PoolL1, PoolL2} {
			w := Window{Kind: kind, KH: 3, KW: 2, StrideH: 2, StrideW: 1, BeforeH: 2, BeforeW: 1, Padding: pad, Background: half(-0.75)}
			out := Shape{2, 4, 6}
			big := Source{nil, Shape{2, 9, 7}}
			for z := range 2 {
				p := plane{a.Data[z*20:][:20], 5, 4}
				for y := -2; y < 7; y++ {
					for x := -1; x < 6; x++ {
						if y >= 0 && y < 5 && x >= 0 && x < 4 {
							big.Data = append(big.Data, a.at(z, y, x))
						} else {
							big.Data = append(big.Data, narrow(w.outside(p, y, x)))
						}
					}
				}
			}
			flat := w
			flat.BeforeH, flat.BeforeW = 0, 0
			if got, want := pool(t, w, out, a), pool(t, flat, out, big); !slices.Equal(got, want) {
				t.Errorf("padding %d, kind %d: %v, want %v", pad, kind, got, want)
			}
		}
	}
}

func TestPoolSpecialValues(t *testing.T) {
	a := Source{halvesOf(nan, 1, -inf, inf), Shape{1, 2, 2}}
	for kind, want := range map[PoolKind]float64{
		PoolMax: inf, PoolMin: -inf, PoolL1: inf, PoolL2: inf,
		PoolAverage: inf, // inf + 1 - inf is 0, and the last tap is infinite
	} {
		w := Window{Kind: kind, KH: 2, KW: 2, StrideH: 1, StrideW: 1, Padding: PadZero}
		if got := pool(t, w, Shape{1, 1, 1}, a); got[0] != half(want) {
			t.Errorf("kind %d: %v, want %v", kind, got[0], want)
		}
	}
}

func TestWindowErrors(t *testing.T) {
	good := Window{Kind: PoolMax, KH: 1, KW: 1, StrideH: 1, StrideW: 1, Padding: PadZero}
	for _, set := range []func(*Window){
		func(w *Window) { w.Kind = 3 }, func(w *Window) { w.Padding = 4 }, func(w *Window) { w.Padding = 0 },
		func(w *Window) { w.KH = 0 }, func(w *Window) { w.KW = -1 },
		func(w *Window) { w.StrideH = 0 }, func(w *Window) { w.StrideW = 0 },
	} {
		w := good
		set(&w)
		var we *WindowError
		if err := w.Pool(nil, Shape{}, Source{}); !errors.As(err, &we) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	var se *ShapeError
	d := make([]float16.Float16, 4)
	if err := good.Pool(d, Shape{2, 1, 1}, Source{d, Shape{1, 2, 2}}); !errors.As(err, &se) {
		t.Error("channels do not match:", err)
	}
}

func BenchmarkPool(b *testing.B) {
	r := rand.New(rand.NewPCG(8, 8))
	a := randomTile(r, Shape{16, 32, 32})
	dst := make([]float16.Float16, a.Shape.Len())
	for _, c := range []struct {
		name string
		w    Window
		out  Shape
	}{
		{"max-2x2s2", Window{Kind: PoolMax, KH: 2, KW: 2, StrideH: 2, StrideW: 2, Padding: PadZero}, Shape{16, 16, 16}},
		{"max-3x3s1p1", Window{Kind: PoolMax, KH: 3, KW: 3, StrideH: 1, StrideW: 1, BeforeH: 1, BeforeW: 1, Padding: PadNegative}, a.Shape},
		{"avg-3x3s1p1", Window{Kind: PoolAverage, KH: 3, KW: 3, StrideH: 1, StrideW: 1, BeforeH: 1, BeforeW: 1, Padding: PadZero}, a.Shape},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.w.Pool(dst, c.out, a); err != nil {
					b.Fatal(err)
				}
			}
			n := float64(c.out.Len() * c.w.KH * c.w.KW)
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "taps/s")
		})
	}
}
