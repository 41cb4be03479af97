package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"
)

// A Const is a tensor whose elements do not depend on the inputs of the network. The elements are
// either read from a file on demand or computed from other constants. They are absent if the model
// stores them in another file and that file was not read.
type Const struct {
	Dims    []int
	Type    Type
	Source  Source            // reads the values from the file, in the order of Dims; or nil
	Numbers []float64         // values computed from other constants, or nil
	Half    []float16.Float16 // values rounded to fp16, or nil
	Packing *Packing          // nil if the file stores plain values
	Clamped int               // number of finite values beyond fp16's range, counted by Halves
}

// A Packing records how a file compresses the elements of a constant. Readers always expand the
// elements, but the engine may store them compressed in its own way.
type Packing struct {
	Form  Packed
	Scale []float16.Float16 // for Bytes: one scale for all values, or one for each position along an axis
}

// Scaled returns the packing of a constant that a file stores as 8-bit integers, to be multiplied
// by scale. scale holds one factor for all elements, or one for each position along an axis.
func Scaled(scale []float64) *Packing {
	p := &Packing{Form: Bytes, Scale: make([]float16.Float16, len(scale))}
	for i, s := range scale {
		p.Scale[i] = float16.Fromfloat32(float32(s))
	}
	return p
}

// Packed enumerates the ways in which a file can compress the elements of a constant.
type Packed uint8

// The ways in which files compress constants.
const (
	Bytes   Packed = iota + 1 // 8-bit integers times a scale
	Palette                   // indices into a list of values
	Sparse                    // a mask and the values in it
)

// A Source reads the elements of a constant from a file. Each calls set with the index and the
// value of every element in order.
type Source interface {
	External() bool                     // reports whether the file was not read
	Numbers() ([]float64, error)        // returns all elements
	Halves() ([]float16.Float16, error) // returns all elements rounded to fp16
	Each(set func(i int, v float64)) error
}

// A lastingSource is a source that can be read at any time, also after its file was closed, because it
// opens the file again. Lasting reports whether it is one.
type lastingSource interface {
	Source
	Lasting() bool
	CountBeyondHalf() (int, error) // the number of finite elements that round to infinity in fp16
}

// StaysInFile reports whether the elements of c can be read whenever they are needed, and are neither
// in memory nor packed. If so, it sets c.Clamped. It returns an error if they cannot be counted.
func (c *Const) StaysInFile() (bool, error) {
	s, ok := c.Source.(lastingSource)
	if !ok || c.Half != nil || c.Packing != nil || !s.Lasting() {
		return false, nil
	}
	var err error
	c.Clamped, err = s.CountBeyondHalf()
	return err == nil, err
}

// Elements returns the number of elements of c.
func (c *Const) Elements() int { return Elements(c.Dims) }

// Absent reports whether the elements of c are in a file that was not read. If so, Values, Ints and
// Scalar return an error.
func (c *Const) Absent() bool { return c.Source != nil && c.Source.External() }

// Values returns the elements of c in row-major order. The caller must not change them. Values
// returns an error if the elements are absent or cannot be read from the file.
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

// Halves returns the elements of c rounded to fp16. If they are absent, it returns nil and no
// error. Finite elements beyond the range of fp16 become ±65504 rather than infinite, so that 0
// times such an element is 0 and not NaN. c.Clamped counts these elements.
func (c *Const) Halves() ([]float16.Float16, error) {
	switch {
	case c.Absent():
		return nil, nil
	case c.Half != nil:
		return c.Half, nil
	case c.Source == nil:
		out := make([]float16.Float16, len(c.Numbers))
		for i, v := range c.Numbers {
			out[i] = RoundToHalf(math.Float32bits(float32(v)))
		}
		c.clampInfinities(out, c.Numbers)
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
	c.clampInfinities(out, v)
	return out, nil
}

// RoundToHalf returns the float32 number with the given bits rounded to fp16, half to even. Numbers beyond the
// range of fp16 become infinite. It returns the same as [float16.Fromfloat32] in a third of the time for
// numbers whose result is normal, as most weights are.
func RoundToHalf(bits uint32) float16.Float16 {
	const (
		least    = 0x38800000 // 2^-14
		beyond   = 0x47800000 // 2^16; a number just below carries into the exponent of infinity
		exponent = 112 << 23  // difference of the exponents' biases
	)
	abs := bits &^ (1 << 31)
	if abs-least >= beyond-least {
		return roundOutsideNormal(bits)
	}
	return float16.Float16(bits>>16&0x8000 | (abs-exponent+0xfff+abs>>13&1)>>13)
}

// roundOutsideNormal is a function of its own so that [RoundToHalf] is small enough to be inlined.
//
//go:noinline
func roundOutsideNormal(bits uint32) float16.Float16 {
	return float16.Fromfloat32(math.Float32frombits(bits))
}

// clampInfinities replaces each infinite element of out by ±65504 if the same element of v is
// finite. It sets c.Clamped to the number of replaced elements.
func (c *Const) clampInfinities(out []float16.Float16, v []float64) {
	c.Clamped = 0
	for i, h := range out {
		if isInfinite(h) && !math.IsInf(v[i], 0) {
			out[i] = h&0x8000 | largestHalf
			c.Clamped++
		}
	}
}

func isInfinite(h float16.Float16) bool { return h&0x7fff == 0x7c00 }

// largestHalf is the fp16 number 65504.
const largestHalf = 0x7bff

// As returns a constant of shape dims that shares the elements of c. dims must have as many
// elements as c.
func (c *Const) As(dims []int) *Const {
	d := *c
	d.Dims = dims
	return &d
}

// Ints returns the elements of c. It returns an error if they have a floating-point type. Elements
// are clamped to ±2^40, so that sums of a few of them cannot overflow.
func (c *Const) Ints() ([]int, error) {
	if c.Type.IsFloat() {
		return nil, fmt.Errorf("constant has element type %v; want an integer type", c.Type)
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

// Scalar returns the only element of c. It returns an error if c has more than one element or none,
// or if the element is absent.
func (c *Const) Scalar() (float64, error) {
	if c.Elements() != 1 {
		return 0, fmt.Errorf("constant of shape %v has %d elements; want 1", c.Dims, c.Elements())
	}
	if c.Absent() {
		return 0, errors.New("constant is stored in an external file that was not read")
	}
	v, err := c.Values()
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Detach returns a copy of c that no longer needs the file. Floating-point elements are rounded to
// fp16, the only precision that the engine reads. If c does not refer to the file, or its elements
// are absent, Detach returns c itself.
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
