package weights

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/x448/float16"

	"anesim/internal/datapath/mac"
	"anesim/loader/internal/lower/family"
	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// MaxCoefficients is the largest number of weights that are generated for a layer.
const MaxCoefficients = 1 << 28

// maxAddressed is the largest number of weights of a layer whose file has them, or of which only the
// time is asked. They fill the 4 GB that a program's 32-bit addresses reach. The head of a language
// model with 256,000 tokens has a quarter of that.
const maxAddressed = 1 << 31

// Complete returns the weights with which layer x is lowered. It adds the tables of activations,
// and generates weights that the file does not have: equal ones for an average pool, and
// pseudo-random ones for other layers. Complete returns an error if the layer needs more than
// [MaxCoefficients] generated values of one kind, and a *[ReadError] if its weights cannot be read.
//
// Pseudo-random values depend only on seed and on the operation and sizes of the layer, and none is
// 0. Biases and constant operands lie between -1 and 1. Other weights lie between -s and s. If each
// result element is a sum of k products, s is a power of two near 1/sqrt(k), so that results have
// about the magnitude of the inputs.
func Complete(x *list.Layer, seed uint64) (layer.Weights, error) {
	return completeWeights(x, seed, completeAll)
}

// Streamed is like [Complete], but does not hold the pseudo-random weights of convolutions and
// matmuls in memory. Instead, it sets Source to generate the same values while the weights are
// packed.
func Streamed(x *list.Layer, seed uint64) (layer.Weights, error) {
	return completeWeights(x, seed, completeSource)
}

// Sizes is like [Complete], but leaves out the weights of convolutions and matmuls. Use it for a
// program that is only timed. The missing weights do not change its times: the engine only saves
// time for weights of 0, and Complete generates none.
func Sizes(x *list.Layer, seed uint64) (layer.Weights, error) {
	return completeWeights(x, seed, completeSizes)
}

// A ReadError reports that the weights of a layer can no longer be read from the network's file.
type ReadError struct {
	Layer string
	Err   error
}

func (e *ReadError) Error() string { return fmt.Sprintf("weights of layer %s: %v", e.Layer, e.Err) }

func (e *ReadError) Unwrap() error { return e.Err }

// A completion is a way to supply missing weights.
type completion uint8

const (
	completeAll    completion = iota // in memory
	completeSource                   // as a source that generates them
	completeSizes                    // not at all
)

func completeWeights(x *list.Layer, seed uint64, how completion) (layer.Weights, error) {
	l, w := &x.Lower, x.Weights
	w.SizesOnly = how == completeSizes
	// The sizes of a packed form depend on the values.
	if how != completeSizes || w.Form != layer.FormFP16 {
		if err := w.Load(); err != nil {
			return w, &ReadError{x.Name, err}
		}
	}
	if w.Filter == nil {
		w.Form, w.Scale = layer.FormFP16, nil // generated values fit no other form
	}
	need := list.Needs(l)
	// Generated values take memory, and their number is the layer's claim. Those of a file have been paid
	// for by its size.
	limit, most := MaxCoefficients, max(need.Filter, need.Bias, need.Second)
	if (w.Filter != nil || how == completeSizes) && most == need.Filter {
		limit = maxAddressed
	}
	if most > limit {
		return w, &layer.LimitError{
			Limit: "number of weights", Got: most, Max: limit,
			Nearest: "split the layer by output channels",
		}
	}
	switch {
	case w.Filter != nil || need.Filter == 0 || how == completeSizes:
	case x.Average:
		one := float16.Fromfloat32(1 / float32(l.Taps()))
		w.Filter = slices.Repeat([]float16.Float16{one}, need.Filter)
	default:
		// Divided by about the root of the number of terms, so that sums stay in the range of fp16.
		reduction := need.Filter / max(1, l.Cout+l.Columns)
		src := newRandomSource(need.Filter, (bits.Len(uint(reduction))-1)/2, seed, "weights")
		if how == completeSource {
			w.Source = src
			break
		}
		w.Filter = src.allValues()
	}
	if w.Bias == nil && need.Bias > 0 {
		w.Bias = Random(need.Bias, seed, "bias")
	}
	if w.Second == nil && need.Second > 0 {
		w.Second = Random(need.Second, seed, "second")
	}
	return w, addActivationTables(l, &w)
}

// addActivationTables sets the activation tables of layer l and of its activation in w.
func addActivationTables(l *layer.Layer, w *layer.Weights) error {
	op := l.Op
	switch {
	case op == layer.Softmax:
		w.Table, w.Reciprocal = encodeActivation(mac.Exp), encodeActivation(mac.Reciprocal)
		return nil
	case op == layer.Pow:
		w.Table, w.Tables = encodeActivation(mac.Log2), [][]byte{encodeActivation(mac.Exp2)}
		return nil
	case l.UsesOpTable():
		own := encodeActivation(mac.Reciprocal)
		if op != layer.RealDiv {
			t, err := newParameterTable(op, l, w)
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
		// Both the operation and its activation have a table. w.Table is that of the last task, the
		// activation.
		w.Inner, op = own, l.Activation
	case l.Activation != 0:
		op = l.Activation
	}
	// The compiler of 2023 stores sigmoid(x) - 1/2, an odd function, and another task adds the half (seen
	// in one program).
	if family.UsesShiftedSigmoid(l) {
		w.Table = encodeActivation(mac.OddSigmoid)
		return nil
	}
	if list, ok := activationTables[op]; ok {
		w.Table, w.Tables = encodeActivation(list[0]), nil
		for _, a := range list[1:] {
			w.Tables = append(w.Tables, encodeActivation(a))
		}
		return nil
	}
	t, err := newParameterTable(op, l, w)
	if t != nil && err == nil {
		b := t.Encode()
		w.Table = b[:]
	}
	return err
}

// newParameterTable returns the table of an operation whose table depends on a parameter of the
// layer, or nil for any other operation.
func newParameterTable(op layer.Op, l *layer.Layer, w *layer.Weights) (*mac.Table, error) {
	var t *mac.Table
	var err error
	switch op {
	case layer.LeakyReLU:
		t, err = mac.LeakyReLU(float64(l.Alpha))
	case layer.ELU:
		t, err = mac.ELU(float64(l.Alpha))
	case layer.Clip:
		t, err = mac.Clip(float64(l.Low), float64(l.High))
	case layer.Max, layer.Min:
		if l.Second != layer.Scalar {
			return nil, nil
		}
		v := float64(w.Second[0].Float32())
		if op == layer.Max {
			t, err = mac.Maximum(v)
		} else {
			t, err = mac.Minimum(v)
		}
	}
	return t, err
}

// SoftplusEnd names the least fp16 number whose softplus is 0 on the engine.
const SoftplusEnd = mac.SoftplusEnd

// activationTables lists the tables that each operation needs. The first goes in Weights.Table.
var activationTables = map[layer.Op][]mac.Activation{
	layer.Sigmoid: {mac.Sigmoid}, layer.Tanh: {mac.Tanh}, layer.GELU: {mac.GELU}, layer.SiLU: {mac.SiLU},
	layer.Exp: {mac.Exp}, layer.Sqrt: {mac.Sqrt}, layer.Rsqrt: {mac.Rsqrt}, layer.Erf: {mac.Erf},
	layer.ReLU6: {mac.ReLU6}, layer.SELU: {mac.SELU}, layer.HardSigmoid: {mac.HardSigmoid},
	layer.HardSwish: {mac.HardSigmoid}, layer.Softplus: {mac.Softplus}, layer.Softsign: {mac.Softsign},
	layer.Sign: {mac.Sign}, layer.Frac: {mac.Fraction}, layer.Log: {mac.Log2}, layer.Inverse: {mac.Reciprocal},
	layer.Atan: {mac.AtanNear, mac.AtanFar}, layer.Sin: {mac.Fraction, mac.SineTurn}, layer.Cos: {mac.Fraction, mac.SineTurn},
	layer.Ceil: {mac.Integer, mac.Fraction, mac.Positive}, layer.Floor: {mac.Integer, mac.Fraction, mac.Negative},
	layer.LogicalNot: {mac.Not},
	layer.LayerNorm:  {mac.Rsqrt}, // if it is lowered in steps
}

func encodeActivation(a mac.Activation) []byte {
	t := mac.TableOf(a)
	b := t.Encode()
	return b[:]
}

// DroppedShare returns the share of the layer's weights whose magnitude is below 2^-13. Their exponent is
// -14, as that of denormals, so the engine drops their products with inputs below 1/4. The share is the
// Euclidean norm of these weights divided by that of all weights. It is 0 for a layer without weights.
// Infinities and NaN do not count.
func DroppedShare(x *list.Layer) float64 {
	var small, all float64
	w := x.Weights
	if w.Load() != nil {
		return 0 // they could not be packed either
	}
	for _, h := range w.Filter {
		if !h.IsFinite() {
			continue
		}
		v := float64(h.Float32())
		all += float64(v * v)
		if h&0x7fff < 0x0800 {
			small += float64(v * v)
		}
	}
	if all == 0 {
		return 0
	}
	return math.Sqrt(small / all)
}
