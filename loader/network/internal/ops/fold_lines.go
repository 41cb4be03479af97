package ops

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"anesim/internal/network/graph"
)

// Operators that work on lines along an axis: search, sum, sort and selection.

// forEachLine calls visit for every line of elements of a tensor of shape dims: the elements that
// differ only in their index along the given axis. k is the number of the line, first the offset of
// its first element, and step the distance between its elements.
func forEachLine(dims []int, axis int, visit func(k, first, step int)) {
	step := graph.Elements(dims[axis+1:])
	k := 0
	for b := range graph.Elements(dims[:axis]) {
		for i := range step {
			visit(k, b*dims[axis]*step+i, step)
			k++
		}
	}
}

func foldArgMax(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	axis, err := Axis(len(d), n.Int("axis", 0))
	if err != nil {
		return nil, err
	}
	out := make([]float64, graph.Elements(res[0].Dims))
	if d[axis] == 0 && len(out) > 0 {
		return nil, fmt.Errorf("axis %d of shape %v has no elements", axis, d)
	}
	last, least := n.Int("select_last_index", 0) != 0, n.Op == "ArgMin"
	forEachLine(d, axis, func(k, first, step int) {
		best := 0
		for i := range d[axis] {
			a, b := v[first+i*step], v[first+best*step]
			if least {
				a, b = b, a
			}
			if a > b || last && a == b {
				best = i
			}
		}
		out[k] = float64(best)
	})
	return newResultConst(res, out), nil
}

func foldTopK(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	axis, err := Axis(len(d), n.Int("axis", -1))
	if err != nil {
		return nil, err
	}
	to := res[0].Dims
	k := to[axis]
	if k > d[axis] {
		return nil, fmt.Errorf("k is %d, but the axis has only %d elements", k, d[axis])
	}
	n.Ignore("sorted") // without it, any order is right
	values, places := make([]float64, graph.Elements(to)), make([]float64, graph.Elements(to))
	sign := 1.0
	if n.Int("largest", 1) == 0 {
		sign = -1
	}
	var from []int
	forEachLine(d, axis, func(_, first, _ int) { from = append(from, first) })
	forEachLine(to, axis, func(l, first, step int) {
		order := make([]int, d[axis])
		for i := range order {
			order[i] = i
		}
		// Stable, as ONNX wants: of equal elements, the one with the lower index comes first.
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sign*v[from[l]+b*step], sign*v[from[l]+a*step]) })
		for i, o := range order[:k] {
			values[first+i*step], places[first+i*step] = v[from[l]+o*step], float64(o)
		}
	})
	return []*graph.Const{{Dims: to, Type: res[0].Type, Numbers: values}, {Dims: to, Type: graph.Int64, Numbers: places}}, nil
}

func foldCumSum(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	which, _, err := readConstantOperand(n, 1)
	if err != nil || len(which) != 1 {
		return nil, cmp.Or(err, fmt.Errorf(`input "axis" has %d elements; want 1`, len(which)))
	}
	// Limited before the conversion: a huge float has no int, and any axis beyond the rank is refused
	// alike.
	axis, err := Axis(len(d), int(max(-graph.MaxRank, min(graph.MaxRank, which[0]))))
	if err != nil {
		return nil, err
	}
	start, add := 0.0, func(a, b float64) float64 { return a + b }
	if n.Op == "CumProd" {
		start, add = 1, func(a, b float64) float64 { return a * b }
	}
	out := make([]float64, len(v))
	forEachLine(d, axis, func(_, first, step int) {
		sum := start
		for i := range d[axis] {
			if n.Int("reverse", 0) != 0 {
				i = d[axis] - 1 - i
			}
			at := first + i*step
			if n.Int("exclusive", 0) != 0 {
				out[at] = sum
				sum = add(sum, v[at])
			} else {
				sum = add(sum, v[at])
				out[at] = sum
			}
		}
	})
	return newResultConst(res, out), nil
}

// foldHardmax sets the first maximum along an axis to 1 and all other elements to 0. Before version
// 13 of the operator, the named axis and all later ones count as one.
func foldHardmax(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	missing := -1
	if n.Opset < 13 {
		missing = 1
	}
	axis, err := Axis(len(d), n.Int("axis", missing))
	if err != nil {
		return nil, err
	}
	// The older operator flattens the tensor to a matrix.
	if n.Opset < 13 {
		d = []int{graph.Elements(d[:axis]), graph.Elements(d[axis:])}
		axis = 1
	}
	out := make([]float64, len(v))
	if len(v) == 0 {
		return newResultConst(res, out), nil
	}
	forEachLine(d, axis, func(_, first, step int) {
		best := first
		for i := range d[axis] {
			// Strictly larger, so that the first of equal elements counts, as in ONNX.
			if v[first+i*step] > v[best] {
				best = first + i*step
			}
		}
		out[best] = 1
	})
	return newResultConst(res, out), nil
}

func foldReverseSequence(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	v, d, lengths := in[0].numbers, in[0].dims, in[1].numbers
	time, batch := n.Int("time_axis", 0), n.Int("batch_axis", 1)
	switch {
	case len(d) < 2:
		return nil, fmt.Errorf("input has shape %v; want at least 2 axes", d)
	case time+batch != 1 || time*batch != 0:
		return nil, fmt.Errorf("time_axis is %d and batch_axis is %d; want 0 and 1, in either order", time, batch)
	case len(lengths) != d[batch]:
		return nil, fmt.Errorf("%d sequence lengths for %d batch elements; want one per element", len(lengths), d[batch])
	}
	out, own := make([]float64, len(v)), graph.Strides(d)
	size := graph.Elements(d[2:])
	for b := range d[batch] {
		for t := range d[time] {
			from := t
			if l := int(lengths[b]); t < l && l <= d[time] {
				from = l - 1 - t
			}
			to := b*own[batch] + t*own[time]
			copy(out[to:to+size], v[b*own[batch]+from*own[time]:][:size])
		}
	}
	return newResultConst(res, out), nil
}

// foldCompress keeps the positions along an axis for which the condition is true.
func foldCompress(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	in, err := readOperands(n, 2)
	if err != nil {
		return nil, err
	}
	v, keep := in[0].numbers, in[1].numbers
	d, axis, err := readOptionalAxis(n, in[0].dims)
	if err != nil {
		return nil, err
	}
	to := res[0].Dims
	out := make([]float64, graph.Elements(to))
	var from []int
	forEachLine(d, axis, func(_, first, _ int) { from = append(from, first) })
	forEachLine(to, axis, func(l, first, step int) {
		k := 0
		for i := range d[axis] {
			if i < len(keep) && keep[i] != 0 && k < to[axis] {
				out[first+k*step] = v[from[l]+i*step]
				k++
			}
		}
	})
	return newResultConst(res, out), nil
}

// foldUnique returns the distinct parts of a tensor along an axis, or its distinct elements if
// there is no axis attribute. The other results are the index of each distinct part's first
// occurrence, the distinct part that each input part equals, and the number of occurrences.
func foldUnique(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	d, axis, err := readOptionalAxis(n, d)
	if err != nil {
		return nil, err
	}
	var lines []int // index of the first element of each line along the axis
	stride := 1
	forEachLine(d, axis, func(_, first, step int) { lines, stride = append(lines, first), step })
	firsts, group := groupEqualParts(d[axis], func(a, b int) int {
		for _, first := range lines {
			if c := cmp.Compare(v[first+a*stride], v[first+b*stride]); c != 0 {
				return c
			}
		}
		return 0
	})
	kept := make([]int, len(firsts)) // groups in the order of the result
	for i := range kept {
		kept[i] = i
	}
	if n.Int("sorted", 1) == 0 {
		slices.SortFunc(kept, func(a, b int) int { return cmp.Compare(firsts[a], firsts[b]) })
	}
	rank := make([]int, len(firsts)) // of a group in that order
	for k, g := range kept {
		rank[g] = k
	}
	where, which, counts := make([]float64, len(kept)), make([]float64, len(group)), make([]float64, len(kept))
	for i, g := range group {
		which[i] = float64(rank[g])
		counts[rank[g]]++
	}
	to := slices.Clone(d)
	to[axis] = len(kept)
	out := make([]float64, graph.Elements(to))
	forEachLine(to, axis, func(l, first, step int) {
		for k, g := range kept {
			out[first+k*step] = v[lines[l]+firsts[g]*stride]
		}
	})
	for k, g := range kept {
		where[k] = float64(firsts[g])
	}
	return []*graph.Const{
		{Dims: to, Type: n.Const(0).Type, Numbers: out}, newInt64Const([]int{len(where)}, where...),
		newInt64Const([]int{len(which)}, which...), newInt64Const([]int{len(counts)}, counts...),
	}, nil
}

// groupEqualParts groups the parts 0 to n-1 that compare as equal. firsts holds the first part of
// each group, with groups in ascending order. group holds the number of each part's group.
func groupEqualParts(n int, compare func(a, b int) int) (firsts, group []int) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(compare(a, b), a-b) })
	group = make([]int, n)
	for k, i := range order {
		if k == 0 || compare(order[k-1], i) != 0 {
			firsts = append(firsts, i)
		}
		group[i] = len(firsts) - 1
	}
	return firsts, group
}

// foldSoftmax divides each element's exponential by the sum of exponentials along an axis, and
// takes the logarithm for a LogSoftmax. Before version 13 of the operators, the named axis and all
// later ones count as one.
func foldSoftmax(n *graph.Node, res []graph.Result) ([]*graph.Const, error) {
	v, d, err := readConstantOperand(n, 0)
	if err != nil {
		return nil, err
	}
	missing := -1
	if n.Opset < 13 {
		missing = 1
	}
	axis, err := Axis(len(d), n.Int("axis", missing))
	if err != nil {
		return nil, err
	}
	if n.Opset < 13 {
		d = []int{graph.Elements(d[:axis]), graph.Elements(d[axis:])}
		axis = 1
	}
	out := make([]float64, len(v))
	forEachLine(d, axis, func(_, first, step int) {
		// The largest element is subtracted first. The quotient is the same, and no exponential overflows.
		largest, sum := math.Inf(-1), 0.0
		for i := range d[axis] {
			largest = max(largest, v[first+i*step])
		}
		for i := range d[axis] {
			sum += math.Exp(v[first+i*step] - largest)
		}
		for i := range d[axis] {
			x := v[first+i*step] - largest
			// Not the logarithm of the quotient, which is -Inf once the quotient underflows.
			if out[first+i*step] = math.Exp(x) / sum; n.Op == "LogSoftmax" {
				out[first+i*step] = x - math.Log(sum)
			}
		}
	})
	return newResultConst(res, out), nil
}
