package mac

import (
	"fmt"
	"math"
	"testing"

	"github.com/x448/float16"

	"anesim/internal/vectors"
)

// A printedFunction is a function of [vectors.TableErrors]: its table here, where the vendor's is
// among the real ones, and the exact function.
type printedFunction struct {
	a       Activation
	program string
	at      int
	f       func(float64) float64
}

var printedFunctions = map[string]printedFunction{
	"sigmoid": {Sigmoid, "luts", 0, logistic},
	"tanh":    {Tanh, "luts", 1, math.Tanh},
	"gelu":    {GELU, "luts", 2, gelu},
	"silu":    {SiLU, "luts", 3, silu},
	"exp":     {Exp, "luts", 4, math.Exp},
	"sqrt":    {Sqrt, "luts", 5, math.Sqrt},
	"rsqrt":   {Rsqrt, "luts", 6, rsqrt},
	"inverse": {Reciprocal, "inv", 0, func(x float64) float64 { return 1 / x }},
	"log":     {Log, "log", 0, math.Log},
}

// An M6 printed the largest errors of nine functions, and where they are. The tables of this package
// and the vendor's give the same digits.
func TestTableErrorsOfSilicon(t *testing.T) {
	cases, err := vectors.TableErrors()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, c := range cases {
		p, ok := printedFunctions[c.Data.Function]
		if !ok {
			t.Errorf("%s: the model has no %q", c.File, c.Data.Function)
			continue
		}
		seen++
		want := describe(c.Data.Error, c.Data.ULPs, c.Data.At)
		t.Run(c.Data.Function+"/own", func(t *testing.T) {
			if got := findErrors(TableOf(p.a), p, &c.Data); got != want {
				t.Errorf("%s, an M6 %s", got, want)
			}
		})
		t.Run(c.Data.Function+"/vendor", func(t *testing.T) {
			if got := findErrors(realConstants(t, p.program, p.at), p, &c.Data); got != want {
				t.Errorf("%s, an M6 %s", got, want)
			}
		})
	}
	if seen != len(printedFunctions) {
		t.Errorf("%d functions have a case, want %d", seen, len(printedFunctions))
	}
}

// describe prints errors with as many digits as the M6 did.
func describe(largest, ulps, at float64) string {
	return fmt.Sprintf("error %.4g, %.1f ulps at %.4g", largest, ulps, at)
}

// findErrors returns the largest errors of a table over the inputs of d.
func findErrors(table *Table, p printedFunction, d *vectors.TableError) string {
	var inputs []float16.Float16
	for i := range d.Points {
		share := float64(i) / float64(d.Points-1)
		v := d.Low + (d.High-d.Low)*share
		if d.Geometric {
			v = d.Low * math.Pow(d.High/d.Low, share)
		}
		if h := Round(v, NearestEven); i == 0 || h != inputs[len(inputs)-1] { // the host rounds to even
			inputs = append(inputs, h)
		}
	}
	acc, out := make([]float32, len(inputs)), make([]float16.Float16, len(inputs))
	Widen(acc, inputs)
	post := Post{Scale: PostScale(p.a.Prescale(), 0), Bias: AccBias(Round(d.Epsilon, NearestEven), 0), Table: table}
	post.Apply(out, acc)

	var largest, ulps, at float64
	for i, h := range out {
		x := float64(acc[i])
		got, want := roundResult(float64(h.Float32())*float64(p.a.Rescale().Float32())), p.f(x)
		e := math.Abs(float64(got.Float32()) - want)
		largest = max(largest, e)
		if u := e / unit(want); u > ulps {
			ulps, at = u, x
		}
	}
	return describe(largest, ulps, at)
}

// unit returns the distance of fp16 values of v's size.
func unit(v float64) float64 {
	_, e := math.Frexp(v)
	return math.Ldexp(1, max(e-1, -14)-10)
}
