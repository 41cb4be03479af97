package coeff

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
)

// PackPairs returns the packed weights of a depthwise convolution of one row, for a task that
// computes several pixels at each step. pixels is the number of pixels in a step. Each pixel has a
// weight for every column that the step reads. The weight is zero if the pixel itself does not read
// the column. Columns are ordered by their number modulo pixels. Share s must be the whole layer.
func (c *Convolution) PackPairs(s Share, pixels int) *Kernel {
	l, w := c.Layer, c.Weights
	columns := layer.Window{Kh: 1, Kw: l.Window.Kw + pixels - 1, Sy: 1, Sx: pixels}
	var order []int
	for _, phase := range columns.Phases() {
		order = append(order, phase...)
	}
	f := ChannelWeights{
		Groups: 1, Channels: l.Cout * pixels, Taps: columns.Kw, SizesOnly: w.SizesOnly,
		Weight: func(_, n, k int) float16.Float16 {
			x := order[k] - n%pixels
			if x < 0 {
				return 0
			}
			tap := c.tapIndex(x) // -1 beyond the window
			if tap < 0 {
				return 0
			}
			return w.Weight(n/pixels*c.Columns + tap)
		},
	}
	if l.Bias {
		f.Bias = func(_, n int) float16.Float16 { return layer.ValueAt(w.Bias, n/pixels) }
	}
	f.strided = true // a step is several pixels wide
	f.setPreferredForm(w, func(_, n int) int { return n / pixels })
	k := f.packUniformPlanes(pixels)
	k.WindowTaps = c.countNeededTaps(s)
	return k
}

// PackProduct returns the packed weights of a matmul with a constant right side, for the result
// columns in share s. They form planes, each with the weights of up to width columns. If table is
// not nil, it comes before the weights of each engine. PackProduct stores dense weights in the
// memory that room(n) returns, which must be n zero bytes. If room is nil, it allocates the memory.
func PackProduct(l *layer.Layer, w *layer.Weights, s Share, width int, table []byte, room func(n int) []byte) *Kernel {
	k, n := l.In.W, l.Columns
	f := ChannelWeights{
		Groups: 1, Channels: s.Channels, Taps: k, SizesOnly: w.SizesOnly,
		Weight: func(_, c, i int) float16.Float16 {
			if l.Op == layer.Linear {
				return w.Weight((s.First+c)*k + i)
			}
			return w.Weight(i*n + s.First + c)
		},
	}
	if l.Op == layer.Linear {
		f.readChannel = func(buf []float16.Float16, _, c int) []float16.Float16 { return w.ReadRun(buf, (s.First+c)*k, k) }
	} else {
		f.readTap = func(buf []float16.Float16, i int) []float16.Float16 { return w.ReadRun(buf, i*n+s.First, s.Channels) }
	}
	if l.Bias {
		f.Bias = func(_, c int) float16.Float16 { return layer.ValueAt(w.Bias, s.First+c) }
	}
	f.setPreferredForm(w, func(_, c int) int { return s.First + c })
	f.reserve, f.headroom = room, len(table)
	return f.Pack(width).prependTable(table)
}
