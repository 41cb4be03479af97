package mac

import (
	"fmt"
	"math"
)

// The functions in this file make tables with a parameter in the forms that Apple's compiler
// gives them: two lines that meet at 0, limited by the clamps, with the value at 0 in all knots
// (from the bytes of leaky_relu, max and min with a scalar, relu6, hardtanh). Parameters are
// rounded to fp16.

// LeakyReLU returns a table for the function that is v for v > 0 and alpha*v otherwise. It returns
// an error if alpha is NaN or exceeds the range of fp16.
func LeakyReLU(alpha float64) (*Table, error) {
	f := func(x float64) float64 {
		if x < 0 {
			return alpha * x
		}
		return x
	}
	below := f(-inf)
	if alpha == 0 {
		below = 0
	}
	return FitTable(f, newLinesSpec(-inf, inf, below, inf, Line{alpha, 0}, Line{1, 0}))
}

// Maximum returns a table for max(v, m). It returns an error if m is NaN or exceeds the range of
// fp16.
func Maximum(m float64) (*Table, error) {
	low := Line{}
	if m < 0 {
		low = Line{1, 0}
	}
	return FitTable(func(x float64) float64 { return max(x, m) }, newLinesSpec(m, inf, m, inf, low, Line{1, 0}))
}

// Minimum returns a table for min(v, m). It returns an error if m is NaN or exceeds the range of
// fp16.
func Minimum(m float64) (*Table, error) {
	return FitTable(func(x float64) float64 { return min(x, m) }, newLinesSpec(-inf, m, -inf, m, Line{1, 0}, Line{1, 0}))
}

// Clip returns a table for v limited to the range from low to high. For example, Clip(0, 6) is
// relu6 and Clip(-1, 1) is hardtanh. It returns an error if low is above high, or if a bound is NaN
// or exceeds the range of fp16.
func Clip(low, high float64) (*Table, error) {
	if !(low <= high) {
		return nil, fmt.Errorf("mac: clip: lower bound %g is above upper bound %g", low, high)
	}
	f := func(x float64) float64 { return min(max(x, low), high) }
	return FitTable(f, newLinesSpec(low, high, low, high, Line{1, 0}, Line{1, 0}))
}

// ELU returns a table for the function that is v for v > 0 and alpha*(e^v - 1) otherwise. Its knots
// are at the same inputs as those of the vendor's selu table. It returns an error if alpha is NaN
// or exceeds the range of fp16.
func ELU(alpha float64) (*Table, error) {
	f := func(x float64) float64 {
		if x > 0 {
			return x
		}
		return alpha * math.Expm1(x)
	}
	return FitTable(f, TableSpec{
		Mode: ModeNegative, StepLog: 2, Low: -8, High: inf, Below: -alpha, Above: inf,
		LowTail: &Line{0, -alpha}, HighTail: &Line{1, 0},
	})
}
