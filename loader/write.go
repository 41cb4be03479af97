package loader

import (
	"fmt"
	"io"

	"anesim/hw/regs"
)

// Bytes is the container as a file. A container that was read gives the bytes it was
// read from: the fields are written over each command's own bytes, and what no command
// owns is carried along.
func (c *Container) Bytes() []byte { return c.pieces(nil).rest }

// WriteTo writes Bytes without making a second copy of the largest section.
func (c *Container) WriteTo(w io.Writer) (int64, error) { return c.pieces(c.largest()).WriteTo(w) }

// largest is the section with the most bytes, nil where none has any.
func (c *Container) largest() (most *SectionHeader) {
	for _, l := range c.Loads {
		if l, ok := l.(*SegmentLoad); ok {
			for _, s := range l.Sections {
				if len(s.Data) > 0 && (most == nil || len(s.Data) > len(most.Data)) {
					most = s
				}
			}
		}
	}
	return most
}

// pieces is the container as a file in which the bytes of a section stand where they are;
// nil for none.
func (c *Container) pieces(apart *SectionHeader) *pieces {
	f := &pieces{}
	if apart != nil {
		f.apart = extent{uint64(apart.Offset), apart.Data, "section " + apart.Segment + "," + apart.Name}
	}
	f.rest = make([]byte, c.Size-uint64(len(f.apart.data)))
	put := func(off uint64, data []byte) {
		if len(data) > 0 { // the offset of a window, which has none, means nothing
			copy(f.room(off, uint64(len(data))), data)
		}
	}
	for _, g := range c.gaps {
		put(g.off, g.data)
	}
	at := uint64(headerSize)
	for _, l := range c.Loads {
		dst := f.room(at, uint64(len(l.Raw())))
		copy(dst, l.Raw())
		l.store(dst)
		at += uint64(len(dst))
		switch l := l.(type) {
		case *SegmentLoad:
			put(l.Offset, l.Data)
			for _, s := range l.Sections {
				if s != apart {
					put(uint64(s.Offset), s.Data)
				}
				for i, r := range s.Relocs {
					b := f.room(uint64(s.RelocOffset)+relocSize*uint64(i), relocSize)
					le.PutUint32(b, r.Off)
					le.PutUint32(b[4:], r.Info)
				}
			}
		case *SymtabLoad:
			for i := range l.Symbols {
				l.Symbols[i].store(f.room(uint64(l.Offset)+symbolSize*uint64(i), symbolSize))
			}
			put(uint64(l.StringOffset), l.Strings)
		}
	}
	head := f.room(0, headerSize)
	for i, v := range [...]uint32{
		MagicContainer, c.CPUType, uint32(c.Subtype), c.FileType,
		uint32(len(c.Loads)), uint32(at - headerSize), c.Flags, c.Reserved,
	} {
		le.PutUint32(head[4*i:], v)
	}
	return f
}

// Bytes is the program in the form it came in. Segment data may have been changed in
// place; that of a container is part of its bytes.
func (p *Program) Bytes() []byte {
	switch p.Form {
	case FormContainer:
		return p.Container.Bytes()
	case FormRegisters:
		return captureText(p.Registers)
	case FormANEC, FormFirmware:
		return append([]byte(nil), p.file...)
	}
	return append([]byte(nil), p.Text...)
}

// WriteTo writes Bytes.
func (p *Program) WriteTo(w io.Writer) (int64, error) {
	if p.Form == FormContainer {
		return p.Container.WriteTo(w)
	}
	n, err := w.Write(p.Bytes())
	return int64(n), err
}

// captureText spells captured registers as the text form reads them.
func captureText(v *regs.V10) []byte {
	var out []byte
	for _, w := range v.Words() {
		out = fmt.Appendf(out, "%#05x %#010x # %s\n", w.Addr, w.Value, w.Name())
	}
	return out
}
