package family

import (
	"cmp"

	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/pass"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerUnary appends the tasks of a function of one input. For most functions that is one task,
// which copies the tensor through the MAC engines and applies a table. Functions for which
// [layer.Op.TableCount] is above 1 need several.
func lowerUnary(o *Output, j job) error {
	l := j.layer
	switch l.Op {
	case layer.Abs:
		return lowerAbsoluteValue(o, j)
	case layer.Log:
		if streamsBetweenTasks(l) {
			return lowerTableAndOp(o, j, layer.Layer{Op: layer.Mul, Second: layer.Scalar}, ln2)
		}
		return lowerScaledTable(o, j, ln2)
	case layer.SiLU:
		if UsesShiftedSigmoid(l) {
			return lowerSigmoidProduct(o, j)
		}
	case layer.HardSwish:
		return lowerTableProduct(o, j)
	case layer.Square, layer.Cube:
		return lowerSquareOrCube(o, j)
	case layer.Atan, layer.Ceil, layer.Floor:
		return lowerSumOfTables(o, j)
	case layer.Sin, layer.Cos:
		return lowerSine(o, j)
	case layer.PReLU:
		return lowerPReLU(o, j)
	case layer.LogicalNot:
		return lowerLogicalNot(o, j)
	}
	return addActivation(o, j, l.Op, l.In, o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In))
}

const ln2 = 0x398c // ln 2 in fp16

// placeBeforeActivation returns where a layer writes its result before its activation is applied.
// This is y if no separate task applies the activation; otherwise it is a new place in the scratch
// buffer, from which lowerActivation reads it.
func placeBeforeActivation(o *Output, j job, y place.Memory, s layer.Shape) place.Memory {
	if !j.layer.NeedsTable() || canFuseTable(j) {
		return y
	}
	return o.allocateTensor(s)
}

// lowerActivation appends the task that applies the layer's activation to the tensor of shape s at
// from and writes y. It does nothing if the layer's own tasks have applied it.
func lowerActivation(o *Output, j job, s layer.Shape, from, y place.Memory) error {
	l := j.layer
	if !l.NeedsTable() || canFuseTable(j) {
		return nil
	}
	act := layer.Layer{Op: l.Activation, In: s, Epsilon: l.Epsilon, Alpha: l.Alpha, Low: l.Low, High: l.High}
	return lowerSublayers(o, l, sublayer{act, &layer.Weights{Table: j.weights.Table, Tables: j.weights.Tables}, ports{"x": from, "y": y}})
}

// addActivation appends the task that applies activation op to the tensor of shape s at x and
// writes the result to y.
func addActivation(o *Output, j job, op layer.Op, s layer.Shape, x, y place.Memory) error {
	in := regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}
	m := pass.Activation(op, in, j.layer.Epsilon)
	if f := j.layer.Factor; f != 0 {
		m.Scale = task.NewFactor(uint16(f))
	}
	t := m.Task()
	if usesStreamedPatch(j.layer, in) {
		t.SetPatch(task.NarrowPatch)
	}
	at := t.SourceTile()
	if err := checkRowsFit(j.layer, at, 1); err != nil {
		return err
	}
	rows, tile := TileHeight(j.layer, in, s, task.Pointwise, &at, false)
	t.SetTileHeight(tile)
	t.LoadSource1(x, at, false)
	t.WriteResult(y, at.Row*rows)
	if op != layer.ReLU {
		if err := setActivationTable(o, j.layer, t, j.weights.Table); err != nil {
			return err
		}
	}
	o.addTask(t)
	return nil
}

// setActivationTable stores an activation table in the constants of o and makes task t apply the
// table. It returns an error if the table's length is not coeff.TableBytes.
func setActivationTable(o *Output, l *layer.Layer, t *task.Task, table []byte) error {
	if len(table) != coeff.TableBytes {
		return l.Errorf("table of %v has %d bytes; want %d", l.Op, len(table), coeff.TableBytes)
	}
	t.SetTable(o.Constants.PlaceTable(table, t.TableLanes()), table)
	return nil
}

// lowerAbsoluteValue lowers |x| to one planar task (inferred).
func lowerAbsoluteValue(o *Output, j job) error {
	l := j.layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	return addPlanarTask(o, l, task.Planar{Form: regs.FormConstant, In: in, Absolute: true}.Task(), in, x, y)
}

// forEachRowRun calls f with views of x and y for consecutive runs of rows in each batch element. A
// run has as many rows as fit in L2 if n tiles need room at the same time. The error is a
// *layer.LimitError if not even one row fits.
func forEachRowRun(o *Output, l *layer.Layer, x, y place.Memory, n int, f func(in, out place.View)) error {
	s := l.In
	return forEachElement(o, place.NewView(x, s), place.NewView(y, s), func(in, out place.View) error {
		row := place.Packed(in.S).Row + 0x100
		rows := min(in.S.Height, l.LargestTile()/(n*row))
		if rows == 0 {
			return layer.CheckLimit("size in bytes of a row in L2", n*row, l.LargestTile(), "split the width or the channels until a row has at most %d bytes")
		}
		for first := 0; first < in.S.Height; first += rows {
			m := min(rows, in.S.Height-first)
			f(in.SliceRows(first, m), out.SliceRows(first, m))
		}
		return nil
	})
}

// lowerScaledTable appends two tasks: one looks up a table and leaves the result in L2, and the
// other multiplies that result by factor. For tensors that do not fit in L2, the second task starts
// before the first has ended, as in the one known program of Apple's compiler.
func lowerScaledTable(o *Output, j job, factor uint16) error {
	table := j.weights.Table
	return addTaskPair(o, j, func(in regs.Shape) (*task.Task, error) {
		t := pass.Activation(j.layer.Op, in, 0).Task()
		return t, setActivationTable(o, j.layer, t, table)
	}, func(in regs.Shape, _ *task.Task) *task.Task {
		return task.Planar{Form: regs.FormConstant, In: in, Scale: task.NewFactor(factor)}.Task()
	})
}

// streamsBetweenTasks reports whether the layer's tasks pass tensors to each other through rings
// and scratch memory, as tasks of the 2023 compiler do for tensors that do not fit in L2.
func streamsBetweenTasks(l *layer.Layer) bool {
	return l.In.N == 1 && usesStreamedPatch(l, place.NewView(place.Memory{}, l.In).S)
}

// lowerTableAndOp appends two tasks: the first looks up a table for the elements of the job's
// input, and the second applies the operation of layer second to the values found and the fp16
// number with bits constant.
func lowerTableAndOp(o *Output, j job, second layer.Layer, constant uint16) error {
	s := j.layer.In
	x, y, between := o.placeInput(j, "x", s), o.placeOutput(j, "y", s), o.allocateTensor(s)
	second.In = s
	return lowerSublayers(o, j.layer,
		newLookupSublayer(j.weights.Table, s, x, between),
		sublayer{second, &layer.Weights{Second: []float16.Float16{float16.Frombits(constant)}}, ports{"x": between, "y": y}},
	)
}

// UsesShiftedSigmoid reports whether l is a SiLU that needs three tasks, as with the compiler of
// 2023. The tasks compute x * (t(x) + 1/2), where t is a table of sigmoid(x) - 1/2 (seen in one
// program).
func UsesShiftedSigmoid(l *layer.Layer) bool {
	return l.Op == layer.SiLU && streamsBetweenTasks(l)
}

// lowerSigmoidProduct appends the tasks of a SiLU, computed as x * (t(x) + 1/2), where t is a table
// of sigmoid(x) - 1/2.
func lowerSigmoidProduct(o *Output, j job) error {
	s := j.layer.In
	x, y, sigmoid := o.placeInput(j, "x", s), o.placeOutput(j, "y", s), o.allocateTensor(s)
	odd := o.allocateTensor(s)
	return lowerSublayers(o, j.layer,
		newLookupSublayer(j.weights.Table, s, x, odd),
		sublayer{layer.Layer{Op: layer.Add, In: s, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{pass.HalfHalf}}, ports{"x": odd, "y": sigmoid}},
		sublayer{layer.Binary(layer.Mul, s, s), &layer.Weights{}, ports{"x": x, "z": sigmoid, "y": y}},
	)
}

// lowerTableProduct appends the tasks of HardSwish, which multiply x by a table of HardSigmoid: a MAC
// task that leaves x and the values of the table in L2, and a planar task that multiplies both
// (inferred; none of the known programs has one).
func lowerTableProduct(o *Output, j job) error {
	l := j.layer
	var failed error
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	err := forEachRowRun(o, l, x, y, 2, func(in, out place.View) {
		t := pass.Activation(layer.HardSigmoid, in.S, 0).Task()
		t.SetPatch(task.KeptPatch(in.S))
		at := place.ResultTile(in.S)
		bytes := layer.RoundUp(at.Row*in.S.Height, 64)
		source := t.LoadSource1(in.M, at, true)
		factors := t.KeepResult(at.Rebase(bytes))
		failed = cmp.Or(failed, setActivationTable(o, l, t, j.weights.Table))
		o.addTask(t)
		u := pass.Product(in.S).Task()
		u.ReadTile(source, at)
		u.ReadSecondTile(factors, at.Rebase(bytes))
		u.WriteResult(out.M, 2*bytes)
		o.addTask(u)
	})
	return cmp.Or(failed, err)
}

// addTaskPair appends pairs of tasks, each for as many rows as fit in L2: a MAC task that keeps its
// result there, and a planar task that reads it. first and second create the two tasks for a shape;
// second also gets the first task.
func addTaskPair(o *Output, j job, first func(regs.Shape) (*task.Task, error), second func(regs.Shape, *task.Task) *task.Task) error {
	l := j.layer
	var failed error
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	err := forEachRowRun(o, l, x, y, 2, func(in, out place.View) {
		t, err := first(in.S)
		if err != nil {
			failed = err
			return
		}
		at := place.ResultTile(in.S)
		bytes := at.Row * in.S.Height
		t.LoadSource1(in.M, t.SourceTile().Rebase(layer.RoundUp(bytes, 64)), false)
		kept := t.KeepResult(at)
		o.addTask(t)
		u := second(in.S, t)
		u.ReadTile(kept, at)
		u.WriteResult(out.M, bytes)
		o.addTask(u)
	})
	if failed != nil {
		return failed
	}
	return err
}

// lowerSquareOrCube appends one multiplication (x * x) for Square, or two for Cube.
func lowerSquareOrCube(o *Output, j job) error {
	l := j.layer
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	if l.Op == layer.Square && l.Release == layer.Release2026 {
		in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
		return addPlanarTask(o, l, task.Planar{Form: regs.FormConstant, In: in, Op: task.Squares}.Task(), in, x, y)
	}
	square := layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Itself, SecondShape: l.In, Release: l.Release}
	if l.Op == layer.Square {
		return lowerSublayers(o, l, sublayer{square, &layer.Weights{}, ports{"x": x, "y": y}})
	}
	between := o.allocateTensor(l.In)
	return lowerSublayers(o, l,
		sublayer{square, &layer.Weights{}, ports{"x": x, "y": between}},
		sublayer{layer.Binary(layer.Mul, l.In, l.In), &layer.Weights{}, ports{"x": x, "z": between, "y": y}},
	)
}

// lowerSumOfTables lowers a function to the sum of two tables. For Atan, one is for small x and
// one for large x. For Ceil and Floor, one is for the integer part and one for the fraction. The
// compiler uses three and four tasks in 2 of 2 programs.
func lowerSumOfTables(o *Output, j job) error {
	l, w := j.layer, j.weights
	if len(w.Tables) != l.Op.TableCount()-1 {
		return l.Errorf("found %d tables; want %d", 1+len(w.Tables), l.Op.TableCount())
	}
	if streamsBetweenTasks(l) {
		// The order of the constants and of the tasks is that of the one program seen for each.
		order := []int{1, 0}
		if l.Op != layer.Atan {
			order = []int{1, 0, 2}
		}
		for _, i := range order {
			o.Constants.PlaceTable(append([][]byte{w.Table}, w.Tables...)[i], min(task.Engines, l.In.C))
		}
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	first, second := o.allocateTensor(l.In), o.allocateTensor(l.In)
	lookup := func(t []byte, from, to place.Memory) sublayer { return newLookupSublayer(t, l.In, from, to) }
	sum := sublayer{layer.Binary(layer.Add, l.In, l.In), &layer.Weights{}, ports{"x": first, "z": second, "y": y}}
	if l.Op == layer.Atan {
		return lowerSublayers(o, l, lookup(w.Table, x, first), lookup(w.Tables[0], x, second), sum)
	}
	fraction := o.allocateTensor(l.In)
	if streamsBetweenTasks(l) {
		return lowerSublayers(o, l, lookup(w.Tables[0], x, fraction), lookup(w.Tables[1], fraction, second), lookup(w.Table, x, first), sum)
	}
	return lowerSublayers(o, l, lookup(w.Table, x, first), lookup(w.Tables[0], x, fraction), lookup(w.Tables[1], fraction, second), sum)
}

// lowerSine appends the tasks of a sine or cosine. They divide x by 2 pi, add a quarter for the
// cosine, and look up the fraction and then its sine in tables.
func lowerSine(o *Output, j job) error {
	l, w := j.layer, j.weights
	if len(w.Tables) != 1 {
		return l.Errorf("found %d tables; want 2", 1+len(w.Tables))
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	turns, fraction := o.allocateTensor(l.In), o.allocateTensor(l.In)
	const turn = 0x3118 // 1/2pi in fp16
	list := []sublayer{{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{turn}}, ports{"x": x, "y": turns}}}
	from := turns
	if l.Op == layer.Cos {
		shifted := o.allocateTensor(l.In)
		list = append(list, sublayer{layer.Layer{Op: layer.Add, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{0x3400}}, ports{"x": turns, "y": shifted}})
		from = shifted
	}
	return lowerSublayers(o, l, append(list,
		newLookupSublayer(w.Table, l.In, from, fraction),
		newLookupSublayer(w.Tables[0], l.In, fraction, y),
	)...)
}

// lowerPReLU appends the tasks of PReLU, relu(x) + slope * min(x, 0) with one slope for each
// channel. They compute the minimum as -relu(-x).
func lowerPReLU(o *Output, j job) error {
	l := j.layer
	var slopes []float16.Float16
	for _, v := range j.weights.Second {
		slopes = append(slopes, v^0x8000)
	}
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", l.In)
	negative, below, sloped, above := o.allocateTensor(l.In), o.allocateTensor(l.In), o.allocateTensor(l.In), o.allocateTensor(l.In)
	return lowerSublayers(o, l,
		sublayer{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{0xbc00}}, ports{"x": x, "y": negative}},
		sublayer{layer.Unary(layer.ReLU, l.In), &layer.Weights{}, ports{"x": negative, "y": below}},
		sublayer{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Constant}, &layer.Weights{Second: slopes}, ports{"x": below, "y": sloped}},
		sublayer{layer.Unary(layer.ReLU, l.In), &layer.Weights{}, ports{"x": x, "y": above}},
		sublayer{layer.Binary(layer.Add, l.In, l.In), &layer.Weights{}, ports{"x": above, "z": sloped, "y": y}},
	)
}

// lowerLogicalNot appends the task that negates 8-bit elements with a table. As in the one known
// program, the ports have half as many columns as the tensor, because the DMA moves two 8-bit
// elements as one fp16 element.
func lowerLogicalNot(o *Output, j job) error {
	l := j.layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	halves := layer.Shape{N: l.In.N, C: l.In.C, H: l.In.H, W: (l.In.W + 1) / 2}
	x, y := o.placeInput(j, "x", halves), o.placeOutput(j, "y", halves)
	t := pass.Activation(l.Op, in, 0).Task()
	task.SetEightBit(t, halves)
	at := task.ByteTile(t, halves)
	t.LoadSource1(x, at, false)
	t.WriteResult(y, at.Row*in.Height)
	task.SetByteSurfaces(t)
	if err := layer.CheckLimit("size in bytes of a tile in L2", at.Row*in.Height, l.LargestTile(), "split the height until a tile has at most %d bytes"); err != nil {
		return err
	}
	if err := setActivationTable(o, l, t, j.weights.Table); err != nil {
		return err
	}
	o.addTask(t)
	return nil
}

// lowerWithActivation appends the tasks of an operation and of the activation after it, which needs
// a task of its own (see [layer.Layer.NeedsActivationTask]).
func lowerWithActivation(o *Output, j job) error {
	l, w := *j.layer, *j.weights
	l.Activation = 0
	if l.UsesOpTable() && j.layer.NeedsTable() {
		w.Table = w.Inner
	}
	names := map[string]layer.Shape{"x": l.In}
	if l.Second == layer.Runtime && l.Op != layer.Tile {
		names["z"] = l.SecondShape
	}
	to := ports{"x": o.placeInput(j, "x", l.In), "y": o.allocateTensor(l.Out())}
	y := o.placeOutput(j, "y", l.Out())
	if s, ok := names["z"]; ok {
		to["z"] = o.placePort(j, "z", loader.Input, place.Bar6, s, place.Surface(place.Bar6, s))
	}
	act := layer.Layer{Op: j.layer.Activation, In: l.Out(), Epsilon: l.Epsilon, Alpha: l.Alpha, Low: l.Low, High: l.High}
	return lowerSublayers(o, j.layer,
		sublayer{l, &w, to},
		sublayer{act, &layer.Weights{Table: j.weights.Table, Tables: j.weights.Tables}, ports{"x": to["y"], "y": y}},
	)
}
