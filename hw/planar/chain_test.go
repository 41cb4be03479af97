package planar

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

func TestSoftmaxSubtractsTheMaximum(t *testing.T) {
	x := halvesOf(1000, 1, 2, 3)
	Softmax(x, x, ExactTables())
	if want := halvesOf(1, 0, 0, 0); !slices.Equal(x, want) {
		t.Errorf("%v, want %v", x, want)
	}
}

func TestSoftmaxNearExact(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 100 {
		a := randomTile(r, Shape{1, 1, 1 + r.IntN(100)})
		got := make([]float16.Float16, len(a.Data))
		Softmax(got, a.Data, ExactTables())
		top, sum := math.Inf(-1), 0.
		for _, h := range a.Data {
			top = max(top, float64(h.Float32()))
		}
		for _, h := range a.Data {
			sum += math.Exp(float64(h.Float32()) - top)
		}
		for i, h := range a.Data {
			want := math.Exp(float64(h.Float32())-top) / sum
			// (x-max)*log2e loses up to half a place of a number below 64, which the
			// exponential turns into a relative error of about 0.02.
			if e := math.Abs(float64(got[i].Float32()) - want); e > 0.02*want+1e-6 {
				t.Fatalf("softmax(%v) = %v, want %v", h, got[i], want)
			}
		}
	}
}

func TestSoftmaxSpecialValues(t *testing.T) {
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{5}, []float64{1}},
		{[]float64{0, -inf}, []float64{1, 0}},
		// inf - inf is +0, so an infinity still wins over all that is finite.
		{[]float64{inf, 3}, []float64{1, 0}},
		{[]float64{nan, 3}, []float64{1, 0}},
		{[]float64{2, 2, 2, 2}, []float64{0.25, 0.25, 0.25, 0.25}},
		{nil, nil},
	} {
		dst := make([]float16.Float16, len(c.in))
		Softmax(dst, halvesOf(c.in...), ExactTables())
		if want := halvesOf(c.want...); !slices.Equal(dst, want) {
			t.Errorf("softmax(%v) = %v, want %v", c.in, dst, want)
		}
	}
}

func TestExactTables(t *testing.T) {
	e := ExactTables()
	for x, want := range map[float64]float64{-25: 0, -24: tiny, 0: 1, 15: 32768, 16: inf, inf: inf, -inf: 0} {
		if got := e.Exp2(half(x)); got != half(want) {
			t.Errorf("2^%v = %v", x, got)
		}
	}
	if got := e.SumReciprocal(halvesOf(1, 3)); got != half(0.25) {
		t.Error(got)
	}
	if got := e.SumReciprocal(halvesOf(0, zero)); got != infinity {
		t.Error(got)
	}
}

// The three tasks written out with the words of norm_layer_norm_ax3_1x1x1x64.
func TestLayerNormIsTheProgram(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	x := randomTile(r, Shape{1, 1, 64})
	task := func(f Form, w Words) *Config {
		c, err := FromWords(f, w, false)
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	single := Shape{1, 1, 1}
	m, s, want := Source{make([]float16.Float16, 1), single}, Source{make([]float16.Float16, 1), single}, make([]float16.Float16, 64)
	for _, err := range []error{
		task(FormReduce, Words{0, 0x3c000000, 0x3c000000, 0x3c800000}).Reduce(m.Data, AxisW, x),
		task(FormReduceTwo, Words{0x92010, 0x3c000000, 0x3c0000a8, 0x3c800000}).ReduceTwo(s.Data, AxisW, m, x),
		task(FormChannel, Words{0xc0000, 0x3c000000, 0x3c000000, 0x3f800000}).ApplyChannel(want, x, m, s),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, scratch := make([]float16.Float16, 64), make([]float16.Float16, 2)
	if err := LayerNorm(got, scratch, AxisW, x, 0x00a8); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}

	mean, spread := 0., 0.
	for _, h := range x.Data {
		mean += float64(h.Float32()) / 64
	}
	for _, h := range x.Data {
		spread += math.Pow(float64(h.Float32())-mean, 2) / 64
	}
	for i, h := range x.Data {
		exact := (float64(h.Float32()) - mean) / math.Sqrt(spread+1e-5)
		if e := math.Abs(float64(got[i].Float32()) - exact); e > 2e-3*math.Abs(exact)+2e-3 {
			t.Errorf("element %d: %v, exact %v", i, got[i], exact)
		}
	}
}

// A constant row has no spread: rsqrt of epsilon alone, times zero.
func TestLayerNormOfAConstant(t *testing.T) {
	x := Source{halvesOf(7, 7, 7, 7), Shape{1, 1, 4}}
	scratch := make([]float16.Float16, 2)
	if err := LayerNorm(x.Data, scratch, AxisW, x, 0x00a8); err != nil || !slices.Equal(x.Data, halvesOf(0, 0, 0, 0)) {
		t.Error(x.Data, err)
	}
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	x := Source{halvesOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), Shape{2, 2, 3}}
	dst, scratch := make([]float16.Float16, 12), make([]float16.Float16, 24)
	c := Neutral(Add)
	tables := ExactTables()
	if n := testing.AllocsPerRun(10, func() {
		c.Apply(dst, x.Data, x.Data)
		c.ApplyConst(dst, x.Data, half(2))
		c.ApplyOne(dst, x.Data)
		_ = c.ApplyTile(dst, x, x)
		_ = c.Reduce(dst, AxisW, x)
		_ = c.ReduceTwo(dst, AxisW, x, x)
		_ = LayerNorm(dst, scratch, AxisW, x, 1)
		Softmax(dst, x.Data, tables)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
