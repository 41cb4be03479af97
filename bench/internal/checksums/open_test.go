package checksums

import (
	"math"
	"testing"

	"anesim/internal/numpy"
	"anesim/internal/vectors"
)

// TestOpen computes layers whose arithmetic is not known with the model. The model must not give the
// error of a chip; once it does, the checksum is no longer open, and belongs in Rows.
func TestOpen(t *testing.T) {
	const rows, columns = 256, 4096
	x := numpy.New(11).Normals32(rows * columns)
	in := &Tensor{1, rows, columns, toHalves(x)}
	for _, c := range []struct {
		op    string
		names []string // of checksums: M1's and M5's
		want  func(row []float32) []float64
	}{
		{"reduce", []string{"reduce_sum_256x4096", "reduce_sum_256x4096_m5"}, func(row []float32) []float64 {
			sum := 0.0
			for _, v := range row {
				sum += float64(v)
			}
			return []float64{sum}
		}},
		{"softmax", []string{"softmax_256x4096", "softmax_256x4096_m5"}, softmax},
	} {
		m, err := newLayer(c.op, in, "c=1", "axis=w")
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(m, 1, map[string][]half{"x": in.Data}, in)
		if err != nil {
			t.Fatal(err)
		}
		var want []float64
		for r := range rows {
			want = append(want, c.want(x[r*columns:][:columns])...)
		}
		v, err := relativeError(got, want, err)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range c.names {
			published := cases(t)[name]
			t.Logf("%s: relative error %.5g; chip %.5g", name, v, published.RelativeError)
			if published.State != vectors.Open || math.Abs(v/published.RelativeError-1) < 1e-6 {
				t.Errorf("%s: state %s, relative error %.10g; chip %.10g", name, published.State, v, published.RelativeError)
			}
		}
	}
}

func softmax(row []float32) []float64 {
	largest, sum := math.Inf(-1), 0.0
	for _, v := range row {
		largest = max(largest, float64(v))
	}
	y := make([]float64, len(row))
	for i, v := range row {
		y[i] = math.Exp(float64(v) - largest)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}
