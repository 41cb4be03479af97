package tiles

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
)

// A watched source lists the rows that are read of channel 0 between writes.
type watched struct {
	stages [][]int
	wrote  bool
}

func (w *watched) Row(dst []half, c, y int) {
	if c > 0 {
		return
	}
	if w.wrote || w.stages == nil {
		w.stages, w.wrote = append(w.stages, nil), false
	}
	last := &w.stages[len(w.stages)-1]
	*last = append(*last, y)
}

func (w *watched) SetRow([]half, int, int, int) { w.wrote = true }

// convolution is the layer's, with its weights and without a scale.
func (l *layer) convolution(t *testing.T) Convolution {
	t.Helper()
	g := l.registers()
	kernel, err := NewKernel(g, l.pack())
	if err != nil {
		t.Fatal(err)
	}
	c := NewConvolution(g)
	c.Kernel, c.Arithmetic, c.Post = kernel, mac.H13, mac.Post{Scale: 1}
	return c
}

func stagesOf(t *testing.T, l *layer) [][]int {
	t.Helper()
	l.weights = make([][]half, l.cout)
	for c := range l.weights {
		l.weights[c] = make([]half, l.taps())
	}
	c := l.convolution(t)
	var w watched
	c.Run(&w, &w, 1)
	return w.stages
}

// A tile of output rows reads the source rows under its windows once, and no others.
func TestTilesReadTheirRows(t *testing.T) {
	for _, tc := range []struct {
		kh, sy, py, hin, hout, rows int
		want                        [][]int // the first and last row of each tile
	}{
		{3, 1, 1, 8, 8, 8, [][]int{{0, 7}}},
		{3, 1, 1, 8, 8, 4, [][]int{{0, 4}, {3, 7}}},
		{3, 2, 1, 16, 8, 3, [][]int{{0, 5}, {5, 11}, {11, 15}}},
		{2, 3, 0, 20, 6, 2, [][]int{{0, 4}, {6, 10}, {12, 16}}},
		{5, 1, 2, 9, 9, 5, [][]int{{0, 6}, {3, 8}}},
	} {
		l := inner(1, 1, 0)
		l.kh, l.sy, l.py, l.hin, l.hout, l.tileRows = tc.kh, tc.sy, tc.py, tc.hin, tc.hout, tc.rows
		l.win, l.wout = 2, 2
		got := stagesOf(t, l)
		for i, rows := range got {
			got[i] = []int{rows[0], rows[len(rows)-1]}
			if len(rows) != rows[len(rows)-1]-rows[0]+1 {
				t.Errorf("%+v: tile %d reads %v", tc, i, rows)
			}
		}
		if !slices.EqualFunc(got, tc.want, slices.Equal) {
			t.Errorf("%+v: tiles read %v", tc, got)
		}
	}
}

// Tiles of more source elements than are staged at a time are halved until they fit.
func TestStagedTilesFit(t *testing.T) {
	for _, tc := range []struct{ kh, sy, rows, want int }{
		{1, 1, 1024, 1024}, // 64 channels of 64 columns: 4 Mi elements and no more
		{1, 1, 1025, 513},
		{1, 1, 2050, 513},
		{1, 2, 1000, 500}, // rows that are stepped over are staged with the others
		{9, 1, 1016, 1016},
		{9, 1, 1017, 509},
	} {
		l := inner(1, 64, 0)
		l.kh, l.sy, l.tileRows, l.hout, l.win, l.wout = tc.kh, tc.sy, tc.rows, tc.rows, 64, 1
		l.hin = (tc.rows-1)*tc.sy + tc.kh
		if got, want := len(stagesOf(t, l)[0]), (tc.want-1)*tc.sy+tc.kh; got != want {
			t.Errorf("%+v: %d source rows at first, want %d", tc, got, want)
		}
	}
}

// Panels are as wide as their limit lets them be, and no wider than the outputs fill.
func TestPanelsFit(t *testing.T) {
	for _, tc := range []struct{ taps, outputs, want int }{
		{1, 1000, 64}, {1, 20, 32}, {1, 33, 64}, {1 << 14, 1000, 64}, {1<<14 + 1, 1000, 32}, {1 << 17, 1000, 16},
		{1 << 18, 1000, 16}, {1<<18 + 1, 1000, 8}, {1 << 20, 1000, 4}, {1 << 22, 1000, 1},
	} {
		if got := panelWidth(tc.taps, tc.outputs); got != tc.want {
			t.Errorf("%d taps, %d outputs: %d lanes, want %d", tc.taps, tc.outputs, got, tc.want)
		}
	}
}

// More output channels than share one pass, and pixels that leave a panel one short.
func TestBatchesAndPanelsEnd(t *testing.T) {
	for _, tc := range []struct{ cout, pixels int }{{2*maxBatch + 5, 20}, {3, 127}, {3, 128}, {3, 129}} {
		l := inner(tc.cout, 2, 0)
		l.win, l.wout = tc.pixels, tc.pixels
		l.weights = make([][]half, tc.cout)
		for c := range l.weights {
			l.weights[c] = []half{float16.Fromfloat32(float32(c % 7)), 0x3c00}
		}
		src := newTensor(2, 1, tc.pixels)
		for i := range src.data {
			src.data[i] = float16.Fromfloat32(float32(i % 11))
		}
		c := l.convolution(t)
		dst := newTensor(tc.cout, 1, tc.pixels)
		c.Run(dst, src, 1)
		if err := dst.once(); err != nil {
			t.Fatalf("%+v: %v", tc, err)
		}
		for i, got := range dst.data {
			ch, x := i/tc.pixels, i%tc.pixels
			if want := float32(ch%7*(x%11) + (tc.pixels+x)%11); got.Float32() != want {
				t.Fatalf("%+v: channel %d, pixel %d: %v, want %v", tc, ch, x, got, want)
			}
		}
	}
}

// The least that a packed plane takes: whole bytes of indices and masks.
func TestLeastBytesOfAPlane(t *testing.T) {
	l := layout{channels: 64, inputs: 5, kh: 1, kw: 1, sy: 1, sx: 1, taps: 5, pixels: 1}
	for _, tc := range []struct {
		p           Packing
		width, bits int
		want        int
	}{
		{Palette, 3, 4, 8}, {Palette, 4, 4, 10}, {Palette, 3, 8, 15}, {Masked, 3, 0, 2}, {Masked, 2, 0, 2},
		{Int8, 3, 0, 15}, {Dense, 3, 0, 30},
	} {
		if got := l.minPlaneBytes(tc.p, tc.width, tc.bits); got != tc.want {
			t.Errorf("%v, %d kernels of 5 weights, %d bits: %d bytes, want %d", tc.p, tc.width, tc.bits, got, tc.want)
		}
	}
}

// Steps of several pixels take the windows of all of them.
func TestZerosOfSeveralPixelsAStep(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	for range 100 {
		pixels, kw, sx, steps := 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(4)
		c := Convolution{
			Cin: 1 + r.IntN(3), Hin: 1, Win: 1 + r.IntN(12), Cout: 1 + r.IntN(3), Hout: 1, Wout: steps,
			Kh: 1, Kw: kw + (pixels-1)*sx, Sy: 1, Sx: sx * pixels, Px: r.IntN(2), Pixels: pixels,
		}
		p := &plane{1, c.Win, make([]half, c.Cin*c.Win)}
		for i := range p.data {
			p.data[i] = half(r.IntN(2)) * 0x3c00
		}
		want := uint64(0)
		for x := range steps * pixels {
			for ch := range c.Cin {
				for k := range kw {
					if at := x*sx - c.Px + k; at < 0 || at >= c.Win || p.data[ch*c.Win+at] == 0 {
						want += uint64(c.Cout)
					}
				}
			}
		}
		if got := c.Zeros(p); got != want {
			t.Fatalf("%+v: %d, want %d", c, got, want)
		}
	}
}
