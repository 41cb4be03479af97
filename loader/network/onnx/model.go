package onnx

import (
	"google.golang.org/protobuf/encoding/protowire"

	"anesim/loader/network/graph"
	"anesim/loader/network/wire"
)

// A FormatError is a file that is no ONNX model.
type FormatError = wire.FormatError

// A Model is an ONNX file.
type Model struct {
	Graph
	Producer string           // the program that wrote it
	Opsets   map[string]int64 // version of each operator domain; "" is the standard one
}

// A Graph is nodes between inputs and outputs: a model's, or the branch of a node that
// has a condition.
type Graph struct {
	Name      string
	Nodes     []Node // in an order in which they can run
	Constants map[string]*Tensor
	Inputs    []Value // without the constants
	Outputs   []Value
	Known     map[string]Value // intermediate tensors with a stated shape
}

// A Node is one operator.
type Node struct {
	Name       string // may be empty
	Op, Domain string
	Inputs     []string // "" where an optional input is left out
	Outputs    []string
	Attributes map[string]*Attribute
	Off        int64 // byte of the file
}

// An Attribute is a constant argument of a node; the field of its kind is set.
type Attribute struct {
	Int     int64
	Float   float32
	Text    string
	Ints    []int64
	Floats  []float32
	Strings []string
	Tensor  *Tensor
	Graph   *Graph
}

// A Value is a tensor by name.
type Value = graph.Port

// A Dim is one dimension of a value.
type Dim = graph.Dim

// Bounds on what is read; no network comes near them. They keep what is made of a file
// within a few times its size.
const (
	MaxBytes      = 1 << 31 // of a file, the limit of the encoding
	maxNodes      = 1 << 16
	maxNames      = 1 << 18 // inputs and outputs of all nodes
	maxAttributes = 1 << 18
	maxValues     = 1 << 17 // stated shapes
	maxConstants  = 1 << 17
	maxRank       = 64
	maxDepth      = 16 // graphs within graphs
)

// Read reads a model. Values of tensors are parts of data, which must not change. Errors
// are a *[FormatError].
func Read(data []byte) (*Model, error) {
	if len(data) > MaxBytes {
		return nil, &FormatError{Off: MaxBytes, What: "the file is longer than a message may be"}
	}
	m := &Model{Opsets: map[string]int64{}}
	r := &reader{}
	var graphs int
	err := wire.Message{Data: data}.Fields(func(f wire.Field) error {
		switch f.Num {
		case 2:
			return f.Text(&m.Producer)
		case 7:
			graphs++
			g, err := r.graph(f)
			if err == nil {
				m.Graph = *g
			}
			return err
		case 8:
			return m.opset(f)
		}
		return nil
	})
	if err == nil && graphs != 1 {
		err = &FormatError{Off: 0, What: "not an ONNX model: it has no graph"}
		if graphs > 1 {
			err = &FormatError{Off: 0, What: "more than one graph"}
		}
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Model) opset(f wire.Field) error {
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
	if domain == "ai.onnx" { // the long name of the standard one
		domain = ""
	}
	m.Opsets[domain] = version
	return err
}

// A reader counts what a file makes, over all its graphs.
type reader struct {
	nodes, names, attributes, values, constants int
	depth                                       int
}

// one counts one more of something.
func one(n *int, most int, f wire.Field, what string) error {
	if *n++; *n > most {
		return &FormatError{Off: int64(f.Off), What: "more than " + what}
	}
	return nil
}

func (r *reader) graph(f wire.Field) (*Graph, error) {
	if err := f.Want(protowire.BytesType); err != nil {
		return nil, err
	}
	if r.depth++; r.depth > maxDepth {
		return nil, &FormatError{Off: int64(f.Off), What: "graphs within graphs, more than 16 deep"}
	}
	defer func() { r.depth-- }()
	g := &Graph{Constants: map[string]*Tensor{}, Known: map[string]Value{}}
	err := f.Body.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			if err := one(&r.nodes, maxNodes, f, "65536 nodes"); err != nil {
				return err
			}
			return r.node(f, g)
		case 2:
			return f.Text(&g.Name)
		case 5:
			if err := one(&r.constants, maxConstants, f, "131072 constants"); err != nil {
				return err
			}
			t, err := tensor(f)
			if err == nil {
				g.Constants[t.Name] = t
			}
			return err
		case 11, 12, 13:
			if err := one(&r.values, maxValues, f, "131072 stated shapes"); err != nil {
				return err
			}
			v, err := value(f)
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
			return &FormatError{Off: int64(f.Off), What: "a sparse constant (sparse_initializer); write it as a dense one"}
		}
		return nil
	})
	inputs := g.Inputs[:0]
	for _, v := range g.Inputs { // old files list the constants too
		if _, ok := g.Constants[v.Name]; !ok {
			inputs = append(inputs, v)
		}
	}
	g.Inputs = inputs
	return g, err
}

func (r *reader) node(f wire.Field, g *Graph) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	n := Node{Off: int64(f.Off)}
	err := f.Body.Fields(func(f wire.Field) error {
		var s string
		switch f.Num {
		case 1, 2:
			if err := one(&r.names, maxNames, f, "262144 inputs and outputs of nodes"); err != nil {
				return err
			}
			err := f.Text(&s)
			if f.Num == 1 {
				n.Inputs = append(n.Inputs, s)
			} else {
				n.Outputs = append(n.Outputs, s)
			}
			return err
		case 3:
			return f.Text(&n.Name)
		case 4:
			return f.Text(&n.Op)
		case 5:
			if err := one(&r.attributes, maxAttributes, f, "262144 attributes"); err != nil {
				return err
			}
			return r.attribute(f, &n)
		case 7:
			return f.Text(&n.Domain)
		}
		return nil
	})
	if err == nil && n.Op == "" {
		err = &FormatError{Off: n.Off, What: "a node without an operator"}
	}
	g.Nodes = append(g.Nodes, n)
	return err
}

func (r *reader) attribute(f wire.Field, n *Node) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	var name string
	a := new(Attribute)
	err := f.Body.Fields(func(f wire.Field) (err error) {
		switch f.Num {
		case 1:
			return f.Text(&name)
		case 2:
			err = f.Want(protowire.Fixed32Type)
			a.Float = float32Of(uint32(f.N))
		case 3:
			err = f.Integer(&a.Int)
		case 4:
			err = f.Text(&a.Text)
		case 5:
			a.Tensor, err = tensor(f)
		case 6:
			a.Graph, err = r.graph(f)
		case 7:
			var raw []byte
			if err = f.Fixed(4, &raw); err == nil {
				a.Floats = appendFloats(a.Floats, raw)
			}
		case 8:
			err = f.Integers(&a.Ints)
		case 9:
			if err = one(&r.names, maxNames, f, "262144 inputs and outputs of nodes"); err == nil {
				var s string
				err = f.Text(&s)
				a.Strings = append(a.Strings, s)
			}
		}
		return err
	})
	if n.Attributes == nil {
		n.Attributes = map[string]*Attribute{}
	}
	n.Attributes[name] = a
	return err
}

// value reads a ValueInfoProto: its shape is three messages down.
func value(f wire.Field) (Value, error) {
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
			return &FormatError{Off: int64(f.Off), What: "too many dimensions"}
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
