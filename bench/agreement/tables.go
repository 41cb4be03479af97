package agreement

import (
	"math"
	"sync"

	"github.com/x448/float16"

	"anesim/hw/mac"
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

// EngineFunction computes the named function, such as "Sigmoid", at x with the engine's lookup
// table. It returns ok = false if the engine has no table for the function, or if the result
// exceeds fp16. The caller must then compute the exact value. EngineFunction can be the Function of
// [reference.Options].
func EngineFunction(name string, x float64) (y float64, ok bool) {
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

// EngineReduce sums products with the precision of the engine, whose sums are multiples of 2^-16; see
// package mac. For each l it sets acc[l] to the sum of panel[k*len(acc)+l]*taps[k] over all k. Factors
// are first rounded to fp16, except that those beyond its range keep eleven significant bits. Sums have
// no limit here. Use EngineReduce as the Reduce of [reference.Options].
func EngineReduce(acc, panel, taps []float64) {
	if len(acc) == 0 || len(taps) == 0 {
		return
	}
	sums := make([]float32, len(acc))
	mac.Arithmetic{FullRange: true}.Reduce(sums, toFloat32s(panel), len(acc), mac.TapsOf(len(taps), toFloat32s(taps)), mac.Start{})
	for i, v := range sums {
		acc[i] = float64(v)
	}
}

func toFloat32s(v []float64) []float32 {
	list := make([]float32, len(v))
	for i, x := range v {
		if math.Abs(x) < 0x1p-14 {
			list[i] = mac.Round(x, mac.NearestAway).Float32()
		} else {
			list[i] = float32(roundSignificand("", x))
		}
	}
	return list
}

// roundSignificand rounds v to eleven significant bits, as many as fp16 has. Unlike rounding to
// fp16, it does not limit the range.
func roundSignificand(_ string, v float64) float64 {
	if v == 0 || v != v || math.IsInf(v, 0) {
		return v
	}
	unit := math.Ldexp(1, math.Ilogb(v)-10)
	return math.RoundToEven(v/unit) * unit
}
