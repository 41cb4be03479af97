package planar

import (
	"fmt"

	"github.com/x448/float16"
)

// Shape is the extent of a tile in elements. A tile is a slice of C*H*W fp16 values,
// x fastest, then y, then the channel.
type Shape struct{ C, H, W int }

// Len is C*H*W, the elements of a tile.
func (s Shape) Len() int { return s.C * s.H * s.W }

// within reports whether s is a shape of at most n elements. It divides, so
// that no extent overflows it; planes alone beyond n leave a width of 0.
func (s Shape) within(n int) bool {
	return s.C > 0 && s.H > 0 && s.W > 0 && s.W <= n/s.C/s.H
}

func (s Shape) String() string { return fmt.Sprintf("%dx%dx%d", s.C, s.H, s.W) }

// Axes is a set of dimensions.
type Axes uint8

const (
	AxisC Axes = 1 << iota
	AxisH
	AxisW
)

// Without returns s with the extent of every axis in a set to 1: what a
// reduction over a leaves.
func (s Shape) Without(a Axes) Shape {
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

// Source is a tile and its shape. An extent of 1 repeats along the other
// source's extent, which is what Common word 0x30 asks for on planar tasks.
type Source struct {
	Data  []float16.Float16
	Shape Shape
}

// ShapeError says which operand does not fit and how.
type ShapeError struct {
	Operand string
	Got     Shape
	Have    int   // elements of the slice
	Want    Shape // zero when Got itself is at fault
}

func (e *ShapeError) Error() string {
	switch {
	case e.Want != Shape{}:
		return fmt.Sprintf("planar: %s is %v, want %v", e.Operand, e.Got, e.Want)
	case e.Got.C <= 0 || e.Got.H <= 0 || e.Got.W <= 0:
		return fmt.Sprintf("planar: %s is %v, an extent is not positive", e.Operand, e.Got)
	}
	return fmt.Sprintf("planar: %s is %v and has %d elements", e.Operand, e.Got, e.Have)
}

func (s Source) check(operand string) error {
	if !s.Shape.within(len(s.Data)) {
		return &ShapeError{Operand: operand, Got: s.Shape, Have: len(s.Data)}
	}
	return nil
}

// fits reports whether s repeats to full.
func (s Source) fits(full Shape, operand string) error {
	if err := s.check(operand); err != nil {
		return err
	}
	g := s.Shape
	if g.C != 1 && g.C != full.C || g.H != 1 && g.H != full.H || g.W != 1 && g.W != full.W {
		return &ShapeError{Operand: operand, Got: g, Have: len(s.Data), Want: full}
	}
	return nil
}

// steps are the distances between neighbours, zero along a repeated axis.
type steps struct{ c, h, w int }

func (s Shape) steps() steps {
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

// join is the shape two sources repeat to.
func join(a, b Shape) Shape { return Shape{max(a.C, b.C), max(a.H, b.H), max(a.W, b.W)} }
