package graph

import (
	"errors"
	"fmt"
	"slices"
)

// A Graph is a list of nodes with inputs and outputs: a whole model, or a branch of a node that
// has a condition.
type Graph struct {
	Nodes   []*Node // in an order in which they can run
	Outputs []*Value
	Consts  map[string]*Const // by the names of their values
}

// A Value is a tensor that nodes read, with the facts known about it.
type Value struct {
	Name string // "" for an omitted input, or a result that nothing reads
	Dims []int  // nil if unknown, empty for a single number
	Type Type   // 0 if unknown
	// Const is the tensor's elements if they do not depend on the network's inputs.
	Const *Const
	// Why says why Dims is unknown.
	Why string
	// Stated holds the shape and type that the file states, or nil.
	Stated *Result
	// Range bounds the elements. It is nil if they have no known bounds.
	Range *Range
	// Scale is the factor that turns elements into the file's values; 0 means 1. Some tensors
	// of large integers are scaled down by a power of two to fit fp16.
	Scale float64
	// Bypassed reports whether a reader of this transposed tensor now reads the original.
	Bypassed bool

	// Least holds the least extents of a tensor whose extents depend on values. Dims then holds
	// the largest. It is nil for all other tensors.
	Least []int
	// Span bounds elements that are computed from such extents.
	Span *Span
	// Filled reports whether a node reads a tensor with Least at its largest, padded with zeros.
	// Mixed reports whether the engine mixes its rows.
	Filled, Mixed bool
}

// A Range holds the least and the largest element of a tensor.
type Range struct{ Low, High float64 }

// A Span holds the least and the largest value of every element of a tensor.
type Span struct{ Low, High *Const }

// A Result is the shape and the type of a tensor that a node produces.
type Result struct {
	Dims []int
	Type Type
	MACs int // multiply-accumulates by the operator's definition
}

// Given reports whether the value is a tensor rather than an omitted input.
func (v *Value) Given() bool { return v != nil && v.Name != "" }

// Shape sets the dimensions. A nil dims means a single number.
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

// Forget clears the constant, shape and type that a node gave the value. It keeps the range and
// the bounds.
func (v *Value) Forget() { v.Const, v.Dims, v.Type = nil, nil, 0 }

// A Node is a call of one operator.
type Node struct {
	Name       string // may be empty
	Op, Domain string
	In         []*Value // none is nil
	Out        []*Value
	Attr       map[string]*Attr
	Opset      int64 // version of the standard operators that the file uses
	Off        int64 // byte offset in the file
}

// An Attr is an argument of a node that is not a tensor. Only the field of its kind is set.
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

// ListOf returns a list attribute of integers.
func ListOf(v ...int) *Attr {
	a := &Attr{}
	for _, x := range v {
		a.Ints = append(a.Ints, int64(x))
	}
	return a
}

// Operator returns the operator's name, with its domain unless that is the standard one.
func (n *Node) Operator() string {
	if n.Domain == "" || n.Domain == "ai.onnx" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// Given reports whether input i is present.
func (n *Node) Given(i int) bool { return i >= 0 && i < len(n.In) && n.In[i].Given() }

// Asked reports whether result i has a name, so that something can read it.
func (n *Node) Asked(i int) bool { return i >= 0 && i < len(n.Out) && n.Out[i].Given() }

// Const returns the constant that input i is, or nil if it is not one.
func (n *Node) Const(i int) *Const {
	if !n.Given(i) {
		return nil
	}
	return n.In[i].Const
}

// Type returns the type of input i, or 0 if it is unknown.
func (n *Node) Type(i int) Type {
	if i < len(n.In) {
		return n.In[i].Type
	}
	return 0
}

// Dims returns the dimensions of input i, or an error if they are unknown.
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
		return nil, fmt.Errorf("no earlier node produces %q", v.Name)
	}
}

// Int returns an integer attribute, or missing if it is absent. The value is clamped so that a
// product of two is exact.
func (n *Node) Int(name string, missing int) int {
	if a := n.Attr[name]; a != nil {
		return int(max(-MaxExtent, min(MaxExtent, a.Int)))
	}
	return missing
}

// Float returns a float attribute, or missing if it is absent.
func (n *Node) Float(name string, missing float32) float32 {
	if a := n.Attr[name]; a != nil {
		return a.Float
	}
	return missing
}

// Text returns a string attribute, or missing if it is absent.
func (n *Node) Text(name, missing string) string {
	if a := n.Attr[name]; a != nil {
		return a.Text
	}
	return missing
}

// List returns a list of integers: an attribute or, in later versions of an operator, a
// constant input. An input of -1 means that there is none. List reports false if neither is
// present. It returns an error if the list is longer than lists with that name can be, because
// some take time that grows with the square of their length.
func (n *Node) List(name string, input int) ([]int, bool, error) {
	most := 2 * MaxRank // one or two numbers per axis
	if name == "split" {
		most = MaxList
	}
	if a := n.Attr[name]; a != nil {
		values := a.Ints
		if len(values) == 0 && a.Int != 0 {
			values = []int64{a.Int}
		}
		if len(values) > most {
			return nil, false, fmt.Errorf("%s has %d elements; want at most %d", name, len(values), most)
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
		return nil, false, fmt.Errorf("%s is computed; want a constant", n.In[input].Name)
	}
	if c.Elements() > most {
		return nil, false, fmt.Errorf("%s has %d elements; want at most %d", n.In[input].Name, c.Elements(), most)
	}
	v, err := c.Ints()
	return slices.Clone(v), true, err
}
