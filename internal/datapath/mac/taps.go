package mac

import (
	"math"

	"github.com/x448/float16"
)

// Taps holds vectors of weights in the form in which the kernels of the reduction read them. A vector
// has one weight per tap; several vectors share a panel of operands.
//
// A Taps may be filled by several goroutines, one vector each, and read by any number of them.
type Taps struct {
	k       int
	weights []weight
	vectors []vector
}

// A weight is one tap of a vector. The assembly kernels read both fields.
type weight struct {
	// scaled is the weight times 2^16, so that products are in units, and moved away from zero by one
	// or two of its last places, at most 2^-22 of itself. A product of two fp16 values has 22
	// significant bits. If it is below 2^21 units, this moves a tie outward and no other product across a
	// tie, so that rounding half to even gives the same as ties away from zero.
	scaled float32

	// below holds the bits of the largest fp32 value below the smallest operand whose product with
	// the weight is not dropped, and -1 if no product is: then operands below 2^-14 count too.
	below int32
}

// A vector describes the weights of one vector.
type vector struct {
	sum      float32 // of magnitudes
	largest  float32 // magnitude
	exponent int     // smallest of a weight that is not zero

	// rows and nonzero hold the weights that are not zero and the taps where they stand, if so many
	// are zero that testing each tap is faster than multiplying by it. Otherwise both are nil.
	rows    []int
	nonzero []weight
}

const (
	outward     = (1 << fraction) * (1 + 0x1p-23)
	placesMoved = 1<<13 - 1 // last places of scaled that the weight itself does not have
)

// inUnits returns the weight in units of 2^-16 as the engine reads it.
func (w weight) inUnits() float32 {
	return math.Float32frombits(math.Float32bits(w.scaled) &^ placesMoved)
}

// value returns the weight.
func (w weight) value() float32 { return w.inUnits() / (1 << fraction) }

// NewTaps returns Taps with room for the given number of vectors of k weights each, which are zero.
func NewTaps(vectors, k int) *Taps {
	t := new(Taps)
	t.Resize(vectors, k)
	return t
}

// TapsOf returns vectors of k weights each, which follow each other in widened; see [Taps.Set].
func TapsOf(k int, widened []float32) *Taps {
	t := NewTaps(len(widened)/k, k)
	for m := range t.vectors {
		t.Set(m, widened[m*k:][:k])
	}
	return t
}

// Resize changes the number of vectors and their length. The weights must then be set again.
func (t *Taps) Resize(vectors, k int) {
	t.k = k
	if n := vectors * k; cap(t.weights) < n {
		t.weights = make([]weight, n)
	} else {
		t.weights = t.weights[:n]
	}
	if cap(t.vectors) < vectors {
		t.vectors = make([]vector, vectors)
	}
	t.vectors = t.vectors[:vectors]
}

// Set sets vector m to k weights, which [Arithmetic.Widen] has converted.
func (t *Taps) Set(m int, widened []float32) {
	weights, v := t.vectorWeights(m), &t.vectors[m]
	d := prepareAtLevel(active, weights, widened[:t.k])
	v.sum, v.largest = d.sum, math.Float32frombits(d.largest)
	v.exponent = exponent(math.Float32frombits(d.smallest + 1))
	v.rows, v.nonzero = v.rows[:0], v.nonzero[:0]
	if isSparse(d.zeros, t.k) {
		for i, w := range weights {
			if w.scaled != 0 {
				v.rows, v.nonzero = append(v.rows, i), append(v.nonzero, w)
			}
		}
	}
}

// A digest describes prepared weights.
type digest struct {
	sum      float32 // of magnitudes, in any order
	largest  uint32  // bits of the largest magnitude
	smallest uint32  // bits of the smallest magnitude that is not zero, less 1
	zeros    int
}

// merge returns the digest of the weights of d and e together.
func (d digest) merge(e digest) digest {
	return digest{d.sum + e.sum, max(d.largest, e.largest), min(d.smallest, e.smallest), d.zeros + e.zeros}
}

// preparePortable sets weights to the given values.
func preparePortable(weights []weight, widened []float32) digest {
	d := digest{smallest: math.MaxUint32}
	for i, w := range widened {
		abs := math.Float32bits(w) &^ (1 << 31)
		d.sum += math.Float32frombits(abs)
		d.largest = max(d.largest, abs)
		d.smallest = min(d.smallest, abs-1) // a zero becomes the largest number
		if abs == 0 {
			d.zeros++
		}
		const field, smallestNormal = 0xff << 23, (127 + denormalExponent) << 23
		below := (2*127+minExponentSum)<<23 - int32(max(abs&field, smallestNormal)) - 1
		if below < smallestNormal {
			below = -1
		}
		weights[i] = weight{w * outward, below}
	}
	return d
}

// isSparse reports whether so many of k taps are zero that a kernel which skips them is faster than
// one which computes four vectors at once. Measured with AVX2, in the form masked: both are equal at
// 43 % of zeros for 64 taps, 60 % for 576 and 70 % for 2304, whose panel is beyond the cache.
func isSparse(zeros, k int) bool { return 100*zeros > 60*k }

// vectorWeights returns the weights of vector m.
func (t *Taps) vectorWeights(m int) []weight { return t.weights[m*t.k:][:t.k] }

// SetHalves does the same as [Taps.Set] for weights in fp16. The slice room must have at least k elements.
func (t *Taps) SetHalves(m int, weights []float16.Float16, room []float32, a Arithmetic) {
	a.Widen(room[:t.k], weights[:t.k])
	t.Set(m, room)
}
