package lower_test

import (
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// transposedConvolution computes a transposed convolution in float64.
func transposedConvolution(l *layer.Layer, w *layer.Weights, x tensor) []float64 {
	filter, out, win := floats(w.Filter), l.Out(), &l.Window
	y := tensor{out, each(out, func(_, c, _, _ int) float64 { return float64(layer.ValueAt(w.Bias, c).Float32()) })}
	each(l.In, func(n, c, h, w int) float64 {
		for k := range l.Cout {
			for i := range win.Kh {
				for j := range win.Kw {
					row, column := h*win.Sy+i-win.Py, w*win.Sx+j-win.Px
					if row >= 0 && column >= 0 && row < out.H && column < out.W {
						y.v[((n*out.C+k)*out.H+row)*out.W+column] += x.at(n, c, h, w) * filter[((k*l.In.C+c)*win.Kh+i)*win.Kw+j]
					}
				}
			}
		}
		return 0
	})
	return y.v
}

// TestDeconvolutionExtremes computes transposed convolutions of few rows and columns: windows of
// one tap, strides beyond the window, and padding that leaves phases without a row.
func TestDeconvolutionExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	tried, n := 0, rounds(240)
	for range n {
		s := layer.Shape{N: 1 + r.IntN(2), C: 1 + r.IntN(3), H: 1 + r.IntN(3), W: 1 + r.IntN(3)}
		win := layer.Window{Kh: 1 + r.IntN(4), Kw: 1 + r.IntN(4), Sy: 1 + r.IntN(7), Sx: 1 + r.IntN(7)}
		win.Py, win.Qy, win.Px, win.Qx = r.IntN(win.Kh), r.IntN(win.Kh), r.IntN(win.Kw), r.IntN(win.Kw)
		l := layer.Conv(s, []int{1, 2, 32}[r.IntN(3)], win)
		l.Op, l.Bias = layer.Deconvolution, r.IntN(2) == 0
		if l.Validate() != nil {
			continue // the padding leaves no output
		}
		w := layer.Weights{Filter: halves(r, l.Cout*s.C*win.Kh*win.Kw)}
		if l.Bias {
			w.Bias = halves(r, l.Cout)
		}
		x := halves(r, s.Elements())
		want := transposedConvolution(&l, &w, tensor{s, floats(x)})
		got, err := run(l, w, map[string][]float16.Float16{"x": x})
		if err == nil {
			err = near(got, want, 0.01)
		}
		if err != nil {
			t.Errorf("%+v: %v", l, err)
		}
		tried++
	}
	if tried < n*5/8 {
		t.Errorf("%d of %d layers are valid, want most of them", tried, n)
	}
}
