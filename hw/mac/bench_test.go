package mac

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// gaussian returns n widened halves of about unit size.
func gaussian(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = widen(float16.Fromfloat32(float32(rng.NormFloat64())))
	}
	return v
}

func BenchmarkReduce(b *testing.B) {
	for _, size := range []struct{ k, lanes, vectors int }{
		{64, 64, 32}, {576, 128, 32}, {576, 100, 8}, {576, 1024, 1}, {576, 1024, 32}, {576, 1000, 32}, {576, 16, 1}, {27, 256, 16}, {4608, 64, 8},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		panel := gaussian(rng, size.k*size.lanes)
		taps := gaussian(rng, size.k*size.vectors)
		acc := make([]float32, size.lanes*size.vectors)
		for _, lv := range levels() {
			b.Run(fmt.Sprintf("%v/k%d_lanes%d_vectors%d", lv, size.k, size.lanes, size.vectors), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					reduceAt(lv, acc, panel, taps, size.lanes, size.k, PortCeiling)
				}
				macs := float64(len(acc)*size.k) * float64(b.N)
				b.ReportMetric(macs/b.Elapsed().Seconds(), "MAC/s")
			})
		}
	}
}
