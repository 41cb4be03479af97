package arrange

import (
	"anesim/loader/lower/family"
	"anesim/loader/lower/join"
	"fmt"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// A product with constants turns its rows to columns before the engines take them, and turns
// its result back. Attention splits the columns of several products of one tensor into heads,
// some of them transposed:
//
//	x --+-- q --> heads          x -- transpose --+-- q --> heads
//	    +-- k --> transpose          (once)       +-- k: a 1x1 convolution, whose result is
//	    +-- v --> heads                           |      transposed as it leaves the engines
//	                                              +-- v --> heads
//
// Products whose results go to transposes alone are no part of a chain of rows, which shares
// columns by itself (see package lower). That they share them all the same is inferred: the
// compiler's chains are of single heads, and prepare columns once for all that read them.

// ShareColumns has products of one tensor that end in transposes read it transposed, once for
// all. It is for networks whose transposes have been found.
func ShareColumns(n *list.Network) {
	s := findSharing(n)
	for i := range n.Layers {
		s.share(i)
	}
	if len(s.first) == 0 {
		return
	}
	var layers []list.Layer
	for i, l := range n.Layers {
		if s.gone[i] {
			continue
		}
		if t, ok := s.first[i]; ok {
			layers = append(layers, t)
		}
		if from, ok := s.columns[i]; ok {
			l.Inputs = []string{from}
			if at, ok := s.behind[i]; ok {
				l = asConvolution(&l, &n.Layers[at])
			} else {
				l.Lower.TransposeX = true
			}
		}
		layers = append(layers, l)
	}
	n.Layers = slices.Clip(layers)
}

// A sharing is what becomes of a network's products: nothing, columns of a shared tensor, or
// those and a transposed result. Layers are counted as in the network.
type sharing struct {
	n       *list.Network
	readers map[string][]int   // products by the tensor that they could share
	behind  map[int]int        // the transpose that makes rows of a product's result
	columns map[int]string     // what products read
	first   map[int]list.Layer // transposes ahead of products
	gone    map[int]bool       // transposes that products do
}

// findSharing finds the products of a network that could share columns.
func findSharing(n *list.Network) *sharing {
	s := &sharing{
		n: n, readers: map[string][]int{}, behind: map[int]int{}, columns: map[int]string{}, first: map[int]list.Layer{}, gone: map[int]bool{},
	}
	readers := map[string][]int{}
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			readers[in] = append(readers[in], i)
		}
	}
	results := map[string]bool{}
	for _, out := range n.Outputs {
		results[out] = true
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		next := readers[l.Output]
		if !sharesColumns(l) || results[l.Output] || len(next) == 0 ||
			slices.ContainsFunc(next, func(k int) bool { return !isTranspose(&n.Layers[k]) }) {
			continue
		}
		s.readers[l.Inputs[0]] = append(s.readers[l.Inputs[0]], i)
		if len(next) == 1 && turnsRows(&n.Layers[next[0]], l.Out) {
			s.behind[i] = next[0]
		}
	}
	return s
}

// share has a product and those after it that read the same tensor share its columns, where
// that saves tasks.
func (s *sharing) share(i int) {
	x := &s.n.Layers[i]
	if !sharesColumns(x) {
		return
	}
	name := x.Inputs[0]
	all := s.readers[name]
	if len(all) == 0 || all[0] != i {
		return
	}
	all = slices.DeleteFunc(all, func(k int) bool { return s.n.Layers[k].Lower.In != x.Lower.In })
	saved := len(all) - 1
	for _, k := range all {
		if _, ok := s.behind[k]; ok {
			saved++
		}
	}
	if saved < 1 {
		return
	}
	t := layer.Unary(layer.Transpose, x.Lower.In)
	t.Order = [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}
	if _, err := join.NewPart(t, layer.Weights{}); err != nil {
		return
	}
	turn := list.Layer{
		Name: x.Name + "/columns", Op: "Transpose", Inputs: []string{name}, Output: fmt.Sprintf("%s in columns", name),
		Lower: t, Out: t.Out(), Node: x.Node, Line: x.Line,
	}
	s.first[i] = turn
	for _, k := range all {
		s.columns[k] = turn.Output
		if at, ok := s.behind[k]; ok {
			s.gone[at] = true
		}
	}
}

// sharesColumns reports whether a layer is a product of one matrix with constants that can
// read it transposed.
func sharesColumns(l *list.Layer) bool {
	x := &l.Lower
	if l.Reason != "" || len(l.Inputs) != 1 || x.Op != layer.MatMul && x.Op != layer.Linear || x.Second != layer.Constant ||
		x.TransposeX || x.In.N != 1 || x.In.C != 1 {
		return false
	}
	return x.In.H > 1 && family.CanReadColumns(x)
}

// turnsRows reports whether a layer, which is a transpose, makes rows of a matrix's columns.
func turnsRows(l *list.Layer, s layer.Shape) bool {
	return l.Lower.In == s && s.N == 1 && s.C == 1 && l.Lower.Order[2] == layer.AxisH
}

// asConvolution is a product that reads columns, and whose result is transposed next: its
// columns are channels of pixels.
func asConvolution(l, next *list.Layer) list.Layer {
	x, c := l.Lower, *l
	c.Lower = layer.Conv(layer.Shape{N: 1, C: x.In.W, H: 1, W: x.In.H}, x.Columns, layer.Valid(1, 1))
	c.Lower.Bias, c.Lower.Factor = x.Bias, x.Factor
	c.Lower.Activation, c.Lower.Alpha, c.Lower.Low, c.Lower.High = x.Activation, x.Alpha, x.Low, x.High
	c.Out = c.Lower.Out()
	c.Folded = slices.Clone(l.Folded)
	if f := l.Weights.Filter; f != nil && x.Op == layer.MatMul {
		c.Weights.Filter = nil
		for o := range x.Columns {
			for k := range x.In.W {
				c.Weights.Filter = append(c.Weights.Filter, f[k*x.Columns+o])
			}
		}
	}
	c.Takes(next)
	return c
}
