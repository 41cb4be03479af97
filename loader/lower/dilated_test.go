package lower_test

import (
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"anesim"
	"anesim/hw"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// Dilated convolutions have the values of the definition: dense, grouped and for each channel, with
// any padding (in rows and columns also beyond the window) and batch, and with an activation.
func TestDilatedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 90))
	for range 80 {
		d := 2 + r.IntN(5)
		taps := layer.Window{Kh: 1 + r.IntN(4), Kw: 1 + r.IntN(3), Sy: 1, Sx: 1 + r.IntN(2)}
		win := taps.Dilate(d)
		beyond := 4 * r.IntN(2)
		win.Py, win.Qy, win.Px, win.Qx = r.IntN(win.Kh+beyond), r.IntN(win.Kh+beyond), r.IntN(win.Kw+beyond), r.IntN(win.Kw+beyond)
		s := layer.Shape{N: 1 + r.IntN(2), C: 4 * (1 + r.IntN(3)), H: win.Kh + r.IntN(20), W: win.Kw + r.IntN(60)}
		l := layer.Conv(s, 4*(1+r.IntN(5)), win)
		l.Dilation, l.Bias = d, r.IntN(2) == 0
		l.Groups = []int{1, 1, 4, s.C}[r.IntN(4)]
		if l.Groups == s.C {
			l.Cout = s.C
		}
		l.Activation = []layer.Op{0, layer.ReLU, layer.Sigmoid}[r.IntN(3)]
		each := s.C / l.Groups * taps.Kh * taps.Kw
		w, err := weights.Complete(&list.Layer{Lower: l, Weights: layer.Weights{Filter: halves(r, l.Cout*each)}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		x := halves(r, s.Elements())
		in, filter, bias := floats(x), floats(w.Filter), floats(w.Bias)
		var want []float64
		out := l.Out()
		for i := range out.Elements() {
			n, c, y, z := i/(out.C*out.H*out.W), i/(out.H*out.W)%out.C, i/out.W%out.H, i%out.W
			sum, k := 0.0, c*each
			if l.Bias {
				sum = bias[c]
			}
			group := s.C / l.Groups
			for ch := c / (l.Cout / l.Groups) * group; ch < (c/(l.Cout/l.Groups)+1)*group; ch++ {
				for ky := range taps.Kh {
					for kx := range taps.Kw {
						if a, b := y-win.Py+ky*d, z*win.Sx-win.Px+kx*d; a >= 0 && a < s.H && b >= 0 && b < s.W {
							sum += in[((n*s.C+ch)*s.H+a)*s.W+b] * filter[k]
						}
						k++
					}
				}
			}
			if l.Activation != 0 {
				sum = activated(l.Activation, sum)
			}
			want = append(want, sum)
		}
		got, err := run(l, w, map[string][]float16.Float16{"x": x})
		if err == nil {
			err = near(got, want, 0.02)
		}
		if err != nil {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// Rows of zeros between taps cost nothing if each phase of the rows fills the engines: 3x3 taps that
// are 4 apart take less than half the time of a window of 9x9. Eight rows of eight pixels do not fill
// them, and stay one task for each share of the channels.
func TestDilatedRowsAreSkipped(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 90))
	cycles := func(c, side, d int) (uint64, int) {
		s := layer.Shape{N: 1, C: c, H: side, W: side}
		l := layer.Conv(s, c, layer.Same(3, 1, s).Dilate(d))
		l.Window.Py, l.Window.Qy, l.Window.Px, l.Window.Qx = d, d, d, d
		l.Dilation = d
		p, err := lower.Lower(l, layer.Weights{Filter: halves(r, c*c*9)})
		if err != nil {
			t.Fatal(err)
		}
		res, err := anesim.Run(p, anesim.Options{Chip: hw.M1()})
		if err != nil {
			t.Fatal(err)
		}
		return uint64(res.Report.Cycles), p.TaskCount
	}
	dense, _ := cycles(128, 64, 1)
	dilated, _ := cycles(128, 64, 4)
	if dilated > 4*dense {
		t.Errorf("%d cycles with taps 4 apart, %d with adjacent ones; want at most 27/9 times as many, and overhead", dilated, dense)
	}
	if _, tasks := cycles(64, 8, 2); tasks != 1 {
		t.Errorf("8x8 pixels have %d tasks; want 1", tasks)
	}
}
