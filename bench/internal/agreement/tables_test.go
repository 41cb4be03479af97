package agreement

import (
	"math"
	"testing"
)

// TestEngineFunction compares the tables with their functions where results are about 1.
func TestEngineFunction(t *testing.T) {
	for _, c := range []struct {
		name    string
		x, want float64
	}{
		{"Exp", -1.3, math.Exp(-1.3)}, {"Log", 3.3, math.Log(3.3)}, {"Sqrt", 0.7, math.Sqrt(0.7)}, {"Rsqrt", 0.7, 1 / math.Sqrt(0.7)},
		{"Reciprocal", -1.7, -1 / 1.7}, {"Sigmoid", 1.3, 1 / (1 + math.Exp(-1.3))}, {"Tanh", 0.6, math.Tanh(0.6)}, {"Erf", 0.6, math.Erf(0.6)},
		{"Gelu", 1.3, 1.3 / 2 * (1 + math.Erf(1.3/math.Sqrt2))}, {"SiLU", 1.3, 1.3 / (1 + math.Exp(-1.3))}, {"Softplus", 0.4, math.Log1p(math.Exp(0.4))},
		{"HardSigmoid", 1, 1./6 + 0.5},
	} {
		got, ok := engineFunction(c.name, c.x)
		if d := math.Abs(got - c.want); !ok || d > 0.016 || d == 0 {
			t.Errorf("%s of %g is %g (%v), want about %g, but not that", c.name, c.x, got, ok, c.want)
		}
	}
	if y, ok := engineFunction("Cos", 1); ok {
		t.Errorf("a cosine is %g; it takes several tables", y)
	}
	if y, ok := engineFunction("Exp", 100); ok {
		t.Errorf("exp(100) is %g, beyond fp16", y)
	}
}
