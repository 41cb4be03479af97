package network

import (
	"errors"
	"fmt"
	"slices"

	"anesim/loader/lower"
)

func (n *nodeReader) identity() error { return n.view(n.dims[n.Inputs[0]]) }

func elements(dims []int) int {
	e := 1
	for _, d := range dims {
		e *= d
	}
	return e
}

func (n *nodeReader) flatten() error {
	dims := n.dims[n.Inputs[0]]
	axis := n.int("axis", 1)
	if axis < 0 {
		axis += len(dims)
	}
	if axis < 0 || axis > len(dims) {
		return fmt.Errorf("axis %d of %d dimensions", axis, len(dims))
	}
	return n.view([]int{elements(dims[:axis]), elements(dims[axis:])})
}

func (n *nodeReader) reshaped() error {
	from := n.dims[n.Inputs[0]]
	to, ok, err := n.list("shape", 1)
	if err != nil || !ok {
		return errors.Join(err, errors.New("its shape is computed, not a constant"))
	}
	known, free := 1, -1
	for i, d := range to {
		switch {
		case d == 0 && i < len(from) && n.int("allowzero", 0) == 0:
			to[i] = from[i]
		case d == -1 && free < 0:
			free = i
			continue
		case d < 1 || d > maxExtent:
			return fmt.Errorf("shape %v", to)
		}
		known *= to[i]
		if known > elements(from) {
			return fmt.Errorf("%v as %v", from, to)
		}
	}
	if free >= 0 {
		to[free] = elements(from) / known
	}
	return n.view(to)
}

func (n *nodeReader) squeeze() error {
	axes, given, err := n.list("axes", 1)
	if err != nil {
		return err
	}
	dims := n.dims[n.Inputs[0]]
	result := []int{}
	for i, d := range dims {
		if d == 1 && (!given || slices.Contains(axes, i) || slices.Contains(axes, i-len(dims))) {
			continue
		}
		result = append(result, d)
	}
	return n.view(result)
}

func (n *nodeReader) unsqueeze() error {
	axes, _, err := n.list("axes", 1)
	if err != nil {
		return err
	}
	result := append([]int(nil), n.dims[n.Inputs[0]]...)
	rank := len(result) + len(axes)
	for i, a := range axes {
		if a < 0 {
			axes[i] = a + rank
		}
	}
	slices.Sort(axes)
	for _, a := range axes {
		if a < 0 || a > len(result) {
			return fmt.Errorf("axis %d of %d dimensions", a, rank)
		}
		result = slices.Insert(result, a, 1)
	}
	return n.view(result)
}

// concat puts tensors one behind the other along an axis: along C as they are, else seen
// as [what is before the axis][the axis and what is behind it].
func (n *nodeReader) concat() error {
	_, axis, err := n.axis(n.int("axis", 0))
	if err != nil {
		return err
	}
	dims := slices.Clone(n.dims[n.Inputs[0]])
	if len(dims) == 0 {
		return errors.New("a number beside another")
	}
	total := 0
	l := Layer{Lower: lower.Layer{Op: lower.Concat}}
	natural := len(dims) == 4 && axis == 1
	for i, name := range n.Inputs {
		s, err := n.operand(i)
		if err != nil {
			return err
		}
		d := n.dims[name]
		if len(d) != len(dims) {
			return fmt.Errorf("%v beside %v", dims, d)
		}
		for j := range d {
			if j != axis && d[j] != dims[j] {
				return fmt.Errorf("%v beside %v", dims, d)
			}
		}
		if natural {
			l.Lower.In = s
		} else {
			l.Lower.In = lower.Shape{N: elements(d[:axis]), C: d[axis], H: 1, W: elements(d[axis+1:])}
		}
		l.Lower.Parts = append(l.Lower.Parts, d[axis])
		total += d[axis]
	}
	dims[axis], l.Lower.In.C = total, total
	return n.emit(l, dims, slices.Clone(n.Inputs)...)
}

// transpose exchanges two runs of axes next to each other at the end, or the first and
// the last of three; axes of one element count for nothing.
func (n *nodeReader) transpose() error {
	dims := n.dims[n.Inputs[0]]
	perm, given, _ := n.list("perm", -1)
	if !given {
		for i := range dims {
			perm = append(perm, len(dims)-1-i)
		}
	}
	if len(perm) != len(dims) {
		return fmt.Errorf("a permutation of %d axes for %d", len(perm), len(dims))
	}
	var result, order []int // of the axes that matter, in the result's order
	seen := map[int]bool{}
	for _, p := range perm {
		if p < 0 || p >= len(dims) || seen[p] {
			return fmt.Errorf("permutation %v", perm)
		}
		seen[p] = true
		result = append(result, dims[p])
		if dims[p] > 1 {
			order = append(order, p)
		}
	}
	// Runs of axes that stay together are one.
	var runs [][]int
	next := map[int]int{} // the axis that matters behind each
	last := -1
	for i, d := range dims {
		if d > 1 {
			next[last], last = i, i
		}
	}
	for i, p := range order {
		if i > 0 && next[order[i-1]] == p {
			runs[len(runs)-1] = append(runs[len(runs)-1], p)
		} else {
			runs = append(runs, []int{p})
		}
	}
	size := func(run []int) int {
		e := 1
		for _, a := range run {
			e *= dims[a]
		}
		return e
	}
	s := lower.Shape{N: 1, C: 1, H: 1, W: 1}
	switch {
	case len(runs) <= 1:
		return n.view(result)
	case len(runs) == 2:
		s.C, s.W = size(runs[1]), size(runs[0])
	case len(runs) == 3 && runs[0][0] < runs[2][0] && runs[2][0] < runs[1][0]:
		s.N, s.C, s.W = size(runs[0]), size(runs[2]), size(runs[1])
	case len(runs) == 3 && runs[2][0] < runs[1][0] && runs[1][0] < runs[0][0]:
		s.C, s.H, s.W = size(runs[2]), size(runs[1]), size(runs[0])
	default:
		return fmt.Errorf("permutation %v of %v; the engine exchanges C and W", perm, dims)
	}
	return n.emit(Layer{Lower: lower.Unary(lower.Transpose, s)}, result, n.Inputs[0])
}

func (n *nodeReader) slice() error {
	dims := n.dims[n.Inputs[0]]
	starts, _, err1 := n.list("starts", 1)
	ends, _, err2 := n.list("ends", 2)
	axes, given, err3 := n.list("axes", 3)
	steps, _, err4 := n.list("steps", 4)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return errors.New("its bounds are computed, not constants")
	}
	if !given {
		for i := range starts {
			axes = append(axes, i)
		}
	}
	if len(ends) != len(starts) || len(axes) != len(starts) {
		return errors.New("as many starts as ends and axes are wanted")
	}
	for _, s := range steps {
		if s != 1 {
			return errors.New("elements that stand apart (steps)")
		}
	}
	begin, size := make([]int, len(dims)), slices.Clone(dims)
	for i := range starts {
		_, a, err := n.axis(axes[i])
		if err != nil {
			return err
		}
		begin[a] = within(starts[i], dims[a])
		size[a] = within(ends[i], dims[a]) - begin[a]
	}
	return n.part(begin, size)
}

// within is a bound of an axis of n elements, counted from its end where it is negative.
func within(bound, n int) int {
	if bound < 0 {
		bound += n
	}
	return max(0, min(n, bound))
}

// part emits elements of the first input.
func (n *nodeReader) part(begin, size []int) error {
	s, err := n.operand(0)
	if err != nil {
		return err
	}
	out, err := shapeOf(size)
	if err == nil {
		err = validShape(out)
	}
	if err != nil {
		return err
	}
	pad := append(make([]int, 4-len(begin)), begin...)
	l := lower.Layer{Op: lower.Slice, In: s, Size: out, Begin: lower.Shape{N: pad[0], C: pad[1], H: pad[2], W: pad[3]}}
	if out == s {
		return n.view(size)
	}
	return n.emit(Layer{Lower: l}, size, n.Inputs[0])
}

func (n *nodeReader) split() error {
	_, axis, err := n.axis(n.int("axis", 0))
	if err != nil {
		return err
	}
	dims := n.dims[n.Inputs[0]]
	sizes, given, err := n.list("split", 1)
	if err != nil {
		return err
	}
	if !given {
		each := (dims[axis] + len(n.Outputs) - 1) / len(n.Outputs)
		for left := dims[axis]; left > 0; left -= each {
			sizes = append(sizes, min(each, left))
		}
	}
	sum := 0
	for _, s := range sizes {
		sum += min(max(s, 0), maxExtent)
	}
	if len(sizes) != len(n.Outputs) || sum != dims[axis] {
		return fmt.Errorf("parts of %v for %d elements", sizes, dims[axis])
	}
	begin, name := make([]int, len(dims)), n.layer.Name
	for i, out := range n.Outputs {
		size := slices.Clone(dims)
		size[axis] = sizes[i]
		n.layer.Output, n.layer.Name = out, fmt.Sprintf("%s/%d", name, i)
		if err := n.part(begin, size); err != nil {
			return err
		}
		begin[axis] += sizes[i]
	}
	return nil
}
