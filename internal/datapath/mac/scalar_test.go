package mac

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"
)

func ExampleLeakyReLU() {
	t, err := LeakyReLU(0.125)
	fmt.Println(t.Eval(float16.Fromfloat32(-8)), t.Eval(float16.Fromfloat32(3)), err)
	// Output: -1 3 <nil>
}

// The tables with a parameter equal their function but for the rounding of results
// and parameters.
func TestScalarTables(t *testing.T) {
	type made struct {
		table *Table
		err   error
		f     func(float64) float64
	}
	clip := func(low, high float64) made {
		t, err := Clip(low, high)
		return made{t, err, func(x float64) float64 { return min(max(x, low), high) }}
	}
	maximum := func(m float64) made {
		t, err := Maximum(m)
		return made{t, err, func(x float64) float64 { return max(x, m) }}
	}
	minimum := func(m float64) made {
		t, err := Minimum(m)
		return made{t, err, func(x float64) float64 { return min(x, m) }}
	}
	leaky := func(a float64) made {
		t, err := LeakyReLU(a)
		return made{t, err, func(x float64) float64 { return max(x, 0) + a*min(x, 0) }}
	}
	elu := func(a float64) made {
		t, err := ELU(a)
		return made{t, err, func(x float64) float64 { return max(x, 0) + a*math.Expm1(min(x, 0)) }}
	}
	inf32, nan := float32(inf), float32(math.NaN())
	for _, tt := range []struct {
		name string
		made made
		max  float64 // of Deviation.Ratio
		ends map[float32]float32
	}{
		{"clip -1 1", clip(-1, 1), 0, map[float32]float32{inf32: 1, -inf32: -1, 0.5: 0.5, nan: 1}},
		{"clip 2 3", clip(2, 3), 0, map[float32]float32{0: 2, 2.5: 2.5, -5: 2, 9: 3}},
		{"clip -3 -2", clip(-3, -2), 0, map[float32]float32{0: -2, -2.5: -2.5, -5: -3, 9: -2}},
		{"clip 0 0", clip(0, 0), 0, map[float32]float32{0: 0, 2.5: 0, -5: 0}},
		{"max 0", maximum(0), 0, map[float32]float32{0: 0, 2.5: 2.5, -5: 0, inf32: inf32, nan: inf32}},
		{"max 1.5", maximum(1.5), 0, map[float32]float32{0: 1.5, 2.5: 2.5, -5: 1.5}},
		{"max -1.5", maximum(-1.5), 0, map[float32]float32{0: 0, -1: -1, -5: -1.5, -inf32: -1.5}},
		{"min 0", minimum(0), 0, map[float32]float32{0: 0, 2.5: 0, -5: -5, -inf32: -inf32}},
		{"min 1.5", minimum(1.5), 0, map[float32]float32{0: 0, 2.5: 1.5, -5: -5, inf32: 1.5}},
		{"min -1.5", minimum(-1.5), 0, map[float32]float32{0: -1.5, -1: -1.5, -5: -5}},
		{"leaky 0.25", leaky(0.25), 0x1p-25, map[float32]float32{0: 0, -4: -1, 7: 7, -inf32: -inf32, inf32: inf32}},
		{"leaky 0", leaky(0), 0, map[float32]float32{-4: 0, 7: 7, -inf32: 0}},
		{"leaky -1", leaky(-1), 0, map[float32]float32{-4: 4, 7: 7, -inf32: inf32}},
		{"leaky 0.01", leaky(0.01), 0.0007, map[float32]float32{7: 7}},
		{"elu 1", elu(1), 0.0078, map[float32]float32{0: 0, 7: 7, -8: -1, -inf32: -1}},
		{"elu 0.5", elu(0.5), 0.0039, map[float32]float32{0: 0, 7: 7, -9: -0.5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.made.err != nil {
				t.Fatal(tt.made.err)
			}
			table, d := tt.made.table, tt.made.table.Deviation(tt.made.f)
			t.Logf("ratio %.6f, %v", d.Ratio, d)
			if d.Ratio > tt.max {
				t.Errorf("ratio %.6f, %v, want at most %v", d.Ratio, d, tt.max)
			}
			for x, want := range tt.ends {
				if got := table.Eval(fromFloat(x)).Float32(); got != want {
					t.Errorf("at %v: %v, want %v", x, got, want)
				}
			}
		})
	}
	for name, m := range map[string]made{
		"clip upside down": clip(1, 0), "clip NaN": clip(math.NaN(), 0), "max NaN": maximum(math.NaN()),
		"min too large": minimum(1e6), "leaky NaN": leaky(math.NaN()), "elu too large": elu(1e6),
	} {
		if m.err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The forms that are published for Apple's compiler.
func TestScalarForms(t *testing.T) {
	at := func(low, high, below, above float16.Float16, edit map[int]float16.Float16) (raw [TableBytes / 2]float16.Float16) {
		raw[0], raw[1], raw[2], raw[3] = low, high, below, above
		raw[atHighSlope], raw[atStep], raw[atMode] = 0x3c00, 64, 1
		for i, h := range edit {
			raw[i] = h
		}
		return raw
	}
	leaky, _ := LeakyReLU(0.01)
	if d := cmp.Diff(at(0xfc00, 0x7c00, 0xfc00, 0x7c00, map[int]float16.Float16{atLowSlope: 0x211f}), leaky.raw); d != "" {
		t.Error("leaky_relu: want, got:\n", d)
	}
	knots := map[int]float16.Float16{}
	for i := range numKnots {
		knots[atKnots+i] = 0x4200
	}
	maximum, _ := Maximum(3)
	if d := cmp.Diff(at(0x4200, 0x7c00, 0x4200, 0x7c00, knots), maximum.raw); d != "" {
		t.Error("maximum: want, got:\n", d)
	}
	// The published minimum leaves the low slope out.
	minimum, _ := Minimum(3)
	if d := cmp.Diff(at(0xfc00, 0x4200, 0xfc00, 0x4200, map[int]float16.Float16{atLowSlope: 0x3c00}), minimum.raw); d != "" {
		t.Error("minimum: want, got:\n", d)
	}
}
