package onnxgraph

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/onnx"
	"anesim/internal/network/wire"
)

// irVersions maps the version of an operator set to the version of the file format that
// introduced it.
var irVersions = map[int]int{9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 12}

// Encode returns g as an ONNX file. The same graph always has the same bytes.
func (g *Graph) Encode() []byte {
	var nodes []wire.Encoding
	for i, n := range g.Nodes {
		nodes = append(nodes, n.encode(fmt.Sprintf("n%d", i+1)))
	}
	return g.encodeModel(nodes, nil)
}

// functionDomain is the domain of the functions of [Graph.EncodeInFunctions].
const functionDomain = "local"

// EncodeInFunctions returns g as an ONNX file whose nodes are calls of functions, each of which has
// one to three nodes of g. The nodes take their attributes from the call. All functions have the
// same names for different tensors.
func (g *Graph) EncodeInFunctions(rng *rand.Rand) []byte {
	var calls, functions []wire.Encoding
	for at := 0; at < len(g.Nodes); {
		end := min(at+1+rng.IntN(3), len(g.Nodes))
		call, function := g.encodeFunction(fmt.Sprintf("f%d", len(calls)), g.Nodes[at:end])
		calls, functions = append(calls, call), append(functions, function)
		at = end
	}
	return g.encodeModel(calls, functions)
}

// encodeFunction returns a function of the given nodes and a call of it.
func (g *Graph) encodeFunction(name string, nodes []*Node) (call, function wire.Encoding) {
	local := map[string]string{"": ""}
	define := func(outer string) (inner string, isNew bool) {
		if inner, ok := local[outer]; ok {
			return inner, false
		}
		local[outer] = fmt.Sprintf("v%d", len(local))
		return local[outer], true
	}
	outputs := map[string]bool{}
	for _, n := range nodes {
		for _, out := range n.Outputs {
			outputs[out] = true
		}
	}
	function = function.Text(1, name).Text(10, functionDomain)
	var body, attributes wire.Encoding
	for i, n := range nodes {
		inner := &Node{Op: n.Op, Domain: n.Domain}
		for _, in := range n.Inputs {
			to, isNew := define(in)
			// A tensor that the function computes itself is no input, also if it is read before its node
			// in the list.
			if isNew && !outputs[in] {
				call, function = call.Text(1, in), function.Text(4, to)
			}
			inner.Inputs = append(inner.Inputs, to)
		}
		for _, out := range n.Outputs {
			to, _ := define(out)
			if out != "" {
				call, function = call.Text(2, out), function.Text(5, to)
			}
			inner.Outputs = append(inner.Outputs, to)
		}
		m := inner.encode(fmt.Sprintf("m%d", i))
		for _, a := range n.Attributes {
			given := a
			// Two nodes may have an attribute of one name, so the function's own attributes have a number.
			given.Name = fmt.Sprintf("a%d_%s", i, a.Name)
			attributes = attributes.Bytes(5, given.encode())
			function = function.Text(6, given.Name)
			m = m.Bytes(5, wire.Encoding{}.Text(1, a.Name).Text(21, given.Name).Int(20, int(a.Kind)))
		}
		body = body.Bytes(7, m)
	}
	call = append(call.Text(3, name).Text(4, name).Text(7, functionDomain), attributes...)
	function = append(function, body...)
	for _, version := range g.encodeVersions() {
		function = function.Bytes(9, version)
	}
	return call, function
}

// encodeVersions returns the versions of the operator domains that the nodes of g use.
func (g *Graph) encodeVersions() []wire.Encoding {
	versions := []wire.Encoding{wire.Encoding{}.Text(1, "").Int(2, g.Opset)}
	for _, n := range g.Nodes {
		if n.Domain != "" {
			return append(versions, wire.Encoding{}.Text(1, n.Domain).Int(2, 1))
		}
	}
	return versions
}

// encodeModel returns an ONNX file with the given encoded nodes and functions, and the rest of g.
func (g *Graph) encodeModel(nodes, functions []wire.Encoding) []byte {
	var graph wire.Encoding
	for _, c := range g.Constants {
		if c.Form == NodeForm {
			graph = graph.Bytes(1, c.encodeAsConstantNode(g.Opset))
		}
	}
	for _, n := range nodes {
		graph = graph.Bytes(1, n)
	}
	graph = graph.Text(2, "random")
	for _, c := range g.Constants {
		if c.Form != NodeForm {
			graph = graph.Bytes(5, c.encode())
		}
	}
	for _, in := range g.Inputs {
		graph = graph.Bytes(11, encodeValue(in.Name, g.Values[in.Name]))
	}
	for _, name := range g.Outputs {
		graph = graph.Bytes(12, encodeValue(name, g.Values[name]))
	}
	model := wire.Encoding{}.Int(1, irVersions[g.Opset]).Text(2, "randomgraph").Bytes(7, graph)
	for _, version := range g.encodeVersions() {
		model = model.Bytes(8, version)
	}
	// Without a version of its own, the domain of the functions is unknown to the checker of ONNX.
	if len(functions) > 0 {
		model = model.Bytes(8, wire.Encoding{}.Text(1, functionDomain).Int(2, 1))
	}
	for _, f := range functions {
		model = model.Bytes(25, f)
	}
	return model
}

func (n *Node) encode(name string) wire.Encoding {
	var m wire.Encoding
	for _, in := range n.Inputs {
		m = m.Text(1, in)
	}
	for _, out := range n.Outputs {
		m = m.Text(2, out)
	}
	m = m.Text(3, name).Text(4, n.Op)
	for _, a := range n.Attributes {
		m = m.Bytes(5, a.encode())
	}
	if n.Domain != "" {
		m = m.Text(7, n.Domain)
	}
	return m
}

func (a Attribute) encode() wire.Encoding {
	m := wire.Encoding{}.Text(1, a.Name)
	switch a.Kind {
	case FloatKind:
		m = m.Float(2, a.Float)
	case IntKind:
		m = m.Int(3, a.Int)
	case TextKind:
		m = m.Text(4, a.Text)
	case FloatsKind:
		for _, v := range a.Floats {
			m = m.Float(7, v)
		}
	case IntsKind:
		for _, v := range a.Ints {
			m = m.Int(8, v)
		}
	case TextsKind:
		for _, v := range a.Texts {
			m = m.Text(9, v)
		}
	}
	return m.Int(20, int(a.Kind))
}

func encodeValue(name string, v Value) wire.Encoding {
	var shape wire.Encoding
	for _, d := range v.Dims {
		shape = shape.Bytes(1, wire.Encoding{}.Int(1, d))
	}
	tensor := wire.Encoding{}.Int(1, int(v.Type)).Bytes(2, shape)
	return wire.Encoding{}.Text(1, name).Bytes(2, wire.Encoding{}.Bytes(1, tensor))
}

func (t *Tensor) encode() wire.Encoding {
	var m wire.Encoding
	for _, d := range t.Dims {
		m = m.Int(1, d)
	}
	m = m.Int(2, int(t.Type)).Text(8, t.Name)
	if t.Form != TypedForm || t.Type == onnx.Double || t.Type == onnx.Float16 || t.Type == onnx.Uint32 {
		return m.Bytes(9, t.encodeValues())
	}
	var packed wire.Encoding
	for _, v := range t.Values {
		switch t.Type {
		case onnx.Float:
			packed = protowire.AppendFixed32(packed, math.Float32bits(float32(v)))
		default:
			packed = protowire.AppendVarint(packed, uint64(clampInt64(v)))
		}
	}
	switch t.Type {
	case onnx.Float:
		return m.Bytes(4, packed)
	case onnx.Int64:
		return m.Bytes(7, packed)
	}
	return m.Bytes(5, packed)
}

// encodeAsConstantNode returns an encoded Constant node that produces t. If the operator set has an
// attribute for a number or a list of integers, such a tensor is stored there.
func (t *Tensor) encodeAsConstantNode(opset int) wire.Encoding {
	n := wire.Encoding{}.Text(2, t.Name).Text(3, "constant "+t.Name).Text(4, "Constant")
	switch {
	case opset >= 12 && t.Type == onnx.Float && len(t.Dims) == 0:
		return n.Bytes(5, Attribute{Name: "value_float", Kind: FloatKind, Float: float32(t.Values[0])}.encode())
	case opset >= 12 && t.Type == onnx.Int64 && len(t.Dims) == 1 && len(t.Values) > 0:
		a := Attribute{Name: "value_ints", Kind: IntsKind}
		for _, v := range t.Values {
			a.Ints = append(a.Ints, int(clampInt64(v)))
		}
		return n.Bytes(5, a.encode())
	}
	const tensorField, tensorKind = 5, 4
	return n.Bytes(5, wire.Encoding{}.Text(1, "value").Bytes(tensorField, t.encode()).Int(20, tensorKind))
}

// clampInt64 returns v as an integer, or the largest int64 if v is at least 1<<62.
func clampInt64(v float64) int64 {
	if v < 1<<62 {
		return int64(v)
	}
	return math.MaxInt64
}

// encodeValues returns the values of t in little-endian order, encoded in its data type. Values above
// the range of int64 become its maximum.
func (t *Tensor) encodeValues() []byte {
	var b []byte
	for _, v := range t.Values {
		switch t.Type {
		case onnx.Int64:
			b = binary.LittleEndian.AppendUint64(b, uint64(clampInt64(v)))
		default:
			b = t.Type.Append(b, v)
		}
	}
	return b
}

// numpyTypes maps tensor types to the names that numpy uses.
var numpyTypes = map[onnx.DataType]string{
	onnx.Float: "<f4", onnx.Double: "<f8", onnx.Float16: "<f2", onnx.Int64: "<i8", onnx.Int32: "<i4", onnx.Int16: "<i2", onnx.Int8: "|i1",
	onnx.Uint32: "<u4", onnx.Uint16: "<u2", onnx.Uint8: "|u1", onnx.Bool: "|b1",
}

// NPY returns t as an .npy file of version 1.0, the format in which numpy stores arrays.
func (t *Tensor) NPY() []byte {
	shape := ""
	for _, d := range t.Dims {
		shape += fmt.Sprintf("%d, ", d)
	}
	if len(t.Dims) > 1 {
		shape = strings.TrimSuffix(shape, ", ")
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", numpyTypes[t.Type], strings.TrimSuffix(shape, " "))
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	return append(append(b, header...), t.encodeValues()...)
}

// Save writes g to dir, which it creates if necessary, as net.onnx. It also writes the text of g
// to net.txt, and the values of each input NAME to in_NAME.npy.
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
