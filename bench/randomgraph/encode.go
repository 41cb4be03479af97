package randomgraph

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/loader/network/onnx"
)

// A message is an encoded protocol-buffer message.
type message []byte

func (m message) bytes(num protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), b)
}

func (m message) text(num protowire.Number, s string) message { return m.bytes(num, []byte(s)) }

func (m message) int(num protowire.Number, v int) message {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), uint64(v))
}

func (m message) float(num protowire.Number, v float32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, num, protowire.Fixed32Type), math.Float32bits(v))
}

// irVersions maps an operator set to the version of the file format that it came with.
var irVersions = map[int]int{11: 6, 13: 7, 17: 8, 21: 10}

// Encode returns g as the bytes of an ONNX file.
func (g *Graph) Encode() []byte {
	var graph message
	for i, n := range g.Nodes {
		graph = graph.bytes(1, n.encode(fmt.Sprintf("n%d", i+1)))
	}
	graph = graph.text(2, "random")
	for _, c := range g.Constants {
		graph = graph.bytes(5, c.encode())
	}
	for _, in := range g.Inputs {
		graph = graph.bytes(11, encodeValue(in.Name, g.Values[in.Name]))
	}
	for _, name := range g.Outputs {
		graph = graph.bytes(12, encodeValue(name, g.Values[name]))
	}
	model := message{}.int(1, irVersions[g.Opset]).text(2, "randomgraph").bytes(7, graph)
	model = model.bytes(8, message{}.text(1, "").int(2, g.Opset))
	for _, n := range g.Nodes {
		if n.Domain != "" {
			return model.bytes(8, message{}.text(1, n.Domain).int(2, 1))
		}
	}
	return model
}

func (n *Node) encode(name string) message {
	var m message
	for _, in := range n.Inputs {
		m = m.text(1, in)
	}
	for _, out := range n.Outputs {
		m = m.text(2, out)
	}
	m = m.text(3, name).text(4, n.Op)
	for _, a := range n.Attributes {
		m = m.bytes(5, a.encode())
	}
	if n.Domain != "" {
		m = m.text(7, n.Domain)
	}
	return m
}

func (a Attribute) encode() message {
	m := message{}.text(1, a.Name)
	switch a.Kind {
	case FloatKind:
		m = m.float(2, a.Float)
	case IntKind:
		m = m.int(3, a.Int)
	case TextKind:
		m = m.text(4, a.Text)
	case FloatsKind:
		for _, v := range a.Floats {
			m = m.float(7, v)
		}
	case IntsKind:
		for _, v := range a.Ints {
			m = m.int(8, v)
		}
	}
	return m.int(20, int(a.Kind))
}

func encodeValue(name string, v Value) message {
	var shape message
	for _, d := range v.Dims {
		shape = shape.bytes(1, message{}.int(1, d))
	}
	tensor := message{}.int(1, int(v.Type)).bytes(2, shape)
	return message{}.text(1, name).bytes(2, message{}.bytes(1, tensor))
}

func (t *Tensor) encode() message {
	var m message
	for _, d := range t.Dims {
		m = m.int(1, d)
	}
	return m.int(2, int(t.Type)).text(8, t.Name).bytes(9, t.raw())
}

// raw returns the values of t little-endian in its type. Values beyond the range of int64
// are its largest value.
func (t *Tensor) raw() []byte {
	var b []byte
	for _, v := range t.Values {
		switch t.Type {
		case onnx.Float:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		case onnx.Int64:
			n := int64(math.MaxInt64)
			if v < 1<<62 {
				n = int64(v)
			}
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		case onnx.Int32:
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(v)))
		default: // bool, uint8 and int8
			b = append(b, byte(int(v)))
		}
	}
	return b
}

// descriptors are the types of tensors as numpy writes them.
var descriptors = map[onnx.DataType]string{
	onnx.Float: "<f4", onnx.Int64: "<i8", onnx.Int32: "<i4", onnx.Uint8: "|u1", onnx.Int8: "|i1", onnx.Bool: "|b1",
}

// NPY returns t as the bytes of an .npy file.
func (t *Tensor) NPY() []byte {
	shape := ""
	for _, d := range t.Dims {
		shape += fmt.Sprintf("%d, ", d)
	}
	if len(t.Dims) > 1 {
		shape = strings.TrimSuffix(shape, ", ")
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descriptors[t.Type], strings.TrimSuffix(shape, " "))
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	return append(append(b, header...), t.raw()...)
}

// Save writes g into dir, which it creates: net.onnx, an in_NAME.npy for each input and
// the readable form of g as net.txt.
func (g *Graph) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	files := map[string][]byte{"net.onnx": g.Encode(), "net.txt": []byte(g.String())}
	for _, in := range g.Inputs {
		files["in_"+in.Name+".npy"] = in.NPY()
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
