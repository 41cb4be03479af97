package family

import (
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/pass"
	"anesim/loader/lower/place"
	"anesim/loader/lower/task"
)

// lowerUnary lowers a function of one input. Most are a table behind the MAC engines' pass
// through; Tables says which ones take more.
func lowerUnary(o *Output, j job) error {
	l := j.layer
	switch l.Op {
	case layer.Abs:
		return lowerAbsolute(o, j)
	case layer.Log:
		if passes(l) {
			return lowerTableThen(o, j, layer.Layer{Op: layer.Mul, Second: layer.Scalar}, ln2)
		}
		return lowerScaledTable(o, j, ln2)
	case layer.SiLU:
		if OddSigmoid(l) {
			return lowerSigmoidProduct(o, j)
		}
	case layer.HardSwish:
		return lowerTableProduct(o, j)
	case layer.Square, layer.Cube:
		return lowerPower(o, j)
	case layer.Atan, layer.Ceil, layer.Floor:
		return lowerSumOfTables(o, j)
	case layer.Sin, layer.Cos:
		return lowerWave(o, j)
	case layer.PReLU:
		return lowerPReLU(o, j)
	case layer.LogicalNot:
		return lowerLogicalNot(o, j)
	}
	return addActivation(o, j, l.Op, l.In, o.input(j, "x", l.In), o.output(j, "y", l.In))
}

const ln2 = 0x398c // ln 2 in fp16

// placeBeforeActivation returns where a layer writes whose result takes a table: the scratch
// buffer, from where lowerActivation reads it, unless the layer's own descriptor looks it up.
func placeBeforeActivation(o *Output, j job, y place.Memory, s layer.Shape) place.Memory {
	if !j.layer.NeedsTable() || fusesTable(j) {
		return y
	}
	return o.allocate(s)
}

// lowerActivation appends the table that placeBeforeActivation made room for.
func lowerActivation(o *Output, j job, s layer.Shape, from, y place.Memory) error {
	l := j.layer
	if !l.NeedsTable() || fusesTable(j) {
		return nil
	}
	act := layer.Layer{Op: l.Activation, In: s, Epsilon: l.Epsilon, Alpha: l.Alpha, Low: l.Low, High: l.High}
	return lowerPieces(o, l, piece{act, &layer.Weights{Table: j.weights.Table, Tables: j.weights.Tables}, ports{"x": from, "y": y}})
}

// addActivation appends the task that passes x through an activation to y.
func addActivation(o *Output, j job, op layer.Op, s layer.Shape, x, y place.Memory) error {
	in := regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}
	t := pass.Activation(op, in, j.layer.Epsilon).Task()
	if beyondL2(j.layer, in) {
		t.SetPatch(task.NarrowPatch)
	}
	at := t.SourceTile()
	rows, tile := TileHeight(j.layer, in, s, task.Pointwise, &at, false)
	if err := checkTile(j.layer, in, 1); err != nil {
		return err
	}
	t.SetTileHeight(tile)
	t.LoadSource1(x, at, false)
	t.WriteResult(y, at.Row*rows)
	if op != layer.ReLU {
		if err := setTable(o, j.layer, t, j.weights.Table); err != nil {
			return err
		}
	}
	o.add(t)
	return nil
}

// setTable gives a task a table.
func setTable(o *Output, l *layer.Layer, t *task.Task, table []byte) error {
	if len(table) != coeff.TableBytes {
		return l.Errorf("a table of %v has %d bytes, want %d", l.Op, len(table), coeff.TableBytes)
	}
	t.SetTable(o.Constants.PlaceTable(table, t.TableLanes()), table)
	return nil
}

// lowerAbsolute lowers |x| to one planar task (inferred).
func lowerAbsolute(o *Output, j job) error {
	l := j.layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	return addPlanar(o, l, task.Planar{Form: regs.FormConstant, In: in, Absolute: true}.Task(), in, x, y)
}

// eachRows calls f with runs of rows whose n tiles fit the L2 together, for each element
// of the batch.
func eachRows(l *layer.Layer, x, y place.Memory, n int, f func(in, out place.View)) error {
	s := l.In
	return eachElement(place.NewView(x, s), place.NewView(y, s), func(in, out place.View) error {
		row := place.Packed(in.S).Row + 0x100
		rows := min(in.S.Height, l.LargestTile()/(n*row))
		if rows == 0 {
			return layer.CheckLimit("bytes of a row in the L2", n*row, l.LargestTile(), "split the width or the channels until it is at most %d")
		}
		for first := 0; first < in.S.Height; first += rows {
			m := min(rows, in.S.Height-first)
			f(in.SliceRows(first, m), out.SliceRows(first, m))
		}
		return nil
	})
}

// lowerScaledTable multiplies a table's result, which stays in the L2, by a constant (the
// compiler's for tensors beyond the L2, where the two run side by side: 1/1).
func lowerScaledTable(o *Output, j job, factor uint16) error {
	table := j.weights.Table
	return addTwoTasks(o, j, func(in regs.Shape) (*task.Task, error) {
		t := pass.Activation(j.layer.Op, in, 0).Task()
		return t, setTable(o, j.layer, t, table)
	}, func(in regs.Shape, _ *task.Task) *task.Task {
		return task.Planar{Form: regs.FormConstant, In: in, Scale: task.NewFactor(factor)}.Task()
	})
}

// passes reports whether the layer's tasks pass tensors on as the compiler of 2023 does.
func passes(l *layer.Layer) bool {
	return l.In.N == 1 && beyondL2(l, place.NewView(place.Memory{}, l.In).S)
}

// lowerTableThen lowers the layer to a table and an operation with a constant behind it.
func lowerTableThen(o *Output, j job, then layer.Layer, constant uint16) error {
	s := j.layer.In
	x, y, between := o.input(j, "x", s), o.output(j, "y", s), o.allocate(s)
	then.In = s
	return lowerPieces(o, j.layer,
		lookupPiece(j.weights.Table, s, x, between),
		piece{then, &layer.Weights{Second: []float16.Float16{float16.Frombits(constant)}}, ports{"x": between, "y": y}},
	)
}

// OddSigmoid reports whether the layer is a SiLU that the compiler of 2023 makes of three
// tasks, x * (table(x) + 1/2), whose table is that of sigmoid(x) - 1/2 (1/1).
func OddSigmoid(l *layer.Layer) bool {
	return l.Op == layer.SiLU && passes(l)
}

// lowerSigmoidProduct lowers SiLU by the table of sigmoid(x) - 1/2.
func lowerSigmoidProduct(o *Output, j job) error {
	s := j.layer.In
	x, y, sigmoid := o.input(j, "x", s), o.output(j, "y", s), o.allocate(s)
	odd := o.allocate(s)
	return lowerPieces(o, j.layer,
		lookupPiece(j.weights.Table, s, x, odd),
		piece{layer.Layer{Op: layer.Add, In: s, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{pass.HalfHalf}}, ports{"x": odd, "y": sigmoid}},
		piece{layer.Binary(layer.Mul, s, s), &layer.Weights{}, ports{"x": x, "z": sigmoid, "y": y}},
	)
}

// lowerTableProduct lowers the layer to a product: it multiplies x by a table's result.
func lowerTableProduct(o *Output, j job) error {
	l := j.layer
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	s := l.In
	inner := o.allocate(s)
	return lowerPieces(o, l,
		piece{layer.Layer{Op: layer.HardSigmoid, In: s}, j.weights, ports{"x": x, "y": inner}},
		piece{layer.Binary(layer.Mul, s, s), &layer.Weights{}, ports{"x": x, "z": inner, "y": y}},
	)
}

// addTwoTasks passes x through a task of the MAC engines into the L2 and a planar task from
// there.
func addTwoTasks(o *Output, j job, first func(regs.Shape) (*task.Task, error), second func(regs.Shape, *task.Task) *task.Task) error {
	l := j.layer
	var failed error
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	err := eachRows(l, x, y, 2, func(in, out place.View) {
		t, err := first(in.S)
		if err != nil {
			failed = err
			return
		}
		at := place.ResultTile(in.S)
		bytes := at.Row * in.S.Height
		t.LoadSource1(in.M, t.SourceTile().Rebase(layer.RoundUp(bytes, 64)), false)
		kept := t.KeepResult(at, bytes)
		o.add(t)
		u := second(in.S, t)
		u.ReadTile(kept, at)
		u.WriteResult(out.M, bytes)
		o.add(u)
	})
	if failed != nil {
		return failed
	}
	return err
}

// lowerPower multiplies x by itself.
func lowerPower(o *Output, j job) error {
	l := j.layer
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	square := layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Itself, SecondShape: l.In, Release: l.Release}
	if l.Op == layer.Square {
		return lowerPieces(o, l, piece{square, &layer.Weights{}, ports{"x": x, "y": y}})
	}
	between := o.allocate(l.In)
	return lowerPieces(o, l,
		piece{square, &layer.Weights{}, ports{"x": x, "y": between}},
		piece{layer.Binary(layer.Mul, l.In, l.In), &layer.Weights{}, ports{"x": x, "z": between, "y": y}},
	)
}

// lowerSumOfTables adds two functions of x: atan near and far, or the integer part and what a
// fraction above or below 0 adds (the compiler's three and four tasks: 2/2).
func lowerSumOfTables(o *Output, j job) error {
	l, w := j.layer, j.weights
	if len(w.Tables) != l.Op.TableCount()-1 {
		return l.Errorf("%d tables, want %d", 1+len(w.Tables), l.Op.TableCount())
	}
	if passes(l) {
		// The order of the constants and of the tasks (1/1 each).
		order := []int{1, 0}
		if l.Op != layer.Atan {
			order = []int{1, 0, 2}
		}
		for _, i := range order {
			o.Constants.PlaceTable(append([][]byte{w.Table}, w.Tables...)[i], min(task.Engines, l.In.C))
		}
	}
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	first, second := o.allocate(l.In), o.allocate(l.In)
	lookup := func(t []byte, from, to place.Memory) piece { return lookupPiece(t, l.In, from, to) }
	sum := piece{layer.Binary(layer.Add, l.In, l.In), &layer.Weights{}, ports{"x": first, "z": second, "y": y}}
	if l.Op == layer.Atan {
		return lowerPieces(o, l, lookup(w.Table, x, first), lookup(w.Tables[0], x, second), sum)
	}
	fraction := o.allocate(l.In)
	if passes(l) {
		return lowerPieces(o, l, lookup(w.Tables[0], x, fraction), lookup(w.Tables[1], fraction, second), lookup(w.Table, x, first), sum)
	}
	return lowerPieces(o, l, lookup(w.Table, x, first), lookup(w.Tables[0], x, fraction), lookup(w.Tables[1], fraction, second), sum)
}

// lowerWave lowers sine and cosine to the sine of the turns' fraction: x/2pi, a quarter more for
// the cosine.
func lowerWave(o *Output, j job) error {
	l, w := j.layer, j.weights
	if len(w.Tables) != 1 {
		return l.Errorf("%d tables, want 2", 1+len(w.Tables))
	}
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	turns, fraction := o.allocate(l.In), o.allocate(l.In)
	const turn = 0x3118 // 1/2pi in fp16
	list := []piece{{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{turn}}, ports{"x": x, "y": turns}}}
	from := turns
	if l.Op == layer.Cos {
		shifted := o.allocate(l.In)
		list = append(list, piece{layer.Layer{Op: layer.Add, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{0x3400}}, ports{"x": turns, "y": shifted}})
		from = shifted
	}
	return lowerPieces(o, l, append(list,
		lookupPiece(w.Table, l.In, from, fraction),
		lookupPiece(w.Tables[0], l.In, fraction, y),
	)...)
}

// lowerPReLU lowers x above 0 and its channel's slope times x below to relu(x) + slope * min(x, 0),
// the minimum as -relu(-x).
func lowerPReLU(o *Output, j job) error {
	l := j.layer
	var slopes []float16.Float16
	for _, v := range j.weights.Second {
		slopes = append(slopes, v^0x8000)
	}
	x, y := o.input(j, "x", l.In), o.output(j, "y", l.In)
	negative, below, sloped, above := o.allocate(l.In), o.allocate(l.In), o.allocate(l.In), o.allocate(l.In)
	return lowerPieces(o, l,
		piece{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{0xbc00}}, ports{"x": x, "y": negative}},
		piece{layer.Unary(layer.ReLU, l.In), &layer.Weights{}, ports{"x": negative, "y": below}},
		piece{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Constant}, &layer.Weights{Second: slopes}, ports{"x": below, "y": sloped}},
		piece{layer.Unary(layer.ReLU, l.In), &layer.Weights{}, ports{"x": x, "y": above}},
		piece{layer.Binary(layer.Add, l.In, l.In), &layer.Weights{}, ports{"x": above, "z": sloped, "y": y}},
	)
}

// lowerLogicalNot lowers a negation to a table over 8-bit elements, which are moved as fp16 ones
// of half as many columns (1/1), so the ports have that shape.
func lowerLogicalNot(o *Output, j job) error {
	l := j.layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	halves := layer.Shape{N: l.In.N, C: l.In.C, H: l.In.H, W: (l.In.W + 1) / 2}
	x, y := o.input(j, "x", halves), o.output(j, "y", halves)
	t := pass.Activation(l.Op, in, 0).Task()
	task.SetEightBit(t, halves)
	at := task.ByteTile(t, halves)
	t.LoadSource1(x, at, false)
	t.WriteResult(y, at.Row*in.Height)
	task.SetByteSurfaces(t)
	if err := layer.CheckLimit("bytes of a tile in the L2", at.Row*in.Height, l.LargestTile(), "split the height until it is at most %d"); err != nil {
		return err
	}
	if err := setTable(o, l, t, j.weights.Table); err != nil {
		return err
	}
	o.add(t)
	return nil
}

// lowerThenActivation lowers an operation and an activation by a task of its own, see
// [layer.Layer.NeedsActivationTask].
func lowerThenActivation(o *Output, j job) error {
	l, w := *j.layer, *j.weights
	l.Activation = 0
	if l.UsesOpTable() && j.layer.NeedsTable() {
		w.Table = w.Inner
	}
	names := map[string]layer.Shape{"x": l.In}
	if l.Second == layer.Runtime && l.Op != layer.Tile {
		names["z"] = l.SecondShape
	}
	to := ports{"x": o.input(j, "x", l.In), "y": o.allocate(l.Out())}
	y := o.output(j, "y", l.Out())
	if s, ok := names["z"]; ok {
		to["z"] = o.port(j, "z", loader.Input, place.Bar6, s, place.Surface(place.Bar6, s))
	}
	act := layer.Layer{Op: j.layer.Activation, In: l.Out(), Epsilon: l.Epsilon, Alpha: l.Alpha, Low: l.Low, High: l.High}
	return lowerPieces(o, j.layer,
		piece{l, &w, to},
		piece{act, &layer.Weights{Table: j.weights.Table, Tables: j.weights.Tables}, ports{"x": to["y"], "y": y}},
	)
}
