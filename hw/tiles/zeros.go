package tiles

import "github.com/x448/float16"

// Zeros returns the number of multiplications in the group that have a zero source operand,
// including the zeros of the padding.
func (c *Convolution) Zeros(src Source) uint64 {
	channels := c.Cout
	if c.Unicast {
		channels = 1
	}
	pixels := max(1, c.Pixels)
	kw, sx := c.Kw-(pixels-1)*c.Sx/pixels, c.Sx/pixels
	rows := countUses(c.Hin, c.Hout, c.Kh, c.Sy, c.Py)
	columns := countUses(c.Win, c.Wout*pixels, kw, sx, c.Px)
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
				if v&0x7fff != 0 {
					seen += columns[x]
				}
			}
			taken += n * seen
		}
	}
	all := uint64(c.Cout) * uint64(c.Hout) * uint64(c.Wout*pixels) * uint64(c.Kh) * uint64(kw)
	if !c.Unicast {
		all *= uint64(c.Cin)
	}
	return all - min(all, taken*uint64(channels))
}

// countUses returns, for each position on an axis of length n, the number of windows that cover it.
// The windows have length k and are stride apart; the first starts pad positions before the axis.
func countUses(n, windows, k, stride, pad int) []uint64 {
	list := make([]uint64, n)
	for w := range windows {
		for i := range k {
			if at := w*stride - pad + i; at >= 0 && at < n {
				list[at]++
			}
		}
	}
	return list
}
