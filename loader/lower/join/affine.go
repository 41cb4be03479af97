package join

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/lower/family"
)

// affine folds a product and a sum with constants a channel, and the ReLU behind them, into
// one task; it returns nil where nodes from i on are no such run. The product is not
// rounded before the sum, and the quotient is: each is half a unit in the last place of
// the product or the addend.
func (f *folder) affine(i int) *folded {
	n := f.net.Nodes
	mul := n[i].Part
	if mul == nil || mul.Layer.Op != layer.Mul || mul.Layer.Second != layer.Constant || mul.Layer.Bias || mul.Layer.Activation != 0 {
		return nil
	}
	add := f.next(i)
	if add == nil || add.Layer.Op != layer.Add && add.Layer.Op != layer.Sub || add.Layer.Second != layer.Constant || add.Layer.In != mul.Layer.In {
		return nil
	}
	last := i + 1
	l, w := mul.Layer, mul.Weights
	l.Bias, l.Activation = true, add.Layer.Activation
	w.Bias = make([]float16.Float16, l.In.C)
	for c := range w.Bias {
		w.Bias[c] = layer.ValueAt(add.Weights.Second, c)
		if add.Layer.Op == layer.Sub {
			w.Bias[c] ^= family.SignBit
		}
	}
	if relu := f.next(last); relu != nil && relu.Layer.Op == layer.ReLU && relu.Layer.In == l.In && l.Activation == 0 {
		l.Activation = layer.ReLU
		last++
	}
	if l.Activation != 0 && l.Activation != layer.ReLU {
		return nil
	}
	part, err := NewPart(l, w)
	if err != nil {
		return nil // a factor that the addend cannot be divided by
	}
	one := &folded{
		part: part, inputs: n[i].Inputs, output: n[last].Output,
		nodes: []int{i}, runs: []Run{{0, len(part.made.Tasks)}}, none: map[int]int{},
	}
	for k := i + 1; k <= last; k++ {
		one.none[k] = i
	}
	return one
}

// next is the part of the node behind node i, nil unless it alone reads what i makes.
func (f *folder) next(i int) *Part {
	n := f.net.Nodes
	if i+1 >= len(n) || f.readers[n[i].Output] != 1 || len(n[i+1].Inputs) != 1 || n[i+1].Inputs[0] != n[i].Output {
		return nil
	}
	return n[i+1].Part
}
