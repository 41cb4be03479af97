package ops

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// newStridedConst returns a constant of shape dims whose elements are read from the node's first
// input. The first element is at offset first, and steps holds the distance in elements for each
// axis.
func newStridedConst(n *graph.Node, dims, steps []int, first int) ([]*graph.Const, error) {
	c := n.Const(0)
	if FoldsLater(n) {
		d := c.Derive(dims, c.Type, func(set func(i int, v float64)) error {
			read, err := c.Reader()
			if err == nil {
				graph.Each(dims, steps, first, func(i, at int) { set(i, read(at)) })
			}
			return err
		})
		d.Packing = c.Packing
		return []*graph.Const{d}, nil
	}
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	out := make([]float64, graph.Elements(dims))
	graph.Each(dims, steps, first, func(i, at int) { out[i] = v[at] })
	return []*graph.Const{{Dims: dims, Type: c.Type, Numbers: out, Packing: c.Packing}}, nil
}

func foldTranspose(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c := n.Const(0)
	perm, err := Permutation(n, len(c.Dims))
	if err != nil {
		return nil, err
	}
	own, steps := graph.Strides(c.Dims), []int(nil)
	for _, p := range perm {
		steps = append(steps, own[p])
	}
	return newStridedConst(n, res[0].Dims, steps, 0)
}

func foldExpand(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	dims := res[0].Dims
	return newStridedConst(n, dims, graph.BroadcastStrides(n.Const(0).Dims, dims), 0)
}

func foldTile(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c := n.Const(0)
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	dims, own := res[0].Dims, graph.Strides(c.Dims)
	out := make([]float64, graph.Elements(dims))
	from := graph.Strides(dims)
	for i := range out {
		at := 0
		for k := range dims {
			at += i / from[k] % dims[k] % c.Dims[k] * own[k]
		}
		out[i] = v[at]
	}
	return newResultConst(res, out), nil
}

func foldSlice(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c := n.Const(0)
	parts, err := Bounds(n, c.Dims)
	if err != nil {
		return nil, err
	}
	steps, first := graph.Strides(c.Dims), 0
	for i, p := range parts {
		first += p.Begin * steps[i]
		steps[i] *= p.Step
	}
	return newStridedConst(n, res[0].Dims, steps, first)
}

func foldSplit(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c := n.Const(0)
	axis, err := Axis(len(c.Dims), n.Int("axis", 0))
	if err != nil {
		return nil, err
	}
	var out []*graph.Const
	steps, first := graph.Strides(c.Dims), 0
	for _, r := range res {
		p, err := newStridedConst(n, r.Dims, steps, first)
		if err != nil {
			return nil, err
		}
		out = append(out, p[0])
		first += r.Dims[axis] * steps[axis]
	}
	return out, nil
}

func foldGather(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c := n.Const(0)
	axis, err := Axis(len(c.Dims), n.Int("axis", 0))
	if err != nil {
		return nil, err
	}
	index, err := n.Const(1).Ints()
	if err != nil {
		return nil, err
	}
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	before, after, extent := graph.Elements(c.Dims[:axis]), graph.Elements(c.Dims[axis+1:]), c.Dims[axis]
	out := []float64{}
	for b := range before {
		for _, i := range index {
			if i < 0 {
				i += extent
			}
			if i < 0 || i >= extent {
				return nil, fmt.Errorf("index %d is out of range for an axis of %d elements", i, extent)
			}
			at := (b*extent + i) * after
			out = append(out, v[at:at+after]...)
		}
	}
	return newResultConst(res, out), nil
}

func foldConcat(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	dims, missing := res[0].Dims, 0
	if n.Opset < 4 {
		missing = 1
	}
	axis, err := Axis(len(dims), n.Int("axis", missing))
	if err != nil {
		return nil, err
	}
	out := make([]float64, graph.Elements(dims))
	steps, first := graph.Strides(dims), 0
	for i := range n.In {
		c := n.Const(i)
		v, err := c.Values()
		if err != nil {
			return nil, err
		}
		graph.Each(c.Dims, steps, first, func(i, at int) { out[at] = v[i] })
		first += c.Dims[axis] * steps[axis]
	}
	return newResultConst(res, out), nil
}

// foldPad pads a constant. It removes the elements of negative pads first, so that a mode that
// copies elements does not copy these.
func foldPad(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	c := n.Const(0)
	before, after, err := Padding(n, len(c.Dims))
	if err != nil {
		return nil, err
	}
	v, err := c.Values()
	if err != nil {
		return nil, err
	}
	value, dims, mode := float64(n.Float("value", 0)), slices.Clone(c.Dims), n.Text("mode", "constant")
	if n.Given(2) {
		if value, err = n.Const(2).Scalar(); err != nil {
			return nil, err
		}
	}
	// One axis at a time, so that corners are copies of copies, as the modes reflect, edge and wrap define
	// them.
	for axis, extent := range c.Dims {
		cut := max(0, -before[axis])
		index, err := PaddedElements(mode, extent-cut+min(0, after[axis]), max(0, before[axis]), max(0, after[axis]))
		if err != nil {
			return nil, err
		}
		outer, inner := graph.Elements(dims[:axis]), graph.Elements(dims[axis+1:])
		out := make([]float64, 0, outer*len(index)*inner)
		for o := range outer {
			for _, k := range index {
				if at := (o*extent + cut + k) * inner; k >= 0 {
					out = append(out, v[at:at+inner]...)
				} else {
					out = append(out, slices.Repeat([]float64{value}, inner)...)
				}
			}
		}
		v, dims[axis] = out, len(index)
	}
	return newResultConst(res, v), nil
}

// PaddedElements returns the elements along an axis after padding, as indices into the original
// axis. An index of -1 is for the padding value of the mode "constant". The axis has extent
// elements. Padding adds before elements at its start and after elements at its end; neither number
// may be negative. PaddedElements returns an error if the mode is unknown, or if the axis has no
// element to copy.
func PaddedElements(mode string, extent, before, after int) ([]int, error) {
	if extent < 0 || extent == 0 && mode != "constant" && before+after > 0 {
		return nil, fmt.Errorf("cannot pad an axis of %d elements with padding mode %q", extent, mode)
	}
	index := make([]int, 0, before+extent+after)
	for k := -before; k < extent+after; k++ {
		i := k
		switch mode {
		case "constant":
			if i < 0 || i >= extent {
				i = -1
			}
		case "edge":
			i = max(0, min(extent-1, i))
		case "reflect":
			if period := 2 * (extent - 1); period > 0 {
				i = (i%period + period) % period
				i = min(i, period-i)
			} else {
				i = 0
			}
		case "wrap":
			i = (i%extent + extent) % extent
		default:
			return nil, fmt.Errorf("unknown padding mode %q; want constant, edge, reflect or wrap", mode)
		}
		index = append(index, i)
	}
	return index, nil
}
