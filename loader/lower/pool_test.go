package lower_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader/layer"
	. "anesim/loader/lower"
)

// TestPoolValues compares maxima over random windows with their definition, for tensors that fit in
// L2, for those of which only a few channels fit at a time, and for those that go through memory.
func TestPoolValues(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 52))
	for i := range 60 {
		s := layer.Shape{N: 1 + r.IntN(3), C: 1 + r.IntN(20), H: 1 + r.IntN(24), W: 1 + r.IntN(24)}
		w := layer.Window{Kh: 1 + r.IntN(min(7, s.H)), Kw: 1 + r.IntN(min(7, s.W)), Sy: 1 + r.IntN(4), Sx: 1 + r.IntN(4)}
		w.Py, w.Qy, w.Px, w.Qx = r.IntN(w.Kh), r.IntN(w.Kh), r.IntN(w.Kw), r.IntN(w.Kw)
		l := layer.Layer{Op: layer.Pool, In: s, Window: w}
		l.Memories.L2 = []int{0, 1 << 13, 1 << 12, 1 << 11}[i%4]
		in := map[string][]float16.Float16{"x": halves(r, s.Elements())}
		x := tensor{s, floats(in["x"])}
		got, err := run(l, layer.Weights{}, in)
		if err == nil {
			err = near(got, each(l.Out(), func(n, c, h, v int) float64 {
				top := math.Inf(-1)
				for y := max(0, h*w.Sy-w.Py); y < min(s.H, h*w.Sy-w.Py+w.Kh); y++ {
					for z := max(0, v*w.Sx-w.Px); z < min(s.W, v*w.Sx-w.Px+w.Kw); z++ {
						top = max(top, x.at(n, c, y, z))
					}
				}
				return top
			}), 0)
		}
		if err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// TestPoolTime compares a maximum with an average over the same windows. On an M5, a call with a
// maximum over 256 channels of 32x32 takes 7 us more than one with an average. The maximum is two
// tasks of the planar engine, which a cost dump of Apple's compiler counts for a later target.
func TestPoolTime(t *testing.T) {
	for _, s := range []layer.Shape{{N: 1, C: 64, H: 112, W: 112}, {N: 1, C: 256, H: 32, W: 32}, {N: 1, C: 64, H: 32, W: 32}} {
		for stride := 1; stride <= 2; stride++ {
			w := layer.Same(3, stride, s)
			time := func(l layer.Layer, weights layer.Weights) (float64, int) {
				t.Helper()
				p, err := Lower(l, weights)
				if err != nil {
					t.Fatal(err)
				}
				res, err := anesim.Run(p, anesim.Options{Chip: hw.M1()})
				if err != nil {
					t.Fatal(err)
				}
				return float64(res.Report.Time), len(res.Report.Descriptors)
			}
			most, tasks := time(layer.Layer{Op: layer.Pool, In: s, Window: w}, layer.Weights{})
			mean, _ := time(layer.Depthwise(s, w), layer.Weights{Filter: halves(rand.New(rand.NewPCG(1, 1)), s.C*9)})
			parts := 1
			if l2 := layer.MaxL2; s.C*(s.H/stride)*s.W*layer.ElementBytes > l2/2 {
				parts = 2 // each with half of the channels
			}
			if tasks != 2*parts || most > 2*mean {
				t.Errorf("%v, stride %d: %d tasks and %.1f us; want %d tasks and at most twice the %.1f us of an average", s, stride, tasks, most/1e3, 2*parts, mean/1e3)
			}
		}
	}
}
