package checksums

import (
	"fmt"
	"math"
	"slices"

	"anesim/internal/numpy"
)

// A Row computes a layer with the inputs of a published script.
type Row struct {
	Name    string // of the case in vectors/silicon/checksums, without .json
	Work    int    // multiply-accumulates, or elements of elementwise layers
	compute func(Engine) (float64, error)
}

// relativeError computes the layer with e and returns the relative error of the results.
func (r Row) relativeError(e Engine) (float64, error) { return r.compute(e) }

// Rows returns the layers with a known arithmetic, in no order of size.
func Rows() []Row {
	return []Row{
		newLinearRow("linear_64x256x256", 64, 64, 256, 256),
		newLinearRow("linear_128x1024x1024", 128, 128, 1024, 1024),
		newLinearRow("linear_512", 512, 256, 512, 512),
		newLinearRow("linear_1024", 1024, 256, 1024, 1024),
		newLinearRow("linear_4096", 4096, 256, 4096, 4096),
		newLinearRow("linear_6144", 6144, 256, 6144, 6144),
		newFourierRow("dft_1024", 1024),
		newConvolutionRow("conv3x3_64", 8, 64), newConvolutionRow("conv3x3_128", 8, 128),
		newConvolutionRow("winograd_64", 8, 64), newConvolutionRow("winograd_128", 8, 128), newConvolutionRow("winograd_256", 4, 256),
		newStackRow("stack_1", 16, 64, 1), newStackRow("stack_16", 64, 256, 16), newStackRow("winograd_stack_1", 16, 64, 1),
		newStencilRow("stencil_32", 256, 32), newStencilRow("winograd_stencil_32", 256, 32),
		newJacobiRow("jacobi_25", 512, 25),
		newElementwiseRow("relu_256x4096", []int{256}, Engine.ReLU, func(v float32) float64 { return max(float64(v), 0) }),
		newElementwiseRow("gelu_256x4096", []int{256}, Engine.GELU, gelu),
		newElementwiseRow("gelu_2048x4096", []int{256, 2048}, Engine.GELU, gelu),
		newElementwiseRow("gelu_64x4096_m4", []int{64}, Engine.GELU, gelu),
		newElementwiseRow("gelu_256x4096_m4", []int{64, 256}, Engine.GELU, gelu),
	}
}

// newLinearRow returns the row of a linear layer of columns to outputs. It draws inputs for more rows than
// are computed.
func newLinearRow(name string, drawn, rows, columns, outputs int) Row {
	return Row{name, rows * columns * outputs, func(e Engine) (float64, error) {
		g := numpy.New(0)
		x, w := g.Normals32(drawn * columns)[:rows*columns], g.Normals32(outputs*columns)
		root := float32(math.Sqrt(float64(columns)))
		for _, list := range [][]float32{x, w} {
			for i := range list {
				list[i] /= root
			}
		}
		want := make([]float64, outputs*rows)
		for o := range outputs {
			for r := range rows {
				want[o*rows+r] = dot(w[o*columns:][:columns], x[r*columns:][:columns])
			}
		}
		got, err := e.Convolve(newTensorOfRows(toHalves(x), rows), toHalves(w), outputs, 1)
		return relativeError(got, want, err)
	}}
}

// newTensorOfRows returns a tensor with a pixel for each row of x.
func newTensorOfRows(x []half, rows int) *Tensor {
	columns := len(x) / rows
	t := &Tensor{Channels: columns, Height: rows, Width: 1, Data: make([]half, len(x))}
	if width := 16; rows%width == 0 {
		t.Height, t.Width = rows/width, width
	}
	for r := range rows {
		for c := range columns {
			t.Data[c*rows+r] = x[r*columns+c]
		}
	}
	return t
}

func dot[T, U float32 | float64](a []T, b []U) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

// newFourierRow returns the row of a discrete Fourier transform of n numbers: linear layers of cosines and
// of sines.
func newFourierRow(name string, n int) Row {
	return Row{name, 2 * n * n, func(e Engine) (float64, error) {
		g := numpy.New(2)
		x, w, want := make([]float64, n), make([]float64, n*n), make([]float64, n)
		for i := range x {
			x[i] = g.Normal()
		}
		sum := 0.0
		for _, f := range []func(float64) float64{math.Cos, math.Sin} {
			for i := range n {
				for j := range n {
					w[i*n+j] = f(-2 * math.Pi * float64(i*j) / float64(n))
				}
				want[i] = dot(w[i*n:][:n], x)
			}
			got, err := e.Convolve(newTensorOfRows(toHalves(x), 1), toHalves(w), n, 1)
			v, err := relativeError(got, want, err)
			if err != nil {
				return 0, err
			}
			sum += v / 2
		}
		return sum, nil
	}}
}

// newConvolutionRow returns the row of a 3x3 convolution of 64 x 64 pixels. It draws several images, of
// which one is computed.
func newConvolutionRow(name string, images, channels int) Row {
	const extent = 64
	return Row{name, channels * channels * 9 * extent * extent, func(e Engine) (float64, error) {
		g := numpy.New(1)
		x := g.Normals32(images * channels * extent * extent)[:channels*extent*extent]
		w := newWeights(g, channels, channels)
		want := convolve(x, w, channels, extent)
		got, err := e.Convolve(&Tensor{channels, extent, extent, toHalves(x)}, toHalves(w), channels, 3)
		return relativeError(got, want, err)
	}}
}

// newWeights draws weights of a 3x3 convolution.
func newWeights(g *numpy.Generator, channels, outputs int) []float64 {
	scale := math.Sqrt(2 / float64(9*channels))
	w := make([]float64, outputs*channels*9)
	for i := range w {
		w[i] = float64(float32(g.Normal())) * scale
	}
	return w
}

// convolve returns the 3x3 convolution of x [channels][extent][extent] with w in float64.
func convolve(x []float32, w []float64, channels, extent int) []float64 {
	wide := make([]float64, len(x))
	for i, v := range x {
		wide[i] = float64(v)
	}
	panel := gatherWindows(wide, channels, extent, extent, 3)
	taps, pixels := channels*9, extent*extent
	y := make([]float64, len(w)/taps*pixels)
	for o := range len(w) / taps {
		to := y[o*pixels:][:pixels]
		for k, v := range w[o*taps:][:taps] {
			for i, p := range panel[k*pixels:][:pixels] {
				to[i] += v * p
			}
		}
	}
	return y
}

// newStackRow returns the row of a chain of 3x3 convolutions of 32 x 32 pixels, each with a ReLU.
func newStackRow(name string, channels, outputs, depth int) Row {
	const extent = 32
	work := (channels + (depth-1)*outputs) * outputs * 9 * extent * extent
	return Row{name, work, func(e Engine) (float64, error) {
		g := numpy.New(1)
		want := g.Normals32(channels * extent * extent)
		var exact []float64
		got := &Tensor{channels, extent, extent, toHalves(want)}
		for range depth {
			w := newWeights(g, got.Channels, outputs)
			exact = convolve(want, w, got.Channels, extent)
			want = make([]float32, len(exact)) // the script keeps float32 between layers
			for i, v := range exact {
				exact[i] = max(v, 0)
				want[i] = float32(exact[i])
			}
			y, err := e.Convolve(got, toHalves(w), outputs, 3)
			if err == nil {
				got, err = e.ReLU(y)
			}
			if err != nil {
				return 0, err
			}
		}
		return relativeError(got, exact, nil)
	}}
}

// newStencilRow returns the row of a chain of diffusion steps of one channel.
func newStencilRow(name string, extent, depth int) Row {
	return Row{name, depth * 9 * extent * extent, func(e Engine) (float64, error) {
		const side = float32(0.1)
		w := []float32{0, side, 0, side, -4*side + 1, side, 0, side, 0}
		u := numpy.New(3).Normals32(extent * extent)
		got := &Tensor{1, extent, extent, toHalves(u)}
		for range depth {
			u = convolveFloat32(u, w, extent)
			var err error
			if got, err = e.Convolve(got, toHalves(w), 1, 3); err != nil {
				return 0, err
			}
		}
		want := make([]float64, len(u))
		for i, v := range u {
			want[i] = float64(v)
		}
		return relativeError(got, want, nil)
	}}
}

// convolveFloat32 returns the 3x3 convolution of u with w in float32. It adds the terms in order, each with
// one rounding, as the host's library does.
func convolveFloat32(u, w []float32, extent int) []float32 {
	wide := make([]float64, len(u))
	for i, v := range u {
		wide[i] = float64(v)
	}
	panel := gatherWindows(wide, 1, extent, extent, 3)
	y := make([]float32, len(u))
	for k, v := range w {
		for i, p := range panel[k*len(u):][:len(u)] {
			y[i] = float32(float64(float64(v)*p) + float64(y[i])) // the product is exact
		}
	}
	return y
}

// newJacobiRow returns the row of Jacobi's iteration for n linear equations.
func newJacobiRow(name string, n, iterations int) Row {
	return Row{name, iterations * n * n, func(e Engine) (float64, error) {
		g := numpy.New(8)
		m, b := g.Normals32(n*n), g.Normals32(n)
		r, diagonal, inverse := make([]float32, n*n), make([]float64, n), make([]float32, n)
		for i := range n {
			for j := range n {
				r[i*n+j] = float32(dot(m[i*n:][:n], m[j*n:][:n])) / float32(n)
			}
			// n on the diagonal makes the iteration converge, so the error is that of the arithmetic.
			d := r[i*n+i] + float32(n)
			diagonal[i], inverse[i], r[i*n+i] = float64(d), 1/d, 0
		}
		want := make([]float64, n)
		for range iterations {
			next := make([]float64, n)
			for i := range n {
				next[i] = (float64(b[i]) - dot(r[i*n:][:n], want)) / diagonal[i]
			}
			want = next
		}
		bias, factor := newTensorOfRows(toHalves(b), 1), newTensorOfRows(toHalves(inverse), 1)
		got, weights := newTensorOfRows(make([]half, n), 1), toHalves(r)
		for range iterations {
			y, err := e.Convolve(got, weights, n, 1)
			if err == nil {
				y, err = e.Subtract(bias, y)
			}
			if err == nil {
				got, err = e.Multiply(y, factor)
			}
			if err != nil {
				return 0, err
			}
		}
		return relativeError(got, want, nil)
	}}
}

// newElementwiseRow returns the row of f, applied to the last of several draws of rows of 4096 numbers.
func newElementwiseRow(name string, rows []int, f func(Engine, *Tensor) (*Tensor, error), want func(float32) float64) Row {
	const columns = 4096
	last := rows[len(rows)-1]
	return Row{name, last * columns, func(e Engine) (float64, error) {
		g := numpy.New(11)
		var x []float32
		for _, n := range rows {
			x = g.Normals32(n * columns)
		}
		exact := make([]float64, len(x))
		for i, v := range x {
			exact[i] = want(v)
		}
		got, err := f(e, &Tensor{1, last, columns, toHalves(x)})
		return relativeError(got, exact, err)
	}}
}

// gelu returns the tanh form of gelu with the intermediate results of the published script in
// float32 and float64.
func gelu(x float32) float64 {
	v := float64(x)
	inner := x + float32(0.044715*float32(v*v*v))
	return float64(x*0.5) * (1 + math.Tanh(math.Sqrt(2/math.Pi)*float64(inner)))
}

// relativeError returns the L2 norm of the differences of got from want, divided by that of want.
func relativeError(got *Tensor, want []float64, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	if len(got.Data) != len(want) {
		return 0, fmt.Errorf("found %d results; want %d", len(got.Data), len(want))
	}
	const block = 1024 // sums of blocks keep the error of the sums below the digits that count
	var differences, squares float64
	for at := 0; at < len(want); at += block {
		end := min(at+block, len(want))
		var d2, w2 float64
		for i, w := range want[at:end] {
			d := float64(got.Data[at+i].Float32()) - w
			d2 += d * d
			w2 += w * w
		}
		differences += d2
		squares += w2
	}
	return math.Sqrt(differences) / math.Sqrt(squares), nil
}

// findRow returns the row of the given name.
func findRow(name string) (Row, bool) {
	rows := Rows()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return Row{}, false
	}
	return rows[i], true
}
