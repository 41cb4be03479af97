package onnx

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Model is an ONNX file.
type Model struct {
	Name      string           // of the graph
	Producer  string           // the program that wrote it
	Opsets    map[string]int64 // version of each operator domain; "" is the standard one
	Nodes     []Node           // in an order in which they can run
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
	Int    int64
	Float  float32
	Text   string
	Ints   []int64
	Tensor *Tensor
}

// A Value is a tensor by name. Dims is nil where the file states no shape, and a
// dimension is 0 where it is a name.
type Value struct {
	Name string
	Dims []int64
}

// Bounds on what is read; no network comes near them.
const (
	MaxBytes = 1 << 31 // of a file, the limit of the encoding
	maxNodes = 1 << 20
	maxRank  = 64
)

// Read reads a model. Values of tensors are parts of data, which must not change. Errors
// are a *[FormatError].
func Read(data []byte) (*Model, error) {
	if len(data) > MaxBytes {
		return nil, &FormatError{MaxBytes, "the file is longer than a message may be"}
	}
	m := &Model{Opsets: map[string]int64{}, Constants: map[string]*Tensor{}, Known: map[string]Value{}}
	var graphs int
	err := message{data, 0}.fields(func(f field) error {
		switch f.num {
		case 2:
			return f.text(&m.Producer)
		case 7:
			graphs++
			return m.graph(f)
		case 8:
			return m.opset(f)
		}
		return nil
	})
	if err == nil && graphs != 1 {
		err = &FormatError{0, "not an ONNX model: it has no graph"}
		if graphs > 1 {
			err = &FormatError{0, "more than one graph"}
		}
	}
	if err != nil {
		return nil, err
	}
	inputs := m.Inputs[:0]
	for _, v := range m.Inputs { // old files list the constants too
		if _, ok := m.Constants[v.Name]; !ok {
			inputs = append(inputs, v)
		}
	}
	m.Inputs = inputs
	return m, nil
}

func (m *Model) opset(f field) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	var domain string
	var version int64
	err := f.body.fields(func(f field) error {
		switch f.num {
		case 1:
			return f.text(&domain)
		case 2:
			return f.integer(&version)
		}
		return nil
	})
	m.Opsets[domain] = version
	return err
}

func (m *Model) graph(f field) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	return f.body.fields(func(f field) error {
		switch f.num {
		case 1:
			if len(m.Nodes) == maxNodes {
				return &FormatError{int64(f.off), "too many nodes"}
			}
			return m.node(f)
		case 2:
			return f.text(&m.Name)
		case 5:
			t, err := tensor(f)
			if err == nil {
				m.Constants[t.Name] = t
			}
			return err
		case 11:
			return values(f, &m.Inputs)
		case 12:
			return values(f, &m.Outputs)
		case 13:
			var v []Value
			err := values(f, &v)
			if err == nil {
				m.Known[v[0].Name] = v[0]
			}
			return err
		}
		return nil
	})
}

func (m *Model) node(f field) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	n := Node{Attributes: map[string]*Attribute{}, Off: int64(f.off)}
	err := f.body.fields(func(f field) error {
		var s string
		switch f.num {
		case 1:
			err := f.text(&s)
			n.Inputs = append(n.Inputs, s)
			return err
		case 2:
			err := f.text(&s)
			n.Outputs = append(n.Outputs, s)
			return err
		case 3:
			return f.text(&n.Name)
		case 4:
			return f.text(&n.Op)
		case 5:
			return n.attribute(f)
		case 7:
			return f.text(&n.Domain)
		}
		return nil
	})
	if err == nil && n.Op == "" {
		err = &FormatError{n.Off, "a node without an operator"}
	}
	m.Nodes = append(m.Nodes, n)
	return err
}

func (n *Node) attribute(f field) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	var name string
	a := new(Attribute)
	err := f.body.fields(func(f field) (err error) {
		switch f.num {
		case 1:
			return f.text(&name)
		case 2:
			err = f.want(protowire.Fixed32Type)
			a.Float = math.Float32frombits(uint32(f.n))
		case 3:
			err = f.integer(&a.Int)
		case 4:
			err = f.text(&a.Text)
		case 5:
			a.Tensor, err = tensor(f)
		case 8:
			err = f.integers(&a.Ints)
		}
		return err
	})
	n.Attributes[name] = a
	return err
}

// values appends a ValueInfoProto: its shape is three messages down.
func values(f field, list *[]Value) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	var v Value
	down := func(num protowire.Number, visit func(field) error) func(field) error {
		return func(f field) error {
			if f.num != num {
				return nil
			}
			if err := f.want(protowire.BytesType); err != nil {
				return err
			}
			return f.body.fields(visit)
		}
	}
	dim := func(f field) error {
		n := &v.Dims[len(v.Dims)-1]
		if f.num == 1 {
			return f.integer(n)
		}
		return nil
	}
	shape := func(f field) error {
		if f.num == 1 && len(v.Dims) == maxRank {
			return &FormatError{int64(f.off), "too many dimensions"}
		}
		if f.num == 1 {
			v.Dims = append(v.Dims, 0)
		}
		return down(1, dim)(f)
	}
	tensorType := func(f field) error {
		if f.num == 2 && v.Dims == nil {
			v.Dims = []int64{}
		}
		return down(2, shape)(f)
	}
	err := f.body.fields(func(f field) error {
		if f.num == 1 {
			return f.text(&v.Name)
		}
		return down(2, down(1, tensorType))(f)
	})
	*list = append(*list, v)
	return err
}
