package layer

// A Shape holds the extents of a tensor in elements along its axes: batch, channels, height and
// width.
type Shape struct{ N, C, H, W int }

// rowUnit is the alignment in bytes of the rows of a tensor in memory.
const rowUnit = 64

// A Window describes how a convolution or a pool moves over the rows and columns of its input.
// Fields that end in h or y are for rows, and fields that end in w or x for columns.
type Window struct {
	Kh, Kw int // taps
	Sy, Sx int // strides
	Py, Px int // zeros before the first row and column
	// Qy and Qx are the zeros after the last row and column. The extent of the output determines
	// them, so they may differ from Py and Px.
	Qy, Qx int
}

// Phases divides the taps of the window into groups with the same row modulo Sy and the same column
// modulo Sx. Taps are numbered row by row, and each group lists its taps in ascending order. Groups
// are ordered by row modulo Sy, then by column modulo Sx.
func (w *Window) Phases() [][]int {
	rows, columns := min(w.Sy, w.Kh), min(w.Sx, w.Kw)
	all := make([][]int, 0, max(0, rows*columns))
	list := make([]int, 0, max(0, w.Kh*w.Kw)) // of all groups, one after the other
	for py := range rows {
		for px := range columns {
			first := len(list)
			for y := py; y < w.Kh; y += w.Sy {
				for x := px; x < w.Kw; x += w.Sx {
					list = append(list, y*w.Kw+x)
				}
			}
			all = append(all, list[first:len(list):len(list)])
		}
	}
	return all
}

// Valid returns a k x k window without padding and with the same stride for rows and columns.
func Valid(k, stride int) Window { return Window{Kh: k, Kw: k, Sy: stride, Sx: stride} }

// Same returns a k x k window whose padding turns an input of shape in into ceil(in.H/stride) rows
// and ceil(in.W/stride) columns. If the padding of an axis is odd, the extra zero comes after the
// last element (seen in 2 of 2 examples of a 3x3 window with stride 2).
func Same(k, stride int, in Shape) Window {
	w := Valid(k, stride)
	w.Py, w.Qy = SamePad(k, stride, in.H)
	w.Px, w.Qx = SamePad(k, stride, in.W)
	return w
}

// SamePad returns how many elements of padding to add before and after an axis of n elements, so
// that a window of k taps has ceil(n/stride) positions. If the total padding is odd, the extra
// element comes after the axis.
func SamePad(k, stride, n int) (before, after int) {
	out := (n + stride - 1) / stride
	total := max(0, (out-1)*stride+k-n)
	return total / 2, total - total/2
}

// RoundUp returns the smallest multiple of unit that is at least n. n must not be negative.
func RoundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Elements returns the number of elements of a tensor of shape s.
func (s Shape) Elements() int { return s.N * s.C * s.H * s.W }

// HasPackedRows reports whether each row of an fp16 tensor of shape s occupies a multiple of 64 bytes,
// so that there are no gaps between rows in memory. Such a tensor can also be read in rows of
// another length, if that is a multiple of 64 bytes too.
func (s Shape) HasPackedRows() bool { return s.W*ElementBytes%rowUnit == 0 }

// Dilate returns w with neighboring taps d rows and d columns apart. d must be at least 1, and w
// must not be dilated already.
func (w Window) Dilate(d int) Window {
	w.Kh, w.Kw = (w.Kh-1)*d+1, (w.Kw-1)*d+1
	return w
}
