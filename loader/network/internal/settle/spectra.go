package settle

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// A spectrum is a matmul with cosines and sines.

// dftFactor returns the factor of element i, out of n, in frequency k of a discrete Fourier
// transform: cos(2*pi*k*i/n) if part is 0, and -sin(2*pi*k*i/n) if it is 1. Multiples of a quarter
// turn give exact results.
func dftFactor(k, i, n, part int) float64 {
	turn := k * i % n
	switch {
	case part == 0 && 4*turn%n == 0:
		return [...]float64{1, 0, -1, 0}[4*turn/n]
	case part == 1 && 4*turn%n == 0:
		return [...]float64{0, -1, 0, 1}[4*turn/n]
	case part == 0:
		return math.Cos(2 * math.Pi * float64(turn) / float64(n))
	}
	return -math.Sin(2 * math.Pi * float64(turn) / float64(n))
}

// maxWaves is the largest number of constants in the matrix of a spectrum.
const maxWaves = 1 << 26

// expandSTFT rewrites an STFT, the spectra of overlapping frames of a signal, as a convolution. Its
// output channels hold the cosine and sine of each frequency, multiplied by the window.
func expandSTFT(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	if len(d) != 2 && (len(d) != 3 || d[2] != 1) {
		return fmt.Errorf("signal has shape %v; want a real signal of shape [batch length] or [batch length 1]", d)
	}
	window, step, length, err := readSTFTSizes(e, d[1])
	if err != nil {
		return err
	}
	bins := length
	if e.Int("onesided", 1) != 0 {
		bins = length/2 + 1
	}
	if length > d[1] {
		return fmt.Errorf("frame length %d exceeds the signal of %d elements", length, d[1])
	}
	// Weights for cosines and sines grow with the square of the frame.
	if bins*length > maxWaves/2 {
		return fmt.Errorf("frame length %d needs a matrix of %d elements; want at most %d", length, 2*bins*length, maxWaves)
	}
	if err := e.budget.Spend(2 * graph.NumberBytes * bins * length); err != nil {
		return err
	}
	v := make([]float64, 2*bins*length)
	for i := range v {
		at, k, part := i%length, i/length%bins, i/length/bins
		// The window is multiplied into the weights, which costs nothing when the network runs.
		if v[i] = dftFactor(k, at, length, part); window != nil {
			v[i] *= window[at]
		}
	}
	x, err := e.emitReshape(nil, e.inputTensor(0), d[0], 1, d[1])
	if err == nil {
		x, err = e.emitNode(nil, "Conv", attributes{"strides": newIntsAttr(step)}, x, e.newFloatConstant([]int{2 * bins, 1, length}, v))
	}
	if err != nil {
		return err
	}
	count := x.Dims[2]
	if x, err = e.emitReshape(nil, x, d[0], 2, bins, count); err == nil {
		_, err = e.emitTranspose(e.outputTensor(0), x, 0, 3, 2, 1)
	}
	return err
}

// readSTFTSizes returns the window of an STFT node (nil if it has none), the number of elements
// from the start of a frame to the start of the next, and the length of a frame. elements is the
// length of the signal. readSTFTSizes returns an error if a size is computed or exceeds the signal.
func readSTFTSizes(e *expansion, elements int) (window []float64, step, length int, err error) {
	if e.Given(2) {
		c := e.Const(2)
		if c == nil {
			return nil, 0, 0, errors.New("window is computed; want a constant")
		}
		if window, err = c.Values(); err != nil {
			return nil, 0, 0, err
		}
	}
	size := func(i int, name string, missing int) (int, error) {
		c := e.Const(i)
		if c == nil {
			if e.Given(i) {
				return 0, fmt.Errorf("%s is computed; want a constant", name)
			}
			if missing == 0 {
				return 0, fmt.Errorf("%s is missing", name)
			}
			return missing, nil
		}
		v, err := c.Scalar()
		if err != nil || v < 1 || v > float64(elements) {
			return 0, cmp.Or(err, fmt.Errorf("%s is %g; want a number from 1 to %d, the signal length", name, v, elements))
		}
		return int(v), nil
	}
	if step, err = size(1, "frame_step", 0); err == nil {
		length, err = size(3, "frame_length", len(window))
	}
	// Shorter windows would be centered in some frameworks; ONNX does not define them.
	if err == nil && window != nil && len(window) != length {
		err = fmt.Errorf("window has %d elements; want the frame length, %d", len(window), length)
	}
	return window, step, length, err
}

// expandDFT rewrites a discrete Fourier transform along an axis as a matmul with a matrix of
// cosines and sines. The last axis of the input holds a real number, or the real and imaginary
// parts of a complex one.
func expandDFT(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	rank := len(d)
	axis, err := readDFTAxis(e, d)
	if err != nil {
		return err
	}
	n, parts := d[axis], d[rank-1]
	if e.Given(1) {
		c := e.Const(1)
		if c == nil {
			return errors.New("dft_length is computed; want a constant")
		}
		if v, err := c.Scalar(); err != nil || int(v) != n {
			return cmp.Or(err, fmt.Errorf("dft_length is %g; want %d, the size of the axis", v, n))
		}
	}
	bins, inverse := n, e.Int("inverse", 0) != 0
	if e.Int("onesided", 0) != 0 {
		bins = n/2 + 1
	}
	if inverse && bins != n {
		return errors.New("inverse of a one-sided DFT is not supported")
	}
	// The matrix grows with the square of the length.
	if n*parts*bins*2 > maxWaves {
		return fmt.Errorf("DFT length %d needs a matrix of %d elements; want at most %d", n, n*parts*bins*2, maxWaves)
	}
	if err := e.budget.Spend(graph.NumberBytes * n * parts * bins * 2); err != nil {
		return err
	}
	v := newDFTMatrix(n, parts, bins, inverse)
	// Move the axis next to the last one.
	var order []int
	for i := range rank - 1 {
		if i != axis {
			order = append(order, i)
		}
	}
	order = append(order, axis, rank-1)
	x, err := e.emitTranspose(nil, e.inputTensor(0), order...)
	if err != nil {
		return err
	}
	rest := slices.Delete(slices.Clone(d[:rank-1]), axis, axis+1)
	x, err = e.emitReshape(nil, x, append(slices.Clip(rest), n*parts)...)
	if err == nil {
		x, err = e.emitNode(nil, "MatMul", nil, x, e.newFloatConstant([]int{n * parts, bins * 2}, v))
	}
	if err == nil {
		x, err = e.emitReshape(nil, x, append(slices.Clip(rest), bins, 2)...)
	}
	if err != nil {
		return err
	}
	_, err = e.emitTranspose(e.outputTensor(0), x, invertPermutation(order)...)
	return err
}

// invertPermutation returns the inverse of a permutation: if order[i] is k, then element k of the
// result is i.
func invertPermutation(order []int) []int {
	back := make([]int, len(order))
	for to, from := range order {
		back[from] = to
	}
	return back
}

// readDFTAxis returns the axis that a DFT node transforms, counted from the front of its input,
// whose shape is d. It returns an error if the axis is computed or cannot be transformed.
func readDFTAxis(e *expansion, d []int) (int, error) {
	rank := len(d)
	axis := e.Int("axis", 1)
	if e.Opset >= 20 {
		axis = -2
		if c := e.Const(2); c != nil {
			v, err := c.Scalar()
			if err != nil {
				return 0, err
			}
			axis = int(max(-graph.MaxRank, min(graph.MaxRank, v)))
		} else if e.Given(2) {
			return 0, errors.New("axis is computed; want a constant")
		}
	}
	axis, err := ops.Axis(rank, axis)
	if err != nil || rank < 2 || axis == rank-1 || d[rank-1] > 2 {
		return 0, cmp.Or(err, fmt.Errorf("cannot transform shape %v along axis %d; want an axis before the last, and a last dimension of 1 or 2", d, axis))
	}
	return axis, nil
}

// newDFTMatrix returns the row-major matrix by which expandDFT multiplies n elements to get bins
// frequencies. It has n*parts rows and 2*bins columns: parts is 1 for real and 2 for complex
// elements, and each frequency has a column for its real and one for its imaginary part. If inverse
// is set, the matrix inverts the transform.
func newDFTMatrix(n, parts, bins int, inverse bool) []float64 {
	v := make([]float64, n*parts*bins*2)
	for i := range v {
		part, k, of, at := i%2, i/2%bins, i/(2*bins)%parts, i/(2*bins)/parts
		re, im := dftFactor(k, at, n, 0), dftFactor(k, at, n, 1)
		if inverse {
			re, im = re/float64(n), -im/float64(n)
		}
		switch { // (a + ib)(re + i im)
		case of == part:
			v[i] = re
		case part == 1:
			v[i] = im
		default:
			v[i] = -im
		}
	}
	return v
}
