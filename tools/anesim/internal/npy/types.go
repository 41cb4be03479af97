package npy

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/x448/float16"
)

// An element is how a type's elements stand in a file.
type element struct {
	bytes  int
	read   func(b []byte) float16.Float16
	append func(b []byte, v float16.Float16) []byte
}

// widest is the bytes of the widest element.
const widest = 8

var little = binary.LittleEndian

// halvesAlone are what is read and written without rounding.
var halvesAlone = map[string]element{dtype: half}

var half = element{
	elementBytes,
	func(b []byte) float16.Float16 { return float16.Frombits(little.Uint16(b)) },
	func(b []byte, v float16.Float16) []byte { return little.AppendUint16(b, v.Bits()) },
}

// floats are the types that a network's file may have; the engine computes fp16 of all.
var floats = map[string]element{
	dtype: half,
	"<f4": {
		4,
		func(b []byte) float16.Float16 { return float16.Fromfloat32(math.Float32frombits(little.Uint32(b))) },
		func(b []byte, v float16.Float16) []byte { return little.AppendUint32(b, math.Float32bits(v.Float32())) },
	},
	"<f8": {
		8,
		func(b []byte) float16.Float16 { return rounded(math.Float64frombits(little.Uint64(b))) },
		func(b []byte, v float16.Float16) []byte {
			return little.AppendUint64(b, math.Float64bits(float64(v.Float32())))
		},
	},
}

// rounded is the fp16 value nearest to a number. On the way there it is rounded to an odd
// float32, which is in the middle of no two fp16 values.
func rounded(x float64) float16.Float16 {
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

// ReadRounded is Read that takes float32 and float64 as well and rounds them to fp16.
func ReadRounded(r io.ReaderAt, size int64) (Array, error) { return readAs(r, size, floats) }

// WriteAs is Write with elements of a type as numpy names it: float16, float32 or float64.
// Any other is written as float16.
func WriteAs(w io.Writer, typ string, shape []int, data []float16.Float16) error {
	descr := map[string]string{"float32": "<f4", "float64": "<f8"}[typ]
	if descr == "" {
		descr = dtype
	}
	return writeAs(w, descr, floats[descr], shape, data)
}
