package lower

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"
)

// Every limit is refused with a typed error that names a way out.
func TestLimits(t *testing.T) {
	big := Shape{1, 1, 1, MaxExtent + 1}
	window := func(w Window) Layer { return Conv(Shape{1, 4, 64, 64}, 4, w) }
	for name, l := range map[string]Layer{
		"wide":               Unary(ReLU, big),
		"high":               Unary(ReLU, Shape{1, 1, MaxExtent + 1, 1}),
		"channels":           Unary(ReLU, Shape{1, MaxChannels + 1, 1, 1}),
		"batch":              Unary(ReLU, Shape{MaxGroups + 1, 1, 1, 1}),
		"bytes":              Unary(ReLU, Shape{64, 4096, 512, 512}),
		"kernel":             window(Window{Kh: 32, Kw: 1, Sy: 1, Sx: 1}),
		"stride":             window(Window{Kh: 1, Kw: 1, Sy: MaxExtent + 1, Sx: 1}),
		"row in the L2":      Unary(ReLU, Shape{1, 4096, 2, 512}),
		"window in the L2":   Conv(Shape{1, 1024, 64, 512}, 4, Valid(3, 1)),
		"coefficients":       Conv(Shape{1, 4096, 16, 16}, 16, Valid(3, 1)),
		"tall columns":       Reduction(ReduceSum, Shape{1, 16384, 16, 8}, AxisC|AxisH|AxisW),
		"rows as groups":     Reduction(ReduceSum, Shape{1, 1, MaxGroups + 1, 2}, AxisW),
		"plane":              Reduction(ReduceMean, Shape{1, 4, 2048, 1024}, AxisH|AxisW),
		"maximum":            Reduction(ReduceMax, Shape{1, MaxChannels, 1, 1}, AxisC),
		"statistics":         Reduction(LayerNorm, Shape{1, 4, 2048, 1024}, AxisH|AxisW),
		"repeated operand":   Binary(Add, Shape{1, 65536, 2, 2}, Shape{1, 65536, 2, 1}),
		"inputs":             {Op: Concat, In: Shape{1, 40, 1, 1}, Parts: ones(40)},
		"channel constants":  {Op: Mul, In: Shape{1, MaxExtent + 1, 1, 1}, Second: Constant},
		"reduction's tiles":  Product(1, 16384, 16, Runtime),
		"columns of product": Product(1, 1, MaxExtent+1, Constant),
	} {
		_, err := Compile(l, Weights{})
		var limit *LimitError
		if name == "reduction's tiles" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !errors.As(err, &limit) {
			t.Errorf("%s: %v, want a limit", name, err)
			continue
		}
		if limit.Got <= limit.Max || limit.Nearest == "" || strings.Contains(limit.Error(), "%!") {
			t.Errorf("%s: %v", name, limit)
		}
	}
}

func ones(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// What contradicts itself, and what no program shows.
func TestRefusals(t *testing.T) {
	s := Shape{1, 4, 4, 4}
	conv := Conv(s, 4, Valid(1, 1))
	with := func(f func(*Layer)) Layer { l := conv; f(&l); return l }
	for name, c := range map[string]struct {
		l Layer
		w Weights
	}{
		"operation":            {Layer{Op: 99, In: s}, Weights{}},
		"empty input":          {Unary(ReLU, Shape{1, 0, 1, 1}), Weights{}},
		"groups":               {with(func(l *Layer) { l.Groups = 3 }), Weights{}},
		"no window":            {with(func(l *Layer) { l.Window = Window{} }), Weights{}},
		"big window":           {with(func(l *Layer) { l.Window = Valid(5, 1) }), Weights{}},
		"padding":              {Layer{Op: Pool, In: s, Window: Window{Kh: 2, Kw: 2, Sy: 1, Sx: 1, Py: 2}}, Weights{}},
		"activation":           {with(func(l *Layer) { l.Activation = Softmax }), Weights{}},
		"weights":              {conv, Weights{Filter: make([]float16.Float16, 3)}},
		"no table":             {Unary(Tanh, s), Weights{}},
		"no tables":            {Reduction(Softmax, s, AxisC), Weights{}},
		"shapes":               {Binary(Add, s, Shape{1, 2, 4, 4}), Weights{}},
		"no axes":              {Reduction(ReduceSum, s, 0), Weights{}},
		"no table of two axes": {Reduction(Softmax, s, AxisC|AxisW), Weights{Table: make([]byte, 128)}},
		"pool":                 {Layer{Op: Pool, In: s}, Weights{}},
		"max constant":         {Layer{Op: Max, In: s, Second: Scalar}, Weights{}},
		"parts":                {Layer{Op: Concat, In: s, Parts: []int{1, 2}}, Weights{}},
		"slice":                {Layer{Op: Slice, In: s, Size: Shape{1, 4, 4, 5}}, Weights{}},
	} {
		_, err := Compile(c.l, c.w)
		var wrong *LayerError
		var unsupported *UnsupportedError
		if !errors.As(err, &wrong) && !errors.As(err, &unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Operations of two tables say how many they were given.
func TestNumbersOfTables(t *testing.T) {
	s := Shape{1, 4, 4, 4}
	table := make([]byte, tableBytes)
	for _, l := range []Layer{Binary(Pow, s, s), Unary(Sin, s), Unary(Atan, s)} {
		for given, ok := range map[int]bool{0: false, 1: true, 2: false} {
			_, err := Compile(l, Weights{Table: table, Tables: slices.Repeat([][]byte{table}, given)})
			want := map[int]string{0: "1 tables, want 2", 2: "3 tables, want 2"}[given]
			if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v with %d further tables: %v, want %q", l.Op, given, err, want)
			}
		}
	}
}

// Of the 32 buffers 27 may be a concatenation's inputs.
func TestMostInputs(t *testing.T) {
	for n, ok := range map[int]bool{27: true, 28: false} {
		_, err := Compile(Layer{Op: Concat, In: Shape{1, n, 2, 2}, Parts: ones(n)}, Weights{})
		var limit *LimitError
		if ok && err != nil || !ok && (!errors.As(err, &limit) || limit.Max != 27) {
			t.Errorf("%d inputs: %v", n, err)
		}
	}
}

// No values are zeros, whether the list is missing or empty.
func TestNoValues(t *testing.T) {
	s := Shape{1, 4, 4, 4}
	conv := Conv(s, 4, Valid(3, 1))
	conv.Bias = true
	for _, l := range []Layer{conv, {Op: Mul, In: s, Second: Constant}, {Op: Add, In: s, Second: Scalar}, Unary(PReLU, s), Product(4, 8, 4, Constant)} {
		want, err := Compile(l, Weights{})
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		none := []float16.Float16{}
		got, err := Compile(l, Weights{Filter: none, Bias: none, Second: none})
		if err != nil || !slices.Equal(got.Text, want.Text) || !slices.Equal(got.Constants, want.Constants) {
			t.Errorf("%v with empty lists is not that without: %v", l.Op, err)
		}
	}
}

// Whatever shape a layer has, it is lowered or refused, and what is lowered links.
func TestAnyShape(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	extent := func(most int) int { return 1 + int(float64(most)*r.ExpFloat64()/8)%most }
	table := fitted(0)
	lowered := 0
	for range 400 {
		s := Shape{1 + r.IntN(2), extent(20000), extent(600), extent(600)}
		l := Layer{
			Op: Op(1 + r.IntN(int(Pad))), In: s, Cout: extent(70), Columns: extent(3000),
			Window: Window{Kh: 1 + r.IntN(4), Kw: 1 + r.IntN(4), Sy: 1 + r.IntN(3), Sx: 1 + r.IntN(3)},
			Second: SecondKind(r.IntN(4)), SecondShape: Shape{1, s.C, 1, 1}, Axes: Axes(1 + r.IntN(7)), Reps: Shape{1, 1, 1 + r.IntN(3), 1},
			Parts: []int{s.C}, Size: s,
		}
		if l.Op == MatMul && s.C*s.H > 64 {
			l.In.C, l.In.H = 1, extent(600)
		}
		if l.Op == Convolution && r.IntN(2) == 0 {
			l.Groups, l.Cout = s.C, s.C
		}
		if int64(s.C)*int64(s.H)*int64(s.W) > 1<<26 {
			continue
		}
		c, err := Compile(l, Weights{Table: table, Reciprocal: table, Tables: slices.Repeat([][]byte{table}, max(0, l.Op.Tables()-1))})
		if err != nil {
			continue
		}
		if _, err := c.Builder.Build("any"); err != nil {
			t.Errorf("%+v: %v", l, err)
		}
		lowered++
	}
	if lowered < 50 {
		t.Errorf("only %d layers lowered", lowered)
	}
}
