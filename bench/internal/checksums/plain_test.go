package checksums

import (
	"math"
	"os"
	"path"
	"strings"
	"testing"

	"anesim/bench/internal/summation"
	"anesim/internal/vectors"
)

// cases returns the published checksums by the names of their rows.
func cases(t *testing.T) map[string]vectors.Checksum {
	t.Helper()
	list, err := vectors.Checksums()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]vectors.Checksum{}
	for _, c := range list {
		found[strings.TrimSuffix(path.Base(c.File), ".json")] = c.Data
	}
	return found
}

// mostWork returns the largest Work of rows that a test computes. LONG=1 has all rows.
func mostWork() int {
	switch {
	case os.Getenv("LONG") != "":
		return math.MaxInt
	case testing.Short():
		return 70e6
	}
	return 300e6
}

// checkRow compares the relative error of a row with the published one.
func checkRow(t *testing.T, r Row, want vectors.Checksum, e Engine) {
	t.Helper()
	got, err := r.relativeError(e)
	if err != nil {
		t.Errorf("%s: %v", r.Name, err)
		return
	}
	if d := math.Abs(got/want.RelativeError - 1); d > tolerance(want) {
		t.Errorf("%s: relative error %.17g; want %.17g to %d digits (%.2g off)", r.Name, got, want.RelativeError, want.Digits, d)
	}
}

func tolerance(c vectors.Checksum) float64 { return 0.5 * math.Pow(10, float64(1-c.Digits)) }

// TestRowsAreCases compares the rows with the published checksums that are not open.
func TestRowsAreCases(t *testing.T) {
	published := cases(t)
	known := map[string]bool{}
	for _, r := range Rows() {
		known[r.Name] = true
		if c, ok := published[r.Name]; !ok || c.State == vectors.Open {
			t.Errorf("row %s has no published checksum with a known arithmetic", r.Name)
		}
	}
	for name, c := range published {
		if c.State != vectors.Open && !known[name] {
			t.Errorf("checksum %s has no row", name)
		}
	}
}

// TestPlain computes the published checksums by the rules of the arithmetic. Rows of chips with
// the Winograd transform compute their convolutions with it.
func TestPlain(t *testing.T) {
	published := cases(t)
	for _, r := range Rows() {
		if r.Work > mostWork() {
			continue
		}
		want := published[r.Name]
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			if want.State == vectors.NotModeled {
				checkRow(t, r, want, winograd{Plain(summation.Later.AddProducts)})
				return
			}
			checkRow(t, r, want, Plain(summation.H13.AddProducts))
		})
	}
}

// A winograd computes 3x3 convolutions as M5 and M6 do, for tensors of even width: F(2,3) along the
// width, with a direct sum over the rows of the window.
//
//	input    d0 = x0-x2, d1 = x1+x2, d2 = x2-x1, d3 = x1-x3, of four pixels from one to the left
//	weights  v0 = w0, v1 = (w0+w1+w2)/2, v2 = (w0-w1+w2)/2, v3 = w2, of each row of a window
//	outputs  y0 = d0*v0 + d1*v1 + d2*v2, y1 = d1*v1 - d2*v2 - d3*v3
//
// Inputs and weights of the transform round to fp16, ties away from zero.
type winograd struct{ Engine }

func (e winograd) Convolve(x *Tensor, weights []half, outputs, size int) (*Tensor, error) {
	if size != 3 {
		return e.Engine.Convolve(x, weights, outputs, size)
	}
	tiles, rows := x.Width/2, x.Channels*3
	panels := make([][]float64, 4) // of the transformed inputs, for each row of the window
	for i := range panels {
		panels[i] = make([]float64, rows*x.Height*tiles)
	}
	pixel := func(c, y, at int) float64 {
		if y < 0 || y >= x.Height || at < 0 || at >= x.Width {
			return 0
		}
		return float64(x.Data[(c*x.Height+y)*x.Width+at].Float32())
	}
	for k := range rows {
		for y := range x.Height {
			for tile := range tiles {
				var p [4]float64
				for i := range p {
					p[i] = pixel(k/3, y+k%3-1, 2*tile+i-1)
				}
				for i, d := range [4]float64{p[0] - p[2], p[1] + p[2], p[2] - p[1], p[1] - p[3]} {
					panels[i][(k*x.Height+y)*tiles+tile] = roundHalf(d)
				}
			}
		}
	}
	even := append(append(append([]float64{}, panels[0]...), panels[1]...), panels[2]...)
	odd := append(append(append([]float64{}, panels[1]...), panels[2]...), panels[3]...)
	out := &Tensor{outputs, x.Height, x.Width, make([]half, outputs*x.countPixels())}
	w := widen(weights)
	for o := range outputs {
		taps := [2][]float64{make([]float64, 3*rows), make([]float64, 3*rows)}
		for k := range rows {
			w0, w1, w2 := w[(o*rows+k)*3], w[(o*rows+k)*3+1], w[(o*rows+k)*3+2]
			plus, minus := roundHalf((w0+w1+w2)/2), roundHalf((w0-w1+w2)/2)
			for i, v := range [3]float64{w0, plus, minus} {
				taps[0][i*rows+k] = v
			}
			for i, v := range [3]float64{plus, -minus, -w2} {
				taps[1][i*rows+k] = v
			}
		}
		for column, panel := range [2][]float64{even, odd} {
			sums := make([]float64, x.Height*tiles)
			summation.Later.AddProducts(sums, panel, taps[column])
			for i, v := range sums {
				out.Data[o*x.countPixels()+2*i+column] = narrowExact(v)
			}
		}
	}
	return out, nil
}
