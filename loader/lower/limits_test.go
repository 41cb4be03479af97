package lower

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// Every limit is refused with a typed error that names a way out.
func TestLimits(t *testing.T) {
	big := layer.Shape{N: 1, C: 1, H: 1, W: layer.MaxExtent + 1}
	window := func(w layer.Window) layer.Layer { return layer.Conv(layer.Shape{N: 1, C: 4, H: 64, W: 64}, 4, w) }
	for name, l := range map[string]layer.Layer{
		"wide":               layer.Unary(layer.Transpose, big),
		"high":               layer.Unary(layer.Transpose, layer.Shape{N: 1, C: 1, H: layer.MaxExtent + 1, W: 1}),
		"rows":               layer.Unary(layer.ReLU, layer.Shape{N: layer.MaxGroups, C: layer.MaxChannels, H: layer.MaxSurface, W: 1}),
		"columns":            layer.Unary(layer.ReLU, layer.Shape{N: 1, C: 1, H: 1, W: layer.MaxSurface + 1}),
		"channels":           layer.Unary(layer.ReLU, layer.Shape{N: 1, C: layer.MaxChannels + 1, H: 1, W: 1}),
		"batch":              layer.Unary(layer.ReLU, layer.Shape{N: layer.MaxGroups + 1, C: 1, H: 1, W: 1}),
		"bytes":              layer.Unary(layer.ReLU, layer.Shape{N: 64, C: 4096, H: 512, W: 512}),
		"kernel":             window(layer.Window{Kh: 32, Kw: 1, Sy: 1, Sx: 1}),
		"stride":             window(layer.Window{Kh: 1, Kw: 1, Sy: layer.MaxExtent + 1, Sx: 1}),
		"row in the L2":      layer.Unary(layer.LogicalNot, layer.Shape{N: 1, C: 4096, H: 2, W: 512}),
		"window in the L2":   layer.Conv(layer.Shape{N: 1, C: 4096, H: 64, W: 512}, 4, layer.Window{Kh: 2, Kw: 1, Sy: 1, Sx: 1}),
		"coefficients":       layer.Conv(layer.Shape{N: 1, C: 4096, H: 16, W: 16}, 16, layer.Valid(3, 1)),
		"inputs":             {Op: layer.Concat, In: layer.Shape{N: 1, C: 40, H: 1, W: 1}, Parts: ones(40)},
		"channel constants":  {Op: layer.Mul, In: layer.Shape{N: 1, C: layer.MaxExtent + 1, H: 1, W: 1}, Second: layer.Constant},
		"reduction's tiles":  layer.Product(1, 16384, 16, layer.Runtime),
		"columns of product": layer.Product(1, 1, layer.MaxExtent+1, layer.Runtime),
	} {
		_, err := Compile(l, layer.Weights{})
		var limit *layer.LimitError
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
	s := layer.Shape{N: 1, C: 4, H: 4, W: 4}
	conv := layer.Conv(s, 4, layer.Valid(1, 1))
	with := func(f func(*layer.Layer)) layer.Layer { l := conv; f(&l); return l }
	for name, c := range map[string]struct {
		l layer.Layer
		w layer.Weights
	}{
		"operation":            {layer.Layer{Op: 99, In: s}, layer.Weights{}},
		"empty input":          {layer.Unary(layer.ReLU, layer.Shape{N: 1, C: 0, H: 1, W: 1}), layer.Weights{}},
		"groups":               {with(func(l *layer.Layer) { l.Groups = 3 }), layer.Weights{}},
		"no window":            {with(func(l *layer.Layer) { l.Window = layer.Window{} }), layer.Weights{}},
		"big window":           {with(func(l *layer.Layer) { l.Window = layer.Valid(5, 1) }), layer.Weights{}},
		"padding":              {layer.Layer{Op: layer.Pool, In: s, Window: layer.Window{Kh: 2, Kw: 2, Sy: 1, Sx: 1, Py: 2}}, layer.Weights{}},
		"activation":           {with(func(l *layer.Layer) { l.Activation = layer.Softmax }), layer.Weights{}},
		"weights":              {conv, layer.Weights{Filter: make([]float16.Float16, 3)}},
		"no table":             {layer.Unary(layer.Tanh, s), layer.Weights{}},
		"no tables":            {layer.Reduction(layer.Softmax, s, layer.AxisC), layer.Weights{}},
		"shapes":               {layer.Binary(layer.Add, s, layer.Shape{N: 1, C: 2, H: 4, W: 4}), layer.Weights{}},
		"no axes":              {layer.Reduction(layer.ReduceSum, s, 0), layer.Weights{}},
		"no table of two axes": {layer.Reduction(layer.Softmax, s, layer.AxisC|layer.AxisW), layer.Weights{Table: make([]byte, 128)}},
		"pool":                 {layer.Layer{Op: layer.Pool, In: s}, layer.Weights{}},
		"max constant":         {layer.Layer{Op: layer.Max, In: s, Second: layer.Scalar}, layer.Weights{}},
		"parts":                {layer.Layer{Op: layer.Concat, In: s, Parts: []int{1, 2}}, layer.Weights{}},
		"slice":                {layer.Layer{Op: layer.Slice, In: s, Size: layer.Shape{N: 1, C: 4, H: 4, W: 5}}, layer.Weights{}},
	} {
		_, err := Compile(c.l, c.w)
		var wrong *layer.LayerError
		var unsupported *layer.UnsupportedError
		if !errors.As(err, &wrong) && !errors.As(err, &unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Operations of two tables say how many they were given.
func TestNumbersOfTables(t *testing.T) {
	s := layer.Shape{N: 1, C: 4, H: 4, W: 4}
	table := make([]byte, coeff.TableBytes)
	for _, l := range []layer.Layer{layer.Binary(layer.Pow, s, s), layer.Unary(layer.Sin, s), layer.Unary(layer.Atan, s)} {
		for given, ok := range map[int]bool{0: false, 1: true, 2: false} {
			_, err := Compile(l, layer.Weights{Table: table, Tables: slices.Repeat([][]byte{table}, given)})
			want := map[int]string{0: "1 tables; want 2", 2: "3 tables; want 2"}[given]
			if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v with %d further tables: %v, want %q", l.Op, given, err, want)
			}
		}
	}
}

// Of the 32 buffers 27 may be a concatenation's inputs.
func TestMostInputs(t *testing.T) {
	for n, ok := range map[int]bool{27: true, 28: false} {
		_, err := Compile(layer.Layer{Op: layer.Concat, In: layer.Shape{N: 1, C: n, H: 2, W: 2}, Parts: ones(n)}, layer.Weights{})
		var limit *layer.LimitError
		if ok && err != nil || !ok && (!errors.As(err, &limit) || limit.Max != 27) {
			t.Errorf("%d inputs: %v", n, err)
		}
	}
}

// No values are zeros, whether the list is missing or empty.
func TestNoValues(t *testing.T) {
	s := layer.Shape{N: 1, C: 4, H: 4, W: 4}
	conv := layer.Conv(s, 4, layer.Valid(3, 1))
	conv.Bias = true
	for _, l := range []layer.Layer{conv, {Op: layer.Mul, In: s, Second: layer.Constant}, {Op: layer.Add, In: s, Second: layer.Scalar}, layer.Unary(layer.PReLU, s), layer.Product(4, 8, 4, layer.Constant)} {
		want, err := Compile(l, layer.Weights{})
		if err != nil {
			t.Fatalf("%+v: %v", l, err)
		}
		none := []float16.Float16{}
		got, err := Compile(l, layer.Weights{Filter: none, Bias: none, Second: none})
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
		s := layer.Shape{N: 1 + r.IntN(2), C: extent(20000), H: extent(600), W: extent(600)}
		l := layer.Layer{
			Op: layer.Op(1 + r.IntN(int(layer.Pad))), In: s, Cout: extent(70), Columns: extent(3000),
			Window: layer.Window{Kh: 1 + r.IntN(4), Kw: 1 + r.IntN(4), Sy: 1 + r.IntN(3), Sx: 1 + r.IntN(3)},
			Second: layer.SecondKind(r.IntN(4)), SecondShape: layer.Shape{N: 1, C: s.C, H: 1, W: 1}, Axes: layer.Axes(1 + r.IntN(7)), Reps: layer.Shape{N: 1, C: 1, H: 1 + r.IntN(3), W: 1},
			Parts: []int{s.C}, Size: s,
		}
		if l.Op == layer.MatMul && s.C*s.H > 64 {
			l.In.C, l.In.H = 1, extent(600)
		}
		if l.Op == layer.Convolution && r.IntN(2) == 0 {
			l.Groups, l.Cout = s.C, s.C
		}
		if int64(s.C)*int64(s.H)*int64(s.W) > 1<<26 {
			continue
		}
		w := layer.Weights{Table: table, Reciprocal: table, Tables: slices.Repeat([][]byte{table}, max(0, l.Op.TableCount()-1))}
		c, err := Compile(l, w)
		if checked := Check(l, w); fmt.Sprint(checked) != fmt.Sprint(err) {
			t.Errorf("%+v: Check returns %v; Compile %v", l, checked, err)
		}
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

// TestTooManyTasks refuses a transposed convolution that would need 3,000,000 tasks, 46 times as
// many as a program can have. Each of its phases transposes every batch element. Lower must stop
// building tasks once there are too many of them, so the test limits its allocations.
func TestTooManyTasks(t *testing.T) {
	l := layer.Layer{
		Op: layer.Deconvolution, In: layer.Shape{N: 8000, C: 1, H: 4, W: 1}, Cout: 4,
		Window: layer.Window{Kh: 1, Kw: 3, Sy: 125, Sx: 3},
	}
	var err error
	allocations := testing.AllocsPerRun(1, func() { err = Check(l, layer.Weights{}) })
	if limit := (*layer.LimitError)(nil); !errors.As(err, &limit) || limit.Max != task.MaxTasks {
		t.Fatalf("error %v; want one that names the limit of %d descriptors", err, task.MaxTasks)
	}
	if most := 20.0 * task.MaxTasks; allocations > most {
		t.Errorf("%.0f allocations; want at most %.0f", allocations, most)
	}
}
