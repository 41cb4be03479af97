package settle

import (
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
