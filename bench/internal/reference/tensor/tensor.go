package tensor

import (
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/onnx"
)

// A Tensor is an array of numbers of an ONNX type, in row-major order. All types are stored as
// float64: false and true are 0 and 1, and an integer beyond 2^53 is the nearest float64.
type Tensor struct {
	Type onnx.DataType
	Dims []int // length of each axis; empty for a scalar
	Data []float64
	// Items holds the tensors of a sequence, which has the shape [0] and no elements of its own. It is
	// nil for a tensor, and not nil for an empty sequence.
	Items []*Tensor
}

// MaxElements is the largest number of elements of a tensor (2 GiB of float64). It keeps a
// small file with a large shape from using all memory.
const MaxElements = 1 << 28

// CountElements returns the number of elements of a shape. It returns an error if a dimension
// is negative or there are more than MaxElements.
func CountElements(dims []int) (int, error) {
	n := 1
	for _, d := range dims {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", dims)
		}
		if d > 0 && n > MaxElements/d {
			if slices.Contains(dims, 0) {
				return 0, nil
			}
			return 0, fmt.Errorf("shape %v has more than %d elements", dims, MaxElements)
		}
		n *= d
	}
	return n, nil
}

// CountValidElements returns the number of elements of a tensor with shape dims, which must be
// valid. For shapes from a file, use CountElements.
func CountValidElements(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// New returns a tensor of zeros with the type t and the shape dims. It returns an error if
// the shape is invalid or has more than MaxElements elements.
func New(t onnx.DataType, dims ...int) (*Tensor, error) {
	n, err := CountElements(dims)
	if err != nil {
		return nil, err
	}
	return &Tensor{Type: t, Dims: slices.Clone(dims), Data: make([]float64, n)}, nil
}

// NewScalar returns a tensor of rank 0 with the type t and the value v.
func NewScalar(t onnx.DataType, v float64) *Tensor {
	return &Tensor{Type: t, Dims: []int{}, Data: []float64{v}}
}

// NewVector returns an int64 tensor of rank 1 that holds the given values.
func NewVector(values ...int) *Tensor {
	t := &Tensor{Type: onnx.Int64, Dims: []int{len(values)}, Data: make([]float64, len(values))}
	for i, v := range values {
		t.Data[i] = float64(v)
	}
	return t
}

// CheckLength returns an error unless the number of values of t matches its shape.
func (t *Tensor) CheckLength() error {
	n, err := CountElements(t.Dims)
	if err == nil && n != len(t.Data) {
		err = fmt.Errorf("shape %v needs %d values, but tensor has %d", t.Dims, n, len(t.Data))
	}
	return err
}

// ZerosLike returns a tensor of zeros with the type and shape of t.
func (t *Tensor) ZerosLike() *Tensor {
	return &Tensor{Type: t.Type, Dims: slices.Clone(t.Dims), Data: make([]float64, len(t.Data))}
}

// WithType returns a tensor of type to that shares the shape and the values of t.
func (t *Tensor) WithType(to onnx.DataType) *Tensor {
	return &Tensor{Type: to, Dims: t.Dims, Data: t.Data}
}

// ToInts returns the values of t as integers. It truncates fractions, replaces values out of range
// by the nearest integer in range, and replaces NaN by 0.
func (t *Tensor) ToInts() []int {
	out := make([]int, len(t.Data))
	for i, v := range t.Data {
		switch {
		case v != v:
		case v >= math.MaxInt64:
			out[i] = math.MaxInt64
		case v <= math.MinInt64:
			out[i] = math.MinInt64
		default:
			out[i] = int(v)
		}
	}
	return out
}

func BoolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// WrapInteger converts v to a value of the integer type t. It truncates fractions and, for types of
// up to 32 bits, wraps around as integer overflow does. NaN and infinities become 0.
func WrapInteger(t onnx.DataType, v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	v = math.Trunc(v)
	if t == onnx.Bool {
		return BoolToFloat(v != 0)
	}
	low, high := IntegerRange(t)
	if v >= low && v <= high || t.Width() == 8 {
		return v
	}
	span := high - low + 1
	v = math.Mod(v-low, span)
	if v < 0 {
		v += span
	}
	return v + low
}

// IntegerRange returns the smallest and largest value of an integer type.
func IntegerRange(t onnx.DataType) (low, high float64) {
	span := math.Ldexp(1, t.Bits())
	switch t {
	case onnx.Int2, onnx.Int4, onnx.Int8, onnx.Int16, onnx.Int32, onnx.Int64:
		return -span / 2, span/2 - 1
	case onnx.Bool:
		return 0, 1
	}
	return 0, span - 1
}
