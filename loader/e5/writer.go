package e5

import (
	flatbuffers "github.com/google/flatbuffers/go"
)

// Bytes writes the descriptor. The same program gives the same bytes; numbers are written
// whether or not they are zero, so that no shape changes the size.
func (p *Program) Bytes() []byte {
	b := flatbuffers.NewBuilder(1024)
	sections := make([]flatbuffers.UOffsetT, len(p.Sections))
	for i := range p.Sections {
		sections[i] = p.Sections[i].write(b)
	}
	sectionsAt := vector(b, sections)
	entries := make([]flatbuffers.UOffsetT, len(p.Build))
	for i, e := range p.Build {
		key, value := b.CreateString(e.Key), b.CreateString(e.Value)
		b.StartObject(2)
		offset(b, 1, value)
		offset(b, 0, key)
		entries[i] = b.EndObject()
	}
	entriesAt := vector(b, entries)
	b.StartObject(1)
	offset(b, 0, entriesAt)
	build := b.EndObject()
	names := make([]flatbuffers.UOffsetT, len(p.Symbols))
	for i, s := range p.Symbols {
		names[i] = b.CreateString(s)
	}
	namesAt := vector(b, names)
	// Fields stand in the order of their slots: the last is put first.
	b.StartObject(4)
	b.PrependInt32(p.Version)
	b.Slot(3)
	offset(b, 2, sectionsAt)
	offset(b, 1, build)
	offset(b, 0, namesAt)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

// offset puts a reference into a field.
func offset(b *flatbuffers.Builder, slot int, at flatbuffers.UOffsetT) {
	b.PrependUOffsetT(at)
	b.Slot(slot)
}

func vector(b *flatbuffers.Builder, at []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(at), 4)
	for i := len(at) - 1; i >= 0; i-- {
		b.PrependUOffsetT(at[i])
	}
	return b.EndVector(len(at))
}

func (s *Section) write(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	data := s.Data
	switch {
	case s.Operation != nil:
		data = s.frame()
	case s.Cast != nil:
		n := flatbuffers.NewBuilder(64)
		n.StartObject(3)
		for slot, v := range [...]int32{int32(s.Cast.From), int32(s.Cast.To), s.Cast.Pack} {
			n.PrependInt32(v)
			n.Slot(slot)
		}
		n.Finish(n.EndObject())
		data = n.FinishedBytes()
	case s.Inference != nil:
		data = s.Inference.write()
	}
	var dataAt flatbuffers.UOffsetT
	if data != nil {
		dataAt = b.CreateByteVector(data)
	}
	name := b.CreateString(s.Name)
	b.StartObject(3)
	if data != nil {
		offset(b, 2, dataAt)
	}
	b.PrependInt32(int32(s.Kind))
	b.Slot(1)
	offset(b, 0, name)
	return b.EndObject()
}

func (a *Inference) write() []byte {
	b := flatbuffers.NewBuilder(256)
	procedure, hash := b.CreateString(a.Procedure), b.CreateString(a.Hash)
	symbol, options := b.CreateString(a.Symbol), b.CreateString(a.Options)
	b.StartObject(5)
	offset(b, 4, options)
	b.PrependUint32(a.Buffer)
	b.Slot(3)
	offset(b, 2, symbol)
	offset(b, 1, hash)
	offset(b, 0, procedure)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

func (s *Section) frame() []byte {
	b := flatbuffers.NewBuilder(512)
	operands := make([]flatbuffers.UOffsetT, len(s.Operands))
	for i := range s.Operands {
		d := s.Operands[i].write(b)
		b.StartObject(1)
		offset(b, 0, d)
		operands[i] = b.EndObject()
	}
	operandsAt := vector(b, operands)
	o := s.Operation
	name, frame, attrs := b.CreateString(o.Name), b.CreateString(o.Frame), b.CreateString(o.Attrs)
	inputs, outputs := uint32s(b, o.Inputs), uint32s(b, o.Outputs)
	b.StartObject(6)
	offset(b, 5, attrs)
	offset(b, 4, frame)
	offset(b, 3, outputs)
	offset(b, 2, inputs)
	b.PrependInt32(int32(o.Type))
	b.Slot(1)
	offset(b, 0, name)
	operation := b.EndObject()
	b.StartObject(2)
	offset(b, 1, operandsAt)
	offset(b, 0, operation)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

func uint32s(b *flatbuffers.Builder, v []uint32) flatbuffers.UOffsetT {
	b.StartVector(4, len(v), 4)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependUint32(v[i])
	}
	return b.EndVector(len(v))
}

func uint64s(b *flatbuffers.Builder, v []uint64) flatbuffers.UOffsetT {
	b.StartVector(8, len(v), 8)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependUint64(v[i])
	}
	return b.EndVector(len(v))
}

func (x *Tensor) write(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	dim, stride := uint64s(b, x.Dim), uint64s(b, x.Stride)
	b.StartObject(14)
	for slot, v := range x.numbers() {
		if v != nil {
			b.PrependUint64(*v)
			b.Slot(slot)
		}
	}
	b.PrependInt32(x.Pack)
	b.Slot(13)
	b.PrependInt32(int32(x.Type))
	b.Slot(12)
	offset(b, 1, stride)
	offset(b, 0, dim)
	return b.EndObject()
}
