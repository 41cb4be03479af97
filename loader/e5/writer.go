package e5

import (
	flatbuffers "github.com/google/flatbuffers/go"
)

// Bytes returns the dispatch descriptor as the contents of a file. Equal descriptors give equal
// bytes. Numbers that are 0 are stored too, so the size of the file does not depend on the shapes.
func (p *Program) Bytes() []byte {
	b := flatbuffers.NewBuilder(1024)
	sections := make([]flatbuffers.UOffsetT, len(p.Sections))
	for i := range p.Sections {
		sections[i] = p.Sections[i].writeTable(b)
	}
	sectionsAt := writeOffsetVector(b, sections)
	entries := make([]flatbuffers.UOffsetT, len(p.Build))
	for i, e := range p.Build {
		key, value := b.CreateString(e.Key), b.CreateString(e.Value)
		b.StartObject(2)
		writeOffsetField(b, 1, value)
		writeOffsetField(b, 0, key)
		entries[i] = b.EndObject()
	}
	entriesAt := writeOffsetVector(b, entries)
	b.StartObject(1)
	writeOffsetField(b, 0, entriesAt)
	build := b.EndObject()
	names := make([]flatbuffers.UOffsetT, len(p.Symbols))
	for i, s := range p.Symbols {
		names[i] = b.CreateString(s)
	}
	namesAt := writeOffsetVector(b, names)
	// Fields are stored in the order of their slots, so the last one is written first.
	b.StartObject(4)
	b.PrependInt32(p.Version)
	b.Slot(3)
	writeOffsetField(b, 2, sectionsAt)
	writeOffsetField(b, 1, build)
	writeOffsetField(b, 0, namesAt)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

// writeOffsetField stores a reference to the object at position at in the given slot of the table
// that b builds.
func writeOffsetField(b *flatbuffers.Builder, slot int, at flatbuffers.UOffsetT) {
	b.PrependUOffsetT(at)
	b.Slot(slot)
}

func writeOffsetVector(b *flatbuffers.Builder, at []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(at), 4)
	for i := len(at) - 1; i >= 0; i-- {
		b.PrependUOffsetT(at[i])
	}
	return b.EndVector(len(at))
}

func (s *Section) writeTable(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	data := s.Data
	switch {
	case s.Operation != nil:
		data = s.encodeFrame()
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
		data = s.Inference.encodeAttributes()
	}
	var dataAt flatbuffers.UOffsetT
	// FlatBuffers are built from the leaves: nothing else may be written while a table is open.
	if data != nil {
		dataAt = b.CreateByteVector(data)
	}
	name := b.CreateString(s.Name)
	b.StartObject(3)
	if data != nil {
		writeOffsetField(b, 2, dataAt)
	}
	b.PrependInt32(int32(s.Kind))
	b.Slot(1)
	writeOffsetField(b, 0, name)
	return b.EndObject()
}

func (a *Inference) encodeAttributes() []byte {
	b := flatbuffers.NewBuilder(256)
	procedure, hash := b.CreateString(a.Procedure), b.CreateString(a.Hash)
	symbol, options := b.CreateString(a.Symbol), b.CreateString(a.Options)
	b.StartObject(5)
	writeOffsetField(b, 4, options)
	b.PrependUint32(a.Buffer)
	b.Slot(3)
	writeOffsetField(b, 2, symbol)
	writeOffsetField(b, 1, hash)
	writeOffsetField(b, 0, procedure)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

func (s *Section) encodeFrame() []byte {
	b := flatbuffers.NewBuilder(512)
	operands := make([]flatbuffers.UOffsetT, len(s.Operands))
	for i := range s.Operands {
		d := s.Operands[i].writeTable(b)
		b.StartObject(1)
		writeOffsetField(b, 0, d)
		operands[i] = b.EndObject()
	}
	operandsAt := writeOffsetVector(b, operands)
	o := s.Operation
	name, frame, attrs := b.CreateString(o.Name), b.CreateString(o.Frame), b.CreateString(o.Attrs)
	inputs, outputs := writeUint32Vector(b, o.Inputs), writeUint32Vector(b, o.Outputs)
	b.StartObject(6)
	writeOffsetField(b, 5, attrs)
	writeOffsetField(b, 4, frame)
	writeOffsetField(b, 3, outputs)
	writeOffsetField(b, 2, inputs)
	b.PrependInt32(int32(o.Type))
	b.Slot(1)
	writeOffsetField(b, 0, name)
	operation := b.EndObject()
	b.StartObject(2)
	writeOffsetField(b, 1, operandsAt)
	writeOffsetField(b, 0, operation)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

func writeUint32Vector(b *flatbuffers.Builder, v []uint32) flatbuffers.UOffsetT {
	b.StartVector(4, len(v), 4)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependUint32(v[i])
	}
	return b.EndVector(len(v))
}

func writeUint64Vector(b *flatbuffers.Builder, v []uint64) flatbuffers.UOffsetT {
	b.StartVector(8, len(v), 8)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependUint64(v[i])
	}
	return b.EndVector(len(v))
}

func (x *Tensor) writeTable(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	dim, stride := writeUint64Vector(b, x.Dim), writeUint64Vector(b, x.Stride)
	b.StartObject(14)
	for slot, v := range x.numberFields() {
		if v != nil {
			b.PrependUint64(*v)
			b.Slot(slot)
		}
	}
	b.PrependInt32(x.Pack)
	b.Slot(13)
	b.PrependInt32(int32(x.Type))
	b.Slot(12)
	writeOffsetField(b, 1, stride)
	writeOffsetField(b, 0, dim)
	return b.EndObject()
}
