package join

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

var pixels = layer.Shape{N: 1, C: 2, H: 1, W: 4}

func numbers(v ...float32) []float16.Float16 {
	out := make([]float16.Float16, len(v))
	for i, x := range v {
		out[i] = float16.Fromfloat32(x)
	}
	return out
}

func convolution(w ...float32) Step {
	return Step{Layer: layer.Conv(pixels, 2, layer.Valid(1, 1)), Weights: layer.Weights{Filter: numbers(w...)}}
}

// product returns a matmul of rows of two elements.
func product(second layer.SecondKind) Step {
	s := Step{Layer: layer.Product(4, 2, 2, second)}
	if second == layer.Constant {
		s.Weights.Filter = numbers(1, 2, 3, 4)
	}
	return s
}

// with returns an operation on pixels and one constant for each channel.
func with(op layer.Op, v ...float32) Step {
	return Step{
		Layer:   layer.Layer{Op: op, In: pixels, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: 2, H: 1, W: 1}},
		Weights: layer.Weights{Second: numbers(v...)},
	}
}

func withNumber(op layer.Op, in layer.Shape, v float32) Step {
	return Step{Layer: layer.Layer{Op: op, In: in, Second: layer.Scalar}, Weights: layer.Weights{Second: numbers(v)}}
}

func unary(op layer.Op, in layer.Shape) Step { return Step{Layer: layer.Unary(op, in)} }

// chained connects steps without inputs to the step before them.
func chained(steps ...Step) []Step {
	last := "x"
	for i := range steps {
		s := &steps[i]
		if s.Inputs == nil {
			s.Inputs = []string{last}
		}
		s.Output = fmt.Sprint(i)
		last = s.Output
	}
	return steps
}

// work returns the steps that each of steps merges, such as "0 1, 2".
func work(steps []Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, strings.Trim(fmt.Sprint(s.Merged), "[]"))
	}
	return strings.Join(all, ", ")
}

// Each rule merges the steps that it is for.
func TestRules(t *testing.T) {
	columns := func(op layer.Op, v ...float32) Step {
		s := Step{Layer: layer.Binary(op, layer.Shape{N: 1, C: 1, H: 4, W: 2}, layer.Shape{N: 1, C: 1, H: 1, W: 2}), ByColumn: true, Columns: numbers(v...)}
		return s
	}
	rows := layer.Shape{N: 1, C: 1, H: 4, W: 2}
	sum := Step{Layer: layer.Binary(layer.Add, pixels, pixels), Inputs: []string{"x", "0"}}
	for _, tc := range []struct {
		rule  string
		steps []Step
		want  func(s *Step) bool
	}{
		{"ReLU", chained(convolution(1, 2, 3, 4), unary(layer.ReLU, pixels)), func(s *Step) bool { return s.Layer.Activation == layer.ReLU }},
		{"ReLU", chained(withNumber(layer.Mul, rows, 3), unary(layer.ReLU, rows)), func(s *Step) bool { return s.Layer.Activation == layer.ReLU }},
		{"table", chained(product(layer.Constant), Step{Layer: layer.Layer{Op: layer.LeakyReLU, In: rows, Alpha: 0.5}}),
			func(s *Step) bool { return s.Layer.Activation == layer.LeakyReLU && s.Layer.Alpha == 0.5 }},
		{"factor", chained(convolution(1, 2, 3, 4), withNumber(layer.Mul, pixels, 3)),
			func(s *Step) bool {
				return s.Layer.Factor.Float32() == 3 && slices.Equal(s.Weights.Filter, numbers(1, 2, 3, 4))
			}},
		{"factor", chained(product(layer.Runtime), withNumber(layer.Mul, rows, 3)), func(s *Step) bool { return s.Layer.Factor.Float32() == 3 }},
		{"factor for each channel", chained(convolution(1, 2, 3, 4), with(layer.Mul, 2, -1)),
			func(s *Step) bool { return slices.Equal(s.Weights.Filter, numbers(2, 4, -3, -4)) }},
		{"factor for each channel", chained(product(layer.Constant), columns(layer.Mul, 2, -1)),
			func(s *Step) bool { return slices.Equal(s.Weights.Filter, numbers(2, -2, 6, -4)) }},
		{"addend for each channel", chained(convolution(1, 2, 3, 4), with(layer.Sub, 2, -1)),
			func(s *Step) bool { return s.Layer.Bias && slices.Equal(s.Weights.Bias, numbers(-2, 1)) }},
		{"addend for each channel", chained(product(layer.Constant), columns(layer.Add, 2, -1)),
			func(s *Step) bool { return s.Layer.Bias && slices.Equal(s.Weights.Bias, numbers(2, -1)) }},
		{"factor and addend for each channel", chained(with(layer.Mul, 2, 3), with(layer.Sub, 5, 7)),
			func(s *Step) bool {
				return s.Layer.Op == layer.Mul && s.Layer.Bias && slices.Equal(s.Weights.Bias, numbers(-5, -7))
			}},
		{"sum with its own ReLU", chained(unary(layer.ReLU, pixels), sum),
			func(s *Step) bool {
				return s.Layer.Op == layer.Add && s.Layer.Second == layer.Itself && s.Layer.SecondReLU && slices.Equal(s.Inputs, []string{"x"})
			}},
	} {
		i := slices.IndexFunc(rules[:], func(r rule) bool { return r.name == tc.rule })
		if i < 0 {
			t.Errorf("%s: no such rule", tc.rule)
			continue
		}
		given := slices.Clone(tc.steps)
		got := Fusion{}.Fuse(tc.steps)
		if len(got) != 1 || len(got[0].Merged) != 2 || got[0].Output != "1" || !tc.want(&got[0]) {
			t.Errorf("%s: %+v", tc.rule, got)
			continue
		}
		if want := []int{0, 1}; rules[i].keepsSecond != (got[0].Merged[0] == 1) || !slices.Equal(slices.Sorted(slices.Values(got[0].Merged)), want) {
			t.Errorf("%s: merges %v", tc.rule, got[0].Merged)
		}
		for k := range given {
			if !slices.Equal(given[k].Weights.Bias, tc.steps[k].Weights.Bias) || given[k].Layer.Factor != tc.steps[k].Layer.Factor {
				t.Errorf("%s: step %d is changed", tc.rule, k)
			}
		}
		one := tc.steps[0]
		if last := tc.steps[1]; !rules[i].fuse(&one, &last, max(0, len(last.Inputs)-1)) {
			t.Errorf("%s: another rule made it", tc.rule)
		}
	}
}

// Every row of the table is complete.
func TestRulesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rules {
		if r.name == "" || r.evidence == "" || r.basis == "" || r.fuse == nil || seen[r.name] {
			t.Errorf("%+v", r)
		}
		seen[r.name] = true
	}
	for _, r := range pixelRules {
		if r.name == "" || r.evidence == "" || r.basis == "" || r.merge == nil || seen[r.name] {
			t.Errorf("%+v", r)
		}
		seen[r.name] = true
	}
}

// Fuse leaves steps alone if a condition of the rules fails, and merges more than two steps.
func TestFuse(t *testing.T) {
	rounds := with(layer.Add, 1, 1)
	rounds.Rounds = true
	average := convolution(1, 2, 3, 4)
	average.Average = true
	stored := with(layer.Add, 1, 1)
	stored.Stored = true
	apart := unary(layer.ReLU, pixels)
	apart.Unfusable = true
	turned := layer.Shape{N: 1, C: 4, H: 1, W: 2}
	view := unary(layer.ReLU, turned)
	channels := with(layer.Add, 1, 2, 3, 4)
	channels.Layer.In, channels.Layer.SecondShape = turned, layer.Shape{N: 1, C: 4, H: 1, W: 1}
	twice := unary(layer.ReLU, pixels)
	twice.Inputs = []string{"0"}
	for _, tc := range []struct {
		name     string
		steps    []Step
		arranged bool
		outputs  []string
		want     string
	}{
		{"one after the other", chained(convolution(1, 2, 3, 4), with(layer.Mul, 2, 1), withNumber(layer.Mul, pixels, 3), with(layer.Add, 5, 6), unary(layer.ReLU, pixels)), false, nil, "0 1 2 3 4"},
		{"products below fp16", chained(convolution(1, 2, 3, 4), with(layer.Mul, 1e-5, 1)), false, nil, "0, 1"},
		{"products beyond fp16", chained(convolution(1, 2, 3, 60000), with(layer.Mul, 2, 2)), false, nil, "0, 1"},
		{"a factor that no register has", chained(convolution(1, 2, 3, 4), withNumber(layer.Mul, pixels, 1e-5)), false, nil, "0, 1"},
		{"an addend that rounds", chained(convolution(1, 2, 3, 4), rounds), false, nil, "0, 1"},
		{"an addend that is a tensor", chained(convolution(1, 2, 3, 4), stored), false, nil, "0, 1"},
		{"weights that stay", chained(average, with(layer.Mul, 2, 1)), false, nil, "0, 1"},
		{"a factor of weights that stay", chained(average, withNumber(layer.Mul, pixels, 3)), false, nil, "0 1"},
		{"a factor after a ReLU", chained(convolution(1, 2, 3, 4), unary(layer.ReLU, pixels), withNumber(layer.Mul, pixels, 2)), false, nil, "0 1, 2"},
		{"a table with an addend ahead", chained(convolution(1, 2, 3, 4), unary(layer.Rsqrt, pixels)), false, nil, "0, 1"},
		{"a table after a planar task", chained(with(layer.Mul, 2, 1), unary(layer.Tanh, pixels)), false, nil, "0, 1"},
		{"no form", chained(convolution(1, 2, 3, 4), apart), false, nil, "0, 1"},
		{"read by others", chained(convolution(1, 2, 3, 4), unary(layer.Tanh, pixels), twice), false, nil, "0, 1, 2"},
		{"a result", chained(convolution(1, 2, 3, 4), unary(layer.ReLU, pixels)), false, []string{"0"}, "0, 1"},
		{"a view", chained(convolution(1, 2, 3, 4), view), false, nil, "0 1"},
		{"a view in rows of another width", chained(convolution(1, 2, 3, 4), view), true, nil, "0, 1"},
		{"channels of a view", chained(convolution(1, 2, 3, 4), channels), false, nil, "0, 1"},
		{"an addend beyond its factor", chained(with(layer.Mul, 1e-4, 1), with(layer.Add, 60000, 1)), false, nil, "0, 1"},
	} {
		if got := work((Fusion{Outputs: tc.outputs, Arranged: tc.arranged}).Fuse(tc.steps)); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// The exact rule wins: a number becomes a factor after the sum, and multiplies the bias.
func TestFactorAndBias(t *testing.T) {
	got := Fusion{}.Fuse(chained(convolution(1, 2, 3, 4), with(layer.Add, 5, 6), withNumber(layer.Mul, pixels, 0.1), with(layer.Add, 1, 2), withNumber(layer.Mul, pixels, 3)))
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	factor := float16.Fromfloat32(float16.Fromfloat32(0.1).Float32() * 3)
	bias := numbers(5, 6)
	for i, by := range []float32{1, 2} {
		bias[i] = float16.Fromfloat32(bias[i].Float32() * float16.Fromfloat32(0.1).Float32())
		bias[i] = float16.Fromfloat32(bias[i].Float32() + by)
		bias[i] = float16.Fromfloat32(bias[i].Float32() * 3)
	}
	if s := &got[0]; s.Layer.Factor != factor || !slices.Equal(s.Weights.Bias, bias) || !slices.Equal(s.Weights.Filter, numbers(1, 2, 3, 4)) {
		t.Errorf("factor %v, bias %v, weights %v", s.Layer.Factor, s.Weights.Bias, s.Weights.Filter)
	}
}

// A rule that does not apply leaves the first step as it is.
func TestRulesLeaveStepsAlone(t *testing.T) {
	biased := convolution(1, 2, 3, 4)
	biased.Layer.Bias, biased.Weights.Bias = true, numbers(60000, -60000)
	average := convolution(1, 2, 3, 4)
	average.Average = true
	active := func(s Step, op layer.Op) Step {
		s.Layer.Activation = op
		return s
	}
	own := Step{Layer: layer.Binary(layer.Add, pixels, pixels), Inputs: []string{"0", "x"}}
	own.Layer.SecondReLU = true
	firsts := []Step{convolution(1, 2, 3, 4), biased, average, active(biased, layer.ReLU), product(layer.Runtime), with(layer.Mul, 2, 3), unary(layer.ReLU, pixels)}
	seconds := []Step{
		unary(layer.ReLU, pixels), unary(layer.Tanh, pixels), own,
		with(layer.Add, 60000, 1), with(layer.Sub, 60000, 1), with(layer.Mul, 60000, 1e-5), with(layer.Mul, 2, 3),
		active(with(layer.Add, 1, 2), layer.Tanh), active(with(layer.Mul, 1, 2), layer.Tanh),
		withNumber(layer.Mul, pixels, 60000), withNumber(layer.Mul, pixels, 1e-5), active(withNumber(layer.Mul, pixels, 2), layer.Tanh),
		active(Step{Layer: with(layer.Mul).Layer}, layer.Tanh),
	}
	refused := map[string]int{}
	for _, a := range firsts {
		for _, b := range seconds {
			for _, r := range rules {
				two := chained(a, b)
				one := two[0]
				if !r.fuse(&one, &two[1], 0) {
					refused[r.name]++
					if !reflect.DeepEqual(one, two[0]) {
						t.Errorf("%s: does not apply to %+v and %+v, but changes the first to %+v", r.name, two[0], two[1], one)
					}
				}
			}
		}
	}
	for _, r := range rules {
		if refused[r.name] == 0 {
			t.Errorf("%s: no pair of steps is refused", r.name)
		}
	}
}

// A sum whose second operand has a ReLU already is not the sum of a tensor and its ReLU.
func TestSumOfTwoReLUs(t *testing.T) {
	sum := Step{Layer: layer.Binary(layer.Add, pixels, pixels), Inputs: []string{"0", "x"}}
	sum.Layer.SecondReLU = true
	if got := work(Fusion{}.Fuse(chained(unary(layer.ReLU, pixels), sum))); got != "0, 1" {
		t.Errorf("merged into %q, want %q", got, "0, 1")
	}
}

// A factor for each channel is merged although some products are too small for the engine, as long as
// their sum is within what rounding changes in the others of the channel.
func TestFactorsThatDropWeights(t *testing.T) {
	const tiny = 0x1p-10 // times 2^-8 is below the smallest normal number, 2^-14
	window := layer.Shape{N: 1, C: 4, H: 1, W: 4}
	conv := func(w ...float32) Step {
		return Step{Layer: layer.Conv(window, 1, layer.Valid(1, 1)), Weights: layer.Weights{Filter: numbers(w...)}}
	}
	factor := func(v float32) Step {
		l := layer.Layer{Op: layer.Mul, In: layer.Shape{N: 1, C: 1, H: 1, W: 4}, Second: layer.Constant, SecondShape: layer.Shape{N: 1, C: 1, H: 1, W: 1}}
		return Step{Layer: l, Weights: layer.Weights{Second: numbers(v)}}
	}
	for _, tc := range []struct {
		name   string
		conv   Step
		by     float32
		merges bool
	}{
		{"one of four large ones is dropped", conv(8, 8, tiny, 8), 0x1p-8, true},
		{"its share is more than rounding", conv(1, 1, tiny, 1), 0x1p-8, false},
		{"all are dropped", conv(tiny, tiny, tiny, tiny), 0x1p-8, false},
		{"a product overflows", conv(60000, 8, 8, 8), 2, false},
		{"a factor of 0", conv(1, 2, 3, 4), 0, true},
	} {
		if got := len((Fusion{}).Fuse(chained(tc.conv, factor(tc.by)))) == 1; got != tc.merges {
			t.Errorf("%s: merges %t, want %t", tc.name, got, tc.merges)
		}
	}
}
