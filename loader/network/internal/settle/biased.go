package settle

import (
	"fmt"
	"slices"

	"anesim/loader/network/internal/graph"
)

// newBiasedExpander returns a function that rewrites a node as op applied to its first input plus a
// bias. The bias is the second input; without it, op reads the first input alone.
func newBiasedExpander(op string) func(e *expansion) error {
	return func(e *expansion) error {
		steps := []step{{op, nil, nil}}
		if b := e.inputTensor(1); b.Given() {
			steps = append([]step{{"Add", nil, []*graph.Value{nil, b}}}, steps...)
		}
		_, err := e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), steps...)
		return err
	}
}

// expandBiasAdd rewrites a BiasAdd as two nodes that compute x + bias + skip.
func expandBiasAdd(e *expansion) error {
	_, err := e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), step{"Add", nil, []*graph.Value{nil, e.inputTensor(1)}}, step{"Add", nil, []*graph.Value{nil, e.inputTensor(2)}})
	return err
}

func expandBiasSoftmax(e *expansion) error {
	if e.Int("is_inner_broadcast", 0) == 0 && !slices.Equal(e.inputTensor(0).Dims, e.inputTensor(1).Dims) {
		return fmt.Errorf("bias shape %v must equal input shape %v unless is_inner_broadcast is set", e.inputTensor(1).Dims, e.inputTensor(0).Dims)
	}
	_, err := e.emitNodeChain(e.outputTensor(0), e.inputTensor(0), step{"Add", nil, []*graph.Value{nil, e.inputTensor(1)}}, step{"Softmax", attributes{"axis": newIntAttr(e.Int("axis", 1))}, nil})
	return err
}
