package planar

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

func randomTile(r *rand.Rand, s Shape) Source {
	t := Source{make([]float16.Float16, s.len()), s}
	for i := range t.Data {
		t.Data[i] = half(r.NormFloat64() * 4)
	}
	return t
}

func (s Source) at(c, h, w int) float16.Float16 {
	t := s.Shape.strides()
	return s.Data[c*t.c+h*t.h+w*t.w]
}

// Every way two sources can repeat, against an index per element.
func TestApplyTileBroadcasts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	full := Shape{3, 4, 5}
	scaled := subtract()
	scaled.Scale = log2e
	for am := range 8 {
		for bm := range 8 {
			a, b := randomTile(r, full.without(Axes(am))), randomTile(r, full.without(Axes(bm)))
			out := broadcastShape(a.Shape, b.Shape)
			for _, c := range []Config{subtract(), Neutral(Mul), scaled} {
				dst := make([]float16.Float16, out.len())
				if err := c.applyTile(dst, a, b); err != nil {
					t.Fatal(err)
				}
				i := 0
				for z := range out.C {
					for y := range out.H {
						for x := range out.W {
							if want := slowApply(c, a.at(z, y, x), b.at(z, y, x)); dst[i] != want {
								t.Fatalf("%v with %v at %d,%d,%d: %v, want %v", a.Shape, b.Shape, z, y, x, dst[i], want)
							}
							i++
						}
					}
				}
			}
		}
	}
}

func TestApplyChannel(t *testing.T) {
	a := Source{halvesOf(1, 2, 3, 4), Shape{2, 1, 2}}
	dst := make([]float16.Float16, 4)
	c := Neutral(Add)
	err := c.ApplyChannel(dst, a, Source{halvesOf(0, 1), Shape{2, 1, 1}}, Source{halvesOf(10, -1), Shape{2, 1, 1}})
	if want := halvesOf(10, 20, -4, -5); err != nil || !slices.Equal(dst, want) {
		t.Error(dst, err)
	}
	c.Negate2 = true
	err = c.ApplyChannel(dst, a, Source{halvesOf(0.5), Shape{1, 1, 1}}, Source{halvesOf(2), Shape{1, 1, 1}})
	if want := halvesOf(1, 3, 5, 7); err != nil || !slices.Equal(dst, want) {
		t.Error(dst, err)
	}
}

// TestApplyChannelStages holds rows of one addend and one factor to the stages of each
// element.
func TestApplyChannelStages(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	any := func() float16.Float16 {
		edges := [...]float16.Float16{0, 0x8000, 1, 0x03ff, 0x0400, one, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00}
		if r.IntN(4) == 0 {
			return edges[r.IntN(len(edges))]
		}
		return half(r.NormFloat64())
	}
	fill := func(s Shape) Source {
		a := Source{make([]float16.Float16, s.len()), s}
		for i := range a.Data {
			a.Data[i] = any()
		}
		return a
	}
	for round := range 2000 {
		c := Neutral(Op(round % 5))
		c.Negate1, c.Negate2 = r.IntN(2) == 0, r.IntN(2) == 0
		c.Relu2, c.ReLU = r.IntN(2) == 0, r.IntN(2) == 0
		if r.IntN(2) == 0 {
			c.Epsilon, c.PreScale, c.FinalScale = any(), any(), 0.25
			c.Post = Post(r.IntN(4))
		}
		s := Shape{3, 2, 1 + r.IntN(40)}
		a, addend, factor := fill(s), fill(Shape{3, 1, 1}), fill(Shape{3, 1, 1})
		got := make([]float16.Float16, s.len())
		if err := c.ApplyChannel(got, a, addend, factor); err != nil {
			t.Fatal(err)
		}
		p := c.newPlan()
		for i, h := range a.Data {
			z := i / (s.H * s.W)
			want := p.finishElement(p.addBiasAndScale(p.loadFirst(h), p.loadSecond(addend.Data[z]), float64(wide[factor.Data[z]])))
			if got[i] != want {
				t.Fatalf("%+v: %v with %v and %v is %v, want %v", c, h, addend.Data[z], factor.Data[z], got[i], want)
			}
		}
	}
}

func TestShapeErrors(t *testing.T) {
	c := Neutral(Add)
	d := make([]float16.Float16, 6)
	ok := Source{d, Shape{1, 2, 3}}
	huge := Source{d, Shape{1 << 40, 1 << 40, 1 << 40}}
	for name, err := range map[string]error{
		"planar: source 1 has shape 1x2x3; want 1x3x3, or 1 along any axis":                                  c.applyTile(d, ok, Source{d, Shape{1, 3, 2}}),
		"planar: source 1 has shape 0x2x3; want positive extents":                                            c.applyTile(d, Source{d, Shape{0, 2, 3}}, ok),
		"planar: source 2 has shape 1x2x3, but its slice has 5 elements":                                     c.applyTile(d, ok, Source{d[:5], ok.Shape}),
		"planar: destination has shape 1x2x3, but its slice has 2 elements":                                  c.applyTile(d[:2], ok, ok),
		"planar: destination has shape 1x2x1, but its slice has 1 elements":                                  c.Reduce(d[:1], AxisW, ok),
		"planar: factor has shape 2x1x1; want 1x2x3, or 1 along any axis":                                    c.ApplyChannel(d, ok, ok, Source{d, Shape{2, 1, 1}}),
		"planar: source 1 has shape 1099511627776x1099511627776x1099511627776, but its slice has 6 elements": c.Reduce(d, AxisC, huge),
	} {
		var se *ShapeError
		if err == nil || err.Error() != name || !errors.As(err, &se) {
			t.Errorf("got %q, want %q", err, name)
		}
	}
}
