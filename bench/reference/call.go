package reference

import (
	"maps"
	"slices"

	"anesim/loader/network/onnx"
)

// An operator computes nodes of one name. The first inputs are there whenever compute is
// called; the others may be nil or absent.
type operator struct {
	inputs  int
	compute func(*call) ([]*Tensor, error)
}

// operators has every supported operator. It is put together in init because the operators
// with graphs inside look their nodes up in it.
var operators = map[string]operator{}

func init() {
	for _, family := range []map[string]operator{
		elementwise, reductions, shapes, generators, products, convolutions, poolings, resamplings,
		normalisations, places, recurrences, quantised, contributed, attentions, spectra, control,
	} {
		maps.Copy(operators, family)
	}
}

// Operators returns the names of all supported operators in alphabetical order. Those of
// the domains ai.onnx and com.microsoft share one table.
func Operators() []string { return slices.Sorted(maps.Keys(operators)) }

// single makes an operator of a function with one result.
func single(f func(*call) (*Tensor, error)) func(*call) ([]*Tensor, error) {
	return func(c *call) ([]*Tensor, error) { return one(f(c)) }
}

func one(t *Tensor, err error) ([]*Tensor, error) { return []*Tensor{t}, err }

// A call is a node that is being computed.
type call struct {
	*interpreter
	node  *onnx.Node
	in    []*Tensor // nil where an optional input is left out
	scope *scope
}

// input returns input i, or nil if it is left out.
func (c *call) input(i int) *Tensor {
	if i < len(c.in) {
		return c.in[i]
	}
	return nil
}

// isConstant reports whether input i is a constant of the graph or the result of a Constant
// node.
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

// wants reports whether the node names its output i.
func (c *call) wants(i int) bool { return i < len(c.node.Outputs) && c.node.Outputs[i] != "" }

// microsoft reports whether the operator is of the domain com.microsoft.
func (c *call) microsoft() bool { return c.node.Domain == "com.microsoft" }

// attribute returns an attribute, or nil if it is left out.
func (c *call) attribute(name string) *onnx.Attribute { return c.node.Attributes[name] }

// int returns an integer attribute, or missing if it is left out.
func (c *call) int(name string, missing int) int {
	if a := c.attribute(name); a != nil {
		return int(a.Int)
	}
	return missing
}

// flag reports whether an integer attribute is there and not 0.
func (c *call) flag(name string) bool { return c.int(name, 0) != 0 }

// float returns a float attribute, or missing if it is left out.
func (c *call) float(name string, missing float64) float64 {
	if a := c.attribute(name); a != nil {
		return float64(a.Float)
	}
	return missing
}

// text returns a string attribute, or missing if it is left out.
func (c *call) text(name, missing string) string {
	if a := c.attribute(name); a != nil {
		return a.Text
	}
	return missing
}

// ints returns a list attribute, or nil if it is left out.
func (c *call) ints(name string) []int {
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

// list returns integers that newer operator sets have as an input and older ones as an
// attribute, and whether there are any.
func (c *call) list(input int, attribute string) (list []int, given bool) {
	if t := c.input(input); t != nil {
		return t.ints(), true
	}
	return c.ints(attribute), c.attribute(attribute) != nil
}

// unsupported returns the error for a form of the operator that this package lacks.
func (c *call) unsupported(form string) error {
	return &UnsupportedError{Domain: c.node.Domain, Op: c.node.Op, Form: form}
}
