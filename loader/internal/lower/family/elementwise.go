package family

import (
	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/pass"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerElementwise appends the tasks of an operation on two operands. It needs one planar task, and
// another one before it if the second operand repeats along an axis: that one loads the operand
// into L2.
//
//	x --DMA--> L2 --+
//	                planar engine --> y
//	z --DMA--> L2 --+        or a constant in BiasScale, or a row of constants
func lowerElementwise(o *Output, j job) error {
	l := j.layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	if l.Second == layer.Scalar && (l.Op == layer.Max || l.Op == layer.Min) {
		return lowerUnary(o, j) // the scalar is in the table
	}
	x := o.placeInput(j, "x", l.In)
	switch {
	case l.Op == layer.RealDiv && (l.Second == layer.Runtime || l.Second == layer.Itself):
		return lowerQuotient(o, j, in, x)
	case l.Second == layer.Scalar && l.Op == layer.RealDiv:
		// Every channel has the same factor: programs have 64 fp16 values of 1/v.
		return lowerChannelConstants(o, j, in, x)
	case l.Second == layer.Scalar:
		return lowerScalarOp(o, j, in, x)
	case l.Second == layer.Constant && (l.Op == layer.Max || l.Op == layer.Min):
		return lowerChannelTensor(o, j, in, x)
	case l.Second == layer.Constant:
		return lowerChannelConstants(o, j, in, x)
	case l.Second == layer.Runtime && l.SecondShape != l.In:
		return lowerBroadcastOp(o, j, in, x)
	}
	z := x
	if l.Second == layer.Runtime {
		// The buffer of the second input follows the one of the result.
		z = place.Surface(place.Bar6, l.In)
	}
	y := o.placeOutput(j, "y", l.Out())
	if l.Second == layer.Runtime {
		z = o.placePort(j, "z", loader.Input, place.Bar6, l.In, z)
	}
	t := pass.Elementwise(l, in).Task()
	at := t.PlanarTile()
	rows, err := countFittingRows(l, t, in, &at, 2)
	if err != nil {
		return err
	}
	t.SetTileHeight(rows)
	t.LoadSource1(x, at, false)
	second := at.Row * rows
	if l.Second != layer.Itself { // a tensor and itself are not shifted (3 of 3 tasks)
		second = place.SecondBase(second)
	}
	t.LoadSource2(z, at.Rebase(second))
	t.WriteResult(y, second+at.Row*rows)
	o.addTask(t)
	return nil
}

// countFittingRows returns how many rows of a tensor of shape s fit in L2 at a time if n tiles with
// the layout *layout need room together. If Apple's compiler of 2023 would stream the tensor,
// or if not even one row fits, countFittingRows also replaces the patch of t and *layout. If not
// even the columns of the narrowest patch fit, the error is a *layer.LimitError. (All rows fit in 25
// of 25 programs; the choice of fewer is assumed.)
func countFittingRows(l *layer.Layer, t *task.Task, s regs.Shape, layout *place.Layout, n int) (int, error) {
	if usesStreamedPatch(l, s) {
		t.SetPatch(task.StreamedPatch(s))
		*layout = t.PackedPlanarTile()
		return t.TileHeight(), nil
	}
	// A task that reads each element once needs only the columns of a patch. (Programs of 2023 have
	// narrower patches where rows do not fit; that others narrow it only then is inferred.)
	for n*layout.Row > l.LargestTile() && task.NarrowPlanarPatch(t) {
		*layout = t.PlanarTile()
	}
	rows := min(s.Height, l.LargestTile()/(n*layout.Row))
	if rows == 0 {
		return 0, layer.CheckLimit("size in bytes of a row in L2", n*layout.Row, l.LargestTile(),
			"split the width or the channels until a row has at most %d bytes")
	}
	return rows, nil
}

// lowerScalarOp appends the task that combines each element of x with one constant. The constant
// goes into the registers for the bias or the scale of the planar engine.
func lowerScalarOp(o *Output, j job, in regs.Shape, x place.Memory) error {
	y := o.placeOutput(j, "y", j.layer.Out())
	op := pass.Scalar(j.layer, in, uint16(layer.ValueAt(j.weights.Second, 0)))
	op.ReLU = j.layer.Activation == layer.ReLU
	return addPlanarTask(o, j.layer, op.Task(), in, x, y)
}

// addPlanarTask appends the planar task t, which reads x of shape in and writes y. The error is a
// *layer.LimitError if not even one row fits in L2.
func addPlanarTask(o *Output, l *layer.Layer, t *task.Task, in regs.Shape, x, y place.Memory) error {
	at := t.PlanarTile()
	rows, err := countFittingRows(l, t, in, &at, 1)
	if err != nil {
		return err
	}
	t.SetTileHeight(rows)
	t.LoadSource1(x, at, false)
	t.WriteResult(y, at.Row*rows)
	o.addTask(t)
	return nil
}

// lowerChannelTensor appends the tasks that combine x with one constant for each channel, for
// operations other than sums and products. The constants become a tensor of one pixel in the
// program (assumed).
func lowerChannelTensor(o *Output, j job, in regs.Shape, x place.Memory) error {
	s := layer.Shape{N: 1, C: j.layer.In.C, H: 1, W: 1}
	y := o.placeOutput(j, "y", j.layer.Out())
	z := place.Surface(regs.BARWeights, s)
	o.Constants.Pad(64)
	z.Base = o.Constants.Bytes
	tensor := o.Constants.AddZeros(z.Depth)
	for c := range s.C {
		coeff.PutHalf(tensor[c*z.Plane:], uint16(layer.ValueAt(j.weights.Second, c)))
	}
	return addBroadcastTasks(o, j, in, s, x, y, z)
}

// lowerQuotient appends the tasks of a division x / z. They compute the reciprocal of z with a
// table, keep it in L2, and multiply x by it, as Apple's compiler does in the one known
// program.
func lowerQuotient(o *Output, j job, in regs.Shape, x place.Memory) error {
	l := j.layer
	y := o.placeOutput(j, "y", l.Out())
	z, z2 := x, l.In
	if l.Second == layer.Runtime {
		z2 = l.SecondShape
		z = o.placePort(j, "z", loader.Input, place.Bar6, z2, place.Surface(place.Bar6, z2))
	}
	if checkRowsFit(l, place.Packed(place.NewView(z, z2).S), z2.H) != nil {
		// The second input does not fit L2, so its reciprocal goes through the scratch buffer
		// (assumed).
		reciprocal := o.allocateTensor(z2)
		product := layer.Binary(layer.Mul, l.In, z2)
		product.Activation = l.Activation
		return lowerSublayers(o, l,
			newLookupSublayer(j.weights.Table, z2, z, reciprocal),
			sublayer{product, &layer.Weights{}, ports{"x": x, "z": reciprocal, "y": y}},
		)
	}
	if z2.N == l.In.N {
		return forEachElement(o, place.View{S: in, M: x}, place.View{S: in, M: y}, func(a, b place.View) error {
			n := (a.M.Base - x.Base) / max(1, x.Depth)
			return addBroadcastTasks(o, j, a.S, z2, a.M, b.M, z.BatchElement(n))
		})
	}
	return addBroadcastTasks(o, j, in, z2, x, y, z)
}

// lowerBroadcastOp appends the tasks that combine x with a second input that is repeated along some
// axes. They load the second input into L2 first. If both inputs have a batch, each of its elements
// gets its own tasks.
func lowerBroadcastOp(o *Output, j job, in regs.Shape, x place.Memory) error {
	l := j.layer
	s := l.SecondShape
	y := o.placeOutput(j, "y", l.Out())
	z := o.placePort(j, "z", loader.Input, place.Bar6, s, place.Surface(place.Bar6, s))
	if s.N == 1 {
		return addBroadcastTasks(o, j, in, s, x, y, z)
	}
	in.Groups = 1
	for n := range l.In.N {
		if err := addBroadcastTasks(o, j, in, s, x.BatchElement(n), y.BatchElement(n), z.BatchElement(n)); err != nil {
			return err
		}
	}
	return nil
}

// addBroadcastTasks appends two tasks. The first loads z, which has shape s, into L2; for a
// division it computes 1/z with a table. The second combines x with the tile in L2 and writes the
// result to y.
func addBroadcastTasks(o *Output, j job, in regs.Shape, s layer.Shape, x, y, z place.Memory) error {
	small := regs.Shape{Groups: 1, Channels: s.C, Height: s.H, Width: s.W}
	prep := task.NewCopy(small)
	at := place.ResultTile(small)
	bytes := at.Row * s.H
	if err := checkRowsFit(j.layer, at, s.H); err != nil {
		return err
	}
	kept := prep.KeepResult(at)
	prep.LoadSource1(z, prep.SourceTile().Rebase(layer.RoundUp(bytes, 64)), false)
	op := pass.Elementwise(j.layer, in)
	if j.layer.Op == layer.RealDiv {
		if err := setActivationTable(o, j.layer, prep, j.weights.Table); err != nil {
			return err
		}
		op.Op = task.Product
	}
	o.addTask(prep)

	op.Second.Repeat = task.W.If(s.W < in.Width) | task.H.If(s.H < in.Height) | task.C.If(s.C < in.Channels)
	return appendTaskWithL2Operand(o, j.layer, op.Task(), in, x, y, kept, at, bytes)
}

// appendTaskWithL2Operand appends t after setting its operands: it loads x from memory, reads its
// second operand from tile kept with layout second, and writes the result to y. The first used
// bytes of L2 are taken. If x does not fit in the rest, t works on a few rows at a time; the error
// is a *layer.LimitError if not even one row fits.
func appendTaskWithL2Operand(o *Output, l *layer.Layer, t *task.Task, in regs.Shape, x, y place.Memory, kept *task.Tile, second place.Layout, used int) error {
	at := t.PlanarTile()
	if used+at.Row*in.Height > l.LargestTile() {
		for used+at.Row > l.LargestTile() && task.NarrowPlanarPatch(t) {
			at = t.PlanarTile()
		}
		rows := min(in.Height, (l.LargestTile()-used)/at.Row)
		if rows < 1 {
			return layer.CheckLimit("size in bytes of a row and the second operand in L2", used+at.Row, l.LargestTile(),
				"split the width or the channels until they have at most %d bytes")
		}
		t.SetTileHeight(rows)
	}
	rows := t.TileHeight()
	t.LoadSource1(x, at.Rebase(used), false)
	t.ReadSecondTile(kept, second)
	t.WriteResult(y, used+at.Row*rows)
	o.addTask(t)
	return nil
}

// SignBit is the sign bit of an fp16 value.
const SignBit = 0x8000

// lowerChannelConstants appends the tasks that combine x with one constant for each channel by a
// sum, a difference, a product, a quotient or an average. The program stores a row of addends and a
// row of factors, which the first task loads as an image of two rows.
func lowerChannelConstants(o *Output, j job, in regs.Shape, x place.Memory) error {
	l := j.layer
	y := o.placeOutput(j, "y", l.Out())
	table, err := coeff.ChannelTable(l, j.weights)
	if err != nil {
		return err
	}
	o.Constants.Pad(64)
	base := o.Constants.Bytes
	o.Constants.Add(table)
	rows := regs.Shape{Groups: 1, Channels: 1, Height: 2, Width: l.In.C}
	prep := task.NewCopy(rows)
	at := place.ResultTile(rows)
	kept := prep.KeepResult(at)
	from := place.Surface(regs.BARWeights, layer.Shape{N: 1, C: 1, H: 2, W: l.In.C})
	from.Base = base
	prep.LoadSource1(from, prep.SourceTile().Rebase(2*at.Row), false)
	o.addTask(prep)

	t := task.Planar{
		Form: regs.FormBiasScale, In: in, Op: task.Sum, Second: task.SourceView{Transposed: true},
		ReLU: l.Activation == layer.ReLU,
	}
	return appendTaskWithL2Operand(o, l, t.Task(), in, x, y, kept, at, 2*at.Row)
}
