package coeff

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
)

// PackProduct returns the packed weights of a matmul with a constant right side, for the result
// columns in share s. They form planes, each with the weights of up to width columns. If table is
// not nil, it comes before the weights of each engine. PackProduct stores dense weights in the
// memory that room(n) returns, which must be n zero bytes. If room is nil, it allocates the memory.
func PackProduct(l *layer.Layer, w *layer.Weights, s Share, width int, table []byte, room func(n int) []byte) *Kernel {
	k, n := l.In.W, l.Columns
	f := ChannelWeights{
		Groups: 1, Channels: s.Channels, Taps: k, SizesOnly: w.SizesOnly,
		Weight: func(_, c, i int) float16.Float16 {
			if l.Op == layer.Linear {
				return w.Weight((s.First+c)*k + i)
			}
			return w.Weight(i*n + s.First + c)
		},
	}
	if l.Op == layer.Linear {
		f.readChannel = func(buf []float16.Float16, _, c int) []float16.Float16 { return w.ReadRun(buf, (s.First+c)*k, k) }
	} else {
		f.readTap = func(buf []float16.Float16, i int) []float16.Float16 { return w.ReadRun(buf, i*n+s.First, s.Channels) }
	}
	if l.Bias {
		f.Bias = func(_, c int) float16.Float16 { return layer.ValueAt(w.Bias, s.First+c) }
	}
	f.setPreferredForm(w, func(_, c int) int { return s.First + c })
	f.reserve, f.headroom = room, len(table)
	return f.Pack(width).prependTable(table)
}
