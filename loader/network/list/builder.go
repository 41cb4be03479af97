package list

import (
	"fmt"
	"slices"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Builder strings layers together by the names of tensors.
type Builder struct {
	Net Network
	// Shapes are those of what inputs and layers make; a tensor of unknown shape
	// is not among them but in Unknown, with the reason.
	Shapes  map[string]layer.Shape
	Unknown map[string]string
	// Aliases has the tensor whose values a name stands for: what reshape and its like give.
	Aliases map[string]string
}

// NewBuilder returns a builder of an empty network.
func NewBuilder() *Builder {
	return &Builder{
		Net:     Network{Constants: map[string][]float16.Float16{}},
		Shapes:  map[string]layer.Shape{},
		Unknown: map[string]string{},
		Aliases: map[string]string{},
	}
}

// Input adds an input of the network.
func (b *Builder) Input(name string, s layer.Shape) {
	b.Net.Inputs = append(b.Net.Inputs, Tensor{Name: name, Shape: s})
	b.Shapes[name] = s
}

// TensorOf is the tensor that a name's values are in.
func (b *Builder) TensorOf(name string) string {
	if v, ok := b.Aliases[name]; ok {
		return v
	}
	return name
}

// Add appends a layer; its inputs and output are names of the file.
func (b *Builder) Add(l Layer) {
	for i, in := range l.Inputs {
		l.Inputs[i] = b.TensorOf(in)
	}
	b.Net.Layers = append(b.Net.Layers, l)
	b.Shapes[l.Output] = l.Out
}

// Missing appends a layer that cannot be one. Its output has the shape out, or an
// unknown one.
func (b *Builder) Missing(l Layer, out *layer.Shape, reason string) {
	l.Reason = reason
	for i, in := range l.Inputs {
		l.Inputs[i] = b.TensorOf(in)
	}
	if out != nil {
		l.Out = *out
		b.Shapes[l.Output] = *out
	} else {
		b.Unknown[l.Output] = fmt.Sprintf("the shape of %q is not known: %s has none", l.Output, l.Name)
	}
	b.Net.Layers = append(b.Net.Layers, l)
}

// Reshape makes name another view of a tensor.
func (b *Builder) Reshape(name, of string, s layer.Shape) error {
	if was := b.Shapes[of]; was.Elements() != s.Elements() {
		return fmt.Errorf("%s has %d elements, %s has %d", ShapeText(was), was.Elements(), ShapeText(s), s.Elements())
	}
	b.Shapes[name] = s
	b.Aliases[name] = b.TensorOf(of)
	return nil
}

// List is the network that was strung together, with its results where the file names some.
func (b *Builder) List() *Network {
	n := &b.Net
	b.sweep()
	b.stages()
	listed := map[string]bool{}
	for i := range n.Results {
		r := &n.Results[i]
		if r.Tensor == r.Name {
			r.Tensor = b.TensorOf(r.Name)
		}
		if _, constant := n.Constants[r.Tensor]; !constant && !listed[r.Tensor] {
			listed[r.Tensor] = true
			n.Outputs = append(n.Outputs, r.Tensor)
		}
	}
	return n
}

// sweep leaves out layers that nothing reads: what was made so that another layer could
// take its place, such as zeros around a picture that the window has itself.
func (b *Builder) sweep() {
	n := &b.Net
	read := map[string]bool{}
	for _, r := range n.Results {
		read[b.TensorOf(r.Tensor)] = true
	}
	gone := make([]bool, len(n.Layers))
	for i := len(n.Layers) - 1; i >= 0; i-- {
		l := &n.Layers[i]
		if !read[l.Output] && l.Reason == "" && l.Spare {
			gone[i] = true
			continue
		}
		for _, in := range l.Inputs {
			read[in] = true
		}
	}
	kept := n.Layers[:0]
	for i, l := range n.Layers {
		if !gone[i] {
			kept = append(kept, l)
			continue
		}
		if len(n.Nodes) > 0 {
			n.Nodes[l.Node].What = "folded"
		}
	}
	n.Layers = slices.Clip(kept)
}

// Tidy leaves out constants that no layer reads, and counts the layers of each node.
func (n *Network) Tidy() {
	read := map[string]bool{}
	for i := range n.Layers {
		for _, in := range n.Layers[i].Inputs {
			read[in] = true
		}
	}
	for _, r := range n.Results {
		read[r.Tensor] = true
	}
	for name := range n.Constants {
		if !read[name] {
			delete(n.Constants, name)
		}
	}
	for i := range n.Nodes {
		n.Nodes[i].Layers = 0
	}
	for i := range n.Layers {
		if len(n.Nodes) == 0 {
			break
		}
		node := &n.Nodes[n.Layers[i].Node]
		if node.Layers == 0 {
			node.First = i
		}
		node.Layers++
	}
	for i := range n.Nodes {
		if x := &n.Nodes[i]; x.Layers == 0 && x.What == "" {
			x.What = "folded"
		}
	}
}

// Store makes tensors in memory of the constants that no task can carry.
func (n *Network) Store() {
	for i := range n.Layers {
		l := &n.Layers[i]
		if !l.Stored {
			continue
		}
		name := l.Name + "/constant"
		n.Constants[name] = l.Weights.Second
		l.Lower.Second, l.Weights.Second = layer.Runtime, nil
		l.Inputs = append(l.Inputs, name)
	}
}

// Note adds a line about the file that its reader should know.
func (b *Builder) Note(format string, v ...any) {
	b.Net.Notes = append(b.Net.Notes, OneLine.Replace(fmt.Sprintf(format, v...)))
}
