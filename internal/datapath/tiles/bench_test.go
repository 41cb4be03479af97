package tiles

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/internal/datapath/mac"
)

// rows is a tensor without the checks of the tests.
type rows struct {
	h, w int
	data []half
}

func (t *rows) Row(dst []half, c, y int)       { copy(dst, t.data[(c*t.h+y)*t.w:]) }
func (t *rows) SetRow(src []half, c, y, x int) { copy(t.data[(c*t.h+y)*t.w+x:], src) }

// benchmarkLayer returns the 3x3 convolution of 256 to 256 channels over 28x28 pixels that
// BenchmarkConv3x3_256x28 of package bench measures too, with operands of the same distribution: sums
// that could reach the limit of 32768 take the slow path, which has a benchmark of its own in mac.
func benchmarkLayer() (l *layer, source []half) {
	l = inner(256, 256, 3)
	l.hin, l.win, l.hout, l.wout, l.kh, l.kw, l.py, l.px, l.tileRows, l.ox = 28, 28, 28, 28, 3, 3, 1, 1, 28, 1
	r := rand.New(rand.NewPCG(7, 8))
	normal := func(n int, deviation float64) []half {
		v := make([]half, n)
		for i := range v {
			v[i] = float16.Fromfloat32(float32(r.NormFloat64() * deviation))
		}
		return v
	}
	l.weights = make([][]half, l.cout)
	for n := range l.weights {
		l.weights[n] = normal(l.taps(), 1/math.Sqrt(float64(l.taps())))
	}
	return l, normal(l.cin*l.hin*l.win, 1)
}

func BenchmarkConvolution3x3(b *testing.B) {
	l, source := benchmarkLayer()
	g := l.registers()
	kernel, err := NewKernel(g, l.pack())
	if err != nil {
		b.Fatal(err)
	}
	src, dst := &rows{28, 28, source}, &rows{28, 28, make([]half, len(source))}
	c := NewConvolution(g)
	c.Kernel, c.Arithmetic, c.Post = kernel, mac.H13, mac.Post{Scale: 1}
	macs := float64(Plan(g, AllTiles, m1).MACs)
	for _, workers := range slices.Compact([]int{1, runtime.GOMAXPROCS(0)}) {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Run(dst, src, workers)
			}
			b.ReportMetric(macs*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}

// TestBenchmarkBelowTheLimit holds the operands of the benchmark to what it is said to measure: no
// partial sum of any output, in any order, reaches the limit, nor that of a group on the M1.
func TestBenchmarkBelowTheLimit(t *testing.T) {
	const limit = 4096
	l, source := benchmarkLayer()
	largest := 0.0
	for _, x := range source {
		largest = max(largest, math.Abs(float64(x.Float32())))
	}
	for n, weights := range l.weights {
		sum := 0.0
		for _, w := range weights {
			sum += largest * math.Abs(float64(w.Float32()))
		}
		if sum >= limit {
			t.Fatalf("output channel %d: sums may reach %g; the limit is %d", n, sum, limit)
		}
	}
}

func BenchmarkPlan(b *testing.B) {
	sparse := inner(128, 128, 3)
	sparse.kh, sparse.kw, sparse.sx, sparse.sy, sparse.packing = 3, 3, 2, 2, ZeroSkipping
	for _, tc := range []struct {
		name string
		g    *regs.Groups
	}{
		{"dense", inner(128, 128, 3).registers()},
		{"sparse", sparse.fill(false).packed(sparse.pack())},
	} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Plan(tc.g, AllTiles, m1)
			}
		})
	}
}
