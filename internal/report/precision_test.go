package report_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/internal/report"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// newScaledLinear returns a network of a linear layer, with its weights and bias times 2^shift and, if
// shift is not 0, a multiplication by 2^-shift after it.
func newScaledLinear(rows, k, n int, weights, bias []float16.Float16, shift int) *list.Network {
	scale := func(v []float16.Float16) (out []float16.Float16) {
		for _, h := range v {
			out = append(out, float16.Fromfloat32(float32(math.Ldexp(float64(h.Float32()), shift))))
		}
		return out
	}
	linear := list.Layer{Name: "linear", Op: "linear", Inputs: []string{"x"}, Output: "y"}
	linear.Lower = layer.Layer{Op: layer.Linear, In: layer.Shape{N: 1, C: 1, H: rows, W: k}, Columns: n, Second: layer.Constant, Bias: bias != nil}
	linear.Weights = layer.Weights{Filter: scale(weights), Bias: scale(bias)}
	linear.Out = linear.Lower.Out()
	net := &list.Network{Name: "scaled", Inputs: []list.Tensor{{Name: "x", Shape: linear.Lower.In}}, Layers: []list.Layer{linear}, Outputs: []string{"y"}}
	if shift != 0 {
		back := list.Layer{Name: "back", Op: "mul", Inputs: []string{"y"}, Output: "z"}
		back.Lower = layer.Layer{Op: layer.Mul, In: linear.Out, Second: layer.Scalar}
		back.Weights.Second = []float16.Float16{float16.Fromfloat32(float32(math.Ldexp(1, -shift)))}
		back.Out = linear.Out
		net.Layers, net.Outputs = append(net.Layers, back), []string{"z"}
	}
	return net
}

// TestScaledNetworksHaveThePromisedError follows the advice: it scales the weights of a network and
// undoes that after the sums. The multiplication becomes part of the same task, and the error falls
// from the one that the report gives to the one that it promises.
func TestScaledNetworksHaveThePromisedError(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for i, k := range []int{256, 512, 1024} {
		const rows, n = 16, 48
		draw := func(n int, deviation float64) (v []float16.Float16, wide []float64) {
			for range n {
				h := float16.Fromfloat32(float32(r.NormFloat64() * deviation))
				v, wide = append(v, h), append(wide, float64(h.Float32()))
			}
			return v, wide
		}
		x, wideX := draw(rows*k, 1/math.Sqrt(float64(k)))
		w, wideW := draw(n*k, 1/math.Sqrt(float64(k)))
		var bias []float16.Float16
		wideBias := make([]float64, n)
		if i == 1 {
			bias, wideBias = draw(n, 0.1)
		}
		run := func(shift int) (rms float64, l *report.Layer, tasks int) {
			m := anesim.FromNetwork(newScaledLinear(rows, k, n, w, bias, shift))
			res, err := m.Run(t.Context(), anesim.Options{Values: true, Precision: true, Inputs: map[string][]float16.Float16{"x": x}})
			if err != nil {
				t.Fatal(err)
			}
			got := res.Outputs[0].Data
			errors, squares := 0.0, 0.0
			for y := range rows {
				for c := range n {
					exact := wideBias[c]
					for j := range k {
						exact += wideX[y*k+j] * wideW[c*k+j]
					}
					d := float64(got[y*n+c].Float32()) - exact
					errors, squares = errors+d*d, squares+exact*exact
				}
			}
			doc := report.NewNetwork(res)
			return math.Sqrt(errors / squares), &doc.Layers[0], len(res.Report.Descriptors)
		}
		now, l, tasks := run(0)
		s := l.Precision.Sums
		if math.Abs(*s.Error-now) > 1e-6*now || s.Sampled != rows*n {
			t.Errorf("k=%d: the report says %g from %d results; the error of all %d is %g", k, *s.Error, s.Sampled, rows*n, now)
		}
		if s.Shift < 1 || !s.Loses() {
			t.Fatalf("k=%d: shift %d; want a positive one", k, s.Shift)
		}
		then, scaled, after := run(s.Shift)
		if math.Abs(*s.Scaled-then) > 0.02*then {
			t.Errorf("k=%d: the report promises %g with 2^%d; the error is %g", k, *s.Scaled, s.Shift, then)
		}
		if got := s.Gain(); math.Abs(got-now/then) > 0.03*got {
			t.Errorf("k=%d: gain %g; want %g", k, got, now/then)
		}
		if after != tasks {
			t.Errorf("k=%d: %d tasks with the scale and %d without", k, after, tasks)
		}
		if again := scaled.Precision.Sums; again.Shift > 1 || again.Loses() {
			t.Errorf("k=%d: scaling again by 2^%d is advised", k, again.Shift)
		}
	}
}

// Each descriptor lists its roundings.
func TestWhatRounds(t *testing.T) {
	const (
		sums        = "products to 2^-16, sums to fp16"
		table       = "activations by table"
		elementwise = "elementwise results to fp16"
		reduction   = "reductions to fp16"
	)
	for _, c := range []struct {
		layer string
		want  []string
	}{
		{"relu c=4 h=8 w=8", []string{"nothing"}},
		{"gelu c=4 h=8 w=8", []string{table}},
		{"transpose c=4 h=8 w=8", []string{"nothing"}},
		{"add c=4 h=8 w=8", []string{elementwise}},
		{"softmax c=64 h=4 w=4 axis=c", []string{reduction, elementwise, table, reduction, elementwise}},
		{"conv cin=4 cout=4 h=8 w=8 k=3 act=gelu", []string{sums + ", activations by table"}},
	} {
		words := strings.Fields(c.layer)
		m, err := anesim.Layer(words[0], words[1:]...)
		if err != nil {
			t.Fatal(err)
		}
		for _, precision := range []bool{true, false} {
			res, err := m.Run(t.Context(), anesim.Options{Values: true, Precision: precision})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range report.NewRun(res).PrecisionRows() {
				got = append(got, r.Rounds)
				if multiplies := strings.HasPrefix(r.Rounds, sums); multiplies != (r.Sums != nil) {
					t.Errorf("%s: %q has sums: %v", c.layer, r.Rounds, r.Sums != nil)
				}
			}
			if want := c.want; precision && !slices.Equal(got, want) || !precision && got != nil {
				t.Errorf("%s, precision %v: %q; want %q", c.layer, precision, got, want)
			}
		}
	}
}

// Sums lose accuracy if they more than double the error that fp16 results have anyway.
func TestLoses(t *testing.T) {
	errors := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		error *float64
		want  bool
	}{{errors(0.5), false}, {errors(1), false}, {errors(math.Nextafter(1, 2)), true}, {nil, true}} {
		s := report.Sums{Error: c.error, Rounding: 0.5}
		if got := s.Loses(); got != c.want {
			t.Errorf("error %v with a rounding error of 0.5: loses %v; want %v", c.error, got, c.want)
		}
	}
}
