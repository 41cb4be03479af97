package ops

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// inputShapeRule returns a Rule for a single result that has the type of the first input and the
// shape of input i.
func inputShapeRule(i int) Rule {
	return func(n *graph.Node) ([]graph.Result, error) {
		d, err := n.Dims(i)
		if err != nil {
			return nil, err
		}
		return newSingleResult(n, d), nil
	}
}

func inferBoolResult(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	return []graph.Result{{Dims: d, Type: graph.Bool}}, err
}

func inferGatherND(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	at, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	batch := n.Int("batch_dims", 0)
	switch {
	case batch < 0 || batch >= len(at):
		return nil, fmt.Errorf("batch_dims is %d for index shape %v; want 0 to %d", batch, at, len(at)-1)
	case at[len(at)-1] < 1 || batch+at[len(at)-1] > len(d):
		return nil, fmt.Errorf("last dimension of index shape %v is out of range for data shape %v; want 1 to %d", at, d, len(d)-batch)
	case !slices.Equal(at[:batch], d[:batch]):
		return nil, fmt.Errorf("index shape %v and data shape %v differ in the first %d dimensions (batch_dims)", at, d, batch)
	}
	return newSingleResult(n, slices.Concat(at[:len(at)-1], d[batch+at[len(at)-1]:])), nil
}

func inferOneHot(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	c := n.Const(1)
	if c == nil {
		return nil, errors.New("depth is computed; want a constant")
	}
	depth, err := c.Scalar()
	if err != nil || depth < 1 || depth > graph.MaxExtent {
		return nil, cmp.Or(err, fmt.Errorf("depth %g is out of range; want 1 to %d", depth, graph.MaxExtent))
	}
	axis, err := Axis(len(d)+1, n.Int("axis", -1))
	if err != nil {
		return nil, err
	}
	return []graph.Result{{Dims: slices.Insert(slices.Clone(d), axis, int(depth)), Type: n.Type(2)}}, nil
}

func inferGridSample(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	g, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	if err := checkGrid(d, g); err != nil {
		return nil, err
	}
	return newSingleResult(n, []int{d[0], d[1], g[1], g[2]}), nil
}

// checkGrid returns an error unless a GridSample can read images of shape d at the positions in a
// grid of shape g.
func checkGrid(d, g []int) error {
	if len(d) != 4 || len(g) != 4 || g[3] != 2 || g[0] != d[0] {
		return fmt.Errorf("grid shape %v is incompatible with input shape %v; want [batch rows columns 2] and [batch channels height width]", g, d)
	}
	return nil
}

func inferRoiAlign(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	r, err := n.Dims(1)
	h, w := n.Int("output_height", 1), n.Int("output_width", 1)
	if err != nil || len(d) != 4 || len(r) != 2 {
		return nil, cmp.Or(err, fmt.Errorf("box shape %v is incompatible with input shape %v; want 2 box axes and 4 input axes", r, d))
	}
	if h < 1 || w < 1 {
		return nil, fmt.Errorf("output_height is %d and output_width is %d; want at least 1 each", h, w)
	}
	return newSingleResult(n, []int{r[0], d[1], h, w}), nil
}

// inferShapeOrSize infers the result of Size, a single number, or of Shape, a list of extents.
func inferShapeOrSize(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	n.Input(0) // of which only the shape matters
	if err != nil || n.Op == "Size" {
		return []graph.Result{{Dims: []int{}, Type: graph.Int64}}, err
	}
	first, last := resolveBound(n.Int("start", 0), len(d)), resolveBound(n.Int("end", len(d)), len(d))
	return []graph.Result{{Dims: []int{max(0, last-first)}, Type: graph.Int64}}, nil
}

// inferNonMaxSuppression infers the largest result of a NonMaxSuppression: one row for each box
// that may be selected.
func inferNonMaxSuppression(n *graph.Node) ([]graph.Result, error) {
	b, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	s, err := n.Dims(1)
	if err != nil || len(b) != 3 || len(s) != 3 || b[2] != 4 || b[0] != s[0] || b[1] != s[2] {
		return nil, cmp.Or(err, fmt.Errorf("box shape %v is incompatible with score shape %v; want [batch boxes 4] and [batch classes boxes]", b, s))
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

// inferNonZero infers the largest result of a NonZero: one column for each element that may be
// nonzero. For a constant, it counts the nonzero elements.
func inferNonZero(n *graph.Node) ([]graph.Result, error) {
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

// readOptionalAxis returns the shape and the axis with which n reads its input, of shape dims: dims
// and the attribute axis. If the node lacks the attribute, it reads the flattened input, so the
// shape is the number of elements, and the axis is 0.
func readOptionalAxis(n *graph.Node, dims []int) (shape []int, axis int, err error) {
	if n.Attribute("axis") == nil {
		return []int{graph.Elements(dims)}, 0, nil
	}
	axis, err = Axis(len(dims), n.Int("axis", 0))
	return slices.Clone(dims), axis, err
}

func inferCompress(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	out, axis, err := readOptionalAxis(n, d)
	if err != nil {
		return nil, err
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
	return newSingleResult(n, out), nil
}

// inferUnique infers the largest result of a Unique, where all elements differ.
func inferUnique(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	out, axis, err := readOptionalAxis(n, d)
	if err != nil {
		return nil, err
	}
	places := graph.Result{Dims: []int{out[axis]}, Type: graph.Int64}
	return []graph.Result{{Dims: out, Type: n.Type(0)}, places, places, places}, nil
}

// inferGeneratedShape infers the result of an operator that reads no values, such as
// RandomUniform. The shape is an attribute or the shape of the first input.
func inferGeneratedShape(n *graph.Node) ([]graph.Result, error) {
	d, given, err := n.List("shape", -1)
	if err == nil && !given {
		d, err = n.Dims(0)
		n.Input(0) // of which only the shape matters
	}
	if err != nil || n.Op == "EyeLike" && len(d) != 2 {
		return nil, cmp.Or(err, fmt.Errorf("input has shape %v; want 2 axes", d))
	}
	elem := graph.Type(n.Int("dtype", 0))
	if elem == 0 {
		if elem = graph.Float; n.Type(0) != 0 {
			elem = n.Type(0)
		}
	}
	return []graph.Result{{Dims: d, Type: elem}}, nil
}
