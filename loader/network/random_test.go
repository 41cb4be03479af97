package network

import (
	"hash/fnv"
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
	r := newRandom(n, scale, seed, "x")
	if r.Len() != n || !slices.Equal(r.all(), want) || slices.Contains(want, 0) {
		t.Fatal("other values")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, r := range []*random{r, newRandom(n, scale, seed, "x")} {
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
