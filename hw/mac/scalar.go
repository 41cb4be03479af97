package mac

import (
	"fmt"
	"math"
)

// The functions in this file make tables with a parameter in the forms that the vendor's compiler
// gives them: two lines that meet at 0, limited by the clamps, with the value at 0 in all knots
// (from the bytes of leaky_relu, max and min with a scalar, relu6, hardtanh). Parameters are
// rounded to fp16. Each function also returns the table's error relative to the function with the
// given parameters. It returns an error if a parameter is NaN or beyond fp16, or if low is above
// high.

// LeakyReLU returns a table for v if v is above 0, else alpha*v.
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

// Maximum returns a table for the larger of v and m. If the low line cannot be reached, for m of 0
// and more, its slope is 0 as in the vendor's tables (from bytes).
func Maximum(m float64) (*Table, Deviation, error) {
	low := Line{}
	if m < 0 {
		low = Line{1, 0}
	}
	return FitTable(func(x float64) float64 { return max(x, m) }, linesSpec(m, inf, m, inf, low, Line{1, 0}))
}

// Minimum returns a table for the smaller of v and m. The low line is v itself. The published form
// of the vendor's table omits its slope, which would give 0 for every v below 0.
func Minimum(m float64) (*Table, Deviation, error) {
	return FitTable(func(x float64) float64 { return min(x, m) }, linesSpec(-inf, m, -inf, m, Line{1, 0}, Line{1, 0}))
}

// Clip returns a table for v limited to [low, high]. For example, relu6 is Clip(0, 6) and hardtanh
// is Clip(-1, 1).
func Clip(low, high float64) (*Table, Deviation, error) {
	if !(low <= high) {
		return nil, Deviation{}, fmt.Errorf("mac: clip: lower bound %g is above upper bound %g", low, high)
	}
	f := func(x float64) float64 { return min(max(x, low), high) }
	return FitTable(f, linesSpec(low, high, low, high, Line{1, 0}, Line{1, 0}))
}

// ELU returns a table for v if v is above 0, else alpha*(e^v - 1). It uses the knots of the
// vendor's selu.
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
