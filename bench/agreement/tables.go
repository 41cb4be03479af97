package agreement

import (
	"math"
	"sync"

	"anesim/bench/reference"
	"anesim/hw/mac"
)

// activations maps elementary functions of package reference to the engine's tables.
var activations = map[string]mac.Activation{
	"Exp": mac.Exp, "Log": mac.Log, "Sqrt": mac.Sqrt, "Rsqrt": mac.Rsqrt, "Reciprocal": mac.Reciprocal, "Sigmoid": mac.Sigmoid,
	"Tanh": mac.Tanh, "Erf": mac.Erf, "Gelu": mac.GELU, "SiLU": mac.SiLU, "Softplus": mac.Softplus, "HardSigmoid": mac.HardSigmoid,
}

// engineTables are the tables of activations.
var engineTables = sync.OnceValue(func() map[string]*mac.Table {
	tables := map[string]*mac.Table{}
	for name, a := range activations {
		tables[name], _ = mac.TableOf(a)
	}
	return tables
})

// EngineFunction looks x up in the engine's table of an elementary function. It is a choice for
// Function of [reference.Options].
func EngineFunction(name string, x float64) (y float64, ok bool) {
	t := engineTables()[name]
	if t == nil {
		return 0, false
	}
	a := activations[name]
	v := float64(t.Eval(float32(x * float64(a.Prescale().Float32()))).Float32())
	if scale := float64(a.Rescale().Float32()); scale != 1 {
		v = reference.RoundHalf(name, v*scale)
	}
	if math.IsInf(v, 0) && !math.IsInf(x, 0) && x != 0 {
		return 0, false // beyond fp16: the exact value says by how much
	}
	return v, true
}
