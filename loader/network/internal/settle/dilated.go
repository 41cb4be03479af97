package settle

import (
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// Limits of the engine's convolutions: the window, with the gaps between its taps, and the weights of
// an output channel. layer.MaxKernel and layer.MaxLane have the evidence.
const (
	maxWindow       = 31
	maxChannelTerms = 1 << 15
)

// isFarDilation reports whether n is a convolution of an image or a row whose taps are too far apart for a window of
// the engine, as those of a segmenter's pyramid: 18, 24 or 36 pixels.
func isFarDilation(n *graph.Node) bool {
	if n.Op != "Conv" || n.Const(1) == nil || n.Const(1).Absent() || n.Int("group", 1) != 1 {
		return false
	}
	f := n.In[1].Dims
	if rank := len(n.In[0].Dims); rank != len(f) || rank != 3 && rank != 4 || graph.Elements(f[1:]) > maxChannelTerms {
		return false
	}
	dilations, given, err := n.List("dilations", -1)
	far := false
	for i, d := range dilations {
		far = far || given && len(dilations) == len(f)-2 && d > 1 && (f[2+i]-1)*d >= maxWindow
	}
	return err == nil && far
}

// expandFarDilation rewrites such a convolution as one with a window of a single pixel: its channels are
// those that each tap sees, one tap after the other. A tap that sees nothing but padding is left out; at
// 36 pixels in an image of 33, only the center is left.
func expandFarDilation(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	f, err := e.Dims(1)
	if err != nil {
		return err
	}
	if _, err := ops.Infer(e.Node); err != nil {
		return err
	}
	w, err := ops.WindowOf(e.Node, d[2:], f[2:])
	if err != nil {
		return err
	}
	taps := graph.Elements(f[2:])
	if err := e.budget.Spend(tapBytes, taps); err != nil {
		return err
	}
	var padded *graph.Value
	var parts []*graph.Value
	var kept []int
	for t := range taps {
		sees, whole := findTapCoverage(w, d[2:], t)
		switch {
		case !sees:
			continue
		case whole:
			parts = append(parts, e.inputTensor(0))
		default:
			if padded == nil {
				if padded, err = e.emitPadding(e.inputTensor(0), w.Before, w.After); err != nil {
					return err
				}
			}
			part, err := e.emitTap(padded, w, t)
			if err != nil {
				return err
			}
			parts = append(parts, part)
		}
		kept = append(kept, t)
	}
	if len(kept) == 0 { // all of the result is the bias
		kept, parts = []int{0}, nil
		part, err := e.emitPadding(e.inputTensor(0), w.Before, w.After)
		if err == nil {
			part, err = e.emitTap(part, w, 0)
		}
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	x := parts[0]
	if len(parts) > 1 {
		if x, err = e.emitNode(nil, "Concat", attributes{"axis": newIntAttr(1)}, parts...); err != nil {
			return err
		}
	}
	weights, err := e.emitReshape(nil, e.inputTensor(1), f[0], f[1], taps)
	if err != nil {
		return err
	}
	weights, err = e.emitNodeChain(nil, weights, step{"Gather", attributes{"axis": newIntAttr(2)}, []*graph.Value{nil, e.newIntConstant(kept...)}},
		step{"Transpose", attributes{"perm": newIntsAttr(0, 2, 1)}, nil}, step{"Reshape", nil, []*graph.Value{nil, e.newIntConstant(append([]int{f[0], len(kept) * f[1]}, slices.Repeat([]int{1}, len(f)-2)...)...)}})
	if err != nil {
		return err
	}
	in := []*graph.Value{x, weights}
	if e.Given(2) {
		in = append(in, e.inputTensor(2))
	}
	_, err = e.emitNode(e.outputTensor(0), "Conv", nil, in...)
	return err
}

// findTapCoverage reports whether tap t of window w sees any element of an image of the given extents, and
// whether it sees all of them, each at its own place in the result.
func findTapCoverage(w ops.Window, extents []int, t int) (any, whole bool) {
	any, whole = true, true
	for i := len(extents) - 1; i >= 0; i-- {
		begin := t%w.Taps[i]*w.Dilations[i] - w.Before[i]
		end := begin + (w.Out[i]-1)*w.Strides[i] + 1
		any = any && begin < extents[i] && end > 0
		whole = whole && begin == 0 && end == extents[i] && w.Strides[i] == 1
		t /= w.Taps[i]
	}
	return any, whole
}
