package reference

import "math"

// functions has the elementary functions that operators are made of, by the names that
// [Options].Function sees.
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
	"HardSigmoid": func(x float64) float64 { return min(max(x/6+0.5, 0), 1) }, // alpha is 1/6
}

// function returns an elementary function, or what replaces it.
func (r *interpreter) function(name string) func(float64) float64 {
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

// sigmoid is 1/(1+exp(-x)), without overflow.
func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// softplus is log(1+exp(x)), without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func exactGelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

func tanhGelu(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// fastGelu returns the function of FastGelu. If elementary functions are replaced, it is Gelu,
// as a table of the one is as good a table of the other.
func (r *interpreter) fastGelu() func(float64) float64 {
	if r.Function == nil {
		return tanhGelu
	}
	return r.function("Gelu")
}

// exponentLess1 returns exp(x) - 1.
func (r *interpreter) exponentLess1() func(float64) float64 {
	if r.Function == nil {
		return math.Expm1
	}
	exp := r.function("Exp")
	return func(x float64) float64 { return exp(x) - 1 }
}

// quotient returns the function a/b: a product with the reciprocal if elementary functions
// are replaced.
func (r *interpreter) quotient() func(a, b float64) float64 {
	if r.Function == nil {
		return func(a, b float64) float64 { return a / b }
	}
	reciprocal := r.function("Reciprocal")
	return func(a, b float64) float64 { return a * reciprocal(b) }
}
