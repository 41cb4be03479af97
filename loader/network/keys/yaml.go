package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v4"

	"anesim/loader/layer"
	"anesim/loader/network/list"
)

// Bounds on a YAML file. A node of a document begins behind one of a few marks and takes
// some two hundred bytes, so that marks are counted before any is read; a layer has about
// fifteen.
const (
	maxText  = 16 << 20
	maxMarks = 1 << 19
)

// marks counts what may begin a node.
func marks(data []byte) int {
	n := 0
	for _, c := range data {
		switch c {
		case ',', ':', '-', '[', '{', '?', '\n', '&', '*', '!':
			n++
		}
	}
	return n
}

// ReadYAML strings the layers of a YAML file together. Errors are a *[list.FormatError].
func ReadYAML(data []byte) (*list.Builder, error) {
	if len(data) > maxText {
		return nil, &list.FormatError{Line: 1, What: fmt.Sprintf("more than %d bytes", maxText)}
	}
	if n := marks(data); n > maxMarks {
		return nil, &list.FormatError{Line: 1, What: fmt.Sprintf("%d marks that may begin a value, want at most %d", n, maxMarks)}
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, &list.FormatError{Line: 1, What: "the file is empty"}
	} else if err != nil {
		return nil, yamlError(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &list.FormatError{Line: 1, What: "a second document; a file has one network"}
	}
	if len(doc.Content) != 1 {
		return nil, &list.FormatError{Line: 1, What: "want one mapping"}
	}
	r := &yamlReader{Builder: list.NewBuilder(), read: map[string]bool{}}
	if err := r.network(doc.Content[0]); err != nil {
		return nil, err
	}
	r.results()
	return r.Builder, nil
}

func yamlError(err error) error {
	f := &list.FormatError{Line: 1, What: err.Error(), Err: err}
	var e *yaml.LoadError
	if errors.As(err, &e) {
		f.Line, f.What = max(1, e.Mark.Line), e.Message
	}
	return f
}

// A yamlReader builds a network of YAML nodes.
type yamlReader struct {
	*list.Builder
	last    string // tensor
	outputs []string
	made    []string        // layers and reshapes, in order
	read    map[string]bool // tensors that one of them reads
}

// results gives the network its outputs under the names and in the shapes of the file: those
// that it lists, else every layer and reshape that no other one reads.
func (r *yamlReader) results() {
	names := r.outputs
	if len(names) == 0 {
		for _, name := range r.made {
			if !r.read[name] {
				names = append(names, name)
			}
		}
	}
	r.Net.Results = []list.Output{} // not nil: there are no others
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

func at(n *yaml.Node, format string, v ...any) error {
	return &list.FormatError{Line: max(1, n.Line), What: fmt.Sprintf(format, v...)}
}

// pairs calls visit on the entries of a mapping.
func pairs(n *yaml.Node, what string, visit func(key string, k, v *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "%s: want a mapping", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			return at(k, "%s: want plain keys", what)
		}
		if seen[k.Value] {
			return at(k, "%s: %s is given twice", what, k.Value)
		}
		seen[k.Value] = true
		if err := visit(k.Value, k, v); err != nil {
			return err
		}
	}
	return nil
}

func scalar(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", at(n, "%s: want one value", what)
	}
	return n.Value, nil
}

func (r *yamlReader) network(n *yaml.Node) error {
	var inputs, layers *yaml.Node
	err := pairs(n, "network", func(key string, k, v *yaml.Node) (err error) {
		switch key {
		case "name":
			r.Net.Name, err = scalar(v, key)
		case "inputs":
			inputs = v
		case "layers":
			layers = v
		case "outputs":
			r.outputs, err = r.list(v, key)
		default:
			err = at(k, "%s: a network has name, inputs, layers, outputs", key)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case inputs == nil || layers == nil:
		return at(n, "a network has inputs and layers")
	}
	if err := pairs(inputs, "inputs", r.readInput); err != nil {
		return err
	}
	if layers.Kind != yaml.SequenceNode || len(layers.Content) == 0 {
		return at(layers, "layers: want a list")
	}
	if len(layers.Content) > list.MaxLayers {
		return at(layers, "more than %d layers", list.MaxLayers)
	}
	for i, l := range layers.Content {
		if err := r.layer(i, l); err != nil {
			return err
		}
	}
	for _, name := range r.outputs {
		if _, ok := r.Shape(name); !ok {
			return at(n, "outputs: no layer is called %q", name)
		}
	}
	return nil
}

func (r *yamlReader) readInput(name string, k, v *yaml.Node) error {
	values, err := r.keys(v, name)
	if err != nil {
		return err
	}
	a := &args{op: "input", known: keyNames(extents), values: values}
	s, err := a.shape()
	if err != nil {
		return at(v, "input %s: %v", name, err)
	}
	r.Input(name, s)
	r.last = name
	return nil
}

// shape is the shape that n, c, h and w give.
func (a *args) shape() (layer.Shape, error) {
	a.check()
	s := tensorInputs(a)[0]
	if a.err != nil {
		return s, a.err
	}
	return s, list.CheckShape(s)
}

// keys are a mapping of plain values.
func (r *yamlReader) keys(n *yaml.Node, what string) (map[string]string, error) {
	values := map[string]string{}
	err := pairs(n, what, func(key string, k, v *yaml.Node) (err error) {
		values[key], err = scalar(v, key)
		return err
	})
	return values, err
}

// list is a name or a list of names.
func (r *yamlReader) list(n *yaml.Node, what string) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		s, err := scalar(n, what)
		return []string{s}, err
	}
	var list []string
	for _, c := range n.Content {
		s, err := scalar(c, what)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, at(n, "%s: the list is empty", what)
	}
	return list, nil
}

func (r *yamlReader) layer(i int, n *yaml.Node) error {
	l := list.Layer{Inputs: []string{r.last}}
	values := map[string]string{}
	err := pairs(n, "layer", func(key string, k, v *yaml.Node) (err error) {
		switch key {
		case "name":
			l.Name, err = scalar(v, key)
		case "op":
			l.Op, err = scalar(v, key)
		case "from":
			l.Inputs, err = r.list(v, key)
		default:
			values[key], err = scalar(v, key)
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
		return at(n, "%q is the name of another layer or input", l.Name)
	}
	l.Output = l.Name
	var in []layer.Shape
	for _, name := range l.Inputs {
		s, ok := r.Shape(name)
		if !ok {
			return at(n, "layer %s: from: no layer or input before it is called %q", l.Name, name)
		}
		in = append(in, s)
		r.read[name] = true
	}
	r.last = l.Name
	r.made = append(r.made, l.Name)
	if l.Op == "reshape" {
		return r.view(n, &l, values)
	}
	op, ok := Find(l.Op)
	if !ok {
		return at(n, "layer %s: op %q: want one of %v or reshape", l.Name, l.Op, Names())
	}
	built, err := op.Behind(in, values)
	if err != nil {
		return &list.FormatError{Line: max(1, n.Line), What: fmt.Sprintf("layer %s: %v", l.Name, err), Err: err}
	}
	built.Name, built.Inputs, built.Output, built.Line = l.Name, l.Inputs, l.Output, n.Line
	r.Add(*built)
	return nil
}

// view adds a reshape.
func (r *yamlReader) view(n *yaml.Node, l *list.Layer, values map[string]string) error {
	a := &args{op: l.Op, known: keyNames(extents), values: values}
	s, err := a.shape()
	if err == nil && len(l.Inputs) != 1 {
		err = fmt.Errorf("from: want one tensor")
	}
	if err == nil {
		err = r.Reshape(l.Name, l.Inputs[0], s)
	}
	if err != nil {
		return &list.FormatError{Line: max(1, n.Line), What: fmt.Sprintf("layer %s: %v", l.Name, err), Err: err}
	}
	return nil
}
