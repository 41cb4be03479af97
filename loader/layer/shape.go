package layer

// A Shape holds the extents of a tensor in elements: batch, channels, height and width.
type Shape struct{ N, C, H, W int }

// rowUnit is the alignment in bytes of the rows of a tensor in memory.
const rowUnit = 64

// A Window describes how a convolution or a pooling moves over its input. Names end in h or y for
// rows, and in w or x for columns.
type Window struct {
	Kh, Kw int // taps
	Sy, Sx int // strides
	Py, Px int // zeros before the first row and column
	// Qy and Qx are the zeros after the last row and column. The extent of the output determines
	// them, so they may differ from Py and Px.
	Qy, Qx int
}

// Phases returns the taps of the window, numbered row by row, in groups whose rows and columns are
// equal modulo the strides. Groups are ordered by these remainders, and the taps of a group ascend.
func (w *Window) Phases() [][]int {
	var all [][]int
	for py := range min(w.Sy, w.Kh) {
		for px := range min(w.Sx, w.Kw) {
			var taps []int
			for y := py; y < w.Kh; y += w.Sy {
				for x := px; x < w.Kw; x += w.Sx {
					taps = append(taps, y*w.Kw+x)
				}
			}
			all = append(all, taps)
		}
	}
	return all
}

// Valid returns a k x k window without padding that moves by stride.
func Valid(k, stride int) Window { return Window{Kh: k, Kw: k, Sy: stride, Sx: stride} }

// Same returns a k x k window that is padded to give ceil(in/stride) output rows and columns. If
// the padding of an axis is odd, the extra zero comes after the last element (seen in both examples
// of a 3x3 window with stride 2).
func Same(k, stride int, in Shape) Window {
	w := Valid(k, stride)
	w.Py, w.Qy = SamePad(k, stride, in.H)
	w.Px, w.Qx = SamePad(k, stride, in.W)
	return w
}

// SamePad returns the padding to add before and after an axis of in elements, so that a window of k
// taps gives ceil(in/stride) outputs.
func SamePad(k, stride, in int) (before, after int) {
	out := (in + stride - 1) / stride
	total := max(0, (out-1)*stride+k-in)
	return total / 2, total - total/2
}

// RoundUp returns the smallest multiple of unit that is at least n. n must not be negative.
func RoundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Elements returns the number of elements of a tensor of shape s.
func (s Shape) Elements() int { return s.N * s.C * s.H * s.W }

// HasPackedRows reports whether a row has a multiple of 64 bytes. A tensor of such rows has no gaps
// in memory, so it can be read with any other row length that is a multiple of 64 bytes too.
func (s Shape) HasPackedRows() bool { return s.W*ElementBytes%rowUnit == 0 }

// Dilate returns the window with its taps spaced d rows and d columns apart.
func (w Window) Dilate(d int) Window {
	w.Kh, w.Kw = (w.Kh-1)*d+1, (w.Kw-1)*d+1
	return w
}
