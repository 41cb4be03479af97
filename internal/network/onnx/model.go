package onnx

import (
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
	"anesim/internal/network/wire"
)

// A FormatError reports that a file is not a well-formed ONNX model, with the byte offset of the
// problem.
type FormatError = wire.FormatError

// A Model is the content of an ONNX file.
type Model struct {
	Graph
	Producer string           // program that wrote the file
	Opsets   map[string]int64 // version of each operator domain; "" is the standard domain
}

// A Graph is a list of nodes with inputs, constants and outputs. It is a whole model or one branch
// of an If node.
type Graph struct {
	Name      string
	Nodes     []Node // in an order in which they can run
	Constants map[string]*Tensor
	Inputs    []Value // without the constants
	Outputs   []Value
	Known     map[string]Value // intermediate tensors whose shape is stated
}

// A Node is one call of an operator, with the names of its input and output tensors.
type Node struct {
	Name       string // may be empty
	Op, Domain string
	Overload   string   // which of several functions of one name; see function
	Inputs     []string // "" for an omitted optional input
	Outputs    []string
	Attributes map[string]*Attribute
	Off        int64 // byte offset in the file
}

// An Attribute is an argument of a node that is fixed in the file, such as the strides of a
// convolution. Only the field for the attribute's kind of value is set.
type Attribute struct {
	Int     int64
	Float   float32
	Text    string
	Ints    []int64
	Floats  []float32
	Strings []string
	Tensor  *Tensor
	Graph   *Graph
	Ref     string // in a function, the attribute of the call that has the value
}

// A Value is a tensor's name with its element type and shape, as far as the file states them.
type Value = graph.Port

// A Dim is one dimension of a value: a size, a name for a size that the user chooses, or
// neither.
type Dim = graph.Dim

// LatestOpset holds the highest known version of the standard operators. Version 25 adds element
// types to that of 24.
const LatestOpset = 25

// Limits on the content of an ONNX file. They bound the memory for a file to a few times its size.
// All known networks stay far below them.
const (
	MaxBytes      = 1 << 31 // of a file; the limit of protocol buffers
	maxNodes      = 1 << 16
	maxNames      = 1 << 18 // inputs and outputs of all nodes
	maxAttributes = 1 << 18
	maxValues     = 1 << 17 // stated shapes
	maxConstants  = 1 << 17
	maxRank       = 64
	maxDepth      = 16 // nesting of graphs
)

// Read reads a model from the content of an ONNX file. Tensors share memory with data, which the
// caller must not change. The error is a *[FormatError].
func Read(data []byte) (*Model, error) {
	if len(data) > MaxBytes {
		return nil, &FormatError{Off: MaxBytes, What: "file exceeds the protocol buffer limit of 2 GB"}
	}
	m := &Model{Opsets: map[string]int64{}}
	r := &reader{}
	var graphs int
	var functions []*function
	err := wire.Message{Data: data}.FieldsOfFile("an ONNX model", func(f wire.Field) error {
		switch f.Num {
		case 2:
			return f.Text(&m.Producer)
		case 7:
			graphs++
			g, err := r.readGraph(f)
			if err == nil {
				m.Graph = *g
			}
			return err
		case 8:
			return readOpset(f, m.Opsets)
		case 25:
			fn, err := r.readFunction(f)
			functions = append(functions, fn)
			return err
		}
		return nil
	})
	// Any bytes may parse as a protocol buffer without known fields, so the graph tells whether this is a
	// model.
	if err == nil && graphs != 1 {
		err = &FormatError{Off: 0, What: "not an ONNX model: no graph found"}
		if graphs > 1 {
			err = &FormatError{Off: 0, What: "model has more than one graph"}
		}
	}
	if err == nil {
		err = m.expandFunctions(functions)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// readOpset reads the version of the operators of one domain from field f.
func readOpset(f wire.Field, versions map[string]int64) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	var domain string
	var version int64
	err := f.Body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&domain)
		case 2:
			return f.Integer(&version)
		}
		return nil
	})
	if domain == "ai.onnx" { // the long name of the standard domain
		domain = ""
	}
	versions[domain] = version
	return err
}

// A reader counts the nodes, names, attributes, shapes and constants in all graphs of a file, to
// enforce the limits.
type reader struct {
	nodes, names, attributes, values, constants int
	depth                                       int
}

// incrementCount increments *n. It returns an error, at the offset of field f, if the result
// exceeds maximum. limit names maximum in the message, as in "65536 nodes".
func incrementCount(n *int, maximum int, f wire.Field, limit string) error {
	if *n++; *n > maximum {
		return &FormatError{Off: int64(f.Off), What: "model exceeds the limit of " + limit}
	}
	return nil
}

// appendName appends the text in field f to names, and counts it.
func (r *reader) appendName(names *[]string, f wire.Field) error {
	if err := incrementCount(&r.names, maxNames, f, "262144 inputs and outputs of nodes"); err != nil {
		return err
	}
	var s string
	err := f.Text(&s)
	*names = append(*names, s)
	return err
}

func (r *reader) readGraph(f wire.Field) (*Graph, error) {
	if err := f.Want(protowire.BytesType); err != nil {
		return nil, err
	}
	if r.depth++; r.depth > maxDepth {
		return nil, &FormatError{Off: int64(f.Off), What: "graph nesting exceeds the limit of 16 levels"}
	}
	defer func() { r.depth-- }()
	g := &Graph{Constants: map[string]*Tensor{}, Known: map[string]Value{}}
	err := f.Body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			if err := incrementCount(&r.nodes, maxNodes, f, "65536 nodes"); err != nil {
				return err
			}
			return r.readNode(f, g)
		case 2:
			return f.Text(&g.Name)
		case 5:
			if err := incrementCount(&r.constants, maxConstants, f, "131072 constants"); err != nil {
				return err
			}
			t, err := readTensorField(f)
			if err == nil {
				g.Constants[t.Name] = t
			}
			return err
		case 11, 12, 13:
			if err := incrementCount(&r.values, maxValues, f, "131072 stated shapes"); err != nil {
				return err
			}
			v, err := readValue(f)
			switch f.Num {
			case 11:
				g.Inputs = append(g.Inputs, v)
			case 12:
				g.Outputs = append(g.Outputs, v)
			default:
				g.Known[v.Name] = v
			}
			return err
		case 15:
			return &FormatError{Off: int64(f.Off), What: "sparse constants (sparse_initializer) are not supported; want dense constants"}
		}
		return nil
	})
	// Only after all fields: inputs and constants may come in any order.
	inputs := g.Inputs[:0]
	for _, v := range g.Inputs { // old files list the constants too
		if _, ok := g.Constants[v.Name]; !ok {
			inputs = append(inputs, v)
		}
	}
	g.Inputs = inputs
	return g, err
}

func (r *reader) readNode(f wire.Field, g *Graph) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	n := Node{Off: int64(f.Off)}
	err := f.Body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			return r.appendName(&n.Inputs, f)
		case 2:
			return r.appendName(&n.Outputs, f)
		case 3:
			return f.Text(&n.Name)
		case 4:
			return f.Text(&n.Op)
		case 5:
			// An empty attribute has two bytes in the file and some hundred in memory.
			if err := incrementCount(&r.attributes, maxAttributes, f, "262144 attributes"); err != nil {
				return err
			}
			return r.readAttribute(f, &n)
		case 7:
			return f.Text(&n.Domain)
		case 8:
			return f.Text(&n.Overload)
		}
		return nil
	})
	if err == nil && n.Op == "" {
		err = &FormatError{Off: n.Off, What: "node has no operator"}
	}
	g.Nodes = append(g.Nodes, n)
	return err
}

func (r *reader) readAttribute(f wire.Field, n *Node) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	var name string
	a := new(Attribute)
	err := f.Body.Fields(func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			return f.Text(&name)
		// The type of an attribute, field 20, is not read: old files lack it, and the field with the value
		// says it too.
		case 2:
			err = f.Want(protowire.Fixed32Type)
			a.Float = float32FromBits(uint32(f.N))
		case 3:
			err = f.Integer(&a.Int)
		case 4:
			err = f.Text(&a.Text)
		case 5:
			a.Tensor, err = readTensorField(f)
		case 6:
			a.Graph, err = r.readGraph(f)
		case 7:
			var raw []byte
			if err = f.Fixed(4, &raw); err == nil {
				a.Floats = appendFloats(a.Floats, raw)
			}
		case 8:
			err = f.Integers(&a.Ints)
		case 9:
			err = r.appendName(&a.Strings, f)
		case 21:
			err = f.Text(&a.Ref)
		}
		return err
	})
	if n.Attributes == nil {
		n.Attributes = map[string]*Attribute{}
	}
	n.Attributes[name] = a
	return err
}

// readValue reads a ValueInfoProto from field f.
func readValue(f wire.Field) (Value, error) {
	var v Value
	if err := f.Want(protowire.BytesType); err != nil {
		return v, err
	}
	down := func(num protowire.Number, visit func(wire.Field) error) func(wire.Field) error {
		return func(f wire.Field) error {
			if f.Num != num {
				return nil
			}
			if err := f.Want(protowire.BytesType); err != nil {
				return err
			}
			return f.Body.Fields(visit)
		}
	}
	dim := func(f wire.Field) error {
		d := &v.Dims[len(v.Dims)-1]
		switch f.Num {
		case 1:
			return f.Integer(&d.Size)
		case 2:
			return f.Text(&d.Name)
		}
		return nil
	}
	shape := func(f wire.Field) error {
		if f.Num == 1 && len(v.Dims) == maxRank {
			return &FormatError{Off: int64(f.Off), What: "shape exceeds the limit of 64 dimensions"}
		}
		if f.Num == 1 {
			v.Dims = append(v.Dims, Dim{})
		}
		return down(1, dim)(f)
	}
	tensorType := func(f wire.Field) error {
		if f.Num == 1 {
			var n int64
			err := f.Integer(&n)
			v.Type = DataType(n)
			return err
		}
		// A shape without axes is that of a scalar; no shape at all is an unknown one.
		if f.Num == 2 && v.Dims == nil {
			v.Dims = []Dim{}
		}
		return down(2, shape)(f)
	}
	err := f.Body.Fields(func(f wire.Field) error {
		if f.Num == 1 {
			return f.Text(&v.Name)
		}
		return down(2, down(1, tensorType))(f)
	})
	return v, err
}
