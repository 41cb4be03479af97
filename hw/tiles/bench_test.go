package tiles

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"anesim/hw/mac"
	"anesim/hw/regs"
)

// rows is a tensor without the checks of the tests.
type rows struct {
	h, w int
	data []half
}

func (t *rows) Row(dst []half, c, y int)       { copy(dst, t.data[(c*t.h+y)*t.w:]) }
func (t *rows) SetRow(src []half, c, y, x int) { copy(t.data[(c*t.h+y)*t.w+x:], src) }

func BenchmarkConvolution3x3(b *testing.B) {
	l := inner(128, 128, 3)
	l.hin, l.win, l.hout, l.wout, l.kh, l.kw, l.py, l.px, l.tileRows = 32, 32, 32, 32, 3, 3, 1, 1, 32
	r := rand.New(rand.NewPCG(7, 8))
	l.ox = 1
	l.randomize(r)
	l.biases = nil
	g := l.registers()
	kernel, err := NewKernel(g, l.pack())
	if err != nil {
		b.Fatal(err)
	}
	src, dst := &rows{32, 32, l.source(r).data}, &rows{32, 32, make([]half, 128*32*32)}
	c := NewConvolution(g)
	c.Kernel, c.Arithmetic, c.Post = kernel, mac.H13, mac.Post{Scale: 1}
	macs := float64(Plan(g, AllTiles, m1).MACs)
	for _, workers := range slices.Compact([]int{1, runtime.GOMAXPROCS(0)}) {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				c.Run(dst, src, workers)
			}
			b.ReportMetric(macs*float64(b.N)/b.Elapsed().Seconds(), "MAC/s")
		})
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
