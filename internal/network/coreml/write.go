package coreml

import (
	"encoding/binary"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/mil"
	"anesim/internal/network/wire"
)

// WeightsPath is the name by which a program refers to its package's weights file.
const WeightsPath = "@model_path/weights/weight.bin"

// specification is the version of the model format. Version 7, of macOS 13, is the first with fp16
// inputs and outputs.
const specification = 7

// Files returns the files of a Core ML package (.mlpackage) by their slash-separated paths in it.
// model is the content of the model file, as [Encode] returns it.
func Files(model []byte, w Weights) map[string][]byte {
	// The identifiers are arbitrary. Core ML writes random ones; these are the same in every package.
	const manifest = `{
  "fileFormatVersion": "1.0.0",
  "itemInfoEntries": {
    "6D0E8F0A-0000-4000-8000-000000000001": {
      "author": "com.apple.CoreML",
      "description": "CoreML Model Specification",
      "name": "model.mlmodel",
      "path": "com.apple.CoreML/model.mlmodel"
    },
    "6D0E8F0A-0000-4000-8000-000000000002": {
      "author": "com.apple.CoreML",
      "description": "CoreML Model Weights",
      "name": "weights",
      "path": "com.apple.CoreML/weights"
    }
  },
  "rootModelIdentifier": "6D0E8F0A-0000-4000-8000-000000000001"
}
`
	return map[string][]byte{
		"Manifest.json":                            []byte(manifest),
		"Data/com.apple.CoreML/model.mlmodel":      model,
		"Data/com.apple.CoreML/weights/weight.bin": w,
	}
}

// Encode returns the content of a Core ML model file with program p, which has a main function. The
// model has the function's inputs and outputs; a state is listed among the inputs, as a tensor, though
// Core ML would describe it as a state. Encode does not check that the program is valid.
func Encode(p *mil.Program) []byte {
	f, _ := p.Main()
	types := map[string]mil.Type{}
	var description wire.Encoding
	for _, in := range f.Inputs {
		types[in.Name] = in.Type
		description = description.Bytes(1, encodeFeature(in.Name, in.Type))
	}
	for i := range f.Operations {
		for _, out := range f.Operations[i].Outputs {
			types[out.Name] = out.Type
		}
	}
	for _, out := range f.Outputs {
		description = description.Bytes(10, encodeFeature(out, types[out]))
	}
	main := *f
	main.Name = "main"
	return wire.Encoding{}.Int(1, specification).Bytes(2, description).Bytes(502, EncodeProgram(&mil.Program{Functions: []mil.Function{main}}))
}

// EncodeProgram returns program p, with all of its functions, as the message in field 502 of a model file.
func EncodeProgram(p *mil.Program) []byte {
	program := wire.Encoding{}.Int(1, 1)
	for i := range p.Functions {
		f := &p.Functions[i]
		var block, function wire.Encoding
		for _, in := range f.Inputs {
			function = function.Bytes(1, encodeVariable(in))
		}
		for _, out := range f.Outputs {
			block = block.Text(2, out)
		}
		for k := range f.Operations {
			block = block.Bytes(3, encodeOperation(&f.Operations[k]))
		}
		program = program.Bytes(2, newMapEntry(f.Name, function.Text(2, f.Opset).Bytes(3, newMapEntry(f.Opset, block))))
	}
	return program
}

// encodeFeature returns the description of an input or output that is a tensor.
func encodeFeature(name string, t mil.Type) wire.Encoding {
	var shape wire.Encoding
	for _, d := range t.Dims {
		shape = shape.Int(1, int(d))
	}
	element := map[mil.Elem]string{"fp16": "float16", "fp32": "float32", "int32": "int32"}[t.Elem]
	for number, name := range arrayTypes {
		if name == element {
			shape = shape.Int(2, int(number))
		}
	}
	return wire.Encoding{}.Text(1, name).Bytes(3, wire.Encoding{}.Bytes(5, shape))
}

func encodeOperation(op *mil.Operation) wire.Encoding {
	m := wire.Encoding{}.Text(1, op.Type)
	for _, key := range slices.Sorted(maps.Keys(op.Inputs)) {
		var argument wire.Encoding
		for _, a := range op.Inputs[key] {
			binding := wire.Encoding{}.Text(1, a.Name)
			if a.Name == "" {
				binding = wire.Encoding{}.Bytes(2, encodeValue(a.Value))
			}
			argument = argument.Bytes(1, binding)
		}
		m = m.Bytes(2, newMapEntry(key, argument))
	}
	for _, out := range op.Outputs {
		m = m.Bytes(3, encodeVariable(out))
	}
	for i := range op.Blocks {
		m = m.Bytes(4, encodeBlock(&op.Blocks[i]))
	}
	for _, key := range slices.Sorted(maps.Keys(op.Attributes)) {
		m = m.Bytes(5, newMapEntry(key, encodeValue(op.Attributes[key])))
	}
	return m
}

func encodeBlock(b *mil.Block) wire.Encoding {
	var m wire.Encoding
	for _, in := range b.Inputs {
		m = m.Bytes(1, encodeVariable(in))
	}
	for _, out := range b.Outputs {
		m = m.Text(2, out)
	}
	for i := range b.Operations {
		m = m.Bytes(3, encodeOperation(&b.Operations[i]))
	}
	return m
}

// newMapEntry returns an entry of a map field, with the given key and value.
func newMapEntry(key string, value wire.Encoding) wire.Encoding {
	return wire.Encoding{}.Text(1, key).Bytes(2, value)
}

func encodeVariable(v mil.Var) wire.Encoding {
	return wire.Encoding{}.Text(1, v.Name).Bytes(2, encodeType(v.Type))
}

func encodeType(t mil.Type) wire.Encoding {
	m := wire.Encoding{}.Int(1, int(mil.ElemNumber(t.Elem))).Int(2, len(t.Dims))
	for _, d := range t.Dims {
		dim := wire.Encoding{}.Bytes(1, wire.Encoding{}.Int(1, int(d)))
		if d < 0 {
			dim = wire.Encoding{}.Bytes(2, nil)
		}
		m = m.Bytes(3, dim)
	}
	tensor := wire.Encoding{}.Bytes(1, m)
	if t.Kind == mil.State {
		return wire.Encoding{}.Bytes(5, wire.Encoding{}.Bytes(1, tensor))
	}
	return tensor
}

func encodeValue(v mil.Value) wire.Encoding {
	m := wire.Encoding{}.Bytes(2, encodeType(v.Type))
	if v.File != "" {
		return m.Bytes(5, wire.Encoding{}.Text(1, v.File).Int(2, int(v.Offset)))
	}
	var t wire.Encoding
	switch v.Type.Elem {
	case "string":
		var list wire.Encoding
		for _, s := range v.Strings {
			list = list.Text(1, s)
		}
		t = t.Bytes(4, list)
	case "fp32":
		t = t.Bytes(1, wire.Encoding{}.Bytes(1, v.Data))
	case "int32":
		var packed []byte
		for data := v.Data; len(data) >= 4; data = data[4:] {
			packed = protowire.AppendVarint(packed, uint64(int32(binary.LittleEndian.Uint32(data))))
		}
		t = t.Bytes(2, wire.Encoding{}.Bytes(1, packed))
	case "bool":
		t = t.Bytes(3, wire.Encoding{}.Bytes(1, v.Data))
	default:
		t = t.Bytes(7, wire.Encoding{}.Bytes(1, v.Data))
	}
	return m.Bytes(3, wire.Encoding{}.Bytes(1, t))
}

// Add appends a blob with the given elements to w. It returns the byte offset of the blob's record,
// by which a program refers to the blob.
func (w *Weights) Add(elem mil.Elem, data []byte) uint64 {
	le := binary.LittleEndian
	if len(*w) == 0 {
		*w = make([]byte, align)
		le.PutUint32((*w)[4:], version)
	}
	le.PutUint32(*w, le.Uint32(*w)+1)
	at := len(*w)
	record := make([]byte, align)
	le.PutUint32(record, sentinel)
	for number, name := range blobTypes {
		if name == elem {
			le.PutUint32(record[4:], number)
		}
	}
	le.PutUint64(record[8:], uint64(len(data)))
	le.PutUint64(record[16:], uint64(at+align))
	*w = append(append(*w, record...), data...)
	*w = append(*w, make([]byte, (align-len(*w)%align)%align)...)
	return uint64(at)
}
