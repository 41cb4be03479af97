package list

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Network is layers in an order in which they can run.
type Network struct {
	Name    string
	Inputs  []Tensor
	Outputs []string // tensors; those that no layer reads
	Layers  []Layer
	// Results are what the network gives, under the file's names; Outputs are the tensors
	// they are in, of which several may be one.
	Results []Output
	// Nodes are the operators of the file in order, each with its layers; a list of layers
	// has none.
	Nodes []Node
	Notes []string // what a reader of the results should know of the file
	// Constants are values of tensors that layers read as if they were inputs.
	Constants map[string][]float16.Float16
	// Made are the shapes that tensors stand in between layers, which readers in rows of
	// another length have transposes behind.
	Made map[string]layer.Shape
	// Cuts are tensors that the engine makes larger than they are, see [Cut].
	Cuts map[string]*Cut
	// InMemory keeps every tensor between layers in memory, see package lower.
	InMemory bool
}

// A Tensor is a name and a shape.
type Tensor struct {
	Name  string
	Shape layer.Shape
	Dims  []int  // as the file has them; nil where it has Shape
	Type  string // of the file's elements, as numpy spells it; "" for float16
}

// An Output is a result of a network.
type Output struct {
	Name   string
	Tensor string // of a layer, an input or a constant
	Dims   []int  // nil where they are not known
	Type   string // of the file's elements
	// Numbers are the values of a constant of whole numbers, which fp16 may not have.
	Numbers []float64
	// Unit is what the whole numbers of the tensor count in, 0 as 1: fp16 has no room for
	// large ones, so that the engine computes them divided by a power of two.
	Unit float64
}

// A Node is an operator of the file and what became of it: Layers layers from First on,
// and where it has none, "constant", "view", "folded" or [Unused].
type Node struct {
	Name, Op      string
	First, Layers int
	What          string
	MACs          uint64 // multiply-accumulates as its definition has them
	Bytes         uint64 // of its operands and results in fp16; 0 of what runs no task
	Unsized       bool   // a result's shape is not known, so that MACs and Bytes are not either
}

// Unused is what became of an operator that no output needs.
const Unused = "unused"

// MACs is the multiply-accumulates of every convolution and matrix product, those of
// layers that cannot be lowered included.
func (n *Network) MACs() uint64 {
	sum := uint64(0)
	for i := range n.Layers {
		sum += n.Layers[i].MACs()
	}
	return sum
}

const fp16Bytes = 2 // of an element

// Given are the network's results: those of its file, or the tensors that it ends in.
func (n *Network) Given() []Output {
	if n.Results != nil {
		return n.Results
	}
	var list []Output
	for _, name := range n.Outputs {
		list = append(list, Output{Name: name, Tensor: name})
	}
	return list
}
