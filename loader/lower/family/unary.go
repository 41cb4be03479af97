package family

import (
	"github.com/x448/float16"

	"anesim/hw/regs"
	"anesim/loader"
	"anesim/loader/layer"
	"anesim/loader/lower/coeff"
	"anesim/loader/lower/pass"
	"anesim/loader/lower/task"
)

// unary lowers a function of one input. Most are a table behind the MAC engines' pass
// through; Tables says which ones take more.
func (p *Plan) unary() error {
	l := p.Layer
	switch l.Op {
	case layer.Abs:
		return p.absolute()
	case layer.Log:
		if passes(p.Layer) {
			return p.tablePieces(layer.Layer{Op: layer.Mul, Second: layer.Scalar}, ln2)
		}
		return p.scaledTable(ln2)
	case layer.SiLU:
		if OddSigmoid(l) {
			return p.sigmoidProduct()
		}
	case layer.HardSwish:
		return p.productOfTable()
	case layer.Square, layer.Cube:
		return p.power()
	case layer.Atan, layer.Ceil, layer.Floor:
		return p.sumOfTables()
	case layer.Sin, layer.Cos:
		return p.wave()
	case layer.PReLU:
		return p.parametric()
	case layer.LogicalNot:
		return p.negation()
	}
	return p.apply(l.Op, l.In, p.input("x", l.In), p.output("y", l.In))
}

const ln2 = 0x398c // ln 2 in fp16

// behind is where a layer writes whose result takes a table: the scratch buffer, from
// where apply reads it, unless the layer's own descriptor looks it up.
func (p *Plan) behind(y task.Memory, s layer.Shape) task.Memory {
	if !p.Layer.Tabulated() || p.rides() {
		return y
	}
	return p.intermediate(s)
}

// finishActivation applies the table that behind made room for.
func (p *Plan) finishActivation(s layer.Shape, from, y task.Memory) error {
	l := p.Layer
	if !l.Tabulated() || p.rides() {
		return nil
	}
	act := layer.Layer{Op: l.Activation, In: s, Epsilon: l.Epsilon, Alpha: l.Alpha, Low: l.Low, High: l.High}
	return p.pieces(piece{act, &layer.Weights{Table: p.Weights.Table, Tables: p.Weights.Tables}, ports{"x": from, "y": y}})
}

// apply appends the task that passes x through an activation to y.
func (p *Plan) apply(op layer.Op, s layer.Shape, x, y task.Memory) error {
	in := regs.Shape{Groups: s.N, Channels: s.C, Height: s.H, Width: s.W}
	t := pass.Activation(op, in, p.Layer.Epsilon).Task()
	if beyondL2(p.Layer, in) {
		t.Narrow()
	}
	at := t.SourceTile()
	rows, tile := p.TileHeight(in, s, task.Pointwise, &at, false)
	if err := p.checkTile(in, 1); err != nil {
		return err
	}
	t.TileRows(tile)
	t.Source1(x, at, false)
	t.Writes(y, at.Row*rows)
	if op != layer.ReLU {
		if err := p.tabulate(t, p.Weights.Table); err != nil {
			return err
		}
	}
	p.add(t)
	return nil
}

// tabulate gives a task a table.
func (p *Plan) tabulate(t *task.Task, table []byte) error {
	if len(table) != coeff.TableBytes {
		return p.Layer.Wrong("a table of %v has %d bytes, want %d", p.Layer.Op, len(table), coeff.TableBytes)
	}
	t.Lookup(p.Constants.PlaceTable(table, t.TableLanes()), table)
	return nil
}

// absolute is one planar task (inferred).
func (p *Plan) absolute() error {
	l := p.Layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	x, y := p.input("x", l.In), p.output("y", l.In)
	return p.alone(task.Planar{Form: regs.FormConstant, In: in, Absolute: true}.Task(), in, x, y)
}

// eachRows calls f with runs of rows whose n tiles fit the L2 together, for each element
// of the batch.
func (p *Plan) eachRows(x, y task.Memory, n int, f func(in, out task.View)) error {
	s := p.Layer.In
	return p.eachElement(task.ViewOf(x, s), task.ViewOf(y, s), func(in, out task.View) error {
		row := task.Packed(in.S).Row + 0x100
		rows := min(in.S.Height, p.Layer.LargestTile()/(n*row))
		if rows == 0 {
			return layer.Within("bytes of a row in the L2", n*row, p.Layer.LargestTile(), "split the width or the channels until it is at most %d")
		}
		for first := 0; first < in.S.Height; first += rows {
			m := min(rows, in.S.Height-first)
			f(in.Run(first, m), out.Run(first, m))
		}
		return nil
	})
}

// scaledTable multiplies a table's result, which stays in the L2, by a constant (the
// compiler's for tensors beyond the L2, where the two run side by side: 1/1).
func (p *Plan) scaledTable(factor uint16) error {
	table := p.Weights.Table
	return p.twoTasks(func(in regs.Shape) (*task.Task, error) {
		t := pass.Activation(p.Layer.Op, in, 0).Task()
		return t, p.tabulate(t, table)
	}, func(in regs.Shape, _ *task.Task) *task.Task {
		return task.Planar{Form: regs.FormConstant, In: in, Scale: task.By(factor)}.Task()
	})
}

// passes reports whether the layer's tasks pass tensors on as the compiler of 2023 does.
func passes(l *layer.Layer) bool {
	return l.In.N == 1 && beyondL2(l, task.ViewOf(task.Memory{}, l.In).S)
}

// tablePieces is a table and an operation with a constant behind it.
func (p *Plan) tablePieces(then layer.Layer, constant uint16) error {
	s := p.Layer.In
	x, y, between := p.input("x", s), p.output("y", s), p.intermediate(s)
	then.In = s
	return p.pieces(
		p.lookedUp(p.Weights.Table, s, x, between),
		piece{then, &layer.Weights{Second: []float16.Float16{float16.Frombits(constant)}}, ports{"x": between, "y": y}},
	)
}

// OddSigmoid reports whether the layer is a SiLU that the compiler of 2023 makes of three
// tasks, x * (table(x) + 1/2), whose table is that of sigmoid(x) - 1/2 (1/1).
func OddSigmoid(l *layer.Layer) bool {
	return l.Op == layer.SiLU && passes(l)
}

// sigmoidProduct is SiLU by the table of sigmoid(x) - 1/2.
func (p *Plan) sigmoidProduct() error {
	s := p.Layer.In
	x, y, sigmoid := p.input("x", s), p.output("y", s), p.intermediate(s)
	odd := p.intermediate(s)
	return p.pieces(
		p.lookedUp(p.Weights.Table, s, x, odd),
		piece{layer.Layer{Op: layer.Add, In: s, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{pass.HalfHalf}}, ports{"x": odd, "y": sigmoid}},
		piece{layer.Binary(layer.Mul, s, s), &layer.Weights{}, ports{"x": x, "z": sigmoid, "y": y}},
	)
}

// productOfTable multiplies x by a table's result.
func (p *Plan) productOfTable() error {
	l := p.Layer
	x, y := p.input("x", l.In), p.output("y", l.In)
	s := l.In
	inner := p.intermediate(s)
	return p.pieces(
		piece{layer.Layer{Op: layer.HardSigmoid, In: s}, p.Weights, ports{"x": x, "y": inner}},
		piece{layer.Binary(layer.Mul, s, s), &layer.Weights{}, ports{"x": x, "z": inner, "y": y}},
	)
}

// twoTasks passes x through a task of the MAC engines into the L2 and a planar task from
// there.
func (p *Plan) twoTasks(first func(regs.Shape) (*task.Task, error), second func(regs.Shape, *task.Task) *task.Task) error {
	l := p.Layer
	var failed error
	x, y := p.input("x", l.In), p.output("y", l.In)
	err := p.eachRows(x, y, 2, func(in, out task.View) {
		t, err := first(in.S)
		if err != nil {
			failed = err
			return
		}
		at := t.ResultTile(in.S)
		bytes := at.Row * in.S.Height
		t.Source1(in.M, t.SourceTile().Moved(layer.RoundUp(bytes, 64)), false)
		kept := t.Leaves(at, bytes)
		p.add(t)
		u := second(in.S, t)
		u.Reads(kept, at)
		u.Writes(out.M, bytes)
		p.add(u)
	})
	if failed != nil {
		return failed
	}
	return err
}

// power multiplies x by itself.
func (p *Plan) power() error {
	l := p.Layer
	x, y := p.input("x", l.In), p.output("y", l.In)
	square := layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Itself, SecondShape: l.In, Release: l.Release}
	if l.Op == layer.Square {
		return p.pieces(piece{square, &layer.Weights{}, ports{"x": x, "y": y}})
	}
	between := p.intermediate(l.In)
	return p.pieces(
		piece{square, &layer.Weights{}, ports{"x": x, "y": between}},
		piece{layer.Binary(layer.Mul, l.In, l.In), &layer.Weights{}, ports{"x": x, "z": between, "y": y}},
	)
}

// sumOfTables adds two functions of x: atan near and far, or the integer part and what a
// fraction above or below 0 adds (the compiler's three and four tasks: 2/2).
func (p *Plan) sumOfTables() error {
	l, w := p.Layer, p.Weights
	if len(w.Tables) != l.Op.Tables()-1 {
		return l.Wrong("%d tables, want %d", 1+len(w.Tables), l.Op.Tables())
	}
	if passes(p.Layer) {
		// The order of the constants and of the tasks (1/1 each).
		order := []int{1, 0}
		if l.Op != layer.Atan {
			order = []int{1, 0, 2}
		}
		for _, i := range order {
			p.Constants.PlaceTable(append([][]byte{w.Table}, w.Tables...)[i], min(task.Engines, l.In.C))
		}
	}
	x, y := p.input("x", l.In), p.output("y", l.In)
	first, second := p.intermediate(l.In), p.intermediate(l.In)
	lookup := func(t []byte, from, to task.Memory) piece { return p.lookedUp(t, l.In, from, to) }
	sum := piece{layer.Binary(layer.Add, l.In, l.In), &layer.Weights{}, ports{"x": first, "z": second, "y": y}}
	if l.Op == layer.Atan {
		return p.pieces(lookup(w.Table, x, first), lookup(w.Tables[0], x, second), sum)
	}
	fraction := p.intermediate(l.In)
	if passes(p.Layer) {
		return p.pieces(lookup(w.Tables[0], x, fraction), lookup(w.Tables[1], fraction, second), lookup(w.Table, x, first), sum)
	}
	return p.pieces(lookup(w.Table, x, first), lookup(w.Tables[0], x, fraction), lookup(w.Tables[1], fraction, second), sum)
}

// wave is the sine of the turns' fraction: x/2pi, a quarter more for the cosine.
func (p *Plan) wave() error {
	l, w := p.Layer, p.Weights
	if len(w.Tables) != 1 {
		return l.Wrong("%d tables, want 2", 1+len(w.Tables))
	}
	x, y := p.input("x", l.In), p.output("y", l.In)
	turns, fraction := p.intermediate(l.In), p.intermediate(l.In)
	const turn = 0x3118 // 1/2pi in fp16
	list := []piece{{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{turn}}, ports{"x": x, "y": turns}}}
	from := turns
	if l.Op == layer.Cos {
		shifted := p.intermediate(l.In)
		list = append(list, piece{layer.Layer{Op: layer.Add, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{0x3400}}, ports{"x": turns, "y": shifted}})
		from = shifted
	}
	return p.pieces(append(list,
		p.lookedUp(w.Table, l.In, from, fraction),
		p.lookedUp(w.Tables[0], l.In, fraction, y),
	)...)
}

// parametric is x above 0 and its channel's slope times x below: relu(x) + slope * min(x, 0),
// the minimum as -relu(-x).
func (p *Plan) parametric() error {
	l := p.Layer
	var slopes []float16.Float16
	for _, v := range p.Weights.Second {
		slopes = append(slopes, v^0x8000)
	}
	x, y := p.input("x", l.In), p.output("y", l.In)
	negative, below, sloped, above := p.intermediate(l.In), p.intermediate(l.In), p.intermediate(l.In), p.intermediate(l.In)
	return p.pieces(
		piece{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Scalar}, &layer.Weights{Second: []float16.Float16{0xbc00}}, ports{"x": x, "y": negative}},
		piece{layer.Unary(layer.ReLU, l.In), &layer.Weights{}, ports{"x": negative, "y": below}},
		piece{layer.Layer{Op: layer.Mul, In: l.In, Second: layer.Constant}, &layer.Weights{Second: slopes}, ports{"x": below, "y": sloped}},
		piece{layer.Unary(layer.ReLU, l.In), &layer.Weights{}, ports{"x": x, "y": above}},
		piece{layer.Binary(layer.Add, l.In, l.In), &layer.Weights{}, ports{"x": above, "z": sloped, "y": y}},
	)
}

// negation is a table over 8-bit elements, which are moved as fp16 ones of half as many
// columns (1/1), so the ports have that shape.
func (p *Plan) negation() error {
	l := p.Layer
	in := regs.Shape{Groups: l.In.N, Channels: l.In.C, Height: l.In.H, Width: l.In.W}
	halves := layer.Shape{N: l.In.N, C: l.In.C, H: l.In.H, W: (l.In.W + 1) / 2}
	x, y := p.input("x", halves), p.output("y", halves)
	t := pass.Activation(l.Op, in, 0).Task()
	t.EightBit(halves)
	at := t.ByteTile(halves)
	t.Source1(x, at, false)
	t.Writes(y, at.Row*in.Height)
	t.MovesBytes()
	if err := layer.Within("bytes of a tile in the L2", at.Row*in.Height, p.Layer.LargestTile(), "split the height until it is at most %d"); err != nil {
		return err
	}
	if err := p.tabulate(t, p.Weights.Table); err != nil {
		return err
	}
	p.add(t)
	return nil
}

// thenActivation is an operation and an activation by a task of its own, see followed.
func (p *Plan) thenActivation() error {
	l, w := *p.Layer, *p.Weights
	l.Activation = 0
	if l.ByTable() && p.Layer.Tabulated() {
		w.Table = w.Inner
	}
	names := map[string]layer.Shape{"x": l.In}
	if l.Second == layer.Runtime && l.Op != layer.Tile {
		names["z"] = l.SecondShape
	}
	to := ports{"x": p.input("x", l.In), "y": p.intermediate(l.Out())}
	y := p.output("y", l.Out())
	if s, ok := names["z"]; ok {
		to["z"] = p.port("z", loader.Input, task.Bar6, s, task.Surface(task.Bar6, s))
	}
	act := layer.Layer{Op: p.Layer.Activation, In: l.Out(), Epsilon: l.Epsilon, Alpha: l.Alpha, Low: l.Low, High: l.High}
	return p.pieces(
		piece{l, &w, to},
		piece{act, &layer.Weights{Table: p.Weights.Table, Tables: p.Weights.Tables}, ports{"x": to["y"], "y": y}},
	)
}
