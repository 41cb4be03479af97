package lower_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/hw/dma"
	"anesim/internal/datapath/tiles"
	"anesim/loader"
	"anesim/loader/internal/lower/family"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
	"anesim/loader/lower"
)

// kernelSections returns the sections of weights of p, and checks that they have their names in
// order, that each begins where the one before it ends, page by page, and that each fits.
func kernelSections(t *testing.T, p *loader.Program, limit uint64) (list []loader.Segment) {
	t.Helper()
	for _, s := range p.Segments {
		if !s.IsWeights() {
			continue
		}
		n := len(list)
		if want := fmt.Sprintf("__KERN_%d,__kern_%d", n, n); s.String() != want {
			t.Errorf("section %d of weights is %v, want %s", n, &s, want)
		}
		if s.Size > limit || s.Addr%loader.PageSize != 0 || n > 0 && s.Addr != list[n-1].End() {
			t.Errorf("%v: %d bytes at %#x", &s, s.Size, s.Addr)
		}
		list = append(list, s)
	}
	return list
}

// TestKernelSections emits layers of 128 MiB of weights, of one engine's weights more, and of 256 and
// 512 MiB: sections of at most 128 MiB, in which every stream of every descriptor lies whole.
func TestKernelSections(t *testing.T) {
	in := func(c int) layer.Shape { return layer.Shape{N: 1, C: c, H: 1, W: 1} }
	for _, tc := range []struct {
		name     string
		l        layer.Layer
		sections int // 0 for the usual section beside the text
	}{
		{"128 MiB", layer.Conv(in(8192), 8192, layer.Valid(1, 1)), 0},
		{"1 MiB more", layer.Conv(in(8192), 8192+64, layer.Valid(1, 1)), 2},
		{"256 MiB", layer.Conv(in(8192), 16384, layer.Valid(1, 1)), 2},
		{"512 MiB", layer.Conv(in(16384), 16384, layer.Valid(1, 1)), 4},
		{"planes that end within a page", layer.Conv(in(8191), 12345, layer.Valid(1, 1)), 2},
		{"many descriptors", layer.Conv(layer.Shape{N: 1, C: 8192, H: 16, W: 16}, 16384, layer.Valid(1, 1)), 2},
	} {
		p, err := lower.Sized(tc.l, layer.Weights{})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		linked, err := p.Link()
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if tc.sections == 0 {
			if _, ok := p.Segment("__TEXT", "__const"); !ok {
				t.Errorf("%s: no __TEXT,__const", tc.name)
			}
		} else if list := kernelSections(t, p, loader.MaxKernelSection); len(list) != tc.sections {
			t.Errorf("%s: %d sections, want %d", tc.name, len(list), tc.sections)
		}
		for _, d := range linked.Tasks {
			for i, l := range dma.Lanes(&d.Groups, d.Bases.Kernel) {
				if l.On && linked.Segment(l.Addr, uint64(l.Size)) == nil {
					t.Fatalf("%s: descriptor %d: the weights of engine %d are in no section", tc.name, d.Index, i)
				}
			}
		}
	}
}

// TestSplitConstantsKeepsEveryStream divides the constants of small layers at pages: every engine
// loads the same bytes as from one section, also after the container was written, read and rebuilt.
func TestSplitConstantsKeepsEveryStream(t *testing.T) {
	const limit = 2 * loader.PageSize
	rng := rand.New(rand.NewPCG(1, 2))
	halves := func(n int) []float16.Float16 {
		v := make([]float16.Float16, n)
		for i := range v {
			v[i] = float16.Fromfloat32(float32(rng.NormFloat64()))
		}
		return v
	}
	x := layer.Shape{N: 1, C: 72, H: 9, W: 9}
	for _, tc := range []struct {
		name string
		l    layer.Layer
		w    layer.Weights
	}{
		{"conv", layer.Conv(x, 200, layer.Same(3, 1, x)), layer.Weights{Filter: halves(200 * 72 * 9), Bias: halves(200)}},
		{"linear", layer.Layer{Op: layer.Linear, In: layer.Shape{N: 1, C: 1, H: 5, W: 300}, Columns: 333}, layer.Weights{Filter: halves(300 * 333)}},
		{"matmul", layer.Layer{Op: layer.MatMul, Second: layer.Constant, In: layer.Shape{N: 1, C: 1, H: 40, W: 300}, Columns: 333}, layer.Weights{Filter: halves(300 * 333)}},
	} {
		streams := func(p *loader.Program) (list [][]byte) {
			linked, err := p.Link()
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			for _, d := range linked.Tasks {
				for i, l := range dma.Lanes(&d.Groups, d.Bases.Kernel) {
					if !l.On {
						continue
					}
					s := linked.Segment(l.Addr, uint64(l.Size))
					if s == nil {
						t.Fatalf("%s: descriptor %d, engine %d: no section", tc.name, d.Index, i)
					}
					if !s.IsWeights() {
						continue // a kernel that the program computes
					}
					list = append(list, s.Data[l.Addr-s.Addr:][:l.Size])
				}
			}
			return list
		}
		whole, err := lower.Lower(tc.l, tc.w)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		l, w := tc.l, tc.w
		o, err := family.Lower(&l, &w)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		starts := task.SplitConstants(o.Tasks, &o.Constants, limit, loader.PageSize)
		if again := task.SplitConstants(o.Tasks, &o.Constants, limit, loader.PageSize); fmt.Sprint(again) != fmt.Sprint(starts) {
			t.Errorf("%s: sections at %v, again at %v", tc.name, starts, again)
		}
		b := o.Builder()
		b.Sections = starts
		split, err := b.Build(tc.name)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		file := split.Bytes()
		read, err := loader.Read(tc.name, bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		rebuilt, err := read.Rebuild()
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		want := streams(whole)
		for _, p := range []*loader.Program{split, read, rebuilt} {
			if list := kernelSections(t, p, limit); len(list) != len(starts)+1 || len(starts) < 2 {
				t.Errorf("%s: %d sections, starts %v", tc.name, len(list), starts)
			}
			got := streams(p)
			if len(got) != len(want) || len(want) < tiles.Engines {
				t.Fatalf("%s: %d streams, want %d", tc.name, len(got), len(want))
			}
			for i := range want {
				if !bytes.Equal(got[i], want[i]) {
					t.Fatalf("%s: stream %d differs", tc.name, i)
				}
			}
			for _, y := range p.Symbols {
				if strings.HasPrefix(y.Name, "K") && strings.Contains(y.Name, "_ne_") && y.Section == 0 {
					t.Errorf("%s: symbol %s has no section", tc.name, y.Name)
				}
			}
		}
	}
}
