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

// EngineReduce adds products up as the engine does, in tiles of four through an adder of twelve
// bits. The operands become fp16 numbers, and subnormal ones 0. The order of the terms is not
// the engine's. It is a choice for Reduce of [reference.Options].
func EngineReduce(acc, panel, taps []float64) {
	if len(acc) == 0 || len(taps) == 0 {
		return
	}
	sums := make([]float32, len(acc))
	mac.Reduce(sums, operands(panel), operands(taps), mac.PortFull)
	for i, v := range sums {
		acc[i] = float64(v)
	}
}

func operands(v []float64) []float32 {
	list := make([]float32, len(v))
	for i, x := range v {
		if x = roundWide("", x); math.Abs(x) >= 0x1p-14 {
			list[i] = float32(x)
		}
	}
	return list
}

// roundWide rounds to the eleven bits of fp16 without the bounds of its range.
func roundWide(_ string, v float64) float64 {
	if v == 0 || v != v || math.IsInf(v, 0) {
		return v
	}
	unit := math.Ldexp(1, math.Ilogb(v)-10)
	return math.RoundToEven(v/unit) * unit
}
