package wire

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// An Encoding is an encoded protocol-buffer message, or a part of one. Its methods return the
// encoding with a field appended; num is the number of the field.
type Encoding []byte

// Bytes returns e with the bytes b appended, for instance another message.
func (e Encoding) Bytes(num protowire.Number, b []byte) Encoding {
	return protowire.AppendBytes(protowire.AppendTag(e, num, protowire.BytesType), b)
}

// Text returns e with the string s appended.
func (e Encoding) Text(num protowire.Number, s string) Encoding { return e.Bytes(num, []byte(s)) }

// Int returns e with the integer v appended.
func (e Encoding) Int(num protowire.Number, v int) Encoding {
	return protowire.AppendVarint(protowire.AppendTag(e, num, protowire.VarintType), uint64(v))
}

// Float returns e with the float32 number v appended.
func (e Encoding) Float(num protowire.Number, v float32) Encoding {
	return protowire.AppendFixed32(protowire.AppendTag(e, num, protowire.Fixed32Type), math.Float32bits(v))
}
