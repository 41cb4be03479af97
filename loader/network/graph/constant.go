package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"
)

// A Const is a constant tensor, from the file or computed from constants of the file. Values
// stay in the file until they are asked for. They are absent if they are stored in another file
// that was not read.
type Const struct {
	Dims    []int
	Type    Type
	Source  Source    // reads the values, in the order of Dims; or
	Numbers []float64 // computed values, or
	Half    []float16.Float16
	Packing *Packing // nil if the file stores plain values
	Clamped int      // number of finite values beyond fp16's range, counted by Halves
}

// A Packing describes how the file compresses values that are expanded here. The engine may
// store them in a compressed form of its own.
type Packing struct {
	Form  Packed
	Scale []float16.Float16 // for Bytes: one scale for all values, or one for each element of an axis
}

// Scaled returns the packing of 8-bit values with one scale, or with one scale for each element
// of an axis.
func Scaled(scale []float64) *Packing {
	p := &Packing{Form: Bytes, Scale: make([]float16.Float16, len(scale))}
	for i, s := range scale {
		p.Scale[i] = float16.Fromfloat32(float32(s))
	}
	return p
}

// Packed is a compressed form of values.
type Packed uint8

// The compressed forms.
const (
	Bytes   Packed = iota + 1 // 8-bit integers times a scale
	Palette                   // indices into a list of values
	Sparse                    // a mask and the values in it
)

// A Source reads values that are stored in a file.
type Source interface {
	External() bool // reports whether the file was not read
	Numbers() ([]float64, error)
	Halves() ([]float16.Float16, error)
	Each(set func(i int, v float64)) error
}

// Elements returns the number of elements.
func (c *Const) Elements() int { return Elements(c.Dims) }

// Absent reports whether the values are stored in a file that was not read.
func (c *Const) Absent() bool { return c.Source != nil && c.Source.External() }

// Values returns the elements in order.
func (c *Const) Values() ([]float64, error) {
	switch {
	case c.Half != nil:
		v := make([]float64, len(c.Half))
		for i, h := range c.Half {
			v[i] = float64(h.Float32())
		}
		return v, nil
	case c.Source == nil:
		return c.Numbers, nil
	}
	return c.Source.Numbers()
}

// Halves returns the elements rounded to fp16, or nil if they are absent. Finite elements
// beyond fp16's range become its largest number, as converters to fp16 do. A mask of -3.4e38
// therefore stays finite, and 0 times it is 0.
func (c *Const) Halves() ([]float16.Float16, error) {
	switch {
	case c.Absent():
		return nil, nil
	case c.Half != nil:
		return c.Half, nil
	case c.Source == nil:
		out := make([]float16.Float16, len(c.Numbers))
		for i, v := range c.Numbers {
			out[i] = float16.Fromfloat32(float32(v))
		}
		c.clamp(out, c.Numbers)
		return out, nil
	}
	out, err := c.Source.Halves()
	if err != nil || !slices.ContainsFunc(out, isInfinite) {
		return out, err
	}
	v, err := c.Source.Numbers()
	if err != nil {
		return nil, err
	}
	c.clamp(out, v)
	return out, nil
}

// clamp replaces infinities in out that are finite in v with the largest fp16 number, and
// counts them.
func (c *Const) clamp(out []float16.Float16, v []float64) {
	c.Clamped = 0
	for i, h := range out {
		if isInfinite(h) && !math.IsInf(v[i], 0) {
			out[i] = h&0x8000 | largestHalf
			c.Clamped++
		}
	}
}

func isInfinite(h float16.Float16) bool { return h.IsInf(0) }

// largestHalf is the fp16 number 65504.
const largestHalf = 0x7bff

// As returns the constant with another shape. Both share their values.
func (c *Const) As(dims []int) *Const {
	d := *c
	d.Dims = dims
	return &d
}

// Ints returns the elements of an integer tensor, clamped to ±2^40 so that sums of a few of
// them are exact.
func (c *Const) Ints() ([]int, error) {
	if c.Type.IsFloat() {
		return nil, fmt.Errorf("found elements of type %v, want integers", c.Type)
	}
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(Integer(max(-1<<40, min(1<<40, x))))
	}
	return out, nil
}

// Scalar returns the only element.
func (c *Const) Scalar() (float64, error) {
	if c.Elements() != 1 || c.Absent() {
		return 0, fmt.Errorf("found a constant of shape %v, want one value", c.Dims)
	}
	v, err := c.Values()
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Detach returns the constant with its values in memory, so that the file can be closed. Floats
// are rounded to fp16, as the engine gets no others. A constant with absent values is returned
// unchanged.
func (c *Const) Detach() (*Const, error) {
	switch {
	case c.Source == nil, c.Absent():
		return c, nil
	case c.Type.IsFloat():
		h, err := c.Halves()
		return &Const{Dims: c.Dims, Type: c.Type, Half: h}, err
	}
	v, err := c.Values()
	return &Const{Dims: c.Dims, Type: c.Type, Numbers: v}, err
}
