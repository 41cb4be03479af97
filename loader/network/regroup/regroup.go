package regroup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/arrange"
	"anesim/loader/network/list"
)

// A Group has the multiply-accumulates of layers in other layers: several merged into one,
// or one split.
//
//	x --+-- a --> y       x -- a+b --> slice --> y          side by side
//	    +-- b --> z                  \-> slice --> z
//
//	x -- a -- b --> z     x -- a*b --> z                    one behind the other, 1x1
//
//	x -- a --> y          x --+-- a/1 --> concat --> y      split
//	                          +-- a/2 --/
type Group struct {
	Layers []int // two or more, in the network's order, or one
	Parts  int   // that one is split in at most
}

// maxComposed bounds the multiply-accumulates that the product of two layers' weights takes.
const maxComposed = 1 << 31

// Beside is the same of layers of one input that can be one layer of more output channels: a
// word of that input and of all of them but the channels. It is "" of others.
func Beside(l *list.Layer) string {
	if !multiplies(l) {
		return ""
	}
	x := l.Lower
	x.Cout, x.Columns, x.Bias = 0, 0, false
	return fmt.Sprintf("%q %+v", l.Inputs[0], x)
}

// MergesBehind reports whether layer b, which alone reads what a makes, can be one with it:
// there is no other operation between, one of them looks at single pixels, and no padding
// stands where a bias would.
func MergesBehind(a, b *list.Layer) bool {
	x, y := &a.Lower, &b.Lower
	if !multiplies(a) || !multiplies(b) || x.Activation != 0 || x.Factor != 0 || y.Factor != 0 || a.Output != b.Inputs[0] || x.Op == layer.Convolution != (y.Op == layer.Convolution) {
		return false
	}
	if x.Op != layer.Convolution {
		return a.Out == y.In
	}
	w := y.Window
	padded := w.Py|w.Px|w.Qy|w.Qx != 0
	return a.Out == y.In && (single(y) || single(x) && !(x.Bias && padded))
}

// Splits reports whether a layer is a convolution whose output channels can be made in parts.
func Splits(l *list.Layer) bool {
	return multiplies(l) && l.Lower.Op == layer.Convolution && l.Lower.In.N == 1
}

// multiplies reports whether a layer is a dense convolution or product with constant weights.
func multiplies(l *list.Layer) bool {
	x := &l.Lower
	if l.Reason != "" || len(l.Inputs) != 1 || l.Average || x.TransposeX || x.TransposeY {
		return false
	}
	switch x.Op {
	case layer.Convolution:
		return x.Groups <= 1
	case layer.MatMul, layer.Linear:
		return x.Second == layer.Constant
	}
	return false
}

// Apply is the network with layers merged and split. Weights are those of the layers where
// the file has them and they are asked for. The layers must be such as [Beside],
// [MergesBehind] and [Splits] report, each in one place of the list.
func Apply(n *list.Network, groups []Group, weights bool) (*list.Network, error) {
	c := *n
	c.Layers = nil
	at := make(map[int]*Group, len(groups))
	merged := map[int]bool{}
	for i := range groups {
		at[groups[i].Layers[0]] = &groups[i]
		for _, k := range groups[i].Layers[1:] {
			merged[k] = true
		}
	}
	for i := range n.Layers {
		r := at[i]
		switch {
		case merged[i]:
		case r == nil:
			c.Layers = append(c.Layers, n.Layers[i])
		case len(r.Layers) == 1:
			c.Layers = append(c.Layers, parted(&n.Layers[i], r.Parts, weights)...)
		case n.Layers[r.Layers[1]].Inputs[0] == n.Layers[i].Output:
			l, err := composed(&n.Layers[i], &n.Layers[r.Layers[1]], weights)
			if err != nil {
				return nil, err
			}
			c.Layers = append(c.Layers, l)
		default:
			var all []*list.Layer
			for _, k := range r.Layers {
				all = append(all, &n.Layers[k])
			}
			c.Layers = append(c.Layers, beside(all, weights)...)
		}
	}
	return arrange.Rearranged(&c), nil
}

// columnsOut is the number of a layer's output channels, or of a product's columns.
func columnsOut(l *list.Layer) int { return max(l.Lower.Cout, l.Lower.Columns) }

// channels is the part of a layer that makes n output channels from first on.
func channels(l *list.Layer, first, n int, weights bool) list.Layer {
	x := *l
	x.Inputs, x.Folded = slices.Clone(l.Inputs), slices.Clone(l.Folded)
	if x.Lower.Op == layer.Convolution {
		x.Lower.Cout = n
	} else {
		x.Lower.Columns = n
	}
	x.Out = x.Lower.Out()
	w, all := l.Weights, columnsOut(l)
	x.Weights = w
	x.Weights.Filter, x.Weights.Bias = nil, nil
	if !weights {
		x.Weights.Form, x.Weights.Scale = layer.FormFP16, nil
		return x
	}
	if w.Bias != nil {
		x.Weights.Bias = w.Bias[first : first+n]
	}
	if len(w.Scale) == all {
		x.Weights.Scale = w.Scale[first : first+n]
	}
	if w.Filter == nil {
		return x
	}
	each := len(w.Filter) / all
	if l.Lower.Op != layer.MatMul {
		x.Weights.Filter = w.Filter[first*each : (first+n)*each]
		return x
	}
	for k := range each {
		x.Weights.Filter = append(x.Weights.Filter, w.Filter[k*all+first:][:n]...)
	}
	return x
}

// parted are parts of a convolution and their concatenation. Parts are of multiples of sixteen
// channels but for the last.
func parted(l *list.Layer, parts int, weights bool) []list.Layer {
	const group = 16
	all := l.Lower.Cout
	each := ((all+parts-1)/parts + group - 1) / group * group
	join := list.Layer{
		Name: l.Name, Op: "Concat", Output: l.Output, Out: l.Out, Node: l.Node, Line: l.Line,
		Lower: layer.Layer{Op: layer.Concat, In: l.Out},
	}
	var list []list.Layer
	for first := 0; first < all; first += each {
		x := channels(l, first, min(each, all-first), weights)
		k := len(list) + 1
		x.Name, x.Output = fmt.Sprintf("%s/%d", l.Name, k), fmt.Sprintf("%s/part %d", l.Output, k)
		join.Inputs = append(join.Inputs, x.Output)
		join.Lower.Parts = append(join.Lower.Parts, x.Lower.Cout)
		list = append(list, x)
	}
	return append(list, join)
}

// beside are layers of one input as one layer, and slices of its result.
func beside(all []*list.Layer, weights bool) []list.Layer {
	first := all[0]
	x := *first
	x.Inputs = slices.Clone(first.Inputs)
	var names []string
	columns, known := 0, weights
	x.Lower.Bias, x.Folded = false, nil
	for _, l := range all {
		names = append(names, l.Name)
		columns += columnsOut(l)
		x.Lower.Bias = x.Lower.Bias || l.Lower.Bias
		x.Folded = append(x.Folded, l.Folded...)
		known = known && l.Weights.Filter != nil && (!l.Lower.Bias || l.Weights.Bias != nil)
	}
	x.Name, x.Output = strings.Join(names, "+"), first.Output+"/merged"
	axis := &x.Lower.Columns
	if x.Lower.Op == layer.Convolution {
		axis = &x.Lower.Cout
	}
	*axis = columns
	x.Out = x.Lower.Out()
	x.Weights = joined(all, x.Lower.Bias, known)
	layers := []list.Layer{x}
	at := 0
	for _, l := range all {
		s := layer.Layer{Op: layer.Slice, In: x.Out, Size: l.Out}
		if x.Lower.Op == layer.Convolution {
			s.Begin.C = at
		} else {
			s.Begin.W = at
		}
		at += columnsOut(l)
		layers = append(layers, list.Layer{
			Name: l.Name, Op: "Slice", Inputs: []string{x.Output}, Output: l.Output, Lower: s, Out: l.Out, Node: l.Node, Line: l.Line,
		})
	}
	return layers
}

// joined are the weights of layers side by side, none where they are not known.
func joined(all []*list.Layer, bias, known bool) layer.Weights {
	w := all[0].Weights
	w.Filter, w.Bias, w.Scale = nil, nil, nil
	if !known {
		w.Form = layer.FormFP16
		return w
	}
	for _, l := range all {
		if l.Weights.Form != w.Form {
			w.Form = layer.FormFP16 // the smallest that holds all would be another's
		}
		switch n := columnsOut(l); {
		case !bias:
		case l.Lower.Bias:
			w.Bias = append(w.Bias, l.Weights.Bias...)
		default:
			w.Bias = append(w.Bias, make([]float16.Float16, n)...)
		}
		switch n := columnsOut(l); len(l.Weights.Scale) {
		case n:
			w.Scale = append(w.Scale, l.Weights.Scale...)
		case 1:
			w.Scale = append(w.Scale, slices.Repeat(l.Weights.Scale, n)...)
		}
	}
	if all[0].Lower.Op != layer.MatMul {
		for _, l := range all {
			w.Filter = append(w.Filter, l.Weights.Filter...)
		}
		return w
	}
	for k := range all[0].Lower.In.W {
		for _, l := range all {
			n := columnsOut(l)
			w.Filter = append(w.Filter, l.Weights.Filter[k*n:][:n]...)
		}
	}
	return w
}

// composed is layers one behind the other as one: its weights are the product of theirs,
// rounded to fp16 once more.
func composed(l, next *list.Layer, weights bool) (list.Layer, error) {
	x := *next
	x.Inputs = slices.Clone(l.Inputs)
	x.Name, x.Node, x.Line = l.Name, l.Node, l.Line
	x.Folded = slices.Concat(l.Folded, []string{next.Name}, next.Folded)
	x.Lower.In = l.Lower.In
	x.Lower.Bias = l.Lower.Bias || next.Lower.Bias
	if x.Lower.Op == layer.Convolution && !single(&l.Lower) {
		x.Lower.Window, x.Lower.Dilation = l.Lower.Window, l.Lower.Dilation
	}
	a, b := l.Weights, next.Weights
	x.Weights = layer.Weights{Table: b.Table, Tables: b.Tables}
	if !weights || a.Filter == nil || b.Filter == nil || l.Lower.Bias && a.Bias == nil || next.Lower.Bias && b.Bias == nil {
		return x, nil
	}
	f := weightsOf(l, next)
	if work := f.outer * f.middle * f.inner * f.taps; work > maxComposed || work < 0 {
		return x, fmt.Errorf("the product of the weights of %s and %s takes %d multiply-accumulates, at most %d are done", l.Name, next.Name, work, maxComposed)
	}
	x.Weights.Filter = f.product()
	if x.Lower.Bias {
		x.Weights.Bias = f.bias(a.Bias, b.Bias)
	}
	return x, nil
}
