package settle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"anesim/loader/network/graph"
)

// biasedExpander returns a function that rewrites a node as op applied to its first input plus a
// bias. The bias is the second input; without it, op reads the first input alone.
func biasedExpander(op string) func(e *expansion) error {
	return func(e *expansion) error {
		steps := []step{{op, nil, nil}}
		if b := e.input(1); b.Given() {
			steps = append([]step{{"Add", nil, []*graph.Value{nil, b}}}, steps...)
		}
		_, err := e.emitChain(e.output(0), e.input(0), steps...)
		return err
	}
}

// expandBiasAdd rewrites a BiasAdd as two nodes that compute x + bias + skip.
func expandBiasAdd(e *expansion) error {
	_, err := e.emitChain(e.output(0), e.input(0), step{"Add", nil, []*graph.Value{nil, e.input(1)}}, step{"Add", nil, []*graph.Value{nil, e.input(2)}})
	return err
}

func expandBiasSoftmax(e *expansion) error {
	if e.Int("is_inner_broadcast", 0) == 0 && !slices.Equal(e.input(0).Dims, e.input(1).Dims) {
		return fmt.Errorf("bias shape %v must equal input shape %v unless is_inner_broadcast is set", e.input(1).Dims, e.input(0).Dims)
	}
	_, err := e.emitChain(e.output(0), e.input(0), step{"Add", nil, []*graph.Value{nil, e.input(1)}}, step{"Softmax", attributes{"axis": intAttr(e.Int("axis", 1))}, nil})
	return err
}

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

// expandLpPool rewrites an LpPool by means of an AveragePool multiplied by the size of the window.
// For p=1 the nodes sum magnitudes; for p=2 they take the square root of a sum of squares. It
// returns an error for any other p.
func expandLpPool(e *expansion) error {
	taps, ok, err := e.List("kernel_shape", -1)
	if err != nil || !ok {
		return cmp.Or(err, errors.New("kernel_shape is missing"))
	}
	p := e.Int("p", 2)
	a := e.attrsWithout("p")
	a["count_include_pad"] = intAttr(1)
	sum := []step{{"AveragePool", a, nil}, {"Mul", nil, []*graph.Value{nil, e.newNumber(float64(graph.Elements(taps)))}}}
	x := e.input(0)
	switch p {
	case 1:
		_, err = e.emitChain(e.output(0), x, append([]step{{"Abs", nil, nil}}, sum...)...)
	case 2:
		_, err = e.emitChain(e.output(0), x, append(append([]step{{"Mul", nil, []*graph.Value{nil, nil}}}, sum...), step{"Sqrt", nil, nil})...)
	default:
		err = fmt.Errorf("unsupported p=%d; want 1 or 2", p)
	}
	return err
}
