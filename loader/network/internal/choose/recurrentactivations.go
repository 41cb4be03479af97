package choose

import (
	"fmt"
	"slices"

	"anesim/internal/network/graph"
	"anesim/loader/layer"
)

// An activation adds the layers of a function of each element of x.
type activation func(x Operand) (Operand, error)

// defaultActivations returns the names of the functions of a recurrent operator with the given
// number of gates: of its gates, of the candidate or cell input and, for an LSTM, of the cell.
func defaultActivations(gates int) []string {
	return map[int][]string{4: {"Sigmoid", "Tanh", "Tanh"}, 3: {"Sigmoid", "Tanh"}, 1: {"Tanh"}}[gates]
}

// readActivations returns the functions of direction d of a recurrent node. The lists of parameters
// in the attributes activation_alpha and activation_beta have an element for each function that has
// such a parameter, in order. A function without one has ONNX's default. If the node has the
// attribute clip, each function first limits its argument to that magnitude, except the one that an LSTM
// applies to its cell. ONNX's text does not except it; onnxruntime 1.30 does.
func readActivations(n *Chooser, d, gates, directions int) ([]activation, error) {
	names := defaultActivations(gates)
	each := len(names)
	if a := n.Attribute("activations"); a != nil {
		names = a.Texts
	}
	if len(names) == each { // the same functions in both directions
		names = slices.Repeat(names, directions)
	}
	if len(names) != each*directions {
		return nil, fmt.Errorf("attribute \"activations\" has %d functions; want %d", len(names), each*directions)
	}
	alphas, betas := n.floats("activation_alpha"), n.floats("activation_beta")
	var list []activation
	// All directions are read, also if one is wanted, because parameters are consumed in order.
	for i, name := range names {
		f, err := n.newActivation(name, &alphas, &betas)
		if err != nil {
			return nil, err
		}
		if limit := float64(n.Float("clip", 0)); limit > 0 && i%each < 2 {
			inner := f
			f = func(x Operand) (Operand, error) {
				x, err := applyClamp(n, x, -limit, limit)
				if err != nil {
					return x, err
				}
				return inner(x)
			}
		}
		list = append(list, f)
	}
	return list[d*each : (d+1)*each], nil
}

// floats returns the list of numbers in the named attribute, or nil.
func (n *Chooser) floats(name string) []float32 {
	if a := n.Attribute(name); a != nil {
		return a.Floats
	}
	return nil
}

// newActivation returns the function of a recurrent operator that has the given name. It consumes the
// parameters of the function from the front of alphas and betas.
func (n *Chooser) newActivation(name string, alphas, betas *[]float32) (activation, error) {
	next := func(list *[]float32, fallback float64) float64 {
		if len(*list) == 0 {
			return fallback
		}
		v := (*list)[0]
		*list = (*list)[1:]
		return float64(v)
	}
	unary := func(op layer.Op) activation {
		return func(x Operand) (Operand, error) { return n.applyUnaryOp(op, x) }
	}
	// The node of an operator of its own, whose rule adds the layers.
	node := func(build func(n *Chooser, x Operand) (Operand, error), alpha float64) activation {
		// A copy, because the rule reads its attributes from the node, and the recurrent node has others.
		own := *n
		own.Node = &graph.Node{Op: name, Opset: n.Opset, Attr: map[string]*graph.Attr{"alpha": {Float: float32(alpha)}}}
		return func(x Operand) (Operand, error) { return build(&own, x) }
	}
	switch name {
	case "Sigmoid":
		return unary(layer.Sigmoid), nil
	case "Tanh":
		return unary(layer.Tanh), nil
	case "Relu":
		return unary(layer.ReLU), nil
	case "Softplus":
		return func(x Operand) (Operand, error) { return addSoftplusLayer(n, x) }, nil
	case "Softsign":
		return node(addSoftsignLayers, 0), nil
	case "LeakyRelu":
		return node(addLeakyReluLayers, next(alphas, 0.01)), nil
	case "ThresholdedRelu":
		return node(addThresholdedReluLayers, next(alphas, 1)), nil
	case "Elu":
		return node(addEluLayers, next(alphas, 1)), nil
	case "HardSigmoid":
		alpha, beta := next(alphas, 0.2), next(betas, 0.5)
		return func(x Operand) (Operand, error) { return applyHardSigmoid(n, x, alpha, beta) }, nil
	case "Affine":
		alpha, beta := next(alphas, 1), next(betas, 0)
		return func(x Operand) (Operand, error) {
			x, err := n.multiplyByNumber(x, alpha)
			if err != nil {
				return x, err
			}
			return n.addNumber(x, beta)
		}, nil
	case "ScaledTanh":
		alpha, beta := next(alphas, 1), next(betas, 1)
		return func(x Operand) (Operand, error) {
			x, err := n.multiplyByNumber(x, beta)
			if err == nil {
				x, err = n.applyUnaryOp(layer.Tanh, x)
			}
			if err != nil {
				return x, err
			}
			return n.multiplyByNumber(x, alpha)
		}, nil
	}
	return nil, fmt.Errorf("unknown activation %q of a recurrent layer", name)
}
