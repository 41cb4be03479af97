package join

import (
	"slices"

	"github.com/x448/float16"

	"anesim/hw/evidence"
	"anesim/loader/layer"
	"anesim/loader/lower/family"
)

// A rule makes one step of a first and a second one, which alone reads the first one's result.
//
// It looks at what the second step sees: the view of the first one's result, an operand that is
// the same for the whole view, for each channel of it or for each column. What the first one's
// tasks do with a result is a question for [family.Takes].
type rule struct {
	name     string
	evidence evidence.Kind
	shown    string // by what
	second   bool   // the one step is the second one, which takes the first one in
	// fuse makes a do what b does with the input of it that a makes. It returns false where the
	// condition does not hold, and may have changed a then.
	fuse func(a, b *Step, input int) bool
}

// rules are tried in order. Of two that a product with a number may take, the exact one comes
// first: a factor behind the accumulator rounds nothing, one in the weights rounds each of them.
var rules = [...]rule{
	{name: "a rectifier", evidence: evidence.Bytes, shown: "behind convolutions, products and additions of chains", fuse: rectify},
	{name: "a table", evidence: evidence.Bytes, shown: "behind products with constants (5/5); that convolutions are alike is inferred", fuse: tabulate},
	{name: "a factor", evidence: evidence.Bytes, shown: "behind products, in PostScale", fuse: scale},
	{name: "a factor a channel", evidence: evidence.Inferred, shown: "no register has a factor for each channel", fuse: scaleWeights},
	{name: "an addend a channel", evidence: evidence.Bytes, shown: "behind products of chains, as their bias", fuse: shiftBias},
	{name: "a product and a sum a channel", evidence: evidence.Inferred, shown: "programs show each by itself", fuse: affine},
	{name: "a sum with itself rectified", evidence: evidence.Bytes, shown: "x + relu(x) is one task (1/1)", second: true, fuse: rectifySecond},
}

// rectify gives a the ReLU that follows it.
func rectify(a, b *Step, _ int) bool {
	if b.Layer.Op != layer.ReLU || b.Layer.Activation != 0 || !family.Takes(&a.Layer, &a.Weights).ReLU {
		return false
	}
	a.Layer.Activation = layer.ReLU
	return true
}

// tabulate gives a product with constants the activation that follows it, where that is one table
// and every lane has room for it.
func tabulate(a, b *Step, _ int) bool {
	l := &b.Layer
	if !l.Op.IsSingleTable() || l.Activation != 0 || family.OddSigmoid(l) || !family.Takes(&a.Layer, &a.Weights).Table {
		return false
	}
	a.Layer.Activation, a.Layer.Alpha, a.Layer.Low, a.Layer.High = l.Op, l.Alpha, l.Low, l.High
	a.Weights.Table = b.Weights.Table
	return true
}

// scale gives a product the number that its result is multiplied by, and multiplies its bias, which
// is added behind the factor. A second number is multiplied with the first, which rounds once for
// all results. The register has normal values alone.
func scale(a, b *Step, _ int) bool {
	l := &b.Layer
	if l.Op != layer.Mul || l.Second != layer.Scalar || l.Bias || len(b.Weights.Second) == 0 || !family.Takes(&a.Layer, &a.Weights).Factor {
		return false
	}
	f := b.Weights.Second[0]
	if a.Layer.Factor != 0 {
		f = float16.Fromfloat32(a.Layer.Factor.Float32() * f.Float32())
	}
	a.Layer.Factor = f
	bias, ok := layer.Scale(a.Weights.Bias, func(int) float32 { return b.Weights.Second[0].Float32() })
	a.Weights.Bias = bias
	return ok && f.IsNormal() && rectified(a, b)
}

// rectified gives a the ReLU that stands in b's own layer, which may have none.
func rectified(a, b *Step) bool {
	switch b.Layer.Activation {
	case 0:
		return true
	case layer.ReLU:
		if !family.Takes(&a.Layer, &a.Weights).ReLU {
			return false
		}
		a.Layer.Activation = layer.ReLU
		return true
	}
	return false
}

// constants are b's second operand, one for each output channel of a; columns of a product are
// channels to its bias and weights. They are nil where nobody gave them, and false says that the
// operand is another.
func constants(a, b *Step) (values []float16.Float16, ok bool) {
	x, y := &a.Layer, &b.Layer
	channels := x.Cout
	switch {
	case x.Op == layer.Convolution:
		ok, values = y.In == x.Out() && y.Second == layer.Constant && !b.Stored, b.Weights.Second
	case x.Op == layer.Linear || x.Op == layer.MatMul && x.Second == layer.Constant:
		channels = x.Columns
		ok, values = b.ByColumn && y.In.W == x.Out().W, b.Columns
	default:
		return nil, false
	}
	if !ok && y.Second == layer.Scalar && len(b.Weights.Second) > 0 {
		return slices.Repeat(b.Weights.Second[:1], channels), true
	}
	return values, ok
}

// scaleWeights multiplies the weights and the bias of each channel by the channel's factor, where
// fp16 has the products. Values that nobody gave stay absent. An average's weights follow from its
// window and have no place for a factor.
func scaleWeights(a, b *Step, _ int) bool {
	if b.Layer.Op != layer.Mul || b.Layer.Bias || a.Average || !family.Takes(&a.Layer, &a.Weights).Factor {
		return false
	}
	by, ok := constants(a, b)
	if !ok {
		return false
	}
	w := &a.Weights
	if by == nil {
		w.Filter, w.Bias = nil, nil
		return rectified(a, b)
	}
	each := max(1, len(w.Filter)/len(by))
	channel := func(i int) int { return i / each }
	if a.Layer.Op == layer.MatMul {
		channel = func(i int) int { return i % a.Layer.Columns }
	}
	bias, ok := layer.Scale(w.Bias, func(i int) float32 { return by[i].Float32() })
	if !ok {
		return false
	}
	filter, ok := layer.Scale(w.Filter, func(i int) float32 { return by[channel(i)].Float32() })
	w.Bias, w.Filter = bias, filter
	return ok && rectified(a, b)
}

// shiftBias adds an addend to the bias of each channel, where fp16 has the sums.
func shiftBias(a, b *Step, _ int) bool {
	if b.Layer.Op != layer.Add && b.Layer.Op != layer.Sub || !family.Takes(&a.Layer, &a.Weights).Bias {
		return false
	}
	by, ok := constants(a, b)
	if !ok {
		return false
	}
	by = slices.Clone(by)
	if b.Layer.Op == layer.Sub {
		negate(by)
	}
	w := &a.Weights
	switch {
	case !a.Layer.Bias:
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
	a.Layer.Bias = true
	return rectified(a, b)
}

func negate(values []float16.Float16) {
	for i := range values {
		values[i] ^= family.SignBit
	}
}

// affine makes one task of a product and a sum with constants a channel. The product is not
// rounded before the sum, and the quotient of addend and factor is: each is half a unit in the last
// place of the product or the addend.
func affine(a, b *Step, _ int) bool {
	x, y := &a.Layer, &b.Layer
	if x.Op != layer.Mul || x.Second != layer.Constant || x.Bias || x.Activation != 0 || a.Stored || len(a.Weights.Second) != x.In.C ||
		y.Op != layer.Add && y.Op != layer.Sub || y.Second != layer.Constant || b.Stored || y.In != x.In || len(b.Weights.Second) != x.In.C {
		return false
	}
	by := slices.Clone(b.Weights.Second)
	if y.Op == layer.Sub {
		negate(by)
	}
	for c := range by {
		if _, ok := family.BeforeScale(by[c], a.Weights.Second[c]); !ok {
			return false
		}
	}
	x.Bias, a.Weights.Bias = true, by
	return rectified(a, b)
}

// rectifySecond makes x + relu(x) a sum of x and x, the second of which is rectified on its way in.
func rectifySecond(a, b *Step, input int) bool {
	x, y := &a.Layer, &b.Layer
	if x.Op != layer.ReLU || x.Activation != 0 || y.Op != layer.Add || y.Second != layer.Runtime || y.SecondShape != y.In || x.In != y.In ||
		len(a.Inputs) != 1 || len(b.Inputs) != 2 || b.Inputs[1-input] != a.Inputs[0] {
		return false
	}
	inputs := a.Inputs
	*a = *b
	a.Inputs = inputs
	a.Layer.Second, a.Layer.SecondReLU = layer.Itself, true
	a.Layer.SecondShape = layer.Shape{}
	return true
}
