package mac

import "math"

// A Trace describes how the terms of a sum differ from its products.
type Trace struct {
	// Exact is the start value and all products, added without a limit and in float64, whose rounding
	// is far below that of the terms.
	Exact float64
	// Largest is the largest magnitude of a partial sum, Exact up to some tap. It shows by how
	// much a sum stays below the limit of 32768, or passes it.
	Largest float64

	Products int // with operands that are not zero
	Dropped  int // of Products, those that become 0 because their exponents are too small together
	Vanished int // of Products, those that become 0 because they round to it
}

// Trace compares the products of x[i] and w[i] with the terms that the engine adds, in the order of the
// slices. Operands must be values that [Arithmetic.Widen] yields. If one of them is infinite, Exact
// is infinite or NaN. Trace panics if x and w differ in length. It is several times slower than
// [Arithmetic.Reduce].
func (a Arithmetic) Trace(start float32, x, w []float32) Trace {
	if len(x) != len(w) {
		panic(formatLengthError("Trace", "%d inputs and %d weights; want equal numbers", len(x), len(w)))
	}
	t := Trace{Exact: float64(start), Largest: math.Abs(float64(start))}
	for i, v := range x {
		p := float64(v) * float64(w[i])
		t.Exact += p
		t.Largest = max(t.Largest, math.Abs(t.Exact))
		switch {
		case v == 0 || w[i] == 0:
			continue
		case exponent(v)+exponent(w[i]) < minExponentSum:
			t.Dropped++
		case math.Abs(p) < 0.5/(1<<fraction): // term rounds ties away from zero
			t.Vanished++
		}
		t.Products++
	}
	return t
}

// Limit is the first magnitude that a sum cannot hold, unless [Arithmetic.FullRange] is set.
const Limit = limitUnits >> fraction
