package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/x448/float16"
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
	"anesim/internal/network/wire"
)

// A DataType is the element type of a tensor. Its value is the number that ONNX gives the type.
type DataType = graph.Type

// The element types of tensors.
const (
	Float          = graph.Float
	Uint8          = graph.Uint8
	Int8           = graph.Int8
	Uint16         = graph.Uint16
	Int16          = graph.Int16
	Int32          = graph.Int32
	Int64          = graph.Int64
	String         = graph.String
	Bool           = graph.Bool
	Float16        = graph.Float16
	Double         = graph.Double
	Uint32         = graph.Uint32
	Uint64         = graph.Uint64
	BFloat16       = graph.BFloat16
	Uint4          = graph.Uint4
	Float8E4M3FN   = graph.Float8E4M3FN
	Float8E4M3FNUZ = graph.Float8E4M3FNUZ
	Float8E5M2     = graph.Float8E5M2
	Float8E5M2FNUZ = graph.Float8E5M2FNUZ
	Float4E2M1     = graph.Float4E2M1
	Int4           = graph.Int4
	Uint2          = graph.Uint2
	Int2           = graph.Int2
)

// Elements returns the number of elements of a tensor of shape dims, which is 1 if dims is empty.
func Elements(dims []int) int { return graph.Elements(dims) }

// A Tensor is a constant of a model. Its values are in the model's file, in another file, or in
// memory.
type Tensor struct {
	Name string
	Dims []int64
	Type DataType
	Off  int64 // byte offset in the file
	// File locates the values if they are stored in another file.
	File *External

	raw     []byte // raw_data, or the fixed-width values
	rawAt   int64  // offset of raw_data in the file
	source  *deferredValues
	varints []byte // int32_data, int64_data and uint64_data, still encoded
	count   int    // number of varints
}

// An External is the place of a tensor's values outside the model's file: a range of bytes in
// another file.
type External struct {
	Location       string // path relative to the model's directory
	Offset, Length int64  // Length is -1 if the model does not state it
}

// Elements returns the number of elements of t. The product cannot overflow for a tensor from a
// file, because readers limit shapes.
func (t *Tensor) Elements() int {
	n := 1
	for _, d := range t.Dims {
		n *= int(d)
	}
	return n
}

// NewTensor returns a tensor with the given name, element type t and shape dims. raw holds its
// elements in little-endian order, and must not change afterwards.
func NewTensor(name string, t DataType, dims []int64, raw []byte) *Tensor {
	return &Tensor{Name: name, Dims: dims, Type: t, raw: raw}
}

// Attach supplies the values of t if the model stores them in another file. raw holds the elements
// in little-endian order.
func (t *Tensor) Attach(raw []byte) { t.raw, t.source, t.File = raw, nil, nil }

// Bytes returns the size in bytes of the elements of t at the full width of its type. Elements of 4
// or 2 bits share bytes. Bytes returns 0 for types without a width, such as strings.
func (t *Tensor) Bytes() int64 { return (int64(t.Elements())*int64(t.Type.Bits()) + 7) / 8 }

// countVarints returns the number of varints that hold n elements of type t: one for each element, or
// for each byte of elements that share bytes.
func countVarints(t DataType, n int) int {
	if bits := t.Bits(); bits < 8 {
		return (n*bits + 7) / 8
	}
	return n
}

// ReadTensor reads a tensor from the content of a file that holds a single TensorProto message,
// such as a file of ONNX's test data. The error is a *[FormatError].
func ReadTensor(data []byte) (*Tensor, error) { return readTensor(wire.Message{Data: data}, 0) }

func readTensorField(f wire.Field) (*Tensor, error) {
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
				err = t.errorf("shape has %d dimensions; want at most %d", len(t.Dims), maxRank)
			}
		case 2:
			err = f.Integer(&n)
			t.Type = DataType(n)
		case 4:
			err = f.Fixed(4, &t.raw)
		case 5, 7, 11:
			err = t.appendRawVarints(f)
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
			err = external.readEntry(f)
		case 14:
			err = f.Integer(&location)
		}
		return err
	})
	// Either sign suffices: writers set the location, the entries, or both.
	if external != nil || location == 1 {
		if t.File = external; t.File == nil {
			t.File = &External{Length: -1}
		}
	}
	if err == nil {
		err = t.checkShape()
	}
	return t, err
}

// readEntry reads one key and its value, such as location or offset, from an entry of the field
// external_data.
func (x *External) readEntry(f wire.Field) error {
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
	// Keys such as checksum are ignored.
	n := int64(0)
	switch key {
	case "location":
		x.Location = text
	case "offset":
		n, err = strconv.ParseInt(text, 10, 64)
		x.Offset = n
	case "length":
		n, err = strconv.ParseInt(text, 10, 64)
		x.Length = n
	}
	if err != nil || n < 0 {
		return &FormatError{Off: int64(f.Off), What: fmt.Sprintf("external data: %s is %q; want a nonnegative integer", key, text)}
	}
	return nil
}

// appendRawVarints appends the varints in field f to t.varints without decoding them, because a
// small number takes one byte instead of eight.
func (t *Tensor) appendRawVarints(f wire.Field) error {
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
			return &FormatError{Off: int64(f.Body.Off + at), What: fmt.Sprintf("packed field %d: integer has more than 64 bits", f.Num)}
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

// checkShape returns an error if the shape of t has too many axes, a negative extent, or so many
// elements that their number could overflow.
func (t *Tensor) checkShape() error {
	if len(t.Dims) > maxRank {
		return t.errorf("shape has %d dimensions; want at most %d", len(t.Dims), maxRank)
	}
	room := int64(MaxBytes)
	for _, d := range t.Dims {
		if d < 0 || d > room {
			return t.errorf("shape %v is out of range; want nonnegative dimensions and at most %d elements", t.Dims, MaxBytes)
		}
		room /= max(1, d)
	}
	return nil
}

func (t *Tensor) errorf(format string, args ...any) error {
	return &FormatError{Off: t.Off, What: fmt.Sprintf("tensor %q: %s", t.Name, fmt.Sprintf(format, args...))}
}

// External reports whether the values of t are in another file that was not opened. If so, methods
// that read the values return an error.
func (t *Tensor) External() bool { return t.File != nil }

// CheckValues returns an error if the values of t cannot be read: if they are in a file that was
// not opened, if their type is not supported, or if their number does not match the shape.
func (t *Tensor) CheckValues() error {
	bytes, varints := t.Bytes(), countVarints(t.Type, t.Elements())
	switch {
	case t.Type.Width() == 0:
		return t.errorf("unsupported element type %v", t.Type)
	case t.External():
		return t.errorf("values are in an external file that was not read")
	case t.source != nil:
		if t.source.bytes == bytes {
			return nil
		}
		return t.errorf("tensor has %d bytes; want %d for %v elements of shape %v", t.source.bytes, bytes, t.Type, t.Dims)
	case int64(len(t.raw)) == bytes, len(t.raw) == 0 && t.count == varints:
		return nil
	}
	return t.errorf("%d raw bytes and %d integers do not match shape %v; want %d bytes or %d integers", len(t.raw), t.count, t.Dims, bytes, varints)
}

// Each calls set with the index and the value of every element of t, in row-major order. It returns
// an error if the values cannot be read, possibly after some calls.
func (t *Tensor) Each(set func(i int, v float64)) error {
	if err := t.CheckValues(); err != nil {
		return err
	}
	n := t.Elements()
	if len(t.raw) > 0 || n == 0 || t.source != nil {
		w := t.Type.Width()
		return t.forEachChunk(func(first int, b []byte) {
			if t.Type.Bits() < 8 {
				unpackElements(t.Type, b, first, n, set)
				return
			}
			for i := range len(b) / w {
				set(first+i, decodeElement(t.Type, b[i*w:]))
			}
		})
	}
	// Integers stay varints until they are needed: most constants are read once or never.
	rest := t.varints
	for i := range countVarints(t.Type, n) {
		v, k := protowire.ConsumeVarint(rest)
		if k < 0 {
			return t.errorf("reading integer %d: %v", i, wire.Reason(k))
		}
		rest = rest[k:]
		if bits := t.Type.Bits(); bits < 8 {
			unpackElements(t.Type, []byte{byte(v)}, i*(8/bits), n, set)
			continue
		}
		set(i, decodeVarint(t.Type, v))
	}
	return nil
}

// unpackElements calls set for each element of type t, which has fewer than 8 bits, in the bytes b.
// The lowest bits of a byte hold its first element. first is the index of the first element of b.
// Elements from n on do not exist: they fill the last byte.
func unpackElements(t DataType, b []byte, first, n int, set func(i int, v float64)) {
	bits := t.Bits()
	each := 8 / bits
	for i := range min(each*len(b), n-first) {
		set(first+i, t.Decode(b[i/each]>>(i%each*bits)&(1<<bits-1)))
	}
}

// decodeElement returns the element of type t that the first bytes of b hold in little-endian
// order.
func decodeElement(t DataType, b []byte) float64 {
	switch t {
	case Float:
		return float64(float32FromBits(binary.LittleEndian.Uint32(b)))
	case Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case Float16:
		return float64(float16.Frombits(binary.LittleEndian.Uint16(b)).Float32())
	case BFloat16:
		return float64(float32FromBits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	case Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ:
		return t.Decode(b[0])
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

// decodeVarint returns the element of type t that a file stores as varint v. A 16-bit
// floating-point number is stored as its bits.
func decodeVarint(t DataType, v uint64) float64 {
	switch t {
	case Float16:
		return float64(float16.Frombits(uint16(v)).Float32())
	case BFloat16:
		return float64(float32FromBits(uint32(uint16(v)) << 16))
	case Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ:
		return t.Decode(uint8(v))
	case Uint64:
		return float64(v)
	}
	return float64(int64(v))
}

// Floats returns the elements of t converted to float32, or an error if they cannot be read.
func (t *Tensor) Floats() ([]float32, error) {
	if err := t.CheckValues(); err != nil {
		return nil, err
	}
	out := make([]float32, t.Elements())
	return out, t.Each(func(i int, v float64) { out[i] = float32(v) })
}

// Numbers returns the elements of t converted to float64, or an error if they cannot be read. The
// conversion is exact except for integers beyond ±2^53.
func (t *Tensor) Numbers() ([]float64, error) {
	if err := t.CheckValues(); err != nil {
		return nil, err
	}
	out := make([]float64, t.Elements())
	return out, t.Each(func(i int, v float64) { out[i] = v })
}

// Halves returns the elements of t rounded to fp16, or an error if they cannot be read. Values
// beyond the range of fp16 become infinite. A float64 is rounded to float32 first.
func (t *Tensor) Halves() ([]float16.Float16, error) {
	if err := t.CheckValues(); err != nil {
		return nil, err
	}
	out := make([]float16.Float16, t.Elements())
	if len(t.raw) > 0 || t.source != nil {
		switch t.Type { // fast paths for large weights, without float64
		case Float:
			return out, t.forEachChunkInParallel(func(first int, b []byte) {
				out := out[first : first+len(b)/4]
				for i := range out {
					out[i] = graph.RoundToHalf(binary.LittleEndian.Uint32(b[4*i : 4*i+4]))
				}
			})
		case Float16:
			return out, t.forEachChunkInParallel(func(first int, b []byte) {
				for i := range len(b) / 2 {
					out[first+i] = float16.Frombits(binary.LittleEndian.Uint16(b[2*i:]))
				}
			})
		}
	}
	return out, t.Each(func(i int, v float64) { out[i] = float16.Fromfloat32(float32(v)) })
}

// Ints returns the elements of t, an integer or bool tensor. It returns an error if the elements
// cannot be read or have a floating-point type.
func (t *Tensor) Ints() ([]int64, error) {
	if err := t.CheckValues(); err != nil {
		return nil, err
	}
	if t.Type.IsFloat() {
		return nil, t.errorf("element type is %v; want an integer type", t.Type)
	}
	out := make([]int64, t.Elements())
	return out, t.Each(func(i int, v float64) { out[i] = graph.Integer(v) })
}

func float32FromBits(bits uint32) float32 { return math.Float32frombits(bits) }

// appendFloats decodes raw as little-endian float32s and appends them to list.
func appendFloats(list []float32, raw []byte) []float32 {
	for ; len(raw) >= 4; raw = raw[4:] {
		list = append(list, float32FromBits(binary.LittleEndian.Uint32(raw)))
	}
	return list
}
