package agreement

import (
	"math"
	"sync"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
)

// tableActivations maps elementary functions of package reference to the engine's tables.
var tableActivations = map[string]mac.Activation{
	"Exp": mac.Exp, "Log": mac.Log, "Sqrt": mac.Sqrt, "Rsqrt": mac.Rsqrt, "Reciprocal": mac.Reciprocal, "Sigmoid": mac.Sigmoid,
	"Tanh": mac.Tanh, "Erf": mac.Erf, "Gelu": mac.GELU, "SiLU": mac.SiLU, "Softplus": mac.Softplus, "HardSigmoid": mac.HardSigmoid,
}

// engineTables returns the tables of tableActivations.
var engineTables = sync.OnceValue(func() map[string]*mac.Table {
	tables := map[string]*mac.Table{}
	for name, a := range tableActivations {
		tables[name] = mac.TableOf(a)
	}
	return tables
})

// engineFunction computes the named function, such as "Sigmoid", at x with the engine's lookup
// table. It returns ok = false if the engine has no table for the function, or if the result
// exceeds fp16. The caller must then compute the exact value. engineFunction can be the Function of
// [reference.Options].
func engineFunction(name string, x float64) (y float64, ok bool) {
	t := engineTables()[name]
	if t == nil {
		return 0, false
	}
	a := tableActivations[name]
	v := float64(t.Eval(roundLikeEngine(x * float64(a.Prescale().Float32()))).Float32())
	if scale := float64(a.Rescale().Float32()); scale != 1 {
		v = float64(roundLikeEngine(v * scale).Float32())
	}
	if math.IsInf(v, 0) && !math.IsInf(x, 0) && x != 0 {
		return 0, false // beyond fp16: keep the exact value
	}
	return v, true
}

// roundLikeEngine rounds the product v to fp16, ties away from zero.
func roundLikeEngine(v float64) float16.Float16 { return mac.Round(v, mac.NearestAway) }

// roundSignificand rounds v to eleven significant bits, as many as fp16 has. Unlike rounding to
// fp16, it does not limit the range.
func roundSignificand(_ string, v float64) float64 {
	if v == 0 || v != v || math.IsInf(v, 0) {
		return v
	}
	unit := math.Ldexp(1, math.Ilogb(v)-10)
	return math.RoundToEven(v/unit) * unit
}
