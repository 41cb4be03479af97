package settle

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
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

// expandBiasSoftmax rewrites a BiasSoftmax as a sum and a Softmax over all elements of the axes from the
// attribute axis on, as onnxruntime computes it. That is the Softmax of operator set 12: from 13 on, it
// takes one axis alone.
func expandBiasSoftmax(e *expansion) error {
	if e.Int("is_inner_broadcast", 0) == 0 && !slices.Equal(e.inputTensor(0).Dims, e.inputTensor(1).Dims) {
		return fmt.Errorf("bias shape %v must equal input shape %v unless is_inner_broadcast is set", e.inputTensor(1).Dims, e.inputTensor(0).Dims)
	}
	sum, err := e.emitNode(nil, "Add", nil, e.inputTensor(0), e.inputTensor(1))
	if err != nil {
		return err
	}
	version := e.Opset
	e.Opset = min(version, 12)
	_, err = e.emitNode(e.outputTensor(0), "Softmax", attributes{"axis": newIntAttr(e.Int("axis", 1))}, sum)
	e.Opset = version
	return err
}
