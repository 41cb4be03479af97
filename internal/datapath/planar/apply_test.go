package planar

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

func half(v float64) float16.Float16 { return narrowFloat64(v) }

func halvesOf(vs ...float64) []float16.Float16 {
	out := make([]float16.Float16, len(vs))
	for i, v := range vs {
		out[i] = half(v)
		if math.IsNaN(v) {
			out[i] = 0x7e00
		}
	}
	return out
}

func apply1(c Config, a, b float16.Float16) float16.Float16 {
	var dst [1]float16.Float16
	c.Apply(dst[:], []float16.Float16{a}, []float16.Float16{b})
	return dst[0]
}

var (
	inf  = math.Inf(1)
	nan  = math.NaN()
	tiny = math.Ldexp(1, -24)
	zero = math.Copysign(0, -1)
)

// The special values of silicon. Bits are compared, so the sign of zero counts.
func TestSpecialValues(t *testing.T) {
	add, mul, most, least := Neutral(Add), Neutral(Mul), Neutral(Max), Neutral(Min)
	sub, sq := subtract(), Neutral(SumSquare)
	relu := Neutral(Add)
	relu.ReLU = true
	for _, c := range []struct {
		name string
		cfg  Config
		a, b float64
		want float64
	}{
		{"3+2", add, 3, 2, 5},
		{"3*2", mul, 3, 2, 6},
		{"3-2", sub, 3, 2, 1},
		{"NaN+1", add, nan, 1, inf},
		{"1+NaN", add, 1, nan, inf},
		{"1-NaN", sub, 1, nan, -inf},
		{"NaN*1", mul, nan, 1, inf},
		{"max NaN", most, nan, 1, inf},
		{"max of -inf and NaN", most, -inf, nan, inf},
		{"min NaN", least, nan, 1, 1},
		{"relu NaN", relu, nan, 0, inf},
		{"inf-inf", sub, inf, inf, 0},
		{"-inf+inf", add, -inf, inf, 0},
		{"NaN-NaN", sub, nan, nan, 0},
		{"0*inf", mul, 0, inf, 0},
		{"-0*inf", mul, zero, inf, 0},
		{"inf*NaN", mul, inf, nan, inf},
		{"-0+0", add, zero, 0, 0},
		{"-0 + -0, the bias adder", add, zero, zero, 0},
		{"-0*1, the bias adder", mul, zero, 1, 0},
		{"max -0", most, zero, zero, 0},
		{"denormal+0", add, tiny, 0, tiny},
		{"denormal*1", mul, tiny, 1, tiny},
		{"-denormal+0", add, -tiny, 0, -tiny},
		{"denormals add", add, tiny, 3 * tiny, 4 * tiny},
		{"denormal products round to zero", mul, tiny, tiny, 0},
		{"beyond 32768", add, 32768, 8192, 40960},
		{"65504 stays", add, 65504, 0, 65504},
		{"65504+15", add, 65504, 15, 65504},
		{"65504+16 ties to infinity", add, 65504, 16, inf},
		{"product below 65520", mul, 255.875, 256, 65504},
		{"product at 65536", mul, 256, 256, inf},
		{"square below 256", sq, 255.75, 0, 65408},
		{"square just below 256", sq, 255.875, 0, 65472},
		{"square at 256", sq, 256, 0, inf},
		{"square of a sum", sq, 1, 2, 9},
		{"square of inf-inf", sq, inf, -inf, 0},
		{"2049 ties away", add, 2048, 1, 2050},
		{"4098 ties away", add, 4096, 2, 4100},
		{"1+2^-11 ties away", add, 1, 0x1p-11, 1 + 0x1p-10},
		{"855.499 denormal units become 855.5, then 856", mul, 853 * tiny, 1 + 3./1024, 856 * tiny},
		{"and 0.4999 units 0.5, then 1", mul, 0x1.ffcp-14, 0x1p-11 + 0x1p-21, tiny},
		{"2051 ties up", add, 2048, 3, 2052},
		{"relu", relu, -3, 2, 0},
		{"relu keeps", relu, 3, -2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := halvesOf(c.a)[0], halvesOf(c.b)[0]
			if got, want := apply1(c.cfg, a, b), half(c.want); got != want {
				t.Errorf("%v %v: %v, want %v (%v)", c.a, c.b, got, want, c.want)
			}
			if got, want := slowApply(c.cfg, a, b), half(c.want); got != want {
				t.Errorf("staged: %v, want %v", got, want)
			}
		})
	}
}

// slowApply is Apply through every stage, neutral or not.
func slowApply(c Config, a, b float16.Float16) float16.Float16 {
	p := c.newPlan()
	p.tailless = false
	return p.finishElement(p.combineSources(p.loadFirst(a), p.loadSecond(b)))
}

func TestDenormalsPassEveryOperation(t *testing.T) {
	all := make([]float16.Float16, 0, 0x801)
	for i := range 0x800 {
		if i != 0 {
			all = append(all, float16.Float16(i), float16.Float16(i)|signBit)
		}
	}
	zeros, ones := make([]float16.Float16, len(all)), make([]float16.Float16, len(all))
	for i := range ones {
		ones[i] = one
	}
	dst := make([]float16.Float16, len(all))
	for _, c := range []struct {
		cfg Config
		b   []float16.Float16
	}{{Neutral(Add), zeros}, {Neutral(Mul), ones}} {
		c.cfg.Apply(dst, all, c.b)
		if !slices.Equal(dst, all) {
			t.Errorf("%v does not keep denormals", c.cfg.Op)
		}
	}
	c := Neutral(Add)
	c.ApplyOne(dst, all)
	if !slices.Equal(dst, all) {
		t.Error("the one-source copy does not keep denormals")
	}
}

func TestRsqrt(t *testing.T) {
	c := Neutral(Add)
	c.Post = PostRsqrt
	in := halvesOf(4, -1, 0, zero, inf, nan, tiny)
	want := halvesOf(0.5, 0, inf, inf, 0, 0, 4096)
	dst := make([]float16.Float16, len(in))
	c.ApplyOne(dst, in)
	if !slices.Equal(dst, want) {
		t.Errorf("rsqrt: %v, want %v", dst, want)
	}
}

func TestConstantAndOneSource(t *testing.T) {
	in := halvesOf(1, -2, 0.5)
	dst := make([]float16.Float16, 3)

	c := Neutral(Mul)
	c.ApplyConst(dst, in, half(3))
	if want := halvesOf(3, -6, 1.5); !slices.Equal(dst, want) {
		t.Errorf("times three: %v", dst)
	}
	c = Neutral(Add)
	c.Bias, c.Scale = half(0.5), half(2)
	c.ApplyOne(dst, in)
	if want := halvesOf(3, -3, 2); !slices.Equal(dst, want) {
		t.Errorf("(x + 0.5) * 2: %v", dst)
	}
	c = Neutral(Add)
	c.Relu2 = true
	c.Apply(dst, in, in)
	if want := halvesOf(2, -2, 1); !slices.Equal(dst, want) {
		t.Errorf("x + relu(x): %v", dst)
	}
	c.Negate2, c.ReLU = true, true
	c.Apply(dst, halvesOf(1, 1, 1), in)
	if want := halvesOf(0, 1, 0.5); !slices.Equal(dst, want) {
		t.Errorf("relu(1 - relu(x)): %v", dst)
	}
}

// exact is the operation on big.Floats; ok is false where it needs a rule.
func exact(c Config, a, b float16.Float16) (v *big.Float, ok bool) {
	x, y := float64(a.Float32()), float64(b.Float32())
	if math.IsInf(x, 0) || math.IsNaN(x) || math.IsInf(y, 0) || math.IsNaN(y) {
		return nil, false
	}
	p := func(f float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(f) }
	if c.Negate1 {
		x = -x
	}
	if c.Relu2 {
		y = max(y, 0)
	}
	if c.Negate2 {
		y = -y
	}
	v = new(big.Float).SetPrec(300)
	switch c.Op {
	case Add:
		v.Add(p(x), p(y))
	case Mul:
		v.Mul(p(x), p(y))
	case Max:
		v = p(max(x, y))
	case Min:
		v = p(min(x, y))
	case SumSquare:
		v.Add(p(x), p(y))
		v.Mul(v, v)
	}
	v.Add(v, p(float64(c.Bias.Float32())))
	v.Mul(v, p(float64(c.Scale.Float32())))
	if v.Sign() == 0 {
		v.SetFloat64(0)
	}
	return v, true
}

// Random pairs, and pairs near each other, against exact arithmetic that rounds
// at its end. Scales other than 1 go through the float64 stages.
func TestApplyAgainstBig(t *testing.T) {
	const n = 2048
	r := rand.New(rand.NewPCG(3, 4))
	a, b, dst := make([]float16.Float16, n), make([]float16.Float16, n), make([]float16.Float16, n)
	for i := range a {
		a[i], b[i] = float16.Float16(r.Uint32()), float16.Float16(r.Uint32())
		if i%2 == 0 {
			b[i] = a[i] ^ float16.Float16(r.Uint32()&0x8fff)
		}
	}
	for _, bs := range [][2]float64{{0, 1}, {0, 1.4427}, {-7.5, 0.0123}} {
		for flags := range 16 {
			for op := Add; op <= SumSquare; op++ {
				c := Neutral(op)
				c.Bias, c.Scale = half(bs[0]), half(bs[1])
				c.Negate1, c.Negate2, c.Relu2 = flags&1 != 0, flags&2 != 0, flags&4 != 0
				c.ReLU = flags&8 != 0
				c.Apply(dst, a, b)
				for i := range dst {
					if dst[i].IsNaN() {
						t.Fatalf("%+v of %v, %v is NaN", c, a[i], b[i])
					}
					v, ok := exact(c, a[i], b[i])
					if !ok {
						continue
					}
					want := round(v)
					if c.ReLU && want&signBit != 0 {
						want = 0
					}
					if dst[i] != want {
						t.Fatalf("%+v of %v, %v: %v, want %v", c, a[i], b[i], dst[i], want)
					}
				}
			}
		}
	}
}

// The claim in applyPlainGo: with one operand fixed at every significand of one
// binade and the other at every half, float32 never rounds twice to harm. The
// fixed operands cover ties, all ones and single bits.
func TestFloat32RoundsOnce(t *testing.T) {
	for _, a := range []float16.Float16{0x3c00, 0x3c01, 0x3fff, 0x3bff, 0x0001, 0x03ff, 0x7bff, 0x5555, 0x6800, 0x6801} {
		x := a.Float32()
		for i := range 1 << 16 {
			b := float16.Float16(i)
			y := b.Float32()
			if b.IsNaN() || b.IsInf(0) {
				continue
			}
			if got, want := narrowToHalf(x+y), narrowFloat64(float64(x)+float64(y)); got != want {
				t.Fatalf("%v + %v: %v, want %v", a, b, got, want)
			}
			if got, want := narrowToHalf(x*y), narrowFloat64(float64(x)*float64(y)); got != want {
				t.Fatalf("%v * %v: %v, want %v", a, b, got, want)
			}
		}
	}
}

func TestPlainMatchesStages(t *testing.T) {
	var b [1 << 16]float16.Float16
	for i := range b {
		b[i] = float16.Float16(i)
	}
	a, dst := make([]float16.Float16, len(b)), make([]float16.Float16, len(b))
	for n, x := range []float16.Float16{0, 0x8000, 1, 0x8001, 0x3c00, 0xbc01, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xffff, 0x5b12} {
		for i := range a {
			a[i] = x
		}
		for flags := n % 4; flags < 16; flags += 4 { // every switch, not with every x
			for op := Add; op <= Min; op++ {
				c := Neutral(op)
				c.Negate1, c.Negate2, c.Relu2, c.ReLU = flags&4 != 0, flags&1 != 0, flags&8 != 0, flags&2 != 0
				c.Apply(dst, a, b[:])
				for i := range dst {
					if want := slowApply(c, x, b[i]); dst[i] != want {
						t.Fatalf("%+v of %v, %v: %v, want %v", c, x, b[i], dst[i], want)
					}
				}
			}
		}
	}
}

func TestOneSourceMatchesStages(t *testing.T) {
	all, dst := make([]float16.Float16, 1<<16), make([]float16.Float16, 1<<16)
	for i := range all {
		all[i] = float16.Float16(i)
	}
	for _, bs := range [][2]float16.Float16{{0, one}, {0x3800, one}, {0xb801, one}, {0x8000, 0x3dc5}, {0, 0xbc01}, {0, 0}, {0, 0xfc00}, {0x7e00, one}, {0xfc00, one}, {0x3800, 0x3dc5}} {
		for flags := range 8 {
			c := Neutral(Add)
			c.Bias, c.Scale = bs[0], bs[1]
			c.Negate1, c.ReLU = flags&1 != 0, flags&2 != 0
			c.Negate2, c.Relu2 = flags&4 != 0, flags&4 != 0
			p := c.newPlan()
			p.tailless = false
			c.ApplyOne(dst, all)
			for i := range dst {
				if want := p.finishElement(p.evalSingleSource(p.loadFirst(all[i]))); dst[i] != want {
					t.Fatalf("%+v of %v: %v, want %v", c, i, dst[i], want)
				}
			}
		}
	}
}

func TestValidate(t *testing.T) {
	bad := []struct {
		set  func(*Config)
		want string
	}{
		{func(c *Config) { c.Op = 5 }, "planar: unknown Op 0x5"},
		{func(c *Config) { c.Kind = 9 }, "planar: unknown Kind 0x9"},
		{func(c *Config) { c.Post = 4 }, "planar: unknown Post 0x4"},
	}
	for _, b := range bad {
		c := Neutral(Add)
		b.set(&c)
		err := c.validate()
		if fmt.Sprint(err) != b.want {
			t.Errorf("got %v, want %v", err, b.want)
		}
	}
	if c := subtract(); c.validate() != nil {
		t.Error(c.validate())
	}
}

func TestShortestSliceWins(t *testing.T) {
	c := Neutral(Add)
	for _, n := range [][3]int{{0, 3, 3}, {3, 2, 5}, {9, 9, 1}} {
		got := c.Apply(make([]float16.Float16, n[0]), make([]float16.Float16, n[1]), make([]float16.Float16, n[2]))
		if got != slices.Min(n[:]) {
			t.Errorf("%v: %d elements", n, got)
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add(uint32(0), uint32(0x3c000000), uint32(0x3c000000), uint32(0x3f800000), uint16(0x7e00), uint16(0x8000))
	f.Fuzz(func(t *testing.T, cfg, bs, pre, final uint32, a, b uint16) {
		c := Config{Op: Op(cfg & 7), Negate1: cfg&8 != 0, Negate2: cfg&16 != 0, Relu2: cfg&32 != 0, ReLU: cfg&64 != 0, Post: Post(cfg >> 7 & 3)}
		c.Bias, c.Scale = float16.Float16(bs), float16.Float16(bs>>16)
		c.Epsilon, c.PreScale = float16.Float16(pre), float16.Float16(pre>>16)
		c.FinalScale = math.Float32frombits(final)
		x, y := float16.Float16(a), float16.Float16(b)
		src, dst := []float16.Float16{x, y, x}, make([]float16.Float16, 3)
		c.Apply(dst, src, []float16.Float16{y, x, y})
		if dst[0] != slowApply(c, x, y) || dst[0] != dst[2] {
			t.Errorf("%+v of %v, %v: %v, staged %v", c, x, y, dst[0], slowApply(c, x, y))
		}
		c.ApplyConst(dst[1:], src[:1], y)
		if dst[0] != dst[1] {
			t.Errorf("constant %v, source %v", dst[1], dst[0])
		}
		all := append(dst[:2:2], 0)
		c.ApplyOne(all[2:], src)
		for _, h := range all {
			if h.IsNaN() {
				t.Errorf("%+v of %v, %v gives NaN", c, x, y)
			}
		}
	})
}

func BenchmarkElementwise(b *testing.B) {
	const n = 1 << 14
	r := rand.New(rand.NewPCG(5, 6))
	x, y, dst := make([]float16.Float16, n), make([]float16.Float16, n), make([]float16.Float16, n)
	for i := range x {
		x[i], y[i] = half(r.NormFloat64()), half(r.NormFloat64())
	}
	run := func(name string, f func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelem/s")
		})
	}
	for op := Add; op <= SumSquare; op++ {
		c := Neutral(op)
		run(op.String(), func() { c.Apply(dst, x, y) })
	}
	for op := Add; op <= Min; op++ {
		c := Neutral(op)
		m := c.newMasks()
		run("portable-"+op.String(), func() { applyPlainGo(dst, x, y, &m, op) })
	}
	c := Neutral(Add)
	c.Scale = half(1.4427)
	run("scaled", func() { c.Apply(dst, x, y) })
	k := Neutral(Mul)
	run("constant", func() { k.ApplyConst(dst, x, half(3)) })
	run("one", func() { c.ApplyOne(dst, x) })
}

// log2e is the scale of the subtraction in a softmax: its table is of 2^x.
const log2e float16.Float16 = 0x3dc5
