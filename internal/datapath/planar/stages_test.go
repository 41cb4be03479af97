package planar

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// Each stage alone, and the two functions after the scales, with numbers worked out by hand.
func TestStagesAlone(t *testing.T) {
	in := halvesOf(1, -2, 0, zero, 4)
	for _, tc := range []struct {
		name string
		set  func(*Config)
		want []float64
	}{
		{"Bias", func(c *Config) { c.Bias = half(0.5) }, []float64{1.5, -1.5, 0.5, 0.5, 4.5}},
		{"Scale", func(c *Config) { c.Scale = half(3) }, []float64{3, -6, 0, 0, 12}},
		{"FinalScale", func(c *Config) { c.FinalScale = 0.25 }, []float64{0.25, -0.5, 0, 0, 1}},
		{"Epsilon", func(c *Config) { c.Epsilon = half(2) }, []float64{3, 0, 2, 2, 6}},
		{"PreScale", func(c *Config) { c.PreScale = half(2) }, []float64{2, -4, 0, 0, 8}},
		{"absolute value", func(c *Config) { c.Post = PostAbs }, []float64{1, 2, 0, 0, 4}},
		{"reciprocal", func(c *Config) { c.Post = PostReciprocal }, []float64{1, -0.5, inf, inf, 0.25}},
		{"inverse square root", func(c *Config) { c.Post = PostRsqrt }, []float64{1, 0, inf, inf, 0.5}},
		{"ReLU", func(c *Config) { c.ReLU = true }, []float64{1, 0, 0, 0, 4}},
	} {
		c := Neutral(Add)
		tc.set(&c)
		want := halvesOf(tc.want...)
		got := make([]float16.Float16, len(in))
		if c.ApplyOne(got, in); !slices.Equal(got, want) {
			t.Errorf("%s of one source: %v, want %v", tc.name, got, want)
		}
		if c.Apply(got, in, make([]float16.Float16, len(in))); !slices.Equal(got, want) {
			t.Errorf("%s of a source plus zeros: %v, want %v", tc.name, got, want)
		}
	}
}

// The least and the largest of terms, and the stages that come before them.
func TestReductionsByHand(t *testing.T) {
	kind := func(k Reduction) Config { c := Neutral(Add); c.Kind = k; return c }
	biased, scaled, negated := Neutral(Add), Neutral(Add), kind(ReduceMax)
	biased.Bias, scaled.Scale, negated.Negate1 = half(1), half(2), true
	in := halvesOf(-3, -5, -4, -6) // rows of two
	for _, tc := range []struct {
		name          string
		cfg           Config
		width, height []float64
	}{
		{"sum", Neutral(Add), []float64{-8, -10}, []float64{-7, -11}},
		{"largest", kind(ReduceMax), []float64{-3, -4}, []float64{-3, -5}},
		{"least", kind(ReduceMin), []float64{-5, -6}, []float64{-4, -6}},
		{"largest of the negated", negated, []float64{5, 6}, []float64{4, 6}},
		{"each with a bias", biased, []float64{-6, -8}, []float64{-5, -9}},
		{"each doubled", scaled, []float64{-16, -20}, []float64{-14, -22}},
	} {
		for axis, want := range map[Axes][]float64{AxisW: tc.width, AxisH: tc.height} {
			var got [2]float16.Float16
			if err := tc.cfg.Reduce(got[:], axis, Source{in, Shape{1, 2, 2}}); err != nil || !slices.Equal(got[:], halvesOf(want...)) {
				t.Errorf("%s over %03b: %v, %v, want %v", tc.name, axis, got, err, want)
			}
		}
		// The same four terms in one column: a tile one element wide.
		var got [2]float16.Float16
		column := Source{in, Shape{2, 2, 1}}
		if err := tc.cfg.Reduce(got[:], AxisH|AxisW, column); err != nil || !slices.Equal(got[:], halvesOf(tc.width...)) {
			t.Errorf("%s of columns: %v, %v, want %v", tc.name, got, err, tc.width)
		}
	}
}

// Both sources of a reduction may repeat along any axis, reduced or not.
func TestReduceTwoEveryRepeat(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	full := Shape{2, 3, 4}
	c := subtract()
	for ab := range 64 {
		a, b := randomTile(r, full.without(Axes(ab&7))), randomTile(r, full.without(Axes(ab>>3)))
		joined := broadcastShape(a.Shape, b.Shape)
		each := Source{make([]float16.Float16, joined.len()), joined}
		if err := c.applyTile(each.Data, a, b); err != nil {
			t.Fatal(err)
		}
		for axes := range Axes(8) {
			// The largest of rounded differences is the largest difference, rounded.
			c.Kind = ReduceMax
			got := make([]float16.Float16, joined.without(axes).len())
			if err := c.ReduceTwo(got, axes, a, b); err != nil {
				t.Fatal(err)
			}
			largest := Neutral(Add)
			largest.Kind = ReduceMax
			want := make([]float16.Float16, len(got))
			if err := largest.Reduce(want, axes, each); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v and %v over %03b: %v, want %v", a.Shape, b.Shape, axes, got, want)
			}
		}
	}
}

// Addend and factor of the row form may repeat along any axis.
func TestApplyChannelEveryRepeat(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	full := Shape{2, 3, 4}
	c := Neutral(Add)
	for ab := range 64 {
		a, addend, factor := randomTile(r, full), randomTile(r, full.without(Axes(ab&7))), randomTile(r, full.without(Axes(ab>>3)))
		got := make([]float16.Float16, full.len())
		if err := c.ApplyChannel(got, a, addend, factor); err != nil {
			t.Fatal(err)
		}
		i := 0
		for z := range full.C {
			for y := range full.H {
				for x := range full.W {
					sum := float64(a.at(z, y, x).Float32()) + float64(addend.at(z, y, x).Float32())
					if want := half(sum * float64(factor.at(z, y, x).Float32())); got[i] != want {
						t.Fatalf("%v and %v at %d,%d,%d: %v, want %v", addend.Shape, factor.Shape, z, y, x, got[i], want)
					}
					i++
				}
			}
		}
	}
}

// A tile whose extents multiply to more than its elements is refused, whichever they are.
func TestShapesNeedTheirElements(t *testing.T) {
	c := Neutral(Add)
	six := make([]float16.Float16, 6)
	for _, s := range []Shape{{2, 1, 6}, {2, 6, 1}, {1, 2, 6}, {6, 1, 2}, {1, 0, 6}, {1, 6, 0}, {1, -1, -6}} {
		if err := c.Reduce(six, AxisC, Source{six, s}); err == nil {
			t.Errorf("six elements pass as %v", s)
		}
	}
	for _, s := range []Shape{{1, 1, 6}, {2, 3, 1}, {6, 1, 1}, {1, 6, 1}} {
		if err := c.Reduce(six, AxisC, Source{six, s}); err != nil {
			t.Error(err)
		}
	}
}

func TestNumberOfNoOperation(t *testing.T) {
	if got := Op(5).String(); got != "Op(5)" {
		t.Errorf("%q", got)
	}
	if got := SumSquare.String(); got != "sumsquare" {
		t.Errorf("%q", got)
	}
}
