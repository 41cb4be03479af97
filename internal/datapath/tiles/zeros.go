package tiles

import "github.com/x448/float16"

// Zeros returns the number of multiplications in the group that have a zero source operand,
// including the zeros of the padding. It counts only the rows and columns in c.Needed.
func (c *Convolution) Zeros(src Source) uint64 {
	channels := c.Cout
	if c.Unicast {
		channels = 1
	}
	pixels := max(1, c.Pixels)
	// Weights that compute several adjacent pixels at once span a window that is wider by the strides
	// between them. Multiplications are counted in the window of a single pixel.
	kw, sx := c.Kw-(pixels-1)*c.Sx/pixels, c.Sx/pixels
	var needed Window
	taps := c.Kh * kw
	if c.Needed != nil {
		needed, taps = *c.Needed, c.Needed.countTaps()
	}
	rows := countWindowUses(c.Hin, c.Hout, c.Kh, needed.Rows, c.Sy, c.Py)
	columns := countWindowUses(c.Win, c.Wout*pixels, kw, needed.Columns, sx, c.Px)
	// Each source element is read once and weighted with the number of windows that use it. To visit the
	// windows would read it once per tap.
	taken := uint64(0)
	row := make([]float16.Float16, c.Win)
	for ch := range c.Cin {
		for y, n := range rows {
			if n == 0 {
				continue
			}
			src.Row(row, ch, y)
			seen := uint64(0)
			for x, v := range row {
				// Both zeros count: the product is zero for -0 too.
				if v&0x7fff != 0 {
					seen += columns[x]
				}
			}
			taken += n * seen
		}
	}
	all := uint64(c.Cout) * uint64(c.Hout) * uint64(c.Wout*pixels) * uint64(taps)
	if !c.Unicast {
		all *= uint64(c.Cin)
	}
	return all - min(all, taken*uint64(channels))
}

// countWindowUses returns, for each position on an axis of length n, how many windows cover it. The
// windows have length k and start at intervals of stride, the first one pad positions before the
// axis. If needed is not nil, a window covers only its positions whose element of needed is true.
func countWindowUses(n, windows, k int, needed []bool, stride, pad int) []uint64 {
	list := make([]uint64, n)
	for w := range windows {
		for i := range k {
			if at := w*stride - pad + i; at >= 0 && at < n && (needed == nil || needed[i]) {
				list[at]++
			}
		}
	}
	return list
}
