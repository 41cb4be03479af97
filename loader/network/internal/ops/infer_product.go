package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"anesim/internal/network/graph"
)

func inferGemm(n *graph.Node) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	b, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	if len(a) != 2 || len(b) != 2 {
		return nil, fmt.Errorf("cannot multiply shapes %v and %v; want 2 axes each", a, b)
	}
	m, k, j, p := a[0], a[1], b[0], b[1]
	if n.Int("transA", 0) != 0 {
		m, k = k, m
	}
	if n.Int("transB", 0) != 0 {
		j, p = p, j
	}
	if k != j {
		return nil, fmt.Errorf("cannot multiply shapes %v and %v: inner dimensions %d and %d differ", a, b, k, j)
	}
	return newSingleResultWithMACs(n, []int{m, p}, m*k*p), nil
}

func inferLinear(n *graph.Node) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	w, err := n.Dims(1)
	if err != nil || len(a) == 0 || len(w) != 2 || a[len(a)-1] != w[1] {
		return nil, cmp.Or(err, fmt.Errorf("input shape %v is incompatible with weight shape %v; want 2-D weights and equal last dimensions", a, w))
	}
	out := slices.Clone(a)
	out[len(a)-1] = w[0]
	return newSingleResultWithMACs(n, out, graph.Elements(out)*w[1]), nil
}

func inferMatMul(n *graph.Node) ([]graph.Result, error) {
	a, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	b, err := n.Dims(1)
	if err != nil {
		return nil, err
	}
	out, k, err := matmulShape(a, b)
	if err != nil {
		return nil, err
	}
	return newSingleResultWithMACs(n, out, graph.Elements(out)*k), nil
}

// matmulShape returns the shape of the product of two matrices, or stacks of matrices whose leading
// axes are broadcast, of shapes a and b. The second result is the number of products that are
// summed in each element.
func matmulShape(a, b []int) ([]int, int, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, 0, fmt.Errorf("cannot multiply shapes %v and %v; want at least 1 axis each", a, b)
	}
	x, y := a, b
	if len(a) == 1 {
		x = []int{1, a[0]}
	}
	if len(b) == 1 {
		y = []int{b[0], 1}
	}
	k := x[len(x)-1]
	if k != y[len(y)-2] {
		return nil, 0, fmt.Errorf("cannot multiply shapes %v and %v: inner dimensions %d and %d differ", a, b, k, y[len(y)-2])
	}
	out, err := graph.Broadcast(x[:len(x)-2], y[:len(y)-2])
	if err != nil {
		return nil, 0, fmt.Errorf("cannot multiply shapes %v and %v: leading dimensions do not broadcast", a, b)
	}
	out = slices.Clone(out)
	if len(a) > 1 {
		out = append(out, x[len(x)-2])
	}
	if len(b) > 1 {
		out = append(out, y[len(y)-1])
	}
	return out, k, nil
}

// ellipsisLabels are the labels that EinsumTerms gives to the axes of an ellipsis, the last axis
// first.
const ellipsisLabels = "0123456789"

// EinsumTerms splits the equation of an Einsum node, such as "ij,jk->ik", into the terms of its
// inputs and the term of its result. It replaces an ellipsis by one digit for each axis that the
// ellipsis covers, counting down to 0, so that the ellipses of all inputs share labels.
//
// If the equation has no arrow, the result has the axes of the ellipsis, followed by the labels
// that occur once, in alphabetical order. EinsumTerms returns an error if the equation does not
// match the inputs.
func EinsumTerms(n *graph.Node) (terms []string, out string, err error) {
	eq := strings.ReplaceAll(n.Text("equation", ""), " ", "")
	left, right, arrow := strings.Cut(eq, "->")
	terms = strings.Split(left, ",")
	if len(terms) != len(n.In) {
		return nil, "", fmt.Errorf("equation %q has %d terms for %d inputs; want one term per input", eq, len(terms), len(n.In))
	}
	if strings.ContainsAny(eq, ellipsisLabels) {
		return nil, "", fmt.Errorf("equation %q contains a digit; want letters as labels", eq)
	}
	if !arrow {
		right = "..."
		// The order of the labels is that of their codes, capitals first, as in NumPy.
		for l := 'A'; l <= 'z'; l++ {
			if strings.Count(left, string(l)) == 1 {
				right += string(l)
			}
		}
	}
	longest := ""
	for i, t := range terms {
		switch dots := strings.Count(t, "."); {
		case dots == 0:
			continue
		case dots != 3 || !strings.Contains(t, "..."):
			return nil, "", fmt.Errorf(`term %q of equation %q has misplaced dots; want at most one "..."`, t, eq)
		}
		d, err := n.Dims(i)
		if err != nil {
			return nil, "", err
		}
		axes := len(d) - (len(t) - len("..."))
		if axes < 0 || axes > len(ellipsisLabels) {
			return nil, "", fmt.Errorf("shape %v leaves %d axes for the ellipsis of term %q; want 0 to %d", d, axes, t, len(ellipsisLabels))
		}
		labels := []byte(ellipsisLabels[:axes])
		// Counting down to 0 at the right aligns ellipses of different lengths at their last axes, as
		// broadcasting does.
		slices.Reverse(labels)
		terms[i] = strings.Replace(t, "...", string(labels), 1)
		if len(labels) > len(longest) {
			longest = string(labels)
		}
	}
	out = strings.Replace(right, "...", longest, 1)
	if strings.Contains(out, ".") {
		return nil, "", fmt.Errorf(`term %q of equation %q has misplaced dots; want at most one "..."`, right, eq)
	}
	return terms, out, nil
}

func inferEinsum(n *graph.Node) ([]graph.Result, error) {
	terms, right, err := EinsumTerms(n)
	if err != nil {
		return nil, err
	}
	sizes := map[rune]int{}
	for i, t := range terms {
		d, err := n.Dims(i)
		if err != nil {
			return nil, err
		}
		if len(t) != len(d) {
			return nil, fmt.Errorf("term %q has %d labels for shape %v; want one per axis", t, len(t), d)
		}
		for k, l := range t {
			old, ok := sizes[l]
			switch broadcasts := strings.ContainsRune(ellipsisLabels, l); {
			case !ok || old == d[k] || broadcasts && old == 1:
				sizes[l] = d[k]
			case broadcasts && d[k] == 1:
			case broadcasts:
				return nil, fmt.Errorf("ellipsis axes have sizes %d and %d; want equal sizes or 1", old, d[k])
			default:
				return nil, fmt.Errorf("label %q has sizes %d and %d; want equal sizes", l, old, d[k])
			}
		}
	}
	out := []int{}
	for _, l := range right {
		if _, ok := sizes[l]; !ok {
			return nil, fmt.Errorf("output label %q does not appear in any input", l)
		}
		out = append(out, sizes[l])
	}
	// In floating point, because the product of the extents may exceed an int before it is bounded.
	all := 1.0
	for _, s := range sizes {
		all *= float64(s)
	}
	return newSingleResultWithMACs(n, out, int(min(all, 1<<50))), nil
}

// inferRecurrentLayer infers the results of a recurrent operator: the output of every step, the
// last output and, for an LSTM, the last cell state.
func inferRecurrentLayer(n *graph.Node) ([]graph.Result, error) {
	d, err := n.Dims(0)
	if err != nil {
		return nil, err
	}
	w, err := n.Dims(1)
	if err != nil || len(d) != 3 || len(w) != 3 {
		return nil, cmp.Or(err, fmt.Errorf("input has shape %v and weights have shape %v; want 3 axes each", d, w))
	}
	r, err := n.Dims(2)
	if err != nil || len(r) != 3 {
		return nil, cmp.Or(err, fmt.Errorf("recurrence weights have shape %v; want 3 axes", r))
	}
	steps, batch, hidden := d[0], d[1], r[2]
	if size := n.Int("hidden_size", hidden); size != hidden {
		return nil, fmt.Errorf("hidden_size is %d, but recurrence weights have shape %v", size, r)
	}
	y, last := []int{steps, w[0], batch, hidden}, []int{w[0], batch, hidden}
	if n.Int("layout", 0) != 0 {
		steps, batch = batch, steps
		y, last = []int{batch, steps, w[0], hidden}, []int{batch, w[0], hidden}
	}
	macs := int(min(float64(steps)*float64(batch)*float64(graph.Elements(w)+graph.Elements(r)), 1<<50))
	e := n.Type(0)
	return []graph.Result{{Dims: y, Type: e, MACs: macs}, {Dims: last, Type: e}, {Dims: last, Type: e}}, nil
}
