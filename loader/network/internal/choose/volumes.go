package choose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
)

// The engine has neither windows over three axes nor dilated pools. Such a pool is computed along
// one axis at a time, and a convolution as a sum of convolutions of images.

// poolAxisByAxis adds layers that pool along one axis after the other. Along each, they take the
// maximum or the sum of as many strided parts of the tensor as the window has taps.
func poolAxisByAxis(n *Chooser, x Operand, w ops.Window, average bool) (Operand, error) {
	// The smallest finite number, not an infinity, which could meet a factor of 0 later.
	op, border := layer.Max, -65504.0
	if average {
		op, border = layer.Add, 0
	}
	extents := slices.Clone(x.Dims[2:])
	// Each tap is a layer, so a large window is left to the host.
	const most = 32 // taps of an axis
	for i, taps := range w.Taps {
		if taps > most {
			return x, fmt.Errorf("kernel size is %d along an axis; want at most %d", taps, most)
		}
		var err error
		need := (w.Out[i]-1)*w.Strides[i] + (taps-1)*w.Dilations[i] + 1
		if x, err = padWithConstantIfNeeded(n, x, 2+i, w.Before[i], max(0, need-w.Before[i]-x.Dims[2+i]), border); err != nil {
			return x, err
		}
		var y Operand
		for t := range taps {
			if err := n.Spend(indexBytes, w.Out[i]); err != nil {
				return x, err
			}
			part, err := n.selectElements(x, 2+i, stridedIndices(w.Out[i], w.Strides[i], t*w.Dilations[i]))
			if err == nil && t > 0 {
				part, err = n.ApplyBinary(op, y, part)
			}
			if err != nil {
				return x, err
			}
			y = part
		}
		x = y
	}
	if !average {
		return x, nil
	}
	return convertSumsToAverages(n, x, w, extents, 1)
}

// convertSumsToAverages turns x, the sums of windows divided by divisor, into averages over the
// elements that count. Padding counts only if count_include_pad is set. Positions after the
// padding, which windows reach if ceil_mode rounds the result's extents up, never count. extents
// holds the extents of the pool's input.
func convertSumsToAverages(n *Chooser, x Operand, w ops.Window, extents []int, divisor int) (Operand, error) {
	padded := n.Int("count_include_pad", 0) != 0
	counts, alike, all := make([][]int, len(extents)), true, 1
	for i, in := range extents {
		low, high := 0, in
		if padded {
			low, high = -w.Before[i], in+w.After[i]-w.Overhang[i]
		}
		if err := n.Spend(numberBytes * w.Out[i]); err != nil {
			return x, err
		}
		for o := range w.Out[i] {
			// At least 1: a window that covers padding alone has a sum of 0, whatever it is divided by.
			counts[i] = append(counts[i], max(1, countTaps(low, high, o*w.Strides[i]-w.Before[i], w.Taps[i], w.Dilations[i])))
			alike = alike && counts[i][o] == counts[i][0]
		}
		all *= counts[i][0]
	}
	// One factor for all windows, as without padding, needs no constant as large as the result.
	if alike {
		return n.multiplyByNumber(x, float64(divisor)/float64(all))
	}
	if err := n.Spend(2 * numberBytes * graph.Elements(w.Out)); err != nil {
		return x, err
	}
	factors := make([]float64, graph.Elements(w.Out))
	for k := range factors {
		rest, count := k, 1
		for i := len(w.Out) - 1; i >= 0; i-- {
			count *= counts[i][rest%w.Out[i]]
			rest /= w.Out[i]
		}
		factors[k] = float64(divisor) / float64(count)
	}
	return n.applyConstantOperand(layer.Mul, x, &graph.Const{Dims: w.Out, Numbers: factors})
}

// countTaps returns how many taps of a window are at positions from low to high-1. The first tap is
// at position first, and neighboring taps are dilation positions apart.
func countTaps(low, high, first, taps, dilation int) int {
	firstTapAt := func(place int) int { // index of the first tap at or after a place
		return min(taps, max(0, (place-first+dilation-1)/dilation))
	}
	return max(0, firstTapAt(high)-firstTapAt(low))
}

// padWithConstantIfNeeded is like padWithConstant, but returns x unchanged if before and after are
// 0.
func padWithConstantIfNeeded(n *Chooser, x Operand, axis, before, after int, value float64) (Operand, error) {
	if before == 0 && after == 0 {
		return x, nil
	}
	return padWithConstant(n, x, axis, before, after, value)
}

// stridedIndices returns the indices first, first+step, first+2*step and so on, count in all.
func stridedIndices(count, step, first int) []int {
	list := make([]int, count)
	for i := range list {
		list[i] = first + i*step
	}
	return list
}

// convolve3D adds layers that convolve x over depth, height and width. For each tap of the depth
// axis they convolve the images at that depth, and then they sum the results.
func convolve3D(n *Chooser, x Operand) (Operand, error) {
	c := n.Const(1)
	if c == nil {
		return Operand{}, errors.New("weights are computed; want constants")
	}
	w, err := ops.WindowOf(n.Node, x.Dims[2:], c.Dims[2:])
	if err != nil {
		return Operand{}, err
	}
	v, err := c.Halves()
	if err != nil {
		return Operand{}, err
	}
	cout, depth := c.Dims[0], c.Dims[2]
	bias, err := readConvBias(n, 2, cout)
	if err != nil {
		return Operand{}, err
	}
	d := x.Dims
	if x, err = n.permute(x, []int{0, 2, 1, 3, 4}); err != nil {
		return Operand{}, err
	}
	// Depth is padded by a layer. For height and width, the window of each image adds the zeros itself.
	need := (w.Out[0]-1)*w.Strides[0] + (depth-1)*w.Dilations[0] + 1
	if x, err = padWithConstantIfNeeded(n, x, 1, w.Before[0], max(0, need-w.Before[0]-d[2]), 0); err != nil {
		return Operand{}, err
	}
	lw := layer.Window{
		Kh: (w.Taps[1]-1)*w.Dilations[1] + 1, Kw: (w.Taps[2]-1)*w.Dilations[2] + 1, Sy: w.Strides[1], Sx: w.Strides[2],
		Py: w.Before[1], Px: w.Before[2], Qy: w.After[1], Qx: w.After[2],
	}
	var sum Operand
	for t := range depth {
		if err := n.Spend(indexBytes * w.Out[0]); err != nil {
			return Operand{}, err
		}
		part, err := n.selectElements(x, 1, stridedIndices(w.Out[0], w.Strides[0], t*w.Dilations[0]))
		if err != nil {
			return Operand{}, err
		}
		k := weightsAtDepth(c.Dims, v, t)
		if k, err = k.dilate(n, lw, w.Dilations[1], w.Dilations[2]); err != nil {
			return Operand{}, err
		}
		y, err := convolveImage(n, part.As(d[0]*w.Out[0], d[1], d[3], d[4]), k, lw, n.Int("group", 1), bias)
		if err == nil && t > 0 {
			y, err = n.ApplyBinary(layer.Add, sum, y)
		}
		if err != nil {
			return Operand{}, err
		}
		// The bias belongs to the first tap only, or the sum would contain it once for each.
		sum, bias = y, biasValues{}
	}
	y, err := n.permute(sum.As(d[0], w.Out[0], cout, w.Out[1], w.Out[2]), []int{0, 2, 1, 3, 4})
	return y.As(n.Results[0].Dims...), err
}

// weightsAtDepth returns the two-dimensional weights at tap t of the depth axis of a
// three-dimensional convolution. v holds its weights, of shape dims; if v is nil, the result has no
// values.
func weightsAtDepth(dims []int, v []float16.Float16, t int) convWeights {
	k := convWeights{cout: dims[0], cin: dims[1], kh: dims[3], kw: dims[4]}
	if v == nil {
		return k
	}
	area := k.kh * k.kw
	k.v = make([]float16.Float16, 0, k.cout*k.cin*area)
	for p := range k.cout * k.cin {
		k.v = append(k.v, v[(p*dims[2]+t)*area:][:area]...)
	}
	return k
}
