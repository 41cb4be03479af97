package explain

import (
	"fmt"

	"anesim/loader/lower"
)

// A rewrite is another layer that gives the same values.
type rewrite struct {
	change string // what is different
	needs  string // what else the network has to do for it
	layer  lower.Layer
	// reshaped says that height and width alone are different: [ReshapeLayers].
	reshaped bool
}

// rewrites are the layers that give the values of one, in another place or beside others.
func rewrites(l *lower.Layer) (list []rewrite) {
	for _, find := range [...]func(*lower.Layer) []rewrite{
		flattened, swapped, otherAxes, wholeGroupsOfChannels, batchAsGroups, productAsConv, otherSide,
	} {
		list = append(list, find(l)...)
	}
	return list
}

// pointwise reports whether each pixel's result is of the same pixel alone.
func pointwise(l *lower.Layer) bool {
	switch l.Op {
	case lower.Convolution:
		w := l.Window
		return w.Kh == 1 && w.Kw == 1 && w.Sy == 1 && w.Sx == 1 && w.Py|w.Px|w.Qy|w.Qx == 0
	case lower.Add, lower.Sub, lower.Mul, lower.Max, lower.Min, lower.RealDiv, lower.Average:
		return l.Second != lower.Runtime || l.SecondShape == l.In
	case lower.ReLU, lower.Sigmoid, lower.Tanh, lower.GELU, lower.SiLU, lower.Exp, lower.Sqrt, lower.Rsqrt, lower.Abs,
		lower.Square, lower.Cube, lower.LeakyReLU, lower.PReLU, lower.ReLU6, lower.Clip, lower.ELU, lower.SELU,
		lower.HardSigmoid, lower.HardSwish, lower.Softplus, lower.Softsign, lower.Sign, lower.Ceil, lower.Floor,
		lower.Frac, lower.Log, lower.Inverse, lower.Sin, lower.Cos, lower.Atan, lower.Erf:
		return true
	}
	return false
}

// sized is the layer with another height and width.
func sized(l lower.Layer, h, w int) lower.Layer {
	if l.SecondShape == l.In && l.In != (lower.Shape{}) {
		l.SecondShape.H, l.SecondShape.W = h, w
	}
	l.In.H, l.In.W = h, w
	return l
}

// flattened lays the pixels of a layer that looks at none beside its own in a row, or in
// a column. The values stay where they are in memory order.
func flattened(l *lower.Layer) (list []rewrite) {
	n := l.In.H * l.In.W
	if !pointwise(l) {
		return nil
	}
	for _, to := range [...]struct{ h, w int }{{1, n}, {n, 1}} {
		if to.h == l.In.H {
			continue
		}
		list = append(list, rewrite{
			fmt.Sprintf("reshape h=%d w=%d to h=%d w=%d", l.In.H, l.In.W, to.h, to.w),
			"a reshape before and behind it: the same values in the same order",
			sized(*l, to.h, to.w), true,
		})
	}
	return list
}

// swapped walks columns as rows.
func swapped(l *lower.Layer) []rewrite {
	if l.In.H == l.In.W || l.In.H == 1 || l.In.W == 1 || l.Op != lower.Convolution && l.Op != lower.Pool {
		return nil // a row or a column is what flattening tries
	}
	x := sized(*l, l.In.W, l.In.H)
	w := &x.Window
	w.Kh, w.Kw, w.Sy, w.Sx, w.Py, w.Px, w.Qy, w.Qx = w.Kw, w.Kh, w.Sx, w.Sy, w.Px, w.Py, w.Qx, w.Qy
	return []rewrite{{change: "swap height and width, in tensors and kernel", needs: "height and width swapped in its neighbours too, or a transpose on each side", layer: x}}
}

// extent is the extent of a single axis.
func extent(s *lower.Shape, axis lower.Axes) *int {
	switch axis {
	case lower.AxisC:
		return &s.C
	case lower.AxisH:
		return &s.H
	}
	return &s.W
}

// otherAxes works along another axis, with the tensor's axes swapped.
func otherAxes(l *lower.Layer) (list []rewrite) {
	switch l.Op {
	case lower.Softmax, lower.LayerNorm, lower.ReduceSum, lower.ReduceMean, lower.ReduceMax, lower.ReduceMin:
	default:
		return nil
	}
	for _, from := range [...]lower.Axes{lower.AxisC, lower.AxisH, lower.AxisW} {
		if l.Axes != from {
			continue
		}
		for _, to := range [...]lower.Axes{lower.AxisC, lower.AxisH, lower.AxisW} {
			if to == from {
				continue
			}
			x := *l
			x.Axes = to
			a, b := extent(&x.In, from), extent(&x.In, to)
			*a, *b = *b, *a
			list = append(list, rewrite{
				fmt.Sprintf("move the axis from %s to %s: axis=%s", axesText(from), axesText(to), axesText(to)),
				fmt.Sprintf("%s and %s swapped in its neighbours too, or a transpose on each side", axesText(from), axesText(to)),
				x, false,
			})
		}
	}
	return list
}

// channelGroup is the channels that the array works on at once, one on each engine.
const channelGroup = 16

// wholeGroupsOfChannels fills channels up with zeros.
func wholeGroupsOfChannels(l *lower.Layer) (list []rewrite) {
	up := func(n int) int { return (n + channelGroup - 1) / channelGroup * channelGroup }
	if l.Op != lower.Convolution || l.Groups > 1 {
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
			"zeros for the new weights, and the new channels in its neighbours",
			x, false,
		})
	}
	return list
}

// batchAsGroups makes the images of a batch groups of channels.
func batchAsGroups(l *lower.Layer) []rewrite {
	if l.Op != lower.Convolution || l.In.N == 1 {
		return nil
	}
	n, x := l.In.N, *l
	x.In.N, x.In.C, x.Cout, x.Groups = 1, n*l.In.C, n*l.Cout, n*max(1, l.Groups)
	return []rewrite{{
		fmt.Sprintf("make the batch groups: n=1 cin=%d cout=%d groups=%d", x.In.C, x.Cout, x.Groups),
		"weights repeated for each image, and a reshape before and behind it: the same values in the same order",
		x, false,
	}}
}

// productAsConv makes a product with constants a convolution of one tap: rows are pixels,
// columns channels.
func productAsConv(l *lower.Layer) []rewrite {
	if l.Op != lower.Linear && l.Op != lower.MatMul || l.Second != lower.Constant || l.In.N != 1 || l.In.C != 1 || l.TransposeX || l.TransposeY {
		return nil
	}
	x := lower.Conv(lower.Shape{N: 1, C: l.In.W, H: 1, W: l.In.H}, l.Columns, lower.Valid(1, 1))
	x.Bias, x.Activation = l.Bias, l.Activation
	return []rewrite{{
		"make it a 1x1 convolution, rows as pixels and columns as channels",
		"rows along w and columns along c in its neighbours, or a transpose on each side",
		x, false,
	}}
}

// otherSide makes the transposed product: its sides swapped and transposed.
func otherSide(l *lower.Layer) []rewrite {
	if l.Op != lower.MatMul || l.Second != lower.Runtime || l.TransposeX || l.TransposeY || l.In.H == l.Columns {
		return nil
	}
	x := *l
	x.In.H, x.Columns = l.Columns, l.In.H
	x.SecondShape = lower.Shape{}
	return []rewrite{{
		fmt.Sprintf("swap the sides of the product, both transposed: m=%d n=%d", x.In.H, x.Columns),
		"transposed matrices from and to its neighbours",
		x, false,
	}}
}
