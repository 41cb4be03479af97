package family

import (
	"math"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/pass"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// BeforeScale returns what to add to x so that its product with a factor f comes to x*f + a. It
// fails where the quotient is no normal fp16 value.
func BeforeScale(a, f float16.Float16) (float16.Float16, bool) {
	const least, most = 0x1p-14, 65504
	if a&^SignBit == 0 {
		return 0, true
	}
	q := a.Float32() / f.Float32() // of zero by zero NaN, which no comparison holds for
	size := math.Abs(float64(q))
	return float16.Fromfloat32(q), size >= least && size <= most
}

// lowerElementwise lowers an operation on two operands to one task of the planar engine, and
// one before it that brings a repeated operand into the L2.
//
//	x --DMA--> L2 --+
//	                planar engine --> y
//	z --DMA--> L2 --+        or a constant in BiasScale, or a row of them in the constants
func lowerElementwise(o *Output, j job) error {
	l := j.layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	if l.Second == layer.Scalar && (l.Op == layer.Max || l.Op == layer.Min) {
		return lowerUnary(o, j) // the table is the scalar's
	}
	x := o.input(j, "x", l.In)
	switch {
	case l.Op == layer.RealDiv && (l.Second == layer.Runtime || l.Second == layer.Itself):
		return lowerQuotient(o, j, in, x)
	case l.Second == layer.Scalar && l.Op == layer.RealDiv:
		// The factors are the same for every channel (bytes: 64 fp16 values of 1/v).
		return lowerChannelConstants(o, j, in, x)
	case l.Second == layer.Scalar:
		return lowerScalar(o, j, in, x)
	case l.Second == layer.Constant && (l.Op == layer.Max || l.Op == layer.Min):
		return lowerChannelOperand(o, j, in, x)
	case l.Second == layer.Constant:
		return lowerChannelConstants(o, j, in, x)
	case l.Second == layer.Runtime && l.SecondShape != l.In:
		return lowerRepeated(o, j, in, x)
	}
	z := x
	if l.Second == layer.Runtime {
		// The second input stands behind the result.
		z = place.Surface(place.Bar6, l.In)
	}
	y := o.output(j, "y", l.Out())
	if l.Second == layer.Runtime {
		z = o.port(j, "z", loader.Input, place.Bar6, l.In, z)
	}
	t := pass.Elementwise(l, in).Task()
	at := t.PlanarTile()
	rows, err := fitPlanarRows(l, t, in, &at, 2)
	if err != nil {
		return err
	}
	t.SetTileHeight(rows)
	t.LoadSource1(x, at, false)
	second := place.SecondBase(at.Row * rows)
	if l.Release == layer.Release2023 && l.Second == layer.Itself {
		second = at.Row * rows
	}
	t.LoadSource2(z, at.Rebase(second))
	t.WriteResult(y, second+at.Row*rows)
	o.add(t)
	return nil
}

// fitPlanarRows returns how many rows of n such tiles fit the L2 at a time (holds where all do:
// 25/25; less is assumed).
func fitPlanarRows(l *layer.Layer, t *task.Task, s regs.Shape, at *place.Layout, n int) (int, error) {
	if beyondL2(l, s) {
		t.SetPatch(task.StreamedPatch(s))
		*at = t.PackedPlanarTile()
		return t.TileHeight(), nil
	}
	if n*at.Row*s.Height <= l.LargestTile() {
		return s.Height, nil
	}
	rows := l.LargestTile() / (n * at.Row)
	if rows == 0 {
		return 0, layer.CheckLimit("bytes of a row in the L2", n*at.Row, l.LargestTile(),
			"split the width or the channels until it is at most %d")
	}
	return rows, nil
}

// lowerScalar adds or multiplies by one constant: the planar engine's own bias and scale.
func lowerScalar(o *Output, j job, in regs.Shape, x place.Memory) error {
	y := o.output(j, "y", j.layer.Out())
	op := pass.Scalar(j.layer, in, uint16(layer.ValueAt(j.weights.Second, 0)))
	op.ReLU = j.layer.Activation == layer.ReLU
	return addPlanar(o, j.layer, op.Task(), in, x, y)
}

// addPlanar appends a planar task of one source and the result.
func addPlanar(o *Output, l *layer.Layer, t *task.Task, in regs.Shape, x, y place.Memory) error {
	at := t.PlanarTile()
	rows, err := fitPlanarRows(l, t, in, &at, 1)
	if err != nil {
		return err
	}
	t.SetTileHeight(rows)
	t.LoadSource1(x, at, false)
	t.WriteResult(y, at.Row*rows)
	o.add(t)
	return nil
}

// lowerChannelOperand joins every channel with a constant of its own in an operation that the
// bias and scale rows do not have: the constants are a tensor of one pixel (assumed).
func lowerChannelOperand(o *Output, j job, in regs.Shape, x place.Memory) error {
	s := layer.Shape{N: 1, C: j.layer.In.C, H: 1, W: 1}
	y := o.output(j, "y", j.layer.Out())
	z := place.Surface(regs.BARWeights, s)
	o.Constants.Pad(64)
	z.Base = o.Constants.Bytes
	tensor := o.Constants.AddZeros(z.Depth)
	for c := range s.C {
		coeff.PutHalf(tensor[c*z.Plane:], uint16(layer.ValueAt(j.weights.Second, c)))
	}
	return combineRepeated(o, j, in, s, x, y, z)
}

// lowerQuotient multiplies by the reciprocal of the second input, which a table makes in the
// L2 (1/1).
func lowerQuotient(o *Output, j job, in regs.Shape, x place.Memory) error {
	l := j.layer
	y := o.output(j, "y", l.Out())
	z, z2 := x, l.In
	if l.Second == layer.Runtime {
		z2 = l.SecondShape
		z = o.port(j, "z", loader.Input, place.Bar6, z2, place.Surface(place.Bar6, z2))
	}
	if checkTile(l, place.NewView(z, z2).S, z2.H) != nil {
		// The L2 does not hold it: the reciprocal goes through the scratch buffer (assumed).
		reciprocal := o.allocate(z2)
		product := layer.Binary(layer.Mul, l.In, z2)
		product.Activation = l.Activation
		return lowerPieces(o, l,
			lookupPiece(j.weights.Table, z2, z, reciprocal),
			piece{product, &layer.Weights{}, ports{"x": x, "z": reciprocal, "y": y}},
		)
	}
	if z2.N == l.In.N {
		return eachElement(place.View{S: in, M: x}, place.View{S: in, M: y}, func(a, b place.View) error {
			n := (a.M.Base - x.Base) / max(1, x.Depth)
			return combineRepeated(o, j, a.S, z2, a.M, b.M, z.BatchElement(n))
		})
	}
	return combineRepeated(o, j, in, z2, x, y, z)
}

// lowerRepeated brings the second input, repeated along some axes, into the L2 first. Where
// both have a batch, each element goes by itself.
func lowerRepeated(o *Output, j job, in regs.Shape, x place.Memory) error {
	l := j.layer
	s := l.SecondShape
	y := o.output(j, "y", l.Out())
	z := o.port(j, "z", loader.Input, place.Bar6, s, place.Surface(place.Bar6, s))
	if s.N == 1 {
		return combineRepeated(o, j, in, s, x, y, z)
	}
	in.Groups = 1
	for n := range l.In.N {
		if err := combineRepeated(o, j, in, s, x.BatchElement(n), y.BatchElement(n), z.BatchElement(n)); err != nil {
			return err
		}
	}
	return nil
}

// combineRepeated brings z, of shape s, into the L2, and works on it and x. The second operand of
// a division is brought through the table of 1/x.
func combineRepeated(o *Output, j job, in regs.Shape, s layer.Shape, x, y, z place.Memory) error {
	small := regs.Shape{Groups: 1, Channels: s.C, Height: s.H, Width: s.W}
	prep := task.NewCopy(small)
	at := place.ResultTile(small)
	bytes := at.Row * s.H
	if err := checkTile(j.layer, small, s.H); err != nil {
		return err
	}
	kept := prep.KeepResult(at, bytes)
	prep.LoadSource1(z, prep.SourceTile().Rebase(layer.RoundUp(bytes, 64)), false)
	op := pass.Elementwise(j.layer, in)
	if j.layer.Op == layer.RealDiv {
		if err := setTable(o, j.layer, prep, j.weights.Table); err != nil {
			return err
		}
		op.Op = task.Product
	}
	o.add(prep)

	op.Second.Repeat = task.W.If(s.W < in.Width) | task.H.If(s.H < in.Height) | task.C.If(s.C < in.Channels)
	return combineKept(o, j.layer, op.Task(), in, x, y, kept, at, bytes)
}

// combineKept reads x into the L2 behind a kept second operand and writes y.
func combineKept(o *Output, l *layer.Layer, t *task.Task, in regs.Shape, x, y place.Memory, kept *task.Tile, second place.Layout, used int) error {
	at := t.PlanarTile()
	if used+at.Row*in.Height > l.LargestTile() {
		rows := (l.LargestTile() - used) / at.Row
		if rows < 1 {
			return layer.CheckLimit("bytes of a row in the L2", used+at.Row, l.LargestTile(),
				"split the width or the channels until it is at most %d")
		}
		t.SetTileHeight(rows)
	}
	rows := t.TileHeight()
	t.LoadSource1(x, at.Rebase(used), false)
	t.ReadSecondTile(kept, second)
	t.WriteResult(y, used+at.Row*rows)
	o.add(t)
	return nil
}

// SignBit is that of fp16.
const SignBit = 0x8000

// lowerChannelConstants joins every channel with its own constant: a row of addends and a row
// of factors in the constants, loaded as a picture of two rows first.
func lowerChannelConstants(o *Output, j job, in regs.Shape, x place.Memory) error {
	l := j.layer
	y := o.output(j, "y", l.Out())
	row := layer.RoundUp(l.In.C*layer.ElementBytes, 64)
	o.Constants.Pad(64)
	base := o.Constants.Bytes
	table := o.Constants.AddZeros(2 * row)
	for c := range l.In.C {
		bias, scale := uint16(0), uint16(task.HalfOne)
		v := uint16(layer.ValueAt(j.weights.Second, 0))
		if l.Second == layer.Constant {
			v = uint16(layer.ValueAt(j.weights.Second, c))
		}
		switch l.Op {
		case layer.Add:
			bias = v
		case layer.Sub:
			bias = v ^ 0x8000
		case layer.Mul:
			scale = v
			if l.Bias {
				b, ok := BeforeScale(layer.ValueAt(j.weights.Bias, c), float16.Frombits(v))
				if !ok {
					return l.Unsupportedf("the addend of channel %d divided by its factor is beyond fp16; make it an addition behind the product", c)
				}
				bias = uint16(b)
			}
		case layer.RealDiv:
			scale = task.Half(1 / float16.Frombits(v).Float32())
		case layer.Average:
			bias, scale = v, pass.HalfHalf
		}
		coeff.PutHalf(table[2*c:], bias)
		coeff.PutHalf(table[row+2*c:], scale)
	}
	rows := regs.Shape{Groups: 1, Channels: 1, Height: 2, Width: l.In.C}
	prep := task.NewCopy(rows)
	at := place.ResultTile(rows)
	kept := prep.KeepResult(at, 2*at.Row)
	from := place.Surface(regs.BARWeights, layer.Shape{N: 1, C: 1, H: 2, W: l.In.C})
	from.Base = base
	prep.LoadSource1(from, prep.SourceTile().Rebase(2*at.Row), false)
	o.add(prep)

	t := task.Planar{
		Form: regs.FormBiasScale, In: in, Op: task.Sum, Second: task.SourceView{Transposed: true},
		ReLU: l.Activation == layer.ReLU,
	}
	return combineKept(o, l, t.Task(), in, x, y, kept, at, 2*at.Row)
}
