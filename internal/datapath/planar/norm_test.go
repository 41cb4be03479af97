package planar

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// The three tasks of a layer norm, by the fields of norm_layer_norm_ax3_1x1x1x64: mean,
// reciprocal root of the spread, difference times it.
func TestLayerNormOfThreeTasks(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	x := randomTile(r, Shape{1, 1, 64})
	task := func(form Form, f Fields) *Config {
		f.Scale, f.PreScale = one, one
		c, err := FromFields(form, f)
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	single := Shape{1, 1, 1}
	m, s, got := Source{make([]float16.Float16, 1), single}, Source{make([]float16.Float16, 1), single}, make([]float16.Float16, 64)
	for _, err := range []error{
		task(FormReduce, Fields{FinalScale: 1. / 64}).Reduce(m.Data, AxisW, x),
		task(FormReduceTwo, Fields{Op: SumSquare, Rsqrt: true, Negate1: true, Second: secondAsItIs, Epsilon: 0x00a8, FinalScale: 1. / 64}).ReduceTwo(s.Data, AxisW, m, x),
		task(FormChannel, Fields{Second: secondNegated, FinalScale: 1}).ApplyChannel(got, x, m, s),
	} {
		if err != nil {
			t.Fatal(err)
		}
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

func TestHotPathsDoNotAllocate(t *testing.T) {
	x := Source{halvesOf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), Shape{2, 2, 3}}
	dst := make([]float16.Float16, 12)
	c := Neutral(Add)
	if n := testing.AllocsPerRun(10, func() {
		c.Apply(dst, x.Data, x.Data)
		c.ApplyConst(dst, x.Data, half(2))
		c.ApplyOne(dst, x.Data)
		_ = c.applyTile(dst, x, x)
		_ = c.Reduce(dst, AxisW, x)
		_ = c.ReduceTwo(dst, AxisW, x, x)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
