package lower

import (
	"math"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// Batch normalisation is a factor and an addend for each channel, and networks put a ReLU
// behind it. The planar engine has all three in one task, as (x + bias) * scale with a row
// of biases and one of scales (bytes: per-channel additions and products, which leave the
// other row neutral; that a program fills both is inferred, and the compiler is said to
// need one task):
//
//	x * f + a  =  (x + a/f) * f

// affine folds a product and a sum with constants a channel, and the ReLU behind them, into
// one task; it returns nil where nodes from i on are no such run. The product is not
// rounded before the sum, and the quotient is: each is half a unit in the last place of
// the product or the addend.
func (f *folder) affine(i int) *folded {
	n := f.net.Nodes
	mul := n[i].Part
	if mul == nil || mul.layer.Op != layer.Mul || mul.layer.Second != layer.Constant || mul.layer.Bias || mul.layer.Activation != 0 {
		return nil
	}
	add := f.next(i)
	if add == nil || add.layer.Op != layer.Add && add.layer.Op != layer.Sub || add.layer.Second != layer.Constant || add.layer.In != mul.layer.In {
		return nil
	}
	last := i + 1
	l, w := mul.layer, mul.weights
	l.Bias, l.Activation = true, add.layer.Activation
	w.Bias = make([]float16.Float16, l.In.C)
	for c := range w.Bias {
		w.Bias[c] = layer.ValueAt(add.weights.Second, c)
		if add.layer.Op == layer.Sub {
			w.Bias[c] ^= signBit
		}
	}
	if relu := f.next(last); relu != nil && relu.layer.Op == layer.ReLU && relu.layer.In == l.In && l.Activation == 0 {
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
		nodes: []int{i}, runs: []Run{{0, len(part.plan.tasks)}}, none: map[int]int{},
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

const signBit = 0x8000

// beforeScale is what to add to x so that its product with a factor f comes to x*f + a. It
// fails where the quotient is no normal fp16 value.
func beforeScale(a, f float16.Float16) (float16.Float16, bool) {
	const least, most = 0x1p-14, 65504
	if a&^signBit == 0 {
		return 0, true
	}
	q := a.Float32() / f.Float32() // of zero by zero NaN, which no comparison holds for
	size := math.Abs(float64(q))
	return float16.Fromfloat32(q), size >= least && size <= most
}
