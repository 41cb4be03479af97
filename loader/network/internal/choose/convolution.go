package choose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
	"anesim/loader/network/internal/ops"
	"anesim/loader/network/list"
)

// convWeights holds the weights of a convolution as [cout][cin/groups][kh][kw]. The slice v is nil
// if the weights are in a file that was not read. With a dilation above 1, the distance between the
// taps along both axes, kh and kw include the gaps between taps, and v has only the taps.
type convWeights struct {
	cout, cin, kh, kw int
	v                 []float16.Float16
	dilation          int // 0 for none
}

// weightAt returns the weight of output channel o, input channel i, row y and column x.
func (k *convWeights) weightAt(o, i, y, x int) float16.Float16 {
	return k.v[((o*k.cin+i)*k.kh+y)*k.kw+x]
}

// withDilation returns the weights with dy-1 rows and dx-1 columns of zeros between taps. Weights
// without values get the new size, and a dilation if it is the same along both axes.
func (k *convWeights) withDilation(n *Chooser, dy, dx int) (convWeights, error) {
	s := convWeights{cout: k.cout, cin: k.cin, kh: (k.kh-1)*dy + 1, kw: (k.kw-1)*dx + 1}
	switch {
	case dy == 1 && dx == 1:
		s.v = k.v
		return s, nil
	case k.v == nil:
		s.dilation = k.commonDilation(dy, dx)
		return s, nil
	}
	if err := n.Spend(HalfBytes, s.cout, s.cin, s.kh, s.kw); err != nil {
		return s, err
	}
	s.v = make([]float16.Float16, s.cout*s.cin*s.kh*s.kw)
	for p := range k.cout * k.cin {
		for y := range k.kh {
			for x := range k.kw {
				s.v[(p*s.kh+y*dy)*s.kw+x*dx] = k.v[(p*k.kh+y)*k.kw+x]
			}
		}
	}
	return s, nil
}

// commonDilation returns the distance between taps if it is the same along both axes, or if there is
// only one row or column of taps, and 0 otherwise.
func (k *convWeights) commonDilation(dy, dx int) int {
	switch {
	case dy == dx || k.kw == 1:
		return dy
	case k.kh == 1:
		return dx
	}
	return 0
}

// dilate is like [convWeights.withDilation] for a convolution with window w. It keeps the taps
// without zeros if one layer with a dilation computes the convolution.
func (k *convWeights) dilate(n *Chooser, w layer.Window, dy, dx int) (convWeights, error) {
	d := k.commonDilation(dy, dx)
	if d <= 1 || needsBlocks(w) {
		return k.withDilation(n, dy, dx)
	}
	s := convWeights{cout: k.cout, cin: k.cin, kh: (k.kh-1)*dy + 1, kw: (k.kw-1)*dx + 1, v: k.v, dilation: d}
	return s, nil
}

// needsBlocks reports whether [convolveBlocks] computes a convolution with window w.
func needsBlocks(w layer.Window) bool {
	return max(w.Sx, w.Sy) > layer.MaxStride || w.Sx > 1 && w.Kw > layer.MaxKernel || w.Sy > 1 && w.Kh > layer.MaxKernel
}

// readConvWeights returns the weights in input i of the node, a constant with one or two spatial
// axes. With one axis, kh is 1. It returns an error if the weights are computed.
func readConvWeights(n *Chooser, i int) (convWeights, error) {
	c := n.Const(i)
	if c == nil {
		return convWeights{}, errors.New("weights are computed; want constants")
	}
	v, err := c.Halves()
	d := c.Dims
	k := convWeights{cout: d[0], cin: d[1], kh: 1, kw: d[len(d)-1], v: v}
	if len(d) == 4 {
		k.kh = d[2]
	}
	return k, err
}

// viewAsImage returns a view of x, which has one or two spatial axes, as an N, C, H, W tensor, and
// w as an engine window over that tensor. The size of the engine window includes the dilation.
func viewAsImage(n *Chooser, x Operand, w ops.Window) (Operand, layer.Window, error) {
	switch len(w.Taps) {
	case 1:
		return x.As(x.Dims[0], x.Dims[1], 1, x.Dims[2]), layer.Window{
			Kh: 1, Kw: (w.Taps[0]-1)*w.Dilations[0] + 1, Sy: 1, Sx: w.Strides[0], Px: w.Before[0], Qx: w.After[0],
		}, nil
	case 2:
		return x, layer.Window{
			Kh: (w.Taps[0]-1)*w.Dilations[0] + 1, Kw: (w.Taps[1]-1)*w.Dilations[1] + 1, Sy: w.Strides[0], Sx: w.Strides[1],
			Py: w.Before[0], Px: w.Before[1], Qy: w.After[0], Qx: w.After[1],
		}, nil
	}
	return x, layer.Window{}, fmt.Errorf("kernel has %d dimensions; want 1 or 2", len(w.Taps))
}

// addConvLayers adds layers that compute a convolution over one, two or three spatial axes. If the
// input is a zero-padded tensor, the convolution reads the unpadded tensor and adds the zeros
// itself where possible.
func addConvLayers(n *Chooser, x Operand) (Operand, error) {
	if len(x.Dims) == 5 {
		return convolve3D(n, x)
	}
	k, err := readConvWeights(n, 1)
	if err != nil {
		return Operand{}, err
	}
	w, err := ops.WindowOf(n.Node, x.Dims[2:], n.Const(1).Dims[2:])
	if err != nil {
		return Operand{}, err
	}
	// The padding layers stay in the network, marked as spare, in case another node reads the padded
	// tensor.
	if p, ok := n.paddings[n.In[0].Name]; ok && canAbsorbPadding(n, p, w) {
		x = p.source
		for i := range w.Before {
			w.Before[i] += p.before[i]
			w.After[i] += p.after[i]
		}
	}
	x, lw, err := viewAsImage(n, x, w)
	if err != nil {
		return Operand{}, err
	}
	bias, err := readConvBias(n, 2, k.cout)
	if err != nil {
		return Operand{}, err
	}
	dy, dx := w.Dilation()
	if k, err = k.dilate(n, lw, dy, dx); err != nil {
		return Operand{}, err
	}
	y, err := convolveImage(n, x, k, lw, n.Int("group", 1), bias)
	return y.As(n.Results[0].Dims...), err
}

// canAbsorbPadding reports whether a convolution with window w can add the zeros of p itself. Its
// own padding must be explicit and, together with p, less than the extent of the dilated window
// along every axis.
func canAbsorbPadding(n *Chooser, p padding, w ops.Window) bool {
	if len(p.before) != len(w.Taps) || n.Text("auto_pad", "NOTSET") != "NOTSET" {
		return false
	}
	for i, t := range w.Taps {
		if span := (t-1)*w.Dilations[i] + 1; max(p.before[i]+w.Before[i], p.after[i]+w.After[i]) >= span {
			return false
		}
	}
	return true
}

// A biasValues holds the optional bias of a layer.
type biasValues struct {
	given bool              // whether the layer has a bias
	v     []float16.Float16 // one per channel; nil if they are in a file that was not read
}

// readConvBias returns the constant bias in the optional input i. It returns an error if the bias
// is computed or does not have one value per channel.
func readConvBias(n *Chooser, i, channels int) (b biasValues, err error) {
	if !n.Given(i) {
		return b, nil
	}
	c := n.Const(i)
	switch {
	case c == nil:
		return b, errors.New("bias is computed; want a constant")
	case c.Elements() != channels:
		return b, fmt.Errorf("bias has shape %v; want one value for each of %d channels", c.Dims, channels)
	}
	b.given = true
	b.v, err = c.Halves()
	return b, err
}

// convolveImage adds layers that convolve x, an N, C, H, W tensor. A separate layer adds padding
// that is as large as the window. [convolveBlocks] handles strides, and windows with a stride, that
// exceed the engine's limits.
func convolveImage(n *Chooser, x Operand, k convWeights, w layer.Window, groups int, b biasValues) (Operand, error) {
	if max(w.Py, w.Qy) >= w.Kh || max(w.Px, w.Qx) >= w.Kw {
		var err error
		if x, err = padWithConstant(n, x, 2, w.Py, w.Qy, 0); err == nil {
			x, err = padWithConstant(n, x, 3, w.Px, w.Qx, 0)
		}
		if err != nil {
			return x, err
		}
		w.Py, w.Qy, w.Px, w.Qx = 0, 0, 0, 0
	}
	if needsBlocks(w) {
		return convolveBlocks(n, x, k, w, groups, b)
	}
	l := layer.Conv(x.shape(), k.cout, w)
	l.Groups, l.Bias, l.Dilation = groups, b.given, k.dilation
	return n.addLayer(l, layer.Weights{Filter: k.v, Bias: b.v}, nil, x)
}

// convolveBlocks computes a strided convolution with stride 1: each block of Sy x Sx pixels
// becomes a pixel with Sy*Sx times as many channels, and the weights are rearranged to match. The
// channels of a group stay together.
func convolveBlocks(n *Chooser, x Operand, k convWeights, w layer.Window, groups int, b biasValues) (Operand, error) {
	d := x.Dims
	outY, outX := (d[2]+w.Py+w.Qy-w.Kh)/w.Sy+1, (d[3]+w.Px+w.Qx-w.Kw)/w.Sx+1
	ky, kx := (w.Kh+w.Sy-1)/w.Sy, (w.Kw+w.Sx-1)/w.Sx
	// The height and width of the image that the windows cover, in whole blocks.
	high, wide := (outY+ky-1)*w.Sy, (outX+kx-1)*w.Sx
	fitExtent := func(x Operand, axis, before, extent int) (Operand, error) {
		x, err := padWithConstant(n, x, axis, before, max(0, extent-before-x.Dims[axis]), 0)
		if err == nil && x.Dims[axis] > extent {
			x, err = n.sliceAxis(x, axis, 0, extent)
		}
		return x, err
	}
	var err error
	if high != d[2] || w.Py > 0 {
		x, err = fitExtent(x, 2, w.Py, high)
	}
	if err == nil && (wide != d[3] || w.Px > 0) {
		x, err = fitExtent(x, 3, w.Px, wide)
	}
	if err != nil {
		return x, err
	}
	by, bx := high/w.Sy, wide/w.Sx
	if x, err = n.permute(x.As(d[0], d[1], by, w.Sy, bx, w.Sx), []int{0, 1, 3, 5, 2, 4}); err != nil {
		return x, err
	}
	block := w.Sy * w.Sx
	m := convWeights{cout: k.cout, cin: k.cin * block, kh: ky, kw: kx}
	if k.v != nil {
		if err := n.Spend(HalfBytes, m.cout, m.cin, ky, kx); err != nil {
			return x, err
		}
		m.v = make([]float16.Float16, m.cout*m.cin*ky*kx)
		for o := range k.cout {
			for c := range k.cin {
				for y := range k.kh {
					for x := range k.kw {
						ch := c*block + y%w.Sy*w.Sx + x%w.Sx
						m.v[((o*m.cin+ch)*ky+y/w.Sy)*kx+x/w.Sx] = k.weightAt(o, c, y, x)
					}
				}
			}
		}
	}
	l := layer.Conv(layer.Shape{N: d[0], C: d[1] * block, H: by, W: bx}, k.cout, layer.Window{Kh: ky, Kw: kx, Sy: 1, Sx: 1})
	l.Groups, l.Bias = groups, b.given
	return n.addLayer(l, layer.Weights{Filter: m.v, Bias: b.v}, nil, x)
}

// addConvTransposeLayers adds layers that compute a transposed convolution, for which the engine
// has a layer. If the node has groups or exceeds the limits of that layer, an ordinary convolution
// computes the output positions within one stride as separate channels, which are then interleaved
// (see [convolvePhases]).
func addConvTransposeLayers(n *Chooser, x Operand) (Operand, error) {
	k, err := readConvWeights(n, 1) // cout and cin change places: [cin][cout/groups][kh][kw]
	if err != nil {
		return Operand{}, err
	}
	w, err := ops.TransposedWindow(n.Node, x.Dims, n.Const(1).Dims)
	if err != nil {
		return Operand{}, err
	}
	groups := n.Int("group", 1)
	bias, err := readConvBias(n, 2, k.cin*groups)
	if err != nil {
		return Operand{}, err
	}
	if k.v == nil {
		return Operand{}, errors.New("weights are in a file that was not read")
	}
	x, lw, err := viewAsImage(n, x, w)
	if err != nil {
		return Operand{}, err
	}
	dy, dx := w.Dilation()
	if k, err = k.withDilation(n, dy, dx); err != nil {
		return Operand{}, err
	}
	out := n.Results[0].Dims
	high, wide := 1, out[len(out)-1]
	if len(out) == 4 {
		high = out[2]
	}
	if l := newDeconvolution(x, k, lw, high, wide); groups == 1 && l.Validate() == nil {
		if err := n.Spend(HalfBytes, l.Cout, k.cout, l.Window.Kh, l.Window.Kw); err != nil {
			return Operand{}, err
		}
		l.Bias = bias.given
		y, err := n.addLayer(l, layer.Weights{Filter: k.outputChannelsFirst(&l), Bias: bias.v}, nil, x)
		return y.As(out...), err
	}
	// Output positions that no input element reaches hold only the bias. If there are any, they
	// are first filled with zeros, and the bias is added afterwards.
	full := func(in, taps, step int) int { return (in + (taps+step-1)/step - 1) * step }
	unreached := lw.Py < 0 || lw.Px < 0 || lw.Py+high > full(x.Dims[2], k.kh, lw.Sy) || lw.Px+wide > full(x.Dims[3], k.kw, lw.Sx)
	inside := bias
	if unreached {
		inside = biasValues{}
	}
	y, err := convolvePhases(n, x, k, lw, groups, inside)
	if err != nil {
		return Operand{}, err
	}
	if y, err = cropImage(n, y, [2][2]int{{lw.Py, high}, {lw.Px, wide}}); err != nil {
		return Operand{}, err
	}
	if unreached && bias.given {
		if y, err = n.applyConstantOperand(layer.Add, y, n.Const(2).As([]int{k.cin * groups, 1, 1})); err != nil {
			return Operand{}, err
		}
	}
	return y.As(out...), nil
}

// newDeconvolution returns a layer for the transposed convolution of x with weights k and window w.
// Its result has high rows and wide columns. If that is more than the taps reach, the window is
// extended by taps of zero.
func newDeconvolution(x Operand, k convWeights, w layer.Window, high, wide int) layer.Layer {
	l := layer.Conv(x.shape(), k.cin, w)
	l.Op = layer.Deconvolution
	v := &l.Window
	v.Qy, v.Qx = (l.In.H-1)*v.Sy+k.kh-v.Py-high, (l.In.W-1)*v.Sx+k.kw-v.Px-wide
	v.Kh, v.Qy = v.Kh-min(v.Qy, 0), max(v.Qy, 0)
	v.Kw, v.Qx = v.Kw-min(v.Qx, 0), max(v.Qx, 0)
	return l
}

// outputChannelsFirst returns the weights of a transposed convolution in the order of layer l,
// output channels first. ONNX stores input channels first.
func (k *convWeights) outputChannelsFirst(l *layer.Layer) []float16.Float16 {
	w := &l.Window
	v := make([]float16.Float16, k.cin*k.cout*w.Kh*w.Kw)
	for o := range k.cin {
		for i := range k.cout {
			for y := range k.kh {
				copy(v[((o*k.cout+i)*w.Kh+y)*w.Kw:], k.v[((i*k.cin+o)*k.kh+y)*k.kw:][:k.kw])
			}
		}
	}
	return v
}

// cropImage adds layers that cut a rectangle out of image y. parts[0] holds the first row and the
// number of rows, and parts[1] the first column and the number of columns. Positions outside the
// image are filled with zeros.
func cropImage(n *Chooser, y Operand, parts [2][2]int) (Operand, error) {
	var err error
	for i, p := range parts {
		axis := 2 + i
		if before := -p[0]; before > 0 {
			if y, err = padWithConstant(n, y, axis, before, 0, 0); err != nil {
				return y, err
			}
			p[0] = 0
		}
		if short := p[0] + p[1] - y.Dims[axis]; short > 0 {
			if y, err = padWithConstant(n, y, axis, 0, short, 0); err != nil {
				return y, err
			}
		}
		if y, err = n.sliceAxis(y, axis, p[0], p[1]); err != nil {
			return y, err
		}
	}
	return y, nil
}

// convolvePhases computes the uncropped result of a transposed convolution with an ordinary one.
// Position p within a stride s depends only on taps p, p+s, p+2s and so on, the first of which is
// applied to the last input element of the window. Each position becomes a set of channels, which
// are then interleaved, so the extents of the result are multiples of the strides.
func convolvePhases(n *Chooser, x Operand, k convWeights, w layer.Window, groups int, b biasValues) (Operand, error) {
	sy, sx := w.Sy, w.Sx
	ky, kx := (k.kh+sy-1)/sy, (k.kw+sx-1)/sx
	each, cin := k.cin, x.Dims[1]/groups // output and input channels of a group
	cout := groups * each
	places := sy * sx
	if err := n.Spend(HalfBytes, cout, places, cin, ky, kx); err != nil {
		return x, err
	}
	m := convWeights{cout: cout * places, cin: cin, kh: ky, kw: kx, v: make([]float16.Float16, cout*places*cin*ky*kx)}
	repeated := biasValues{given: b.given}
	for g := range groups {
		for o := range each {
			for p := range places {
				// The channels of a group stay together. The positions of one output channel
				// are neighboring channels.
				ch := (g*each+o)*places + p
				if b.v != nil {
					repeated.v = append(repeated.v, b.v[g*each+o])
				}
				for i := range cin {
					for y := range ky {
						for xx := range kx {
							ty, tx := p/sx+(ky-1-y)*sy, p%sx+(kx-1-xx)*sx
							if ty < k.kh && tx < k.kw {
								m.v[((ch*cin+i)*ky+y)*kx+xx] = k.weightAt(g*cin+i, o, ty, tx)
							}
						}
					}
				}
			}
		}
	}
	y, err := convolveImage(n, x, m, layer.Window{Kh: ky, Kw: kx, Sy: 1, Sx: 1, Py: ky - 1, Qy: ky - 1, Px: kx - 1, Qx: kx - 1}, groups, repeated)
	if err != nil || places == 1 {
		return y, err
	}
	d := y.Dims
	y, err = n.permute(y.As(d[0], cout, sy, sx, d[2], d[3]), []int{0, 1, 4, 2, 5, 3})
	return y.As(d[0], cout, d[2]*sy, d[3]*sx), err
}

// addPoolLayers adds layers that compute a maximum or average pool. An average that does not count
// the padding is corrected by a factor for each output position.
func addPoolLayers(n *Chooser, x Operand) (Operand, error) {
	if len(n.Out) > 1 && n.Out[1].Given() {
		return Operand{}, errors.New(`output "Indices" is not supported; the engine computes only the maxima`)
	}
	n.Ignore("storage_order") // of the indices
	w, err := ops.WindowOf(n.Node, x.Dims[2:], nil)
	if err != nil {
		return Operand{}, err
	}
	average := n.Op == "AveragePool"
	if len(w.Taps) == 3 || slices.Max(w.Dilations) > 1 {
		y, err := poolAxisByAxis(n, x, w, average)
		return y.As(n.Results[0].Dims...), err
	}
	extents := slices.Clone(x.Dims[2:])
	x, lw, err := viewAsImage(n, x, w)
	if err != nil {
		return Operand{}, err
	}
	y, err := n.addListLayer(list.Pooling(x.shape(), lw, average), nil, x)
	if err == nil && average {
		y, err = convertSumsToAverages(n, y, w, extents, graph.Elements(w.Taps))
	}
	if err != nil {
		return Operand{}, err
	}
	return y.As(n.Results[0].Dims...), nil
}
