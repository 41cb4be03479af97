package tiles

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"
)

// randomWindow returns a random layer with a window, in any packing and layout. Its weights are zero
// in some rows and columns of the window, and here and there.
func randomWindow(r *rand.Rand) *layer {
	l := inner(1+r.IntN(80), 1+r.IntN(5), r.IntN(5))
	l.kh, l.kw, l.groups = 1+r.IntN(6), 1+r.IntN(6), 1+r.IntN(3)
	l.hout, l.wout = 1+r.IntN(4), 2*(1+r.IntN(4))
	if r.IntN(4) == 0 {
		l.ox = 2
	} else {
		l.sy, l.sx = 1+r.IntN(3), 1+r.IntN(3)
	}
	if r.IntN(4) == 0 {
		l.unicast, l.groups, l.cin = true, 1, l.cout
	}
	l.packing = []Packing{Dense, Dense, Masked, Palette, Int8}[r.IntN(5)]
	l.palette = 4 * (1 + r.IntN(2))
	if l.packing == Masked && max(l.sy, l.sx*max(1, l.ox)) > 1 {
		l.packing = ZeroSkipping
	}
	rows, columns := randomMarks(r, l.kh), randomMarks(r, l.kw)
	single := []int{0, 0, 2, 10}[r.IntN(4)] // zeros among ten weights
	l.weights = make([][]half, l.groups*l.cout)
	for c := range l.weights {
		l.weights[c] = make([]half, l.taps())
		for k := range l.weights[c] {
			switch y, x := k/l.kw%l.kh, k%l.kw; {
			case !rows[y] || !columns[x] || r.IntN(10) < single:
				if l.packing == Dense && r.IntN(2) == 0 {
					l.weights[c][k] = 0x8000 // minus zero
				}
			case l.packing == Int8:
				l.weights[c][k] = float16.Fromfloat32(float32(1+r.IntN(127)) * l.scale(c).Float32())
			default:
				l.weights[c][k] = half(0x3c00 + r.IntN(1<<l.palette-1))
			}
		}
	}
	if r.IntN(2) == 0 {
		for c := range l.groups * l.cout {
			l.biases = append(l.biases, half(0x3c00+c))
		}
	}
	return l
}

// randomMarks returns n marks, most of them set.
func randomMarks(r *rand.Rand, n int) []bool {
	marks := make([]bool, n)
	for i := range marks {
		marks[i] = r.IntN(4) > 0
	}
	return marks
}

// needed returns the rows and columns of the window in which any channel has a nonzero weight.
func (l *layer) needed() (rows, columns []bool) {
	rows, columns = make([]bool, l.kh), make([]bool, l.kw)
	for _, w := range l.weights {
		for k, h := range w {
			if h&0x7fff != 0 {
				rows[k/l.kw%l.kh], columns[k%l.kw] = true, true
			}
		}
	}
	return rows, columns
}

// TestNeededTaps compares the taps found in packed weights with those found in the weights, for any
// layout.
func TestNeededTaps(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	less := 0
	for range 500 {
		l := randomWindow(r)
		g, lanes := l.registers(), l.pack()
		rows, columns := l.needed()
		want := max(1, countTrue(rows)*countTrue(columns))
		if want < l.kh*l.kw {
			less++
		}
		if got := NeededTaps(g, lanes); got != want {
			t.Fatalf("%dx%d window with stride %dx%d, %d pixels, %v: needs %d taps, want %d: rows %v, columns %v", l.kh, l.kw, l.sy, l.sx, l.ox, l.packing, got, want, rows, columns)
		}
		k, err := NewKernel(g, lanes)
		if err != nil {
			t.Fatal(err)
		}
		if w := k.Window(g); !slices.Equal(w.Rows, rows) || !slices.Equal(w.Columns, columns) {
			t.Fatalf("window has rows %v and columns %v, want %v and %v", w.Rows, w.Columns, rows, columns)
		}
	}
	if less < 100 {
		t.Errorf("only %d windows need less than all taps", less)
	}
}

// Zeros that leave a nonzero weight in every row and column change nothing, wherever they are.
func TestNeededTapsOfSingleZeros(t *testing.T) {
	l := inner(20, 3, 2)
	l.kh, l.kw = 3, 4
	for k := range l.kh * l.kw {
		l.set(func(_, at int) bool { return at%(l.kh*l.kw) == k })
		if got := NeededTaps(l.registers(), l.pack()); got != 12 {
			t.Errorf("tap %d is zero in all channels: needs %d taps, want 12", k, got)
		}
	}
	l.set(func(_, at int) bool { return at/l.kw%l.kh == 1 })
	if got := NeededTaps(l.registers(), l.pack()); got != 8 {
		t.Errorf("a row of zeros: needs %d taps, want 8", got)
	}
	l.weights[19][2*12+1*4+3] = 0x0001
	if got := NeededTaps(l.registers(), l.pack()); got != 12 {
		t.Errorf("the least number in a row of zeros: needs %d taps, want 12", got)
	}
	l.set(func(int, int) bool { return true })
	if got := NeededTaps(l.registers(), l.pack()); got != 1 {
		t.Errorf("all weights are zero: needs %d taps, want 1", got)
	}
}

// Weights that cannot be read need an unknown number of taps.
func TestNeededTapsOfUnreadableWeights(t *testing.T) {
	for _, packing := range []Packing{Dense, Masked, Palette, Int8} {
		l := inner(16, 3, 0)
		l.kh, l.kw, l.packing, l.palette = 3, 3, packing, 4
		l.set(func(_, k int) bool { return k%3 == 1 })
		g, lanes := l.registers(), l.pack()
		if got := NeededTaps(g, lanes); got != 6 {
			t.Fatalf("%v: needs %d taps, want 6", packing, got)
		}
		lanes[7] = lanes[7][:1]
		if got := NeededTaps(g, lanes); got != 0 {
			t.Errorf("%v with a short lane: needs %d taps, want 0", packing, got)
		}
	}
	l := inner(16, 1, 0)
	l.kh, l.packing, l.palette = 2, Palette, 3
	if got := NeededTaps(l.registers(), [Engines][]byte{}); got != 0 {
		t.Errorf("an unknown packing: needs %d taps, want 0", got)
	}
}

// Taps that the values do not need leave the multiply-accumulates and those that sparse weights omit,
// but take their steps.
func TestNeedTaps(t *testing.T) {
	l := square(64, 1).set(func(int, int) bool { return false })
	l.packing = Dense
	g := l.packed(l.pack())
	const outputs = 64 * 16 * 32
	want := Plan(g, AllTiles, m1)
	for _, taps := range []int{-1, 0, 9, 10} {
		w := want
		if w.NeedTaps(g, taps); w != want {
			t.Errorf("%d taps of 9 change the work: %+v", taps, w)
		}
	}
	got := want
	got.NeedTaps(g, 6)
	want.MACs, want.ZeroTaps = 6*64*outputs, 3*64*outputs
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("6 taps of 9 (-want +got):\n%s", d)
	}
	pass := *g
	pass.NE.MACCfg = pass.NE.MACCfg.WithOpMode(12)
	if w := Plan(&pass, AllTiles, m1); w.MACs != 0 {
		t.Fatal("a pass multiplies")
	} else if w.NeedTaps(&pass, 6); w.MACs != 0 || w.ZeroTaps != 0 {
		t.Errorf("a pass: %+v", w)
	}

	// A row of the window and half of the other weights are zero, and left out.
	sparse := square(64, 1).set(func(_, k int) bool { return k/3%3 == 1 || k%2 == 0 })
	g = sparse.packed(sparse.pack())
	all := Plan(g, AllTiles, m1)
	got = all
	got.NeedTaps(g, 6)
	if got.MACs != 6*64*outputs || got.ZeroTaps != 0 || got.Skipped != all.Skipped-3*64*outputs || got.MACCycles != all.MACCycles {
		t.Errorf("sparse: %+v, of all taps %+v", got, all)
	}
	// More zeros fill the row than the sizes of the lanes show.
	few := square(64, 1).set(func(_, k int) bool { return k/3%3 == 1 })
	g = few.packed(few.pack())
	all = Plan(g, AllTiles, m1)
	got = all
	got.NeedTaps(g, 6)
	if all.Skipped == 0 || got.Skipped != 0 || got.ZeroTaps != 3*64*outputs-all.Skipped {
		t.Errorf("sparse with padding: %+v, of all taps %+v", got, all)
	}
}
