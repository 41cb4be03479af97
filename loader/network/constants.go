package network

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/onnx"
)

// A constant is a tensor whose values the file has or what it has gives. Values stay as
// the file has them until they are asked for; an absent value stands in another file that
// is not there.
type constant struct {
	dims    []int
	elem    onnx.DataType
	tensor  *onnx.Tensor // its values in the order of dims, or
	numbers []float64    // those that were worked out, or
	half    []float16.Float16
	packing *packing // nil where the file has the values themselves
	beyond  int      // finite values that fp16 has no room for, once they were rounded
}

// A packing is how the file holds values that are expanded here, which the engine may hold
// in a form of its own: see [layer.Weights].
type packing struct {
	form  layer.Form
	scale []float16.Float16 // of bytes: of all, or of each element of an axis
}

// set gives weights made of a packed constant its form.
func (p *packing) set(w *layer.Weights) {
	if p != nil && w.Filter != nil {
		w.Form, w.Scale = p.form, p.scale
	}
}

// stored is a constant of the file.
func stored(t *onnx.Tensor) *constant {
	dims := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = int(d)
	}
	return &constant{dims: dims, elem: t.Type, tensor: t}
}

func (c *constant) elements() int { return elements(c.dims) }

// absent reports whether the values stand in a file that was not read.
func (c *constant) absent() bool { return c.tensor != nil && c.tensor.External() }

// values are the elements in order.
func (c *constant) values() ([]float64, error) {
	switch {
	case c.half != nil:
		v := make([]float64, len(c.half))
		for i, h := range c.half {
			v[i] = float64(h.Float32())
		}
		return v, nil
	case c.tensor == nil:
		return c.numbers, nil
	}
	return c.tensor.Numbers()
}

// fp16 returns the elements rounded to fp16, and nil if they are absent. Finite elements that
// fp16 has no room for become the largest number it has, as converters to fp16 make them: a
// mask of -3.4e38 stays one that 0 times gives 0.
func (c *constant) fp16() ([]float16.Float16, error) {
	switch {
	case c.absent():
		return nil, nil
	case c.half != nil:
		return c.half, nil
	case c.tensor == nil:
		out := make([]float16.Float16, len(c.numbers))
		for i, v := range c.numbers {
			out[i] = float16.Fromfloat32(float32(v))
		}
		c.clamp(out, c.numbers)
		return out, nil
	}
	out, err := c.tensor.Halves()
	if err != nil || !slices.ContainsFunc(out, isInfinite) {
		return out, err
	}
	v, err := c.tensor.Numbers()
	if err != nil {
		return nil, err
	}
	c.clamp(out, v)
	return out, nil
}

// clamp puts the largest fp16 number in the place of infinities that are finite in v, and
// counts them.
func (c *constant) clamp(out []float16.Float16, v []float64) {
	c.beyond = 0
	for i, h := range out {
		if isInfinite(h) && !math.IsInf(v[i], 0) {
			out[i] = h&signBit | largestHalf
			c.beyond++
		}
	}
}

const signBit = 0x8000

func isInfinite(h float16.Float16) bool { return h.IsInf(0) }

// largestHalf is 65504.
const largestHalf = 0x7bff

// as is the constant in another shape.
func (c *constant) as(dims []int) *constant {
	d := *c
	d.dims = dims
	return &d
}

// ints are the elements of a tensor of integers, bounded so that sums of a few are exact.
func (c *constant) ints() ([]int, error) {
	if c.elem.IsFloat() {
		return nil, fmt.Errorf("elements of %v, want integers", c.elem)
	}
	v, err := c.values()
	if err != nil {
		return nil, err
	}
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = int(onnx.Integer(max(-1<<40, min(1<<40, x))))
	}
	return out, nil
}

// scalar is the only element.
func (c *constant) scalar() (float64, error) {
	if c.elements() != 1 || c.absent() {
		return 0, fmt.Errorf("a constant of shape %v, want one value", c.dims)
	}
	v, err := c.values()
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// rounded is v as an element of the type: integers wrap as two's complement does.
func rounded(elem onnx.DataType, v float64) float64 {
	switch elem {
	case onnx.Float:
		return float64(float32(v))
	case onnx.Float16:
		return float64(float16.Fromfloat32(float32(v)).Float32())
	case onnx.BFloat16:
		return float64(math.Float32frombits(math.Float32bits(float32(v)) &^ 0xffff))
	case onnx.Double:
		return v
	case onnx.Bool:
		return truth(v != 0)
	}
	i := onnx.Integer(math.Trunc(v))
	switch elem {
	case onnx.Int8:
		return float64(int8(i))
	case onnx.Uint8:
		return float64(uint8(i))
	case onnx.Int16:
		return float64(int16(i))
	case onnx.Uint16:
		return float64(uint16(i))
	case onnx.Int32:
		return float64(int32(i))
	case onnx.Uint32:
		return float64(uint32(i))
	}
	return math.Trunc(v)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func elements(dims []int) int {
	e := 1
	for _, d := range dims {
		e *= d
	}
	return e
}

// strides are the steps of each axis of a tensor that stands without gaps.
func strides(dims []int) []int {
	s := make([]int, len(dims))
	step := 1
	for i := len(dims) - 1; i >= 0; i-- {
		s[i] = step
		step *= dims[i]
	}
	return s
}

// each calls visit with the place in a tensor of given steps of every element of dims.
func each(dims, steps []int, first int, visit func(i, at int)) {
	n := elements(dims)
	index := make([]int, len(dims))
	at := first
	for i := range n {
		visit(i, at)
		for k := len(dims) - 1; k >= 0; k-- {
			index[k]++
			at += steps[k]
			if index[k] < dims[k] {
				break
			}
			at -= steps[k] * dims[k]
			index[k] = 0
		}
	}
}

// broadcast is the shape of what an elementwise operation makes of tensors.
func broadcast(shapes ...[]int) ([]int, error) {
	out := []int{} // nil would be a shape that is not known
	for _, s := range shapes {
		for len(out) < len(s) {
			out = append([]int{1}, out...)
		}
	}
	for _, s := range shapes {
		for i, d := range s {
			o := &out[len(out)-len(s)+i]
			switch {
			case *o == d || d == 1:
			case *o == 1:
				*o = d
			default:
				return nil, fmt.Errorf("%v with %v", shapes[0], s)
			}
		}
	}
	return out, nil
}

// repeated are the steps of a tensor of dims that repeats to out.
func repeated(dims, out []int) []int {
	steps := make([]int, len(out))
	own := strides(dims)
	for i, d := range dims {
		if d > 1 {
			steps[len(out)-len(dims)+i] = own[i]
		}
	}
	return steps
}

var errBudget = errors.New("constants of many times the bytes of the file, or beyond what is worked out")

// What constants that are worked out take: a number each in and out of float64.
const (
	numberBytes = 8
	halfBytes   = 2
	foldedBytes = 2 * numberBytes // a byte of the file
	maxFolded   = 512 << 20
)
