package lint

import (
	"math/rand/v2"
	"testing"
)

// randomLayout returns a small random layout, often with strides close to the length of the parts
// inside them.
func randomLayout(r *rand.Rand, unit int64) layout {
	l := layout{base: unit * r.Int64N(40), inner: 1 + r.Int64N(3*unit), unit: unit}
	for i := range l.axes {
		l.axes[i] = axis{n: 1 + r.Int64N(4), stride: unit * (r.Int64N(30) - 4), name: string(rune('a' + i))}
	}
	if r.IntN(3) == 0 { // as a compiler lays it out
		long := (l.inner + unit - 1) / unit * unit
		for i := range l.axes {
			long += unit * r.Int64N(2)
			l.axes[i].stride = long
			long *= l.axes[i].n
		}
	}
	return l
}

// bytes returns, for each address of the layout, the number of elements that cover it.
func (l *layout) bytes() map[int64]int {
	m := map[int64]int{}
	a := &l.axes
	for i := range a[0].n {
		for j := range a[1].n {
			for k := range a[2].n {
				for n := range a[3].n {
					at := l.base + i*a[0].stride + j*a[1].stride + k*a[2].stride + n*a[3].stride
					for b := range l.inner {
						m[at+b]++
					}
				}
			}
		}
	}
	return m
}

// Folds are found exactly where two elements have a byte in common.
func TestFoldsAgainstBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	folded := 0
	for range 20_000 {
		l := randomLayout(r, 4)
		want := false
		for _, n := range l.bytes() {
			want = want || n > 1
		}
		steps := 1 << 20
		a, known := l.findAliasingAxis(&steps)
		if !known || (a != nil) != want {
			t.Fatalf("%+v: %v, known %t, want %t", l, a, known, want)
		}
		if want {
			folded++
		}
	}
	if folded < 2_000 || folded > 18_000 {
		t.Errorf("%d of 20000 fold", folded)
	}
}

// A region has the units of its layout's bytes, and meets what has one of them.
func TestRegionsAgainstBytes(t *testing.T) {
	const unit = 4
	r := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		l := randomLayout(r, unit)
		want := map[int64]bool{}
		low, end := int64(1<<40), int64(-1<<40)
		for at := range l.bytes() {
			u := at &^ (unit - 1)
			want[u] = true
			low, end = min(low, u), max(end, u+unit)
		}
		g := l.toRegion()
		if g.base != low || g.endAddress() != end {
			t.Fatalf("%+v: from %d to %d, want %d to %d", l, g.base, g.endAddress(), low, end)
		}
		got, runs := map[int64]bool{}, int64(0)
		g.forEachRun(func(lo, hi int64) {
			runs++
			for u := lo; u < hi; u += unit {
				got[u] = true
			}
		})
		if runs != g.countRuns(1<<20) || len(got) != len(want) {
			t.Fatalf("%+v: %d units in %d runs, want %d", l, len(got), runs, len(want))
		}
		for u := range want {
			if !got[u] {
				t.Fatalf("%+v: nothing at %d", l, u)
			}
		}
		for range 20 {
			lo := low - 8 + unit*r.Int64N((end-low)/unit+4)
			hi := lo + unit*(1+r.Int64N(6))
			meets := false
			for u := lo; u < hi; u += unit {
				meets = meets || want[u]
			}
			if g.intersects(lo, hi) != meets {
				t.Fatalf("%+v: %d to %d: want %t", l, lo, hi, meets)
			}
		}
	}
}

// A ground is an array of origins.
func TestGroundAgainstArray(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var g ground
	var want [20_000]int32
	for i := range want {
		want[i] = unwritten
	}
	for n := range 30_000 {
		lo := r.Int64N(int64(len(want)))
		long := int64(1 + r.IntN(8))
		if n%500 == 0 {
			long = r.Int64N(12_000)
		}
		hi := min(lo+long, int64(len(want)))
		g.setOrigin(lo, hi, int32(n))
		for i := lo; i < hi; i++ {
			want[i] = int32(n)
		}
		if n%1000 != 0 {
			continue
		}
		at := int64(0)
		g.visitSpans(0, int64(len(want)), func(s span) {
			for ; at < s.lo; at++ {
				if want[at] != unwritten {
					t.Fatalf("after %d: %d is empty, want %d", n, at, want[at])
				}
			}
			for ; at < s.hi; at++ {
				if want[at] != s.by {
					t.Fatalf("after %d: %d is of %d, want %d", n, at, s.by, want[at])
				}
			}
		})
	}
}
