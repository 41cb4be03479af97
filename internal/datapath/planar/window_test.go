package planar

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"
)

// TestReduceWindows compares maxima over random windows with their definition: the largest of the
// elements inside the source, where a NaN counts as infinity.
func TestReduceWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 52))
	for range 200 {
		rows, n := 1+r.IntN(4), 1+r.IntN(40)
		w := Window{Columns: 1 + r.IntN(min(n, 6)), Stride: 1 + r.IntN(3)}
		w.Before = r.IntN(w.Columns)
		data := make([]float16.Float16, rows*n)
		for i := range data {
			data[i] = float16.Float16(r.UintN(1 << 16))
		}
		c := Neutral(Add)
		c.Kind = ReduceMax
		dst := make([]float16.Float16, (n-1+w.Before)/w.Stride+1)
		if err := c.ReduceWindows(dst, Source{data, Shape{1, rows, n}}, w); err != nil {
			t.Fatal(err)
		}
		for i, got := range dst {
			want := math.Inf(-1)
			for y := range rows {
				for x := max(0, i*w.Stride-w.Before); x < min(n, i*w.Stride-w.Before+w.Columns); x++ {
					v := float64(data[y*n+x].Float32())
					if v != v {
						v = math.Inf(1)
					}
					want = max(want, v)
				}
			}
			if float64(got.Float32()) != want {
				t.Fatalf("%+v over %dx%d: element %d is %v; want %v", w, rows, n, i, got, want)
			}
		}
	}
}

// TestReduceWindowsAfterStages computes windows of values that the task changes first, such as by an
// addend, and of the reduced values, such as by a ReLU.
func TestReduceWindowsAfterStages(t *testing.T) {
	c := Neutral(Add)
	c.Kind, c.ReLU = ReduceMax, true
	c.Bias, c.Scale = float16.Fromfloat32(1), float16.Fromfloat32(-2)
	a := Source{Shape: Shape{1, 2, 3}}
	for _, v := range []float32{1, -3, 5, 0, 2, 7} {
		a.Data = append(a.Data, float16.Fromfloat32(v))
	}
	got := make([]float16.Float16, 2)
	if err := c.ReduceWindows(got, a, Window{Columns: 2, Stride: 2}); err != nil {
		t.Fatal(err)
	}
	// The largest of -2(x+1) is 4 in the first two columns, and -12 in the third.
	if want := []float16.Float16{float16.Fromfloat32(4), 0}; !slices.Equal(got, want) {
		t.Errorf("found %v; want %v", got, want)
	}
}

func TestReduceWindowsRefuses(t *testing.T) {
	c := Neutral(Add)
	c.Kind = ReduceMax
	dst := make([]float16.Float16, 1)
	var shape *ShapeError
	for _, s := range []Shape{{2, 1, 2}, {1, 1, 5}, {1, 0, 4}} {
		if err := c.ReduceWindows(dst, Source{make([]float16.Float16, 4), s}, Window{1, 1, 0}); !errors.As(err, &shape) {
			t.Errorf("%v: %v; want a ShapeError", s, err)
		}
	}
	var config *ConfigError
	if err := c.ReduceWindows(dst, Source{make([]float16.Float16, 4), Shape{1, 1, 4}}, Window{2, 0, 0}); !errors.As(err, &config) {
		t.Errorf("stride 0: %v; want a ConfigError", err)
	}
}
