package reference

import (
	"fmt"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// sequenceOperators has the operators on sequences of tensors.
var sequenceOperators = map[string]operator{
	"SequenceConstruct": {1, wrapSingleResult(func(c *call) (*tensor.Tensor, error) { return newSequence(c.in...), nil })},
	"SequenceEmpty":     {0, wrapSingleResult(func(c *call) (*tensor.Tensor, error) { return newSequence(), nil })},
	"SequenceInsert":    {2, wrapSingleResult(insertIntoSequence)}, "SequenceErase": {1, wrapSingleResult(eraseFromSequence)},
	"SequenceAt": {2, wrapSingleResult(elementOfSequence)}, "SequenceLength": {1, wrapSingleResult(lengthOfSequence)},
	"SplitToSequence": {1, wrapSingleResult(splitToSequence)}, "ConcatFromSequence": {1, wrapSingleResult(concatenateSequence)},
	"SequenceMap": {1, mapSequence},
	"Optional":    {1, wrapSingleResult(returnFirstInput)}, "OptionalGetElement": {1, wrapSingleResult(returnFirstInput)},
	"OptionalHasElement": {0, wrapSingleResult(func(c *call) (*tensor.Tensor, error) {
		return tensor.NewScalar(onnx.Bool, tensor.BoolToFloat(c.inputTensor(0) != nil)), nil
	})},
}

func returnFirstInput(c *call) (*tensor.Tensor, error) { return c.in[0], nil }

func newSequence(items ...*tensor.Tensor) *tensor.Tensor {
	return &tensor.Tensor{Dims: []int{0}, Items: append([]*tensor.Tensor{}, items...)}
}

// sequencePosition returns the position that input i holds. A negative one counts from the end of a
// sequence of the given length. The position is at most last; it is last without the input.
func (c *call) sequencePosition(i, length, last int) (int, error) {
	t := c.inputTensor(i)
	if last < 0 {
		return 0, fmt.Errorf("sequence is empty")
	}
	if t == nil {
		return last, nil
	}
	if len(t.Data) != 1 {
		return 0, fmt.Errorf("position has shape %v; want a scalar", t.Dims)
	}
	at := t.ToInts()[0]
	if at < 0 {
		at += length
	}
	if at < 0 || at > last {
		return 0, fmt.Errorf("position %d is out of range for a sequence of %d tensors", at, length)
	}
	return at, nil
}

func insertIntoSequence(c *call) (*tensor.Tensor, error) {
	items := c.in[0].Items
	at, err := c.sequencePosition(2, len(items), len(items))
	if err != nil {
		return nil, err
	}
	return newSequence(slices.Insert(slices.Clone(items), at, c.in[1])...), nil
}

func eraseFromSequence(c *call) (*tensor.Tensor, error) {
	items := c.in[0].Items
	at, err := c.sequencePosition(1, len(items), len(items)-1)
	if err != nil {
		return nil, err
	}
	return newSequence(slices.Delete(slices.Clone(items), at, at+1)...), nil
}

func elementOfSequence(c *call) (*tensor.Tensor, error) {
	items := c.in[0].Items
	at, err := c.sequencePosition(1, len(items), len(items)-1)
	if err != nil {
		return nil, err
	}
	return items[at], nil
}

func lengthOfSequence(c *call) (*tensor.Tensor, error) {
	return tensor.NewVector(len(c.in[0].Items)).Reshape()
}

// splitToSequence computes the operator SplitToSequence. A scalar split is the extent of every part,
// though the last may be shorter. A list has the extent of each part. Without it, every part is one
// slice, whose axis keepdims keeps.
func splitToSequence(c *call) (*tensor.Tensor, error) {
	x := c.in[0]
	axis, err := tensor.ResolveAxis(c.intAttribute("axis", 0), len(x.Dims))
	if err != nil {
		return nil, err
	}
	var sizes []int
	split := c.inputTensor(1)
	switch {
	case split == nil:
		sizes = slices.Repeat([]int{1}, x.Dims[axis])
	case len(split.Dims) > 0:
		sizes = split.ToInts()
	default:
		each := split.ToInts()[0]
		if each < 1 {
			return nil, fmt.Errorf("split is %d; want at least 1", each)
		}
		for rest := x.Dims[axis]; rest > 0; rest -= each {
			sizes = append(sizes, min(each, rest))
		}
	}
	out, start := newSequence(), 0
	for _, size := range sizes {
		if size < 0 || size > x.Dims[axis]-start {
			return nil, fmt.Errorf("parts %v do not fit %d slices", sizes, x.Dims[axis])
		}
		part, err := x.SliceRange(axis, start, start+size)
		if err != nil {
			return nil, err
		}
		// keepdims is ignored if a split is given, as the operator's definition says.
		if split == nil && c.intAttribute("keepdims", 1) == 0 {
			if part, err = part.DropAxes([]int{axis}); err != nil {
				return nil, err
			}
		}
		out.Items, start = append(out.Items, part), start+size
	}
	if start != x.Dims[axis] {
		return nil, fmt.Errorf("parts have %d slices in all; want %d", start, x.Dims[axis])
	}
	return out, nil
}

func concatenateSequence(c *call) (*tensor.Tensor, error) {
	items, axis := c.in[0].Items, c.intAttribute("axis", 0)
	if c.flagAttribute("new_axis") {
		var one [][]*tensor.Tensor
		for _, t := range items {
			one = append(one, []*tensor.Tensor{t})
		}
		return stackIterations(one, 0, axis, false)
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("sequence is empty; want at least 1 tensor")
	}
	axis, err := tensor.ResolveAxis(axis, len(items[0].Dims))
	if err != nil {
		return nil, err
	}
	return tensor.Concatenate(items, axis)
}

// mapSequence computes the operator SequenceMap: it runs the body for each element of the sequences
// among its inputs, and collects its outputs in sequences.
func mapSequence(c *call) ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(c.node.Outputs))
	for i := range out {
		out[i] = newSequence()
	}
	for i := range c.in[0].Items {
		in := slices.Clone(c.in)
		for k, t := range in {
			if t == nil || t.Items == nil {
				continue
			}
			if i >= len(t.Items) {
				return nil, fmt.Errorf("input %d has %d tensors; want %d", k, len(t.Items), len(c.in[0].Items))
			}
			in[k] = t.Items[i]
		}
		results, err := c.runBody("body", in...)
		if err != nil {
			return nil, err
		}
		if len(results) < len(out) {
			return nil, fmt.Errorf("body has %d outputs; want %d", len(results), len(out))
		}
		for k := range out {
			out[k].Items = append(out[k].Items, results[k])
		}
	}
	return out, nil
}
