package weights

import (
	"anesim/loader/lower/family"
	"math"
	"math/bits"
	"slices"

	"github.com/x448/float16"

	"anesim/hw/mac"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// MaxCoefficients is the most coefficients that weights are made for; an engine program
// has far fewer.
const MaxCoefficients = 1 << 28

// Complete returns the layer's weights: the values that the file does not have are
// pseudo-random from seed, the activation tables are those of [mac.TableOf].
//
// Pseudo-random coefficients are odd multiples of a power of two between -s and s, none
// of them zero, where s is the power of two nearest to one over the square root of the
// reduction, so that results keep the magnitude of inputs.
func Complete(x *list.Layer, seed uint64) (layer.Weights, error) {
	return complete(x, seed, completeAll)
}

// Streamed is Complete with the filter as a source of the same values, for a layer that is
// lowered by itself: it is made as it is packed. A filter that the file has is left as it is.
func Streamed(x *list.Layer, seed uint64) (layer.Weights, error) {
	return complete(x, seed, completeSource)
}

// Sizes is Complete for a program that is only timed: a filter that the file does not have
// is left out. None of what Complete makes for it is zero, so that no figure changes.
func Sizes(x *list.Layer, seed uint64) (layer.Weights, error) {
	return complete(x, seed, completeSizes)
}

// How a filter that nobody gave is completed.
type completion uint8

const (
	completeAll    completion = iota
	completeSource            // as a source
	completeSizes             // not at all
)

func complete(x *list.Layer, seed uint64, how completion) (layer.Weights, error) {
	l, w := &x.Lower, x.Weights
	w.SizesOnly = how == completeSizes
	if w.Filter == nil {
		w.Form, w.Scale = layer.FormFP16, nil // made-up values fit no other
	}
	need := list.Needs(l)
	if most := max(need.Filter, need.Bias, need.Second); most > MaxCoefficients {
		return w, &layer.LimitError{
			Limit: "coefficients", Got: most, Max: MaxCoefficients,
			Nearest: "split the output channels into layers of their own",
		}
	}
	switch {
	case w.Filter != nil || need.Filter == 0 || how == completeSizes:
	case x.Average:
		one := float16.Fromfloat32(1 / float32(l.Taps()))
		w.Filter = slices.Repeat([]float16.Float16{one}, need.Filter)
	default:
		reduction := need.Filter / max(1, l.Cout+l.Columns)
		src := newRandom(need.Filter, (bits.Len(uint(reduction))-1)/2, seed, "weights")
		if how == completeSource {
			w.Source = src
			break
		}
		w.Filter = src.all()
	}
	if w.Bias == nil && need.Bias > 0 {
		w.Bias = Random(need.Bias, seed, "bias")
	}
	if w.Second == nil && need.Second > 0 {
		w.Second = Random(need.Second, seed, "second")
	}
	return w, tabulate(l, &w)
}

// tabulate gives weights the tables of a layer, and of the activation behind it.
func tabulate(l *layer.Layer, w *layer.Weights) error {
	op := l.Op
	switch {
	case op == layer.Softmax:
		w.Table, w.Reciprocal = table(mac.Exp), table(mac.Reciprocal)
		return nil
	case op == layer.Pow:
		w.Table, w.Tables = table(mac.Log2), [][]byte{table(mac.Exp2)}
		return nil
	case l.UsesOpTable():
		own := table(mac.Reciprocal)
		if op != layer.RealDiv {
			t, err := parametric(op, l, w)
			if err != nil {
				return err
			}
			b := t.Encode()
			own = b[:]
		}
		if l.Activation == 0 || l.Activation == layer.ReLU {
			w.Table = own
			return nil
		}
		w.Inner, op = own, l.Activation
	case l.Activation != 0:
		op = l.Activation
	}
	if family.UsesShiftedSigmoid(l) {
		w.Table = table(mac.OddSigmoid)
		return nil
	}
	if list, ok := tables[op]; ok {
		w.Table, w.Tables = table(list[0]), nil
		for _, a := range list[1:] {
			w.Tables = append(w.Tables, table(a))
		}
		return nil
	}
	t, err := parametric(op, l, w)
	if t != nil && err == nil {
		b := t.Encode()
		w.Table = b[:]
	}
	return err
}

// parametric is the table of an operation with a parameter, nil of any other.
func parametric(op layer.Op, l *layer.Layer, w *layer.Weights) (*mac.Table, error) {
	var t *mac.Table
	var err error
	switch op {
	case layer.LeakyReLU:
		t, _, err = mac.LeakyReLU(float64(l.Alpha))
	case layer.ELU:
		t, _, err = mac.ELU(float64(l.Alpha))
	case layer.Clip:
		t, _, err = mac.Clip(float64(l.Low), float64(l.High))
	case layer.Max, layer.Min:
		if l.Second != layer.Scalar {
			return nil, nil
		}
		v := float64(w.Second[0].Float32())
		if op == layer.Max {
			t, _, err = mac.Maximum(v)
		} else {
			t, _, err = mac.Minimum(v)
		}
	}
	return t, err
}

// tables are the activation tables that operations take, the first for Weights.Table.
var tables = map[layer.Op][]mac.Activation{
	layer.Sigmoid: {mac.Sigmoid}, layer.Tanh: {mac.Tanh}, layer.GELU: {mac.GELU}, layer.SiLU: {mac.SiLU},
	layer.Exp: {mac.Exp}, layer.Sqrt: {mac.Sqrt}, layer.Rsqrt: {mac.Rsqrt}, layer.Erf: {mac.Erf},
	layer.ReLU6: {mac.ReLU6}, layer.SELU: {mac.SELU}, layer.HardSigmoid: {mac.HardSigmoid},
	layer.HardSwish: {mac.HardSigmoid}, layer.Softplus: {mac.Softplus}, layer.Softsign: {mac.Softsign},
	layer.Sign: {mac.Sign}, layer.Frac: {mac.Fraction}, layer.Log: {mac.Log2}, layer.Inverse: {mac.Reciprocal},
	layer.Atan: {mac.AtanNear, mac.AtanFar}, layer.Sin: {mac.Fraction, mac.SineTurn}, layer.Cos: {mac.Fraction, mac.SineTurn},
	layer.Ceil: {mac.Integer, mac.Fraction, mac.Positive}, layer.Floor: {mac.Integer, mac.Fraction, mac.Negative},
	layer.LogicalNot: {mac.Not},
}

func table(a mac.Activation) []byte {
	t, _ := mac.TableOf(a)
	b := t.Encode()
	return b[:]
}

// FlushedShare returns how much of the layer's weights the engine reads as 0: the norm of the
// filter's values below 2^-14 over the norm of all of them. It is 0 without values.
func FlushedShare(x *list.Layer) float64 {
	var small, all float64
	for _, h := range x.Weights.Filter {
		v := float64(h.Float32())
		all += v * v
		if !h.IsNormal() {
			small += v * v
		}
	}
	if all == 0 {
		return 0
	}
	return math.Sqrt(small / all)
}
