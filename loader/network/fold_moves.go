package network

import "fmt"

// place is the first input's values at places of every result element.
func (n *nodeReader) place(dims, steps []int, first int) ([]*constant, error) {
	v, err := n.constant(0).values()
	if err != nil {
		return nil, err
	}
	out := make([]float64, elements(dims))
	each(dims, steps, first, func(i, at int) { out[i] = v[at] })
	return []*constant{{dims: dims, elem: n.constant(0).elem, numbers: out, packing: n.constant(0).packing}}, nil
}

func foldTranspose(n *nodeReader) ([]*constant, error) {
	c := n.constant(0)
	perm, err := n.perm(len(c.dims))
	if err != nil {
		return nil, err
	}
	own, steps := strides(c.dims), []int(nil)
	for _, p := range perm {
		steps = append(steps, own[p])
	}
	return n.place(n.results[0].dims, steps, 0)
}

func foldExpand(n *nodeReader) ([]*constant, error) {
	dims := n.results[0].dims
	return n.place(dims, repeated(n.constant(0).dims, dims), 0)
}

func foldTile(n *nodeReader) ([]*constant, error) {
	c := n.constant(0)
	v, err := c.values()
	if err != nil {
		return nil, err
	}
	dims, own := n.results[0].dims, strides(c.dims)
	out := make([]float64, elements(dims))
	from := strides(dims)
	for i := range out {
		at := 0
		for k := range dims {
			at += i / from[k] % dims[k] % c.dims[k] * own[k]
		}
		out[i] = v[at]
	}
	return n.made(out), nil
}

func foldSlice(n *nodeReader) ([]*constant, error) {
	c := n.constant(0)
	parts, err := n.bounds(c.dims)
	if err != nil {
		return nil, err
	}
	steps, first := strides(c.dims), 0
	for i, p := range parts {
		first += p.begin * steps[i]
		steps[i] *= p.step
	}
	return n.place(n.results[0].dims, steps, first)
}

func foldSplit(n *nodeReader) ([]*constant, error) {
	c := n.constant(0)
	axis, err := n.axisOf(len(c.dims), n.int("axis", 0))
	if err != nil {
		return nil, err
	}
	var out []*constant
	steps, first := strides(c.dims), 0
	for _, r := range n.results {
		p, err := n.place(r.dims, steps, first)
		if err != nil {
			return nil, err
		}
		out = append(out, p[0])
		first += r.dims[axis] * steps[axis]
	}
	return out, nil
}

func foldGather(n *nodeReader) ([]*constant, error) {
	c := n.constant(0)
	axis, err := n.axisOf(len(c.dims), n.int("axis", 0))
	if err != nil {
		return nil, err
	}
	index, err := n.constant(1).ints()
	if err != nil {
		return nil, err
	}
	v, err := c.values()
	if err != nil {
		return nil, err
	}
	before, after, extent := elements(c.dims[:axis]), elements(c.dims[axis+1:]), c.dims[axis]
	out := []float64{}
	for b := range before {
		for _, i := range index {
			if i < 0 {
				i += extent
			}
			if i < 0 || i >= extent {
				return nil, fmt.Errorf("index %d of %d", i, extent)
			}
			at := (b*extent + i) * after
			out = append(out, v[at:at+after]...)
		}
	}
	return n.made(out), nil
}

func foldConcat(n *nodeReader) ([]*constant, error) {
	dims, missing := n.results[0].dims, 0
	if n.opset < 4 {
		missing = 1
	}
	axis, err := n.axisOf(len(dims), n.int("axis", missing))
	if err != nil {
		return nil, err
	}
	out := make([]float64, elements(dims))
	steps, first := strides(dims), 0
	for i := range n.Inputs {
		c := n.constant(i)
		v, err := c.values()
		if err != nil {
			return nil, err
		}
		each(c.dims, steps, first, func(i, at int) { out[at] = v[i] })
		first += c.dims[axis] * steps[axis]
	}
	return n.made(out), nil
}
