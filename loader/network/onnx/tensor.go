package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/x448/float16"
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/loader/network/graph"
	"anesim/loader/network/wire"
)

// A DataType is the type of a tensor's elements, by its number in the format.
type DataType = graph.Type

// The types.
const (
	Float    = graph.Float
	Uint8    = graph.Uint8
	Int8     = graph.Int8
	Uint16   = graph.Uint16
	Int16    = graph.Int16
	Int32    = graph.Int32
	Int64    = graph.Int64
	String   = graph.String
	Bool     = graph.Bool
	Float16  = graph.Float16
	Double   = graph.Double
	Uint32   = graph.Uint32
	Uint64   = graph.Uint64
	BFloat16 = graph.BFloat16
)

// A Tensor is a constant.
type Tensor struct {
	Name string
	Dims []int64
	Type DataType
	Off  int64 // byte of the file
	// File is where the values stand, where that is not the model's file.
	File *External

	raw     []byte // raw_data, or the fixed-width values
	rawAt   int64  // byte of the file that raw_data begins at
	source  *source
	varints []byte // int32_data, int64_data and uint64_data as they stand in the file
	count   int    // of varints
}

// External is a run of bytes of another file.
type External struct {
	Location       string // a path from the model's directory
	Offset, Length int64  // Length is -1 where the file does not say
}

// Elements is the number of elements the shape has; Read made sure that it is one.
func (t *Tensor) Elements() int {
	n := 1
	for _, d := range t.Dims {
		n *= int(d)
	}
	return n
}

// NewTensor is a tensor of values that stand in raw, little-endian.
func NewTensor(name string, t DataType, dims []int64, raw []byte) *Tensor {
	return &Tensor{Name: name, Dims: dims, Type: t, raw: raw}
}

// Attach gives a tensor whose values stand in another file their bytes.
func (t *Tensor) Attach(raw []byte) { t.raw, t.source, t.File = raw, nil, nil }

// Bytes is the size of the values in another file.
func (t *Tensor) Bytes() int64 { return int64(t.Elements()) * int64(t.Type.Width()) }

// ReadTensor reads a file of one tensor.
func ReadTensor(data []byte) (*Tensor, error) { return readTensor(wire.Message{Data: data}, 0) }

func tensor(f wire.Field) (*Tensor, error) {
	if err := f.Want(protowire.BytesType); err != nil {
		return nil, err
	}
	return readTensor(f.Body, int64(f.Off))
}

func readTensor(m wire.Message, off int64) (*Tensor, error) {
	t := &Tensor{Off: off}
	location := int64(0)
	var external *External
	err := m.Fields(func(f wire.Field) (err error) {
		var n int64
		switch f.Num {
		case 1:
			if err = f.Integers(&t.Dims); err == nil && len(t.Dims) > maxRank {
				err = t.errorf("%d dimensions", len(t.Dims))
			}
		case 2:
			err = f.Integer(&n)
			t.Type = DataType(n)
		case 4:
			err = f.Fixed(4, &t.raw)
		case 5, 7, 11:
			err = t.integers(f)
		case 8:
			err = f.Text(&t.Name)
		case 9:
			if err = f.Want(protowire.BytesType); err == nil {
				t.raw, t.rawAt = f.Body.Data, int64(f.Body.Off)
			}
		case 10:
			err = f.Fixed(8, &t.raw)
		case 13:
			if external == nil {
				external = &External{Length: -1}
			}
			err = external.entry(f)
		case 14:
			err = f.Integer(&location)
		}
		return err
	})
	if external != nil || location == 1 {
		if t.File = external; t.File == nil {
			t.File = &External{Length: -1}
		}
	}
	if err == nil {
		err = t.check()
	}
	return t, err
}

// entry reads one key of where values stand.
func (x *External) entry(f wire.Field) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	var key, text string
	err := f.Body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&key)
		case 2:
			return f.Text(&text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch key {
	case "location":
		x.Location = text
	case "offset":
		x.Offset, err = strconv.ParseInt(text, 10, 64)
	case "length":
		x.Length, err = strconv.ParseInt(text, 10, 64)
	}
	if err != nil || x.Offset < 0 || x.Length < -1 {
		return &FormatError{Off: int64(f.Off), What: fmt.Sprintf("external data: %s is %q", key, text)}
	}
	return nil
}

// integers keeps varints as they stand; they take a byte each in the file and eight as
// numbers.
func (t *Tensor) integers(f wire.Field) error {
	if f.Wire == protowire.VarintType {
		t.varints = protowire.AppendVarint(t.varints, f.N)
		t.count++
		return nil
	}
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	count, run := 0, 0
	for at, b := range f.Body.Data {
		if run++; run > binary.MaxVarintLen64 {
			return &FormatError{Off: int64(f.Body.Off + at), What: fmt.Sprintf("packed field %d: an integer of more than 64 bits", f.Num)}
		}
		if b < 0x80 {
			count, run = count+1, 0
		}
	}
	if run != 0 {
		return &FormatError{Off: int64(f.Body.Off + len(f.Body.Data)), What: fmt.Sprintf("packed field %d: unexpected EOF", f.Num)}
	}
	if t.varints == nil {
		t.varints = f.Body.Data[:len(f.Body.Data):len(f.Body.Data)]
	} else {
		t.varints = append(t.varints, f.Body.Data...)
	}
	t.count += count
	return nil
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
	return &FormatError{Off: t.Off, What: fmt.Sprintf("tensor %q: %s", t.Name, fmt.Sprintf(format, args...))}
}

// External reports whether the values stand in another file.
func (t *Tensor) External() bool { return t.File != nil }

// Valid makes sure that the tensor has the values its shape says.
func (t *Tensor) Valid() error {
	n, w := t.Elements(), t.Type.Width()
	switch {
	case w == 0:
		return t.errorf("elements of %v", t.Type)
	case t.External():
		return t.errorf("its values stand in another file")
	case t.source != nil:
		if t.source.bytes == int64(n*w) {
			return nil
		}
		return t.errorf("%d bytes for shape %v", t.source.bytes, t.Dims)
	case len(t.raw) == n*w, len(t.raw) == 0 && t.count == n:
		return nil
	}
	return t.errorf("%d bytes and %d integers for shape %v", len(t.raw), t.count, t.Dims)
}

// Each calls set with every value in order.
func (t *Tensor) Each(set func(i int, v float64)) error {
	if err := t.Valid(); err != nil {
		return err
	}
	n := t.Elements()
	if len(t.raw) > 0 || n == 0 || t.source != nil {
		w := t.Type.Width()
		return t.runs(func(first int, b []byte) {
			for i := range len(b) / w {
				set(first+i, element(t.Type, b[i*w:]))
			}
		})
	}
	rest := t.varints
	for i := range n {
		v, k := protowire.ConsumeVarint(rest)
		if k < 0 {
			return t.errorf("integer %d: %v", i, wire.Reason(k))
		}
		rest = rest[k:]
		set(i, integer(t.Type, v))
	}
	return nil
}

// element is an element as it stands in memory.
func element(t DataType, b []byte) float64 {
	switch t {
	case Float:
		return float64(float32Of(binary.LittleEndian.Uint32(b)))
	case Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case Float16:
		return float64(float16.Frombits(binary.LittleEndian.Uint16(b)).Float32())
	case BFloat16:
		return float64(float32Of(uint32(binary.LittleEndian.Uint16(b)) << 16))
	case Int8:
		return float64(int8(b[0]))
	case Uint8, Bool:
		return float64(b[0])
	case Int16:
		return float64(int16(binary.LittleEndian.Uint16(b)))
	case Uint16:
		return float64(binary.LittleEndian.Uint16(b))
	case Int32:
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case Uint32:
		return float64(binary.LittleEndian.Uint32(b))
	case Int64:
		return float64(int64(binary.LittleEndian.Uint64(b)))
	}
	return float64(binary.LittleEndian.Uint64(b))
}

// integer is an element as a varint; 16-bit floats are their bits.
func integer(t DataType, v uint64) float64 {
	switch t {
	case Float16:
		return float64(float16.Frombits(uint16(v)).Float32())
	case BFloat16:
		return float64(float32Of(uint32(uint16(v)) << 16))
	case Uint64:
		return float64(v)
	}
	return float64(int64(v))
}

// Floats returns the values as float32.
func (t *Tensor) Floats() ([]float32, error) {
	if err := t.Valid(); err != nil {
		return nil, err
	}
	out := make([]float32, t.Elements())
	return out, t.Each(func(i int, v float64) { out[i] = float32(v) })
}

// Numbers returns the values as float64, which holds those of every type but integers
// beyond 2^53.
func (t *Tensor) Numbers() ([]float64, error) {
	if err := t.Valid(); err != nil {
		return nil, err
	}
	out := make([]float64, t.Elements())
	return out, t.Each(func(i int, v float64) { out[i] = v })
}

// Halves returns the values rounded to fp16, those of float64 by way of float32.
func (t *Tensor) Halves() ([]float16.Float16, error) {
	if err := t.Valid(); err != nil {
		return nil, err
	}
	out := make([]float16.Float16, t.Elements())
	if len(t.raw) > 0 || t.source != nil {
		switch t.Type { // without float64 between, which large weights notice
		case Float:
			return out, t.runs(func(first int, b []byte) {
				for i := range len(b) / 4 {
					out[first+i] = float16.Fromfloat32(float32Of(binary.LittleEndian.Uint32(b[4*i:])))
				}
			})
		case Float16:
			return out, t.runs(func(first int, b []byte) {
				for i := range len(b) / 2 {
					out[first+i] = float16.Frombits(binary.LittleEndian.Uint16(b[2*i:]))
				}
			})
		}
	}
	return out, t.Each(func(i int, v float64) { out[i] = float16.Fromfloat32(float32(v)) })
}

// Ints returns the values of a tensor of integers.
func (t *Tensor) Ints() ([]int64, error) {
	if err := t.Valid(); err != nil {
		return nil, err
	}
	if t.Type.IsFloat() {
		return nil, t.errorf("elements of %v, want integers", t.Type)
	}
	out := make([]int64, t.Elements())
	return out, t.Each(func(i int, v float64) { out[i] = graph.Integer(v) })
}

func float32Of(bits uint32) float32 { return math.Float32frombits(bits) }

// appendFloats appends little-endian float32s.
func appendFloats(list []float32, raw []byte) []float32 {
	for ; len(raw) >= 4; raw = raw[4:] {
		list = append(list, float32Of(binary.LittleEndian.Uint32(raw)))
	}
	return list
}
