package coremltest

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/loader/network/mil"
	"anesim/loader/network/wire/wiretest"
)

// newEntry returns an entry of a map field, with the given key and value.
func newEntry(key string, value wiretest.Message) wiretest.Message {
	return wiretest.Message{}.Text(1, key).Bytes(2, value)
}

// elems maps element types to their numbers.
var elems = map[mil.Elem]int{
	"bool": 1, "string": 2, "fp16": 10, "fp32": 11, "int32": 23, "uint8": 31, "uint32": 33, "int8": 21, "uint4": 35, "uint1": 37,
}

func encodeType(t mil.Type) wiretest.Message {
	m := wiretest.Message{}.Int(1, elems[t.Elem]).Int(2, len(t.Dims))
	for _, d := range t.Dims {
		dim := wiretest.Message{}.Bytes(1, wiretest.Message{}.Int(1, int(d)))
		if d < 0 {
			dim = wiretest.Message{}.Bytes(2, nil)
		}
		m = m.Bytes(3, dim)
	}
	return wiretest.Message{}.Bytes(1, m)
}

func encodeValue(v mil.Value) wiretest.Message {
	m := wiretest.Message{}.Bytes(2, encodeType(v.Type))
	if v.File != "" {
		return m.Bytes(5, wiretest.Message{}.Text(1, v.File).Int(2, int(v.Offset)))
	}
	var t wiretest.Message
	switch v.Type.Elem {
	case "string":
		var list wiretest.Message
		for _, s := range v.Strings {
			list = list.Text(1, s)
		}
		t = t.Bytes(4, list)
	case "fp32":
		t = t.Bytes(1, wiretest.Message{}.Bytes(1, v.Data))
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
		t = t.Bytes(num, wiretest.Message{}.Bytes(1, packed))
	default:
		t = t.Bytes(7, wiretest.Message{}.Bytes(1, v.Data))
	}
	return m.Bytes(3, wiretest.Message{}.Bytes(1, t))
}

func encodeVariable(v mil.Var) wiretest.Message {
	return wiretest.Message{}.Text(1, v.Name).Bytes(2, encodeType(v.Type))
}

// Model returns the content of a Core ML model file that contains program p. The model has the
// inputs and outputs of p's function main.
func Model(p *mil.Program) []byte {
	f, _ := p.Main()
	var block, function, description wiretest.Message
	for _, out := range f.Outputs {
		block = block.Text(2, out)
		description = description.Bytes(10, wiretest.Message{}.Text(1, out))
	}
	for i := range f.Operations {
		op := &f.Operations[i]
		m := wiretest.Message{}.Text(1, op.Type)
		for _, key := range slices.Sorted(maps.Keys(op.Inputs)) {
			var argument wiretest.Message
			for _, a := range op.Inputs[key] {
				if a.Name != "" {
					argument = argument.Bytes(1, wiretest.Message{}.Text(1, a.Name))
				} else {
					argument = argument.Bytes(1, wiretest.Message{}.Bytes(2, encodeValue(a.Value)))
				}
			}
			m = m.Bytes(2, newEntry(key, argument))
		}
		for _, out := range op.Outputs {
			m = m.Bytes(3, encodeVariable(out))
		}
		for _, key := range slices.Sorted(maps.Keys(op.Attributes)) {
			m = m.Bytes(5, newEntry(key, encodeValue(op.Attributes[key])))
		}
		block = block.Bytes(3, m)
	}
	for _, in := range f.Inputs {
		function = function.Bytes(1, encodeVariable(in))
		array := wiretest.Message{}.Int(2, 65568)
		for _, d := range in.Type.Dims {
			array = array.Int(1, int(d))
		}
		description = description.Bytes(1, wiretest.Message{}.Text(1, in.Name).Bytes(3, wiretest.Message{}.Bytes(5, array)))
	}
	function = function.Text(2, f.Opset).Bytes(3, newEntry(f.Opset, block))
	program := wiretest.Message{}.Int(1, 1).Bytes(2, newEntry("main", function))
	return wiretest.Message{}.Int(1, 8).Bytes(2, description).Bytes(502, program)
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
