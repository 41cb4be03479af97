package list

import (
	"fmt"
	"slices"
	"strings"

	"github.com/x448/float16"

	"anesim/loader/layer"
)

// A Builder collects the layers of a network and keeps track of the shapes of their tensors. Layers
// refer to tensors by name.
//
// Layers that may have to be discarded can be added to a nested builder, which [Builder.Try]
// returns. The nested builder sees all tensors of the outer one. [Builder.Keep] moves its content
// to the outer builder. Without a call of Keep, only its notes remain.
type Builder struct {
	Net   Network
	outer *Builder // nil for the builder of the network
	spare *Builder // a nested builder whose memory can be reused
	// shapes holds the shapes of tensors. Tensors of unknown shape are not in it.
	shapes map[string]layer.Shape
	// aliases maps a name to the tensor with its values, such as a reshape to its input.
	aliases map[string]string
}

// NewBuilder returns a builder for a network without inputs or layers.
func NewBuilder() *Builder {
	return &Builder{Net: Network{Constants: map[string][]float16.Float16{}}}
}

// Try returns an empty builder that is nested in b and sees all tensors of b. Nothing is added to b
// until [Builder.Keep] is called on the nested builder.
func (b *Builder) Try() *Builder {
	t := b.spare
	if t == nil {
		t = &Builder{}
	}
	b.spare, t.outer = nil, b
	return t
}

// Keep moves the content of b, a nested builder, to its outer builder. The caller must not use b
// afterwards.
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
		putInLazyMap(&o.Net.Constants, name, v)
	}
	for name, c := range n.Cuts {
		putInLazyMap(&o.Net.Cuts, name, c)
	}
	for name, s := range b.shapes {
		putInLazyMap(&o.shapes, name, s)
	}
	for name, of := range b.aliases {
		putInLazyMap(&o.aliases, name, of)
	}
	clear(n.Layers)
	clear(n.Constants)
	clear(b.shapes)
	clear(b.aliases)
	*b = Builder{Net: Network{Layers: n.Layers[:0], Constants: n.Constants}, spare: b.spare, shapes: b.shapes, aliases: b.aliases}
	o.spare = b
}

// putInLazyMap sets (*m)[name] to v. It makes the map first if it is nil, which saves memory
// because most nested builders have no entries.
func putInLazyMap[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

// Len returns the number of layers in b and in all builders that b is nested in.
func (b *Builder) Len() int {
	n := 0
	for ; b != nil; b = b.outer {
		n += len(b.Net.Layers)
	}
	return n
}

// Input adds an input with the given name and shape to the network.
func (b *Builder) Input(name string, s layer.Shape) {
	b.Net.Inputs = append(b.Net.Inputs, Tensor{Name: name, Shape: s})
	b.SetShape(name, s)
}

// Inputs returns the inputs of the network. A nested builder returns the inputs of the network that
// it is part of.
func (b *Builder) Inputs() []Tensor { return b.outermostBuilder().Net.Inputs }

func (b *Builder) outermostBuilder() *Builder {
	for b.outer != nil {
		b = b.outer
	}
	return b
}

// Shape returns the shape of the named tensor. The second result is false if the shape is unknown.
func (b *Builder) Shape(name string) (layer.Shape, bool) {
	for ; b != nil; b = b.outer {
		if s, ok := b.shapes[name]; ok {
			return s, true
		}
	}
	return layer.Shape{}, false
}

// SetShape sets the shape of the named tensor to s. In a nested builder, the shape in the outer
// builder changes only with [Builder.Keep].
func (b *Builder) SetShape(name string, s layer.Shape) { putInLazyMap(&b.shapes, name, s) }

// TensorOf returns the tensor that name is an alias of, or name itself if it is not an alias. The
// result of a reshape, for example, is an alias of its input.
func (b *Builder) TensorOf(name string) string {
	for ; b != nil; b = b.outer {
		if v, ok := b.aliases[name]; ok {
			return v
		}
	}
	return name
}

// SetTensor makes name an alias of tensor: layers that read name will read tensor instead.
func (b *Builder) SetTensor(name, tensor string) { putInLazyMap(&b.aliases, name, tensor) }

// HasConstant reports whether [Builder.Constant] added a constant with the given name.
func (b *Builder) HasConstant(name string) bool {
	for ; b != nil; b = b.outer {
		if _, ok := b.Net.Constants[name]; ok {
			return true
		}
	}
	return false
}

// Constant adds a constant tensor of shape s, which layers read from memory. v holds its elements
// in row-major order. If the file lacks them, v is nil, and pseudo-random values are used.
func (b *Builder) Constant(name string, v []float16.Float16, s layer.Shape) {
	putInLazyMap(&b.Net.Constants, name, v)
	b.SetShape(name, s)
}

// CutOf returns the padding with which the named tensor is stored, or nil if it has no padding.
func (b *Builder) CutOf(name string) *Cut {
	for ; b != nil; b = b.outer {
		if c := b.Net.Cuts[name]; c != nil {
			return c
		}
	}
	return nil
}

// SetCut records that the named tensor is stored with the padding that c describes.
func (b *Builder) SetCut(name string, c *Cut) { putInLazyMap(&b.Net.Cuts, name, c) }

// Add appends l to the layers, and sets the shape of its output to l.Out. Inputs of l that are
// aliases are replaced by the tensors that they refer to.
func (b *Builder) Add(l Layer) {
	for i, in := range l.Inputs {
		l.Inputs[i] = b.TensorOf(in)
	}
	b.Net.Layers = append(b.Net.Layers, l)
	b.SetShape(l.Output, l.Out)
}

// Missing appends l as a layer that the engine cannot run, and records the reason. out is the shape
// of its output, or nil if the shape is unknown. The engine cannot run layers that read an output
// of unknown shape.
func (b *Builder) Missing(l Layer, out *layer.Shape, reason string) {
	l.Reason = shortenReason(reason)
	for i, in := range l.Inputs {
		l.Inputs[i] = b.TensorOf(in)
	}
	if out != nil {
		l.Out = *out
		b.SetShape(l.Output, *out)
	}
	b.Net.Layers = append(b.Net.Layers, l)
}

// shortenReason replaces the middle of a reason by "..." if it is longer than 400 bytes, as it may
// be if it contains a list or a name from the file.
func shortenReason(reason string) string {
	const most, end = 400, 120
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most-end], "") + " ... " + strings.ToValidUTF8(reason[len(reason)-end:], "")
}

// Reshape makes name an alias of tensor, with shape s. It returns an error if tensor does not have
// as many elements as s.
func (b *Builder) Reshape(name, tensor string, s layer.Shape) error {
	if was, _ := b.Shape(tensor); was.Elements() != s.Elements() {
		return fmt.Errorf("cannot reshape %s (%d elements) to %s (%d elements)", ShapeText(was), was.Elements(), ShapeText(s), s.Elements())
	}
	b.SetShape(name, s)
	b.SetTensor(name, b.TensorOf(tensor))
	return nil
}

// Network finishes the network and returns it. It removes layers that no output needs. It also
// moves layers that the host runs, so that the engine's layers form as few programs as possible.
// The caller must not use b afterwards.
func (b *Builder) Network() *Network {
	n := &b.Net
	b.removeUnusedLayers()
	b.moveHostStages()
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

// removeUnusedLayers removes layers that no result needs. Some were added so that another layer
// could replace them, such as zeros around an image whose convolution pads by itself. Others are in
// the file but not used; a note names them. If the list has no results, or has a layer that neither
// the engine nor the host can run, only layers marked Spare are removed, because later uses may be
// unknown.
func (b *Builder) removeUnusedLayers() {
	n := &b.Net
	read := map[string]bool{}
	for _, r := range n.Results {
		read[b.TensorOf(r.Tensor)] = true
	}
	whole := len(n.Results) == 0 || slices.ContainsFunc(n.Layers, func(l Layer) bool { return l.Reason != "" && l.Host == nil })
	gone := make([]bool, len(n.Layers))
	var unused []string // names of layers, if the list has no operators
	// Backwards, so that the inputs of a removed layer may become unused too.
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
	if unused = append(unused, n.removeLayers(gone)...); len(unused) > 0 {
		names := strings.Join(unused[:min(maxUnused, len(unused))], ", ")
		if more := len(unused) - maxUnused; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		b.Note("left out because no output needs them: %s", names)
	}
}

// maxUnused is the largest number of layers that a note names.
const maxUnused = 5

// removeLayers removes each layer i with gone[i] set. An operator without remaining layers is
// marked as folded or unused; removeLayers returns the names of the unused ones.
func (n *Network) removeLayers(gone []bool) (unused []string) {
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

// Tidy deletes constants that neither a layer nor a result reads, and updates the number of
// layers of each operator in n.Nodes. Call it after the layers of a network have changed.
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
		// A list that was written by hand has layers without nodes.
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

// Store moves constants that do not fit in a descriptor to memory. Such a constant is the second
// operand of an elementwise layer, with its field Stored set. It becomes a tensor with a name of
// its own, which the layer reads as its second input.
func (n *Network) Store() {
	taken := map[string]bool{}
	n.forEachTensorName(func(name *string) { taken[*name] = true })
	for name := range n.Constants {
		taken[name] = true
	}
	last := map[string]int{}
	for i := range n.Layers {
		l := &n.Layers[i]
		if !l.Stored {
			continue
		}
		first := l.Name + "/constant"
		name := first
		for taken[name] {
			last[first]++
			name = fmt.Sprintf("%s %d", first, last[first]+1)
		}
		taken[name] = true
		n.Constants[name] = l.Weights.Second
		l.Lower.Second, l.Weights.Second = layer.Runtime, nil
		l.Inputs = append(l.Inputs, name)
	}
}

// Note adds a remark about the file, formatted as by [fmt.Sprintf], to the network. Line breaks are
// escaped. Notes of a nested builder stay even if its layers are not kept.
func (b *Builder) Note(format string, v ...any) {
	n := &b.outermostBuilder().Net
	n.Notes = append(n.Notes, OneLine.Replace(fmt.Sprintf(format, v...)))
}
