package reference

import "math"

// functions has the elementary functions that operators use, by the names that
// [Options].Function receives.
var functions = map[string]func(float64) float64{
	"Exp": math.Exp, "Log": math.Log, "Sqrt": math.Sqrt, "Sin": math.Sin, "Cos": math.Cos, "Atan": math.Atan,
	"Rsqrt":       func(x float64) float64 { return 1 / math.Sqrt(x) },
	"Reciprocal":  func(x float64) float64 { return 1 / x },
	"Sigmoid":     sigmoid,
	"Tanh":        math.Tanh,
	"Erf":         math.Erf,
	"Gelu":        exactGelu,
	"SiLU":        func(x float64) float64 { return x * sigmoid(x) },
	"Softplus":    softplus,
	"HardSigmoid": func(x float64) float64 { return min(max(x/6+0.5, 0), 1) }, // with alpha 1/6
}

// findElementaryFunction returns the elementary function with the given name, such as "Exp". It
// uses Options.Function where that is set and defined, and the exact function elsewhere.
func (r *interpreter) findElementaryFunction(name string) func(float64) float64 {
	exact := functions[name]
	if r.Function == nil {
		return exact
	}
	return func(x float64) float64 {
		if y, ok := r.Function(name, x); ok {
			return y
		}
		return exact(x)
	}
}

// sigmoid returns 1/(1+exp(-x)) without overflow.
func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// softplus returns log(1+exp(x)) without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func exactGelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

func tanhGelu(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// newFastGeluFunction returns the tanh approximation of Gelu. If Options.Function is set, it
// returns the elementary function Gelu instead, because one table of a device serves both.
func (r *interpreter) newFastGeluFunction() func(float64) float64 {
	if r.Function == nil {
		return tanhGelu
	}
	return r.findElementaryFunction("Gelu")
}

// newExpm1Function returns a function that computes exp(x) - 1. If Options.Function is set, the
// function subtracts 1 from the elementary function Exp.
func (r *interpreter) newExpm1Function() func(float64) float64 {
	if r.Function == nil {
		return math.Expm1
	}
	exp := r.findElementaryFunction("Exp")
	return func(x float64) float64 { return exp(x) - 1 }
}

// newDivideFunction returns a function that computes a/b. If Options.Function is set, the function
// multiplies a by the elementary function Reciprocal of b.
func (r *interpreter) newDivideFunction() func(a, b float64) float64 {
	if r.Function == nil {
		return func(a, b float64) float64 { return a / b }
	}
	reciprocal := r.findElementaryFunction("Reciprocal")
	return func(a, b float64) float64 { return a * reciprocal(b) }
}
