package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"anesim/internal/datapath/mac"
	"anesim/internal/datapath/planar"
)

// eachCrew runs a benchmark with one worker and with one worker per processor.
func eachCrew(b *testing.B, f func(b *testing.B, workers int)) {
	for _, workers := range slices.Compact([]int{1, runtime.GOMAXPROCS(0)}) {
		b.Run(fmt.Sprintf("impl=%s/workers=%d", impl, workers), func(b *testing.B) {
			b.ReportAllocs()
			f(b, workers)
		})
	}
}

// rate reports perIteration MACs, elements or bytes per iteration in 10^9 a second.
func rate(b *testing.B, perIteration float64, unit string) {
	b.ReportMetric(perIteration*float64(b.N)/b.Elapsed().Seconds()/1e9, unit)
}

func benchmarkLayer(b *testing.B, l Layer) {
	w := build(b, l)
	eachCrew(b, func(b *testing.B, workers int) {
		for b.Loop() {
			w.Run(workers)
		}
		rate(b, float64(l.MACs()), "GMAC/s")
	})
}

func BenchmarkConv3x3_256x28(b *testing.B) { benchmarkLayer(b, Conv3x3()) }
func BenchmarkMatmul_1024(b *testing.B)    { benchmarkLayer(b, Matmul(1024)) }
func BenchmarkConv1x1(b *testing.B)        { benchmarkLayer(b, Conv1x1()) }
func BenchmarkDepthwise(b *testing.B)      { benchmarkLayer(b, Depthwise3x3()) }

// rowElements is the elements of the benchmarks without a reduction.
const rowElements = 1 << 18

// deal divides the elements of a row evenly among workers and calls work concurrently with each
// range.
func deal(workers int, work func(from, to int)) {
	if workers == 1 {
		work(0, rowElements)
		return
	}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { work(i*rowElements/workers, (i+1)*rowElements/workers) })
	}
	wg.Wait()
}

func BenchmarkElementwise(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, dst := make([]half, rowElements), make([]half, rowElements), make([]half, rowElements)
	normal(x, rng, 1)
	normal(y, rng, 1)
	scaled := planar.Neutral(planar.Add)
	scaled.Scale, scaled.ReLU = 0x3800, true
	for _, op := range []struct {
		name string
		c    planar.Config
	}{
		{"add", planar.Neutral(planar.Add)},
		{"mul", planar.Neutral(planar.Mul)},
		{"add_scale_relu", scaled},
	} {
		b.Run(op.name, func(b *testing.B) {
			eachCrew(b, func(b *testing.B, workers int) {
				for b.Loop() {
					deal(workers, func(i, j int) { op.c.Apply(dst[i:j], x[i:j], y[i:j]) })
				}
				rate(b, rowElements, "Gelem/s")
			})
		})
	}
}

// BenchmarkFromMemory has operands of 32 MB each, beyond the caches: what a copy moves a
// second is what the other kernels are held against.
func BenchmarkFromMemory(b *testing.B) {
	const n = 1 << 24
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, dst, acc := make([]half, n), make([]half, n), make([]half, n), make([]float32, n)
	normal(x[:rowElements], rng, 1)
	for i := rowElements; i < n; i *= 2 {
		copy(x[i:], x[:i])
	}
	copy(y, x[1:])
	mac.Widen(acc, x)
	sum, scaled := planar.Neutral(planar.Add), planar.Neutral(planar.Add)
	scaled.Scale, scaled.ReLU = 0x3800, true
	positive := slices.Clone(acc)
	magnitudes(positive)
	look := func(a mac.Activation, acc []float32) func() {
		table := mac.TableOf(a)
		post := mac.Post{Scale: a.Prescale().Float32(), Table: table}
		return func() { post.Apply(dst, acc) }
	}
	plane := planar.Source{Data: x, Shape: planar.Shape{C: 268, H: 250, W: 250}}
	mean, largest, maximum := planar.Neutral(planar.Add), planar.Neutral(planar.Add), planar.Neutral(planar.Max)
	mean.FinalScale = 1.0 / (250 * 250)
	largest.Kind = planar.ReduceMax
	reduce := func(c planar.Config, axes planar.Axes) func() {
		return func() {
			if err := c.Reduce(dst, axes, plane); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, k := range []struct {
		name  string
		moved float64 // bytes an element
		run   func()
	}{
		{"copy", 4, func() { copy(dst, x) }},
		{"add", 6, func() { sum.Apply(dst, x, y) }},
		{"add_scale_relu", 6, func() { scaled.Apply(dst, x, y) }},
		{"scale_relu", 4, func() { scaled.ApplyOne(dst, x) }},
		{"max_pool_rows", 6, func() { maximum.Apply(dst, x, y) }},
		{"global_mean", 2, reduce(mean, planar.AxisH|planar.AxisW)},
		{"global_max", 2, reduce(largest, planar.AxisH|planar.AxisW)},
		{"channel_sum", 2, reduce(planar.Neutral(planar.Add), planar.AxisC)},
		{"widen", 6, func() { mac.Widen(acc, x) }},
		{"sigmoid", 6, look(mac.Sigmoid, acc)},
		{"exp", 6, look(mac.Exp, acc)},
		{"rsqrt", 6, look(mac.Rsqrt, positive)},
	} {
		b.Run(k.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k.run()
			}
			rate(b, k.moved*n, "GB/s")
		})
	}
}

func magnitudes(acc []float32) {
	for i, v := range acc {
		acc[i] = max(v, -v)
	}
}

// BenchmarkActivation has inputs that lie between the knots of a table and such that its
// tails and clamps have a part in.
func BenchmarkActivation(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, acc, dst := make([]half, rowElements), make([]float32, rowElements), make([]half, rowElements)
	for _, spread := range []float64{1, 8} {
		normal(x, rng, spread)
		mac.Widen(acc, x)
		for _, a := range []mac.Activation{mac.Sigmoid, mac.Tanh, mac.Exp, mac.Rsqrt} {
			if a == mac.Rsqrt {
				magnitudes(acc)
			}
			table := mac.TableOf(a)
			post := mac.Post{Scale: a.Prescale().Float32(), Table: table}
			b.Run(fmt.Sprintf("%v/spread=%v", a, spread), func(b *testing.B) {
				eachCrew(b, func(b *testing.B, workers int) {
					for b.Loop() {
						deal(workers, func(i, j int) { post.Apply(dst[i:j], acc[i:j]) })
					}
					rate(b, rowElements, "Gelem/s")
				})
			})
		}
	}
}
