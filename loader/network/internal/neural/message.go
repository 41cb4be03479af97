package neural

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"anesim/internal/network/graph"
	"anesim/internal/network/wire"
)

// maxFields limits the fields of the parameters of a layer, apart from weights. It bounds the memory for a
// message of many small fields.
const maxFields = 1 << 12

// A message holds the parameters of a layer, and records which of its fields the layer's rule asked for.
// It keeps the first error. The methods of a nil message return defaults.
type message struct {
	fields []wire.Field
	asked  map[protowire.Number]bool
	nested []*message // asked for
	*failure
}

// A failure holds the error of the first malformed field of a layer's parameters.
type failure struct{ err error }

func (f *failure) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// newMessage splits body into fields. A malformed body is recorded in f.
func newMessage(body wire.Message, f *failure) *message {
	m := &message{asked: map[protowire.Number]bool{}, failure: f}
	err := body.Fields(func(f wire.Field) error {
		if m.fields = append(m.fields, f); len(m.fields) > maxFields {
			return &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf("parameters of a layer exceed the limit of %d fields", maxFields)}
		}
		return nil
	})
	if err != nil {
		f.fail(err)
	}
	return m
}

// each calls visit for each field with the given number.
func (m *message) each(num protowire.Number, visit func(wire.Field) error) {
	if m == nil {
		return
	}
	m.asked[num] = true
	for _, f := range m.fields {
		if f.Num == num {
			if err := visit(f); err != nil {
				m.fail(err)
			}
		}
	}
}

// has reports whether the message has a field with the given number.
func (m *message) has(num protowire.Number) bool {
	found := false
	m.each(num, func(wire.Field) error { found = true; return nil })
	return found
}

// integer returns a number, or fallback if the message lacks it. It is clamped to ±2^40, so that
// sums and products with an extent cannot overflow.
func (m *message) integer(num protowire.Number, fallback int) int {
	v := int64(fallback)
	m.each(num, func(f wire.Field) error { return f.Integer(&v) })
	return clamp(v)
}

func clamp(v int64) int { return int(max(-1<<40, min(1<<40, v))) }

func (m *message) bool(num protowire.Number) bool { return m.integer(num, 0) != 0 }

func (m *message) float(num protowire.Number, fallback float32) float32 {
	m.each(num, func(f wire.Field) error {
		fallback = math.Float32frombits(uint32(f.N))
		return f.Want(protowire.Fixed32Type)
	})
	return fallback
}

// integers returns a list of numbers, which are clamped to ±2^40.
func (m *message) integers(num protowire.Number) []int {
	var list []int64
	m.each(num, func(f wire.Field) error {
		err := f.Integers(&list)
		if err == nil && len(list) > graph.MaxList {
			err = &wire.FormatError{Off: int64(f.Off), What: fmt.Sprintf("list has more than %d numbers", graph.MaxList)}
		}
		return err
	})
	var out []int
	for _, v := range list {
		out = append(out, clamp(v))
	}
	return out
}

// part returns a message in m, or nil if m lacks it. The last one counts if there are several.
func (m *message) part(num protowire.Number) *message {
	list := m.parts(num)
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

func (m *message) parts(num protowire.Number) []*message {
	var list []*message
	m.each(num, func(f wire.Field) error {
		if err := f.Want(protowire.BytesType); err != nil {
			return err
		}
		list = append(list, newMessage(f.Body, m.failure))
		return nil
	})
	if m != nil {
		m.nested = append(m.nested, list...)
	}
	return list
}

// text returns a string, or "".
func (m *message) text(num protowire.Number) string {
	s := ""
	m.each(num, func(f wire.Field) error { return f.Text(&s) })
	return s
}

// findUnread returns the number of a field that is given and was not asked for, or 0. A field that is 0 or
// empty counts as absent: it means the same in this format.
func (m *message) findUnread() protowire.Number {
	for _, f := range m.fields {
		if !m.asked[f.Num] && (f.N != 0 || len(f.Body.Data) > 0) {
			return f.Num
		}
	}
	for _, n := range m.nested {
		if num := n.findUnread(); num != 0 {
			return num
		}
	}
	return 0
}
