package mac

import (
	"fmt"
	"math"
	"strconv"

	"github.com/x448/float16"
)

// Activation names a function this package can make a table for.
type Activation uint8

const (
	Sigmoid Activation = iota
	Tanh
	GELU // x * (1+erf(x/sqrt 2))/2
	SiLU // x * sigmoid(x), also called swish
	Exp  // as 2^v behind a PostScale of log2(e), see Prescale
	Sqrt
	Rsqrt
	Erf
	Softplus
	Reciprocal
	numActivations
)

type activation struct {
	name string
	f    func(float64) float64 // what the table computes
	spec TableSpec
}

var inf = math.Inf(1)

// Clamps and steps are those of the tables in real programs where there is one;
// the clamps of the last two put silicon's end values where it has them
// (measured: erf(NaN) = 1, softplus(+inf) = +0). GELU and SiLU keep their knots on
// the function for the sake of f(0) = 0.
var activations = [numActivations]activation{
	Sigmoid:  {"sigmoid", logistic, TableSpec{Mode: ModePlain, StepLog: 1, Low: -9.9375, High: 8.3203125, Below: 0, Above: 1, Balance: true}},
	Tanh:     {"tanh", math.Tanh, TableSpec{Mode: ModeOdd, StepLog: 3, Low: 0, High: 4, Below: 0, Above: 1}},
	GELU:     {"gelu", gelu, TableSpec{Mode: ModePlain, StepLog: 2, Low: -4.3984375, High: inf, Below: 0, Above: inf}},
	SiLU:     {"silu", silu, TableSpec{Mode: ModePlain, StepLog: 1, Low: -10.203125, High: inf, Below: 0, Above: inf}},
	Exp:      {"exp", math.Exp2, TableSpec{Mode: ModeExponent, StepLog: 5, Low: -25, High: 16, Below: 0, Above: inf}},
	Sqrt:     {"sqrt", math.Sqrt, TableSpec{Mode: ModeSqrt, StepLog: 4, Low: 0, High: inf, Below: 0, Above: inf}},
	Rsqrt:    {"rsqrt", rsqrt, TableSpec{Mode: ModeRsqrt, StepLog: 4, Low: 0, High: inf, Below: inf, Above: 0}},
	Erf:      {"erf", math.Erf, TableSpec{Mode: ModeOdd, StepLog: 3, Low: 0, High: 4, Below: 0, Above: 1}},
	Softplus: {"softplus", softplus, TableSpec{Mode: ModePlain, StepLog: 1, Low: -10, High: inf, Below: 0, Above: 0, Balance: true}},

	Reciprocal: {"reciprocal", func(x float64) float64 { return 1 / x }, TableSpec{Mode: ModeReciprocal, StepLog: 6, Low: 0, High: inf, Below: inf, Above: 0}},
}

// Activations lists the functions TableOf knows.
func Activations() []Activation {
	all := make([]Activation, numActivations)
	for i := range all {
		all[i] = Activation(i)
	}
	return all
}

// String returns the name in lower case.
func (a Activation) String() string {
	if a < numActivations {
		return activations[a].name
	}
	return "Activation(" + strconv.Itoa(int(a)) + ")"
}

// Prescale is the PostScale factor that belongs before the table: log2(e) for Exp
// (0x3dc5, bytes of the real exp program), 1 for the others.
func (a Activation) Prescale() float16.Float16 {
	if a == Exp {
		return 0x3dc5
	}
	return 0x3c00
}

// TableOf fits the table of a and states its error, for Exp against 2^v. It panics
// for an activation that is not in Activations.
func TableOf(a Activation) (*Table, Deviation) {
	d := activations[a]
	t, dev, err := FitTable(d.f, d.spec)
	if err != nil {
		panic(fmt.Sprintf("mac: table of %v: %v", a, err)) // a row above is wrong
	}
	return t, dev
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func gelu(x float64) float64     { return x / 2 * math.Erfc(-x/math.Sqrt2) }
func rsqrt(x float64) float64    { return 1 / math.Sqrt(x) }

func silu(x float64) float64 {
	if x < -700 { // exp overflows; the product is 0
		return 0
	}
	return x * logistic(x)
}

func softplus(x float64) float64 {
	if x > 30 { // exp(x) would lose the 1, and later overflow
		return x
	}
	return math.Log1p(math.Exp(x))
}
