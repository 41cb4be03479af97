package loader

import (
	"fmt"
	"io"

	"anesim/hw/regs"
)

// Bytes returns the container as the contents of a file. A container that was read and not
// changed gives the same bytes again, including those whose meaning is unknown.
func (c *Container) Bytes() []byte { return c.encode(nil).rest }

// WriteTo writes to w the bytes that [Container.Bytes] returns, but without copying the largest
// section.
func (c *Container) WriteTo(w io.Writer) (int64, error) {
	return c.encode(c.largestSection()).WriteTo(w)
}

// largestSection returns the section with the most bytes, or nil if no section has data.
func (c *Container) largestSection() (most *SectionHeader) {
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

// encode returns the bytes of the container. It does not copy the data of section apart,
// which may be nil, but keeps it as a piece of its own.
func (c *Container) encode(apart *SectionHeader) *pieces {
	f := &pieces{}
	if apart != nil {
		f.apart = extent{uint64(apart.Offset), apart.Data, "section " + apart.Segment + "," + apart.Name}
	}
	f.rest = make([]byte, c.Size-uint64(len(f.apart.data)))
	put := func(off uint64, data []byte) {
		if len(data) > 0 { // the offset of a window, which has no data, is meaningless
			copy(f.writableBytes(off, uint64(len(data))), data)
		}
	}
	// Bytes that nothing describes are written too, so that a file that was read comes back as it was.
	for _, g := range c.gaps {
		put(g.off, g.data)
	}
	at := uint64(headerSize)
	for _, l := range c.Loads {
		dst := f.writableBytes(at, uint64(len(l.Raw())))
		copy(dst, l.Raw())
		l.encodeTo(dst)
		at += uint64(len(dst))
		switch l := l.(type) {
		case *SegmentLoad:
			put(l.Offset, l.Data)
			for _, s := range l.Sections {
				if s != apart {
					put(uint64(s.Offset), s.Data)
				}
				for i, r := range s.Relocs {
					b := f.writableBytes(uint64(s.RelocOffset)+relocSize*uint64(i), relocSize)
					le.PutUint32(b, r.Off)
					le.PutUint32(b[4:], r.Info)
				}
			}
		case *symtabLoad:
			for i := range l.Symbols {
				l.Symbols[i].encodeTo(f.writableBytes(uint64(l.Offset)+symbolSize*uint64(i), symbolSize))
			}
			put(uint64(l.StringOffset), l.Strings)
		}
	}
	head := f.writableBytes(0, headerSize)
	for i, v := range [...]uint32{
		MagicContainer, c.CPUType, uint32(c.Subtype), c.FileType,
		uint32(len(c.Loads)), uint32(at - headerSize), c.Flags, c.Reserved,
	} {
		le.PutUint32(head[4*i:], v)
	}
	return f
}

// Bytes returns the program in the file format that it was read from. The bytes include changes to
// the data of segments. Bytes returns an empty slice for a program whose descriptors were left in
// their file; see [Options].InFile.
func (p *Program) Bytes() []byte {
	switch p.Form {
	case FormContainer:
		return p.Container.Bytes()
	case FormRegisters:
		return formatCapture(p.Registers)
	case FormANEC, FormFirmware:
		return append([]byte(nil), p.file...)
	}
	return append([]byte(nil), p.Text...)
}

// WriteTo writes the program to w in the file format that it was read from. Unlike [Program.Bytes],
// it also writes descriptors that were left in their file, which it copies from there.
func (p *Program) WriteTo(w io.Writer) (int64, error) {
	if p.TextFile != nil {
		return io.Copy(w, io.NewSectionReader(p.TextFile.R, 0, int64(p.TextFile.Bytes)))
	}
	if p.Form == FormContainer {
		return p.Container.WriteTo(w)
	}
	n, err := w.Write(p.Bytes())
	return int64(n), err
}

// formatCapture returns captured registers as text, with one line for the address and value of
// each.
func formatCapture(v *regs.V10) []byte {
	var out []byte
	for _, w := range v.Words() {
		out = fmt.Appendf(out, "%#05x %#010x # %s\n", w.Addr, w.Value, w.Name())
	}
	return out
}
