package randomprogram

import (
	"math"

	"anesim/internal/network/onnx"
)

// emitIntegerOperation emits an operation on whole numbers, which are a cast of an exact value at first, and
// sometimes an operation that reads the result.
func (g *generator) emitIntegerOperation() {
	x := g.pickValue(func(v *Value) bool { return v.Type == onnx.Int32 })
	if x < 0 || g.IntN(4) == 0 {
		from := g.pickValue(func(v *Value) bool {
			return v.Type.IsFloat() && v.exact && (v.from < 0 || len(g.statements[v.from].in) > 0)
		})
		if from < 0 {
			return
		}
		y := g.emit("cast", []int{from}, []result{{onnx.Int32, g.Values[from].Dims}}, true, []string{g.formatValueArgument("x", from), g.formatText("dtype", "int32")}, newElementFunc(math.Trunc))
		if y == nil {
			return
		}
		x = y[0]
	}
	d := g.Values[x].Dims
	op := g.chooseName("add", "sub", "mul", "maximum", "minimum", "floor_div", "mod", "gather", "cast", "equal", "less")
	by := float64(g.IntN(9) - 4)
	if by == 0 {
		by = 2
	}
	f := map[string]func(v float64) float64{
		"add": func(v float64) float64 { return v + by }, "sub": func(v float64) float64 { return v - by }, "mul": func(v float64) float64 { return v * by },
		"maximum": func(v float64) float64 { return max(v, by) }, "minimum": func(v float64) float64 { return min(v, by) },
		"floor_div": func(v float64) float64 { return math.Floor(v / by) }, "mod": func(v float64) float64 { return v - by*math.Floor(v/by) },
		"cast":  func(v float64) float64 { return v },
		"equal": func(v float64) float64 { return boolToFloat(v == by) }, "less": func(v float64) float64 { return boolToFloat(v < by) },
	}[op]
	args := []string{g.formatValueArgument("x", x)}
	switch op {
	case "cast":
		g.emit(op, []int{x}, []result{{g.float, d}}, true, append(args, g.formatText("dtype", typeNames[g.float])), newElementFunc(f))
	case "gather":
		if len(d) > 3 || onnx.Elements(d) > 60 {
			return
		}
		n := 1 + g.IntN(6)
		// Indices must be in range, and a remainder always is.
		i := g.emit("mod", []int{x}, g.resultLike(x), true, append(args, g.formatInt("y", n)), newElementFunc(func(v float64) float64 { return v - float64(n)*math.Floor(v/float64(n)) }))
		if i == nil {
			return
		}
		td := []int{n, 1 + g.IntN(5)}
		table := g.addConstant(g.float, td, g.chooseNumbers(td))
		g.emit(op, []int{table, i[0]}, []result{{g.float, concatenate(d, td[1:])}}, true, []string{g.formatValueArgument("x", table), g.formatValueArgument("indices", i[0]), g.omitDefault(true, func() string { return g.formatInt("axis", 0) })}, func(in [][]float64) [][]float64 {
			var v []float64
			for _, k := range in[1] {
				v = append(v, in[0][int(k)*td[1]:(int(k)+1)*td[1]]...)
			}
			return [][]float64{v}
		})
	default:
		t := onnx.Int32
		if op == "equal" || op == "less" {
			t = onnx.Bool
		}
		g.emit(op, []int{x}, []result{{t, d}}, true, append(args, g.formatInt("y", int(by))), newElementFunc(f))
	}
}

// boolToFloat returns 1 for true and 0 for false.
func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
