package ops

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

func inferReshape(n *graph.Node) ([]graph.Result, error) {
	from, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	list, ok, err := n.List("shape", 1)
	if err != nil || !ok {
		return nil, cmp.Or(err, errors.New(`"shape" is missing; want an attribute or a constant input`))
	}
	to, known, free := slices.Clone(list), 1, -1
	copies := n.Int("allowzero", 0) == 0
	for i, d := range to {
		switch {
		case d == 0 && i < len(from) && copies:
			to[i] = from[i]
		case d == -1 && free < 0:
			free = i
			continue
		case d < 0 || d > graph.MaxElements:
			return nil, fmt.Errorf("invalid shape %v; want dimensions from 0 to %d, and at most one -1", list, graph.MaxElements)
		}
		// Checked at each axis, so that the product cannot overflow before it is compared.
		if known *= to[i]; known > graph.Elements(from) && (graph.Elements(from) > 0 || known > graph.MaxElements) {
			return nil, fmt.Errorf("cannot reshape %v to %v: element counts differ", from, list)
		}
	}
	if free >= 0 {
		to[free] = graph.Elements(from) / max(1, known)
	}
	if graph.Elements(to) != graph.Elements(from) {
		return nil, fmt.Errorf("cannot reshape %v to %v: element counts differ", from, list)
	}
	return newSingleResult(n, to), nil
}

func inferFlatten(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	axis := n.Int("axis", 1)
	if axis < 0 {
		axis += len(d)
	}
	if axis < 0 || axis > len(d) {
		return nil, fmt.Errorf("axis %d is out of range for %d dimensions", axis, len(d))
	}
	return newSingleResult(n, []int{graph.Elements(d[:axis]), graph.Elements(d[axis:])}), nil
}

func inferSqueeze(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	axes, given, err := n.List("axes", 1)
	if err != nil {
		return nil, err
	}
	out := []int{}
	for i, e := range d {
		named := slices.Contains(axes, i) || slices.Contains(axes, i-len(d))
		if named && e != 1 {
			return nil, fmt.Errorf("cannot squeeze axis %d of shape %v; want size 1", i, d)
		}
		if e != 1 || given && !named {
			out = append(out, e)
		}
	}
	return newSingleResult(n, out), nil
}

func inferUnsqueeze(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	axes, _, err := n.List("axes", 1)
	if err != nil {
		return nil, err
	}
	rank := len(d) + len(axes)
	axes, out := slices.Clone(axes), slices.Clone(d)
	for i, a := range axes {
		if a < 0 {
			axes[i] = a + rank
		}
	}
	slices.Sort(axes)
	for _, a := range axes {
		if a < 0 || a > len(out) {
			return nil, fmt.Errorf("axis %d is out of range for %d dimensions", a, rank)
		}
		out = slices.Insert(out, a, 1)
	}
	return newSingleResult(n, out), nil
}

// Permutation returns the order of axes that n, a Transpose node, produces. If perm is the returned
// list, axis i of the result is axis perm[i] of the input. By default, the axes are reversed.
// Permutation returns an error if the node's attribute is not a permutation of rank axes.
func Permutation(n *graph.Node, rank int) ([]int, error) {
	perm, given, _ := n.List("perm", -1)
	if !given {
		for i := range rank {
			perm = append(perm, rank-1-i)
		}
	}
	sorted := slices.Sorted(slices.Values(perm))
	for i, p := range sorted {
		if i != p {
			return nil, fmt.Errorf("invalid permutation %v; want each number from 0 to %d once", perm, len(perm)-1)
		}
	}
	if len(perm) != rank {
		return nil, fmt.Errorf("permutation %v has %d axes; want %d", perm, len(perm), rank)
	}
	return perm, nil
}

func inferTranspose(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	perm, err := Permutation(n, len(d))
	if err != nil {
		return nil, err
	}
	out := make([]int, len(d))
	for i, p := range perm {
		out[i] = d[p]
	}
	return newSingleResult(n, out), nil
}

// Axis returns axis as a number from 0 to rank-1. A negative axis counts from the end, so that -1
// is the last. Axis returns an error if a tensor with rank axes has no such axis.
func Axis(rank, axis int) (int, error) {
	at := axis
	if at < 0 {
		at += rank
	}
	if at < 0 || at >= rank {
		return 0, fmt.Errorf("axis %d is out of range for %d dimensions", axis, rank)
	}
	return at, nil
}

func inferConcat(n *graph.Node) ([]graph.Result, error) {
	var out []int
	missing := 0
	// Before version 4, a missing axis meant 1.
	if n.Opset < 4 {
		missing = 1
	}
	axis := 0
	for i := range n.In {
		d, err := n.Dims(i)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			if axis, err = Axis(len(d), n.Int("axis", missing)); err != nil {
				return nil, err
			}
			out = slices.Clone(d)
			continue
		}
		if len(d) != len(out) {
			return nil, fmt.Errorf("cannot concatenate shapes %v and %v; want equal ranks", out, d)
		}
		for j := range d {
			if j != axis && d[j] != out[j] {
				return nil, fmt.Errorf("cannot concatenate shapes %v and %v along axis %d: sizes of axis %d differ", out, d, axis, j)
			}
		}
		if out[axis] += d[axis]; out[axis] > graph.MaxElements {
			return nil, fmt.Errorf("concatenated shape %v is too large; want at most %d elements along an axis", out, graph.MaxElements)
		}
	}
	if len(n.In) == 0 {
		return nil, errors.New("node has no input; want at least one")
	}
	return newSingleResult(n, out), nil
}

func inferSplit(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	axis, err := Axis(len(d), n.Int("axis", 0))
	if err != nil {
		return nil, err
	}
	sizes, given, err := n.List("split", 1)
	if err != nil {
		return nil, err
	}
	if parts := n.Int("num_outputs", len(n.Out)); parts != len(n.Out) {
		return nil, fmt.Errorf("num_outputs is %d; want %d, the number of outputs", parts, len(n.Out))
	}
	if count := len(n.Out); !given && count > 0 {
		// Equal parts, of which the last may be smaller (version 18 of the operator).
		each := (d[axis] + count - 1) / count
		for left := d[axis]; len(sizes) < count; left -= each {
			sizes = append(sizes, max(0, min(each, left)))
		}
	}
	sum := 0
	var out []graph.Result
	for _, s := range sizes {
		if s < 0 || s > d[axis] {
			return nil, fmt.Errorf("split sizes %v are out of range; want 0 to %d", sizes, d[axis])
		}
		sum += s
		part := slices.Clone(d)
		part[axis] = s
		out = append(out, graph.Result{Dims: part, Type: n.Type(0)})
	}
	if len(sizes) != len(n.Out) {
		return nil, fmt.Errorf("%d split sizes for %d outputs; want one per output", len(sizes), len(n.Out))
	}
	if sum != d[axis] {
		return nil, fmt.Errorf("split sizes %v do not add up to %d, the size of axis %d", sizes, d[axis], axis)
	}
	return out, nil
}

// A Selection describes the elements of an axis that a Slice node selects: Count elements, with the
// indices Begin, Begin+Step, Begin+2*Step and so on. Step is negative for elements in reverse
// order.
type Selection struct{ Begin, Count, Step int }

// Bounds returns the elements that n, a Slice node, selects along each axis of an input of shape
// dims. It returns an error if a bound is invalid or is computed when the network runs.
func Bounds(n *graph.Node, dims []int) ([]Selection, error) {
	starts, _, err1 := n.List("starts", 1)
	ends, _, err2 := n.List("ends", 2)
	axes, given, err3 := n.List("axes", 3)
	steps, stepped, err4 := n.List("steps", 4)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	if !given {
		axes = nil
		for i := range starts {
			axes = append(axes, i)
		}
	}
	if !stepped {
		steps = slices.Repeat([]int{1}, len(starts))
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		return nil, fmt.Errorf("starts, ends, axes and steps have lengths %d, %d, %d and %d; want equal lengths", len(starts), len(ends), len(axes), len(steps))
	}
	runs := make([]Selection, len(dims))
	for i, d := range dims {
		runs[i] = Selection{0, d, 1}
	}
	for i, s := range steps {
		a, err := Axis(len(dims), axes[i])
		if err != nil {
			return nil, err
		}
		d := dims[a]
		switch {
		case s > 0:
			b, e := resolveBound(starts[i], d), resolveBound(ends[i], d)
			// Rounded up: a last step that reaches beyond the end still selects its first element.
			runs[a] = Selection{b, max(0, (e-b+s-1)/s), s}
		case s < 0:
			from := func(v int) int {
				if v < 0 {
					v += d
				}
				return max(-1, min(d-1, v))
			}
			b, e := min(max(0, from(starts[i])), d-1), from(ends[i]) // a start before the axis is its first element
			if ends[i] < -d {
				e = -1
			}
			runs[a] = Selection{max(0, b), max(0, (b-e-s-1)/-s), s}
		default:
			return nil, fmt.Errorf("step of axis %d is 0; want a nonzero step", a)
		}
		// An empty selection has one form, so that later code need not check its start.
		if runs[a].Count == 0 {
			runs[a].Begin, runs[a].Step = 0, 1
		}
	}
	return runs, nil
}

// resolveBound converts a slice bound of an axis of n elements to a number from 0 to n. A negative
// bound counts from the end, and a bound beyond the axis is clamped.
func resolveBound(bound, n int) int {
	if bound < 0 {
		bound += n
	}
	return max(0, min(n, bound))
}

func inferSlice(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	runs, err := Bounds(n, d)
	if err != nil {
		return nil, err
	}
	var out []int
	for _, r := range runs {
		out = append(out, r.Count)
	}
	return newSingleResult(n, out), nil
}

func inferGather(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	index, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	axis, err := Axis(len(d), n.Int("axis", 0))
	if err != nil {
		return nil, err
	}
	return newSingleResult(n, slices.Concat(d[:axis], index, d[axis+1:])), nil
}

func inferExpand(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	to, ok, err := n.List("shape", 1)
	if err != nil || !ok {
		return nil, cmp.Or(err, errors.New(`input "shape" is missing; want a constant`))
	}
	out, err := graph.Broadcast(d, to)
	if err != nil {
		return nil, err
	}
	return newSingleResult(n, out), nil
}

func inferTile(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	times, ok, err := n.List("repeats", 1)
	if err != nil || !ok || len(times) != len(d) {
		return nil, cmp.Or(err, fmt.Errorf("repeats %v do not match %d axes; want one per axis", times, len(d)))
	}
	out := slices.Clone(d)
	for i, t := range times {
		if t < 0 || t > graph.MaxElements/max(1, out[i]) {
			return nil, fmt.Errorf("repeats %v are out of range; want 0 or more, and at most %d elements along an axis", times, graph.MaxElements)
		}
		out[i] *= t
	}
	return newSingleResult(n, out), nil
}

func inferWhere(n *graph.Node) ([]graph.Result, error) {
	r, err := broadcastRule(0)(n)
	if err == nil {
		r[0].Type = n.Type(1)
	}
	return r, err
}

func inferRange(n *graph.Node) ([]graph.Result, error) {
	var v [3]float64
	for i := range v {
		c := n.Const(i)
		if c == nil {
			return nil, fmt.Errorf("%s is computed; want a constant", [...]string{"start", "limit", "delta"}[i])
		}
		var err error
		if v[i], err = c.Scalar(); err != nil {
			return nil, err
		}
	}
	count := (v[1] - v[0]) / v[2]
	if !(count < graph.MaxElements) {
		return nil, fmt.Errorf("range from %g to %g by %g is undefined or too long; want fewer than %d elements", v[0], v[1], v[2], graph.MaxElements)
	}
	whole := int(max(0, count))
	if float64(whole) < count {
		whole++
	}
	return newSingleResult(n, []int{whole}), nil
}

func inferConstantOfShape(n *graph.Node) ([]graph.Result, error) {
	d, ok, err := n.List("", 0)
	if err != nil || !ok {
		return nil, cmp.Or(err, errors.New("input is missing; want a constant shape"))
	}
	elem := graph.Float
	if a := n.Attribute("value"); a != nil && a.Const != nil {
		elem = a.Const.Type
	}
	return []graph.Result{{Dims: slices.Clone(d), Type: elem}}, nil
}
