package mac

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/material"
)

// oracles are the real tables of Apple's compiler behind the texts of
// ../shared/oracles and the seven of ../shared/luts: the function that each is for
// and its worst error, over max(1, |f|). With differ empty the table of this package
// has the same bytes.
var oracles = []struct {
	program string // "luts" for the seven
	at      int
	f       func(float64) float64
	want    float64
	own     func() (*Table, error)
	differ  string
}{
	{"relu6", 0, activations[ReLU6].f, 0, made(ReLU6), ""},
	{"hardtanh", 0, func(x float64) float64 { return min(max(x, -1), 1) }, 0, func() (*Table, error) { return Clip(-1, 1) }, ""},
	{"norm", 128, func(x float64) float64 { return max(x, 0) }, 0, func() (*Table, error) { return Clip(0, inf) }, ""},
	{"selu", 0, selu, 0.012184, made(SELU), "19 of 33 knots on the function, the others one unit off"},
	{"sign", 0, sign, 0, made(Sign), ""},
	{"log", 0, log2, 0.000709, made(Log), ""},
	{"inv", 0, activations[Reciprocal].f, 0.000839, made(Reciprocal), ""},
	{"norm", 0, activations[Reciprocal].f, 0.000839, made(Reciprocal), ""},
	{"exp", 0, math.Exp2, 0.000869, made(Exp), ""},
	{"softmax", 0, math.Exp2, 0.000869, made(Exp), ""},
	{"sqrt", 0, math.Sqrt, 0.000920, made(Sqrt), ""},
	{"norm", 256, math.Sqrt, 0.000920, made(Sqrt), ""},
	{"ceil", 0, activations[Fraction].f, 0, made(Fraction), ""},
	{"ceil", 128, math.Trunc, 0, made(Integer), ""},
	{"ceil", 256, activations[Positive].f, 0, made(Positive), ""},
	{"atan", 0, atanTail, 0.033284, made(AtanFar), ""},
	{"atan", 128, activations[AtanNear].f, 0.000878, made(AtanNear), ""},
	{"silu", 0, activations[OddSigmoid].f, 0.000807, made(OddSigmoid), ""},
	{"gelu", 0, gelu, 0.006159, made(GELU), "8 knots below -1.75, by up to 0.00006"},
	{"luts", 0, logistic, 0.003355, made(Sigmoid), ""},
	{"luts", 1, math.Tanh, 0.001613, made(Tanh), ""},
	{"luts", 2, gelu, 0.006159, made(GELU), "8 knots below -1.75, by up to 0.00006"},
	{"luts", 3, silu, 0.014906, made(SiLU), "9 knots below -3, by up to 0.00012, and the low tail"},
	{"luts", 4, math.Exp2, 0.000869, made(Exp), ""},
	{"luts", 5, math.Sqrt, 0.000920, made(Sqrt), ""},
	{"luts", 6, rsqrt, 0.001483, made(Rsqrt), ""},
}

func made(a Activation) func() (*Table, error) {
	return func() (*Table, error) { return TableOf(a), nil }
}

// realConstants are 128 bytes of the constants of a program of Apple's compiler, which
// start at the next multiple of 64 after the text.
func realConstants(t *testing.T, program string, at int) *Table {
	t.Helper()
	if program == "luts" {
		return realTable(t, []Activation{Sigmoid, Tanh, GELU, SiLU, Exp, Sqrt, Rsqrt}[at])
	}
	name := "oracles/eiln_" + program + "_1600x2560"
	text, b := material.Read(t, name+".text.bin"), material.Read(t, name+".const.bin")
	b = b[-len(text)&63:][at:][:TableBytes]
	table, err := ParseTable(b)
	if err != nil {
		t.Fatal(err)
	}
	if again := table.Encode(); !bytes.Equal(again[:], b) {
		t.Errorf("%s: Encode changes the bytes", program)
	}
	return table
}

// TestOracleTables prints how far every real table is from its function, and holds
// the tables of this package to their bytes.
func TestOracleTables(t *testing.T) {
	for _, tt := range oracles {
		t.Run(fmt.Sprintf("%s/%d", tt.program, tt.at), func(t *testing.T) {
			table := realConstants(t, tt.program, tt.at)
			d := table.Deviation(tt.f)
			t.Logf("mode %#02x: ratio %.6f, %v", uint16(table.Mode()), d.Ratio, d)
			if math.Abs(d.Ratio-tt.want) > 5e-7 {
				t.Errorf("ratio %.6f, recorded %.6f", d.Ratio, tt.want)
			}
			own, err := tt.own()
			if err != nil {
				t.Fatal(err)
			}
			if (own.raw == table.raw) != (tt.differ == "") {
				t.Errorf("same bytes: %v, recorded as different: %q", own.raw == table.raw, tt.differ)
				for i := range own.raw {
					if own.raw[i] != table.raw[i] {
						t.Logf("place %d: %#04x, real %#04x", i, uint16(own.raw[i]), uint16(table.raw[i]))
					}
				}
			}
		})
	}
}

// half rounds v as a planar operation rounds its result.
func half(v float32) float32 { return RoundHalf(v).Float32() }

// TestChains runs the functions that take several tasks, in the order of the real
// programs' descriptors, with the tables of this package and with the real ones.
func TestChains(t *testing.T) {
	value := func(t *Table, v float32) float32 { return t.Eval(RoundHalf(v)).Float32() }
	turn := func(bias float32) func(tables []*Table, x float32) float32 {
		return func(tables []*Table, x float32) float32 {
			p := Post{Scale: float16.Float16(0x3118).Float32(), Bias: bias, Table: tables[0]}
			out := make([]float16.Float16, 1)
			p.Apply(out, []float32{x})
			return value(tables[1], out[0].Float32())
		}
	}
	for _, tt := range []struct {
		name  string
		parts []Activation
		real  []int // places of the parts' tables in the constants of the real program
		chain func(tables []*Table, x float32) float32
		f     func(float64) float64
		limit float64 // of |x|
		max   float64 // error over max(1, |f|)
	}{
		{"ceil", []Activation{Integer, Fraction, Positive}, []int{128, 0, 256}, func(tables []*Table, x float32) float32 {
			return half(value(tables[0], x) + value(tables[2], value(tables[1], x)))
		}, math.Ceil, inf, 0},
		{"floor", []Activation{Integer, Fraction, Negative}, nil, func(tables []*Table, x float32) float32 {
			return half(value(tables[0], x) + value(tables[2], value(tables[1], x)))
		}, math.Floor, inf, 0},
		{"atan", []Activation{AtanNear, AtanFar}, []int{128, 0}, func(tables []*Table, x float32) float32 {
			return half(value(tables[0], x) + value(tables[1], x))
		}, math.Atan, inf, 0.0273},
		{"silu", []Activation{OddSigmoid}, []int{0}, func(tables []*Table, x float32) float32 {
			return half(half(value(tables[0], x)+0.5) * x)
		}, silu, inf, 0.0018},
		{"log", []Activation{Log}, []int{0}, func(tables []*Table, x float32) float32 {
			return half(value(tables[0], x) * Log.Rescale().Float32())
		}, func(x float64) float64 { return log2(x) * math.Ln2 }, inf, 0.00136},
		{"log10", []Activation{Log10}, nil, func(tables []*Table, x float32) float32 {
			return half(value(tables[0], x) * Log10.Rescale().Float32())
		}, func(x float64) float64 { return log2(x) * math.Log10(2) }, inf, 0.0009},
		{"inv", []Activation{Reciprocal}, []int{0}, func(tables []*Table, x float32) float32 {
			p := Post{Scale: 1, Bias: AccBias(0x068a, 0), Table: tables[0]} // 1e-4
			out := make([]float16.Float16, 1)
			p.Apply(out, []float32{x})
			return out[0].Float32()
		}, func(x float64) float64 {
			y := 1 / (x + float64(float16.Float16(0x068a).Float32()))
			if math.Abs(y) >= 65504 {
				return math.NaN() // beyond fp16
			}
			return y
		}, inf, 0.00114},
		{"sin", []Activation{Fraction, SineTurn}, nil, turn(0), math.Sin, 8, 0.0046},
		{"cos", []Activation{Fraction, SineTurn}, nil, turn(0.25), math.Cos, 8, 0.0056},
	} {
		sources := []string{"own"}
		if tt.real != nil {
			sources = append(sources, "real")
		}
		for _, source := range sources {
			t.Run(tt.name+"/"+source, func(t *testing.T) {
				var tables []*Table
				for i, a := range tt.parts {
					table := TableOf(a)
					if source == "real" {
						table = realConstants(t, tt.name, tt.real[i])
					}
					tables = append(tables, table)
				}
				var worst, at float64
				n := 0
				for i := range 1 << 16 {
					h := float16.Float16(i)
					x := float64(h.Float32())
					want := tt.f(x)
					if !h.IsFinite() || math.Abs(x) > tt.limit || math.IsNaN(want) || math.IsInf(want, 0) {
						continue
					}
					n++
					got := float64(tt.chain(tables, float32(x)))
					if e := math.Abs(got-want) / max(1, math.Abs(want)); e > worst {
						worst, at = e, x
					}
				}
				t.Logf("worst %.6f at %v over %d inputs", worst, at, n)
				if worst > tt.max || n < 1000 {
					t.Errorf("worst %.6f at %v over %d inputs, want at most %v", worst, at, n, tt.max)
				}
			})
		}
	}
}
