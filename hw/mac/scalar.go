package mac

import (
	"fmt"
	"math"
)

// The tables with a parameter, in the forms that the vendor's compiler gives them:
// two lines that meet at 0, cut off by the clamps, and the value at 0 in all knots
// (bytes: leaky_relu, max and min with a scalar, relu6, hardtanh). Parameters are
// rounded to fp16. Each states its error against the function of the given
// parameters; the error is for a parameter that is NaN or beyond fp16, or bounds
// the wrong way round.

// LeakyReLU is v above 0 and alpha*v below.
func LeakyReLU(alpha float64) (*Table, Deviation, error) {
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
	return FitTable(f, linesSpec(-inf, inf, below, inf, Line{alpha, 0}, Line{1, 0}))
}

// Maximum is the larger of v and m. Where the low line cannot be reached, for m of 0
// and more, the vendor leaves its slope at 0 (bytes).
func Maximum(m float64) (*Table, Deviation, error) {
	low := Line{}
	if m < 0 {
		low = Line{1, 0}
	}
	return FitTable(func(x float64) float64 { return max(x, m) }, linesSpec(m, inf, m, inf, low, Line{1, 0}))
}

// Minimum is the smaller of v and m. The low line is v itself; the published
// form of the vendor's table leaves its slope out, which would give 0 for every v
// below 0.
func Minimum(m float64) (*Table, Deviation, error) {
	return FitTable(func(x float64) float64 { return min(x, m) }, linesSpec(-inf, m, -inf, m, Line{1, 0}, Line{1, 0}))
}

// Clip is v held within low and high: relu6 is Clip(0, 6), hardtanh Clip(-1, 1).
func Clip(low, high float64) (*Table, Deviation, error) {
	if !(low <= high) {
		return nil, Deviation{}, fmt.Errorf("mac: clip: bounds %g and %g", low, high)
	}
	f := func(x float64) float64 { return min(max(x, low), high) }
	return FitTable(f, linesSpec(low, high, low, high, Line{1, 0}, Line{1, 0}))
}

// ELU is v above 0 and alpha*(e^v - 1) below, on the knots of the vendor's selu.
func ELU(alpha float64) (*Table, Deviation, error) {
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
