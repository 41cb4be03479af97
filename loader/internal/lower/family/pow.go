package family

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerPow lowers x to the power of z, 2^(z * log2 x), to three tasks of the MAC engines, as in
// the only program:
//
//	z --DMA--> even channels of a tile
//	x --DMA--> log2 --> odd channels
//	tile --products of channel pairs, 2^p--> y
//
// Weights.Table is the table of log2, and Weights.Tables[0] the table of 2^x.
func lowerPow(o *Output, j job) error {
	l, w := j.layer, j.weights
	if len(w.Tables) != 1 {
		return l.Errorf("found %d tables; want 2", 1+len(w.Tables))
	}
	if l.Second == layer.Scalar {
		return lowerPowOfNumber(o, j)
	}
	if l.Second != layer.Runtime || l.SecondShape != l.In {
		return l.Unsupportedf("exponent must be an input with shape %v; repeat it with tile", l.In)
	}
	s := l.In
	in := regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}
	x, y := o.placeInput(j, "x", s), o.placeOutput(j, "y", s)
	z := o.placePort(j, "z", loader.Input, place.Bar6, s, place.Surface(place.Bar6, s))
	one := in
	one.Groups = 1
	pairs := one
	pairs.Channels *= 2
	t := task.NewCopy(one)
	at := t.SourceTile()
	both := place.Packed(pairs)
	// As in SourceTile of package task, a single row of several pixels gets no extra bytes.
	if s.H > 1 || s.W == 1 {
		both = both.Skew(place.PlanarFetch)
	}
	bytes := both.Row * s.H
	if bytes+at.Row*s.H > l.LargestTile() {
		return lowerLargePow(o, j, x, z, y)
	}
	// A layout with every second channel.
	half := both
	half.Channel *= 2
	for n := range s.N {
		exponent := task.NewCopy(one)
		exponent.LoadSource1(z.BatchElement(n), at.Rebase(bytes), false)
		even := exponent.KeepResult(half)
		o.addTask(exponent)

		logarithm := task.NewCopy(one)
		logarithm.LoadSource1(x.BatchElement(n), at.Rebase(bytes), false)
		if err := setActivationTable(o, l, logarithm, w.Table); err != nil {
			return err
		}
		odd := logarithm.KeepResult(half.Rebase(both.Channel))
		o.addTask(logarithm)

		t := task.NewChannelProduct(one)
		if err := setActivationTable(o, l, t, w.Tables[0]); err != nil {
			return err
		}
		// The product has one source, but waits for the tasks that wrote either half of it.
		t.ReadTile(odd, both)
		t.Second = even
		t.WriteResult(y.BatchElement(n), bytes)
		o.addTask(t)
	}
	return nil
}

// lowerPowOfNumber appends the tasks of x to the power of a number z: a table of log2, and a table of
// 2^x that is looked up with z times the logarithm (seen in 3 of 3 programs of 2026, for z = -0.5).
func lowerPowOfNumber(o *Output, j job) error {
	s, exponent := j.layer.In, layer.ValueAt(j.weights.Second, 0)
	if !exponent.IsNormal() {
		return j.layer.Unsupportedf("exponent %v is not a normal fp16 value", exponent.Float32())
	}
	x, y, logarithm := o.placeInput(j, "x", s), o.placeOutput(j, "y", s), o.allocateTensor(s)
	second := newLookupSublayer(j.weights.Tables[0], s, logarithm, y)
	second.layer.Factor = exponent
	return lowerSublayers(o, j.layer, newLookupSublayer(j.weights.Table, s, x, logarithm), second)
}

// lowerLargePow appends the tasks of x to the power of z for tensors that do not fit in L2: a
// logarithm, a product and a power of two. They pass their results through the scratch buffer
// (assumed).
func lowerLargePow(o *Output, j job, x, z, y place.Memory) error {
	s := j.layer.In
	logarithm, product := o.allocateTensor(s), o.allocateTensor(s)
	return lowerSublayers(o, j.layer,
		newLookupSublayer(j.weights.Table, s, x, logarithm),
		sublayer{layer.Binary(layer.Mul, s, s), &layer.Weights{}, ports{"x": logarithm, "z": z, "y": product}},
		newLookupSublayer(j.weights.Tables[0], s, product, y),
	)
}

// newLookupSublayer returns the layer that applies an activation table to each element of the
// tensor of shape s at from and writes to.
func newLookupSublayer(table []byte, s layer.Shape, from, to place.Memory) sublayer {
	return sublayer{layer.Layer{Op: layer.Sigmoid, In: s}, &layer.Weights{Table: table}, ports{"x": from, "y": to}}
}
