package agreement

import (
	"math"
	"testing"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

func TestMeasureDifference(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		got, want []float64
		apart     difference
	}{
		{[]float64{1, 2}, []float64{1, 2}, difference{0, 0}},
		{[]float64{3, 5}, []float64{3, 4}, difference{0.25, 0.2}},
		{[]float64{7, 5}, []float64{nan, 4}, difference{0.25, 0.25}}, // nothing is wanted where there is no number
		{[]float64{nan, 4}, []float64{3, 4}, difference{inf, inf}},
		{[]float64{0, inf}, []float64{0, 4}, difference{inf, inf}},
		{[]float64{1, 0}, []float64{0, 0}, difference{inf, inf}},
	} {
		if a := measureDifference(c.got, c.want); a != c.apart {
			t.Errorf("%v is %+v from %v, want %+v", c.got, a, c.want, c.apart)
		}
	}
}

func TestArgmaxAgreement(t *testing.T) {
	got, want := []float64{0.1, 0.9, 0.6, 0.4, 0.3, 0.7}, []float64{0.2, 0.8, 0.4, 0.6, 0.1, 0.9}
	if share := shareWithSameArgmax(got, want, 2); share != 2./3 {
		t.Errorf("%g of the rows have the same choice, want two of three", share)
	}
	if share := shareOnSameSide(got, want); share != 4./6 {
		t.Errorf("%g of the elements are on the same side, want four of six", share)
	}
}

// TestListProblems names what is wrong with a network that is too far from its definition.
func TestListProblems(t *testing.T) {
	good := measurement{compared: true}
	good.single.RMS = 1e-4
	if what := good.listProblems(); what != "" {
		t.Errorf("a network without fault misses: %s", what)
	}
	for want, change := range map[string]func(*measurement){
		`outputs ["y"] are not computed`:                                     func(m *measurement) { m.lost = []string{"y"} },
		"with all tensors in memory: y":                                      func(m *measurement) { m.inMemory = "y" },
		"y is 0.032 from its definition; fp16, tables and sums explain 0.01": func(m *measurement) { m.compareSample(&onnx.Graph{}, outputs(1.032, 1.01)) },
		"y is +Inf from its definition; fp16, tables and sums explain 0":     func(m *measurement) { m.compareSample(&onnx.Graph{}, outputs(math.NaN(), 1)) },
		"onnxruntime is 0.03 from the definition":                            func(m *measurement) { m.single.RMS = 0.03 },
	} {
		bad := good
		change(&bad)
		if what := bad.listProblems(); what != want {
			t.Errorf("%q, want %q", what, want)
		}
	}
	good.compareSample(&onnx.Graph{}, outputs(1.03, 1.01))
	if what := good.listProblems(); what != "" {
		t.Errorf("within three times what is explained: %s", what)
	}
}

// outputs returns a sample with an output y that should be 1. The engine's value is engine, and the
// last of four expected values is explained.
func outputs(engine, explained float64) sample {
	y := func(v float64) map[string]*tensor.Tensor {
		return map[string]*tensor.Tensor{"y": {Type: onnx.Float, Dims: []int{1}, Data: []float64{v}}}
	}
	return sample{engine: y(engine), yardsticks: [4]map[string]*tensor.Tensor{y(1), y(1), y(1), y(explained)}}
}
