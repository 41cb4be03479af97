package settle

import (
	"fmt"

	"anesim/loader/network/graph"
)

// skipNormExpander returns a function that rewrites a norm of a sum: nodes add the first two inputs
// and an optional bias, and op normalizes the sum. The sum is also the node's fourth result, if
// that is read.
func skipNormExpander(op string) func(e *expansion) error {
	return func(e *expansion) error {
		gamma, beta, bias := e.input(2), e.input(3), e.input(4)
		if op != "LayerNormalization" {
			beta, bias = nil, e.input(3)
		}
		var name *graph.Value
		if !bias.Given() {
			name = e.output(3)
		}
		sum, err := e.emit(name, "Add", nil, e.input(0), e.input(1))
		if err == nil && bias.Given() {
			sum, err = e.emit(e.output(3), "Add", nil, sum, bias)
		}
		if err != nil {
			return err
		}
		in := []*graph.Value{sum, gamma}
		if beta.Given() {
			in = append(in, beta)
		}
		_, err = e.emit(e.output(0), op, attributes{"axis": intAttr(-1), "epsilon": floatAttr(float64(e.Float("epsilon", 1e-12)))}, in...)
		return err
	}
}

// expandEmbedNorm rewrites an EmbedLayerNormalization: nodes look up the embeddings of words,
// positions and segments, add them, and normalize the sum. The second result counts the ones in
// each row of the mask.
func expandEmbedNorm(e *expansion) error {
	ids := e.input(0).Dims
	if len(ids) != 2 {
		return fmt.Errorf("ids have shape %v; want 2 axes", ids)
	}
	sum, err := e.emit(nil, "Gather", nil, e.input(2), e.input(0))
	if err != nil {
		return err
	}
	add := func(table, places *graph.Value) error {
		row, err := e.emit(nil, "Gather", nil, table, places)
		if err == nil {
			sum, err = e.emit(nil, "Add", nil, sum, row)
		}
		return err
	}
	places := e.input(8)
	if !places.Given() {
		row := make([]int, ids[1])
		for i := range row {
			row[i] = i
		}
		places = e.newInts(row...)
		places.Set(places.Const.As([]int{1, ids[1]}))
	}
	if err := add(e.input(3), places); err != nil {
		return err
	}
	if e.input(4).Given() && e.input(1).Given() {
		if err := add(e.input(4), e.input(1)); err != nil {
			return err
		}
	}
	if out := e.output(2); out.Given() {
		if sum, err = e.emit(out, "Identity", nil, sum); err != nil {
			return err
		}
	}
	norm := attributes{"axis": intAttr(-1), "epsilon": floatAttr(float64(e.Float("epsilon", 1e-12)))}
	if _, err := e.emit(e.output(0), "LayerNormalization", norm, sum, e.input(5), e.input(6)); err != nil {
		return err
	}
	switch out, mask := e.output(1), e.input(7); {
	case !out.Given():
	case !mask.Given():
		out.Set(&graph.Const{Dims: []int{ids[0]}, Type: graph.Int32, Numbers: make([]float64, ids[0])})
	default:
		_, err = e.emit(out, "ReduceSum", attributes{"keepdims": intAttr(0)}, mask, e.newInts(1))
	}
	return err
}

// expandGroupNorm rewrites Microsoft's GroupNorm as a GroupNormalization and, if the attribute
// activation is set, a Swish. Transposes around the norm move the channels from the last axis and
// back, unless the attribute channels_last is 0.
func expandGroupNorm(e *expansion) error {
	x, last := e.input(0), e.Int("channels_last", 1) != 0
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
	names := [2]*graph.Value{e.input(1), e.input(2)}
	if x, err = e.emit(nil, "GroupNormalization", attributes{
		"epsilon": floatAttr(float64(e.Float("epsilon", 1e-5))), "num_groups": intAttr(e.Int("groups", 1)),
	}, x, names[0], names[1]); err != nil {
		return err
	}
	if e.Int("activation", 0) != 0 {
		if x, err = e.emit(nil, "Swish", nil, x); err != nil {
			return err
		}
	}
	if last {
		_, err = e.emitTranspose(e.output(0), x, 0, 2, 3, 1)
	} else {
		_, err = e.emit(e.output(0), "Identity", nil, x)
	}
	return err
}
