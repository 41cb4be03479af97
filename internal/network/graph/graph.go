package graph

import (
	"cmp"
	"fmt"
	"slices"
)

// A Graph is a list of operator calls with their constants and outputs. It is a whole model, one
// branch of an If node, or the body of a loop.
type Graph struct {
	Inputs  []*Value // of the body of a loop; nil for other graphs
	Nodes   []*Node  // in an order in which they can run
	Outputs []*Value
	Consts  map[string]*Const // by the names of their values
}

// CountNodes returns the number of nodes of g, with the nodes of the graphs inside them.
func (g *Graph) CountNodes() int {
	count := len(g.Nodes)
	for _, n := range g.Nodes {
		for _, a := range n.Attr {
			if a.Graph != nil {
				count += a.Graph.CountNodes()
			}
		}
	}
	return count
}

// A Value is a tensor that nodes read or produce, with everything that is known about it. All nodes
// that use a tensor refer to the same Value.
type Value struct {
	Name string // "" for an omitted input, or a result that nothing reads
	Dims []int  // nil if unknown, empty for a single number
	Type Type   // 0 if unknown
	// Const holds the elements if they do not depend on the network's inputs, or nil.
	Const *Const
	// Why says why Dims is unknown. Maker is the label of the node that should have given the
	// tensor its shape, if it is known.
	Why, Maker string
	// Stated holds the shape and type that the file states, or nil.
	Stated *Result
	// Range bounds the elements. It is nil if they have no known bounds.
	Range *Range
	// Items holds the tensors of a sequence, in order. It is nil for a tensor, and not nil for an
	// empty sequence. Dims of a sequence is nil.
	Items []*Value
	// Scale is the factor that turns elements into the file's values; 0 means 1. Some tensors
	// of large integers are scaled down by a power of two to fit fp16.
	Scale float64
	// Bypassed reports whether a reader of this transposed tensor now reads the original.
	Bypassed bool

	// Least holds the least extents of a tensor whose extents depend on values. Dims then holds
	// the largest. It is nil for all other tensors.
	Least []int
	// Span bounds the elements of a tensor that is computed from such extents, or is nil.
	Span *Span
	// Filled marks the copy of such a tensor that a node reads at its largest extents, padded
	// with zeros. Mixed reports whether the engine mixes the tensor's rows.
	Filled, Mixed bool
}

// A Range is an interval that contains all elements of a tensor, such as 0 to 1 for the result
// of a sigmoid.
type Range struct{ Low, High float64 }

// A Span bounds each element of a tensor separately. Low and High have the shape of the tensor, and
// hold the lower and upper bound of each element.
type Span struct{ Low, High *Const }

// A Result is the inferred shape and element type of one tensor that a node produces.
type Result struct {
	Dims []int
	Type Type
	MACs int // multiply-accumulates by the operator's definition
}

// Given reports whether v is an actual tensor. It returns false for nil and for an omitted optional
// input, which has no name.
func (v *Value) Given() bool { return v != nil && v.Name != "" }

// Shape sets the shape of v to dims. A nil dims is stored as an empty list, the shape of a single
// number, because a nil v.Dims would mean that the shape is unknown.
func (v *Value) Shape(dims []int) {
	if v.Dims = dims; dims == nil {
		v.Dims = []int{}
	}
}

// Set makes v the constant c: it stores c in v, and copies the type and shape of c.
func (v *Value) Set(c *Const) {
	v.Const, v.Type = c, c.Type
	v.Shape(c.Dims)
}

// Forget clears the constant, shape and type of v, so that they are unknown again. All other fields
// keep their values.
func (v *Value) Forget() { v.Const, v.Dims, v.Type = nil, nil, 0 }

// A Node is one call of an operator, with its input and output tensors and its attributes.
type Node struct {
	Name       string // may be empty
	Op, Domain string
	In         []*Value // none is nil
	Out        []*Value
	Attr       map[string]*Attr
	Opset      int64 // version of the standard operators that the file uses
	Off        int64 // byte offset in the file

	// shaped and read note the reads of the rule for shapes and of the last other rule; see Apply.
	shaped, read reads
}

// An Attr is an attribute of a node: an argument that is fixed in the file, such as the strides of
// a convolution. Only the field for the attribute's kind of value is set.
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

// isZero reports whether all values of a are zero or empty. The kind of such an attribute does not
// matter. An attribute with a value of another kind than its reader expects counts as not read, and
// [Node.Apply] refuses the node.
func (a *Attr) isZero() bool {
	return a.Int == 0 && a.Float == 0 && a.Text == "" && len(a.Ints) == 0 && len(a.Floats) == 0 && len(a.Texts) == 0 && a.Const == nil && a.Graph == nil
}

// ListOf returns an attribute whose value is the list of integers v.
func ListOf(v ...int) *Attr {
	a := &Attr{}
	for _, x := range v {
		a.Ints = append(a.Ints, int64(x))
	}
	return a
}

// Operator returns the name of the node's operator. An operator of a domain other than ONNX's
// own is prefixed with the domain, as in "com.microsoft.Gelu".
func (n *Node) Operator() string {
	if n.Domain == "" || n.Domain == "ai.onnx" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// Given reports whether the node has input i. It returns false for an omitted input and for an i
// that is out of range.
func (n *Node) Given(i int) bool { return i >= 0 && i < len(n.In) && n.In[i].Given() }

// Asked reports whether the node must compute its result i. A result without a name is not needed,
// because nothing can read it. Asked returns false if i is out of range.
func (n *Node) Asked(i int) bool { return i >= 0 && i < len(n.Out) && n.Out[i].Given() }

// ResultName returns the name of the node's first result that has a name, or "" if none has.
// Tensors that are computed inside the node have names that begin with it.
func (n *Node) ResultName() string {
	for _, v := range n.Out {
		if v.Given() {
			return v.Name
		}
	}
	return ""
}

// Const returns input i as a constant. It returns nil if the input is missing or is computed when
// the network runs; a rule that asks no further has then not read the input.
func (n *Node) Const(i int) *Const {
	if !n.Given(i) || n.In[i].Const == nil {
		return nil
	}
	return n.Input(i).Const
}

// Type returns the element type of input i, or 0 if the type is unknown or the node has no input i.
func (n *Node) Type(i int) Type {
	if i < len(n.In) {
		return n.In[i].Type
	}
	return 0
}

// Dims returns the shape of input i, which the caller must not change. If the input is missing or
// its shape is unknown, Dims returns an error that says why.
func (n *Node) Dims(i int) ([]int, error) {
	if !n.Given(i) {
		return nil, fmt.Errorf("input %d is missing", i)
	}
	switch v := n.In[i]; {
	case v.Dims != nil:
		return v.Dims, nil
	case v.Why != "":
		return nil, &ShapeError{v.Why, v.Maker}
	default:
		return nil, fmt.Errorf("no earlier node produces tensor %q", v.Name)
	}
}

// A ShapeError reports that the shape of a tensor is unknown. Maker is the label of the node that
// produces the tensor, or "".
type ShapeError struct{ Why, Maker string }

func (e *ShapeError) Error() string { return e.Why }

// Int returns the integer attribute with the given name, or fallback if the node does not have it.
// The attribute is clamped to ±[MaxExtent], so that the product of two of them cannot overflow.
func (n *Node) Int(name string, fallback int) int {
	if a := n.Attr[name]; a != nil && (a.Int != 0 || a.isZero()) {
		n.read.addAttribute(name)
		return int(max(-MaxExtent, min(MaxExtent, a.Int)))
	}
	return fallback
}

// Float returns the floating-point attribute with the given name, or fallback if the node does not
// have it.
func (n *Node) Float(name string, fallback float32) float32 {
	if a := n.Attr[name]; a != nil && (a.Float != 0 || a.isZero()) {
		n.read.addAttribute(name)
		return a.Float
	}
	return fallback
}

// Text returns the string attribute with the given name, or fallback if the node does not have it.
func (n *Node) Text(name, fallback string) string {
	if a := n.Attr[name]; a != nil && (a.Text != "" || a.isZero()) {
		n.read.addAttribute(name)
		return a.Text
	}
	return fallback
}

// List returns the list of integers in the attribute with the given name. If the node lacks the
// attribute, List reads the constant at the given input instead, because newer versions of an
// operator turn some attributes into inputs. An input of -1 means that the operator has no such
// input. The second result is false if the node has neither the attribute nor the input.
//
// List returns an error if the input is computed when the network runs, or if the list is longer
// than any operator allows.
func (n *Node) List(name string, input int) ([]int, bool, error) {
	most := 2 * MaxRank // one or two numbers per axis
	if name == "split" {
		most = MaxList
	}
	if a := n.Attr[name]; a != nil && (len(a.Ints) > 0 || a.Int != 0 || a.isZero()) {
		n.read.addAttribute(name)
		values := a.Ints
		if len(values) == 0 && a.Int != 0 {
			values = []int64{a.Int}
		}
		if len(values) > most {
			return nil, false, fmt.Errorf("attribute %q has %d elements; want at most %d", name, len(values), most)
		}
		list := make([]int, len(values))
		for i, v := range values {
			// Clamped far beyond any extent, so that sums of such numbers cannot overflow.
			list[i] = int(max(-1<<40, min(1<<40, v)))
		}
		return list, true, nil
	}
	if input < 0 || !n.Given(input) {
		return nil, false, nil
	}
	c, what := n.Const(input), cmp.Or(name, "input")
	if c == nil {
		return nil, false, fmt.Errorf("%s %q is computed; want a constant", what, n.In[input].Name)
	}
	if c.Elements() > most {
		return nil, false, fmt.Errorf("%s %q has %d elements; want at most %d", what, n.In[input].Name, c.Elements(), most)
	}
	v, err := c.Ints()
	return slices.Clone(v), true, err
}
