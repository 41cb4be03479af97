package agreement

import (
	"math"
	"slices"
	"strings"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
	ox "anesim/internal/network/onnxtest"
)

// TestSoftplusEnds checks that softplus, alone, written out and in Mish, is right up to the last number
// whose 1+exp(x) is below 32768, and 0 beyond: on an M3 and an M4, 10.3984375 is the last good input
// of softplus, and 10.40625 the first whose result is 0.
func TestSoftplusEnds(t *testing.T) {
	x := &tensor.Tensor{Type: onnx.Float, Dims: []int{6}, Data: []float64{-3, 1, 10, 10.3984375, 10.40625, 60000}}
	softplus := func(x float64) float64 { return math.Log1p(math.Exp(x)) }
	for name, tc := range map[string]struct {
		nodes []ox.Message
		f     func(x float64) float64
	}{
		"Softplus":    {[]ox.Message{ox.Node("Softplus", "y", inputNames("x"))}, softplus},
		"log(1+exp)":  {[]ox.Message{scalar("c", 1), ox.Node("Exp", "e", inputNames("x")), ox.Node("Add", "a", inputNames("e", "c")), ox.Node("Log", "y", inputNames("a"))}, softplus},
		"Mish":        {[]ox.Message{ox.Node("Mish", "y", inputNames("x"))}, func(x float64) float64 { return x * math.Tanh(softplus(x)) }},
		"x*tanh(...)": {[]ox.Message{ox.Node("Softplus", "s", inputNames("x")), ox.Node("Tanh", "t", inputNames("s")), ox.Node("Mul", "y", inputNames("x", "t"))}, func(x float64) float64 { return x * math.Tanh(softplus(x)) }},
	} {
		results, err := Run(ox.Model(append(tc.nodes, ox.Input("x", 6), ox.Output("y"))...), map[string]*tensor.Tensor{"x": x}, false)
		if err != nil {
			t.Fatal(err)
		}
		y := results["y"].Data
		for i, v := range x.Data[:4] {
			if want := tc.f(v); math.Abs(y[i]-want) > 0.02*max(1, math.Abs(want)) {
				t.Errorf("%s of %g is %g; want %g", name, v, y[i], want)
			}
		}
		for i := 4; i < len(y); i++ {
			if y[i] != 0 {
				t.Errorf("%s of %g is %g; want 0", name, x.Data[i], y[i])
			}
		}
		if !slices.ContainsFunc(results["y"].Notes, func(s string) bool { return strings.Contains(s, "softplus") }) {
			t.Errorf("%s: no note says where the engine differs from ONNX", name)
		}
	}
}
