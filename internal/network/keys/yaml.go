package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// Limits on a YAML file. Each node of a document follows one of a few marks and takes about
// 200 bytes of memory, so marks are counted before the file is parsed. A layer has about 15.
const (
	maxText  = 16 << 20
	maxMarks = 1 << 19
)

// countPossibleNodes returns how many characters of data may begin a YAML node. The number of nodes
// is not larger than that.
func countPossibleNodes(data []byte) int {
	n := 0
	for _, c := range data {
		switch c {
		case ',', ':', '-', '[', '{', '?', '\n', '&', '*', '!':
			n++
		}
	}
	return n
}

// ReadYAML reads a YAML file that lists the layers of a network, in the form that the package
// documentation describes. The error is a *[list.FormatError] with a line number.
func ReadYAML(data []byte) (*list.Builder, error) {
	if len(data) > maxText {
		return nil, &list.FormatError{Line: 1, What: fmt.Sprintf("file has %d bytes; want at most %d", len(data), maxText)}
	}
	if n := countPossibleNodes(data); n > maxMarks {
		return nil, &list.FormatError{Line: 1, What: fmt.Sprintf("file has too many line breaks and YAML indicators: %d; want at most %d", n, maxMarks)}
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, &list.FormatError{Line: 1, What: "file is empty; want a network"}
	} else if err != nil {
		return nil, toFormatError(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &list.FormatError{Line: 1, What: "file has more than one document; want one network"}
	}
	if len(doc.Content) != 1 {
		return nil, &list.FormatError{Line: 1, What: "document is empty; want a network"}
	}
	r := &yamlReader{Builder: list.NewBuilder(), read: map[string]bool{}, elements: map[string]elementSize{}}
	if err := r.readNetwork(doc.Content[0]); err != nil {
		return nil, err
	}
	r.setNetworkOutputs()
	return r.Builder, nil
}

func toFormatError(err error) error {
	f := &list.FormatError{Line: 1, What: err.Error(), Err: err}
	var e *yaml.LoadError
	if errors.As(err, &e) {
		f.Line, f.What = max(1, e.Mark.Line), e.Message
	}
	return f
}

// A yamlReader builds a network from YAML nodes.
type yamlReader struct {
	*list.Builder
	last     string        // result of the last layer
	release  layer.Release // of all layers
	outputs  []string
	made     []string               // names of layers and reshapes, in order
	read     map[string]bool        // names of tensors that some layer reads
	elements map[string]elementSize // size of a tensor's elements, if a layer has determined it
}

// An elementSize is the size of the elements of a tensor in bits, and the first layer that writes or
// reads the tensor, which determines it.
type elementSize struct {
	bits  int
	layer string
}

// setElementSize records the size of the elements that a layer reads or writes. It returns an error
// if another layer reads or writes them with another size, because no layer converts them.
func (r *yamlReader) setElementSize(tensor, layer string, bits int) error {
	e, ok := r.elements[tensor]
	if !ok {
		e = elementSize{bits, layer}
		r.elements[tensor] = e
	}
	if e.bits != bits {
		return fmt.Errorf("from: tensor %q has %d-bit elements in layer %s; want %d-bit elements", tensor, e.bits, e.layer, bits)
	}
	return nil
}

// setNetworkOutputs sets the outputs of the network, with the names and shapes of the file: the
// listed outputs or, if none are listed, all layers and reshapes that no other layer reads.
func (r *yamlReader) setNetworkOutputs() {
	names := r.outputs
	if len(names) == 0 {
		for _, name := range r.made {
			if !r.read[name] {
				names = append(names, name)
			}
		}
	}
	r.Net.Results = []list.Output{} // a nil list would mean all of Outputs
	listed := map[string]bool{}
	for _, name := range names {
		if listed[name] {
			continue
		}
		listed[name] = true
		s, _ := r.Shape(name)
		r.Net.Results = append(r.Net.Results, list.Output{Name: name, Tensor: name, Dims: []int{s.N, s.C, s.H, s.W}})
	}
}

func newNodeError(n *yaml.Node, format string, v ...any) error {
	return &list.FormatError{Line: max(1, n.Line), What: fmt.Sprintf(format, v...)}
}

// forEachEntry calls visit for every entry of the mapping n. Errors refer to n as subject, and show
// example if n is not a mapping.
func forEachEntry(n *yaml.Node, subject, example string, visit func(key string, k, v *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return newNodeError(n, "%s is %s; want a mapping such as %s", subject, describeNodeKind(n), example)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			return newNodeError(k, "%s: key is %s; want plain text", subject, describeNodeKind(k))
		}
		if seen[k.Value] {
			return newNodeError(k, "%s: duplicate key %q", subject, k.Value)
		}
		seen[k.Value] = true
		if err := visit(k.Value, k, v); err != nil {
			return err
		}
	}
	return nil
}

// describeNodeKind returns a phrase for the kind of YAML node n, such as "a list".
func describeNodeKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	if n.Value == "" {
		return "empty"
	}
	return strconv.Quote(n.Value)
}

func readScalar(n *yaml.Node, subject string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", newNodeError(n, "%s is %s; want a single value", subject, describeNodeKind(n))
	}
	return n.Value, nil
}

func (r *yamlReader) readNetwork(n *yaml.Node) error {
	var inputs, layers *yaml.Node
	// Inputs and layers are only noted here, because keys may come in any order and layers need the
	// release and the inputs.
	err := forEachEntry(n, "network", "{inputs: {x: {c: 3, h: 8, w: 8}}, layers: [{op: relu}]}", func(key string, k, v *yaml.Node) (err error) {
		switch key {
		case "name":
			r.Net.Name, err = readScalar(v, key)
		case "inputs":
			inputs = v
		case "layers":
			layers = v
		case "outputs":
			r.outputs, err = r.readNames(v, key)
		case "first":
			r.Net.OutputsFirst, err = readFirst(v)
		case "release":
			r.release, err = readRelease(v)
		default:
			err = newNodeError(k, "unknown key %q; want name, inputs, layers, outputs, first or release", key)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case inputs == nil || layers == nil:
		return newNodeError(n, "key \"inputs\" or \"layers\" is missing; want both")
	}
	if err := forEachEntry(inputs, "inputs", "{x: {c: 3, h: 224, w: 224}}", r.readInput); err != nil {
		return err
	}
	switch {
	case layers.Kind != yaml.SequenceNode:
		return newNodeError(layers, "layers is %s; want a list such as [{op: relu}]", describeNodeKind(layers))
	case len(layers.Content) == 0:
		return newNodeError(layers, "layers is an empty list; want at least one layer")
	}
	if len(layers.Content) > list.MaxLayers {
		return newNodeError(layers, "network has %d layers; want at most %d", len(layers.Content), list.MaxLayers)
	}
	for i, l := range layers.Content {
		if err := r.readLayer(i, l); err != nil {
			return err
		}
	}
	// Tensors of the outputs exist only after the layers.
	for _, name := range r.outputs {
		if _, ok := r.Shape(name); !ok {
			return newNodeError(n, "outputs: unknown tensor %q; want a layer or input", name)
		}
	}
	return nil
}

// readFirst reads which buffers of a network are numbered first, and reports whether it is those of
// the outputs.
func readFirst(n *yaml.Node) (outputs bool, err error) {
	switch n.Value {
	case "output":
		return true, nil
	case "input":
		return false, nil
	}
	return false, newNodeError(n, "first is %s; want input or output", describeNodeKind(n))
}

// readRelease reads the release of Apple's compiler that a network imitates.
func readRelease(n *yaml.Node) (layer.Release, error) {
	for _, r := range layer.ReleasesOfNetworks() {
		if r.String() == n.Value {
			return r, nil
		}
	}
	return layer.Newest, newNodeError(n, "release is %s; want newest or 2026", describeNodeKind(n))
}

func (r *yamlReader) readInput(name string, k, v *yaml.Node) error {
	values, err := r.readValues(v, "input "+name)
	if err != nil {
		return err
	}
	a := &args{op: "input", known: keyNames(extents), values: values}
	s, err := a.parseShape()
	if err != nil {
		return newNodeError(v, "input %s: %v", name, err)
	}
	r.Input(name, s)
	r.last = name
	return nil
}

// parseShape returns the shape that the keys n, c, h and w describe. The extent of a missing key is
// 1.
func (a *args) parseShape() (layer.Shape, error) {
	a.checkUnknownKeys()
	s := singleInputShapes(a)[0]
	if a.err != nil {
		return s, a.err
	}
	return s, list.CheckShape(s)
}

// readValues returns the entries of n, a YAML mapping of scalars. Errors refer to n as subject.
func (r *yamlReader) readValues(n *yaml.Node, subject string) (map[string]string, error) {
	values := map[string]string{}
	err := forEachEntry(n, subject, "{c: 3, h: 224, w: 224}", func(key string, k, v *yaml.Node) (err error) {
		values[key], err = readScalar(v, key)
		return err
	})
	return values, err
}

// readNames returns the names in n: a single name, or a list of at least one. Errors refer to n as
// subject.
func (r *yamlReader) readNames(n *yaml.Node, subject string) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		s, err := readScalar(n, subject)
		return []string{s}, err
	}
	var list []string
	for _, c := range n.Content {
		s, err := readScalar(c, subject)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, newNodeError(n, "%s: list is empty; want at least one name", subject)
	}
	return list, nil
}

func (r *yamlReader) readLayer(i int, n *yaml.Node) error {
	// Without "from", a layer reads the result of the one before it.
	l := list.Layer{Inputs: []string{r.last}}
	values := map[string]string{}
	err := forEachEntry(n, "layer", "{name: a, op: relu}", func(key string, k, v *yaml.Node) (err error) {
		switch key {
		case "name":
			l.Name, err = readScalar(v, key)
		case "op":
			l.Op, err = readScalar(v, key)
		case "from":
			l.Inputs, err = r.readNames(v, key)
		default:
			values[key], err = readScalar(v, key)
		}
		return err
	})
	if err != nil {
		return err
	}
	if l.Name == "" {
		l.Name = l.Op + strconv.Itoa(i)
	}
	if _, twice := r.Shape(l.Name); twice {
		return newNodeError(n, "name %q is already in use", l.Name)
	}
	l.Output = l.Name
	var in []layer.Shape
	for _, name := range l.Inputs {
		s, ok := r.Shape(name)
		if !ok {
			return newNodeError(n, "layer %s: from: unknown tensor %q; want an earlier layer or input", l.Name, name)
		}
		in = append(in, s)
		r.read[name] = true
	}
	r.last = l.Name
	r.made = append(r.made, l.Name)
	if l.Op == "reshape" {
		return r.addReshape(n, &l, values)
	}
	op, ok := Find(l.Op)
	if !ok {
		return newNodeError(n, "layer %s: unknown op %q; want reshape or one of %s", l.Name, l.Op, strings.Join(Names(), ", "))
	}
	built, err := op.After(in, values)
	if err != nil {
		return toLayerError(n, l.Name, err)
	}
	built.Lower.Release = r.release
	bits := built.Lower.Op.ElementBits()
	for _, name := range l.Inputs {
		if err := r.setElementSize(name, l.Name, bits); err != nil {
			return newNodeError(n, "layer %s: %v", l.Name, err)
		}
	}
	r.elements[l.Name] = elementSize{bits, l.Name}
	// A transpose of axes of extent 1, for example, moves nothing: it is another shape of the same tensor
	// and costs no task.
	if keepsElementOrder(&built.Lower) {
		return r.Reshape(l.Name, l.Inputs[0], built.Out)
	}
	built.Name, built.Inputs, built.Output, built.Line = l.Name, l.Inputs, l.Output, n.Line
	r.Add(*built)
	return nil
}

// keepsElementOrder reports whether x is a transpose that keeps the order of all axes with more
// than one element. Such a transpose moves no element, so it is equal to a reshape.
func keepsElementOrder(x *layer.Layer) bool {
	if x.Op != layer.Transpose {
		return false
	}
	if x.Order == layer.SwapBatch {
		return min(x.In.N, x.In.C) == 1
	}
	extents := map[layer.Axes]int{layer.AxisC: x.In.C, layer.AxisH: x.In.H, layer.AxisW: x.In.W}
	isLong := func(a layer.Axes) bool { return extents[a] > 1 }
	var before, after []layer.Axes
	for _, a := range [...]layer.Axes{layer.AxisC, layer.AxisH, layer.AxisW} {
		if isLong(a) {
			before = append(before, a)
		}
	}
	for _, a := range x.Order {
		if isLong(a) {
			after = append(after, a)
		}
	}
	return slices.Equal(before, after)
}

// toLayerError returns err with the name and the line of the layer. If err reports an unknown key,
// the message also lists the keys that every layer of a file has.
func toLayerError(n *yaml.Node, name string, err error) error {
	what := fmt.Sprintf("layer %s: %v", name, err)
	var key *KeyError
	if errors.As(err, &key) && key.What == unknownKey {
		what += " besides name, op and from"
	}
	return &list.FormatError{Line: max(1, n.Line), What: what, Err: err}
}

// addReshape makes the result of l a view of its only input with the extents in values. It
// returns an error if the extents have another number of elements.
func (r *yamlReader) addReshape(n *yaml.Node, l *list.Layer, values map[string]string) error {
	a := &args{op: l.Op, known: keyNames(extents), values: values}
	s, err := a.parseShape()
	if err == nil && len(l.Inputs) != 1 {
		err = fmt.Errorf("from: layer has %d inputs; want 1", len(l.Inputs))
	}
	if err == nil {
		// A view of 8-bit elements would have rows of another size in memory.
		err = r.setElementSize(l.Inputs[0], l.Name, 16)
	}
	if err == nil {
		r.elements[l.Name] = r.elements[l.Inputs[0]]
		err = r.Reshape(l.Name, l.Inputs[0], s)
	}
	if err != nil {
		return &list.FormatError{Line: max(1, n.Line), What: fmt.Sprintf("layer %s: %v", l.Name, err), Err: err}
	}
	return nil
}
