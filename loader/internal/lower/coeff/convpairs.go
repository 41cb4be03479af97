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
