package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/x448/float16"
)

// An element describes how the elements of a type are stored in a file.
type element struct {
	bytes  int
	read   func(b []byte) float16.Float16
	append func(b []byte, v float16.Float16) []byte
	number func(b []byte) float64 // exact value of an integer type, nil for other types
}

// widest is the size in bytes of the largest element.
const widest = 8

var little = binary.LittleEndian

// halfTypes holds the only type that is read and written without rounding.
var halfTypes = map[string]element{dtype: half}

var half = element{
	elementBytes,
	func(b []byte) float16.Float16 { return float16.Frombits(little.Uint16(b)) },
	func(b []byte, v float16.Float16) []byte { return little.AppendUint16(b, v.Bits()) },
	nil,
}

// floatTypes holds the floating-point types of .npy files. The engine computes in fp16 with all
// of them.
var floatTypes = map[string]element{
	dtype: half,
	"<f4": {
		4,
		func(b []byte) float16.Float16 { return float16.Fromfloat32(math.Float32frombits(little.Uint32(b))) },
		func(b []byte, v float16.Float16) []byte { return little.AppendUint32(b, math.Float32bits(v.Float32())) },
		nil,
	},
	"<f8": {
		8,
		func(b []byte) float16.Float16 { return toFloat16(math.Float64frombits(little.Uint64(b))) },
		func(b []byte, v float16.Float16) []byte {
			return little.AppendUint64(b, math.Float64bits(float64(v.Float32())))
		},
		nil,
	},
}

// allTypes holds the floating-point and integer types. The host computes with integers.
var allTypes = func() map[string]element {
	all := maps.Clone(floatTypes)
	whole := func(bytes int, number func(b []byte) float64) element {
		return element{bytes, func(b []byte) float16.Float16 { return toFloat16(number(b)) }, nil, number}
	}
	unsigned := whole(1, func(b []byte) float64 { return float64(b[0]) })
	all["|b1"], all["|u1"] = unsigned, unsigned
	all["|i1"] = whole(1, func(b []byte) float64 { return float64(int8(b[0])) })
	all["<i2"] = whole(2, func(b []byte) float64 { return float64(int16(little.Uint16(b))) })
	all["<u2"] = whole(2, func(b []byte) float64 { return float64(little.Uint16(b)) })
	all["<i4"] = whole(4, func(b []byte) float64 { return float64(int32(little.Uint32(b))) })
	all["<u4"] = whole(4, func(b []byte) float64 { return float64(little.Uint32(b)) })
	all["<i8"] = whole(8, func(b []byte) float64 { return float64(int64(little.Uint64(b))) })
	return all
}()

// toFloat16 returns x rounded to the nearest fp16 value. It first rounds to a float32 with an odd
// last bit, which never lies halfway between two fp16 values, to avoid the error of rounding twice.
func toFloat16(x float64) float16.Float16 {
	f := float32(x)
	if back := float64(f); back != x && !math.IsNaN(x) {
		bits := math.Float32bits(f)
		if math.Abs(back) > math.Abs(x) {
			bits--
		}
		f = math.Float32frombits(bits | 1)
	}
	return float16.Fromfloat32(f)
}

// ReadRounded is like [Read], but also accepts float32, float64, integers and bool, and rounds them
// to fp16. It stores the exact values of integers in Array.Numbers.
func ReadRounded(r io.ReaderAt, size int64) (Array, error) { return readArrayAs(r, size, allTypes) }

// WriteNumbers writes data as a .npy file. The type typ of its elements is "bool" or an integer
// type in numpy's spelling, such as "int32". NaN is written as 0. For an integer type, numbers are
// clamped to the range of 64-bit integers; for "bool", any number other than 0 is written as 1. If
// typ is anything else, the elements are written as float64.
func WriteNumbers(w io.Writer, typ string, shape []int, data []float64) error {
	kind, ok := map[string]struct {
		descr string
		bytes int
	}{"int64": {"<i8", 8}, "int32": {"<i4", 4}, "int16": {"<i2", 2}, "int8": {"|i1", 1},
		"uint64": {"<u8", 8}, "uint32": {"<u4", 4}, "uint16": {"<u2", 2}, "uint8": {"|u1", 1}, "bool": {"|b1", 1},
	}[typ]
	if !ok {
		kind.descr, kind.bytes = "<f8", 8
	}
	n, err := countElements(shape)
	if err != nil {
		return fmt.Errorf("npy: %w", err)
	}
	if n != len(data) {
		return fmt.Errorf("npy: data has %d elements; want %d for shape %v", len(data), n, shape)
	}
	if _, err := w.Write(appendHeader(nil, kind.descr, shape)); err != nil {
		return err
	}
	b := make([]byte, 0, min(chunk, kind.bytes*len(data)))
	// An eighth of the chunk, as an element has at most 8 bytes.
	for part := range slices.Chunk(data, chunk/8) {
		b = b[:0]
		for _, v := range part {
			bits := math.Float64bits(v)
			if ok {
				bits = toInteger(typ, v)
			}
			// The low bytes of a two's complement number are the number in a shorter type.
			b = append(b, little.AppendUint64(nil, bits)[:kind.bytes]...)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// toInteger converts v to the two's complement bits of an integer type. It clamps v to the range of
// 64 bits.
func toInteger(typ string, v float64) uint64 {
	switch {
	case v != v:
		return 0
	case typ == "bool":
		if v != 0 {
			return 1
		}
		return 0
	case typ == "uint64" && v >= 0x1p63:
		if v >= 0x1p64 {
			return math.MaxUint64
		}
		return uint64(v)
	case v >= 0x1p63:
		return math.MaxInt64
	case v <= -0x1p63:
		return 1 << 63
	}
	return uint64(int64(v))
}

// WriteAs is like [Write], but writes elements of type typ, which is "float16", "float32" or
// "float64". For any other type it writes float16.
func WriteAs(w io.Writer, typ string, shape []int, data []float16.Float16) error {
	descr := map[string]string{"float32": "<f4", "float64": "<f8"}[typ]
	if descr == "" {
		descr = dtype
	}
	return writeArrayAs(w, descr, floatTypes[descr], shape, data)
}
