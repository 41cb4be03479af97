package mil

import (
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/wire"
)

// Decode returns the program that is encoded in m, a protocol-buffer message. The error is a
// *[wire.FormatError] with a byte offset.
func Decode(m wire.Message) (*Program, error) {
	p := &Program{}
	d := &decoder{}
	err := m.Fields(func(f wire.Field) error {
		switch f.Num {
		case 1:
			var n int64
			err := f.Integer(&n)
			p.Version = fmt.Sprint(n)
			return err
		case 2:
			var fn Function
			err := readMapEntry(f, &fn.Name, func(v wire.Field) error { return d.decodeFunction(v, &fn) })
			p.Functions = append(p.Functions, fn)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// A decoder counts the parts of a program while it decodes them, to enforce limits on its size.
type decoder struct{ operations, arguments, depth int }

func newFormatError(f wire.Field, format string, v ...any) error {
	return &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf(format, v...)}
}

// readMapEntry reads f, an entry of a map field: it stores the key in *name, and calls value with
// the field that holds the value.
func readMapEntry(f wire.Field, name *string, value func(wire.Field) error) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	if err := f.Body.Fields(func(f wire.Field) error {
		if f.Num == 1 {
			return f.Text(name)
		}
		return nil
	}); err != nil {
		return err
	}
	return f.Body.Fields(func(f wire.Field) error {
		if f.Num == 2 {
			if err := f.Want(protowire.BytesType); err != nil {
				return err
			}
			return value(f)
		}
		return nil
	})
}

// forEachField calls visit for every field of f, which holds a nested message.
func forEachField(f wire.Field, visit func(wire.Field) error) error {
	if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	return f.Body.Fields(visit)
}

func (d *decoder) decodeFunction(f wire.Field, fn *Function) error {
	blocks := map[string]wire.Field{}
	var first string
	err := forEachField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			v, err := d.decodeVar(f)
			fn.Inputs = append(fn.Inputs, v)
			return err
		case 2:
			return f.Text(&fn.Opset)
		case 3:
			var name string
			return readMapEntry(f, &name, func(b wire.Field) error {
				if first == "" {
					first = name
				}
				// Blocks are kept as bytes and only one is decoded: they are variants of the function for
				// several opsets, and the opset may come after them.
				blocks[name] = b
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	block, ok := blocks[fn.Opset]
	if !ok {
		if block, ok = blocks[first]; !ok {
			return newFormatError(f, "function %q has no block of operations", fn.Name)
		}
	}
	return forEachField(block, func(f wire.Field) error {
		switch f.Num {
		case 2:
			var s string
			err := f.Text(&s)
			if fn.Outputs = append(fn.Outputs, s); len(fn.Outputs) > maxOperations {
				return newFormatError(f, "function exceeds the limit of %d outputs", maxOperations)
			}
			return err
		case 3:
			if d.operations++; d.operations > maxOperations {
				return newFormatError(f, "program exceeds the limit of %d operations", maxOperations)
			}
			op, err := d.decodeOperation(f)
			fn.Operations = append(fn.Operations, op)
			return err
		}
		return nil
	})
}

func (d *decoder) decodeVar(f wire.Field) (Var, error) {
	var v Var
	if d.arguments++; d.arguments > maxArguments {
		return v, newFormatError(f, "program exceeds the limit of %d arguments and values", maxArguments)
	}
	err := forEachField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&v.Name)
		case 2:
			return d.decodeType(f, &v.Type)
		}
		return nil
	})
	return v, err
}

func (d *decoder) decodeOperation(f wire.Field) (Operation, error) {
	op := Operation{Off: int64(f.Off)}
	err := forEachField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&op.Type)
		case 2:
			var name string
			var list []Argument
			err := readMapEntry(f, &name, func(f wire.Field) error {
				return forEachField(f, func(f wire.Field) error {
					// An argument is a list of bindings, because operations such as concat have several
					// values for one name.
					if f.Num != 1 {
						return nil
					}
					a, err := d.decodeBinding(f)
					list = append(list, a)
					return err
				})
			})
			if op.Inputs == nil {
				op.Inputs = map[string][]Argument{}
			}
			op.Inputs[name] = list
			return err
		case 3:
			v, err := d.decodeVar(f)
			op.Outputs = append(op.Outputs, v)
			return err
		case 4:
			return d.decodeBlock(f, &op)
		case 5:
			var name string
			var v Value
			err := readMapEntry(f, &name, func(f wire.Field) error { return d.decodeValue(f, &v) })
			if op.Attributes == nil {
				op.Attributes = map[string]Value{}
			}
			op.Attributes[name] = v
			return err
		}
		return nil
	})
	return op, err
}

// decodeBlock appends block f to the blocks of op.
func (d *decoder) decodeBlock(f wire.Field, op *Operation) error {
	if d.depth++; d.depth > maxDepth {
		return newFormatError(f, "nesting of blocks exceeds the limit of %d levels", maxDepth)
	}
	defer func() { d.depth-- }()
	var b Block
	err := forEachField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			v, err := d.decodeVar(f)
			b.Inputs = append(b.Inputs, v)
			return err
		case 2:
			// Counted for the whole program, since many small blocks need as much memory as a large one.
			if d.arguments++; d.arguments > maxArguments {
				return newFormatError(f, "program exceeds the limit of %d arguments and values", maxArguments)
			}
			var s string
			err := f.Text(&s)
			b.Outputs = append(b.Outputs, s)
			return err
		case 3:
			if d.operations++; d.operations > maxOperations {
				return newFormatError(f, "program exceeds the limit of %d operations", maxOperations)
			}
			inner, err := d.decodeOperation(f)
			b.Operations = append(b.Operations, inner)
			op.Writes = op.Writes || inner.Writes || inner.Type == "write_state"
			return err
		}
		return nil
	})
	op.Blocks = append(op.Blocks, b)
	return err
}

func (d *decoder) decodeBinding(f wire.Field) (Argument, error) {
	var a Argument
	if d.arguments++; d.arguments > maxArguments {
		return a, newFormatError(f, "program exceeds the limit of %d arguments and values", maxArguments)
	}
	err := forEachField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return f.Text(&a.Name)
		case 2:
			return d.decodeValue(f, &a.Value)
		}
		return nil
	})
	return a, err
}

// elemNames maps the numbers of element types to their names.
var elemNames = map[uint64]Elem{
	1: "bool", 2: "string", 10: "fp16", 11: "fp32", 12: "fp64", 13: "bf16", 21: "int8", 22: "int16", 23: "int32", 24: "int64",
	25: "int4", 31: "uint8", 32: "uint16", 33: "uint32", 34: "uint64", 35: "uint4", 36: "uint2", 37: "uint1", 38: "uint6", 39: "uint3",
}

// ElemNumber returns the number by which a message names element type e, or 0 for an unknown type.
func ElemNumber(e Elem) uint64 {
	for number, name := range elemNames {
		if name == e {
			return number
		}
	}
	return 0
}

func (d *decoder) decodeType(f wire.Field, t *Type) error {
	if d.depth++; d.depth > maxDepth {
		return newFormatError(f, "nesting of types and values exceeds the limit of %d levels", maxDepth)
	}
	defer func() { d.depth-- }()
	return forEachField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return d.decodeTensorType(f, t)
		case 2:
			t.Kind = List
		case 3:
			t.Kind = Tuple
		case 4:
			t.Kind = Dictionary
		case 5:
			err := forEachField(f, func(f wire.Field) error {
				if f.Num == 1 {
					return d.decodeType(f, t)
				}
				return nil
			})
			t.Kind = State
			return err
		}
		return nil
	})
}

func (d *decoder) decodeTensorType(f wire.Field, t *Type) error {
	t.Dims = []int64{}
	return forEachField(f, func(f wire.Field) error {
		switch f.Num {
		case 1:
			if err := f.Want(protowire.VarintType); err != nil {
				return err
			}
			t.Elem = elemNames[f.N]
		case 3:
			// A dimension is a message that has a size or none. A missing size inside it is 0, the default
			// of protocol buffers.
			size := int64(-1)
			err := forEachField(f, func(f wire.Field) error {
				if f.Num != 1 {
					return nil
				}
				size = 0
				return forEachField(f, func(f wire.Field) error {
					if f.Num == 1 {
						return f.Integer(&size)
					}
					return nil
				})
			})
			if size < -1 {
				size = -1
			}
			if t.Dims = append(t.Dims, size); len(t.Dims) > maxRank {
				return newFormatError(f, "tensor exceeds the limit of %d dimensions", maxRank)
			}
			return err
		}
		return nil
	})
}

func (d *decoder) decodeValue(f wire.Field, v *Value) error {
	if d.depth++; d.depth > maxDepth {
		return newFormatError(f, "nesting of types and values exceeds the limit of %d levels", maxDepth)
	}
	defer func() { d.depth-- }()
	if d.arguments++; d.arguments > maxArguments {
		return newFormatError(f, "program exceeds the limit of %d arguments and values", maxArguments)
	}
	var immediate *wire.Field
	err := forEachField(f, func(f wire.Field) error {
		switch f.Num {
		case 2:
			return d.decodeType(f, &v.Type)
		case 3:
			// Kept, because the type, by which its elements are read, may come after it.
			immediate = &f
		case 5:
			return forEachField(f, func(f wire.Field) error {
				switch f.Num {
				case 1:
					return f.Text(&v.File)
				case 2:
					var n int64
					err := f.Integer(&n)
					v.Offset = uint64(n)
					return err
				}
				return nil
			})
		}
		return nil
	})
	if err != nil || immediate == nil {
		return err
	}
	return forEachField(*immediate, func(f wire.Field) error {
		switch f.Num {
		case 1:
			return d.decodeTensorValue(f, v)
		case 2, 3: // tuple, list
			return forEachField(f, func(f wire.Field) error {
				if f.Num != 1 {
					return nil
				}
				var inner Value
				err := d.decodeValue(f, &inner)
				v.Values = append(v.Values, inner)
				return err
			})
		}
		return nil
	})
}

// decodeTensorValue decodes the elements of a tensor from field f into v.Data, where they have the
// width of the tensor's type. A message stores them as varints, floats or bytes.
func (d *decoder) decodeTensorValue(f wire.Field, v *Value) error {
	// Elements of less than a byte get a byte each, whatever the message packs.
	n, width := v.Type.Elements(), max(8, v.Type.Elem.Bits())/8
	err := forEachField(f, func(kind wire.Field) error {
		return forEachField(kind, func(f wire.Field) error {
			if f.Num != 1 {
				return nil
			}
			switch kind.Num {
			case 1:
				return f.Fixed(4, &v.Data)
			case 6:
				return f.Fixed(8, &v.Data)
			case 2, 3, 5:
				return appendVarints(f, width, &v.Data)
			case 4:
				var s string
				err := f.Text(&s)
				if v.Strings = append(v.Strings, s); len(v.Strings) > max(n, 0) {
					return newFormatError(f, "more than %d strings for shape %v; want one per element", max(n, 0), v.Type.Dims)
				}
				return err
			case 7:
				if err := f.Want(protowire.BytesType); err != nil {
					return err
				}
				v.Data = f.Body.Data
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	// Only the length says whether a message has such elements packed or a byte each.
	if bits := v.Type.Elem.Bits(); bits > 0 && bits < 8 && len(v.Data) == (n*bits+7)/8 && len(v.Data) != n {
		v.Data = Unpack(v.Data, bits, n)
	}
	switch v.Type.Elem {
	case "string":
		if len(v.Strings) != n {
			return newFormatError(f, "string count %d does not match shape %v", len(v.Strings), v.Type.Dims)
		}
	default:
		if v.Type.Elem.Bits() > 0 && (n < 0 || len(v.Data) != n*width) {
			return newFormatError(f, "data of %d bytes does not match element type %s and shape %v", len(v.Data), v.Type.Elem, v.Type.Dims)
		}
	}
	return nil
}

// appendVarints decodes the varints in field f and appends them to *data as little-endian integers
// of width bytes.
func appendVarints(f wire.Field, width int, data *[]byte) error {
	rest := f.Body.Data
	if f.Wire == protowire.VarintType {
		rest = protowire.AppendVarint(nil, f.N)
	} else if err := f.Want(protowire.BytesType); err != nil {
		return err
	}
	*data = slices.Grow(*data, min(len(rest), 1<<20))
	for len(rest) > 0 {
		x, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return newFormatError(f, "cannot decode packed field %d: %v", f.Num, wire.Reason(n))
		}
		rest = rest[n:]
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], x)
		*data = append(*data, b[:width]...)
	}
	return nil
}

// Unpack expands n packed elements to one byte each. An element has the given number of bits, at
// most 8. The first element is in the lowest bits of packed[0].
func Unpack(packed []byte, bits, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		at := i * bits
		v := uint(packed[at/8]) >> (at % 8)
		if at%8+bits > 8 {
			v |= uint(packed[at/8+1]) << (8 - at%8)
		}
		out[i] = byte(v & (1<<bits - 1))
	}
	return out
}
