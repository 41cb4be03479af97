package planar

import (
	"fmt"

	"github.com/x448/float16"
)

// A Shape holds the extents of a tensor: channels, height and width in elements. The tensor's
// elements are a slice of fp16 values in the order channel, row, column, with the column varying
// fastest.
type Shape struct{ C, H, W int }

// len returns the number of elements, C*H*W.
func (s Shape) len() int { return s.C * s.H * s.W }

// fitsSlice reports whether s is a valid shape with at most n elements. It divides instead of
// multiplying, so that no extent overflows.
func (s Shape) fitsSlice(n int) bool {
	return s.C > 0 && s.H > 0 && s.W > 0 && s.W <= n/s.C/s.H
}

func (s Shape) String() string { return fmt.Sprintf("%dx%dx%d", s.C, s.H, s.W) }

// Axes is a set of the axes C, H and W.
type Axes uint8

const (
	AxisC Axes = 1 << iota
	AxisH
	AxisW
)

// without returns s with the extents of the axes in a replaced by 1. This is the shape of a
// reduction over a.
func (s Shape) without(a Axes) Shape {
	if a&AxisC != 0 {
		s.C = 1
	}
	if a&AxisH != 0 {
		s.H = 1
	}
	if a&AxisW != 0 {
		s.W = 1
	}
	return s
}

// A Source is a tensor that a planar task reads. If an axis has extent 1, its only element is
// repeated as often as the other source requires.
type Source struct {
	Data  []float16.Float16
	Shape Shape
}

// A ShapeError reports an operand whose shape is invalid or does not match its slice or the other
// operands.
type ShapeError struct {
	Operand string
	Got     Shape
	Have    int   // number of elements in the slice
	Want    Shape // zero if Got itself is invalid
}

func (e *ShapeError) Error() string {
	switch {
	case e.Want != Shape{}:
		return fmt.Sprintf("planar: %s has shape %v; want %v, or 1 along any axis", e.Operand, e.Got, e.Want)
	case e.Got.C <= 0 || e.Got.H <= 0 || e.Got.W <= 0:
		return fmt.Sprintf("planar: %s has shape %v; want positive extents", e.Operand, e.Got)
	}
	return fmt.Sprintf("planar: %s has shape %v, but its slice has %d elements", e.Operand, e.Got, e.Have)
}

// checkLength returns a *[ShapeError] that names the operand unless s has a valid shape and enough
// data for it.
func (s Source) checkLength(operand string) error {
	if !s.Shape.fitsSlice(len(s.Data)) {
		return &ShapeError{Operand: operand, Got: s.Shape, Have: len(s.Data)}
	}
	return nil
}

// checkFits returns a *[ShapeError] unless s has a valid shape and can be repeated to shape full.
// The error names the operand.
func (s Source) checkFits(full Shape, operand string) error {
	if err := s.checkLength(operand); err != nil {
		return err
	}
	g := s.Shape
	if g.C != 1 && g.C != full.C || g.H != 1 && g.H != full.H || g.W != 1 && g.W != full.W {
		return &ShapeError{Operand: operand, Got: g, Have: len(s.Data), Want: full}
	}
	return nil
}

// steps holds the distance between adjacent elements of each axis, or 0 for an axis that is
// repeated.
type steps struct{ c, h, w int }

// strides returns the distance between adjacent elements along each axis, or 0 for an axis that is
// repeated.
func (s Shape) strides() steps {
	var t steps
	if s.C > 1 {
		t.c = s.H * s.W
	}
	if s.H > 1 {
		t.h = s.W
	}
	if s.W > 1 {
		t.w = 1
	}
	return t
}

// broadcastShape returns a shape with the larger of the extents of a and b on each axis.
func broadcastShape(a, b Shape) Shape { return Shape{max(a.C, b.C), max(a.H, b.H), max(a.W, b.W)} }
