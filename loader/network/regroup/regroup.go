package regroup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/internal/arrange"
	"anesim/loader/network/list"
)

// A Group describes a change to a network: two or more layers that are merged into one, or one
// layer that is split.
//
//	x --+-- a --> y       x -- a+b --> slice --> y          parallel
//	    +-- b --> z                  \-> slice --> z
//
//	x -- a -- b --> z     x -- a*b --> z                    consecutive
//
//	x -- a --> y          x --+-- a/1 --> concat --> y      split
//	                          +-- a/2 --/
type Group struct {
	Layers []int // two or more layers to merge, in the network's order, or one to split
	Parts  int   // largest number of parts of a split
}

// maxComposed is the largest number of multiply-accumulates for composing the weights of two
// layers.
const maxComposed = 1 << 31

// MergeKey returns a key for layer l. Layers with equal keys can be merged into one layer with more
// output channels. They read the same tensor, and agree in all options except the number of output
// channels and the bias. MergeKey returns "" for a layer that cannot be merged.
func MergeKey(l *list.Layer) string {
	if !isDenseProduct(l) {
		return ""
	}
	x := l.Lower
	x.Cout, x.Columns, x.Bias = 0, 0, false
	return fmt.Sprintf("%q %+v", l.Inputs[0], x)
}

// CanCompose reports whether layers a and b can be merged into one layer by composing their
// weights. The layers must be two matmuls, or two convolutions, one of them 1x1 with stride 1 and
// no padding. Layer b must read the result of a. Layer a must not have an activation, and if it has
// a bias, b must not pad its input. The caller must check that only b reads the result of a.
func CanCompose(a, b *list.Layer) bool {
	x, y := &a.Lower, &b.Lower
	if !isDenseProduct(a) || !isDenseProduct(b) || x.Activation != 0 || x.Factor != 0 || y.Factor != 0 || a.Output != b.Inputs[0] || x.Op == layer.Convolution != (y.Op == layer.Convolution) {
		return false
	}
	if x.Op != layer.Convolution {
		return a.Out == y.In
	}
	w := y.Window
	padded := w.Py|w.Px|w.Qy|w.Qx != 0
	return a.Out == y.In && (isPointwise(y) || isPointwise(x) && !(x.Bias && padded))
}

// CanSplit reports whether layer l can be split into layers with fewer output channels each. It
// must be a convolution with one group, and its input a single image.
func CanSplit(l *list.Layer) bool {
	return isDenseProduct(l) && l.Lower.Op == layer.Convolution && l.Lower.In.N == 1
}

// isDenseProduct reports whether layer l is a convolution of one group, or a matmul with constant
// weights.
func isDenseProduct(l *list.Layer) bool {
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

// Apply returns a copy of n in which the layers of each group are merged or split. The caller must
// have checked each group with [MergeKey], [CanCompose] or [CanSplit]. No layer may be in two
// groups. If weights is true, Apply computes the weights of the new layers; otherwise, they have
// none. Apply returns an error if composing weights needs more than 2^31 multiply-accumulates, or if
// weights cannot be read from their file.
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
	if weights && len(groups) > 0 {
		var err error
		if n, err = loadWeights(n, groups); err != nil {
			return nil, err
		}
	}
	for i := range n.Layers {
		r := at[i]
		switch {
		case merged[i]:
		case r == nil:
			c.Layers = append(c.Layers, n.Layers[i])
		case len(r.Layers) == 1:
			c.Layers = append(c.Layers, splitChannels(&n.Layers[i], r.Parts, weights)...)
		// A group of two is a chain if the second reads the first; layers in parallel read the same input.
		case n.Layers[r.Layers[1]].Inputs[0] == n.Layers[i].Output:
			l, err := composeLayers(&n.Layers[i], &n.Layers[r.Layers[1]], weights)
			if err != nil {
				return nil, err
			}
			c.Layers = append(c.Layers, l)
		default:
			var all []*list.Layer
			for _, k := range r.Layers {
				all = append(all, &n.Layers[k])
			}
			c.Layers = append(c.Layers, mergeParallelLayers(all, weights)...)
		}
	}
	return Rearranged(&c), nil
}

// loadWeights returns a copy of n whose layers in groups have their weights in memory.
func loadWeights(n *list.Network, groups []Group) (*list.Network, error) {
	c := *n
	c.Layers = slices.Clone(n.Layers)
	for i := range groups {
		for _, k := range groups[i].Layers {
			if err := c.Layers[k].Weights.Load(); err != nil {
				return nil, err
			}
		}
	}
	return &c, nil
}

// Rearranged returns a copy of n whose transposes suit its layers. Use it when layers of n were
// changed so that they read tensors in other shapes.
func Rearranged(n *list.Network) *list.Network { return arrange.RearrangedCopy(n) }

// countOutputChannels returns the number of output channels of a convolution, or of columns of a
// matmul.
func countOutputChannels(l *list.Layer) int { return max(l.Lower.Cout, l.Lower.Columns) }

// selectChannels returns a copy of layer l that computes only n of its output channels, starting
// with channel first. The copy has weights if weights is set.
func selectChannels(l *list.Layer, first, n int, weights bool) list.Layer {
	x := *l
	x.Inputs, x.Folded = slices.Clone(l.Inputs), slices.Clone(l.Folded)
	if x.Lower.Op == layer.Convolution {
		x.Lower.Cout = n
	} else {
		x.Lower.Columns = n
	}
	x.Out = x.Lower.Out()
	w, all := l.Weights, countOutputChannels(l)
	x.Weights = w
	x.Weights.Filter, x.Weights.Bias, x.Weights.Stored = nil, nil, nil
	if !weights {
		// Without values, an encoding could not be checked to be exact.
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
	// Output channels are the outer axis of these weights, and the inner one of a matmul's.
	if l.Lower.Op != layer.MatMul {
		x.Weights.Filter = w.Filter[first*each : (first+n)*each]
		return x
	}
	for k := range each {
		x.Weights.Filter = append(x.Weights.Filter, w.Filter[k*all+first:][:n]...)
	}
	return x
}

// splitChannels splits convolution l by output channels. It returns the parts, and the concat that
// joins their results. All parts except the last have a multiple of sixteen channels.
func splitChannels(l *list.Layer, parts int, weights bool) []list.Layer {
	const group = 16
	all := l.Lower.Cout
	each := ((all+parts-1)/parts + group - 1) / group * group
	join := list.Layer{
		Name: l.Name, Op: "Concat", Output: l.Output, Out: l.Out, Node: l.Node, Line: l.Line,
		Lower: layer.Layer{Op: layer.Concat, In: l.Out},
	}
	var list []list.Layer
	for first := 0; first < all; first += each {
		x := selectChannels(l, first, min(each, all-first), weights)
		k := len(list) + 1
		x.Name, x.Output = fmt.Sprintf("%s/%d", l.Name, k), fmt.Sprintf("%s/part %d", l.Output, k)
		join.Inputs = append(join.Inputs, x.Output)
		join.Lower.Parts = append(join.Lower.Parts, x.Lower.Cout)
		list = append(list, x)
	}
	return append(list, join)
}

// mergeParallelLayers returns one layer that computes all of the given layers, which read the same
// input, followed by slices of its result.
func mergeParallelLayers(all []*list.Layer, weights bool) []list.Layer {
	first := all[0]
	x := *first
	x.Inputs = slices.Clone(first.Inputs)
	var names []string
	columns, known := 0, weights
	x.Lower.Bias, x.Folded = false, nil
	for _, l := range all {
		names = append(names, l.Name)
		columns += countOutputChannels(l)
		x.Lower.Bias = x.Lower.Bias || l.Lower.Bias
		x.Folded = append(x.Folded, l.Folded...)
		// Weights are only complete if all are: generated ones must be those of the merged layer as a
		// whole.
		known = known && l.Weights.Filter != nil && (!l.Lower.Bias || l.Weights.Bias != nil)
	}
	x.Name, x.Output = strings.Join(names, "+"), first.Output+"/merged"
	axis := &x.Lower.Columns
	if x.Lower.Op == layer.Convolution {
		axis = &x.Lower.Cout
	}
	*axis = columns
	x.Out = x.Lower.Out()
	x.Weights = concatenateWeights(all, x.Lower.Bias, known)
	layers := []list.Layer{x}
	at := 0
	for _, l := range all {
		s := layer.Layer{Op: layer.Slice, In: x.Out, Size: l.Out}
		if x.Lower.Op == layer.Convolution {
			s.Begin.C = at
		} else {
			s.Begin.W = at
		}
		at += countOutputChannels(l)
		layers = append(layers, list.Layer{
			Name: l.Name, Op: "Slice", Inputs: []string{x.Output}, Output: l.Output, Lower: s, Out: l.Out, Node: l.Node, Line: l.Line,
		})
	}
	return layers
}

// concatenateWeights returns the weights of the layer that all given layers are merged into. If
// known is false, they have no values.
func concatenateWeights(all []*list.Layer, bias, known bool) layer.Weights {
	w := all[0].Weights
	w.Filter, w.Bias, w.Scale, w.Stored = nil, nil, nil, nil
	if !known {
		w.Form = layer.FormFP16
		return w
	}
	for _, l := range all {
		if l.Weights.Form != w.Form {
			w.Form = layer.FormFP16 // the layers differ; fp16 holds them all
		}
		switch n := countOutputChannels(l); {
		case !bias:
		case l.Lower.Bias:
			w.Bias = append(w.Bias, l.Weights.Bias...)
		default:
			w.Bias = append(w.Bias, make([]float16.Float16, n)...)
		}
		switch n := countOutputChannels(l); len(l.Weights.Scale) {
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
	// A matmul stores its weights by row, so rows of all layers alternate.
	for k := range all[0].Lower.In.W {
		for _, l := range all {
			n := countOutputChannels(l)
			w.Filter = append(w.Filter, l.Weights.Filter[k*n:][:n]...)
		}
	}
	return w
}

// composeLayers returns a layer that computes l followed by next, which must read the result of l.
// Its weights are composed of the weights of both and rounded to fp16 once more.
func composeLayers(l, next *list.Layer, weights bool) (list.Layer, error) {
	x := *next
	x.Inputs = slices.Clone(l.Inputs)
	x.Name, x.Node, x.Line = l.Name, l.Node, l.Line
	x.Folded = slices.Concat(l.Folded, []string{next.Name}, next.Folded)
	x.Lower.In = l.Lower.In
	x.Lower.Bias = l.Lower.Bias || next.Lower.Bias
	if x.Lower.Op == layer.Convolution && !isPointwise(&l.Lower) {
		x.Lower.Window, x.Lower.Dilation = l.Lower.Window, l.Lower.Dilation
	}
	a, b := l.Weights, next.Weights
	x.Weights = layer.Weights{Table: b.Table, Tables: b.Tables}
	if !weights || a.Filter == nil || b.Filter == nil || l.Lower.Bias && a.Bias == nil || next.Lower.Bias && b.Bias == nil {
		return x, nil
	}
	f := newComposition(l, next)
	if work := f.outer * f.middle * f.inner * f.taps; work > maxComposed || work < 0 {
		return x, fmt.Errorf("composing the weights of %s and %s needs %d multiply-accumulates; want at most %d", l.Name, next.Name, work, maxComposed)
	}
	x.Weights.Filter = f.composeWeights()
	if x.Lower.Bias {
		x.Weights.Bias = f.composeBias(a.Bias, b.Bias)
	}
	return x, nil
}
