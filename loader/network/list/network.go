package list

import (
	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Network is a list of layers in an order in which they can run, together with inputs, constants
// and results.
type Network struct {
	Name    string
	Inputs  []Tensor
	Outputs []string // tensors that hold the results
	Layers  []Layer
	// Results are the results of the network with their names in the file. Several of them may
	// be in the same tensor of Outputs.
	Results []Output
	// Nodes are the operators of the file in order, each with its layers. A YAML file has no
	// operators.
	Nodes []Node
	Notes []string // remarks about the file for the user
	// Files are the paths of all files that the network was read from: its own, and those with
	// its weights. They are empty for a network that was not opened as a file.
	Files []string
	// Absent names the files, as the network's file does, whose values it lacks because they do
	// not exist or were not read. The time of such a network is right, but values computed with
	// the weights that take their place would be those of another network.
	Absent []string
	// Constants holds the values of constant tensors that layers read from memory.
	Constants map[string][]float16.Float16
	// Made holds the shapes in which tensors are stored between layers. Layers that read rows of
	// another length read a transposed copy.
	Made map[string]layer.Shape
	// Cuts lists the tensors that the engine stores with padding, see [Cut].
	Cuts map[string]*Cut
	// InMemory keeps all tensors between layers in memory rather than L2, see package lower.
	InMemory bool
	// OutputsFirst numbers the buffers of outputs below those of inputs, see package join.
	OutputsFirst bool
}

// Release returns the release of Apple's compiler that the network's file asks for.
func (n *Network) Release() layer.Release {
	for i := range n.Layers {
		if r := n.Layers[i].Lower.Release; r != layer.Newest {
			return r
		}
	}
	return layer.Newest
}

// SetRelease makes all layers those of the given release of Apple's compiler.
func (n *Network) SetRelease(r layer.Release) {
	for i := range n.Layers {
		n.Layers[i].Lower.Release = r
	}
}

// A Tensor describes a tensor of a network: its name, its shape for the engine, and its shape
// and element type in the file.
type Tensor struct {
	Name  string
	Shape layer.Shape
	Dims  []int  // dimensions in the file, or nil if the file states Shape
	Type  string // element type in the file, as numpy spells it; "" for float16
	// State is, for an input that keeps its value from call to call, the name of the result that
	// replaces it after a call, or its own name if no call changes it. It is "" for other inputs.
	State string
}

// An Output is a result of the network: its name in the file, and the tensor that holds it. Several
// results may share one tensor.
type Output struct {
	Name   string
	Tensor string // tensor of a layer, an input or a constant
	Dims   []int  // nil if unknown
	Type   string // element type in the file
	// Numbers are the values of an integer constant, which may exceed fp16.
	Numbers []float64
	// Unit is the factor that turns elements into the file's integers; 0 means 1. The engine
	// computes large integers divided by a power of two, because fp16 cannot hold them.
	Unit float64
}

// A Node is an operator of the file. Layers with indices from First to First+Layers-1 compute it.
// If there are none, What gives the reason: the operator is a "constant", a "view" (a reshape),
// "folded" into another operator, or [Unused].
type Node struct {
	Name, Op      string
	First, Layers int
	What          string
	MACs          uint64 // multiply-accumulates by definition
	Bytes         uint64 // of its operands and results in fp16; 0 if it runs no task
	Unsized       bool   // whether a result's shape is unknown, and so MACs and Bytes too
	// Inside is the number of nodes that would run in place of a node which holds graphs, such as an
	// If: those of its larger branch.
	Inside int
}

// Unused is the What of a [Node] on which no output of the network depends.
const Unused = "unused"

// MACs returns the number of multiply-accumulates in all layers of the network, including layers
// that the engine cannot run.
func (n *Network) MACs() uint64 {
	sum := uint64(0)
	for i := range n.Layers {
		sum += n.Layers[i].MACs()
	}
	return sum
}

const fp16Bytes = 2 // size of an element

// AllResults returns n.Results. If that is nil, as in a network that was not read from a file, it
// returns the tensors of n.Outputs under their own names.
func (n *Network) AllResults() []Output {
	if n.Results != nil {
		return n.Results
	}
	var list []Output
	for _, name := range n.Outputs {
		list = append(list, Output{Name: name, Tensor: name})
	}
	return list
}

// ByteWidths returns the widths of the tensors with 8-bit elements, by name.
func (n *Network) ByteWidths() map[string]int {
	widths := map[string]int{}
	for i := range n.Layers {
		l := &n.Layers[i]
		if l.Lower.Op.ElementBits() != 8 {
			continue
		}
		// The operation is elementwise, so its tensors have one shape.
		for _, name := range append([]string{l.Output}, l.Inputs...) {
			widths[name] = l.Out.W
		}
	}
	return widths
}
