package join

import (
	"math"
	"slices"

	"github.com/x448/float16"

	"anesim/hw/evidence"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/family"
	"anesim/loader/layer"
)

// A rule merges two steps, the second of which is the only reader of the first one's result.
//
// A rule checks the shape in which the second step reads that result, and whether its other
// operand has one value for the whole tensor, one for each channel or one for each column.
// [family.CanFuse] reports what the tasks of the first step can do with their result.
type rule struct {
	name     string
	evidence evidence.Kind
	basis    string // where programs show the rule, or why it is inferred
	// keepsSecond is set if the merged step is the second one, so that it is reported as such.
	keepsSecond bool
	// fuse changes a into a step that does the work of a and b, where b reads the result of a as its
	// operand number input. If the rule does not apply, fuse returns false and leaves a unchanged.
	fuse func(a, b *Step, input int) bool
}

// rules holds all rules in the order in which they are tried. The exact one of two rules for a
// multiplication by a number comes first: a factor after the accumulator does not round, but a
// factor in the weights rounds each weight.
var rules = [...]rule{
	{name: "ReLU", evidence: evidence.Bytes, basis: "after convolutions, matmuls and additions in chains", fuse: fuseReLU},
	{name: "table", evidence: evidence.Bytes, basis: "after matmuls with constants in 5 of 5 programs; inferred for convolutions", fuse: fuseTable},
	{name: "factor", evidence: evidence.Bytes, basis: "after matmuls, in PostScale", fuse: fuseFactor},
	{name: "factor for each channel", evidence: evidence.Inferred, basis: "no register holds a factor for each channel", fuse: fuseChannelFactor},
	{name: "addend for each channel", evidence: evidence.Bytes, basis: "after matmuls in chains, as their bias", fuse: fuseChannelAddend},
	{name: "factor and addend for each channel", evidence: evidence.Inferred, basis: "programs show each of the two on its own", fuse: fuseAffine},
	{name: "sum with its own ReLU", evidence: evidence.Bytes, basis: "x + relu(x) is one task in the only program that has it", keepsSecond: true, fuse: fuseSelfReLU},
}

// fuseReLU merges step b, a ReLU, into step a, whose tasks then apply ReLU to their result. It
// reports false, and leaves a unchanged, if b is not a plain ReLU or the tasks of a cannot apply
// one.
func fuseReLU(a, b *Step, _ int) bool {
	if b.Layer.Op != layer.ReLU || b.Layer.Activation != 0 || !family.CanFuse(&a.Layer, &a.Weights).ReLU {
		return false
	}
	a.Layer.Activation = layer.ReLU
	return true
}

// fuseTable merges step b, an activation, into step a, whose tasks then apply it to their result.
// The activation must be a single table lookup, and every engine must have room for the table next
// to the weights of a. Otherwise fuseTable reports false.
func fuseTable(a, b *Step, _ int) bool {
	l := &b.Layer
	if !l.Op.IsSingleTable() || l.Activation != 0 || family.UsesShiftedSigmoid(l) || !family.CanFuse(&a.Layer, &a.Weights).Table {
		return false
	}
	a.Layer.Activation, a.Layer.Alpha, a.Layer.Low, a.Layer.High = l.Op, l.Alpha, l.Low, l.High
	a.Weights.Table = b.Weights.Table
	return true
}

// fuseFactor merges step b, which multiplies by a number, into step a. The tasks of a then multiply
// their sums by that number before they add the bias, so the bias is multiplied as well. If a
// already has a factor, the product of the two factors is rounded to fp16. fuseFactor reports false
// if the factor is not a normal fp16 value or if fp16 cannot hold the new bias.
func fuseFactor(a, b *Step, _ int) bool {
	l := &b.Layer
	if l.Op != layer.Mul || l.Second != layer.Scalar || l.Bias || len(b.Weights.Second) == 0 || !family.CanFuse(&a.Layer, &a.Weights).Factor {
		return false
	}
	f := b.Weights.Second[0]
	bias, ok := layer.Scale(a.Weights.Bias, func(int) float32 { return f.Float32() })
	if a.Layer.Factor != 0 {
		f = float16.Fromfloat32(a.Layer.Factor.Float32() * f.Float32())
	}
	if !ok || !f.IsNormal() || !mergeReLU(a, b) {
		return false
	}
	a.Layer.Factor, a.Weights.Bias = f, bias
	return true
}

// mergeReLU moves the activation of step b to step a, whose tasks then apply it to their result. It
// returns true without a change if b has no activation. It returns false, and leaves a unchanged,
// if the activation is not ReLU or the tasks of a cannot apply one.
func mergeReLU(a, b *Step) bool {
	switch b.Layer.Activation {
	case 0:
		return true
	case layer.ReLU:
		if !family.CanFuse(&a.Layer, &a.Weights).ReLU {
			return false
		}
		a.Layer.Activation = layer.ReLU
		return true
	}
	return false
}

// channelConstants returns the constant operand of b as one value for each output channel of a, or
// for each column if a is a matmul. values is nil if the constants are not known. ok is false if
// the operand does not have this form.
func channelConstants(a, b *Step) (values []float16.Float16, ok bool) {
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

// fuseChannelFactor merges b, a multiplication by one constant for each channel, into the weights
// and the bias of a. The rule does not apply if the products lose precision in fp16 (see scaleFilter), or
// if a is an average, whose weights must stay equal. If the constants are not known, the weights become
// unknown too.
func fuseChannelFactor(a, b *Step, _ int) bool {
	if b.Layer.Op != layer.Mul || b.Layer.Bias || a.Average || !family.CanFuse(&a.Layer, &a.Weights).Factor {
		return false
	}
	by, ok := channelConstants(a, b)
	if !ok {
		return false
	}
	w := &a.Weights
	// Without values the shapes still fuse, so that a network is timed alike with and without its weights.
	if by == nil {
		if !mergeReLU(a, b) {
			return false
		}
		w.Filter, w.Bias, w.Stored = nil, nil, nil
		return true
	}
	if w.Load() != nil {
		return false // a run with values reports the error
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
	filter, ok := scaleFilter(w.Filter, by, channel)
	if !ok || !mergeReLU(a, b) {
		return false
	}
	// Last, so that a refusal leaves the layer as it was.
	w.Bias, w.Filter = bias, filter
	return true
}

// scaleFilter returns weights times the factor of their channel, rounded to fp16. Products that are not
// normal fp16 numbers count as 0, as the engine reads them so. ok is false if a product overflows, or if
// those of a channel that the engine drops have a sum of more than 2^-12 of the others: as much as
// rounding can change these. (A converter folds a batch norm in float32, whatever becomes small.)
func scaleFilter(filter, by []float16.Float16, channel func(i int) int) (scaled []float16.Float16, ok bool) {
	if filter == nil {
		return nil, true
	}
	dropped, kept := make([]float64, len(by)), make([]float64, len(by))
	scaled = make([]float16.Float16, len(filter))
	for i, v := range filter {
		c := channel(i)
		product := v.Float32() * by[c].Float32()
		scaled[i] = float16.Fromfloat32(product)
		switch {
		case scaled[i].IsNormal():
			kept[c] += math.Abs(float64(product))
		case !v.IsNormal() || product == 0: // was dropped before, or is 0
		case math.Abs(float64(product)) < 1:
			dropped[c] += math.Abs(float64(product))
		default:
			return nil, false
		}
	}
	for c := range dropped {
		if dropped[c] > 0x1p-12*kept[c] {
			return nil, false
		}
	}
	return scaled, true
}

// fuseChannelAddend merges b, an addition or subtraction of one constant for each channel, into the
// bias of a. The rule does not apply if a sum overflows fp16.
func fuseChannelAddend(a, b *Step, _ int) bool {
	if b.Layer.Op != layer.Add && b.Layer.Op != layer.Sub || !family.CanFuse(&a.Layer, &a.Weights).Bias {
		return false
	}
	by, ok := channelConstants(a, b)
	if !ok {
		return false
	}
	by = slices.Clone(by)
	if b.Layer.Op == layer.Sub {
		negateValues(by)
	}
	if a.Layer.Bias {
		if by, ok = sumBiases(a.Weights.Bias, by); !ok {
			return false
		}
	}
	if !mergeReLU(a, b) {
		return false
	}
	a.Layer.Bias, a.Weights.Bias = true, by
	return true
}

// sumBiases returns the sums of two biases with one value for each channel, or nil if the values
// of either are not known. ok is false if a sum of finite values overflows fp16.
func sumBiases(x, y []float16.Float16) (sum []float16.Float16, ok bool) {
	if x == nil || y == nil {
		return nil, true
	}
	sum = make([]float16.Float16, len(y))
	for i := range sum {
		sum[i] = float16.Fromfloat32(x[i].Float32() + y[i].Float32())
		if sum[i].IsInf(0) && !x[i].IsInf(0) && !y[i].IsInf(0) {
			return nil, false
		}
	}
	return sum, true
}

// negateValues changes the sign of each of values.
func negateValues(values []float16.Float16) {
	for i := range values {
		values[i] ^= family.SignBit
	}
}

// fuseAffine merges a multiplication and an addition, each with one constant for each channel, into
// one task. For factor f and addend q, the task computes (x + q/f) * f: it does not round the
// product, but rounds q/f. Each of these changes the result by at most half a unit in the last
// place.
func fuseAffine(a, b *Step, _ int) bool {
	x, y := &a.Layer, &b.Layer
	if x.Op != layer.Mul || x.Second != layer.Constant || x.Bias || x.Activation != 0 || a.Stored || len(a.Weights.Second) != x.In.C ||
		y.Op != layer.Add && y.Op != layer.Sub || y.Second != layer.Constant || b.Stored || y.In != x.In || len(b.Weights.Second) != x.In.C {
		return false
	}
	by := slices.Clone(b.Weights.Second)
	if y.Op == layer.Sub {
		negateValues(by)
	}
	for c := range by {
		if _, ok := coeff.AddendBeforeFactor(by[c], a.Weights.Second[c]); !ok {
			return false
		}
	}
	if !mergeReLU(a, b) {
		return false
	}
	x.Bias, a.Weights.Bias = true, by
	return true
}

// fuseSelfReLU merges step a, which computes relu(x), and step b, which computes x + relu(x), into
// one task. That task reads x as both operands and applies ReLU to the second one.
func fuseSelfReLU(a, b *Step, input int) bool {
	x, y := &a.Layer, &b.Layer
	if x.Op != layer.ReLU || x.Activation != 0 || y.Op != layer.Add || y.Second != layer.Runtime || y.SecondReLU || y.SecondShape != y.In || x.In != y.In ||
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
