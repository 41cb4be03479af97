package network

import (
	"fmt"
	"slices"

	"anesim/loader/network/graph"
)

// Some results have a size that depends on values: the boxes that a NonMaxSuppression keeps,
// the places that a NonZero finds. The engine's programs have fixed shapes, so the host
// computes such a result and what reads it, each in the size that it has in this run.
//
// Reading a graph needs no more than bounds. The dims of such a tensor are the largest that
// it can have; least has the smallest. The elements of what is computed from these extents,
// such as the shape for a Reshape, have bounds as well, in between.

// A span is the least and the largest value of every element of a tensor.
type span struct{ low, high *graph.Const }

// spread is what is known of a result whose extents or elements depend on values.
type spread struct {
	least []int // nil if the extents are always the same
	span  *span // nil if the elements have no known bounds
}

// dynamicAxis returns the axis of result i whose extent depends on the values that the node
// reads, -1 if there is none.
func (n *nodeReader) dynamicAxis(i int) int {
	switch n.Op {
	case "NonMaxSuppression":
		return 0
	case "NonZero":
		return 1
	case "Compress":
		if n.Attributes["axis"] == nil {
			return 0
		}
		if axis, err := n.axisOf(len(n.results[i].dims), n.int("axis", 0)); err == nil {
			return axis
		}
	case "Unique":
		if i == 2 {
			return -1
		}
		if i > 0 || n.Attributes["axis"] == nil {
			return 0
		}
		if axis, err := n.axisOf(len(n.results[i].dims), n.int("axis", 0)); err == nil {
			return axis
		}
	}
	return -1
}

// originates reports whether the operator gives results whose size depends on values.
func (n *nodeReader) originates() bool {
	switch n.Op {
	case "NonMaxSuppression", "NonZero", "Compress", "Unique":
		return true
	}
	return n.cutsByValues()
}

// cutsByValues reports whether the node keeps a part of its first input whose size is computed
// and has no known bounds but that input's size.
func (n *nodeReader) cutsByValues() bool {
	computed := func(i int) bool {
		return n.given(i) && n.constant(i) == nil && n.between[n.Inputs[i]] == nil
	}
	switch n.Op {
	case "Slice":
		return len(n.Inputs) > 2 && (computed(1) || computed(2)) && !computed(3) && !computed(4)
	case "TopK":
		return computed(1)
	}
	return false
}

// dynamic reports whether the node reads or makes a tensor whose size depends on values, or
// reads elements that are made of such sizes.
func (n *nodeReader) dynamic() bool {
	return n.originates() || slices.ContainsFunc(n.Inputs, func(name string) bool {
		return n.least[name] != nil || n.between[name] != nil
	})
}

// host returns why the host computes the node if it does so because a size depends on values,
// and whether the node is a constant instead, as the extent of an axis that is always the same
// is. Where the host has no function for the node both are zero: the engine reads the operand
// in its largest shape, filled with zeros.
func (n *nodeReader) host() (why error, constant bool) {
	if !n.dynamic() || n.sizedFolder() == nil || slices.ContainsFunc(n.Inputs, func(name string) bool { return n.smaller[name] > 1 }) {
		return nil, false
	}
	if !slices.ContainsFunc(n.Inputs, func(name string) bool { return name != "" && n.constants[name] == nil }) {
		return nil, false // constants, which fold refused for a reason of its own
	}
	if err := n.bound(); err != nil {
		n.spreads = nil
		return err, false
	}
	for i, s := range n.spreads {
		if e := graph.Elements(n.results[i].dims); e == 0 || e > mostStaged {
			n.spreads = nil
			return nil, false
		}
		constant = i == 0 && s.span != nil && slices.Equal(s.span.low.Numbers, s.span.high.Numbers)
	}
	if constant && len(n.spreads) == 1 {
		return nil, n.keep(n.spreads[0].span.low) == nil
	}
	for i, name := range n.Outputs {
		if i < len(n.spreads) && n.spreads[i].least != nil && n.originates() {
			n.note("%s: the size of %q depends on values; the time is that of the largest, %v", n.name, name, n.results[i].dims)
			break
		}
	}
	for _, name := range n.Inputs {
		if n.least[name] != nil {
			return fmt.Errorf("the size of %q depends on values; the host does it", name), false
		}
	}
	if n.originates() {
		return fmt.Errorf("the size of its result depends on values; the host does it"), false
	}
	return fmt.Errorf("it reads sizes that depend on values; the host does it"), false
}

// corners calls visit with the node's inputs at their bounds: first with all of them at their
// largest, then with every combination of least and largest, or, of many inputs, with all of
// them at their least.
func (n *nodeReader) corners(visit func()) {
	const most = 4 // inputs whose combinations are tried
	dims, held := map[string][]int{}, map[string]*graph.Const{}
	var spans []string
	for _, name := range n.Inputs {
		if n.least[name] != nil {
			dims[name] = n.dims[name]
		}
		if c, ok := n.constants[name]; n.between[name] != nil && !slices.Contains(spans, name) {
			if spans = append(spans, name); ok {
				held[name] = c
			}
		}
	}
	defer func() {
		for name, d := range dims {
			n.dims[name] = d
		}
		for _, name := range spans {
			if delete(n.constants, name); held[name] != nil {
				n.constants[name] = held[name]
			}
		}
	}()
	last := 1<<(1+len(spans)) - 1
	for c := 0; c <= last; c++ {
		if len(spans) > most {
			c = last * min(c, 1)
		}
		if len(dims) == 0 && c&1 != 0 && c != last {
			continue
		}
		for name, d := range dims {
			if n.dims[name] = d; c&1 != 0 {
				n.dims[name] = n.least[name]
			}
		}
		for i, name := range spans {
			if n.constants[name] = n.between[name].high; c>>(1+i)&1 != 0 {
				n.constants[name] = n.between[name].low
			}
		}
		visit()
	}
}

// bound infers the largest shapes of the node's results, which are n.results then, and what
// else is known of them, n.spreads.
func (n *nodeReader) bound() error {
	var least, most []result
	var failed error // of the largest inputs
	loose := false   // whether nothing is known of the least extents
	n.corners(func() {
		switch err := n.infer(); {
		case err != nil && most == nil && failed == nil && !loose:
			failed = err
		case err != nil:
			loose = true
		case most == nil:
			most, least = cloned(n.results), cloned(n.results)
		default:
			loose = !widen(least, most, n.results) || loose
		}
	})
	if most == nil && n.cutsByValues() {
		if d, err := n.operandDims(0); err == nil {
			most, failed = n.largestCut(d), nil
			least = cloned(most)
		}
	}
	if most == nil {
		return failed
	}
	n.results, n.spreads = most, make([]spread, len(most))
	for i := range most {
		switch axis := n.dynamicAxis(i); {
		case loose || failed != nil || n.cutsByValues():
			clear(least[i].dims)
		case axis >= 0:
			least[i].dims[axis] = 0
		}
		if !slices.Equal(least[i].dims, most[i].dims) {
			n.spreads[i].least = least[i].dims
		}
	}
	n.boundElements()
	return nil
}

// largestCut are the results of a node that keeps a part of a tensor of dims d.
func (n *nodeReader) largestCut(d []int) []result {
	r := n.of(slices.Clone(d))
	if n.Op == "TopK" {
		r = append(r, result{slices.Clone(d), graph.Int64})
	}
	return r
}

func cloned(list []result) []result {
	out := slices.Clone(list)
	for i := range out {
		out[i].dims = slices.Clone(out[i].dims)
	}
	return out
}

// widen makes least and most bounds of further results, and reports whether they are: not of
// results with another number of axes.
func widen(least, most, more []result) bool {
	if len(more) != len(most) {
		return false
	}
	for i, r := range more {
		if len(r.dims) != len(most[i].dims) {
			return false
		}
		for k, d := range r.dims {
			least[i].dims[k], most[i].dims[k] = min(least[i].dims[k], d), max(most[i].dims[k], d)
		}
	}
	return true
}

// mostBounded is the most elements of a tensor whose elements' bounds are kept: shapes and
// sizes are far smaller.
const mostBounded = 256

// boundElements gives the result's elements bounds if they are made of sizes that depend on
// values by an operator whose result rises or falls with each of its operands.
func (n *nodeReader) boundElements() {
	r := n.results[0]
	if len(n.results) != 1 || n.spreads[0].least != nil || graph.Elements(r.dims) > mostBounded || !n.monotone() {
		return
	}
	var s *span
	sound := true
	results := n.results
	n.corners(func() {
		if !sound || n.infer() != nil || !slices.Equal(n.results[0].dims, r.dims) {
			sound = false
			return
		}
		c, err := n.sizedFolder()(n)
		if err != nil || len(c) != 1 {
			sound = false
			return
		}
		v, err := c[0].Values()
		switch {
		case err != nil || len(v) != graph.Elements(r.dims) || slices.ContainsFunc(v, func(x float64) bool { return x != x }):
			sound = false
		case s == nil:
			low, high := *c[0], *c[0]
			low.Numbers, high.Numbers = slices.Clone(v), slices.Clone(v)
			low.Half, low.Source, high.Half, high.Source = nil, nil, nil, nil
			s = &span{&low, &high}
		default:
			for i, x := range v {
				s.low.Numbers[i], s.high.Numbers[i] = min(s.low.Numbers[i], x), max(s.high.Numbers[i], x)
			}
		}
	})
	n.results = results
	if sound {
		n.spreads[0].span = s
	}
}

// monotone reports whether bounds of the node's elements follow from those of its operands:
// these are constants or have bounds, and the operator rises or falls with each of them.
func (n *nodeReader) monotone() bool {
	switch n.Op {
	case "Shape", "Size":
		return true
	}
	first := 1 // operands that may have bounds; the others are constants
	switch n.Op {
	case "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast", "Gather", "Slice", "Transpose", "Expand", "Tile",
		"Neg", "Floor", "Ceil", "Round", "Sqrt", "Clip", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd":
	case "Add", "Sub", "Mul", "Div", "Max", "Min", "Concat":
		first = len(n.Inputs)
	default:
		return false
	}
	for i, name := range n.Inputs {
		if name != "" && n.constants[name] == nil && (i >= first || n.between[name] == nil) {
			return false
		}
	}
	return true
}

// varies notes what is known of the node's results, which the host computes.
func (n *nodeReader) varies() {
	for i, s := range n.spreads {
		if i >= len(n.Outputs) || n.Outputs[i] == "" {
			continue
		}
		if s.least != nil {
			n.least[n.Outputs[i]] = s.least
		}
		if s.span != nil {
			n.between[n.Outputs[i]] = s.span
		}
	}
}

// atLargest calls read with the node's inputs taken in their largest shapes, as the engine
// reads them.
func (n *nodeReader) atLargest(read func() error) error {
	held := map[string][]int{}
	for _, name := range n.Inputs {
		if d := n.least[name]; d != nil {
			held[name] = d
			n.filled[name] = true
			delete(n.least, name)
		}
	}
	defer func() {
		for name, d := range held {
			n.least[name] = d
			delete(n.filled, name)
		}
	}()
	return read()
}

// noteFilled says which layers of the engine read a tensor whose size depends on values.
func (r *graphReader) noteFilled() {
	for i := range r.net.Layers {
		l := &r.net.Layers[i]
		if l.Reason != "" {
			continue
		}
		for k, name := range l.Inputs {
			least := r.least[name]
			if least == nil || r.net.Cuts[name] != nil || slices.Contains(l.Inputs[:k], name) {
				continue
			}
			axis, dims := 0, r.dims[name]
			for axis+1 < len(dims) && least[axis] == dims[axis] {
				axis++
			}
			what := "and are left out of results"
			if r.mixed[name] {
				what = "and count as values"
			}
			r.note("layer %s: the engine reads %q with as many rows as there may be, %d along axis %d of %v; rows beyond the actual number are zeros, %s", l.Name, name, dims[axis], axis, dims, what)
		}
	}
}
