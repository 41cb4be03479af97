package graph

import (
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"
)

// A Const is a tensor whose values the file has or what it has gives. Values stay as
// the file has them until they are asked for; an absent value stands in another file that
// is not there.
type Const struct {
	Dims    []int
	Type    Type
	Source  Source    // its values in the order of dims, or
	Numbers []float64 // those that were worked out, or
	Half    []float16.Float16
	Packing *Packing // nil where the file has the values themselves
	Beyond  int      // finite values that fp16 has no room for, once they were rounded
}

// A Packing is how the file holds values that are expanded here, which the engine may hold
// in a form of its own.
type Packing struct {
	Form  Packed
	Scale []float16.Float16 // of bytes: of all, or of each element of an axis
}

// Scaled is the packing of bytes with scales: one, or one of each element of an axis.
func Scaled(scale []float64) *Packing {
	p := &Packing{Form: Bytes, Scale: make([]float16.Float16, len(scale))}
	for i, s := range scale {
		p.Scale[i] = float16.Fromfloat32(float32(s))
	}
	return p
}

// Packed is a way to hold values in fewer bytes.
type Packed uint8

// The ways.
const (
	Bytes   Packed = iota + 1 // whole numbers of eight bits times a scale
	Palette                   // indices into a list of values
	Sparse                    // a mask and the values in it
)

// A Source is values that stand in a file.
type Source interface {
	External() bool // whether that is a file which was not read
	Numbers() ([]float64, error)
	Halves() ([]float16.Float16, error)
	Each(set func(i int, v float64)) error
}

// Elements is how many there are.
func (c *Const) Elements() int { return Elements(c.Dims) }

// Absent reports whether the values stand in a file that was not read.
func (c *Const) Absent() bool { return c.Source != nil && c.Source.External() }

// Values are the elements in order.
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

// Halves returns the elements rounded to fp16, and nil if they are absent. Finite elements that
// fp16 has no room for become the largest number it has, as converters to fp16 make them: a
// mask of -3.4e38 stays one that 0 times gives 0.
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

// clamp puts the largest fp16 number in the place of infinities that are finite in v, and
// counts them.
func (c *Const) clamp(out []float16.Float16, v []float64) {
	c.Beyond = 0
	for i, h := range out {
		if isInfinite(h) && !math.IsInf(v[i], 0) {
			out[i] = h&0x8000 | largestHalf
			c.Beyond++
		}
	}
}

func isInfinite(h float16.Float16) bool { return h.IsInf(0) }

// largestHalf is 65504.
const largestHalf = 0x7bff

// As is the constant in another shape.
func (c *Const) As(dims []int) *Const {
	d := *c
	d.Dims = dims
	return &d
}

// Ints are the elements of a tensor of integers, bounded so that sums of a few are exact.
func (c *Const) Ints() ([]int, error) {
	if c.Type.IsFloat() {
		return nil, fmt.Errorf("elements of %v, want integers", c.Type)
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

// Scalar is the only element.
func (c *Const) Scalar() (float64, error) {
	if c.Elements() != 1 || c.Absent() {
		return 0, fmt.Errorf("a constant of shape %v, want one value", c.Dims)
	}
	v, err := c.Values()
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Kept is the constant with its values in memory, once the file is closed: those with a
// fraction in fp16, as all that reaches the engine is. An absent one stays without.
func (c *Const) Kept() (*Const, error) {
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
