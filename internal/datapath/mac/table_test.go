package mac

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"anesim/internal/material"
)

func ExampleActivation_Deviation() {
	for _, a := range []Activation{Sigmoid, Tanh, GELU, SiLU} {
		fmt.Printf("%-8v %.4f\n", a, a.Deviation().Max)
	}
	// An M6 with the vendor's tables: sigmoid 0.0034, tanh 0.0016, gelu 0.0062, silu 0.0149.
	// Output:
	// sigmoid  0.0034
	// tanh     0.0016
	// gelu     0.0062
	// silu     0.0149
}

func ExampleFitTable() {
	softsign := func(x float64) float64 { return x / (1 + math.Abs(x)) }
	t, err := FitTable(softsign, TableSpec{Mode: ModeOdd, StepLog: 2, High: 64, Above: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Eval(float16.Fromfloat32(-1)), t.Eval(float16.Fromfloat32(8)), t.Eval(float16.Inf(1)))
	d := t.Deviation(softsign)
	fmt.Printf("%.3f at %v\n", d.Max, d.At)
	// Output:
	// -0.5 0.8886719 1
	// 0.040 at 21.734375
}

// realTable reads one of the tables of real programs, which are not part of the
// project.
func realTable(t *testing.T, a Activation) *Table {
	t.Helper()
	b := material.Read(t, "luts/"+a.String()+".lut.bin")
	table, err := ParseTable(b)
	if err != nil {
		t.Fatal(err)
	}
	if again := table.Encode(); !bytes.Equal(again[:], b) {
		t.Errorf("%v: Encode changes the bytes", a)
	}
	return table
}

// negZero is -0, which is also the bias that leaves every value unchanged.
var negZero = float32(math.Copysign(0, -1))

// fromFloat rounds v to fp16; a NaN stays one.
func fromFloat(v float32) float16.Float16 {
	if v != v {
		return float16.NaN()
	}
	return Round(float64(v), NearestAway)
}

func TestRealTables(t *testing.T) {
	nan := float32(math.NaN())
	pinf, ninf := float32(inf), float32(-inf)
	for _, tt := range []struct {
		a    Activation
		mode TableMode
		step float64
		eval map[float32]float16.Float16
		nan  float16.Float16
		max  float64 // worst error on an M6 to two digits, 0 where there is none
	}{
		{Sigmoid, ModePlain, 0.5, map[float32]float16.Float16{
			0: 0x3800, 3: 0x3b9f, ninf: 0, pinf: 0x3c00, -9.9375: 0, 8.3203125: 0x3c00, 8: 0x3bff,
		}, 0x3c00, 0.0034},
		{Tanh, ModeOdd, 0.125, map[float32]float16.Float16{
			0: 0, negZero: 0, 4: 0x3c00, -4: 0xbc00, pinf: 0x3c00, ninf: 0xbc00, 0.125: 0x2ff5, -0.125: 0xaff5,
		}, 0x3c00, 0.0016},
		{GELU, ModePlain, 0.25, map[float32]float16.Float16{
			-4.3984375: 0, ninf: 0, pinf: 0x7c00, 5: 0x4500, 1000: 0x63d0, 0.25: 0x3098,
		}, 0x7c00, 0.0062},
		{SiLU, ModePlain, 0.5, map[float32]float16.Float16{
			-10.203125: 0, ninf: 0, pinf: 0x7c00, 0.5: 0x34be,
		}, 0x7c00, 0},
		{Exp, ModeExponent, 1. / 32, map[float32]float16.Float16{
			0: 0x3c00, negZero: 0x3c00, 1: 0x4000, -1: 0x3800, 15: 0x7800, 16: 0x7c00, pinf: 0x7c00, ninf: 0, -24: 1, -25: 0, -20: 0x10, 0.03125: 0x3c16,
		}, 0x7c00, 0},
		{Sqrt, ModeSqrt, 1. / 16, map[float32]float16.Float16{
			0: 0, negZero: 0, -1: 0, ninf: 0, pinf: 0x7c00, 1: 0x3c00, 4: 0x4000, 16: 0x4400, 0.25: 0x3800, 0x1p-24: 0x0c00, 2: 0x3da8,
		}, 0x7c00, 0},
		{Rsqrt, ModeRsqrt, 1. / 16, map[float32]float16.Float16{
			0: 0x7c00, negZero: 0x7c00, -1: 0, ninf: 0, pinf: 0, 1: 0x3c00, 4: 0x3800, 0.25: 0x4000, 0x1p-24: 0x6c00, 2: 0x39a8,
		}, 0, 0},
	} {
		t.Run(tt.a.String(), func(t *testing.T) {
			table := realTable(t, tt.a)
			if table.Mode() != tt.mode || table.Step() != tt.step {
				t.Errorf("mode %#x step %v, want %#x %v", table.Mode(), table.Step(), tt.mode, tt.step)
			}
			got := map[float32]float16.Float16{}
			for x := range tt.eval {
				got[x] = table.Eval(fromFloat(x))
			}
			if d := cmp.Diff(tt.eval, got); d != "" {
				t.Error("want, got:\n", d)
			}
			if got := table.Eval(fromFloat(nan)); got != tt.nan {
				t.Errorf("NaN gives %v, want %v", got, tt.nan)
			}
			d := table.Deviation(activations[tt.a].f)
			if tt.max == 0 {
				t.Logf("%v; no figure of silicon", d)
				return
			}
			t.Logf("%v; silicon %.4f", d, tt.max)
			if math.Abs(d.Max-tt.max) > 0.00006 {
				t.Errorf("worst error %.5f, silicon %.4f", d.Max, tt.max)
			}
		})
	}
}

func TestOwnTables(t *testing.T) {
	type end struct{ x, want float32 }
	covered := map[Activation]bool{Exp2: true, Log: true, Log10: true} // the tables of Exp and Log2
	for _, tt := range []struct {
		a    Activation
		max  float64 // bound on the error over max(1, |f|); over |f| for the open-ended four
		rel  bool
		ends []end
	}{
		{Sigmoid, 0.0034, false, []end{{0, 0.5}, {float32(inf), 1}, {float32(-inf), 0}}},
		{Tanh, 0.0018, false, []end{{0, 0}, {float32(inf), 1}, {float32(-inf), -1}}},
		{GELU, 0.0062, false, []end{{0, -0.00075387955}, {float32(inf), float32(inf)}, {float32(-inf), 0}}},
		{SiLU, 0.01492, false, []end{{0, -0.0017042160}, {float32(inf), float32(inf)}, {float32(-inf), 0}}},
		{Exp, 0.0009, true, []end{{0, 1}, {16, float32(inf)}, {-25, 0}}},
		{Sqrt, 0.00093, true, []end{{0, 0}, {1, 1}, {-1, 0}, {float32(inf), float32(inf)}}},
		{Rsqrt, 0.0015, true, []end{{0, float32(inf)}, {1, 1}, {-1, 0}, {float32(inf), 0}}},
		{Erf, 0.0024, false, []end{{0, 0}, {float32(inf), 1}, {float32(math.NaN()), 1}}},
		{Softplus, 0.00445, false, []end{{10.3984375, 10.3984375}, {SoftplusEnd, 0}, {float32(inf), 0}, {float32(-inf), 0}}},
		{Reciprocal, 0.00085, true, []end{{0, float32(inf)}, {negZero, float32(inf)}, {-4, -0.25}, {float32(inf), 0}, {1, 1}}},
		{Log2, 0.00804, false, []end{{0, float32(-inf)}, {1, 0}, {8, 3}, {0x1p-24, -24}, {-1, 0}, {float32(-inf), 0}, {float32(inf), 0}}},
		{ReLU6, 0, false, []end{{float32(inf), 6}, {5.5, 5.5}, {-1, 0}, {float32(math.NaN()), 6}}},
		{Sign, 0, false, []end{{0, 0}, {negZero, 0}, {0x1p-24, 1}, {-0x1p-24, -1}, {float32(-inf), -1}}},
		{SELU, 0.0122, false, []end{{0, 0}, {-20, -1.7578125}, {float32(inf), float32(inf)}}},
		{Softsign, 0.0206, false, []end{{0, 0}, {-1, -0.5}, {float32(inf), 0.97998046875}}},
		{HardSigmoid, 0.00034, false, []end{{0, 0.5}, {-3, 0}, {3, 1}, {100, 1}}},
		{HardSwish, 0.0035, false, []end{{0, 0}, {-3, 0}, {-100, 0}, {3, 3}, {1000, 1000}}},
		{Mish, 0.0197, false, []end{{0, 0}, {-12, 0}, {1000, 1000}, {float32(inf), float32(inf)}}},
		{Square, 0.078, false, []end{{0, 0}, {-3, 9}, {8, 64}}},
		{Cube, 0.0462, false, []end{{0, 0}, {4, 64}, {-4, -64}}},
		{OddSigmoid, 0.00083, false, []end{{0, 0}, {10, 0.5}, {-10, -0.5}, {float32(-inf), -0.5}}},
		{AtanNear, 0.00088, false, []end{{0, 0}, {1, 0.78515625}, {float32(-inf), -1.107421875}}},
		{AtanFar, 0.0333, false, []end{{2, 0}, {-1, 0}, {float32(inf), 0.463134765625}}},
		{Integer, 0, false, []end{{-1.5, -1}, {0.75, 0}, {-0.75, 0}, {float32(-inf), float32(-inf)}, {1e30, float32(inf)}}},
		{Fraction, 0, false, []end{{-1.5, -0.5}, {3, 0}, {-2, 0}, {float32(-inf), 0}, {float32(math.NaN()), 0}}},
		{Positive, 0, false, []end{{0, 0}, {negZero, 0}, {0x1p-24, 1}, {-0x1p-24, 0}, {float32(inf), 1}}},
		{Negative, 0, false, []end{{0, 0}, {negZero, 0}, {0x1p-24, 0}, {-0x1p-24, -1}, {float32(-inf), -1}}},
		{SineTurn, 0.0031, false, []end{{0, 0}, {0.5, 0}, {1, 0}, {-0.25, -1.001953125}}},
		{Atan, 0.0115, false, []end{{0, 0}, {-100, -1.560546875}}},
		{Not, 0.0005, false, []end{{0, 1}, {negZero, 1}, {1, 0}, {127, 0}, {-1, 1}, {0.5, 0.5}}},
	} {
		table, d := TableOf(tt.a), tt.a.Deviation()
		covered[tt.a] = true
		t.Logf("%-8v %v", tt.a, d)
		for _, e := range tt.ends {
			if got := table.Eval(fromFloat(e.x)).Float32(); got != e.want {
				t.Errorf("%v(%v) = %v, want %v", tt.a, e.x, got, e.want)
			}
		}
		if !tt.rel {
			if d.Ratio > tt.max {
				t.Errorf("%v: ratio %.6f, %v, want at most %v", tt.a, d.Ratio, d, tt.max)
			}
			continue
		}
		var worst float64
		for i := range 0x7c00 {
			x := float16.Float16(i)
			if want := activations[tt.a].f(float64(x.Float32())); want < 65000 && want > 0x1p-14 {
				worst = max(worst, math.Abs(float64(table.Eval(x).Float32())/want-1))
			}
		}
		t.Logf("%-8v relative %.5f", tt.a, worst)
		if worst > tt.max {
			t.Errorf("%v: relative error %.5f, want at most %v", tt.a, worst, tt.max)
		}
	}
	for _, a := range Activations() {
		if !covered[a] {
			t.Errorf("%v has no row", a)
		}
	}
}

// TestExpOverflow walks the halves up to the first whose exponential is infinite,
// which silicon has at 11.094.
func TestExpOverflow(t *testing.T) {
	table := TableOf(Exp)
	post := Post{Scale: PostScale(Exp.Prescale(), 0), Table: table}
	out := make([]float16.Float16, 1)
	for i := 0x3c00; i < halfInf; i++ {
		x := float16.Float16(i).Float32()
		post.Apply(out, []float32{x})
		if out[0].IsInf(1) {
			if x != 11.09375 {
				t.Errorf("infinite from %v on, want 11.09375", x)
			}
			return
		}
	}
	t.Error("never infinite")
}

func TestParseTableErrors(t *testing.T) {
	table := TableOf(Sigmoid)
	good := table.Encode()
	edit := func(half int, v uint16) []byte {
		b := bytes.Clone(good[:])
		b[2*half], b[2*half+1] = byte(v), byte(v>>8)
		return b
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want FormatError
	}{
		{"empty", nil, FormatError{"table", 0, "size is not 128 bytes", 0}},
		{"short", good[:127], FormatError{"table", 127, "size is not 128 bytes", 127}},
		{"long", append(good[:], 0), FormatError{"table", 128, "size is not 128 bytes", 129}},
		{"mode", edit(atMode, 3), FormatError{"table", 84, "unknown mode", uint16(3)}},
		{"step", edit(atStep, 16), FormatError{"table", 82, "mode does not support log2(1/step)", 16}},
		{"step of the mode", edit(atMode, uint16(ModeSqrt)), FormatError{"table", 82, "mode does not support log2(1/step)", 1}},
		{"signed step", edit(atStep, 0xfff4), FormatError{"table", 82, "mode does not support log2(1/step)", -12}},
		{"step between", edit(atStep, 63), FormatError{"table", 82, "mode does not support log2(1/step)", 63}},
		{"knot", edit(atKnots, 0x7e00), FormatError{"table", 8, "unexpected NaN", nil}},
	} {
		_, err := ParseTable(tt.b)
		var got *FormatError
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if d := cmp.Diff(tt.want, *got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	for _, a := range []Activation{Integer, Fraction} {
		table := TableOf(a)
		b := table.Encode()
		b[2*atKnots+8] = 1
		_, err := ParseTable(b[:])
		want := &FormatError{"table", 2*atKnots + 8, "nonzero knot or tail in a table of integer parts or fractions", uint16(1)}
		if d := cmp.Diff(error(want), err); d != "" {
			t.Errorf("knots in %v: %s", a, d)
		}
	}
	if _, err := ParseTable(edit(50, 0xffff)); err != nil {
		t.Errorf("half 50 has no meaning, but: %v", err)
	}
}

func TestFitTableErrors(t *testing.T) {
	square := func(x float64) float64 { return x * x }
	for name, spec := range map[string]TableSpec{
		"mode":          {Mode: 3, StepLog: 1},
		"step":          {Mode: ModePlain, StepLog: -12},
		"step of mode":  {Mode: ModeSqrt, StepLog: 5},
		"knot too big":  {Mode: ModeOdd, StepLog: 0, Below: 1e6},
		"end without f": {Mode: ModePlain, StepLog: 0, Low: math.NaN()},
	} {
		if _, err := FitTable(square, spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A table gives the same values one by one, in a slice that is too short to pay for the values of
// all inputs, and in one that is long enough; so it does for several goroutines at a time.
func TestEvalSlice(t *testing.T) {
	every := make([]float16.Float16, 1<<16)
	for i := range every {
		every[i] = float16.Float16(i)
	}
	for _, a := range Activations() {
		table := TableOf(a)
		var done sync.WaitGroup
		for range 4 {
			done.Go(func() {
				for _, n := range []int{0, 1, 1 << 15, 1 << 16, 1 << 16} {
					got := slices.Clone(every[:n])
					table.evalSlice(got)
					for i, h := range got {
						if want := table.Eval(every[i]); h != want {
							t.Errorf("%v, %d values: at %v %v, want %v", a, n, every[i], h, want)
							return
						}
					}
				}
			})
		}
		done.Wait()
		if table.results.Load() == nil {
			t.Errorf("%v: the values of all inputs are never computed", a)
		}
	}
}
