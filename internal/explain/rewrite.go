package explain

import (
	"fmt"

	"anesim/loader/layer"
)

// A rewrite is a layer that computes the same values as another one, with a description of the
// change.
type rewrite struct {
	change string // description of the difference
	needs  string // required changes to the rest of the network
	layer  layer.Layer
	// reshaped is set if only height and width differ, as with [ReshapeLayers].
	reshaped bool
}

// listRewrites returns layers that compute the same values as l in another way, each with a
// description of the change.
func listRewrites(l *layer.Layer) (list []rewrite) {
	for _, find := range [...]func(*layer.Layer) []rewrite{
		flattenPixels, swapHeightWidth, listOtherAxes, padChannels, convertBatchToGroups, convertMatMulToConv, swapMatMulOperands,
	} {
		list = append(list, find(l)...)
	}
	return list
}

// isPointwise reports whether each pixel of the layer's result depends only on the input pixels at
// the same position.
func isPointwise(l *layer.Layer) bool {
	switch l.Op {
	case layer.Convolution:
		w := l.Window
		return w.Kh == 1 && w.Kw == 1 && w.Sy == 1 && w.Sx == 1 && w.Py|w.Px|w.Qy|w.Qx == 0
	case layer.Add, layer.Sub, layer.Mul, layer.Max, layer.Min, layer.RealDiv, layer.Average:
		return l.Second != layer.Runtime || l.SecondShape == l.In
	}
	return l.Op.IsActivation()
}

// withHeightAndWidth returns a copy of layer l whose tensors have the height h and the width w.
func withHeightAndWidth(l layer.Layer, h, w int) layer.Layer {
	if l.SecondShape == l.In && l.In != (layer.Shape{}) {
		l.SecondShape.H, l.SecondShape.W = h, w
	}
	l.In.H, l.In.W = h, w
	return l
}

// flattenPixels returns two variants of a pointwise layer: one with all pixels in one row, and one
// with all pixels in one column. The values keep their order in memory.
func flattenPixels(l *layer.Layer) (list []rewrite) {
	n := l.In.H * l.In.W
	if !isPointwise(l) {
		return nil
	}
	for _, to := range [...]struct{ h, w int }{{1, n}, {n, 1}} {
		if to.h == l.In.H {
			continue
		}
		list = append(list, rewrite{
			fmt.Sprintf("reshape h=%d w=%d to h=%d w=%d", l.In.H, l.In.W, to.h, to.w),
			"a reshape before and after it: the same values in the same order",
			withHeightAndWidth(*l, to.h, to.w), true,
		})
	}
	return list
}

// swapHeightWidth returns a rewrite of layer l in which the height and width of its tensors and of
// its window are swapped. It returns nil for operations other than convolution and pooling, and for
// inputs that are square or have a single row or column.
func swapHeightWidth(l *layer.Layer) []rewrite {
	if l.In.H == l.In.W || l.In.H == 1 || l.In.W == 1 || l.Op != layer.Convolution && l.Op != layer.Pool {
		return nil // flattenPixels tries rows and columns
	}
	x := withHeightAndWidth(*l, l.In.W, l.In.H)
	w := &x.Window
	w.Kh, w.Kw, w.Sy, w.Sx, w.Py, w.Px, w.Qy, w.Qx = w.Kw, w.Kh, w.Sx, w.Sy, w.Px, w.Py, w.Qx, w.Qy
	return []rewrite{{change: "swap height and width, in tensors and kernel", needs: "height and width swapped in its neighbors too, or a transpose on each side", layer: x}}
}

// extentPointer returns a pointer to the field of s that holds the extent along an axis.
func extentPointer(s *layer.Shape, axis layer.Axes) *int {
	switch axis {
	case layer.AxisC:
		return &s.C
	case layer.AxisH:
		return &s.H
	}
	return &s.W
}

// listOtherAxes returns variants of a softmax, normalization or reduction that work along another
// axis. The axes of their tensors are swapped accordingly.
func listOtherAxes(l *layer.Layer) (list []rewrite) {
	switch l.Op {
	case layer.Softmax, layer.LayerNorm, layer.ReduceSum, layer.ReduceMean, layer.ReduceMax, layer.ReduceMin:
	default:
		return nil
	}
	for _, from := range [...]layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW} {
		if l.Axes != from {
			continue
		}
		for _, to := range [...]layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW} {
			if to == from {
				continue
			}
			x := *l
			x.Axes = to
			a, b := extentPointer(&x.In, from), extentPointer(&x.In, to)
			*a, *b = *b, *a
			list = append(list, rewrite{
				fmt.Sprintf("move the axis from %s to %s: axis=%s", formatAxes(from), formatAxes(to), formatAxes(to)),
				fmt.Sprintf("%s and %s swapped in its neighbors too, or a transpose on each side", formatAxes(from), formatAxes(to)),
				x, false,
			})
		}
	}
	return list
}

// channelGroup is the number of channels that the array computes at once, one on each
// engine.
const channelGroup = 16

// padChannels returns layer l with its channels padded with zeros to a multiple of channelGroup.
func padChannels(l *layer.Layer) (list []rewrite) {
	up := func(n int) int { return (n + channelGroup - 1) / channelGroup * channelGroup }
	if l.Op != layer.Convolution || l.Groups > 1 {
		return nil
	}
	in, out := up(l.In.C), up(l.Cout)
	for _, to := range [...]struct{ in, out int }{{in, l.Cout}, {l.In.C, out}, {in, out}} {
		if to.in == l.In.C && to.out == l.Cout || len(list) > 0 && to == (struct{ in, out int }{list[len(list)-1].layer.In.C, list[len(list)-1].layer.Cout}) {
			continue
		}
		x := *l
		x.In.C, x.Cout = to.in, to.out
		list = append(list, rewrite{
			fmt.Sprintf("fill channels up to multiples of %d: cin=%d cout=%d", channelGroup, to.in, to.out),
			"zeros for the new weights, and the new channels in its neighbors",
			x, false,
		})
	}
	return list
}

// convertBatchToGroups returns a layer that treats the batch of l as groups of channels of a single
// image.
func convertBatchToGroups(l *layer.Layer) []rewrite {
	if l.Op != layer.Convolution || l.In.N == 1 {
		return nil
	}
	n, x := l.In.N, *l
	x.In.N, x.In.C, x.Cout, x.Groups = 1, n*l.In.C, n*l.Cout, n*max(1, l.Groups)
	return []rewrite{{
		fmt.Sprintf("make the batch groups: n=1 cin=%d cout=%d groups=%d", x.In.C, x.Cout, x.Groups),
		"weights repeated for each image, and a reshape before and after it: the same values in the same order",
		x, false,
	}}
}

// convertMatMulToConv returns a 1x1 convolution that computes the same as a matmul with constant
// weights. The rows of the matmul become pixels, and its columns become channels.
func convertMatMulToConv(l *layer.Layer) []rewrite {
	if l.Op != layer.Linear && l.Op != layer.MatMul || l.Second != layer.Constant || l.In.N != 1 || l.In.C != 1 || l.TransposeX || l.TransposeY {
		return nil
	}
	x := layer.Conv(layer.Shape{N: 1, C: l.In.W, H: 1, W: l.In.H}, l.Columns, layer.Valid(1, 1))
	x.Bias, x.Factor, x.Activation = l.Bias, l.Factor, l.Activation
	return []rewrite{{
		"make it a 1x1 convolution, rows as pixels and columns as channels",
		"rows along w and columns along c in its neighbors, or a transpose on each side",
		x, false,
	}}
}

// swapMatMulOperands returns a matmul of the transposed operands of l in reverse order. Its result
// is the transpose of l's result.
func swapMatMulOperands(l *layer.Layer) []rewrite {
	if l.Op != layer.MatMul || l.Second != layer.Runtime || l.TransposeX || l.TransposeY || l.In.H == l.Columns {
		return nil
	}
	x := *l
	x.In.H, x.Columns = l.Columns, l.In.H
	x.SecondShape = layer.Shape{}
	return []rewrite{{
		fmt.Sprintf("swap the sides of the product, both transposed: m=%d n=%d", x.In.H, x.Columns),
		"transposed matrices from and to its neighbors",
		x, false,
	}}
}
