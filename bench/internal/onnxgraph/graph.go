package onnxgraph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"anesim/internal/network/onnx"
)

// A Value describes a tensor of a graph by its type, its shape and the range of its elements.
type Value struct {
	Type onnx.DataType
	Dims []int
	// Low and High estimate the smallest and the largest element. A generator uses them to
	// avoid divisors near zero and results that fp16 cannot hold.
	Low, High float64
	// Exact is true if fp16 arithmetic computes every element without rounding. Only then does
	// a comparison or a rounding to an integer have one correct result.
	Exact bool
}

// WithDims returns v with another shape.
func (v Value) WithDims(dims ...int) Value {
	v.Dims = dims
	return v
}

// WithRange returns the description of a float32 tensor with the shape of v, whose elements are
// inexact and range from low to high.
func (v Value) WithRange(low, high float64) Value {
	return Value{Type: onnx.Float, Dims: v.Dims, Low: low, High: high}
}

// A Tensor is an input or a constant of a graph, with its values in row-major order.
type Tensor struct {
	Name   string
	Type   onnx.DataType
	Dims   []int
	Values []float64
	Form   Form // how Encode writes a constant
}

// A Form is one of the ways in which exporters write a constant to an ONNX file.
type Form int

// The forms of constants.
const (
	RawForm   Form = iota // an initializer with raw_data
	TypedForm             // an initializer with float_data, int32_data or int64_data
	NodeForm              // a Constant node
)

// An Attribute is a named argument of a node. Kind selects the field that holds the value: Int,
// Float, Text, Ints, Floats or Texts.
type Attribute struct {
	Name   string
	Kind   Kind
	Int    int
	Float  float32
	Text   string
	Ints   []int
	Floats []float32
	Texts  []string
}

// A Kind is the type of an attribute's value.
type Kind int

// The kinds of attributes. Their numbers are those of the field type of ONNX's AttributeProto.
const (
	FloatKind  Kind = 1
	IntKind    Kind = 2
	TextKind   Kind = 3
	FloatsKind Kind = 6
	IntsKind   Kind = 7
	TextsKind  Kind = 8
)

// A Node is an operator of a graph with the names of its input and output tensors.
type Node struct {
	Op, Domain string
	Inputs     []string // "" for an optional input that is left out
	Outputs    []string // "" for an optional output that is left out
	Attributes []Attribute
}

// A Graph is an ONNX model in a form that tests can change and write to a file.
type Graph struct {
	Seed      string // what the graph was made from, for messages
	Opset     int
	Inputs    []*Tensor
	Constants []*Tensor
	Nodes     []*Node // each after the nodes whose outputs it reads
	Outputs   []string
	Values    map[string]Value // all tensors by name, including inputs and constants
}

// RandomMultiples returns n random multiples of 1/unit from low/unit to high/unit. The unit must be
// a power of two, so that the values are the same on every machine.
func RandomMultiples(rng *rand.Rand, n, low, high int, unit float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(low+rng.IntN(high-low+1)) / unit
	}
	return values
}

// Copy returns a deep copy of g, except that it shares the values of inputs and constants with g.
func (g *Graph) Copy() *Graph {
	c := &Graph{Seed: g.Seed, Opset: g.Opset, Outputs: slices.Clone(g.Outputs), Values: make(map[string]Value, len(g.Values))}
	for name, v := range g.Values {
		v.Dims = slices.Clone(v.Dims)
		c.Values[name] = v
	}
	c.Inputs = copyTensors(g.Inputs)
	c.Constants = copyTensors(g.Constants)
	for _, n := range g.Nodes {
		m := *n
		m.Inputs, m.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		m.Attributes = slices.Clone(n.Attributes)
		for i := range m.Attributes {
			a := &m.Attributes[i]
			a.Ints, a.Floats = slices.Clone(a.Ints), slices.Clone(a.Floats)
			a.Texts = slices.Clone(a.Texts)
		}
		c.Nodes = append(c.Nodes, &m)
	}
	return c
}

func copyTensors(list []*Tensor) []*Tensor {
	var out []*Tensor
	for _, t := range list {
		u := *t
		u.Dims = slices.Clone(t.Dims)
		out = append(out, &u)
	}
	return out
}

// findTensor returns the tensor of list with the given name, or nil.
func findTensor(list []*Tensor, name string) *Tensor {
	for _, t := range list {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Constant returns the constant of g with the given name, or nil if there is none.
func (g *Graph) Constant(name string) *Tensor { return findTensor(g.Constants, name) }

// Input returns the input of g with the given name, or nil if there is none.
func (g *Graph) Input(name string) *Tensor { return findTensor(g.Inputs, name) }

// IndexProducers returns a map from the name of each tensor that a node produces to the index of
// that node.
func (g *Graph) IndexProducers() map[string]int {
	m := map[string]int{}
	for i, n := range g.Nodes {
		for _, out := range n.Outputs {
			if out != "" {
				m[out] = i
			}
		}
	}
	return m
}

// String returns g as text, with a line for each input, each node and the list of outputs. The line
// of a node looks like
//
//	t1[2,3,4] = Mul(x[2,3,4], c1:const[3,1])
func (g *Graph) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %s opset %d\n", g.Seed, g.Opset)
	for _, in := range g.Inputs {
		fmt.Fprintf(&b, "input %s\n", g.formatTensor(in.Name))
	}
	for _, n := range g.Nodes {
		b.WriteString(g.formatNode(n))
		b.WriteByte('\n')
	}
	b.WriteString("output " + strings.Join(g.Outputs, ", ") + "\n")
	return b.String()
}

func (g *Graph) formatNode(n *Node) string {
	var in, out []string
	for _, name := range n.Inputs {
		in = append(in, g.formatTensor(name))
	}
	for _, name := range n.Outputs {
		out = append(out, g.formatTensor(name))
	}
	op := n.Op
	if n.Domain != "" {
		op = n.Domain + "." + op
	}
	s := strings.Join(out, ", ") + " = " + op + "(" + strings.Join(in, ", ") + ")"
	for _, a := range n.Attributes {
		s += " " + a.String()
	}
	return s
}

// formatTensor returns text with the name and shape of a tensor, and the values of a constant with
// up to eight elements.
func (g *Graph) formatTensor(name string) string {
	if name == "" {
		return "_"
	}
	v := g.Values[name]
	s := name
	c := g.Constant(name)
	if c != nil {
		s += ":const"
	}
	s += formatList(v.Dims)
	if v.Type != onnx.Float {
		s += v.Type.String()
	}
	if c != nil && len(c.Values) <= 8 {
		s += "="
		for i, x := range c.Values {
			if i > 0 {
				s += " "
			}
			s += strconv.FormatFloat(x, 'g', 6, 64)
		}
	}
	return s
}

func formatList[T int | float32 | string](values []T) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, fmt.Sprint(v))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// String returns the attribute as text, such as `axis=1` or `mode="linear"`.
func (a Attribute) String() string {
	switch a.Kind {
	case FloatKind:
		return fmt.Sprintf("%s=%v", a.Name, a.Float)
	case IntKind:
		return fmt.Sprintf("%s=%d", a.Name, a.Int)
	case TextKind:
		return fmt.Sprintf("%s=%q", a.Name, a.Text)
	case FloatsKind:
		return a.Name + "=" + formatList(a.Floats)
	case TextsKind:
		return a.Name + "=" + formatList(a.Texts)
	}
	return a.Name + "=" + formatList(a.Ints)
}
