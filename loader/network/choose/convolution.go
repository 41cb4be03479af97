package choose

import (
	"errors"
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
	"anesim/loader/network/list"
	"anesim/loader/network/ops"
)

// A kernel is a convolution's weights, [cout][cin/groups][kh][kw], nil where they stand
// in a file that is not there.
type kernel struct {
	cout, cin, kh, kw int
	v                 []float16.Float16
}

func (k *kernel) at(o, i, y, x int) float16.Float16 {
	return k.v[((o*k.cin+i)*k.kh+y)*k.kw+x]
}

// spread puts zeros between taps.
func (k *kernel) spread(n *Chooser, dy, dx int) (kernel, error) {
	s := kernel{k.cout, k.cin, (k.kh-1)*dy + 1, (k.kw-1)*dx + 1, nil}
	if k.v == nil || dy == 1 && dx == 1 {
		s.v = k.v
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

// kernelOf is the constant of an input, in rows and columns of taps.
func kernelOf(n *Chooser, i int) (kernel, error) {
	c := n.Const(i)
	if c == nil {
		return kernel{}, errors.New("its weights are computed, not constants")
	}
	v, err := c.Halves()
	d := c.Dims
	k := kernel{cout: d[0], cin: d[1], kh: 1, kw: d[len(d)-1], v: v}
	if len(d) == 4 {
		k.kh = d[2]
	}
	return k, err
}

// plane is a picture of one or two axes as N, C, H, W, and its window.
func plane(n *Chooser, x Operand, w ops.Window) (Operand, layer.Window, error) {
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
	return x, layer.Window{}, fmt.Errorf("a window of %d dimensions; the engine has two", len(w.Taps))
}

func conv(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	if len(x.Dims) == 5 {
		return volumetric(n, x)
	}
	k, err := kernelOf(n, 1)
	if err != nil {
		return Operand{}, err
	}
	w, err := ops.WindowOf(n.Node, x.Dims[2:], n.Const(1).Dims[2:])
	if err != nil {
		return Operand{}, err
	}
	if p, ok := n.padded[n.In[0].Name]; ok && takes(n, p, w) {
		x = p.of
		for i := range w.Before {
			w.Before[i] += p.before[i]
			w.After[i] += p.after[i]
		}
	}
	x, lw, err := plane(n, x, w)
	if err != nil {
		return Operand{}, err
	}
	bias, err := bias(n, 2, k.cout)
	if err != nil {
		return Operand{}, err
	}
	dy, dx := w.Dilation()
	if k, err = k.spread(n, dy, dx); err != nil {
		return Operand{}, err
	}
	y, err := convolved(n, x, k, lw, n.Int("group", 1), bias)
	return y.As(n.Results[0].Dims...), err
}

// takes reports whether a window can have a padding as its own: less than its taps.
func takes(n *Chooser, p padding, w ops.Window) bool {
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

// A biasOf is a layer's addends.
type biasOf struct {
	given bool
	v     []float16.Float16 // nil where they are not there
}

// bias is the constant of an optional input, one value a channel.
func bias(n *Chooser, i, channels int) (b biasOf, err error) {
	if !n.Given(i) {
		return b, nil
	}
	c := n.Const(i)
	switch {
	case c == nil:
		return b, errors.New("its bias is computed, not a constant")
	case c.Elements() != channels:
		return b, fmt.Errorf("a bias of shape %v for %d channels", c.Dims, channels)
	}
	b.given = true
	b.v, err = c.Halves()
	return b, err
}

// convolved convolves N, C, H, W. A window beyond the engine's is another's: padding
// that fills it is a task of its own, and steps that are too long take blocks of the
// picture as channels.
func convolved(n *Chooser, x Operand, k kernel, w layer.Window, groups int, b biasOf) (Operand, error) {
	if max(w.Py, w.Qy) >= w.Kh || max(w.Px, w.Qx) >= w.Kw {
		var err error
		if x, err = bordered(n, x, 2, w.Py, w.Qy, 0); err == nil {
			x, err = bordered(n, x, 3, w.Px, w.Qx, 0)
		}
		if err != nil {
			return x, err
		}
		w.Py, w.Qy, w.Px, w.Qx = 0, 0, 0, 0
	}
	if w.Sx > layer.MaxStride || w.Sy > layer.MaxStride || w.Sx > 1 && w.Kw > layer.MaxKernel || w.Sy > 1 && w.Kh > layer.MaxKernel {
		return blocked(n, x, k, w, groups, b)
	}
	l := layer.Conv(x.shape(), k.cout, w)
	l.Groups, l.Bias = groups, b.given
	return n.layer(l, layer.Weights{Filter: k.v, Bias: b.v}, nil, x)
}

// blocked is a convolution of long steps: blocks of the picture as large as a step become
// channels, and the window goes over them by ones.
func blocked(n *Chooser, x Operand, k kernel, w layer.Window, groups int, b biasOf) (Operand, error) {
	if groups != 1 {
		return x, fmt.Errorf("steps of %dx%d in groups; the engine takes at most %d", w.Sy, w.Sx, layer.MaxStride)
	}
	d := x.Dims
	outY, outX := (d[2]+w.Py+w.Qy-w.Kh)/w.Sy+1, (d[3]+w.Px+w.Qx-w.Kw)/w.Sx+1
	ky, kx := (w.Kh+w.Sy-1)/w.Sy, (w.Kw+w.Sx-1)/w.Sx
	// The extents that the window's blocks cover.
	high, wide := (outY+ky-1)*w.Sy, (outX+kx-1)*w.Sx
	fit := func(x Operand, axis, before, extent int) (Operand, error) {
		x, err := bordered(n, x, axis, before, max(0, extent-before-x.Dims[axis]), 0)
		if err == nil && x.Dims[axis] > extent {
			x, err = n.sliced(x, axis, 0, extent)
		}
		return x, err
	}
	var err error
	if high != d[2] || w.Py > 0 {
		x, err = fit(x, 2, w.Py, high)
	}
	if err == nil && (wide != d[3] || w.Px > 0) {
		x, err = fit(x, 3, w.Px, wide)
	}
	if err != nil {
		return x, err
	}
	by, bx := high/w.Sy, wide/w.Sx
	if x, err = n.permuted(x.As(d[0], d[1], by, w.Sy, bx, w.Sx), []int{0, 1, 3, 5, 2, 4}); err != nil {
		return x, err
	}
	block := w.Sy * w.Sx
	m := kernel{k.cout, d[1] * block, ky, kx, nil}
	if k.v != nil {
		if err := n.Spend(HalfBytes, m.cout, m.cin, ky, kx); err != nil {
			return x, err
		}
		m.v = make([]float16.Float16, m.cout*m.cin*ky*kx)
		for o := range k.cout {
			for c := range d[1] {
				for y := range k.kh {
					for x := range k.kw {
						ch := c*block + y%w.Sy*w.Sx + x%w.Sx
						m.v[((o*m.cin+ch)*ky+y/w.Sy)*kx+x/w.Sx] = k.at(o, c, y, x)
					}
				}
			}
		}
	}
	l := layer.Conv(layer.Shape{N: d[0], C: m.cin, H: by, W: bx}, k.cout, layer.Window{Kh: ky, Kw: kx, Sy: 1, Sx: 1})
	l.Bias = b.given
	return n.layer(l, layer.Weights{Filter: m.v, Bias: b.v}, nil, x)
}

// convTranspose is a layer of its own. In groups, or beyond what that layer takes, it is a
// convolution to as many channels a result as a step has places, and those channels put beside
// one another.
func convTranspose(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	k, err := kernelOf(n, 1) // [cin][cout/groups]
	if err != nil {
		return Operand{}, err
	}
	w, err := ops.TransposedWindow(n.Node, x.Dims, n.Const(1).Dims)
	if err != nil {
		return Operand{}, err
	}
	groups := n.Int("group", 1)
	bias, err := bias(n, 2, k.cin*groups)
	if err != nil {
		return Operand{}, err
	}
	if k.v == nil {
		return Operand{}, errors.New("its weights stand in a file that is not there")
	}
	x, lw, err := plane(n, x, w)
	if err != nil {
		return Operand{}, err
	}
	dy, dx := w.Dilation()
	if k, err = k.spread(n, dy, dx); err != nil {
		return Operand{}, err
	}
	out := n.Results[0].Dims
	high, wide := 1, out[len(out)-1]
	if len(out) == 4 {
		high = out[2]
	}
	if l := deconvolution(x, k, lw, high, wide); groups == 1 && l.Validate() == nil {
		if err := n.Spend(HalfBytes, l.Cout, k.cout, l.Window.Kh, l.Window.Kw); err != nil {
			return Operand{}, err
		}
		l.Bias = bias.given
		y, err := n.layer(l, layer.Weights{Filter: k.swapped(&l), Bias: bias.v}, nil, x)
		return y.As(out...), err
	}
	// Places that no element reaches have the bias and nothing else: zeros put around the
	// result would lack it, so that it is added behind them.
	full := func(in, taps, step int) int { return (in + (taps+step-1)/step - 1) * step }
	beyond := lw.Py < 0 || lw.Px < 0 || lw.Py+high > full(x.Dims[2], k.kh, lw.Sy) || lw.Px+wide > full(x.Dims[3], k.kw, lw.Sx)
	inside := bias
	if beyond {
		inside = biasOf{}
	}
	y, err := phases(n, x, k, lw, groups, inside)
	if err != nil {
		return Operand{}, err
	}
	if y, err = cropped(n, y, [2][2]int{{lw.Py, high}, {lw.Px, wide}}); err != nil {
		return Operand{}, err
	}
	if beyond && bias.given {
		if y, err = n.withConstant(layer.Add, y, n.Const(2).As([]int{k.cin * groups, 1, 1})); err != nil {
			return Operand{}, err
		}
	}
	return y.As(out...), nil
}

// deconvolution is the transposed convolution as a layer. Where the result ends behind the last
// tap, taps of zero follow it.
func deconvolution(x Operand, k kernel, w layer.Window, high, wide int) layer.Layer {
	l := layer.Conv(x.shape(), k.cin, w)
	l.Op = layer.Deconvolution
	v := &l.Window
	v.Qy, v.Qx = (l.In.H-1)*v.Sy+k.kh-v.Py-high, (l.In.W-1)*v.Sx+k.kw-v.Px-wide
	v.Kh, v.Qy = v.Kh-min(v.Qy, 0), max(v.Qy, 0)
	v.Kw, v.Qx = v.Kw-min(v.Qx, 0), max(v.Qx, 0)
	return l
}

// swapped is the weights with the result's channels first, in the window of a layer.
func (k *kernel) swapped(l *layer.Layer) []float16.Float16 {
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

// cropped is a part of a picture, from a row and a column on and so many; zeros stand where it
// is beyond the picture.
func cropped(n *Chooser, y Operand, parts [2][2]int) (Operand, error) {
	var err error
	for i, p := range parts {
		axis := 2 + i
		if before := -p[0]; before > 0 {
			if y, err = bordered(n, y, axis, before, 0, 0); err != nil {
				return y, err
			}
			p[0] = 0
		}
		if short := p[0] + p[1] - y.Dims[axis]; short > 0 {
			if y, err = bordered(n, y, axis, 0, short, 0); err != nil {
				return y, err
			}
		}
		if y, err = n.sliced(y, axis, p[0], p[1]); err != nil {
			return y, err
		}
	}
	return y, nil
}

// phases is the full result of a transposed convolution, a whole number of steps long:
// place p of a step sees taps p, p+s, p+2s, ... of the kernel, the first of them over the
// latest element.
func phases(n *Chooser, x Operand, k kernel, w layer.Window, groups int, b biasOf) (Operand, error) {
	sy, sx := w.Sy, w.Sx
	ky, kx := (k.kh+sy-1)/sy, (k.kw+sx-1)/sx
	each, cin := k.cin, x.Dims[1]/groups // of a group
	cout := groups * each
	places := sy * sx
	if err := n.Spend(HalfBytes, cout, places, cin, ky, kx); err != nil {
		return x, err
	}
	m := kernel{cout * places, cin, ky, kx, make([]float16.Float16, cout*places*cin*ky*kx)}
	wide := biasOf{given: b.given}
	for g := range groups {
		for o := range each {
			for p := range places {
				// Channels of a group stay together; within, a channel's places are neighbours.
				ch := (g*each+o)*places + p
				if b.v != nil {
					wide.v = append(wide.v, b.v[g*each+o])
				}
				for i := range cin {
					for y := range ky {
						for xx := range kx {
							ty, tx := p/sx+(ky-1-y)*sy, p%sx+(kx-1-xx)*sx
							if ty < k.kh && tx < k.kw {
								m.v[((ch*cin+i)*ky+y)*kx+xx] = k.at(g*cin+i, o, ty, tx)
							}
						}
					}
				}
			}
		}
	}
	y, err := convolved(n, x, m, layer.Window{Kh: ky, Kw: kx, Sy: 1, Sx: 1, Py: ky - 1, Qy: ky - 1, Px: kx - 1, Qx: kx - 1}, groups, wide)
	if err != nil || places == 1 {
		return y, err
	}
	d := y.Dims
	y, err = n.permuted(y.As(d[0], cout, sy, sx, d[2], d[3]), []int{0, 1, 4, 2, 5, 3})
	return y.As(d[0], cout, d[2]*sy, d[3]*sx), err
}

// pool is a maximum or an average over a window. An average that leaves the padding out
// is corrected by a factor a place.
func pool(n *Chooser) (Operand, error) {
	x, err := n.in(0)
	if err != nil {
		return Operand{}, err
	}
	if len(n.Out) > 1 && n.Out[1].Given() {
		return Operand{}, errors.New("the places of its maxima are asked for; the engine gives values")
	}
	w, err := ops.WindowOf(n.Node, x.Dims[2:], nil)
	if err != nil {
		return Operand{}, err
	}
	average := n.Op == "AveragePool"
	if len(w.Taps) == 3 || slices.Max(w.Dilations) > 1 {
		y, err := separated(n, x, w, average)
		return y.As(n.Results[0].Dims...), err
	}
	extents := slices.Clone(x.Dims[2:])
	x, lw, err := plane(n, x, w)
	if err != nil {
		return Operand{}, err
	}
	y, err := n.append(list.Pooling(x.shape(), lw, average), nil, x)
	if err == nil && average {
		y, err = averaged(n, y, w, extents, graph.Elements(w.Taps))
	}
	if err != nil {
		return Operand{}, err
	}
	return y.As(n.Results[0].Dims...), nil
}
