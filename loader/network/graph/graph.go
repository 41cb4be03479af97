package graph

import (
	"errors"
	"fmt"
	"slices"
)

// A Graph is nodes between inputs and outputs: a model's, or the branch of a node that has a
// condition.
type Graph struct {
	Nodes   []*Node // in an order in which they can run
	Outputs []*Value
	Consts  map[string]*Const // by the names of their values
}

// A Value is a tensor that nodes read, and what is known of it.
type Value struct {
	Name string // "" for an input that is left out, or a result that nothing asks for
	Dims []int  // nil if they are not known; those of one number are empty
	Type Type   // 0 if it is not known
	// Const is the tensor's elements if they do not depend on the network's inputs.
	Const *Const
	// Why says why Dims are not known.
	Why string
	// Stated is what the file says of the tensor, nil for nothing.
	Stated *Result
	// Range is the least and the largest element, nil if they are not known.
	Range *Range
	// Scale is what the elements have to be multiplied by, 0 as 1: fp16 has no room for large
	// whole numbers, so that some tensors are taken smaller by a power of two.
	Scale float64
	// Bypassed says that a reader of the tensor reads what it is a transpose of instead.
	Bypassed bool

	// Least are the least extents of a tensor whose extents depend on values, of which Dims are
	// the largest; nil for any other.
	Least []int
	// Span bounds elements that are made of such extents.
	Span *Span
	// Filled says that a node reads a tensor of Least at its largest, with zeros beyond, and
	// Mixed that the engine mixes its rows.
	Filled, Mixed bool
}

// A Range is the least and the largest number of a tensor.
type Range struct{ Low, High float64 }

// A Span is the least and the largest value of every element of a tensor.
type Span struct{ Low, High *Const }

// A Result is the shape and the type of a tensor that a node makes.
type Result struct {
	Dims []int
	Type Type
	MACs int // multiply-accumulates that the operator's definition takes for it
}

// Given reports whether the value is a tensor, and not left out.
func (v *Value) Given() bool { return v != nil && v.Name != "" }

// Shape gives the value dimensions. Those of one number may be nil.
func (v *Value) Shape(dims []int) {
	if v.Dims = dims; dims == nil {
		v.Dims = []int{}
	}
}

// Set makes the value a constant.
func (v *Value) Set(c *Const) {
	v.Const, v.Type = c, c.Type
	v.Shape(c.Dims)
}

// Forget leaves nothing of what a node said of the value but its range and its bounds.
func (v *Value) Forget() { v.Const, v.Dims, v.Type = nil, nil, 0 }

// A Node is one operator.
type Node struct {
	Name       string // may be empty
	Op, Domain string
	In         []*Value // none is nil
	Out        []*Value
	Attr       map[string]*Attr
	Opset      int64 // the version of the standard operators that the file asks for
	Off        int64 // byte of the file
}

// An Attr is an argument of a node that is no tensor; the field of its kind is set.
type Attr struct {
	Int    int64
	Float  float32
	Text   string
	Ints   []int64
	Floats []float32
	Texts  []string
	Const  *Const
	Graph  *Graph
}

// ListOf is an attribute of whole numbers.
func ListOf(v ...int) *Attr {
	a := &Attr{}
	for _, x := range v {
		a.Ints = append(a.Ints, int64(x))
	}
	return a
}

// Operator is the operator's name with its domain, if that is not the standard one.
func (n *Node) Operator() string {
	if n.Domain == "" || n.Domain == "ai.onnx" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// Given reports whether an optional input is there.
func (n *Node) Given(i int) bool { return i >= 0 && i < len(n.In) && n.In[i].Given() }

// Asked reports whether something asks for a result.
func (n *Node) Asked(i int) bool { return i >= 0 && i < len(n.Out) && n.Out[i].Given() }

// Const is an input's constant, nil for none.
func (n *Node) Const(i int) *Const {
	if !n.Given(i) {
		return nil
	}
	return n.In[i].Const
}

// Type is the type of an input, 0 if it is not known.
func (n *Node) Type(i int) Type {
	if i < len(n.In) {
		return n.In[i].Type
	}
	return 0
}

// Dims are the dimensions of an input that must be known.
func (n *Node) Dims(i int) ([]int, error) {
	if !n.Given(i) {
		return nil, fmt.Errorf("input %d is missing", i)
	}
	switch v := n.In[i]; {
	case v.Dims != nil:
		return v.Dims, nil
	case v.Why != "":
		return nil, errors.New(v.Why)
	default:
		return nil, fmt.Errorf("no node before makes %q", v.Name)
	}
}

// Int is an attribute, bounded so that a product of two is exact.
func (n *Node) Int(name string, missing int) int {
	if a := n.Attr[name]; a != nil {
		return int(max(-MaxExtent, min(MaxExtent, a.Int)))
	}
	return missing
}

// Float is an attribute.
func (n *Node) Float(name string, missing float32) float32 {
	if a := n.Attr[name]; a != nil {
		return a.Float
	}
	return missing
}

// Text is an attribute.
func (n *Node) Text(name, missing string) string {
	if a := n.Attr[name]; a != nil {
		return a.Text
	}
	return missing
}

// List is a list of integers: an attribute, or, in later versions of an operator, a constant
// input, -1 for none. It reports whether either is there.
func (n *Node) List(name string, input int) ([]int, bool, error) {
	if a := n.Attr[name]; a != nil {
		values := a.Ints
		if len(values) == 0 && a.Int != 0 {
			values = []int64{a.Int}
		}
		list := make([]int, len(values))
		for i, v := range values {
			list[i] = int(max(-1<<40, min(1<<40, v)))
		}
		return list, true, nil
	}
	if input < 0 || !n.Given(input) {
		return nil, false, nil
	}
	c := n.Const(input)
	if c == nil {
		return nil, false, fmt.Errorf("%s is computed, not a constant", n.In[input].Name)
	}
	if c.Elements() > MaxList {
		return nil, false, fmt.Errorf("%s has %d elements; a list has at most %d", n.In[input].Name, c.Elements(), MaxList)
	}
	v, err := c.Ints()
	return slices.Clone(v), true, err
}
