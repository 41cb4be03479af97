package coremltest

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/loader/network/mil"
)

// A message is an encoded protocol-buffer message.
type message []byte

func (m message) appendBytes(num protowire.Number, b []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), b)
}

func (m message) appendText(num protowire.Number, s string) message {
	return m.appendBytes(num, []byte(s))
}

func (m message) appendInt(num protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), v)
}

// appendEntry appends an entry of a map field, with the given key and value, to m.
func (m message) appendEntry(num protowire.Number, key string, value message) message {
	return m.appendBytes(num, message{}.appendText(1, key).appendBytes(2, value))
}

// elems maps element types to their numbers.
var elems = map[mil.Elem]uint64{
	"bool": 1, "string": 2, "fp16": 10, "fp32": 11, "int32": 23, "uint8": 31, "uint32": 33, "int8": 21, "uint4": 35, "uint1": 37,
}

func encodeType(t mil.Type) message {
	m := message{}.appendInt(1, elems[t.Elem]).appendInt(2, uint64(len(t.Dims)))
	for _, d := range t.Dims {
		dim := message{}.appendBytes(1, message{}.appendInt(1, uint64(d)))
		if d < 0 {
			dim = message{}.appendBytes(2, nil)
		}
		m = m.appendBytes(3, dim)
	}
	return message{}.appendBytes(1, m)
}

func encodeValue(v mil.Value) message {
	m := message{}.appendBytes(2, encodeType(v.Type))
	if v.File != "" {
		return m.appendBytes(5, message{}.appendText(1, v.File).appendInt(2, v.Offset))
	}
	var t message
	switch v.Type.Elem {
	case "string":
		var list message
		for _, s := range v.Strings {
			list = list.appendText(1, s)
		}
		t = t.appendBytes(4, list)
	case "fp32":
		t = t.appendBytes(1, message{}.appendBytes(1, v.Data))
	case "int32", "bool":
		var packed []byte
		width := len(v.Data) / max(1, v.Type.Elements())
		for ; len(v.Data) >= width && width > 0; v.Data = v.Data[width:] {
			n := int64(v.Data[0])
			if width == 4 {
				n = int64(int32(binary.LittleEndian.Uint32(v.Data)))
			}
			packed = protowire.AppendVarint(packed, uint64(n))
		}
		num := protowire.Number(2)
		if v.Type.Elem == "bool" {
			num = 3
		}
		t = t.appendBytes(num, message{}.appendBytes(1, packed))
	default:
		t = t.appendBytes(7, message{}.appendBytes(1, v.Data))
	}
	return m.appendBytes(3, message{}.appendBytes(1, t))
}

func encodeVariable(v mil.Var) message {
	return message{}.appendText(1, v.Name).appendBytes(2, encodeType(v.Type))
}

// Model returns the content of a Core ML model file that contains program p. The model has the
// inputs and outputs of p's function main.
func Model(p *mil.Program) []byte {
	f, _ := p.Main()
	var block, function, description message
	for _, out := range f.Outputs {
		block = block.appendText(2, out)
		description = description.appendBytes(10, message{}.appendText(1, out))
	}
	for i := range f.Operations {
		op := &f.Operations[i]
		m := message{}.appendText(1, op.Type)
		for _, key := range slices.Sorted(maps.Keys(op.Inputs)) {
			var argument message
			for _, a := range op.Inputs[key] {
				if a.Name != "" {
					argument = argument.appendBytes(1, message{}.appendText(1, a.Name))
				} else {
					argument = argument.appendBytes(1, message{}.appendBytes(2, encodeValue(a.Value)))
				}
			}
			m = m.appendEntry(2, key, argument)
		}
		for _, out := range op.Outputs {
			m = m.appendBytes(3, encodeVariable(out))
		}
		for _, key := range slices.Sorted(maps.Keys(op.Attributes)) {
			m = m.appendEntry(5, key, encodeValue(op.Attributes[key]))
		}
		block = block.appendBytes(3, m)
	}
	for _, in := range f.Inputs {
		function = function.appendBytes(1, encodeVariable(in))
		array := message{}.appendInt(2, 65568)
		for _, d := range in.Type.Dims {
			array = array.appendInt(1, uint64(d))
		}
		description = description.appendBytes(1, message{}.appendText(1, in.Name).appendBytes(3, message{}.appendBytes(5, array)))
	}
	function = function.appendText(2, f.Opset).appendEntry(3, f.Opset, block)
	program := message{}.appendInt(1, 1).appendEntry(2, "main", function)
	return message{}.appendInt(1, 8).appendBytes(2, description).appendBytes(502, program)
}

// A Weights is the content of a weights file, to which [Weights.Add] appends blobs. The zero value
// is an empty file.
type Weights []byte

// blobTypes maps element types to their numbers.
var blobTypes = map[mil.Elem]uint32{"fp16": 1, "fp32": 2, "uint8": 3, "int8": 4, "uint1": 9, "uint4": 11}

// Add appends a blob with the given elements to the file. It returns the byte offset of the blob's
// record, by which a program refers to the blob.
func (w *Weights) Add(elem mil.Elem, data []byte) uint64 {
	le := binary.LittleEndian
	if len(*w) == 0 {
		*w = make([]byte, 64)
		le.PutUint32((*w)[4:], 2)
	}
	le.PutUint32(*w, le.Uint32(*w)+1)
	at := len(*w)
	record := make([]byte, 64)
	le.PutUint32(record, 0xdeadbeef)
	le.PutUint32(record[4:], blobTypes[elem])
	le.PutUint64(record[8:], uint64(len(data)))
	le.PutUint64(record[16:], uint64(at+64))
	*w = append(append(*w, record...), data...)
	*w = append(*w, make([]byte, (64-len(*w)%64)%64)...)
	return uint64(at)
}

// Package creates a Core ML package (.mlpackage) in the directory dir. model is the content of its
// model file, and w the content of its weights file.
func Package(dir string, model []byte, w Weights) error {
	const manifest = `{"fileFormatVersion":"1.0.0","itemInfoEntries":{` +
		`"A":{"name":"model.mlmodel","path":"com.apple.CoreML/model.mlmodel"},` +
		`"B":{"name":"weights","path":"com.apple.CoreML/weights"}},"rootModelIdentifier":"A"}`
	data := filepath.Join(dir, "Data", "com.apple.CoreML")
	if err := os.MkdirAll(filepath.Join(data, "weights"), 0o777); err != nil {
		return err
	}
	for name, b := range map[string][]byte{
		filepath.Join(dir, "Manifest.json"): []byte(manifest), filepath.Join(data, "model.mlmodel"): model,
		filepath.Join(data, "weights", "weight.bin"): w,
	} {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			return err
		}
	}
	return nil
}
