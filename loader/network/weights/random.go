package weights

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/x448/float16"
)

const (
	randomDigits = 11 // odd numbers of 11 bits are exact in fp16
	randomDraw   = 64 / randomDigits
	randomMark   = 512 * randomDraw // values between saved generator states
)

// A randomSource generates n pseudo-random values between -2^-scale and 2^-scale, the same on every
// machine. It generates them in order. To read values from elsewhere, it continues from the last
// saved state of the generator before them.
type randomSource struct {
	n      int
	values [1 << randomDigits]float16.Float16
	marks  []rand.PCG // generator states at multiples of randomMark, as far as values were generated

	at   int // index of the next value
	pcg  rand.PCG
	draw uint64 // unused digits of the last draw
}

func newRandomSource(n, scale int, seed uint64, name string) *randomSource {
	r := &randomSource{n: n}
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

// Random returns n pseudo-random values between -1 and 1. They depend only on n, seed and name, and
// are the same on every machine.
func Random(n int, seed uint64, name string) []float16.Float16 {
	return newRandomSource(n, 0, seed, name).allValues()
}

// allValues returns all values of the source in order.
func (r *randomSource) allValues() []float16.Float16 {
	out := make([]float16.Float16, r.n)
	r.Values(out, 0)
	return out
}

// Len returns the number of values that the source generates.
func (r *randomSource) Len() int { return r.n }

// Values fills dst with the values from index first on.
func (r *randomSource) Values(dst []float16.Float16, first int) {
	if first != r.at {
		r.seekValue(first)
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

// seekValue positions the generator so that it generates the value with index next.
func (r *randomSource) seekValue(next int) {
	if r.at > next || r.at/randomMark < next/randomMark {
		mark := min(next/randomMark, len(r.marks)-1)
		r.at, r.pcg = mark*randomMark, r.marks[mark]
	} else if part := r.at % randomDraw; part > 0 {
		n := min(next-r.at, randomDraw-part)
		r.at, r.draw = r.at+n, r.draw>>(n*randomDigits)
	}
	for r.at < next {
		if r.at == len(r.marks)*randomMark {
			r.marks = append(r.marks, r.pcg)
		}
		r.draw = r.pcg.Uint64()
		n := min(next-r.at, randomDraw)
		r.at, r.draw = r.at+n, r.draw>>(n*randomDigits)
	}
}
