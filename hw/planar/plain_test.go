package planar

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// The vector loops against the portable ones: every length across the cut-offs,
// odd alignments, and nothing written beyond the end.
func TestPlainMatchesPortable(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const room = 80
	a, b := make([]float16.Float16, room), make([]float16.Float16, room)
	for i := range a {
		a[i], b[i] = float16.Float16(r.Uint32()), float16.Float16(r.Uint32())
	}
	for n := range 67 {
		for op := Add; op <= Min; op++ {
			for flags := range 16 {
				c := Neutral(op)
				c.Negate1, c.Negate2, c.Relu2, c.ReLU = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
				m := c.masks()
				off := n % 5
				got, want := make([]float16.Float16, room), make([]float16.Float16, room)
				plain(got[off:][:n], a[1:][:n], b[2:][:n], &m, op)
				plainGo(want[off:][:n], a[1:][:n], b[2:][:n], &m, op)
				if !slices.Equal(got, want) {
					t.Fatalf("%v, %d elements, flags %d", op, n, flags)
				}
			}
		}
	}
}

func TestApplyInPlace(t *testing.T) {
	a, b := halvesOf(1, 2, 3, 4, 5, 6, 7, 8, 9), halvesOf(9, 8, 7, 6, 5, 4, 3, 2, 1)
	c := Neutral(Add)
	c.Apply(a, a, b)
	for _, h := range a {
		if h != half(10) {
			t.Fatalf("%v", a)
		}
	}
}
