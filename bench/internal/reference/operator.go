package reference

import (
	"maps"
	"slices"

	"anesim/bench/internal/reference/tensor"
	"anesim/internal/network/onnx"
)

// An operator computes the nodes of one operator name. When compute is called, the first inputs
// are present, in the number given by the field inputs. The others may be nil or absent.
type operator struct {
	inputs  int
	compute func(*call) ([]*tensor.Tensor, error)
}

// operators maps the name of each supported operator to its implementation. An init function
// fills the map, because operators that contain graphs look up the operators of their nodes in
// it.
var operators = map[string]operator{}

func init() {
	for _, family := range []map[string]operator{
		elementwiseOperators, reductionOperators, shapeOperators, generatorOperators, productOperators, convolutionOperators, poolingOperators, resamplingOperators,
		normalizationOperators, indexOperators, recurrentOperators, quantizedOperators, contributedOperators, attentionOperators, spectralOperators, controlOperators, sequenceOperators, composedOperators, toolOperators, trainingOperators,
	} {
		maps.Copy(operators, family)
	}
}

// Operators returns the names of all operators that this package implements, sorted. It does not
// distinguish the domains ai.onnx and com.microsoft.
func Operators() []string { return slices.Sorted(maps.Keys(operators)) }

// wrapSingleResult returns a function that calls f and puts the resulting tensor into a list of one
// element.
func wrapSingleResult(f func(*call) (*tensor.Tensor, error)) func(*call) ([]*tensor.Tensor, error) {
	return func(c *call) ([]*tensor.Tensor, error) { return wrapInList(f(c)) }
}

func wrapInList(t *tensor.Tensor, err error) ([]*tensor.Tensor, error) {
	return []*tensor.Tensor{t}, err
}

// A call is one node that is being computed: its inputs and attributes, and the scope in which
// graphs inside the node find other tensors. Its methods read them.
type call struct {
	*interpreter
	node  *onnx.Node
	in    []*tensor.Tensor // nil where an optional input is left out
	scope *scope
}

// inputTensor returns the i-th input of the node, or nil if the node leaves it out.
func (c *call) inputTensor(i int) *tensor.Tensor {
	if i < len(c.in) {
		return c.in[i]
	}
	return nil
}

// isConstant reports whether input i of the node is a constant of the graph or the result of a
// Constant node.
func (c *call) isConstant(i int) bool {
	if i >= len(c.node.Inputs) {
		return false
	}
	name := c.node.Inputs[i]
	for s := c.scope; s != nil; s = s.outer {
		if s.constants[name] != nil || s.fixed[name] {
			return true
		}
		if s.values[name] != nil {
			return false
		}
	}
	return false
}

// hasOutput reports whether the node names its i-th output. An output without a name need not be
// computed.
func (c *call) hasOutput(i int) bool { return i < len(c.node.Outputs) && c.node.Outputs[i] != "" }

// isMicrosoft reports whether the operator of n is in the domain com.microsoft.
func isMicrosoft(n *onnx.Node) bool { return n.Domain == "com.microsoft" }

// attribute returns the named attribute of the node, or nil if it is missing.
func (c *call) attribute(name string) *onnx.Attribute { return c.node.Attributes[name] }

// intAttribute returns the named integer attribute of the node, or fallback if it is missing.
func (c *call) intAttribute(name string, fallback int) int {
	if a := c.attribute(name); a != nil {
		return int(a.Int)
	}
	return fallback
}

// flagAttribute reports whether the named integer attribute of the node is present and not 0.
func (c *call) flagAttribute(name string) bool { return c.intAttribute(name, 0) != 0 }

// floatAttribute returns the named float attribute of the node, or fallback if it is missing.
func (c *call) floatAttribute(name string, fallback float64) float64 {
	if a := c.attribute(name); a != nil {
		return float64(a.Float)
	}
	return fallback
}

// textAttribute returns the named string attribute of the node, or fallback if it is missing.
func (c *call) textAttribute(name, fallback string) string {
	if a := c.attribute(name); a != nil {
		return a.Text
	}
	return fallback
}

// intsAttribute returns the named integer list attribute of the node, or nil if it is missing.
func (c *call) intsAttribute(name string) []int {
	a := c.attribute(name)
	if a == nil {
		return nil
	}
	list := make([]int, len(a.Ints))
	for i, v := range a.Ints {
		list[i] = int(v)
	}
	return list
}

// intsFromInputOrAttribute returns a list of integers that newer operator sets have as an input and
// older ones as an attribute. It prefers the input. The result given is false if both are missing.
func (c *call) intsFromInputOrAttribute(input int, attribute string) (list []int, given bool) {
	if t := c.inputTensor(input); t != nil {
		return t.ToInts(), true
	}
	return c.intsAttribute(attribute), c.attribute(attribute) != nil
}

// newUnsupportedError returns an *[UnsupportedError] for the given form of the node's operator.
func (c *call) newUnsupportedError(form string) error {
	return &UnsupportedError{Domain: c.node.Domain, Op: c.node.Op, Form: form}
}
