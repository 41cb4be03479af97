package family

import (
	"anesim/loader/layer"
)

// A Fusible lists the operations that the tasks of a layer can apply to their own result. If one of
// them is the next layer, that layer needs no task of its own.
type Fusible struct {
	ReLU   bool
	Table  bool // an activation with a single table, which precedes the weights of every lane
	Bias   bool // an addend for each output channel, after the factor
	Factor bool
}

// fusible holds the operations that each kind of layer can fuse. The planar engine has a ReLU
// but no table. The multipliers are followed by a factor, an addend, and a ReLU or a table.
var fusible = map[layer.Op]Fusible{
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

// CanFuse returns the operations that the tasks of layer l, with weights w, can still apply to
// their result. There are none if l has an activation, which always comes last.
func CanFuse(l *layer.Layer, w *layer.Weights) Fusible {
	t := fusible[l.Op]
	switch {
	case l.Activation != 0:
		return Fusible{}
	case l.UsesOpTable():
		t.ReLU = l.Op == layer.RealDiv // the multiplication by a reciprocal
	case l.Op == layer.MatMul && l.Second != layer.Constant:
		t.Bias, t.Table = false, false // its weights are only known at run time
	}
	if t.Table {
		in := *l
		in.Window.Sy, in.Window.Sx = nativeStride(in.Window.Sy), nativeStride(in.Window.Sx)
		t.Table = hasRoomForTable(job{layer: &in, weights: w})
	}
	return t
}
