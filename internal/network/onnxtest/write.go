package onnxtest

import (
	"encoding/binary"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/wire"
)

// A Message is a part of an ONNX file.
type Message = wire.Encoding

// Model returns the content of an ONNX file whose graph has the given parts: inputs, outputs, nodes
// and constants, as [Input], [Output], [Node] and [Constant] return them.
func Model(parts ...Message) []byte {
	graph := Message{}.Text(2, "graph")
	for _, p := range parts {
		graph = append(graph, p...)
	}
	return Message{}.Int(1, 8).Text(2, "onnxtest").Bytes(7, graph).Bytes(8, Message{}.Int(2, 17))
}

// Function returns a function of a model with the given names of inputs, outputs and attributes, to
// be appended to a [Model]. Its nodes are as [Node] returns them. It uses the version of the
// operators that the model has.
func Function(domain, name string, inputs, outputs, attributes []string, nodes ...Message) Message {
	f := Message{}.Text(1, name).Text(10, domain)
	for i, names := range [...][]string{inputs, outputs, attributes} {
		for _, name := range names {
			f = f.Text(protowire.Number(4+i), name)
		}
	}
	for _, n := range nodes {
		_, _, tag := protowire.ConsumeTag(n)
		node, _ := protowire.ConsumeBytes(n[tag:])
		f = f.Bytes(7, node)
	}
	return Message{}.Bytes(25, f.Bytes(9, Message{}.Int(2, 17)).Bytes(9, Message{}.Text(1, domain).Int(2, 1)))
}

// Refer returns an attribute of a node in a function, which has the value of the attribute called
// from of the call. kind is the attribute's type in the file.
func Refer(name, from string, kind int) Message {
	return Message{}.Text(1, name).Text(21, from).Int(20, kind)
}

// Input returns a graph input for [Model], with element type float32 and shape dims. A dimension of
// 0 gets the name "batch" instead of a size.
func Input(name string, dims ...int) Message { return newValueInfo(11, name, 1, dims) }

// InputOf returns an input of shape dims whose element type has the number elem, as a part of a graph
// for [Model].
func InputOf(elem int, name string, dims ...int) Message { return newValueInfo(11, name, elem, dims) }

// Output returns a graph output for [Model]: the named tensor, with the stated shape dims if they are given.
func Output(name string, dims ...int) Message { return newValueInfo(12, name, 1, dims) }

// OutputOf returns an [Output] of the element type with the number elem.
func OutputOf(elem int, name string) Message { return newValueInfo(12, name, elem, nil) }

// Shape returns a part of a graph for [Model] that states the shape of a tensor between nodes.
func Shape(name string, dims ...int) Message { return newValueInfo(13, name, 1, dims) }

func newValueInfo(num protowire.Number, name string, elem int, dims []int) Message {
	var shape Message
	for _, d := range dims {
		if d == 0 {
			shape = shape.Bytes(1, Message{}.Text(2, "batch"))
			continue
		}
		shape = shape.Bytes(1, Message{}.Int(1, d))
	}
	tensor := Message{}.Int(1, elem).Bytes(2, shape)
	return Message{}.Bytes(num, Message{}.Text(1, name).Bytes(2, Message{}.Bytes(1, tensor)))
}

// Constant returns a float32 constant of shape dims, as a part of a graph for [Model]. If no values
// are given, the constant refers to the file weights.bin.
func Constant(name string, dims []int, values ...float32) Message {
	t := Message{}.Int(2, 1).Text(8, name)
	for _, d := range dims {
		t = t.Int(1, d)
	}
	if values == nil {
		return Message{}.Bytes(5, t.Bytes(13, Message{}.Text(1, "location").Text(2, "weights.bin")))
	}
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return Message{}.Bytes(5, t.Bytes(9, raw))
}

// Ints returns an int64 constant with one axis, as a part of a graph for [Model].
func Ints(name string, values ...int) Message {
	t := Message{}.Int(2, 7).Text(8, name).Int(1, len(values))
	var packed []byte
	for _, v := range values {
		packed = protowire.AppendVarint(packed, uint64(v))
	}
	return Message{}.Bytes(5, t.Bytes(7, packed))
}

// Whole returns an integer constant of shape dims, as a part of a graph for [Model]. elem is the
// number that ONNX gives its type, and width the size of an element in bytes. For example, elem and
// width are 2 and 1 for uint8, 3 and 1 for int8, and 6 and 4 for int32.
func Whole(name string, elem, width int, dims []int, values ...int) Message {
	t := Message{}.Int(2, elem).Text(8, name)
	for _, d := range dims {
		t = t.Int(1, d)
	}
	var raw []byte
	for _, v := range values {
		raw = append(raw, binary.LittleEndian.AppendUint64(nil, uint64(v))[:width]...)
	}
	return Message{}.Bytes(5, t.Bytes(9, raw))
}

// Nibbles returns a constant of shape dims whose elements have 4 bits, as a part of a graph for
// [Model]. elem is 22 for int4 and 21 for uint4.
func Nibbles(name string, elem int, dims []int, values ...int) Message {
	t := Message{}.Int(2, elem).Text(8, name)
	for _, d := range dims {
		t = t.Int(1, d)
	}
	raw := make([]byte, (len(values)+1)/2)
	for i, v := range values {
		raw[i/2] |= byte(v&15) << (i % 2 * 4)
	}
	return Message{}.Bytes(5, t.Bytes(9, raw))
}

// Node returns a node that applies operator op to inputs, as a part of a graph for [Model]. The
// node and its only output are both called name.
func Node(op, name string, inputs []string, attributes ...Message) Message {
	return NodeOf("", op, name, inputs, attributes...)
}

// NodeOf is like [Node] for an operator of the given domain, such as "com.microsoft".
func NodeOf(domain, op, name string, inputs []string, attributes ...Message) Message {
	n := Message{}.Text(3, name).Text(4, op).Text(2, name)
	if domain != "" {
		n = n.Text(7, domain)
	}
	for _, in := range inputs {
		n = n.Text(1, in)
	}
	for _, a := range attributes {
		n = n.Bytes(5, a)
	}
	return Message{}.Bytes(1, n)
}

// Several is like [Node] for a node with several outputs. The node has the name of the first.
func Several(op string, outputs, inputs []string, attributes ...Message) Message {
	return SeveralOf("", op, outputs, inputs, attributes...)
}

// SeveralOf is like [Several] for an operator of a domain.
func SeveralOf(domain, op string, outputs, inputs []string, attributes ...Message) Message {
	n := Message{}.Text(3, outputs[0]).Text(4, op)
	if domain != "" {
		n = n.Text(7, domain)
	}
	for _, out := range outputs {
		n = n.Text(2, out)
	}
	for _, in := range inputs {
		n = n.Text(1, in)
	}
	for _, a := range attributes {
		n = n.Bytes(5, a)
	}
	return Message{}.Bytes(1, n)
}

// Int returns a node attribute with the integer value v.
func Int(name string, v int) Message { return Message{}.Text(1, name).Int(3, v).Int(20, 2) }

// Text returns a node attribute with the string value v.
func Text(name, v string) Message { return Message{}.Text(1, name).Text(4, v).Int(20, 3) }

// Texts returns a node attribute whose value is a list of strings.
func Texts(name string, values ...string) Message {
	a := Message{}.Text(1, name).Int(20, 8)
	for _, v := range values {
		a = a.Text(9, v)
	}
	return a
}

// List returns a node attribute whose value is a list of integers.
func List(name string, values ...int) Message {
	a := Message{}.Text(1, name).Int(20, 7)
	for _, v := range values {
		a = a.Int(8, v)
	}
	return a
}

// Graph returns a node attribute whose value is a graph with the given parts, such as a branch of
// an If node.
func Graph(name string, parts ...Message) Message {
	return Message{}.Text(1, name).Int(20, 5).Bytes(6, append(Message{}.Text(2, name), slices.Concat(parts...)...))
}

// Float returns a node attribute with the float32 value v.
func Float(name string, v float32) Message {
	return Message{}.Text(1, name).Int(20, 1).Float(2, v)
}
