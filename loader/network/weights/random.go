package weights

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/x448/float16"
)

const (
	randomDigits = 11 // odd numbers of 11 bits are fp16 values without rounding
	randomDraw   = 64 / randomDigits
	randomMark   = 512 * randomDraw // values between places that are gone back to
)

// A random is n pseudo-random values within 2^-scale, the same on every machine. It makes
// them in order, and from elsewhere on by going on from the nearest mark before.
type random struct {
	n      int
	values [1 << randomDigits]float16.Float16
	marks  []rand.PCG // at multiples of randomMark, as far as it has come

	at   int // the value that is next
	pcg  rand.PCG
	draw uint64 // digits of the last draw that are left
}

func newRandom(n, scale int, seed uint64, name string) *random {
	r := &random{n: n}
	for i := range r.values {
		odd := 2*i + 1 - 1<<randomDigits
		r.values[i] = float16.Fromfloat32(float32(odd) / float32(int(1)<<(randomDigits+scale)))
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	r.pcg.Seed(seed, h.Sum64())
	r.marks = append(r.marks, r.pcg)
	return r
}

// Random returns n pseudo-random values within 1, which differ by seed and name and are the
// same on every machine.
func Random(n int, seed uint64, name string) []float16.Float16 {
	return newRandom(n, 0, seed, name).all()
}

// all is every value.
func (r *random) all() []float16.Float16 {
	out := make([]float16.Float16, r.n)
	r.Values(out, 0)
	return out
}

// Len is how many values there are.
func (r *random) Len() int { return r.n }

// Values writes those from first on.
func (r *random) Values(dst []float16.Float16, first int) {
	if first != r.at {
		r.seek(first)
	}
	for len(dst) > 0 {
		n := randomDraw - r.at%randomDraw
		if n == randomDraw {
			if r.at == len(r.marks)*randomMark {
				r.marks = append(r.marks, r.pcg)
			}
			r.draw = r.pcg.Uint64()
			if len(dst) >= randomDraw {
				v, d := r.draw, (*[randomDraw]float16.Float16)(dst)
				for i := range d {
					d[i] = r.values[v&(1<<randomDigits-1)]
					v >>= randomDigits
				}
				dst, r.at = dst[randomDraw:], r.at+randomDraw
				continue
			}
		}
		for range min(n, len(dst)) {
			dst[0] = r.values[r.draw&(1<<randomDigits-1)]
			r.draw >>= randomDigits
			dst, r.at = dst[1:], r.at+1
		}
	}
}

// seek goes to a value.
func (r *random) seek(to int) {
	if r.at > to || r.at/randomMark < to/randomMark {
		mark := min(to/randomMark, len(r.marks)-1)
		r.at, r.pcg = mark*randomMark, r.marks[mark]
	} else if part := r.at % randomDraw; part > 0 {
		n := min(to-r.at, randomDraw-part)
		r.at, r.draw = r.at+n, r.draw>>(n*randomDigits)
	}
	for r.at < to {
		if r.at == len(r.marks)*randomMark {
			r.marks = append(r.marks, r.pcg)
		}
		r.draw = r.pcg.Uint64()
		n := min(to-r.at, randomDraw)
		r.at, r.draw = r.at+n, r.draw>>(n*randomDigits)
	}
}
