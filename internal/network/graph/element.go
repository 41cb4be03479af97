package graph

import (
	"math"

	"github.com/x448/float16"
)

// Rounded returns v as a tensor with elements of type elem would store it. A bool becomes 0 or 1,
// an integer loses its fraction, and a floating-point number gets the precision of its type.
// Integers of up to 32 bits wrap around if v exceeds their range.
func Rounded(elem Type, v float64) float64 {
	switch elem {
	case Float:
		return float64(float32(v))
	case Float16:
		return float64(float16.Fromfloat32(float32(v)).Float32())
	case BFloat16:
		// Cut off, not rounded to nearest.
		return float64(math.Float32frombits(math.Float32bits(float32(v)) &^ 0xffff))
	case Double:
		return v
	case Bool:
		return Truth(v != 0)
	case Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float4E2M1:
		return smallFloats[elem].round(v)
	}
	// By way of an int64, because Go leaves the conversion of a float beyond the range of a type to the
	// processor.
	i := Integer(math.Trunc(v))
	switch elem {
	case Int8:
		return float64(int8(i))
	case Uint8:
		return float64(uint8(i))
	case Int16:
		return float64(int16(i))
	case Uint16:
		return float64(uint16(i))
	case Int32:
		return float64(int32(i))
	case Uint32:
		return float64(uint32(i))
	case Uint4, Uint2:
		return float64(i & (1<<elem.Bits() - 1))
	case Int4, Int2:
		unused := 64 - elem.Bits()
		return float64(i << unused >> unused)
	}
	return math.Trunc(v)
}

// Truth returns the number for a boolean: 1 for true and 0 for false.
func Truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
