package settle

import (
	"errors"
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/network/internal/ops"
)

// The number of tensors in a sequence is known while a file is read, as are the positions at which
// nodes read and write them. A sequence is therefore a list of tensors, and the operators on it are
// views, splits and concatenations.

// findSequenceExpander returns the function that rewrites an operator on sequences, or nil.
func findSequenceExpander(op string) func(e *expansion) error {
	switch op {
	case "SequenceConstruct", "SequenceEmpty":
		return expandSequenceConstruct
	case "SequenceInsert":
		return expandSequenceInsert
	case "SequenceErase":
		return expandSequenceErase
	case "SequenceAt":
		return expandSequenceAt
	case "SequenceLength":
		return expandSequenceLength
	case "SplitToSequence":
		return expandSplitToSequence
	case "ConcatFromSequence":
		return expandConcatFromSequence
	case "Optional", "OptionalGetElement":
		return expandOptional
	case "OptionalHasElement":
		return expandOptionalHasElement
	}
	return nil
}

// expandOptional makes the result of an Optional or an OptionalGetElement its input: whether a tensor
// is there is known while the file is read.
func expandOptional(e *expansion) error {
	if !e.Given(0) {
		return errors.New("optional tensor is missing")
	}
	e.body = append(e.body, newAliasNode(e.Out[0], e.Input(0)))
	return nil
}

func expandOptionalHasElement(e *expansion) error {
	e.Out[0].Set(&graph.Const{Type: graph.Bool, Numbers: []float64{graph.Truth(e.Input(0).Given())}})
	return nil
}

// setItems makes v a sequence of the tensors items.
func setItems(v *graph.Value, items []*graph.Value) {
	v.Items = append([]*graph.Value{}, items...) // not nil
	v.Why = fmt.Sprintf("%q is a sequence of %d tensors; want a tensor", v.Name, len(items))
}

// setResultItems makes the result of the node a sequence of the tensors items. The lists of all
// sequences count against the limit of unrolled loops, because a loop may append to a list that long.
func (e *expansion) setResultItems(items []*graph.Value) error {
	const each = 16 // tensors in a list take as much memory as a node, or less
	if e.copied += 1 + len(items)/each; e.copied > maxUnrolled {
		return fmt.Errorf("sequences and unrolled loops have more than %d tensors and nodes", maxUnrolled)
	}
	setItems(e.Out[0], items)
	return nil
}

// sequenceItems returns the tensors of input i of n. It returns an error if the input is not a
// sequence.
func sequenceItems(n *graph.Node, i int) ([]*graph.Value, error) {
	if !n.Given(i) {
		return nil, fmt.Errorf("input %d is missing; want a sequence", i)
	}
	if v := n.Input(i); v.Items == nil {
		return nil, fmt.Errorf("%q is not a sequence of known length", v.Name)
	}
	return n.Input(i).Items, nil
}

// position returns the position that input i of the node holds in a sequence of the given length. A
// negative position counts from the end. The position is at most last; it is last without the input.
func (e *expansion) position(i, length, last int) (int, error) {
	if last < 0 {
		return 0, errors.New("sequence is empty")
	}
	if !e.Given(i) {
		return last, nil
	}
	c := e.Const(i)
	if c == nil {
		return 0, errors.New("position in the sequence is computed; want a constant")
	}
	v, err := c.Scalar()
	if err != nil {
		return 0, err
	}
	if v < 0 {
		v += float64(length)
	}
	if !(v >= 0 && v <= float64(last)) {
		return 0, fmt.Errorf("position %g is outside of a sequence of %d tensors", v, length)
	}
	return int(v), nil
}

func expandSequenceConstruct(e *expansion) error {
	return e.setResultItems(e.AllInputs()) // a SequenceEmpty has no inputs
}

func expandSequenceInsert(e *expansion) error {
	items, err := sequenceItems(e.Node, 0)
	if err != nil {
		return err
	}
	if !e.Given(1) {
		return errors.New("tensor to insert is missing")
	}
	at, err := e.position(2, len(items), len(items))
	if err != nil {
		return err
	}
	return e.setResultItems(slices.Insert(slices.Clone(items), at, e.Input(1)))
}

func expandSequenceErase(e *expansion) error {
	items, err := sequenceItems(e.Node, 0)
	if err != nil {
		return err
	}
	at, err := e.position(1, len(items), len(items)-1)
	if err != nil {
		return err
	}
	return e.setResultItems(slices.Delete(slices.Clone(items), at, at+1))
}

func expandSequenceAt(e *expansion) error {
	items, err := sequenceItems(e.Node, 0)
	if err != nil {
		return err
	}
	if !e.Given(1) {
		return errors.New("position in the sequence is missing")
	}
	at, err := e.position(1, len(items), len(items)-1)
	if err == nil {
		e.body = append(e.body, newAliasNode(e.Out[0], items[at]))
	}
	return err
}

func expandSequenceLength(e *expansion) error {
	items, err := sequenceItems(e.Node, 0)
	if err == nil {
		e.Out[0].Set(&graph.Const{Type: graph.Int64, Numbers: []float64{float64(len(items))}})
	}
	return err
}

// expandSplitToSequence rewrites a SplitToSequence as a Split. Its input split is the extent of all
// parts but the last, which may be shorter, or a list of extents. Without it, all parts have extent
// 1, and keepdims says whether they keep the axis.
func expandSplitToSequence(e *expansion) error {
	d, err := e.Dims(0)
	if err != nil {
		return err
	}
	axis, err := ops.Axis(len(d), e.Int("axis", 0))
	if err != nil {
		return err
	}
	sizes, err := e.splitSizes(d[axis])
	if err != nil {
		return err
	}
	// Each part becomes a tensor of the graph, and their number is data of the file.
	if e.copied += len(sizes); e.copied > maxUnrolled {
		return fmt.Errorf("sequences and unrolled loops have more than %d tensors and nodes", maxUnrolled)
	}
	parts := []*graph.Value{e.inputTensor(0)}
	if len(sizes) != 1 {
		parts, err = e.emitMultiResultNode(make([]*graph.Value, len(sizes)), "", "Split", attributes{"axis": newIntAttr(axis), "split": newIntsAttr(sizes...)}, e.Input(0))
		if err != nil {
			return err
		}
	}
	if !e.Given(1) && e.Int("keepdims", 1) == 0 {
		for i, v := range parts {
			if parts[i], err = e.emitNode(nil, "Squeeze", attributes{"axes": newIntsAttr(axis)}, v); err != nil {
				return err
			}
		}
	}
	setItems(e.Out[0], parts)
	return nil
}

// splitSizes returns the extents into which a SplitToSequence divides an axis of the given extent.
func (e *expansion) splitSizes(extent int) ([]int, error) {
	if !e.Given(1) {
		return slices.Repeat([]int{1}, min(extent, maxUnrolled+1)), nil
	}
	c := e.Const(1)
	if c == nil {
		return nil, errors.New("sizes of the parts are computed; want constants")
	}
	v, err := c.Ints()
	if err != nil || len(c.Dims) > 0 {
		return v, err
	}
	each := v[0]
	if each < 1 {
		return nil, fmt.Errorf("parts have extent %d; want at least 1", each)
	}
	sizes := slices.Repeat([]int{each}, min(extent/each, maxUnrolled+1))
	if rest := extent % each; rest > 0 {
		sizes = append(sizes, rest)
	}
	return sizes, nil
}

// expandConcatFromSequence rewrites a ConcatFromSequence as a Concat, along a new axis if new_axis
// is set.
func expandConcatFromSequence(e *expansion) error {
	items, err := sequenceItems(e.Node, 0)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return errors.New("sequence is empty; want at least 1 tensor")
	}
	items = slices.Clone(items)
	if e.Int("new_axis", 0) != 0 {
		for i, v := range items {
			if items[i], err = e.emitNode(nil, "Unsqueeze", attributes{"axes": newIntsAttr(e.Int("axis", 0))}, v); err != nil {
				return err
			}
		}
	}
	if len(items) == 1 {
		e.body = append(e.body, newAliasNode(e.Out[0], items[0]))
		return nil
	}
	_, err = e.emitNode(e.Out[0], "Concat", attributes{"axis": newIntAttr(e.Int("axis", 0))}, items...)
	return err
}
