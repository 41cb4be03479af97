package planar

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// The vector loops against the portable ones: every length across the cut-offs,
// odd alignments, and nothing written beyond the end.
func TestPlainMatchesPortable(t *testing.T) { testPlain(t, applyPlain) }

func testPlain(t *testing.T, plain func(dst, a, b []float16.Float16, m *masks, op Op)) {
	r := rand.New(rand.NewPCG(7, 8))
	const room = 80
	a, b := make([]float16.Float16, room), make([]float16.Float16, room)
	for i := range a {
		a[i], b[i] = float16.Float16(r.Uint32()), float16.Float16(r.Uint32())
	}
	for n := range 67 {
		for op := Add; op <= Min; op++ {
			for flags := range 16 {
				c := Neutral(op)
				c.Negate1, c.Negate2, c.Relu2, c.ReLU = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
				m := c.newMasks()
				off := n % 5
				got, want := make([]float16.Float16, room), make([]float16.Float16, room)
				plain(got[off:][:n], a[1:][:n], b[2:][:n], &m, op)
				applyPlainGo(want[off:][:n], a[1:][:n], b[2:][:n], &m, op)
				if !slices.Equal(got, want) {
					t.Fatalf("%v, %d elements, flags %d", op, n, flags)
				}
			}
		}
	}
}

func TestApplyInPlace(t *testing.T) {
	a, b := halvesOf(1, 2, 3, 4, 5, 6, 7, 8, 9), halvesOf(9, 8, 7, 6, 5, 4, 3, 2, 1)
	c := Neutral(Add)
	c.Apply(a, a, b)
	for _, h := range a {
		if h != half(10) {
			t.Fatalf("%v", a)
		}
	}
}

// TestScaledMatchesStages holds the vector loops for every stage to the Go code, at
// every length up to a few vectors and over pairs of any elements.
func TestScaledMatchesStages(t *testing.T) { testScaled(t, applyScaled, applySingle) }

func testScaled(t *testing.T, scaled func(dst, a, b []float16.Float16, p *plan), single func(dst, a []float16.Float16, p *plan)) {
	r := rand.New(rand.NewPCG(21, 22))
	any := func() float16.Float16 {
		switch r.IntN(4) {
		case 0:
			edges := [...]float16.Float16{0, 0x8000, 1, 0x8001, one, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x0400}
			return edges[r.IntN(len(edges))]
		case 1:
			return half(r.NormFloat64())
		}
		return float16.Float16(r.Uint32())
	}
	finals := [...]float32{1, 1, 0.1, -3, 1e-30, 1e30, 0, float32(math.Inf(1)), float32(math.NaN())}
	for round := range 4000 {
		c := Neutral(Op(round % 5))
		c.Negate1, c.Negate2 = r.IntN(2) == 0, r.IntN(2) == 0
		c.Negate1, c.Negate2 = r.IntN(2) == 0, r.IntN(2) == 0
		c.Relu2, c.ReLU = r.IntN(2) == 0, r.IntN(2) == 0
		c.Bias, c.Scale = any(), any()
		if r.IntN(4) == 0 {
			c.Bias = 0
		}
		if r.IntN(2) == 0 {
			c.Epsilon, c.PreScale, c.FinalScale = any(), any(), finals[r.IntN(len(finals))]
		}
		c.Post = Post(r.IntN(4))
		n := r.IntN(70)
		a, b := make([]float16.Float16, n), make([]float16.Float16, n)
		for i := range a {
			a[i], b[i] = any(), any()
		}
		p := c.newPlan()
		want, got := make([]float16.Float16, n), make([]float16.Float16, n+1)
		got[n] = 42
		applyScaledGo(want, a, b, &p)
		scaled(got[:n], a, b, &p)
		if !slices.Equal(want, got[:n]) || got[n] != 42 {
			t.Fatalf("%+v of\n%v,\n%v:\n%v, want\n%v", c, a, b, got, want)
		}
		applySingleGo(want, a, &p)
		single(got[:n], a, &p)
		if !slices.Equal(want, got[:n]) || got[n] != 42 {
			t.Fatalf("%+v of one source\n%v:\n%v, want\n%v", c, a, got, want)
		}
	}
}

// TestEveryHalf holds the vector loops to the Go code at every fp16 value with every
// operation.
func TestEveryHalf(t *testing.T) {
	a, b := make([]float16.Float16, 1<<16), make([]float16.Float16, 1<<16)
	for i := range a {
		a[i], b[i] = float16.Float16(i), float16.Float16(i*40503)
	}
	got, want := make([]float16.Float16, len(a)), make([]float16.Float16, len(a))
	for op := Add; op <= SumSquare; op++ {
		for flags := range 32 {
			c := Neutral(op)
			c.Negate1, c.Negate2, c.Relu2, c.ReLU = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
			if flags&16 != 0 {
				c.Bias, c.Scale = 0x2e66, 0x3555 // 0.1, a third
			}
			p := c.newPlan()
			applyScaledGo(want, a, b, &p)
			if applyScaled(got, a, b, &p); !slices.Equal(got, want) {
				t.Errorf("%v, flags %#x", op, flags)
			}
			applySingleGo(want, a, &p)
			if applySingle(got, a, &p); !slices.Equal(got, want) {
				t.Errorf("%v of one source, flags %#x", op, flags)
			}
			if op <= Min {
				applyPlainGo(want, a, b, &p.masks, op)
				if applyPlain(got, a, b, &p.masks, op); !slices.Equal(got, want) {
					t.Errorf("%v at neutral scales, flags %#x", op, flags)
				}
			}
		}
	}
}

// TestLogOfZeroIsAGap holds what is not understood: silicon gives log(+0) = -45440,
// which is -65536 * 0x398c. The vendor's log is a table that gives -Inf for +0, then
// this product, so it seems to read the bits of -Inf as a number of the next binade.
// The multiply-accumulates of M4 and M6 read operands so, and every measured elementwise
// value of the M1 (inf - inf = 0, 0 * inf = 0, NaN + 0 = +Inf) agrees with that as well; that
// an infinity times a number stays infinite elsewhere is assumed. When the
// product gives -45440, it belongs among the vectors of silicon.
func TestLogOfZeroIsAGap(t *testing.T) {
	c := Neutral(Add)
	c.Scale = 0x398c
	dst := make([]float16.Float16, 1)
	c.ApplyOne(dst, []float16.Float16{0xfc00})
	if dst[0] != 0xfc00 {
		t.Errorf("-Inf * 0x398c is %v, and the recorded gap is at -Inf", dst[0])
	}
}
