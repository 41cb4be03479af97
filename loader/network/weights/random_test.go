package weights

import (
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// Pseudo-random values are the digits of one generator in order, whatever order they are
// asked for in.
func TestRandom(t *testing.T) {
	const n, scale, seed = 3*randomMark + 7, 3, 9
	h := fnv.New64a()
	h.Write([]byte("x"))
	pcg := rand.NewPCG(seed, h.Sum64())
	var want []float16.Float16
	for len(want) < n {
		v := pcg.Uint64()
		for range 5 {
			want = append(want, float16.Fromfloat32(float32(2*int(v&2047)+1-2048)/(2048<<scale)))
			v >>= 11
		}
	}
	want = want[:n]
	r := newRandomSource(n, scale, seed, "x")
	if r.Len() != n || !slices.Equal(r.allValues(), want) || slices.Contains(want, 0) {
		t.Fatal("other values")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, r := range []*randomSource{r, newRandomSource(n, scale, seed, "x")} {
		buf := make([]float16.Float16, n)
		for range 2000 {
			first := rng.IntN(n)
			got := buf[:rng.IntN(min(n-first, 40)+1)]
			if r.Values(got, first); !slices.Equal(got, want[first:first+len(got)]) {
				t.Fatalf("%d values from %d on differ", len(got), first)
			}
		}
	}
}

// Made-up weights are odd multiples of a power of two below one in size, other ones from one
// to the next, and the same for a seed and a name.
func TestMadeUpWeights(t *testing.T) {
	for _, scale := range []int{0, 3} {
		v := newRandomSource(1000, scale, 1, "weights").allValues()
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
		other, again := newRandomSource(1000, scale, 2, "weights").allValues(), newRandomSource(1000, scale, 1, "weights").allValues()
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
