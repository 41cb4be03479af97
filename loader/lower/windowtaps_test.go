package lower_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/x448/float16"

	"anesim/firmware/engine"
	"anesim/hw/regs"
	"anesim/loader/layer"
	. "anesim/loader/lower"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// TestSizedWindowTaps checks that a program that is only timed has the counts of taps that the
// constants of the same program have, for layers with and without given weights.
func TestSizedWindowTaps(t *testing.T) {
	windows := cmpopts.EquateComparable(regs.ConvCfg{})
	r := rand.New(rand.NewPCG(*seed, 6))
	counted := 0
	for i := range 4 * *layers {
		l, w, _, _, _ := windowed(r)
		if i%2 == 0 {
			l, w = randomConv(r)
		}
		if l.Op == layer.Pool {
			continue
		}
		given := r.IntN(2) == 0
		switch w.Dense = r.IntN(2) == 0; {
		case !given:
			w = layer.Weights{Dense: w.Dense}
		case r.IntN(2) == 0:
			zeroRow(r, &l, w.Filter)
		}
		w.Form = []layer.Form{layer.FormFP16, layer.FormFP16, layer.FormSparse, layer.FormPalette}[r.IntN(4)]
		x := &list.Layer{Lower: l, Weights: w}
		all, err := weights.Complete(x, 1)
		if err != nil {
			t.Fatal(err)
		}
		sizes, err := weights.Sizes(x, 1)
		if err != nil {
			t.Fatal(err)
		}
		made, err := Lower(l, all)
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		sized, err := Sized(l, sizes)
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		want, err := engine.Link(made)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Stream.WindowTaps, sized.WindowTaps, windows); d != "" {
			t.Fatalf("%+v, weights given %v (-constants +sizes):\n%s", l, given, d)
		}
		got, err := engine.Link(sized)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.Stream.WindowTaps, got.Stream.WindowTaps, windows); d != "" {
			t.Fatalf("linked, %+v (-constants +sizes):\n%s", l, d)
		}
		counted += len(sized.WindowTaps)
	}
	if counted < *layers/2 {
		t.Errorf("%d tasks need fewer taps than their window has, want more", counted)
	}
}

// zeroRow sets a random row or column of a window's weights to zero in all channels.
func zeroRow(r *rand.Rand, l *layer.Layer, filter []float16.Float16) {
	rows, columns := l.TapRows(), l.TapColumns()
	at, row := r.IntN(max(rows, columns)), r.IntN(2) == 0
	for i := range filter {
		if y, x := i/columns%rows, i%columns; row && y == at || !row && x == at {
			filter[i] = 0
		}
	}
}

// TestWindowTapsOfTasks checks the counts of a program of which only some tasks need fewer taps than
// their window has.
func TestWindowTapsOfTasks(t *testing.T) {
	// With a padding of 3, all phases of columns but the first start with the second column of the
	// input. Their windows have a column of zeros before it. Phases of rows start at an address.
	l := layer.Conv(layer.Shape{N: 1, C: 16, H: 6, W: 6}, 8, layer.Window{Kh: 4, Kw: 4, Sy: 3, Sx: 3, Py: 3, Px: 3, Qy: 1, Qx: 1})
	l.Op = layer.Deconvolution
	p, err := Sized(l, layer.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int // taps of the window, and needed
	for s, err := range p.States() {
		if err != nil {
			t.Fatal(err)
		}
		if c := s.Groups.Common.ConvCfg; s.Groups.NE.MACCfg.OpMode() == regs.MultiplyAccumulate && !s.Groups.Planar() {
			got = append(got, [2]int{int(c.Kh() * c.Kw()), p.WindowTaps[s.Index].Taps})
		}
	}
	want := [][2]int{{4, 0}, {2, 0}, {2, 0}, {4, 2}, {2, 1}, {2, 1}, {4, 2}, {2, 1}, {2, 1}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
