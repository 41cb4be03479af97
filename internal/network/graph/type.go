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
	// Of the formats of 8 bits, E4M3 have 4 bits of exponent and 3 of mantissa. FN have no infinities,
	// and UZ no negative zero.
	Float8E4M3FN   Type = 17
	Float8E4M3FNUZ Type = 18
	Float8E5M2     Type = 19
	Float8E5M2FNUZ Type = 20
	Uint4          Type = 21
	Int4           Type = 22
	Float4E2M1     Type = 23
	Uint2          Type = 25
	Int2           Type = 26
)

// types holds the names of the supported types, and the sizes of their elements in bits.
var types = map[Type]struct {
	name string
	bits int
}{
	Float: {"float32", 32}, Uint8: {"uint8", 8}, Int8: {"int8", 8}, Uint16: {"uint16", 16}, Int16: {"int16", 16},
	Int32: {"int32", 32}, Int64: {"int64", 64}, String: {"string", 0}, Bool: {"bool", 8}, Float16: {"float16", 16},
	Double: {"float64", 64}, Uint32: {"uint32", 32}, Uint64: {"uint64", 64}, BFloat16: {"bfloat16", 16},
	Float8E4M3FN: {"float8e4m3fn", 8}, Float8E4M3FNUZ: {"float8e4m3fnuz", 8}, Float8E5M2: {"float8e5m2", 8}, Float8E5M2FNUZ: {"float8e5m2fnuz", 8},
	Float4E2M1: {"float4e2m1", 4},
	Uint4:      {"uint4", 4}, Int4: {"int4", 4}, Uint2: {"uint2", 2}, Int2: {"int2", 2},
}

// String returns the name of the type in numpy, such as "float32", or a text such as "type 17" for
// an unknown type.
func (t Type) String() string {
	if x, ok := types[t]; ok {
		return x.name
	}
	return "type " + strconv.FormatInt(int64(t), 10)
}

// Bits returns the size of an element in bits as files pack it. It returns 0 for strings and for
// unknown types.
func (t Type) Bits() int { return types[t].bits }

// Width returns the size in bytes of an element that is stored alone: 1 for types of fewer than 8
// bits. It returns 0 for strings and for unknown types.
func (t Type) Width() int { return (t.Bits() + 7) / 8 }

// isSigned reports whether t is an integer type with negative numbers.
func (t Type) isSigned() bool {
	return t == Int2 || t == Int4 || t == Int8 || t == Int16 || t == Int32 || t == Int64
}

// Range returns the smallest and the largest number of the integer type t.
func (t Type) Range() (low, high float64) {
	switch span := math.Ldexp(1, t.Bits()); {
	case t == Bool:
		return 0, 1
	case t.isSigned():
		return -span / 2, span/2 - 1
	default:
		return 0, span - 1
	}
}

// IsFloat reports whether t is one of the floating-point types.
func (t Type) IsFloat() bool {
	return t == Float || t == Float16 || t == Double || t == BFloat16 || t.IsSmallFloat()
}

// IsSmallFloat reports whether t is one of the floating-point types of 4 or 8 bits. Only constants have
// them: the engine does not round to them.
func (t Type) IsSmallFloat() bool { return Float8E4M3FN <= t && t <= Float8E5M2FNUZ || t == Float4E2M1 }

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
	if t.IsSmallFloat() {
		return append(b, smallFloats[t].encode(v, t.Bits()))
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
