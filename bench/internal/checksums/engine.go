package checksums

import (
	"math"

	"github.com/x448/float16"

	"anesim/bench/internal/reference/tensor"
)

type half = float16.Float16

// A Tensor has elements in the order channel, row, column.
type Tensor struct {
	Channels, Height, Width int
	Data                    []half
}

// countPixels returns the number of elements of a channel.
func (t *Tensor) countPixels() int { return t.Height * t.Width }

// An Engine computes layers on fp16 numbers.
type Engine interface {
	// Convolve returns the convolution of x with weights [outputs][x.Channels][size][size]. The size
	// is odd, and the result has the height and width of x, with zeros around x. A linear layer
	// has a size of 1 and a pixel for each row.
	Convolve(x *Tensor, weights []half, outputs, size int) (*Tensor, error)
	ReLU(x *Tensor) (*Tensor, error)
	GELU(x *Tensor) (*Tensor, error)
	// Subtract and Multiply return the differences and products of elements of two tensors of one
	// shape.
	Subtract(x, y *Tensor) (*Tensor, error)
	Multiply(x, y *Tensor) (*Tensor, error)
}

// Plain returns an engine that computes layers by the rules of the arithmetic. The function reduce
// sums products, like [summation.Arithmetic.AddProducts].
func Plain(reduce func(acc, panel, taps []float64)) Engine { return plain{reduce} }

type plain struct {
	reduce func(acc, panel, taps []float64)
}

func (p plain) Convolve(x *Tensor, weights []half, outputs, size int) (*Tensor, error) {
	panel := gatherWindows(widen(x.Data), x.Channels, x.Height, x.Width, size)
	taps := widen(weights)
	y := &Tensor{outputs, x.Height, x.Width, make([]half, outputs*x.countPixels())}
	sums := make([]float64, x.countPixels())
	n := x.Channels * size * size
	for o := range outputs {
		clear(sums)
		p.reduce(sums, panel, taps[o*n:][:n])
		narrow(y.Data[o*len(sums):], sums)
	}
	return y, nil
}

// gatherWindows returns the elements under each tap of a window: for each channel, row and column of
// the window, a row with one element for each pixel of x [channels][height][width]. Elements around
// x are 0.
func gatherWindows(x []float64, channels, height, width, size int) []float64 {
	panel := make([]float64, channels*size*size*height*width)
	at := 0
	for c := range channels {
		for dy := -(size / 2); dy <= size/2; dy++ {
			for dx := -(size / 2); dx <= size/2; dx++ {
				for i := range height {
					for j := range width {
						if y, x0 := i+dy, j+dx; 0 <= y && y < height && 0 <= x0 && x0 < width {
							panel[at] = x[(c*height+y)*width+x0]
						}
						at++
					}
				}
			}
		}
	}
	return panel
}

func (p plain) ReLU(x *Tensor) (*Tensor, error) {
	return x.mapPairs(x, func(v, _ float64) float64 { return max(v, 0) }), nil
}

func (p plain) GELU(x *Tensor) (*Tensor, error) {
	return x.mapPairs(x, func(v, _ float64) float64 { return interpolateGELU(v) }), nil
}

func (p plain) Subtract(x, y *Tensor) (*Tensor, error) {
	return x.mapPairs(y, func(v, w float64) float64 { return roundHalf(v - w) }), nil
}

func (p plain) Multiply(x, y *Tensor) (*Tensor, error) {
	return x.mapPairs(y, func(v, w float64) float64 { return roundHalf(v * w) }), nil
}

// mapPairs returns the results of f, which are fp16 numbers, for the elements of t and u.
func (t *Tensor) mapPairs(u *Tensor, f func(v, w float64) float64) *Tensor {
	y := &Tensor{t.Channels, t.Height, t.Width, make([]half, len(t.Data))}
	for i, h := range t.Data {
		y.Data[i] = narrowExact(f(float64(h.Float32()), float64(u.Data[i].Float32())))
	}
	return y
}

// interpolateGELU returns the value of the engine's table for gelu. Between two knots, it starts at
// the one nearer to zero. The difference of the knots, its product with the fraction and the sum
// are each rounded.
func interpolateGELU(x float64) float64 {
	const perUnit, last = 4, 16 // knots at -4, -3.75, ..., 4
	switch {
	case x < -last/perUnit:
		return 0
	case x >= last/perUnit:
		return x
	}
	steps := math.Abs(x) * perUnit
	whole := math.Floor(steps)
	base, next := last+int(whole), last+int(whole)+1
	if x < 0 {
		base, next = last-int(whole), last-int(whole)-1
	}
	if next < 0 { // at -4, the last knot
		return geluKnots[base]
	}
	difference := roundHalf(geluKnots[next] - geluKnots[base])
	return roundHalf(geluKnots[base] + roundSignificant(difference*(steps-whole)))
}

// geluKnots are the knots of the vendor's table for gelu.
var geluKnots = [33]float64{
	0, -0.0003991127014160156, -0.00075531005859375, -0.0017919540405273438, -0.003875732421875, -0.00794219970703125,
	-0.01512908935546875, -0.02703857421875, -0.044891357421875, -0.06964111328125, -0.10003662109375, -0.1324462890625,
	-0.159912109375, -0.17236328125, -0.15673828125, -0.10638427734375, -0.0007538795471191406, 0.1435546875, 0.34326171875,
	0.57763671875, 0.83984375, 1.1171875, 1.400390625, 1.6806640625, 1.955078125, 2.22265625, 2.484375, 2.7421875, 2.99609375,
	3.248046875, 3.5, 3.75, 4,
}

// roundHalf rounds v to fp16 as the engine's elementwise units do: to 11 significant bits, and then
// to a multiple of 2^-24, both times with ties away from zero.
func roundHalf(v float64) float64 {
	const least = 0x1p-24
	return math.Round(roundSignificant(v)/least) * least
}

// roundSignificant rounds v to 11 significant bits, ties away from zero.
func roundSignificant(v float64) float64 {
	fraction, exponent := math.Frexp(v)
	return math.Ldexp(math.Round(fraction*(1<<11)), exponent-11)
}

// toHalf returns the fp16 number nearest to v, ties to even, as conversions on the host round.
func toHalf(v float64) half { return narrowExact(tensor.RoundHalf("", v)) }

func toHalves[T float32 | float64](list []T) []half {
	h := make([]half, len(list))
	for i, v := range list {
		h[i] = toHalf(float64(v))
	}
	return h
}

// narrowExact returns v, which is an fp16 number.
func narrowExact(v float64) half { return float16.Fromfloat32(float32(v)) }

func narrow(to []half, from []float64) {
	for i, v := range from {
		to[i] = narrowExact(v)
	}
}

func widen(h []half) []float64 {
	v := make([]float64, len(h))
	for i, x := range h {
		v[i] = float64(x.Float32())
	}
	return v
}
