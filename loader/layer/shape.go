package layer

// A Shape is the extent of a tensor in elements.
type Shape struct{ N, C, H, W int }

// rowUnit is what rows in memory begin at multiples of.
const rowUnit = 64

// A Window is how a convolution walks its source.
type Window struct {
	Kh, Kw int // taps
	Sy, Sx int // strides
	Py, Px int // zeros before the first row and column
	// Qy, Qx are the zeros after the last: the output's extent implies them, so they
	// may differ from Py and Px.
	Qy, Qx int
}

// Phases groups the taps by their place modulo the stride, rows outside.
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

// Valid is a k x k window without padding.
func Valid(k, stride int) Window { return Window{Kh: k, Kw: k, Sy: stride, Sx: stride} }

// Same is a k x k window whose output has ceil(in/stride) rows and columns; the odd zero
// comes after (both examples of a 3x3 window of stride 2).
func Same(k, stride int, in Shape) Window {
	w := Valid(k, stride)
	w.Py, w.Qy = SamePad(k, stride, in.H)
	w.Px, w.Qx = SamePad(k, stride, in.W)
	return w
}

// SamePad is the padding before and after an axis that leaves ceil(in/stride) outputs.
func SamePad(k, stride, in int) (before, after int) {
	out := (in + stride - 1) / stride
	total := max(0, (out-1)*stride+k-in)
	return total / 2, total - total/2
}

// RoundUp is the least multiple of unit that is not below n.
func RoundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Elements is the number of elements.
func (s Shape) Elements() int { return s.N * s.C * s.H * s.W }

// Gapless reports whether rows fill whole units of 64 bytes: a tensor then has no gaps in
// memory, and is the same in rows of any length that fills them too.
func (s Shape) HasPackedRows() bool { return s.W*ElementBytes%rowUnit == 0 }

// Dilated is the window with taps d rows and columns apart.
func (w Window) WithDilation(d int) Window {
	w.Kh, w.Kw = (w.Kh-1)*d+1, (w.Kw-1)*d+1
	return w
}
