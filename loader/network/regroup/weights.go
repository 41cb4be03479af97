package regroup

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A stack is the weights of two layers one behind the other. One of them at most has taps.
type stack struct {
	first, second         *list.Layer
	outer, middle, inner  int // channels: made, between, read
	taps                  int
	firstTaps, secondTaps int
}

// single reports whether a convolution looks at single pixels, each of them.
func single(l *layer.Layer) bool {
	w := l.Window
	return w.Kh == 1 && w.Kw == 1 && w.Sy == 1 && w.Sx == 1 && w.Py|w.Px|w.Qy|w.Qx == 0
}

func weightsOf(first, second *list.Layer) stack {
	s := stack{first: first, second: second, outer: columnsOut(second), middle: columnsOut(first), firstTaps: 1, secondTaps: 1}
	s.inner = first.Lower.In.W
	if first.Lower.Op == layer.Convolution {
		s.inner = first.Lower.In.C
		s.firstTaps, s.secondTaps = first.Lower.Taps(), second.Lower.Taps()
	}
	s.taps = s.firstTaps * s.secondTaps
	return s
}

// weight is that of an output and an input channel of a layer, at a tap.
func weight(l *list.Layer, out, in, tap, outs, ins, taps int) float64 {
	at := (out*ins+in)*taps + tap
	if l.Lower.Op == layer.MatMul {
		at = in*outs + out
	}
	return float64(l.Weights.Filter[at].Float32())
}

// product is the weights of the one layer, rounded from sums in float64.
func (s *stack) product() []float16.Float16 {
	out := make([]float16.Float16, s.outer*s.inner*s.taps)
	row := make([]float64, s.inner*s.taps)
	for o := range s.outer {
		clear(row)
		for m := range s.middle {
			for t := range s.secondTaps {
				b := weight(s.second, o, m, t, s.outer, s.middle, s.secondTaps)
				if b == 0 {
					continue
				}
				for i := range s.inner {
					for u := range s.firstTaps {
						row[(i*s.firstTaps+u)*s.secondTaps+t] += float64(b * weight(s.first, m, i, u, s.middle, s.inner, s.firstTaps))
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

// bias is the biases of the one layer: what the first adds, through the second, and its own.
func (s *stack) bias(first, second []float16.Float16) []float16.Float16 {
	out := make([]float16.Float16, s.outer)
	for o := range out {
		sum := 0.0
		if second != nil {
			sum = float64(second[o].Float32())
		}
		for m := range first {
			for t := range s.secondTaps {
				sum += float64(float64(first[m].Float32()) * weight(s.second, o, m, t, s.outer, s.middle, s.secondTaps))
			}
		}
		out[o] = float16.Fromfloat32(float32(sum))
	}
	return out
}
