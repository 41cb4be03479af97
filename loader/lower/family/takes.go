package family

import (
	"anesim/loader/layer"
)

// A Taken is what the tasks of a layer do with its result before it leaves them.
type Taken struct {
	ReLU   bool
	Table  bool // one of [layer.Op.Rides], ahead of the coefficients of every lane
	Bias   bool // an addend for each output channel, behind the factor
	Factor bool
}

// taken says it of each operation. The planar engine has a rectifier and no table; behind the
// multipliers stand a factor, an addend and one of both.
var taken = map[layer.Op]Taken{
	layer.Convolution: {ReLU: true, Table: true, Bias: true, Factor: true},
	layer.MatMul:      {ReLU: true, Table: true, Bias: true, Factor: true},
	layer.Linear:      {ReLU: true, Table: true, Bias: true, Factor: true},
	layer.Add:         {ReLU: true},
	layer.Sub:         {ReLU: true},
	layer.Mul:         {ReLU: true},
	layer.Max:         {ReLU: true},
	layer.Min:         {ReLU: true},
	layer.RealDiv:     {ReLU: true},
	layer.Average:     {ReLU: true},
	layer.Tile:        {ReLU: true},
}

// Takes says what the layer's tasks do with its result beside what they do already, in no more
// tasks, which is nothing behind an activation.
func Takes(l *layer.Layer, w *layer.Weights) Taken {
	t := taken[l.Op]
	switch {
	case l.Activation != 0:
		return Taken{}
	case l.UsesOpTable():
		t.ReLU = l.Op == layer.RealDiv // the product with a reciprocal
	case l.Op == layer.MatMul && l.Second != layer.Constant:
		t.Bias, t.Table = false, false // its coefficients are made while it runs
	}
	if t.Table {
		in := *l // lowering may widen its window
		in.Window.Sy, in.Window.Sx = nearStride(in.Window.Sy), nearStride(in.Window.Sx)
		j := job{layer: &in, weights: w}
		widenWindow(j)
		t.Table = holdsTable(j)
	}
	return t
}
