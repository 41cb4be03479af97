package lower_test

import (
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/lower"
)

// A transpose that exchanges batch and channels moves every element to its place, with as many
// tasks as the smaller of both.
func TestSwapBatchValues(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 58))
	for range 20 {
		s := layer.Shape{N: 1 + r.IntN(9), C: 1 + r.IntN(40), H: 1 + r.IntN(9), W: 1 + r.IntN(150)}
		l := layer.Unary(layer.Transpose, s)
		l.Order = layer.SwapBatch
		x := halves(r, s.Elements())
		got, err := run(l, layer.Weights{}, map[string][]float16.Float16{"x": x})
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		if l.Out() != (layer.Shape{N: s.C, C: s.N, H: s.H, W: s.W}) {
			t.Errorf("%v becomes %v", s, l.Out())
		}
		for i, v := range got {
			plane := s.H * s.W
			c, n := i/(plane*s.N), i/plane%s.N
			if want := x[(n*s.C+c)*plane+i%plane]; v != want {
				t.Fatalf("%v: element %d is %v; want %v", s, i, v, want)
			}
		}
		p, err := lower.Lower(l, layer.Weights{})
		if err != nil {
			t.Fatal(err)
		}
		if want := min(s.N, s.C); p.TaskCount != want {
			t.Errorf("%v: %d tasks; want %d", s, p.TaskCount, want)
		}
	}
}
