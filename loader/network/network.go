package network

import (
	"fmt"
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
	"anesim/loader/network/graph"
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
	// made are the shapes that tensors stand in between layers, which readers in rows of
	// another length have transposes behind.
	made map[string]layer.Shape
	// Cuts are tensors that the engine makes larger than they are, see [Cut].
	Cuts map[string]*Cut
	// InMemory keeps every tensor between layers in memory, see [lower.Network].
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
// and where it has none, "constant", "view" or "folded".
type Node struct {
	Name, Op      string
	First, Layers int
	What          string
	MACs          uint64 // multiply-accumulates as its definition has them
	Bytes         uint64 // of its operands and results in fp16; 0 of what runs no task
	Unsized       bool   // a result's shape is not known, so that MACs and Bytes are not either
}

// A Layer is one task or several of the engine, or the reason why there are none.
type Layer struct {
	Name    string
	Op      string   // what the file calls it
	Inputs  []string // tensors, in the order of the layer's own
	Output  string
	Lower   layer.Layer
	Weights layer.Weights // what the file has of them
	Out     layer.Shape
	Folded  []string // layers that this one does on its way out
	Reason  string   // why the engine cannot run it, "" where it can
	Node    int      // index into the network's Nodes, where it has some
	Line    int      // of a text, from 1; 0 where the file has no lines
	Others  []string // further tensors that a layer without a form would make
	Host    *Stage   // what the host does of a layer with a Reason, nil for nothing

	macs uint64 // of a layer without a form, as its definition has them

	// inMemory says that an elementwise layer's constant has to be a tensor in memory,
	// unless a product takes it as the bias of its columns.
	inMemory, columns bool
	// spare says that the layer is left out where nothing reads its result.
	spare bool
	// rounds says that the layer's result has to be rounded by itself: what the sum is for is
	// its rounding, which another layer that took the addend would not do.
	rounds bool
	// average says that the weights of a convolution are all one over their number.
	average bool
}

// MACs is the multiply-accumulates of every convolution and matrix product, those of
// layers that cannot be lowered included.
func (n *Network) MACs() uint64 {
	sum := uint64(0)
	for i := range n.Layers {
		sum += n.Layers[i].MACs()
	}
	return sum
}

// MACs is the multiply-accumulates the layer's result takes, without bias.
func (l *Layer) MACs() uint64 {
	if l.Reason != "" && l.Lower.Op == 0 {
		return l.macs
	}
	out := uint64(l.Out.Elements())
	switch x := &l.Lower; x.Op {
	case layer.Convolution:
		return out * uint64(x.In.C/max(1, x.Groups)*x.Window.Kh*x.Window.Kw)
	case layer.Deconvolution:
		return uint64(x.In.Elements() * (x.Cout / max(1, x.Groups)) * x.Window.Kh * x.Window.Kw)
	case layer.MatMul, layer.Linear:
		return out * uint64(x.In.W)
	}
	return 0
}

// Bytes is what the layer's definition reads and writes in fp16: its inputs, weights and
// result, once each.
func (l *Layer) Bytes() uint64 {
	x := &l.Lower
	n := l.Out.Elements()
	if x.Op != 0 {
		need := Needs(x)
		n += x.In.Elements() + need.Filter + need.Bias + need.Second
		switch {
		case x.Op == layer.MatMul && x.Second == layer.Runtime:
			n += x.In.N * x.In.C * x.In.W * x.Columns
		case x.Second == layer.Runtime:
			n += x.SecondShape.Elements()
		}
	}
	return uint64(n) * halfBytes
}

// A FormatError is a file that does not say a network.
type FormatError struct {
	Line int   // of a text, from 1; 0 in a binary file
	Off  int64 // byte of a binary file
	What string
	Err  error
}

func (e *FormatError) Error() string {
	what := oneLine.Replace(e.What)
	if e.Line > 0 {
		return fmt.Sprintf("line %d: %s", e.Line, what)
	}
	return fmt.Sprintf("byte %#x: %s", e.Off, what)
}

// oneLine keeps names of a file from breaking an error's line.
var oneLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// Bounds on what is read.
const (
	maxLayers = 1 << 16
	maxExtent = graph.MaxExtent
)

// validShape makes sure that products of a shape's extents are counts.
func validShape(s layer.Shape) error {
	room := 1 << 40
	for _, n := range [...]int{s.N, s.C, s.H, s.W} {
		if n < 1 || n > maxExtent || n > room {
			return fmt.Errorf("shape %s", shapeText(s))
		}
		room /= n
	}
	return nil
}

func shapeText(s layer.Shape) string {
	return fmt.Sprintf("%dx%dx%dx%d", s.N, s.C, s.H, s.W)
}
