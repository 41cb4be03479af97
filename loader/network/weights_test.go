package network

import (
	"math/bits"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// Made-up weights are odd multiples of a power of two below one in size, other ones from one
// to the next, and the same for a seed and a name.
func TestMadeUpWeights(t *testing.T) {
	for _, scale := range []int{0, 3} {
		v := newRandom(1000, scale, 1, "weights").all()
		unit := float64(int(1) << (11 + scale))
		same := 0
		for i, h := range v {
			m := float64(h.Float32()) * unit
			odd := int(m)
			if float64(odd) != m || odd%2 == 0 || bits.Len(uint(max(odd, -odd))) > 11 {
				t.Fatalf("value %d is %v, %v of 1/%v", i, h.Float32(), m, unit)
			}
			if i > 0 && v[i-1] == h {
				same++
			}
		}
		if same > 5 { // of two thousand values each is as likely as another
			t.Errorf("%d of 1000 values are those ahead of them", same)
		}
		other, again := newRandom(1000, scale, 2, "weights").all(), newRandom(1000, scale, 1, "weights").all()
		differ := 0
		for i := range v {
			if again[i] != v[i] {
				t.Fatalf("value %d is another the second time", i)
			}
			if other[i] != v[i] {
				differ++
			}
		}
		if differ < 900 {
			t.Errorf("%d of 1000 values change with the seed", differ)
		}
	}
}

// Taps of a dilated window stand where its rows and columns say, with zeros between them.
func TestSpreadTaps(t *testing.T) {
	k := kernel{1, 1, 2, 3, []float16.Float16{1, 2, 3, 4, 5, 6}}
	s := k.spread(2, 3)
	want := []float16.Float16{
		1, 0, 0, 2, 0, 0, 3,
		0, 0, 0, 0, 0, 0, 0,
		4, 0, 0, 5, 0, 0, 6,
	}
	if s.kh != 3 || s.kw != 7 || !slices.Equal(s.v, want) {
		t.Errorf("%dx%d: %v, want %v", s.kh, s.kw, s.v, want)
	}
	if same := k.spread(1, 1); same.kh != 2 || same.kw != 3 || !slices.Equal(same.v, k.v) {
		t.Errorf("%+v", same)
	}
}
