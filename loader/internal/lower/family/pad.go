package family

import (
	"anesim/hw/regs"
	"anesim/loader/internal/lower/coeff"
	"anesim/loader/internal/lower/place"
	"anesim/loader/internal/lower/task"
	"anesim/loader/layer"
)

// lowerPad appends the tasks that add rows and columns around a tensor. Copies and broadcasts write
// the rows to their places in memory. Columns are padded in the same way after they have been
// transposed to rows. (Inferred: programs show no padding other than the zeros of a convolution.)
func lowerPad(o *Output, j job) error {
	l := j.layer
	w, out := &l.Window, l.Out()
	x, y := o.placeInput(j, "x", l.In), o.placeOutput(j, "y", out)
	if w.Px+w.Qx == 0 {
		return padRows(o, l, l.In, w.Py, w.Qy, x, y)
	}
	high := l.In
	if w.Py+w.Qy > 0 {
		high.H = out.H
		rows := o.allocateTensor(high)
		if err := padRows(o, l, l.In, w.Py, w.Qy, x, rows); err != nil {
			return err
		}
		x = rows
	}
	transposed := layer.Shape{N: high.N, C: high.C, H: high.W, W: high.H}
	wide := transposed
	wide.H = out.W
	columns, padded := o.allocateTensor(transposed), o.allocateTensor(wide)
	if err := transposeRows(o, l, high, x, columns); err != nil {
		return err
	}
	if err := padRows(o, l, transposed, w.Px, w.Qx, columns, padded); err != nil {
		return err
	}
	return transposeRows(o, l, wide, padded, y)
}

// padRows appends the tasks that copy x, of shape s, to y, and fill the before rows above and the
// after rows below it in y.
func padRows(o *Output, l *layer.Layer, s layer.Shape, before, after int, x, y place.Memory) error {
	move := func(rows, from, to int) sublayer {
		part := s
		part.H = rows
		a, b := x, y
		a.Base += from * x.Row
		b.Base += to * y.Row
		return sublayer{layer.Layer{Op: layer.Slice, In: part, Size: part}, &layer.Weights{}, ports{"x": a, "y": b}}
	}
	list := []sublayer{move(s.H, 0, before)}
	if l.Fill == layer.FillValue {
		one := layer.Shape{N: 1, C: 1, H: 1, W: 1}
		value := place.Surface(regs.BARWeights, one)
		o.Constants.Pad(64)
		// One constant is repeated over all new rows by the strides of a tile layer: no rows of constants
		// are stored.
		value.Base = o.Constants.Bytes
		coeff.PutHalf(o.Constants.AddZeros(value.Depth), task.Half(l.Value))
		for _, f := range [...]struct{ rows, to int }{{before, 0}, {after, before + s.H}} {
			if f.rows > 0 {
				to := y
				to.Base += f.to * y.Row
				fill := layer.Layer{Op: layer.Tile, In: one, Reps: layer.Shape{N: s.N, C: s.C, H: f.rows, W: s.W}}
				list = append(list, sublayer{fill, &layer.Weights{}, ports{"x": value, "y": to}})
			}
		}
		return lowerSublayers(o, l, list...)
	}
	// Each new row is a copy of its own. A reflection has no single stride, because its rows run
	// backwards; repeated edge rows share the loop.
	for i := 1; i <= before; i++ {
		from := 0
		if l.Fill == layer.FillReflect {
			from = i
		}
		list = append(list, move(1, from, before-i))
	}
	for i := 1; i <= after; i++ {
		from := s.H - 1
		if l.Fill == layer.FillReflect {
			from -= i
		}
		list = append(list, move(1, from, before+s.H-1+i))
	}
	return lowerSublayers(o, l, list...)
}
