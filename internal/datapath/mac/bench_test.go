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
		v[i] = H13.widenHalf(float16.Fromfloat32(float32(rng.NormFloat64())))
	}
	return v
}

// scaled multiplies v by a power of two, in place.
func scaled(v []float32, factor float32) []float32 {
	for i := range v {
		v[i] *= factor
	}
	return v
}

func BenchmarkReduce(b *testing.B) {
	for _, size := range []struct{ k, lanes, vectors int }{
		{576, 128, 32}, // 3x3 convolution, 64 channels, a patch, 32 output channels
		{576, 100, 8},  // columns that fill no whole block
		{27, 256, 16},  // first layer of an image network
		{4608, 64, 8},  // a panel beyond the second-level cache's half
		{512, 1024, 4}, // rows a large power of two apart
		{576, 1, 1},    // one output
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		panel := gaussian(rng, size.k*size.lanes)
		taps := TapsOf(size.k, scaled(gaussian(rng, size.k*size.vectors), 1./16))
		acc := make([]float32, size.lanes*size.vectors)
		for _, lv := range supportedLevels() {
			b.Run(fmt.Sprintf("%v/k%d_lanes%d_vectors%d", lv, size.k, size.lanes, size.vectors), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					H13.reduceAtLevel(lv, acc, panel, size.lanes, taps, &Start{})
				}
				macs := float64(len(acc)*size.k) * float64(b.N)
				b.ReportMetric(macs/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}

// BenchmarkReduceUnsigned runs the first shape of BenchmarkReduce on the results of a ReLU.
func BenchmarkReduceUnsigned(b *testing.B) {
	const k, lanes, vectors = 576, 128, 32
	rng := rand.New(rand.NewPCG(1, 2))
	panel, wide := gaussian(rng, k*lanes), scaled(gaussian(rng, k*vectors), 1./16)
	for i, v := range panel {
		panel[i] = max(v, 0)
	}
	taps := TapsOf(k, wide)
	acc := make([]float32, lanes*vectors)
	for _, lv := range supportedLevels() {
		b.Run(lv.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				H13.reduceAtLevel(lv, acc, panel, lanes, taps, &Start{})
			}
			b.ReportMetric(float64(len(acc)*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}

// BenchmarkReduceSparse has taps of which a part is zero.
func BenchmarkReduceSparse(b *testing.B) {
	const k, lanes, vectors = 576, 128, 32
	for _, zeros := range []int{0, 25, 35, 50, 75, 90} {
		rng := rand.New(rand.NewPCG(1, 2))
		panel, wide := gaussian(rng, k*lanes), scaled(gaussian(rng, k*vectors), 1./16)
		for i := range wide {
			if rng.IntN(100) < zeros {
				wide[i] = 0
			}
		}
		taps := TapsOf(k, wide)
		acc := make([]float32, lanes*vectors)
		for _, lv := range supportedLevels() {
			b.Run(fmt.Sprintf("%v/%d%%", lv, zeros), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					H13.reduceAtLevel(lv, acc, panel, lanes, taps, &Start{})
				}
				b.ReportMetric(float64(len(acc)*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}

// BenchmarkReduceLarge has operands that permit sums beyond the limit: in the first case no sum reaches
// it, and in the second one half of them do.
func BenchmarkReduceLarge(b *testing.B) {
	const k, lanes, vectors = 576, 128, 8
	for _, scale := range []float32{1 << 10, 1 << 15} {
		rng := rand.New(rand.NewPCG(1, 2))
		panel, wide := scaled(gaussian(rng, k*lanes), scale), scaled(gaussian(rng, k*vectors), 1./16)
		taps := TapsOf(k, wide)
		acc := make([]float32, lanes*vectors)
		for _, lv := range supportedLevels() {
			b.Run(fmt.Sprintf("%v/%v", lv, scale), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					H13.reduceAtLevel(lv, acc, panel, lanes, taps, &Start{})
				}
				b.ReportMetric(float64(len(acc)*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}

func BenchmarkDot(b *testing.B) {
	const k = 576
	rng := rand.New(rand.NewPCG(1, 2))
	x, w := make([]float16.Float16, k), make([]float16.Float16, k)
	for i := range x {
		x[i], w[i] = anyHalf(rng, 0), anyHalf(rng, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		Dot(x, w)
	}
	b.ReportMetric(k*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
}

const rowElements = 4096

func elements(b *testing.B) {
	b.ReportMetric(rowElements*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gelem/s")
}

func BenchmarkWiden(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	src, dst := make([]float16.Float16, rowElements), make([]float32, rowElements)
	for i := range src {
		src[i] = anyHalf(rng, 0)
	}
	for _, lv := range supportedLevels() {
		b.Run(lv.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				widenAtLevel(lv, dst, src)
			}
			elements(b)
		})
	}
}

func BenchmarkPost(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	acc, dst := gaussian(rng, rowElements), make([]float16.Float16, rowElements)
	post := Post{Scale: 1.5, Bias: 0.25, ReLU: true}
	for _, lv := range supportedLevels() {
		b.Run(lv.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				narrowAtLevel(lv, dst, acc, &post)
			}
			elements(b)
		})
	}
}

func BenchmarkActivation(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	acc, dst := gaussian(rng, rowElements), make([]float16.Float16, rowElements)
	for _, a := range []Activation{Sigmoid, Tanh, Exp, Rsqrt} {
		table := TableOf(a)
		post := Post{Scale: PostScale(a.Prescale(), 0), Table: table}
		b.Run(a.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				post.Apply(dst, acc)
			}
			elements(b)
		})
	}
}
