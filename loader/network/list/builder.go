package list

import (
	"fmt"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Builder strings layers together by the names of tensors.
//
// What may not work out is strung together on a builder of its own ([Builder.Try]), which sees
// all that the outer one has and adds nothing to it until it is kept. A builder that is not
// kept leaves nothing behind but its notes, which are about the file.
type Builder struct {
	Net   Network
	outer *Builder // nil for that of the network
	spare *Builder // one that was kept, whose memory the next one takes
	// shapes are those of what inputs and layers make; a tensor of unknown shape is not among
	// them.
	shapes map[string]layer.Shape
	// aliases has the tensor whose values a name stands for: what reshape and its like give.
	aliases map[string]string
}

// NewBuilder returns a builder of an empty network.
func NewBuilder() *Builder {
	return &Builder{Net: Network{Constants: map[string][]float16.Float16{}}}
}

// Try returns a builder that goes on from b.
func (b *Builder) Try() *Builder {
	t := b.spare
	if t == nil {
		t = &Builder{}
	}
	b.spare, t.outer = nil, b
	return t
}

// Keep adds all of b to the builder that it goes on from. There is no more use of b after that.
func (b *Builder) Keep() {
	o, n := b.outer, &b.Net
	layers, nodes := len(o.Net.Layers), len(o.Net.Nodes)
	for i := range n.Layers {
		n.Layers[i].Node += nodes
	}
	for i := range n.Nodes {
		n.Nodes[i].First += layers
	}
	o.Net.Layers = append(o.Net.Layers, n.Layers...)
	o.Net.Nodes = append(o.Net.Nodes, n.Nodes...)
	for name, v := range n.Constants {
		put(&o.Net.Constants, name, v)
	}
	for name, c := range n.Cuts {
		put(&o.Net.Cuts, name, c)
	}
	for name, s := range b.shapes {
		put(&o.shapes, name, s)
	}
	for name, of := range b.aliases {
		put(&o.aliases, name, of)
	}
	clear(n.Layers)
	clear(n.Constants)
	clear(b.shapes)
	clear(b.aliases)
	*b = Builder{Net: Network{Layers: n.Layers[:0], Constants: n.Constants}, spare: b.spare, shapes: b.shapes, aliases: b.aliases}
	o.spare = b
}

// put adds to a map that is made when something is added first: most builders add little.
func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

// Len is how many layers there are, those of outer builders included.
func (b *Builder) Len() int {
	n := 0
	for ; b != nil; b = b.outer {
		n += len(b.Net.Layers)
	}
	return n
}

// Input adds an input of the network.
func (b *Builder) Input(name string, s layer.Shape) {
	b.Net.Inputs = append(b.Net.Inputs, Tensor{Name: name, Shape: s})
	b.SetShape(name, s)
}

// Inputs are those of the network.
func (b *Builder) Inputs() []Tensor { return b.root().Net.Inputs }

func (b *Builder) root() *Builder {
	for b.outer != nil {
		b = b.outer
	}
	return b
}

// Shape returns the shape of a tensor, and false if it is not known.
func (b *Builder) Shape(name string) (layer.Shape, bool) {
	for ; b != nil; b = b.outer {
		if s, ok := b.shapes[name]; ok {
			return s, true
		}
	}
	return layer.Shape{}, false
}

// SetShape says what shape a tensor has.
func (b *Builder) SetShape(name string, s layer.Shape) { put(&b.shapes, name, s) }

// TensorOf is the tensor that a name's values are in.
func (b *Builder) TensorOf(name string) string {
	for ; b != nil; b = b.outer {
		if v, ok := b.aliases[name]; ok {
			return v
		}
	}
	return name
}

// SetTensor makes name stand for the values of a tensor.
func (b *Builder) SetTensor(name, tensor string) { put(&b.aliases, name, tensor) }

// HasConstant reports whether a tensor's values are among the network's constants.
func (b *Builder) HasConstant(name string) bool {
	for ; b != nil; b = b.outer {
		if _, ok := b.Net.Constants[name]; ok {
			return true
		}
	}
	return false
}

// Constant adds a constant that layers read from memory; its values may be absent.
func (b *Builder) Constant(name string, v []float16.Float16, s layer.Shape) {
	put(&b.Net.Constants, name, v)
	b.SetShape(name, s)
}

// CutOf returns what is to be left out of a tensor, nil for nothing.
func (b *Builder) CutOf(name string) *Cut {
	for ; b != nil; b = b.outer {
		if c := b.Net.Cuts[name]; c != nil {
			return c
		}
	}
	return nil
}

// SetCut says what is to be left out of a tensor.
func (b *Builder) SetCut(name string, c *Cut) { put(&b.Net.Cuts, name, c) }

// Add appends a layer; its inputs and output are names of the file.
func (b *Builder) Add(l Layer) {
	for i, in := range l.Inputs {
		l.Inputs[i] = b.TensorOf(in)
	}
	b.Net.Layers = append(b.Net.Layers, l)
	b.SetShape(l.Output, l.Out)
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
		b.SetShape(l.Output, *out)
	}
	b.Net.Layers = append(b.Net.Layers, l)
}

// Reshape makes name another view of a tensor.
func (b *Builder) Reshape(name, of string, s layer.Shape) error {
	if was, _ := b.Shape(of); was.Elements() != s.Elements() {
		return fmt.Errorf("%s has %d elements, %s has %d", ShapeText(was), was.Elements(), ShapeText(s), s.Elements())
	}
	b.SetShape(name, s)
	b.SetTensor(name, b.TensorOf(of))
	return nil
}

// Network is the list that was strung together, with its results where the file names some,
// without layers that nothing reads, and with the host's stages where they cut the fewest
// programs.
func (b *Builder) Network() *Network {
	n := &b.Net
	b.sweep()
	b.orderStages()
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

// sweep leaves out layers that no result needs: what was made so that another layer could
// take its place, such as zeros around a picture that the window has itself, and what the
// file has and does not use, which a note names. A list that has no results is kept whole, and
// so is one with layers that neither the engine nor the host does: what they read may not be
// known.
func (b *Builder) sweep() {
	n := &b.Net
	read := map[string]bool{}
	for _, r := range n.Results {
		read[b.TensorOf(r.Tensor)] = true
	}
	whole := len(n.Results) == 0 || slices.ContainsFunc(n.Layers, func(l Layer) bool { return l.Reason != "" && l.Host == nil })
	gone := make([]bool, len(n.Layers))
	var unused []string // layers, of a list without operators
	for i := len(n.Layers) - 1; i >= 0; i-- {
		l := &n.Layers[i]
		needed := read[l.Output] || slices.ContainsFunc(l.Others, func(o string) bool { return read[o] })
		if !needed && (!whole || l.Reason == "" && l.Spare) {
			if gone[i] = true; len(n.Nodes) == 0 && !l.Spare {
				unused = append(unused, l.Name)
			}
			continue
		}
		for _, in := range l.Inputs {
			read[in] = true
		}
	}
	slices.Reverse(unused)
	if unused = append(unused, n.leaveOut(gone)...); len(unused) > 0 {
		names := strings.Join(unused[:min(maxUnused, len(unused))], ", ")
		if more := len(unused) - maxUnused; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		b.Note("left out, for no output needs them: %s", names)
	}
}

// maxUnused is how many layers a note names.
const maxUnused = 5

// leaveOut takes layers off the list. What an operator had that has none left was folded into
// others, or nothing needs it; it returns the names of the latter.
func (n *Network) leaveOut(gone []bool) (unused []string) {
	kept := n.Layers[:0]
	for i, l := range n.Layers {
		if !gone[i] {
			kept = append(kept, l)
			continue
		}
		if len(n.Nodes) == 0 {
			continue
		}
		node := &n.Nodes[l.Node]
		if node.Layers--; l.Spare || node.What == "folded" {
			node.What = "folded"
		} else if node.Layers == 0 {
			node.What = Unused
			unused = append(unused, node.Name)
		}
	}
	n.Layers = slices.Clip(kept)
	return unused
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
	n := &b.root().Net
	n.Notes = append(n.Notes, OneLine.Replace(fmt.Sprintf(format, v...)))
}
