package coeff

import (
	"math"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// AddendBeforeFactor returns q = a/f, the addend for which (x + q) * f equals x*f + a apart from
// rounding. It returns 0 and true if a is 0. It returns false if q is outside the range of normal
// fp16 values.
func AddendBeforeFactor(a, f float16.Float16) (float16.Float16, bool) {
	const least, most = 0x1p-14, 65504
	if a&^signBit == 0 {
		return 0, true
	}
	q := a.Float32() / f.Float32() // NaN if both are zero, which fails the comparisons
	size := math.Abs(float64(q))
	return float16.Fromfloat32(q), size >= least && size <= most
}

// Bits of fp16 values.
const (
	signBit = 0x8000
	one     = 0x3c00
	half    = 0x3800
)

// ChannelTable returns the constants of layer l, an operation on a tensor and one constant for each
// channel: a row of addends and a row of factors, each padded to a multiple of 64 bytes. The error is a
// *layer.UnsupportedError.
func ChannelTable(l *layer.Layer, w *layer.Weights) ([]byte, error) {
	row := layer.RoundUp(l.In.C*layer.ElementBytes, 64)
	table := make([]byte, 2*row)
	for c := range l.In.C {
		bias, scale := uint16(0), uint16(one)
		v := uint16(layer.ValueAt(w.Second, 0))
		if l.Second == layer.Constant {
			v = uint16(layer.ValueAt(w.Second, c))
		}
		switch l.Op {
		case layer.Add:
			bias = v
		case layer.Sub:
			// The planar engine adds before it multiplies and has no difference of a constant: x - v is x
			// + (-v), exact in fp16.
			bias = v ^ signBit
		case layer.Mul:
			scale = v
			if l.Bias {
				// The layer adds after its factor, the engine before: the addend is divided by the factor.
				b, ok := AddendBeforeFactor(layer.ValueAt(w.Bias, c), float16.Frombits(v))
				if !ok {
					return nil, l.Unsupportedf("cannot divide the addend of channel %d by its factor in fp16; use a separate addition after the multiplication", c)
				}
				bias = uint16(b)
			}
		case layer.RealDiv:
			scale = uint16(float16.Fromfloat32(1 / float16.Frombits(v).Float32()))
		case layer.Average:
			bias, scale = v, half
		}
		PutHalf(table[2*c:], bias)
		PutHalf(table[row+2*c:], scale)
	}
	return table, nil
}
