package settle

import (
	"fmt"

	"anesim/internal/network/graph"
)

// newSkipNormExpander returns a function that rewrites a norm of a sum: nodes add the first two
// inputs and an optional bias, and op normalizes the sum. The sum is also the node's fourth result,
// if that is read.
func newSkipNormExpander(op string) func(e *expansion) error {
	return func(e *expansion) error {
		gamma, beta, bias := e.inputTensor(2), (*graph.Value)(nil), e.inputTensor(3)
		if op == "LayerNormalization" {
			beta, bias = bias, e.inputTensor(4)
		}
		var name *graph.Value
		if !bias.Given() {
			name = e.outputTensor(3)
		}
		sum, err := e.emitNode(name, "Add", nil, e.inputTensor(0), e.inputTensor(1))
		if err == nil && bias.Given() {
			sum, err = e.emitNode(e.outputTensor(3), "Add", nil, sum, bias)
		}
		if err != nil {
			return err
		}
		in := []*graph.Value{sum, gamma}
		if beta.Given() {
			in = append(in, beta)
		}
		_, err = e.emitNode(e.outputTensor(0), op, attributes{"axis": newIntAttr(-1), "epsilon": newFloatAttr(float64(e.Float("epsilon", 1e-12)))}, in...)
		return err
	}
}

// expandEmbedNorm rewrites an EmbedLayerNormalization: nodes look up the embeddings of words,
// positions and segments, add them, and normalize the sum. The second result counts the ones in
// each row of the mask.
func expandEmbedNorm(e *expansion) error {
	ids := e.inputTensor(0).Dims
	if len(ids) != 2 {
		return fmt.Errorf("input_ids has shape %v; want 2 axes", ids)
	}
	sum, err := e.emitNode(nil, "Gather", nil, e.inputTensor(2), e.inputTensor(0))
	if err != nil {
		return err
	}
	add := func(table, places *graph.Value) error {
		row, err := e.emitNode(nil, "Gather", nil, table, places)
		if err == nil {
			sum, err = e.emitNode(nil, "Add", nil, sum, row)
		}
		return err
	}
	places := e.inputTensor(8)
	if !places.Given() {
		row := make([]int, ids[1])
		for i := range row {
			row[i] = i
		}
		places = e.newIntConstant(row...)
		places.Set(places.Const.As([]int{1, ids[1]}))
	}
	if err := add(e.inputTensor(3), places); err != nil {
		return err
	}
	if e.inputTensor(4).Given() && e.inputTensor(1).Given() {
		if err := add(e.inputTensor(4), e.inputTensor(1)); err != nil {
			return err
		}
	}
	// The third result is the sum before the norm, so the sum gets that name.
	if out := e.outputTensor(2); out.Given() {
		if sum, err = e.emitNode(out, "Identity", nil, sum); err != nil {
			return err
		}
	}
	// 1e-12 is the operator's default, smaller than that of LayerNormalization.
	norm := attributes{"axis": newIntAttr(-1), "epsilon": newFloatAttr(float64(e.Float("epsilon", 1e-12)))}
	if _, err := e.emitNode(e.outputTensor(0), "LayerNormalization", norm, sum, e.inputTensor(5), e.inputTensor(6)); err != nil {
		return err
	}
	switch out, mask := e.outputTensor(1), e.inputTensor(7); {
	case !out.Given():
	case !mask.Given():
		out.Set(&graph.Const{Dims: []int{ids[0]}, Type: graph.Int32, Numbers: make([]float64, ids[0])})
	default:
		_, err = e.emitNode(out, "ReduceSum", attributes{"keepdims": newIntAttr(0)}, mask, e.newIntConstant(1))
	}
	return err
}

// expandGroupNorm rewrites Microsoft's GroupNorm as a GroupNormalization and, if the attribute
// activation is set, a Swish. Transposes around the norm move the channels from the last axis and
// back, unless the attribute channels_last is 0.
func expandGroupNorm(e *expansion) error {
	x, last := e.inputTensor(0), e.Int("channels_last", 1) != 0
	var err error
	if last {
		if x, err = e.emitTranspose(nil, x, 0, 3, 1, 2); err != nil {
			return err
		}
	}
	d := x.Dims
	if len(d) != 4 {
		return fmt.Errorf("input has shape %v; want 4 axes", d)
	}
	names := [2]*graph.Value{e.inputTensor(1), e.inputTensor(2)}
	if x, err = e.emitNode(nil, "GroupNormalization", attributes{
		"epsilon": newFloatAttr(float64(e.Float("epsilon", 1e-5))), "num_groups": newIntAttr(e.Int("groups", 1)),
	}, x, names[0], names[1]); err != nil {
		return err
	}
	if e.Int("activation", 0) != 0 {
		if x, err = e.emitNode(nil, "Swish", nil, x); err != nil {
			return err
		}
	}
	if last {
		_, err = e.emitTranspose(e.outputTensor(0), x, 0, 2, 3, 1)
	} else {
		_, err = e.emitNode(e.outputTensor(0), "Identity", nil, x)
	}
	return err
}
