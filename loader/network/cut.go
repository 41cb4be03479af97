package network

import (
	"fmt"
	"slices"
)

// A Cut is a tensor that the engine makes of one whose size depends on values: as it has its
// largest shape there, what is of zeros beyond the actual rows is to be left out.
type Cut struct {
	Dims   []int    // the largest shape
	Inputs []string // tensors that the actual shape depends on
	stage  *Stage
	index  int // among the node's results
}

// Largest returns the largest shape of the k-th of Inputs.
func (c *Cut) Largest(k int) []int {
	for _, in := range c.stage.inputs {
		if in.index == k {
			return in.dims
		}
	}
	return nil
}

// Shape returns the actual shape for inputs of the actual shapes dims.
func (c *Cut) Shape(dims [][]int) ([]int, error) {
	n, err := c.stage.reader(nil, dims)
	if err == nil {
		err = n.infer()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", c.stage.name, err)
	case c.index >= len(n.results):
		return nil, fmt.Errorf("%s: no result %d", c.stage.name, c.index)
	}
	return n.results[c.index].dims, nil
}

// rowByRow reports whether no element of the node's results depends on elements elsewhere along
// the axes that vary, so that zeros beyond the actual rows spoil none.
func (n *nodeReader) rowByRow() bool {
	for i, name := range n.Inputs {
		least, dims := n.least[name], n.dims[name]
		for axis := range least {
			if least[axis] != dims[axis] && !n.apart(i, axis, len(dims)) {
				return false
			}
		}
	}
	return true
}

// apart reports whether the node treats elements along an axis of input i apart.
func (n *nodeReader) apart(i, axis, rank int) bool {
	switch n.Op {
	case "Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Log", "Abs", "Neg", "Reciprocal", "Erf", "Floor", "Ceil", "Sign", "Sin", "Cos",
		"Gelu", "FastGelu", "QuickGelu", "Swish", "SiLU", "Mish", "LeakyRelu", "Elu", "Selu", "Celu", "Softplus", "Softsign",
		"ThresholdedRelu", "HardSigmoid", "HardSwish", "Clip", "Identity", "Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "Pow":
		return true
	case "MatMul":
		return rank > 1 && (i == 0 && axis < rank-1 || i == 1 && axis != rank-2)
	case "Gemm":
		return i == 0 && axis == 0 && n.int("transA", 0) == 0
	case "Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization",
		"InstanceNormalization", "Resize", "Upsample", "DepthToSpace", "SpaceToDepth":
		return i == 0 && axis == 0
	case "LayerNormalization":
		first, err := n.axisOf(rank, n.int("axis", -1))
		return err == nil && i == 0 && axis < first
	case "Softmax":
		along, err := n.axisOf(rank, n.int("axis", -1))
		return err == nil && n.opset >= 13 && axis != along
	}
	return false
}

// followsEngine reports whether all that varies among the node's inputs is from the engine, which
// then goes on with it.
func (n *nodeReader) followsEngine() bool {
	any := false
	for _, name := range n.Inputs {
		if n.between[name] != nil || n.least[name] != nil && n.net.Cuts[name] == nil {
			return false
		}
		any = any || n.least[name] != nil
	}
	return any && operators[n.Op] != nil && n.rowByRow()
}

// onEngine reads a node with inputs whose size depends on values as layers of the engine, which
// have the largest shapes. Where no result mixes rows it is known how many of them are actual.
func (n *nodeReader) onEngine() error {
	apart := n.rowByRow()
	if apart {
		apart = n.bound() == nil
	}
	spreads, results := n.spreads, n.results
	n.spreads, n.results = nil, nil
	if err := n.atLargest(n.layers); err != nil {
		return err
	}
	for _, name := range n.Inputs {
		if !apart && n.least[name] != nil {
			n.mixed[name] = true
		}
	}
	if !apart {
		return nil
	}
	s := &Stage{name: n.name, node: n.Node, opset: n.opset}
	var names []string
	for _, name := range n.Inputs {
		in := origin{index: -1, constant: n.constants[name], dims: n.dims[name], elem: n.types[name]}
		if in.constant == nil && name != "" {
			in.index = len(names)
			names = append(names, name)
		}
		s.inputs = append(s.inputs, in)
	}
	for i, x := range spreads {
		if i >= len(n.Outputs) || n.Outputs[i] == "" || x.least == nil || !slices.Equal(n.dims[n.Outputs[i]], results[i].dims) {
			continue
		}
		if n.net.Cuts == nil {
			n.net.Cuts = map[string]*Cut{}
		}
		n.least[n.Outputs[i]] = x.least
		n.net.Cuts[n.Outputs[i]] = &Cut{results[i].dims, names, s, i}
	}
	return nil
}
