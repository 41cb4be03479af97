package wiretest

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Message is an encoded protocol-buffer message, or a part of one. Its methods return the message
// with a field appended; num is the number of the field.
type Message []byte

// Bytes returns m with the bytes b appended, for instance another message.
func (m Message) Bytes(num protowire.Number, b []byte) Message {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), b)
}

// Text returns m with the string s appended.
func (m Message) Text(num protowire.Number, s string) Message { return m.Bytes(num, []byte(s)) }

// Int returns m with the integer v appended.
func (m Message) Int(num protowire.Number, v int) Message {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), uint64(v))
}

// Float returns m with the float32 number v appended.
func (m Message) Float(num protowire.Number, v float32) Message {
	return protowire.AppendFixed32(protowire.AppendTag(m, num, protowire.Fixed32Type), math.Float32bits(v))
}
