package settle

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
)

// Losses of training are part of files that were exported with it. They are sums over the classes of
// products with a one at the place of each label.

// expandNegativeLogLikelihood rewrites a NegativeLogLikelihoodLoss of log-probabilities.
func expandNegativeLogLikelihood(e *expansion) error {
	return e.emitLoss(e.inputTensor(0))
}

// expandSoftmaxCrossEntropy rewrites a SoftmaxCrossEntropyLoss as a LogSoftmax over the classes and the
// loss of its result.
func expandSoftmaxCrossEntropy(e *expansion) error {
	log, err := e.emitNode(e.outputTensor(1), "LogSoftmax", attributes{"axis": newIntAttr(1)}, e.inputTensor(0))
	if err != nil {
		return err
	}
	return e.emitLoss(log)
}

// emitLoss emits the loss of the log-probabilities x, of shape N, C and more axes, for the labels in the
// second input. The third input has the weights of the classes. A label equal to ignore_index has none.
func (e *expansion) emitLoss(x *graph.Value) error {
	d := x.Dims
	labels := e.inputTensor(1)
	if len(d) < 2 || !slices.Equal(labels.Dims, slices.Delete(slices.Clone(d), 1, 2)) {
		return fmt.Errorf("scores and labels have shapes %v and %v; want the labels to lack the second axis of the scores", d, labels.Dims)
	}
	classes := d[1]
	ignored := e.Attribute("ignore_index") != nil
	if ignored {
		same, err := e.emitNode(nil, "Equal", nil, labels, e.newLabel(labels.Type, e.Int("ignore_index", 0)))
		if err == nil {
			labels, err = e.emitNode(nil, "Where", nil, same, e.newLabel(labels.Type, classes), labels) // beyond the last class
		}
		if err != nil {
			return err
		}
	}
	values := e.newFloatConstant([]int{2}, []float64{0, 1})
	if x.Type != 0 {
		values.Const.Type, values.Type = x.Type, x.Type
	}
	// A one-hot mask and a product take the place of a gather: the engine multiplies, and cannot index.
	hot, err := e.emitNode(nil, "OneHot", attributes{"axis": newIntAttr(1)}, labels, e.newIntConstant(classes), values)
	if err != nil {
		return err
	}
	weights := e.inputTensor(2)
	if weights.Given() {
		if graph.Elements(weights.Dims) != classes {
			return fmt.Errorf("weight has shape %v; want one for each of %d classes", weights.Dims, classes)
		}
		shape := slices.Repeat([]int{1}, len(d))
		shape[1] = classes
		w, err := e.emitReshape(nil, weights, shape...)
		if err == nil {
			hot, err = e.emitNode(nil, "Mul", nil, hot, w)
		}
		if err != nil {
			return err
		}
	}
	overClasses := attributes{"axes": newIntsAttr(1), "keepdims": newIntAttr(0)}
	y, err := e.emitNodeChain(nil, hot, step{"Neg", nil, nil}, step{"Mul", nil, []*graph.Value{nil, x}})
	if err != nil {
		return err
	}
	whole := attributes{"keepdims": newIntAttr(0)}
	switch kind := e.Text("reduction", "mean"); {
	case kind == "none":
		_, err = e.emitNode(e.outputTensor(0), "ReduceSum", overClasses, y)
	case kind == "sum":
		_, err = e.emitNode(e.outputTensor(0), "ReduceSum", whole, y)
	// All labels count alike, so the mean needs no sum of weights and no division.
	case kind == "mean" && !ignored && !weights.Given():
		_, err = e.emitNodeChain(e.outputTensor(0), y, step{"ReduceSum", overClasses, nil}, step{"ReduceMean", whole, nil})
	case kind == "mean":
		var sum, all *graph.Value
		if sum, err = e.emitNode(nil, "ReduceSum", whole, y); err == nil {
			if all, err = e.emitNode(nil, "ReduceSum", whole, hot); err == nil {
				_, err = e.emitNode(e.outputTensor(0), "Div", nil, sum, all)
			}
		}
	default:
		return fmt.Errorf("reduction %q is unknown; want none, sum or mean", kind)
	}
	return err
}

// newLabel returns a constant label of type t.
func (e *expansion) newLabel(t graph.Type, v int) *graph.Value {
	return e.newConstant(&graph.Const{Type: t, Numbers: []float64{float64(v)}})
}
