package mac

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/x448/float16"
)

// An Activation names a function, such as the sigmoid, for which [TableOf] returns an activation
// table. Functions with a parameter have their own constructors, such as [LeakyReLU] and [Clip].
type Activation uint8

const (
	Sigmoid Activation = iota
	Tanh
	GELU // x * (1+erf(x/sqrt 2))/2
	SiLU // x * sigmoid(x), also called swish
	Exp  // as 2^v after a PostScale of log2(e), see Prescale
	Sqrt
	Rsqrt
	Erf
	Softplus
	Reciprocal

	Exp2
	Log2
	Log   // as log2, followed by a multiplication by ln 2, see Rescale
	Log10 // as log2, followed by a multiplication by log10 2, see Rescale
	ReLU6
	Sign
	SELU
	Softsign    // x / (1+|x|)
	HardSigmoid // clip(x/6 + 1/2, 0, 1)
	HardSwish   // x * HardSigmoid(x)
	Mish        // x * tanh(softplus(x))
	Square      // within [-8,8]
	Cube        // within [-4,4]

	// Parts of functions that need several tasks. The + and * run on the planar engine:
	//
	//	silu(x)  = x * (OddSigmoid(x) + 1/2)          the vendor's of 2023 (from bytes)
	//	atan(x)  = AtanNear(x) + AtanFar(x)           (from bytes)
	//	ceil(x)  = Integer(x) + Positive(Fraction(x)) (from bytes)
	//	floor(x) = Integer(x) + Negative(Fraction(x))
	//	sin(x)   = SineTurn(Fraction(x / 2 pi)), see Prescale
	//	cos(x)   = SineTurn(Fraction(x / 2 pi + 1/4)), the 1/4 as AccBias
	OddSigmoid // sigmoid(x) - 1/2
	AtanNear   // atan(x) up to |x| = 2, atan 2 above
	AtanFar    // atan(x) - AtanNear(x)
	Integer    // x without its fraction
	Fraction   // x without its integer part
	Positive   // 1 above 0, else 0
	Negative   // -1 below 0, else 0
	SineTurn   // sin(2 pi x) within [-1,1]
	Atan       // in a single table, less accurate than in two
	Not        // 1 at 0 and below, 0 at 1 and above: negates a truth value
	numActivations
)

// An activation describes one table: the function, the parameters of the fit, and the range of
// inputs.
type activation struct {
	name   string
	f      func(float64) float64
	spec   TableSpec
	within float64 // largest |v| that the table covers, 0 for all
}

var inf = math.Inf(1)

// From SoftplusEnd on, an fp16 number has a softplus of 0: 1+exp(x) reaches the accumulator's limit
// of 32768 there: exp is 32736 at the number before it and 32992 here. Measured on an M3 Max and
// confirmed on an M4 (coremltools, issue 2687), whose results are right up to 10.3984375 and 0 from
// 10.40625 on; inferred for other chips.
const SoftplusEnd = 10.40625

// activations has one row per Activation. Clamps, steps and knots are those of tables in real programs
// where such tables exist: TestIdentity counts the tables that agree in every byte. The clamps of Erf and
// Softplus give the end values of silicon (measured: erf(NaN) = 1, softplus is +0 from SoftplusEnd to
// +inf). The weights of 0 for GELU and SiLU are fitted to the vendor's knots at 0, which an M6 shows too:
// -0.000754 and -0.001704. The end value of Log2 is the vendor's; with it ln(1+exp(x)) gives the +0 that
// silicon has for softplus(+inf).
var activations = [numActivations]activation{
	Sigmoid:  {"sigmoid", logistic, TableSpec{Mode: ModePlain, StepLog: 1, Low: -9.9375, High: 8.3203125, Below: 0, Above: 1}, 0},
	Tanh:     {"tanh", math.Tanh, TableSpec{Mode: ModeOdd, StepLog: 3, Low: 0, High: 4, Below: 0, Above: 1}, 0},
	GELU:     {"gelu", gelu, TableSpec{Mode: ModePlain, StepLog: 2, Low: -4.3984375, High: inf, Below: 0, Above: inf, LowTail: &Line{0, 0}, HighTail: &Line{1, 0}, ZeroWeight: 73}, 0},
	SiLU:     {"silu", silu, TableSpec{Mode: ModePlain, StepLog: 1, Low: -10.203125, High: inf, Below: 0, Above: inf, ZeroWeight: 71}, 0},
	Exp:      {"exp", math.Exp2, expSpec, 0},
	Sqrt:     {"sqrt", math.Sqrt, TableSpec{Mode: ModeSqrt, StepLog: 4, Low: 0, High: inf, Below: 0, Above: inf}, 0},
	Rsqrt:    {"rsqrt", rsqrt, TableSpec{Mode: ModeRsqrt, StepLog: 4, Low: 0, High: inf, Below: inf, Above: 0}, 0},
	Erf:      {"erf", math.Erf, TableSpec{Mode: ModeOdd, StepLog: 3, Low: 0, High: 4, Below: 0, Above: 1}, 0},
	Softplus: {"softplus", softplus, TableSpec{Mode: ModePlain, StepLog: 1, Low: -10, High: SoftplusEnd, Below: 0, Above: 0, HighTail: &Line{1, 0}, Balance: true}, 10.3984375},

	Reciprocal: {"reciprocal", func(x float64) float64 { return 1 / x }, TableSpec{Mode: ModeReciprocal, StepLog: 6, Low: 0, High: inf, Below: inf, Above: 0}, 0},

	Exp2:  {"exp2", math.Exp2, expSpec, 0},
	Log2:  {"log2", log2, logSpec, 0},
	Log:   {"log", log2, logSpec, 0},
	Log10: {"log10", log2, logSpec, 0},

	ReLU6:    {"relu6", func(x float64) float64 { return min(max(x, 0), 6) }, newLinesSpec(0, 6, 0, 6, Line{1, 0}, Line{1, 0}), 0},
	Sign:     {"sign", sign, TableSpec{Mode: ModeOdd, StepLog: noKnots, Low: 0, High: 1, Below: 0, Above: 1, HighTail: &Line{0, 1}}, 0},
	SELU:     {"selu", selu, TableSpec{Mode: ModeNegative, StepLog: 2, Low: -8, High: inf, Below: -seluScale * seluAlpha, Above: inf, LowTail: &Line{0, -seluScale * seluAlpha}, HighTail: &Line{seluScale, 0}}, 0},
	Softsign: {"softsign", softsign, TableSpec{Mode: ModeOdd, StepLog: 2, Low: 0, High: 24, Below: 0, Above: 24.5 / 25}, 0},

	HardSigmoid: {"hard-sigmoid", hardSigmoid, newLinesSpec(-3, 3, 0, 1, Line{1. / 6, 0.5}, Line{1. / 6, 0.5}), 0},
	HardSwish:   {"hard-swish", func(x float64) float64 { return x * hardSigmoid(x) }, TableSpec{Mode: ModePlain, StepLog: 2, Low: -3, High: inf, Below: 0, Above: inf}, 0},
	Mish:        {"mish", mish, TableSpec{Mode: ModePlain, StepLog: 1, Low: -12, High: inf, Below: 0, Above: inf}, 0},
	Square:      {"square", func(x float64) float64 { return x * x }, TableSpec{Mode: ModePlain, StepLog: 1, Low: -8, High: 8, Below: 64, Above: 64}, 8},
	Cube:        {"cube", func(x float64) float64 { return x * x * x }, TableSpec{Mode: ModeOdd, StepLog: 3, Low: 0, High: 4, Below: 0, Above: 64, Balance: true}, 4},

	OddSigmoid: {"sigmoid-1/2", func(x float64) float64 { return logistic(x) - 0.5 }, TableSpec{Mode: ModeOdd, StepLog: 2, Low: -1, High: 10, Below: 0, Above: 0.5}, 0},
	AtanNear:   {"atan-near", func(x float64) float64 { return math.Atan(max(-2, min(2, x))) }, TableSpec{Mode: ModeOdd, StepLog: 4, Low: 0, High: 2, Below: 0, Above: math.Atan(2), LowTail: &Line{1, 0}}, 0},
	AtanFar:    {"atan-far", atanTail, TableSpec{Mode: ModeOdd, StepLog: -1, Low: 2, High: 2000, Below: 0, Above: math.Atan(2000) - math.Atan(2), HighTail: &Line{(math.Atan(2000) - math.Atan(64)) / (2000 - 64), math.Atan(64) - math.Atan(2)}}, 0},
	Integer:    {"integer", math.Trunc, TableSpec{Mode: ModeInteger, StepLog: 5, Low: -inf, High: inf, Below: -inf, Above: inf}, 0},
	Fraction:   {"fraction", func(x float64) float64 { return x - math.Trunc(x) }, TableSpec{Mode: ModeFraction, Low: -inf, High: inf}, 0},
	Positive:   {"positive", func(x float64) float64 { return max(sign(x), 0) }, newLinesSpec(-smallest, smallest, 0, 1, Line{}, Line{0, 1}), 0},
	Negative:   {"negative", func(x float64) float64 { return min(sign(x), 0) }, newLinesSpec(-smallest, smallest, -1, 0, Line{0, -1}, Line{}), 0},
	SineTurn:   {"sine-turn", func(x float64) float64 { return math.Sin(2 * math.Pi * x) }, TableSpec{Mode: ModeOdd, StepLog: 5, Low: 0, High: 1, Below: 0, Above: 0, Balance: true}, 1},
	Atan:       {"atan", math.Atan, TableSpec{Mode: ModeOdd, StepLog: 1, Low: 0, High: 48, Below: 0, Above: math.Pi/2 - 1./96, Balance: true}, 0},
	Not:        {"not", func(x float64) float64 { return max(0, min(1, 1-x)) }, newLinesSpec(0, 1, 1, 0, Line{-1, 1}, Line{-1, 1}), 0},
}

var (
	expSpec = TableSpec{Mode: ModeExponent, StepLog: 5, Low: -25, High: 16, Below: 0, Above: inf}
	logSpec = TableSpec{Mode: ModeLog, StepLog: 6, Low: 0, High: inf, Below: -inf, Above: 0}
)

const (
	seluScale = 1.0507009873554805
	seluAlpha = 1.6732632423543772
	smallest  = 0x1p-24 // the smallest positive fp16 value
)

// Activations returns all functions that [TableOf] supports.
func Activations() []Activation {
	all := make([]Activation, numActivations)
	for i := range all {
		all[i] = Activation(i)
	}
	return all
}

// String returns the name of the function in lower case, such as "sigmoid".
func (a Activation) String() string {
	if a < numActivations {
		return activations[a].name
	}
	return "Activation(" + strconv.Itoa(int(a)) + ")"
}

// Prescale returns the factor by which the accumulator must be multiplied before the table of
// function a is applied. It is log2(e) for Exp, as in the vendor's exp program, and 1 for all other
// functions.
func (a Activation) Prescale() float16.Float16 {
	if a == Exp {
		return 0x3dc5
	}
	return 0x3c00
}

// Rescale returns the factor by which the planar engine must multiply the result of the table of
// function a. It is ln 2 for Log, as in the vendor's log program, log10 2 for Log10, and 1 for all
// other functions.
func (a Activation) Rescale() float16.Float16 {
	switch a {
	case Log:
		return 0x398c
	case Log10:
		return 0x34d1
	}
	return 0x3c00
}

// TableOf returns the table that approximates function a. It panics if a is not one of
// [Activations].
func TableOf(a Activation) *Table { return fitted[a]() }

// fitted holds the tables, each fitted when it is first used.
var fitted [numActivations]func() *Table

func init() {
	for i := range fitted {
		fitted[i] = sync.OnceValue(func() *Table { return fitActivationTable(Activation(i)) })
	}
}

func fitActivationTable(a Activation) *Table {
	d := activations[a]
	f := d.f
	if a == AtanFar { // the first knot of the real table is on the function without its zero part
		f = func(x float64) float64 { return math.Atan(x) - math.Atan(2) }
	}
	t, err := FitTable(f, d.spec)
	if err != nil {
		panic(fmt.Sprintf("mac: cannot fit the table of %v: %v", a, err)) // a row above is wrong
	}
	return t
}

// Deviation returns the error of the table that [TableOf] returns for function a. The error is
// measured over the inputs that the table covers. The table of Exp is compared with 2^v, and the
// tables of Log and Log10 with log2 v, because Prescale and Rescale do the rest. Deviation panics
// if a is not one of [Activations].
func (a Activation) Deviation() Deviation {
	d := activations[a]
	return TableOf(a).computeDeviationWithin(d.f, cmp.Or(d.within, inf))
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func gelu(x float64) float64     { return x / 2 * math.Erfc(-x/math.Sqrt2) }
func rsqrt(x float64) float64    { return 1 / math.Sqrt(x) }
func softsign(x float64) float64 { return x / (1 + math.Abs(x)) }

// log2 returns the base-2 logarithm of x, and NaN for x < 0, so that the engine's +0 there does not
// count as an error of the table.
func log2(x float64) float64 {
	if x < 0 {
		return math.NaN()
	}
	return math.Log2(x)
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

func selu(x float64) float64 {
	if x > 0 {
		return seluScale * x
	}
	return seluScale * seluAlpha * math.Expm1(x)
}

func hardSigmoid(x float64) float64 { return min(max(x/6+0.5, 0), 1) }
func mish(x float64) float64        { return x * math.Tanh(softplus(x)) }

func atanTail(x float64) float64 {
	if math.Abs(x) <= 2 {
		return 0
	}
	return math.Atan(x) - math.Copysign(math.Atan(2), x)
}

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
