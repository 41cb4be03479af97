package mac

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"
)

func ExamplePost() {
	acc := []float32{-3, 0.5, 10000, 32760}
	out := make([]float16.Float16, len(acc))
	post := Post{Scale: 1, Bias: AccBias(0x3c00, 0), ReLU: true}
	post.Apply(out, acc)
	fmt.Println(out)
	// Output: [0 1.5 10000 32768]
}

func TestPostApply(t *testing.T) {
	sigmoid := TableOf(Sigmoid)
	exp := TableOf(Exp)
	pinf := float32(inf)
	for _, tt := range []struct {
		name string
		post Post
		acc  []float32
		want []float16.Float16
	}{
		{"plain", Post{Scale: 1}, []float32{1, -1, 2049, 2051, 1e-7}, []float16.Float16{0x3c00, 0xbc00, 0x6801, 0x6802, 0x0002}},
		{"no limit behind the sums", Post{Scale: 1}, []float32{32752, 32759.9, 32760, -32760, 65504, 65520}, []float16.Float16{0x77ff, 0x77ff, 0x7800, 0xf800, 0x7bff, 0x7c00}},
		{"nor behind the scale", Post{Scale: 2}, []float32{16384}, []float16.Float16{0x7800}},
		{"scale and bias", Post{Scale: 0.5, Bias: 1}, []float32{3, -2}, []float16.Float16{0x4100, 0}},
		{"-0 leaves as +0", Post{Scale: -1}, []float32{0}, []float16.Float16{0}},
		{"inf * 0", Post{Scale: 0, Bias: 1}, []float32{pinf}, []float16.Float16{0x3c00}},
		{"inf - inf", Post{Scale: 1, Bias: -pinf}, []float32{pinf}, []float16.Float16{0}},
		{"ReLU", Post{Scale: 1, ReLU: true}, []float32{-pinf, -1, 0, 1, pinf}, []float16.Float16{0, 0, 0, 0x3c00, 0x7c00}},
		{"scale 0 makes sigmoid 1/2", Post{Scale: PostScale(0, 0), Table: sigmoid}, []float32{-5, 0, 5}, []float16.Float16{0x3800, 0x3800, 0x3800}},
		{"a table's values have no ceiling", Post{Scale: 1, Table: exp}, []float32{14, 15}, []float16.Float16{0x7400, 0x7800}},
		// 1.0009765625 * 1.4423828125 is 1.4437914, which is not an fp16 value.
		{"a table's input is rounded behind the scale", Post{Scale: PostScale(0x3dc5, 0), Table: exp}, []float32{1.0009765625}, []float16.Float16{exp.Eval(0x3dc6)}},
	} {
		got := make([]float16.Float16, len(tt.acc))
		tt.post.Apply(got, tt.acc)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s, want, got:\n%s", tt.name, d)
		}
	}
	(&Post{}).Apply(nil, nil)
}

func TestRegisters(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want float32
	}{
		{"scale", PostScale(0x3dc5, 0), 1.4423828125},
		{"scale shifted", PostScale(0x3c00, 4), 1. / 16},
		{"scale shifted far", PostScale(0x3c00, 31), 0x1p-31},
		{"scale field has 5 bits", PostScale(0x3c00, 32), 1},
		{"scale denormal", PostScale(1, 0), 0x1p-24},
		{"scale NaN", PostScale(0x7e00, 0), float32(math.Inf(1))},
		{"bias", AccBias(0xc000, 0), -2},
		{"bias shifted", AccBias(0x3c00, 10), 1024},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// TestNaN follows a NaN from an input through a unit weight: silicon has
// relu(NaN) = inf and sigmoid(NaN) = tanh(NaN) = erf(NaN) = 1.
func TestNaN(t *testing.T) {
	x, acc, out := make([]float32, 1), make([]float32, 1), make([]float16.Float16, 1)
	Widen(x, []float16.Float16{0xfe01})
	taps := NewTaps(1, 1)
	taps.Set(0, []float32{1})
	H13.Reduce(acc, x, 1, taps, Start{})
	posts := map[string]Post{"relu": {Scale: 1, ReLU: true}}
	want := map[string]float16.Float16{"relu": 0x7c00}
	for _, a := range []Activation{Sigmoid, Tanh, Erf, Exp} {
		table := TableOf(a)
		posts[a.String()] = Post{Scale: 1, Table: table}
		want[a.String()] = 0x3c00
	}
	want["exp"] = 0x7c00
	for name, post := range posts {
		if post.Apply(out, acc); out[0] != want[name] {
			t.Errorf("%s(NaN) = %v, want %v", name, out[0], want[name])
		}
	}
}

// TestSoftsign has its end value beyond an infinite clamp, which is how a table
// can give the measured softsign(+inf) = +0.
func TestSoftsign(t *testing.T) {
	table, err := FitTable(func(x float64) float64 { return x / (1 + math.Abs(x)) },
		TableSpec{Mode: ModeOdd, StepLog: 2, High: inf, Above: 0})
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Eval(halfInf); got != 0 {
		t.Errorf("softsign(+inf) = %v, want +0", got)
	}
}
