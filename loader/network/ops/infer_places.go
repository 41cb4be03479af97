package ops

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/graph"
)

// likeShape is a result of the first input's type and another's shape.
func likeShape(i int) Rule {
	return func(n *graph.Node) ([]graph.Result, error) {
		d, err := n.Dims(i)
		if err != nil {
			return nil, err
		}
		return of(n, d), nil
	}
}

func truthShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	return []graph.Result{{Dims: d, Type: graph.Bool}}, err
}

func gatherNDShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	at, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	batch := n.Int("batch_dims", 0)
	if len(at) == 0 || batch < 0 || batch >= len(at) || at[len(at)-1] < 1 || batch+at[len(at)-1] > len(d) || !slices.Equal(at[:batch], d[:batch]) {
		return nil, fmt.Errorf("places of %v in %v", at, d)
	}
	return of(n, slices.Concat(at[:len(at)-1], d[batch+at[len(at)-1]:])), nil
}

func oneHotShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	c := n.Const(1)
	if c == nil {
		return nil, errors.New("its depth is computed, not a constant")
	}
	depth, err := c.Scalar()
	if err != nil || depth < 1 || depth > graph.MaxExtent {
		return nil, errors.Join(err, fmt.Errorf("a depth of %g", depth))
	}
	axis, err := Axis(len(d)+1, n.Int("axis", -1))
	if err != nil {
		return nil, err
	}
	return []graph.Result{{Dims: slices.Insert(slices.Clone(d), axis, int(depth)), Type: n.Type(2)}}, nil
}

func gridShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	g, err := n.Dims(1)
	if err != nil || len(d) != 4 || len(g) != 4 || g[3] != 2 || g[0] != d[0] {
		return nil, errors.Join(err, fmt.Errorf("a grid of %v for %v", g, d))
	}
	return of(n, []int{d[0], d[1], g[1], g[2]}), nil
}

func roiShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	r, err := n.Dims(1)
	h, w := n.Int("output_height", 1), n.Int("output_width", 1)
	if err != nil || len(d) != 4 || len(r) != 2 || h < 1 || w < 1 {
		return nil, errors.Join(err, fmt.Errorf("boxes of %v for %v", r, d))
	}
	return of(n, []int{r[0], d[1], h, w}), nil
}

// sizeShape is the number of elements, or the extents as a list.
func sizeShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil || n.Op == "Size" {
		return []graph.Result{{Dims: []int{}, Type: graph.Int64}}, err
	}
	first, last := within(n.Int("start", 0), len(d)), within(n.Int("end", len(d)), len(d))
	return []graph.Result{{Dims: []int{max(0, last-first)}, Type: graph.Int64}}, nil
}

// suppressionShape is a row for each box that may be left.
func suppressionShape(n *graph.Node) ([]graph.Result, error) {
	b, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	s, err := n.Dims(1)
	if err != nil || len(b) != 3 || len(s) != 3 || b[2] != 4 || b[0] != s[0] || b[1] != s[2] {
		return nil, errors.Join(err, fmt.Errorf("scores of %v for boxes of %v", s, b))
	}
	each := 0
	if c := n.Const(2); c != nil {
		v, err := c.Scalar()
		if err != nil {
			return nil, err
		}
		each = int(max(0, min(v, float64(b[1]))))
	} else if n.Given(2) {
		each = b[1]
	}
	return []graph.Result{{Dims: []int{s[0] * s[1] * each, 3}, Type: graph.Int64}}, nil
}

// nonZeroShape is a column for each place that may not be zero, which of constants are counted.
func nonZeroShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	count := 0
	if c := n.Const(0); c != nil && !c.Absent() {
		v, err := c.Values()
		if err != nil {
			return nil, err
		}
		for _, x := range v {
			if x != 0 {
				count++
			}
		}
	} else {
		count = graph.Elements(d)
	}
	return []graph.Result{{Dims: []int{max(1, len(d)), count}, Type: graph.Int64}}, nil
}

func compressShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	out, axis := []int{graph.Elements(d)}, 0
	if n.Attr["axis"] != nil {
		if axis, err = Axis(len(d), n.Int("axis", 0)); err != nil {
			return nil, err
		}
		out = slices.Clone(d)
	}
	if c := n.Const(1); c != nil && !c.Absent() {
		v, err := c.Values()
		if err != nil {
			return nil, err
		}
		count := 0
		for i, x := range v {
			if x != 0 && i < out[axis] {
				count++
			}
		}
		out[axis] = count
	}
	return of(n, out), nil
}

// uniqueShape has room for elements all of which differ.
func uniqueShape(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	out, axis := []int{graph.Elements(d)}, 0
	if n.Attr["axis"] != nil {
		if axis, err = Axis(len(d), n.Int("axis", 0)); err != nil {
			return nil, err
		}
		out = slices.Clone(d)
	}
	places := graph.Result{Dims: []int{out[axis]}, Type: graph.Int64}
	return []graph.Result{{Dims: out, Type: n.Type(0)}, places, places, places}, nil
}

// madeShape is what is filled without values to read: of a shape, or like another tensor.
func madeShape(n *graph.Node) ([]graph.Result, error) {
	d, given, err := n.List("shape", -1)
	if err == nil && !given {
		d, err = n.Dims(0)
	}
	if err != nil || n.Op == "EyeLike" && len(d) != 2 {
		return nil, errors.Join(err, fmt.Errorf("shape %v", d))
	}
	elem := graph.Type(n.Int("dtype", 0))
	if elem == 0 {
		if elem = graph.Float; n.Type(0) != 0 {
			elem = n.Type(0)
		}
	}
	return []graph.Result{{Dims: d, Type: elem}}, nil
}
