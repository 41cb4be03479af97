package fuse

import (
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/list"
	"anesim/loader/network/weights"
)

// Layers gives every layer what follows it and it can do on its way out: a constant factor
// and addend a channel, then a rectifier.
func Layers(n *list.Network) {
	readers, maker := map[string]int{}, map[string]int{}
	for _, out := range n.Outputs {
		readers[out]++
	}
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			readers[in]++
		}
	}
	kept := n.Layers[:0]
	for _, l := range n.Layers {
		if len(l.Inputs) == 1 && readers[l.Inputs[0]] == 1 && l.Reason == "" {
			if at, ok := maker[l.Inputs[0]]; ok && absorb(&kept[at], &l) {
				maker[l.Output] = at
				continue
			}
		}
		maker[l.Output] = len(kept)
		kept = append(kept, l)
	}
	n.Layers = slices.Clip(kept)
}

// absorb makes l do what next does with its result, where it can.
func absorb(l, next *list.Layer) bool {
	x, y := &l.Lower, &next.Lower
	if l.Reason != "" || x.Activation != 0 || next.Rounds {
		return false
	}
	if activate(l, next) {
		return true
	}
	if y.Activation != 0 || y.Bias || y.Op != layer.Mul && y.Op != layer.Add {
		return false
	}
	channels, constant := 0, false // whether y has a constant for each channel of x
	switch x.Op {
	case layer.Convolution:
		channels, constant = x.Cout, y.In == l.Out && !next.Stored && y.Second == layer.Constant
	case layer.MatMul, layer.Linear:
		if x.Second != layer.Constant {
			return false
		}
		// Columns of a product are channels to its bias. They are the columns of y if y reads
		// rows of the same width.
		channels, constant = x.Columns, next.ByColumn && y.In.W == l.Out.W && y.Second == layer.Constant
	default:
		return false
	}
	by := next.Weights.Second
	switch {
	case constant:
	case y.Second == layer.Scalar && by != nil:
		by = slices.Repeat(by, channels)
	default:
		return false
	}
	merged := scaleWeights
	if y.Op == layer.Add {
		merged = shiftBias
	}
	if !merged(l, by) {
		return false
	}
	l.Takes(next)
	return true
}

// activate makes next the layer's activation: a rectifier of whatever can have one, a
// table of a convolution, whose descriptor looks results up. A product's table is left to
// the chain's own rules.
func activate(l, next *list.Layer) bool {
	x, y := l.Lower, &next.Lower
	rectifier := y.Op == layer.ReLU
	if !rectifier && (x.Op != layer.Convolution || y.Op.Tables() != 1 || y.Second != 0 || len(next.Inputs) != 1) || l.Stored && !rectifier {
		return false
	}
	switch y.Op {
	case layer.Rsqrt, layer.HardSwish, layer.Log, layer.Max, layer.Min, layer.Pow, layer.RealDiv:
		return false // tasks of their own beside the table
	}
	if l.Average || x.Op == layer.Pool || y.Activation != 0 || x.ByTable() {
		return false
	}
	x.Activation, x.Alpha, x.Low, x.High = y.Op, y.Alpha, y.Low, y.High
	if x.Validate() != nil {
		return false
	}
	l.Lower = x
	l.Takes(next)
	return true
}

// scaleWeights multiplies the weights and the bias of each channel by the channel's factor, and reports
// whether fp16 holds the products, see [weights.Scaled]. It leaves l as it is if not. Values that the
// file does not have stay absent. An average cannot be scaled: its weights follow from its
// window, and have no place for a factor.
func scaleWeights(l *list.Layer, by []float16.Float16) bool {
	if l.Average {
		return false
	}
	need := list.Needs(&l.Lower)
	w := &l.Weights
	each := need.Filter / max(1, len(by))
	channel := func(i int) int { return i / each }
	if l.Lower.Op == layer.MatMul {
		channel = func(i int) int { return i % l.Lower.Columns }
	}
	if by == nil {
		w.Bias, w.Filter = nil, nil
		return true
	}
	bias, ok := weights.Scaled(w.Bias, func(i int) float32 { return by[i].Float32() })
	if !ok {
		return false
	}
	filter, ok := weights.Scaled(w.Filter, func(i int) float32 { return by[channel(i)].Float32() })
	if ok {
		w.Bias, w.Filter = bias, filter
	}
	return ok
}

// shiftBias adds an addend to the bias of each channel, and reports whether fp16 holds the sums. It
// leaves l as it is if not.
func shiftBias(l *list.Layer, by []float16.Float16) bool {
	w := &l.Weights
	switch {
	case !l.Lower.Bias:
		w.Bias = by
	case w.Bias != nil && by != nil:
		sum := make([]float16.Float16, len(by))
		for i := range sum {
			sum[i] = float16.Fromfloat32(w.Bias[i].Float32() + by[i].Float32())
			if sum[i].IsInf(0) && !w.Bias[i].IsInf(0) && !by[i].IsInf(0) {
				return false
			}
		}
		w.Bias = sum
	default:
		w.Bias = nil
	}
	l.Lower.Bias = true
	return true
}
