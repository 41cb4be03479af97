package bench

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/x448/float16"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"anesim/hw/mac"
)

// BenchmarkPeers multiplies matrices as the engine does, and beside it with what a Go programmer has
// without this module, in the same run: gonum's float32 product, a loop of float32 multiply-adds and a
// loop over values of the float16 module. The first compares the whole; each of the others says how many
// times as fast the engine's sums are. A copy of the panel shows how fast memory is.
func BenchmarkPeers(b *testing.B) {
	const m, n, k = 64, 256, 2304 // one panel of a 3x3 convolution of 256 channels
	rng := rand.New(rand.NewPCG(1, 2))
	x, w := make([]half, k*m), make([]half, n*k)
	normal(x, rng, 1)
	normal(w, rng, 1./48)
	panel, wide := make([]float32, len(x)), make([]float32, len(w))
	mac.Widen(panel, x)
	mac.Widen(wide, w)
	acc := make([]float32, n*m)
	taps := mac.TapsOf(k, wide)

	engine := func() { mac.H13.Reduce(acc, panel, m, taps, mac.Start{}) }
	copied := make([]float32, len(panel))
	peers := []struct {
		name   string
		vector int // vectors of taps that the peer multiplies, of n
		run    func()
	}{
		{"gonum", n, func() {
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1,
				blas32.General{Rows: n, Cols: k, Stride: k, Data: wide},
				blas32.General{Rows: k, Cols: m, Stride: m, Data: panel}, 0,
				blas32.General{Rows: n, Cols: m, Stride: m, Data: acc})
		}},
		{"float32", 8, func() {
			for v := range 8 {
				row := acc[v*m:][:m]
				clear(row)
				for i, f := range wide[v*k:][:k] {
					for l, p := range panel[i*m:][:m] {
						row[l] += p * f
					}
				}
			}
		}},
		{"float16", 1, func() {
			for l := range m {
				var sum float16.Float16
				for i, f := range w[:k] {
					sum = float16.Fromfloat32(sum.Float32() + x[i*m+l].Float32()*f.Float32())
				}
				acc[l] = sum.Float32()
			}
		}},
	}
	for _, p := range peers {
		b.Run("impl="+impl+"/over="+p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				engine()
			}
			own := float64(n*m*k) / fastest(engine).Seconds()
			theirs := float64(p.vector*m*k) / fastest(p.run).Seconds()
			b.ReportMetric(own/1e9, "GMAC/s")
			b.ReportMetric(theirs/1e9, p.name+"-GMAC/s")
			b.ReportMetric(own/theirs, "times")
		})
	}
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			copy(copied, panel)
		}
		rate(b, float64(8*len(panel))/1e9, "moved-GB/s")
	})
}

// fastest returns the shortest of several times that run takes, which other work on the machine
// disturbs least.
func fastest(run func()) time.Duration {
	least := time.Duration(1 << 62)
	for range 10 {
		start := time.Now()
		run()
		least = min(least, time.Since(start))
	}
	return least
}
