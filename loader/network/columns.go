package network

import (
	"fmt"
	"slices"

	"anesim/loader/layer"
	"anesim/loader/lower/family"
	"anesim/loader/lower/join"
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

// shareColumns has products of one tensor that end in transposes read it transposed, once for
// all. It is for networks whose transposes have been found.
func (n *Network) shareColumns() {
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
	// What becomes of a product: nothing, columns of a shared tensor, or those and a transposed
	// result.
	shared, behind := map[string][]int{}, map[int]int{}
	for i := range n.Layers {
		l := &n.Layers[i]
		if !l.sharesColumns() || results[l.Output] || len(readers[l.Output]) == 0 {
			continue
		}
		turned := true
		for _, k := range readers[l.Output] {
			turned = turned && n.Layers[k].transposes()
		}
		if !turned {
			continue
		}
		shared[l.Inputs[0]] = append(shared[l.Inputs[0]], i)
		if list := readers[l.Output]; len(list) == 1 && n.Layers[list[0]].turnsRows(l.Out) {
			behind[i] = list[0]
		}
	}
	columns, gone := map[int]string{}, map[int]bool{}
	first := map[int]Layer{} // transposes ahead of layers
	for i := range n.Layers {
		name := ""
		if l := &n.Layers[i]; l.sharesColumns() {
			name = l.Inputs[0]
		}
		list := shared[name]
		if len(list) == 0 || list[0] != i {
			continue
		}
		list = slices.DeleteFunc(list, func(k int) bool { return n.Layers[k].Lower.In != n.Layers[i].Lower.In })
		saved := len(list) - 1
		for _, k := range list {
			if _, ok := behind[k]; ok {
				saved++
			}
		}
		if saved < 1 {
			continue
		}
		x := &n.Layers[i]
		t := layer.Unary(layer.Transpose, x.Lower.In)
		t.Order = [3]layer.Axes{layer.AxisC, layer.AxisW, layer.AxisH}
		turn := Layer{
			Name: x.Name + "/columns", Op: "Transpose", Inputs: []string{name}, Output: fmt.Sprintf("%s in columns", name),
			Lower: t, Out: t.Out(), Node: x.Node, Line: x.Line,
		}
		if _, err := join.NewPart(t, layer.Weights{}); err != nil {
			continue
		}
		first[i] = turn
		for _, k := range list {
			columns[k] = turn.Output
			if at, ok := behind[k]; ok {
				gone[at] = true
			}
		}
	}
	if len(first) == 0 {
		return
	}
	var layers []Layer
	for i, l := range n.Layers {
		if gone[i] {
			continue
		}
		if t, ok := first[i]; ok {
			layers = append(layers, t)
		}
		if from, ok := columns[i]; ok {
			l.Inputs = []string{from}
			if at, ok := behind[i]; ok {
				l = l.asConvolution(&n.Layers[at])
			} else {
				l.Lower.TransposeX = true
			}
		}
		layers = append(layers, l)
	}
	n.Layers = slices.Clip(layers)
}

// sharesColumns reports whether a layer is a product of one matrix with constants that can
// read it transposed.
func (l *Layer) sharesColumns() bool {
	x := &l.Lower
	if l.Reason != "" || len(l.Inputs) != 1 || x.Op != layer.MatMul && x.Op != layer.Linear || x.Second != layer.Constant ||
		x.TransposeX || x.Activation != 0 || x.In.N != 1 || x.In.C != 1 {
		return false
	}
	return x.In.H > 1 && family.TakesColumns(x.In.H, x.In.W)
}

// turnsRows reports whether a layer, which is a transpose, makes rows of a matrix's columns.
func (l *Layer) turnsRows(s layer.Shape) bool {
	return l.Lower.In == s && s.N == 1 && s.C == 1 && l.Lower.Order[2] == layer.AxisH
}

// asConvolution is a product that reads columns, and whose result is transposed next: its
// columns are channels of pixels.
func (l *Layer) asConvolution(next *Layer) Layer {
	x, c := l.Lower, *l
	c.Lower = layer.Conv(layer.Shape{N: 1, C: x.In.W, H: 1, W: x.In.H}, x.Columns, layer.Valid(1, 1))
	c.Lower.Bias = x.Bias
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
	c.takes(next)
	return c
}
