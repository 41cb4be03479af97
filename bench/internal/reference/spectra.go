package reference

import (
	"fmt"
	"math"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// spectralOperators has the Fourier transforms and their window functions.
var spectralOperators = map[string]operator{
	"DFT": {1, wrapSingleResult(computeDFT)}, "STFT": {2, wrapSingleResult(computeSTFT)},
	"HannWindow":     {1, wrapSingleResult(newWindowOperator(0.5, 0.5, 0))},
	"HammingWindow":  {1, wrapSingleResult(newWindowOperator(25./46, 21./46, 0))},
	"BlackmanWindow": {1, wrapSingleResult(newWindowOperator(0.42, 0.5, 0.08))},
}

// newWindowOperator returns an operator that computes the window function a - b*cos(x) + c*cos(2x)
// over one period.
func newWindowOperator(a, b, c float64) func(*call) (*tensor.Tensor, error) {
	return func(k *call) (*tensor.Tensor, error) {
		if len(k.in[0].Data) != 1 {
			return nil, fmt.Errorf("window size has shape %v; want a scalar", k.in[0].Dims)
		}
		y, err := tensor.New(onnx.DataType(k.intAttribute("output_datatype", int(onnx.Float))), k.in[0].ToInts()[0])
		if err != nil {
			return nil, err
		}
		period := float64(len(y.Data))
		if k.intAttribute("periodic", 1) == 0 {
			period--
		}
		for i := range y.Data {
			x := 2 * math.Pi * float64(i) / period
			y.Data[i] = a - b*math.Cos(x) + c*math.Cos(2*x)
		}
		return y, nil
	}
}

// maxTransform is the largest length of a transform, which takes quadratic time here.
const maxTransform = 1 << 14

// fourierTransform returns the first bins elements of the discrete Fourier transform of line or, if
// inverse is set, of the inverse transform.
func fourierTransform(line []complex128, bins int, inverse bool) []complex128 {
	n := len(line)
	turn := -2 * math.Pi / float64(n)
	if inverse {
		turn = -turn
	}
	out := make([]complex128, bins)
	for k := range out {
		for i, v := range line {
			s, c := math.Sincos(turn * float64(k*i%n))
			out[k] += v * complex(c, s)
		}
		if inverse {
			out[k] /= complex(float64(n), 0)
		}
	}
	return out
}

// computeDFT computes DFT: it transforms real numbers [...][1] or complex numbers [...][2] along an
// axis. The axis is an input since operator set 20, and was an attribute before.
func computeDFT(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	rank := len(x.Dims)
	axis := c.intAttribute("axis", 1)
	if c.opset >= 20 {
		axis = -2
		if t := c.inputTensor(2); t != nil && len(t.Data) == 1 {
			axis = t.ToInts()[0]
		}
	}
	axis, err := tensor.ResolveAxis(axis, rank)
	if err != nil {
		return nil, err
	}
	if axis == rank-1 {
		return nil, fmt.Errorf("cannot transform axis %d: last axis holds real and imaginary parts", axis)
	}
	if x.Dims[rank-1] < 1 || x.Dims[rank-1] > 2 {
		return nil, fmt.Errorf("input has shape %v; want last dimension 1 (real) or 2 (complex)", x.Dims)
	}
	n := x.Dims[axis]
	if t := c.inputTensor(1); t != nil && len(t.Data) == 1 {
		n = t.ToInts()[0]
	}
	bins := n
	if c.flagAttribute("onesided") {
		bins = n/2 + 1
	}
	if n < 1 || n > maxTransform {
		return nil, c.newUnsupportedError(fmt.Sprintf("transform of %d elements; want 1 to %d", n, maxTransform))
	}
	// The axis is moved next to the last, so that each transform reads adjacent elements.
	perm := tensor.PermutationToEnd(rank, axis, rank-1)
	moved, err := x.Transpose(perm...)
	if err != nil {
		return nil, err
	}
	dims := slices.Clone(moved.Dims)
	dims[rank-2], dims[rank-1] = bins, 2
	y, err := tensor.New(x.Type, dims...)
	if err != nil {
		return nil, err
	}
	parts := x.Dims[rank-1]
	for i := range tensor.CountValidElements(dims[:rank-2]) {
		from := moved.Data[i*x.Dims[axis]*parts:][:x.Dims[axis]*parts]
		for k, v := range fourierTransform(toComplex(from, parts, n), bins, c.flagAttribute("inverse")) {
			y.Data[(i*bins+k)*2], y.Data[(i*bins+k)*2+1] = real(v), imag(v)
		}
	}
	return y.Transpose(tensor.InvertPermutation(perm)...)
}

// toComplex converts the first n numbers in from to complex numbers. Each number has 1 part if it
// is real and 2 if it is complex. Missing numbers become 0.
func toComplex(from []float64, parts, n int) []complex128 {
	line := make([]complex128, n)
	for i := range min(n, len(from)/parts) {
		line[i] = complex(from[i*parts], 0)
		if parts == 2 {
			line[i] = complex(from[i*parts], from[i*parts+1])
		}
	}
	return line
}

// computeSTFT computes STFT: it transforms overlapping frames of signals [batch][length] or
// [batch][length][parts].
func computeSTFT(c *call) (*tensor.Tensor, error) {
	x, window := c.in[0], c.inputTensor(2)
	parts := 1
	if len(x.Dims) == 3 {
		parts = x.Dims[2]
	}
	if len(x.Dims) != 2 && len(x.Dims) != 3 || parts < 1 || parts > 2 {
		return nil, fmt.Errorf("signal has shape %v; want [batch][length], [batch][length][1] or [batch][length][2]", x.Dims)
	}
	step, n := c.in[1].ToInts(), x.Dims[1]
	if window != nil {
		n = len(window.Data)
	}
	if t := c.inputTensor(3); t != nil && len(t.Data) == 1 {
		n = t.ToInts()[0]
	}
	if len(step) != 1 || step[0] < 1 {
		return nil, fmt.Errorf("input \"frame_step\" is %v; want one positive number", step)
	}
	if n < 1 || n > x.Dims[1] {
		return nil, fmt.Errorf("frame length is %d; want 1 to %d, the signal length", n, x.Dims[1])
	}
	if window != nil && len(window.Data) != n {
		return nil, fmt.Errorf("window has shape %v; want %d elements to match the frame length", window.Dims, n)
	}
	if n > maxTransform {
		return nil, c.newUnsupportedError(fmt.Sprintf("transform of %d elements; want 1 to %d", n, maxTransform))
	}
	bins := n
	// The second half of a spectrum is redundant for real signals only.
	if c.intAttribute("onesided", 1) != 0 && parts == 1 {
		bins = n/2 + 1
	}
	frames := (x.Dims[1]-n)/step[0] + 1
	y, err := tensor.New(x.Type, x.Dims[0], frames, bins, 2)
	if err != nil {
		return nil, err
	}
	for i := range x.Dims[0] * frames {
		first := i/frames*x.Dims[1] + i%frames*step[0]
		line := toComplex(x.Data[first*parts:][:n*parts], parts, n)
		if window != nil {
			for k, w := range window.Data {
				line[k] *= complex(w, 0)
			}
		}
		for k, v := range fourierTransform(line, bins, false) {
			y.Data[(i*bins+k)*2], y.Data[(i*bins+k)*2+1] = real(v), imag(v)
		}
	}
	return y, nil
}
