package ops

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// readBlockSize returns the shape of the node's input and its attribute blocksize. The node is a
// DepthToSpace or SpaceToDepth. readBlockSize returns an error unless the input has four axes and
// the block size is in range.
func readBlockSize(n *graph.Node) (dims []int, size int, err error) {
	const most = 1 << 10
	dims, err = n.Dims(0)
	size = n.Int("blocksize", 0)
	switch {
	case err != nil:
		return nil, 0, err
	case len(dims) != 4:
		return nil, 0, fmt.Errorf("input has shape %v; want 4 axes", dims)
	case size < 1 || size > most:
		return nil, 0, fmt.Errorf("blocksize is %d; want 1 to %d", size, most)
	}
	return dims, size, nil
}

func inferDepthToSpace(n *graph.Node) ([]graph.Result, error) {
	d, b, err := readBlockSize(n)
	if err != nil {
		return nil, err
	}
	if d[1]%(b*b) != 0 {
		return nil, fmt.Errorf("%d channels are not divisible by the square of blocksize %d", d[1], b)
	}
	return newSingleResult(n, []int{d[0], d[1] / (b * b), d[2] * b, d[3] * b}), nil
}

func inferSpaceToDepth(n *graph.Node) ([]graph.Result, error) {
	d, b, err := readBlockSize(n)
	if err != nil {
		return nil, err
	}
	if d[2]%b != 0 || d[3]%b != 0 {
		return nil, fmt.Errorf("blocksize %d does not divide the height and width of shape %v", b, d)
	}
	return newSingleResult(n, []int{d[0], d[1] * b * b, d[2] / b, d[3] / b}), nil
}

// Padding returns the numbers of elements that a Pad node adds before and after each axis of its
// input, which has rank axes. A negative number removes elements. Padding returns an error if the
// numbers are invalid or are computed when the network runs.
func Padding(n *graph.Node, rank int) (before, after []int, err error) {
	pads, ok, err := n.List("pads", 1)
	if !ok && n.Attribute("paddings") != nil { // version 1
		pads, ok, err = n.List("paddings", -1)
	}
	if err != nil || !ok {
		return nil, nil, cmp.Or(err, errors.New(`"pads" is missing; want an attribute or a constant input`))
	}
	before, after = make([]int, rank), make([]int, rank)
	axes, given, err := n.List("axes", 3)
	if err != nil {
		return nil, nil, err
	}
	if !given {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	if len(pads) != 2*len(axes) {
		return nil, nil, fmt.Errorf("pads %v do not match %d axes; want two per axis", pads, len(axes))
	}
	for i, a := range axes {
		at, err := Axis(rank, a)
		if err != nil {
			return nil, nil, err
		}
		before[at], after[at] = pads[i], pads[i+len(axes)]
		if max(before[at], after[at]) > graph.MaxExtent || min(before[at], after[at]) < -graph.MaxExtent {
			return nil, nil, fmt.Errorf("pads %v are out of range; want at most %d elements per side", pads, graph.MaxExtent)
		}
	}
	return before, after, nil
}

func inferPad(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	if _, err := PaddedElements(n.Text("mode", "constant"), 1, 1, 0); err != nil {
		return nil, err
	}
	before, after, err := Padding(n, len(d))
	if err != nil {
		return nil, err
	}
	out := slices.Clone(d)
	for i := range out {
		out[i] += before[i] + after[i]
	}
	return newSingleResult(n, out), nil
}

// Scales returns the factor by which a Resize or Upsample node enlarges each axis of its input, and
// the shape of the result. d is the shape of the input. Scales returns an error if the factors or
// sizes are invalid, or if both are computed when the network runs.
func Scales(n *graph.Node, d []int) (scales []float64, out []int, err error) {
	at, sizes := 1, 3
	// Version 11 of Resize put the input roi before the scales.
	if n.Op == "Resize" && n.Opset >= 11 {
		at = 2
	}
	if a := n.Attribute("scales"); n.Op == "Upsample" && a != nil {
		for _, s := range a.Floats {
			scales = append(scales, float64(s))
		}
	} else if c := n.Const(at); c != nil && c.Elements() > 0 {
		if scales, err = c.Values(); err != nil {
			return nil, nil, err
		}
	}
	axes, given, err := n.List("axes", -1)
	if err != nil {
		return nil, nil, err
	}
	if !given {
		for i := range d {
			axes = append(axes, i)
		}
	}
	whole, policy := slices.Repeat([]float64{1}, len(d)), n.Text("keep_aspect_ratio_policy", "stretch")
	out = slices.Clone(d)
	// Sizes decide only if there are no scales; an empty tensor of scales counts as none.
	if scales == nil {
		list, ok, err := n.List("", sizes)
		if err != nil || !ok {
			return nil, nil, cmp.Or(err, errors.New(`neither "scales" nor "sizes" is a constant; want one of them`))
		}
		if len(list) != len(axes) {
			return nil, nil, fmt.Errorf("%d sizes for %d axes; want one per axis", len(list), len(axes))
		}
		var ratios []float64
		axes = slices.Clone(axes)
		for i, a := range axes {
			if axes[i], err = Axis(len(d), a); err != nil {
				return nil, nil, err
			}
			ratios = append(ratios, float64(list[i])/float64(max(1, d[axes[i]])))
		}
		common := 0.0
		switch {
		case policy == "stretch" || len(axes) == 0:
		case policy == "not_larger":
			common = slices.Min(ratios)
		case policy == "not_smaller":
			common = slices.Max(ratios)
		default:
			return nil, nil, fmt.Errorf("unknown keep_aspect_ratio_policy %q; want stretch, not_larger or not_smaller", policy)
		}
		for i, k := range axes {
			out[k], whole[k] = list[i], ratios[i]
			// Sizes are rounded, but extents from scales are rounded down: ONNX defines both.
			if e := math.Round(common * float64(d[k])); policy != "stretch" && e < graph.MaxElements {
				out[k], whole[k] = int(e), common
			}
		}
		return whole, out, nil
	}
	if len(scales) != len(axes) {
		return nil, nil, fmt.Errorf("%d scales for %d axes; want one per axis", len(scales), len(axes))
	}
	for i, a := range axes {
		k, err := Axis(len(d), a)
		if err != nil {
			return nil, nil, err
		}
		whole[k] = scales[i]
		e := math.Floor(float64(d[k]) * scales[i])
		if !(e >= 0 && e < graph.MaxElements) {
			return nil, nil, fmt.Errorf("scale %g gives axis %d an invalid size; want 0 to %d elements", scales[i], k, graph.MaxElements-1)
		}
		out[k] = int(e)
	}
	return whole, out, nil
}

func inferResize(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	_, out, err := Scales(n, d)
	if err != nil {
		return nil, err
	}
	return newSingleResult(n, out), nil
}
