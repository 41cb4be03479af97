package graph

import "github.com/x448/float16"

// A derived source computes the elements of a constant from another one whenever they are read, so
// that only the constants that are being read take memory.
type derived struct {
	of    *Const
	n     int
	each  func(set func(i int, v float64)) error
	depth int // derivations between the file and the elements
}

// Derive returns a constant of shape dims and type t whose elements are computed from c when they are
// read. each calls set with the index and the value of every element in order. If the elements of c
// are absent, the new ones are absent too.
func (c *Const) Derive(dims []int, t Type, each func(set func(i int, v float64)) error) *Const {
	return &Const{Dims: dims, Type: t, Source: &derived{c, Elements(dims), each, c.Derivations() + 1}}
}

// Derivations returns how many calls of Derive lie between the file and c. Reading c repeats all of
// them, and holds the elements of each in memory.
func (c *Const) Derivations() int {
	if d, ok := c.Source.(*derived); ok && c.Half == nil {
		return d.depth
	}
	return 0
}

func (d *derived) External() bool { return d.of.Absent() }

func (d *derived) Numbers() ([]float64, error) {
	out := make([]float64, d.n)
	return out, d.each(func(i int, v float64) { out[i] = v })
}

func (d *derived) Halves() ([]float16.Float16, error) {
	out := make([]float16.Float16, d.n)
	return out, d.each(func(i int, v float64) { out[i] = float16.Fromfloat32(float32(v)) })
}

func (d *derived) Each(set func(i int, v float64)) error { return d.each(set) }

// Each calls set with the index and the value of every element of c in order.
func (c *Const) Each(set func(i int, v float64)) error {
	if c.Half == nil && c.Source != nil {
		return c.Source.Each(set)
	}
	v, err := c.Values()
	for i, x := range v {
		set(i, x)
	}
	return err
}

// Reader returns a function that reads element i of c. It holds all elements in as few bytes as
// represent them exactly: 2 for 8-bit integers and fp16, 4 for other types of up to 32 bits without a
// longer fraction, and 8 otherwise.
func (c *Const) Reader() (at func(i int) float64, err error) {
	n := c.Elements()
	switch c.Type {
	case Float16, Int8, Uint8, Bool:
		v := make([]float16.Float16, n)
		err = c.Each(func(i int, x float64) { v[i] = float16.Fromfloat32(float32(x)) })
		return func(i int) float64 { return float64(v[i].Float32()) }, err
	case Float, BFloat16, Int16, Uint16:
		v := make([]float32, n)
		err = c.Each(func(i int, x float64) { v[i] = float32(x) })
		return func(i int) float64 { return float64(v[i]) }, err
	}
	v, err := c.Values()
	return func(i int) float64 { return v[i] }, err
}
