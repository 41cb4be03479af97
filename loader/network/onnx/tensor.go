package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/x448/float16"
	"google.golang.org/protobuf/encoding/protowire"
)

// A DataType is the type of a tensor's elements.
type DataType int64

// The types that are read.
const (
	Float   DataType = 1
	Int32   DataType = 6
	Int64   DataType = 7
	Float16 DataType = 10
	Double  DataType = 11
)

// A Tensor is a constant.
type Tensor struct {
	Name string
	Dims []int64
	Type DataType
	Off  int64 // byte of the file

	raw      []byte  // raw_data, or the fixed-width values
	ints     []int64 // int32_data and int64_data
	external bool
}

// Elements is the number of elements the shape has; Read made sure that it is one.
func (t *Tensor) Elements() int {
	n := 1
	for _, d := range t.Dims {
		n *= int(d)
	}
	return n
}

func tensor(f field) (*Tensor, error) {
	if err := f.want(protowire.BytesType); err != nil {
		return nil, err
	}
	t := &Tensor{Off: int64(f.off)}
	err := f.body.fields(func(f field) (err error) {
		var n int64
		switch f.num {
		case 1:
			err = f.integers(&t.Dims)
		case 2:
			err = f.integer(&n)
			t.Type = DataType(n)
		case 4:
			err = f.fixed(4, &t.raw)
		case 5, 7:
			err = f.integers(&t.ints)
		case 8:
			err = f.text(&t.Name)
		case 9:
			if err = f.want(protowire.BytesType); err == nil {
				t.raw = f.body.data
			}
		case 10:
			err = f.fixed(8, &t.raw)
		case 13:
			t.external = true
		}
		return err
	})
	if err == nil {
		err = t.check()
	}
	return t, err
}

// check bounds the shape, so that the product of its dimensions is a count.
func (t *Tensor) check() error {
	if len(t.Dims) > maxRank {
		return t.errorf("%d dimensions", len(t.Dims))
	}
	room := int64(MaxBytes)
	for _, d := range t.Dims {
		if d < 0 || d > room {
			return t.errorf("shape %v", t.Dims)
		}
		room /= max(1, d)
	}
	return nil
}

func (t *Tensor) errorf(format string, args ...any) error {
	return &FormatError{t.Off, fmt.Sprintf("tensor %q: %s", t.Name, fmt.Sprintf(format, args...))}
}

// External reports whether the values stand in another file.
func (t *Tensor) External() bool { return t.external }

// width is the bytes of an element in raw, 0 for types that are not read.
func (t *Tensor) width() int {
	switch t.Type {
	case Float, Int32:
		return 4
	case Int64, Double:
		return 8
	case Float16:
		return 2
	}
	return 0
}

// count makes sure that the tensor has the values its shape says.
func (t *Tensor) count() (n int, raw bool, err error) {
	n = t.Elements()
	w := t.width()
	switch {
	case w == 0:
		return 0, false, t.errorf("elements of type %d", t.Type)
	case t.external:
		return 0, false, t.errorf("its values stand in another file")
	case len(t.raw) == n*w:
		return n, true, nil
	case len(t.raw) == 0 && len(t.ints) == n:
		return n, false, nil
	}
	return 0, false, t.errorf("%d bytes and %d integers for shape %v", len(t.raw), len(t.ints), t.Dims)
}

// Floats returns the values as float32.
func (t *Tensor) Floats() ([]float32, error) {
	n, raw, err := t.count()
	if err != nil {
		return nil, err
	}
	out := make([]float32, n)
	for i := range out {
		switch {
		case t.Type == Float16 && !raw: // halves as integers
			out[i] = float16.Frombits(uint16(t.ints[i])).Float32()
		case !raw:
			out[i] = float32(t.ints[i])
		case t.Type == Float16:
			out[i] = float16.Frombits(binary.LittleEndian.Uint16(t.raw[2*i:])).Float32()
		case t.Type == Float:
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.raw[4*i:]))
		case t.Type == Double:
			out[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.raw[8*i:])))
		default:
			out[i] = float32(t.integer(i))
		}
	}
	return out, nil
}

// Ints returns the values of a tensor of integers.
func (t *Tensor) Ints() ([]int64, error) {
	n, raw, err := t.count()
	if err != nil {
		return nil, err
	}
	if t.Type != Int32 && t.Type != Int64 {
		return nil, t.errorf("elements of type %d, want integers", t.Type)
	}
	if !raw {
		return t.ints, nil
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = t.integer(i)
	}
	return out, nil
}

// integer is element i of raw integers.
func (t *Tensor) integer(i int) int64 {
	if t.Type == Int32 {
		return int64(int32(binary.LittleEndian.Uint32(t.raw[4*i:])))
	}
	return int64(binary.LittleEndian.Uint64(t.raw[8*i:]))
}
