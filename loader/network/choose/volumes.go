package choose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/ops"
)

// Windows of three axes, and pools whose taps stand apart, are more than the engine has. A
// pool is one along each axis, and a convolution the sum of those of pictures at each depth.

// separated is a pool along one axis after the other, each the largest, or the sum, of as
// many parts of the tensor as it has taps.
func separated(n *Chooser, x Operand, w ops.Window, average bool) (Operand, error) {
	op, outside := layer.Max, -65504.0
	if average {
		op, outside = layer.Add, 0
	}
	extents := slices.Clone(x.Dims[2:])
	const most = 32 // taps of an axis
	for i, taps := range w.Taps {
		if taps > most {
			return x, fmt.Errorf("%d taps along an axis, at most %d are joined one by one", taps, most)
		}
		var err error
		need := (w.Out[i]-1)*w.Strides[i] + (taps-1)*w.Dilations[i] + 1
		if x, err = surrounded(n, x, 2+i, w.Before[i], max(0, need-w.Before[i]-x.Dims[2+i]), outside); err != nil {
			return x, err
		}
		var y Operand
		for t := range taps {
			if err := n.Spend(placeBytes, w.Out[i]); err != nil {
				return x, err
			}
			part, err := n.picked(x, 2+i, everyOther(w.Out[i], w.Strides[i], t*w.Dilations[i]))
			if err == nil && t > 0 {
				part, err = n.Binary(op, y, part)
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
	return averaged(n, x, w, extents, 1)
}

// averaged turns the sums of windows, each divided by divisor, into averages over the elements
// that count. Elements beyond the padding, which only the rounding up of the result's extents
// reaches, never count.
func averaged(n *Chooser, x Operand, w ops.Window, extents []int, divisor int) (Operand, error) {
	padded := n.Int("count_include_pad", 0) != 0
	counts, alike, all := make([][]int, len(extents)), true, 1
	for i, in := range extents {
		low, high := 0, in
		if padded {
			low, high = -w.Before[i], in+paddingBehind(n, w, i)
		}
		if err := n.Spend(numberBytes * w.Out[i]); err != nil {
			return x, err
		}
		for o := range w.Out[i] {
			counts[i] = append(counts[i], max(1, tapsWithin(low, high, o*w.Strides[i]-w.Before[i], w.Taps[i], w.Dilations[i])))
			alike = alike && counts[i][o] == counts[i][0]
		}
		all *= counts[i][0]
	}
	if alike {
		return n.scaled(x, float64(divisor)/float64(all))
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
	return n.withConstant(layer.Mul, x, &graph.Const{Dims: w.Out, Numbers: factors})
}

// tapsWithin returns how many of a window's taps are at places from low to high-1: the first tap
// is at place first, and the others follow dilation places apart.
func tapsWithin(low, high, first, taps, dilation int) int {
	at := func(place int) int { // the first tap at or behind a place
		return min(taps, max(0, (place-first+dilation-1)/dilation))
	}
	return max(0, at(high)-at(low))
}

// paddingBehind returns the padding that the file asks for behind an axis of a pool.
func paddingBehind(n *Chooser, w ops.Window, axis int) int {
	if n.Int("ceil_mode", 0) == 0 {
		return w.After[axis]
	}
	if given, ok, _ := n.List("pads", -1); ok && len(given) == 2*len(w.Taps) {
		return given[len(w.Taps)+axis]
	}
	return 0
}

// surrounded has a number before and behind an axis.
func surrounded(n *Chooser, x Operand, axis, before, after int, value float64) (Operand, error) {
	if before == 0 && after == 0 {
		return x, nil
	}
	return bordered(n, x, axis, before, after, value)
}

// everyOther are count places from one on, each so many behind the other.
func everyOther(count, step, first int) []int {
	list := make([]int, count)
	for i := range list {
		list[i] = first + i*step
	}
	return list
}

// volumetric is a convolution over depth, height and width: of the picture that each tap of
// depth meets, and their sum.
func volumetric(n *Chooser, x Operand) (Operand, error) {
	c := n.Const(1)
	if c == nil {
		return Operand{}, errors.New("its weights are computed, not constants")
	}
	w, err := ops.WindowOf(n.Node, x.Dims[2:], c.Dims[2:])
	if err != nil {
		return Operand{}, err
	}
	v, err := c.Halves()
	if err != nil {
		return Operand{}, err
	}
	cout, deep := c.Dims[0], c.Dims[2]
	bias, err := bias(n, 2, cout)
	if err != nil {
		return Operand{}, err
	}
	d := x.Dims
	if x, err = n.permuted(x, []int{0, 2, 1, 3, 4}); err != nil {
		return Operand{}, err
	}
	need := (w.Out[0]-1)*w.Strides[0] + (deep-1)*w.Dilations[0] + 1
	if x, err = surrounded(n, x, 1, w.Before[0], max(0, need-w.Before[0]-d[2]), 0); err != nil {
		return Operand{}, err
	}
	lw := layer.Window{
		Kh: (w.Taps[1]-1)*w.Dilations[1] + 1, Kw: (w.Taps[2]-1)*w.Dilations[2] + 1, Sy: w.Strides[1], Sx: w.Strides[2],
		Py: w.Before[1], Px: w.Before[2], Qy: w.After[1], Qx: w.After[2],
	}
	var sum Operand
	for t := range deep {
		if err := n.Spend(placeBytes * w.Out[0]); err != nil {
			return Operand{}, err
		}
		part, err := n.picked(x, 1, everyOther(w.Out[0], w.Strides[0], t*w.Dilations[0]))
		if err != nil {
			return Operand{}, err
		}
		k := atDepth(c.Dims, v, t)
		if k, err = k.spread(n, w.Dilations[1], w.Dilations[2]); err != nil {
			return Operand{}, err
		}
		y, err := convolved(n, part.As(d[0]*w.Out[0], d[1], d[3], d[4]), k, lw, n.Int("group", 1), bias)
		if err == nil && t > 0 {
			y, err = n.Binary(layer.Add, sum, y)
		}
		if err != nil {
			return Operand{}, err
		}
		sum, bias = y, biasOf{}
	}
	y, err := n.permuted(sum.As(d[0], w.Out[0], cout, w.Out[1], w.Out[2]), []int{0, 2, 1, 3, 4})
	return y.As(n.Results[0].Dims...), err
}

// atDepth are the weights of one tap of depth; v is nil where they are not known.
func atDepth(dims []int, v []float16.Float16, t int) kernel {
	k := kernel{cout: dims[0], cin: dims[1], kh: dims[3], kw: dims[4]}
	if v == nil {
		return k
	}
	each := k.kh * k.kw
	k.v = make([]float16.Float16, 0, k.cout*k.cin*each)
	for p := range k.cout * k.cin {
		k.v = append(k.v, v[(p*dims[2]+t)*each:][:each]...)
	}
	return k
}
