package planar

import (
	"fmt"

	"github.com/x448/float16"
)

// Order names the source axis each axis of a transposed tile comes from, for C,
// H and W; an axis is one of [AxisC], [AxisH], [AxisW].
type Order [3]Axes

// OrderError is an [Order] that does not name every axis once.
type OrderError struct{ Order Order }

func (e *OrderError) Error() string {
	return fmt.Sprintf("planar: order %v does not name every axis once", e.Order)
}

// Validate returns an [*OrderError] unless o is a permutation.
func (o Order) Validate() error {
	var seen Axes
	for _, a := range o {
		if a != AxisC && a != AxisH && a != AxisW || seen&a != 0 {
			return &OrderError{o}
		}
		seen |= a
	}
	return nil
}

// SliceError is a slice that does not lie in its source.
type SliceError struct{ Begin, Size, Source Shape }

func (e *SliceError) Error() string {
	return fmt.Sprintf("planar: slice of %v at %v leaves the source %v", e.Size, e.Begin, e.Source)
}

// extent returns the extent and step of axis a, 0 for what is no single axis.
func (s Shape) extent(a Axes) (extent, step int) {
	switch a {
	case AxisC:
		return s.C, s.H * s.W
	case AxisH:
		return s.H, s.W
	case AxisW:
		return s.W, 1
	}
	return 0, 0
}

// Transpose moves a into dst with its axes in the order o and returns the new
// shape. Bits move unchanged, NaNs too. dst must not overlap a.
func Transpose(dst []float16.Float16, a Source, o Order) (Shape, error) {
	if err := a.check("source 1"); err != nil {
		return Shape{}, err
	}
	if err := o.Validate(); err != nil {
		return Shape{}, err
	}
	c, cs := a.Shape.extent(o[0])
	h, hs := a.Shape.extent(o[1])
	w, ws := a.Shape.extent(o[2])
	out := Shape{c, h, w}
	if err := (Source{dst, out}).check("destination"); err != nil {
		return Shape{}, err
	}
	i := 0
	for z := range c {
		for y := range h {
			for x := range w {
				dst[i] = a.Data[z*cs+y*hs+x*ws]
				i++
			}
		}
	}
	return out, nil
}

// Slice copies the part of a that begins at begin and has the shape size. Bits
// move unchanged, except that a begin inside the width sends every element
// through [WidthSliceGain] (measured). dst may be a.Data.
func Slice(dst []float16.Float16, a Source, begin, size Shape) error {
	if err := a.check("source 1"); err != nil {
		return err
	}
	if err := (Source{dst, size}).check("destination"); err != nil {
		return err
	}
	last := Shape{a.Shape.C - size.C, a.Shape.H - size.H, a.Shape.W - size.W}
	if min(begin.C, begin.H, begin.W) < 0 || begin.C > last.C || begin.H > last.H || begin.W > last.W {
		return &SliceError{begin, size, a.Shape}
	}
	end := Shape{begin.C + size.C, begin.H + size.H, begin.W + size.W}
	i := 0
	for z := begin.C; z < end.C; z++ {
		for y := begin.H; y < end.H; y++ {
			row := (z*a.Shape.H + y) * a.Shape.W
			copy(dst[i:i+size.W], a.Data[row+begin.W:row+end.W])
			i += size.W
		}
	}
	if begin.W != 0 {
		WidthSliceGain(dst[:i], dst[:i])
	}
	return nil
}

// WidthSliceGain is what a slice with a non-zero begin in the width does to
// values on the way: times 16, rounded to half, and divided by 16 again
// (measured at 4094, which survives, and 4096, which becomes infinite). The
// product is exact until it overflows and the next half after 4094 is 4096, so
// the rule in full is: a magnitude of 4096 or more becomes infinity, and
// everything else, denormals and -0 included, stays. A NaN becomes +Inf.
//
// It writes and returns the shorter length of dst and src, which may be the
// same slice.
func WidthSliceGain(dst, src []float16.Float16) int {
	n := min(len(dst), len(src))
	for i, h := range src[:n] {
		v := narrow(wide[h] * 16)
		dst[i] = narrow(wide[v] / 16)
	}
	return n
}
