package graph

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/x448/float16"
)

// A Type is the element type of a tensor. Its value is the number that ONNX gives the type, or 0 if
// the type is unknown.
type Type int64

// The element types of tensors, with the numbers that ONNX gives them.
const (
	Float    Type = 1
	Uint8    Type = 2
	Int8     Type = 3
	Uint16   Type = 4
	Int16    Type = 5
	Int32    Type = 6
	Int64    Type = 7
	String   Type = 8
	Bool     Type = 9
	Float16  Type = 10
	Double   Type = 11
	Uint32   Type = 12
	Uint64   Type = 13
	BFloat16 Type = 16
)

// types holds the names and widths of the supported types.
var types = map[Type]struct {
	name  string
	width int
}{
	Float: {"float32", 4}, Uint8: {"uint8", 1}, Int8: {"int8", 1}, Uint16: {"uint16", 2}, Int16: {"int16", 2},
	Int32: {"int32", 4}, Int64: {"int64", 8}, String: {"string", 0}, Bool: {"bool", 1}, Float16: {"float16", 2},
	Double: {"float64", 8}, Uint32: {"uint32", 4}, Uint64: {"uint64", 8}, BFloat16: {"bfloat16", 2},
}

// String returns the name of the type in numpy, such as "float32", or a text such as "type 17" for
// an unknown type.
func (t Type) String() string {
	if x, ok := types[t]; ok {
		return x.name
	}
	return "type " + strconv.FormatInt(int64(t), 10)
}

// Width returns the size of an element in bytes. It returns 0 for strings and for unknown types.
func (t Type) Width() int { return types[t].width }

// IsFloat reports whether t is one of the four floating-point types.
func (t Type) IsFloat() bool {
	return t == Float || t == Float16 || t == Double || t == BFloat16
}

// Append converts v to an element of type t, appends its little-endian bytes to b and returns the
// extended slice.
func (t Type) Append(b []byte, v float64) []byte {
	le := binary.LittleEndian
	switch t {
	case Float:
		return le.AppendUint32(b, math.Float32bits(float32(v)))
	case Double:
		return le.AppendUint64(b, math.Float64bits(v))
	case Float16:
		return le.AppendUint16(b, float16.Fromfloat32(float32(v)).Bits())
	case BFloat16:
		return le.AppendUint16(b, uint16(math.Float32bits(float32(v))>>16))
	}
	i := uint64(Integer(v))
	switch t.Width() {
	case 1:
		return append(b, byte(i))
	case 2:
		return le.AppendUint16(b, uint16(i))
	case 4:
		return le.AppendUint32(b, uint32(i))
	}
	return le.AppendUint64(b, i)
}

// Integer converts v to an int64. It truncates towards zero, and clamps values beyond the range of
// int64. It returns 0 for NaN.
func Integer(v float64) int64 {
	switch {
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	case v != v:
		return 0
	}
	return int64(v)
}
