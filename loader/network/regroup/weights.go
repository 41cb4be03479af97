package regroup

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A composition describes two consecutive layers whose weights are composed. At most one of them
// has more than one tap.
type composition struct {
	first, second         *list.Layer
	outer, middle, inner  int // channels: output, in between, input
	taps                  int
	firstTaps, secondTaps int
}

// isPointwise reports whether the window of convolution l is a single pixel, with stride 1 and
// without padding.
func isPointwise(l *layer.Layer) bool {
	w := l.Window
	return w.Kh == 1 && w.Kw == 1 && w.Sy == 1 && w.Sx == 1 && w.Py|w.Px|w.Qy|w.Qx == 0
}

func newComposition(first, second *list.Layer) composition {
	s := composition{first: first, second: second, outer: countOutputChannels(second), middle: countOutputChannels(first), firstTaps: 1, secondTaps: 1}
	s.inner = first.Lower.In.W
	if first.Lower.Op == layer.Convolution {
		s.inner = first.Lower.In.C
		s.firstTaps, s.secondTaps = first.Lower.Taps(), second.Lower.Taps()
	}
	s.taps = s.firstTaps * s.secondTaps
	return s
}

// weightAt returns the weight of layer l for output channel out, input channel in and a tap. outs,
// ins and taps are the numbers of each.
func weightAt(l *list.Layer, out, in, tap, outs, ins, taps int) float64 {
	at := (out*ins+in)*taps + tap
	if l.Lower.Op == layer.MatMul {
		at = in*outs + out
	}
	return float64(l.Weights.Filter[at].Float32())
}

// composeWeights returns the weights of the composed layer, rounded from sums in float64.
func (s *composition) composeWeights() []float16.Float16 {
	out := make([]float16.Float16, s.outer*s.inner*s.taps)
	row := make([]float64, s.inner*s.taps)
	for o := range s.outer {
		clear(row)
		for m := range s.middle {
			for t := range s.secondTaps {
				b := weightAt(s.second, o, m, t, s.outer, s.middle, s.secondTaps)
				if b == 0 {
					continue
				}
				for i := range s.inner {
					for u := range s.firstTaps {
						row[(i*s.firstTaps+u)*s.secondTaps+t] += float64(b * weightAt(s.first, m, i, u, s.middle, s.inner, s.firstTaps))
					}
				}
			}
		}
		for k, v := range row {
			at := o*len(row) + k
			if s.second.Lower.Op == layer.MatMul {
				at = k*s.outer + o
			}
			out[at] = float16.Fromfloat32(float32(v))
		}
	}
	return out
}

// composeBias returns the bias of the composed layer: the first layer's bias passed through the
// second layer, plus the second layer's bias.
func (s *composition) composeBias(first, second []float16.Float16) []float16.Float16 {
	out := make([]float16.Float16, s.outer)
	for o := range out {
		sum := 0.0
		if second != nil {
			sum = float64(second[o].Float32())
		}
		for m := range first {
			for t := range s.secondTaps {
				sum += float64(float64(first[m].Float32()) * weightAt(s.second, o, m, t, s.outer, s.middle, s.secondTaps))
			}
		}
		out[o] = float16.Fromfloat32(float32(sum))
	}
	return out
}
